"""The thread that captures and harvests while the node runs: the files that hooks pointed at, and now and then those they may have missed.

It computes for a moment and rests for a moment, and may end in the middle of its work, which loses nothing. Whatever fails is
logged once and tried again later.
"""

import json
import logging
import os
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import NamedTuple

from clan_learnings.agents.hook_events import FIRED
from clan_learnings.harvest.candidate_table import has_candidates
from clan_learnings.harvest.harvest import harvest_new, open_harvest
from clan_learnings.records.spool import FOLDER, POINTERS, POINTERS_BYTES
from clan_learnings.sessions.analysis import Analysts, real_analysts
from clan_learnings.sessions.capture import Capture
from clan_learnings.sessions.capture_settings import CaptureSettings, keep_within, read_settings
from clan_learnings.sessions.catalogue_table import Catalogue
from clan_learnings.sessions.session_folders import SessionFile, discover, look_at
from clan_learnings.sessions.worker_processes import CaptureStopped
from mesh.core.errors import HomeBusy, MeshError
from mesh.store.background_thread import Background
from mesh.store.handing_author import DraftAuthor
from mesh.store.home import Home

_TAKEN = "pointers.taken"
_LINE_BYTES = 64 * 1024
_PATHS = 100_000  # held at once; those beyond are found by the schedule
_WRITING_SECONDS = 2.0  # a hook has its file open for a moment only


class Pointer(NamedTuple):
    """A transcript that a hook named, and when."""

    path: str
    at_ms: int
    is_over: bool  # the session has ended


class Pointers:
    """Those of one home, the newest of each path. What was taken from the spool lies beside it until it is `done`."""

    def __init__(self, home: str) -> None:
        self._folder = os.path.join(home, FOLDER)
        self._waiting: dict[str, Pointer] = {}
        self._is_read = False
        self._size = 0

    def waiting(self) -> list[Pointer]:
        """All of them, oldest first, those that a process which was killed had taken included."""
        taken = os.path.join(self._folder, _TAKEN)
        if os.path.exists(taken):  # of an earlier process, or one that we have read and not finished
            if not self._is_read:
                self._read(taken)
        elif os.path.exists(os.path.join(self._folder, POINTERS)):
            self._is_read = False
            try:
                os.rename(os.path.join(self._folder, POINTERS), taken)
            except FileNotFoundError:
                pass
            else:
                self._read(taken)
        return sorted(self._waiting.values(), key=lambda pointer: (pointer.at_ms, pointer.path))

    def done(self, path: str) -> None:
        """Cross one off: it was looked at."""
        self._waiting.pop(path, None)

    def settle(self) -> None:
        """Forget the file if all it said was done, and if nobody can still be writing to it."""
        taken = os.path.join(self._folder, _TAKEN)
        try:
            seen = os.stat(taken)
        except FileNotFoundError:
            return
        if self._waiting or not self._is_read or time.time() - seen.st_mtime < _WRITING_SECONDS:
            return
        if seen.st_size != self._size:  # somebody wrote to it after we read it
            self._read(taken)
            return
        os.unlink(taken)
        self._is_read = False

    def drop(self) -> None:
        """Drop all of them unread: capturing was switched off, so they must not be looked at later either."""
        self._waiting.clear()
        self._is_read = False
        for name in (_TAKEN, POINTERS):
            path = os.path.join(self._folder, name)
            if os.path.exists(path):
                os.unlink(path)

    def _read(self, path: str) -> None:
        self._size = 0
        with open(path, "rb") as file:
            for line in file:
                self._size += len(line)
                pointer = _parsed(line)
                if pointer is not None and (pointer.path in self._waiting or len(self._waiting) < _PATHS):
                    before = self._waiting.get(pointer.path)
                    is_over = pointer.is_over or (before is not None and before.is_over)
                    self._waiting[pointer.path] = pointer._replace(is_over=is_over)
                if self._size > 2 * POINTERS_BYTES:
                    break
        self._is_read = True


def _parsed(line: bytes) -> Pointer | None:
    if len(line) > _LINE_BYTES:
        return None
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):  # cut by a kill
        return None
    if not isinstance(value, dict):
        return None
    path, at, event = value.get("path"), value.get("at"), value.get("event")
    if not isinstance(path, str) or not os.path.isabs(path) or "\0" in path or type(at) is not int:
        return None
    return Pointer(path, at, event == "SessionEnd")


LOOK_SECONDS = 20.0
SCHEDULE_SECONDS = 3600.0
FILE_BYTES = 16 * 1024 * 1024  # what is larger is left to `mesh capture`: the sidecar stays small
_QUIET_SECONDS = 60.0  # a session that is being written to is read when it rests,
_PATIENCE_SECONDS = 900.0  # or after so long
_LATELY_MS = 7 * 86_400_000  # what the schedule looks back: older sessions are captured when somebody asks for it
_STOP_SECONDS = 1.0
_WORK_SECONDS, _REST_SECONDS = 0.003, 0.003


log = logging.getLogger("mesh.node")


