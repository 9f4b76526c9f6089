"""The thread that keeps folders in step with the pages: it watches both and calls each folder's sync.

Whatever fails here is logged once and tried again later: the pages are in the store, and the files stay where they are.
"""

import logging
import os
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

from watchfiles import Change, watch

from mesh.core.errors import MeshError
from mesh.pages.folder_listing import is_hidden
from mesh.store.background_thread import Background


class _Pace(NamedTuple):
    """Of the watcher, in milliseconds: how often it asks the system, how long it gathers what belongs together, and how often
    we ask whether pages have changed.
    """

    step: int
    gather: int
    look: int


_BUSY, _IDLE = _Pace(20, 40, 60), _Pace(100, 100, 200)
_IDLE_SECONDS = (
    10.0  # without a change in folders or pages; an idle node sleeps, and the first save after that waits for it
)
_SOON_SECONDS = 0.08  # what is due so soon is waited for: the watcher would be later
_WHOLE_SECONDS = 5.0  # events can be lost: so often a folder is looked through without one
_SHARE = 200  # but looking through it may take no more than this part of the time
# While many pages change, looking at all of them takes no more than a third of the time.
_PAUSE_SHARE, _MOST_PAUSE_SECONDS = 2, 5.0
_BLIND_SECONDS = 1.0  # where nothing can be watched
_AGAIN_SECONDS = 3.0
_STOP_SECONDS = 2.0  # an edit that is being written is written to its end

log = logging.getLogger("mesh.node")
logging.getLogger("watchfiles").setLevel(logging.WARNING)  # it tells of every change, our own included


class SyncedFolder(Protocol):
    """A folder that is kept in step: `FolderSync`, or `MemoryFile`."""

    @property
    def folder(self) -> str:
        """Where the files are."""

    def identity(self) -> tuple[int, int] | None:
        """The identity of the folder: if it changes, watch the new folder."""

    def step(self, now: float, *, files: bool = True, pages: bool = True) -> float | None:
        """Do what is due; returns when to come again in any case."""

    def close(self) -> None:
        """Let go of files."""


class FolderSource(Protocol):
    """What the thread works on. Opened in the thread, and opened again after a failure."""

    def version(self) -> int:
        """Another number whenever somebody may have changed some page, this process included."""

    def mirrors(self) -> Sequence[SyncedFolder]:
        """The folders to keep, asked for when the pages have changed; the same folder is the same object each time."""

    def tend(self) -> None:
        """Do what follows from pages that have come in, before their files are looked at. Also asked now and then."""


def say(level: str, text: str) -> None:
    """How a synced folder writes to the log."""
    log.log(logging.getLevelNamesMapping()[level.upper()], "%s", text)


class _FolderTimer:
    """A synced folder, and when it is its turn."""

    def __init__(self, folder: SyncedFolder) -> None:
        self.folder = folder
        self.real = os.path.realpath(folder.folder)  # as the watcher tells it on every system
        self.identity: tuple[int, int] | None = None
        self.due: float | None = 0.0
        self.whole_at = 0.0
        self.pages_at = 0.0
        self.version: int | None = None
        self.said = ""

    def step(self, version: int, *, has_changes: bool) -> None:
        """Do what is due, if anything is."""
        now = time.monotonic()
        files = has_changes or now >= self.whole_at
        pages = version != self.version and now >= self.pages_at
        if not (files or pages or (self.due is not None and now >= self.due)):
            return
        try:
            self.due = self.folder.step(now, files=files, pages=pages)
        except Exception as error:  # noqa: BLE001 (a folder that cannot be read must not stop the others)
            self.due = self.whole_at = self.pages_at = time.monotonic() + _AGAIN_SECONDS
            self.said = complain(error, self.said, f"the folder {self.folder.folder} is not in step with the pages")
            return
        self.said = ""
        after = time.monotonic()
        if files:
            self.whole_at = after + max(_WHOLE_SECONDS, _SHARE * (after - now))
        if pages:
            self.version = version
            self.pages_at = after + min(_PAUSE_SHARE * (after - now), _MOST_PAUSE_SECONDS)