class CaptureThread(Background):
    """Use as a context manager: leaving it ends the thread."""

    def __init__(
        self,
        home: Home,
        analysts: "Callable[[], Analysts] | None" = None,
        look_seconds: float = LOOK_SECONDS,
        author_of: Callable[[Home], DraftAuthor] = Home.author,
        pause_seconds: Callable[[], float] = lambda: _REST_SECONDS,
    ) -> None:
        """`author_of`: opens what writes records of a home. `pause_seconds`: asked for each pause in work."""
        self._home = home.path
        self._author_of = author_of
        self._pause_seconds = pause_seconds
        self._analysts = analysts
        self._look_seconds = look_seconds
        self._pointers = Pointers(home.path)
        super().__init__("capturing", _STOP_SECONDS)
        self._resumed = 0.0
        self._scheduled = time.monotonic() + SCHEDULE_SECONDS / 12  # not while everything else starts
        self._said: set[str] = set()

    def _work(self) -> None:
        while not self._stop.wait(self._look_seconds):
            try:
                self.look()
            except CaptureStopped:
                return
            except Exception as error:  # noqa: BLE001 (a full disk or a damaged file can make anything fail)
                self._complain(error)

    def look(self, now_ms: int | None = None) -> None:
        """What there is to do now, if anything."""
        now_ms = int(time.time() * 1000) if now_ms is None else now_ms
        self._forget_erased()
        settings = read_settings(self._home)
        if not settings.is_on:
            self._pointers.drop()
            return
        ready = []
        for pointer in self._pointers.waiting():
            found = look_at(pointer.path, is_own_only=True)
            if found is None or not self._fits(found):
                self._pointers.done(pointer.path)
            elif _is_ready(pointer, found, now_ms):
                ready.append(found)
        if ready:
            self._run(ready, settings)
            for found in ready:
                self._pointers.done(found.path)
        self._pointers.settle()
        if time.monotonic() >= self._scheduled:
            self._scheduled = time.monotonic() + SCHEDULE_SECONDS
            self._run(self._missed(settings, now_ms), settings)

    def _forget_erased(self) -> None:
        """What any member has erased goes from the candidates too, also where nothing is captured for a while."""
        if has_candidates(self._home):
            with (
                suppress(HomeBusy),
                open_harvest(self._home, wait_seconds=0.0, author_of=self._author_of) as harvest,
            ):
                harvest.forget_erased()

    def _missed(self, settings: CaptureSettings, now_ms: int) -> Iterable[SessionFile]:
        """Sessions of the last days of agents that have our hooks: a hook may not have come to its end."""
        since_ms = max(now_ms - _LATELY_MS, settings.since_ms)
        try:
            agents = sorted(os.listdir(os.path.join(self._home, FIRED)))
        except FileNotFoundError:
            agents = []
        for agent in agents:
            for found in discover((), agent, since_ms, os.environ):
                self._breathe()
                if found.mtime_ns < (now_ms - _QUIET_SECONDS * 1000) * 1_000_000 and self._fits(found):
                    yield found

    def _fits(self, found: SessionFile) -> bool:
        if found.size <= FILE_BYTES:
            return True
        self._say(f"{found.path} is larger than {FILE_BYTES} bytes; next: mesh capture {found.path}")
        return False

    def _run(self, files: Iterable[SessionFile], settings: CaptureSettings) -> None:

        self._resumed = time.monotonic()
        with Catalogue(self._home) as catalogue:
            catalogue.sweep()
            capture = Capture(catalogue, (self._analysts or real_analysts)(), self._breathe)
            report = capture.run(files)
            if report.is_cut:
                raise CaptureStopped
            keep_within(catalogue, settings.budget)
        if report.ingested:
            log.info("captured %d transcripts, %d sessions", report.ingested, report.sessions)
        for why, count in report.failed.items():
            self._say(f"{count} transcripts could not be captured: {why}; next: mesh capture")
        self._harvest()

    def _harvest(self) -> None:
        """What was captured is judged, and written where its repository is shared."""
        try:
            summary = harvest_new(self._home, self._breathe, self._author_of)
        except HomeBusy:
            return  # `mesh harvest` or `mesh curate` is at it; what is new stays new
        except MeshError as error:
            self._complain(error)
            return
        if summary.written.stopped is not None:
            self._complain(summary.written.stopped)  # once a day at most: it names the next time
        if summary.written.records:
            log.info("harvested %d records of %d sessions", len(summary.written.records), summary.taken.sessions)

    def _breathe(self) -> None:
        if time.monotonic() - self._resumed > _WORK_SECONDS:
            if self._stop.is_set():
                raise CaptureStopped
            time.sleep(self._pause_seconds())
            self._resumed = time.monotonic()

    def _complain(self, error: Exception) -> None:
        if isinstance(error, MeshError):
            self._say(f"{error}; next: {error.next_step}")
        else:
            self._say(f"{type(error).__name__}: {error}")

    def _say(self, text: str) -> None:
        if text not in self._said:
            self._said.add(text)
            log.warning("capturing: %s", text)


def _is_ready(pointer: Pointer, found: SessionFile, now_ms: int) -> bool:
    """Whether a session has ended, or rests, or has waited long enough to be looked at in between."""
    quiet_ms = now_ms - found.mtime_ns // 1_000_000
    waited_ms = now_ms - pointer.at_ms
    return pointer.is_over or not 0 <= quiet_ms < _QUIET_SECONDS * 1000 or not 0 <= waited_ms < _PATIENCE_SECONDS * 1000