class FoldersThread(Background):
    """Use as a context manager: leaving it ends the thread when it has finished the file at hand."""

    def __init__(self, opened: Callable[[], AbstractContextManager[FolderSource]]) -> None:
        self._opened = opened
        super().__init__("pages", _STOP_SECONDS)
        self._kept: dict[int, _FolderTimer] = {}
        self._said = self._said_of_tending = self._said_of_watching = ""
        self._tended: int | None = None
        self._tend_at = self._rested_at = 0.0
        self._changed_at = -_IDLE_SECONDS  # when folders or pages did

    def _work(self) -> None:
        while not self._stop.is_set():
            self._kept = {}
            try:
                with self._opened() as source:
                    while not self._stop.is_set():
                        self._watch(source)
            except Exception as error:  # noqa: BLE001 (a damaged database or a full disk can make anything fail)
                self._said = complain(error, self._said, "files and pages are not in step")
                self._stop.wait(_AGAIN_SECONDS)
            finally:
                for kept in self._kept.values():
                    kept.folder.close()

    def _watch(self, source: FolderSource) -> None:
        """Work for as long as the folders are the same."""
        mirrors = list(source.mirrors())
        before = self._kept
        self._kept = {id(mirror): before.get(id(mirror)) or _FolderTimer(mirror) for mirror in mirrors}
        for key in before.keys() - self._kept.keys():
            before[key].folder.close()
        version = source.version()
        self._tend(source, version)
        for kept in self._kept.values():
            kept.step(version, has_changes=True)  # makes the folder, if need be
            kept.identity = kept.folder.identity()
        there = [kept.real for kept in self._kept.values() if kept.identity is not None]
        if not there:
            self._stop.wait(self._pace().look / 1000 if not mirrors else _AGAIN_SECONDS)
            return
        is_first, pace = True, self._pace()
        for changes in self._changes(there, pace):
            now = source.version()
            if now != version and [id(mirror) for mirror in source.mirrors()] != list(self._kept):
                return
            if changes or now != version:
                self._changed_at = time.monotonic()
            version = now
            self._tend(source, version)
            self._turn(version, changes, is_first=is_first)
            is_first = False  # what happened before the watcher was ready is seen by then
            self._said = ""
            if any(kept.identity != kept.folder.identity() for kept in self._kept.values()):
                return
            if self._pace() is not pace:
                return  # another watcher, at another pace

    def _pace(self) -> _Pace:
        return _BUSY if time.monotonic() < self._changed_at + _IDLE_SECONDS else _IDLE

    def _changes(self, folders: Sequence[str], pace: _Pace) -> Iterator[Collection[tuple[Change, str]]]:
        """What happens in the folders, or nothing for a moment, again and again."""
        try:
            yield from watch(
                *folders,
                watch_filter=lambda _change, path: _concerns(path, folders),
                debounce=pace.gather,
                step=pace.step,
                rust_timeout=pace.look,
                yield_on_timeout=True,
                stop_event=self._stop,
                raise_interrupt=False,
                ignore_permission_denied=True,
            )
        except (OSError, RuntimeError) as error:  # too many folders for the system, say
            what = f"the system does not watch folders for us, so they are looked through every {_BLIND_SECONDS:g} s"
            self._said_of_watching = complain(error, self._said_of_watching, what)
            while not self._stop.wait(_BLIND_SECONDS):
                yield [(Change.modified, folder) for folder in folders]

    def _tend(self, source: FolderSource, version: int) -> None:
        began = time.monotonic()
        if began < self._tend_at and (version == self._tended or began < self._rested_at):
            return
        try:
            source.tend()
        except Exception as error:  # noqa: BLE001 (files and pages go on)
            self._said_of_tending = complain(error, self._said_of_tending, "what follows from new pages is not done")
        else:
            self._said_of_tending = ""
        now = time.monotonic()
        self._tended = version
        self._rested_at = now + min(_PAUSE_SHARE * (now - began), _MOST_PAUSE_SECONDS)
        self._tend_at = now + _WHOLE_SECONDS

    def _turn(self, version: int, changes: Collection[tuple[Change, str]], *, is_first: bool) -> None:
        paths = [path for _, path in changes]
        for kept in self._kept.values():
            has_changes = any(_is_below(path, kept.real) for path in paths)
            kept.step(version, has_changes=is_first or has_changes)
        soon = [kept.due for kept in self._kept.values() if kept.due is not None]
        wait = min(soon, default=time.monotonic() + 1) - time.monotonic()
        if wait < _SOON_SECONDS and not self._stop.wait(max(wait, 0)):
            for kept in self._kept.values():
                kept.step(version, has_changes=False)


def complain(error: Exception, said: str, what: str) -> str:
    """Once, until it is another error or has gone well again. Returns what was said."""
    now = f"{error}; next: {error.next_step}" if isinstance(error, MeshError) else f"{type(error).__name__}: {error}"
    if now != said:
        log.warning("%s: %s", what, now)
        if not isinstance(error, MeshError | OSError):
            log.debug("where it happened", exc_info=error)
    return now


def _concerns(path: str, folders: Sequence[str]) -> bool:
    """Whether a change may be one of a page's file or of a folder."""
    return any(_is_below(path, folder) and not is_hidden(path[len(folder) + 1 :]) for folder in folders)


def _is_below(path: str, folder: str) -> bool:
    return os.path.join(path, "").startswith(os.path.join(folder, ""))
