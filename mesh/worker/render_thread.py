"""The thread that keeps rendered files up to date, and looks again at patterns that were founded apart.

It only reads; what it finds to be written, patterns to be joined, is appended elsewhere. Whatever fails here is logged once and
tried again later: files are disposable.
"""

import logging
import math
import os
import threading
import time
from collections.abc import Callable, Sequence

from clan_learnings.records.pattern_merging import PatternMerging
from clan_learnings.render.files import MEMORY_FILE, RENDERED_FOLDER, RenderedFiles
from mesh.app.render import render
from mesh.core.draft import Draft
from mesh.core.errors import MeshError
from mesh.store.background_thread import Background
from mesh.store.home import Home
from mesh.store.reader import Reader, open_reading, read_errors

LOOK_SECONDS = 0.2  # between two looks while something is to be done, or put off
IDLE_SECONDS = 5.0  # and when nothing is: somebody wakes us when there is news, but a file may have been deleted
# After some work there is a pause in which changes gather: at least so long, and twice the processor time that the work has taken.
# Except after a single render from nothing: what follows that is short, unless more comes in than can be told apart.
_LEAST_PAUSE_SECONDS = 0.3
_MOST_PAUSE_SECONDS = 30.0
# While this many operations come in between two looks, a bulk is on its way: it is rendered when it is over, or after a while.
_BULK, _BULK_SECONDS = 100, 3.0
_AGAIN_SECONDS = 3.0  # after a failure, and as long as it took to fail
_STOP_SECONDS = 1.0
# Who asks waits for the interpreter while we compute: so we compute for a moment and rest for a moment.
_WORK_SECONDS, _REST_SECONDS = 0.002, 0.0005
_PATIENCE_SECONDS = 5.0  # for a command that renders into the same folder
_EDITED_SECONDS = 10.0  # so long somebody's edit of MEMORY.md may wait before that is said

log = logging.getLogger("mesh.node")


class _Stopped(Exception):
    """The way out of the middle of a render: no error."""


class _Interrupted(Exception):
    """An erase waits for our snapshot to end: the work is begun again, on a new one."""


class RenderThread(Background):
    """Use as a context manager: leaving it ends the thread, in the middle of its work if need be."""

    def __init__(self, home: Home, hurry: threading.Event, append: Callable[[Sequence[Draft]], object]) -> None:
        """`hurry`: once it is set, the snapshot that is kept is given up. `append`: writes drafts, or raises MeshError."""
        self._home = home
        self._hurry = hurry
        self._files = self._fresh_files()
        self._second_look = PatternMerging(home, append)
        super().__init__("renderer", _STOP_SECONDS)
        self._rendered = -1  # the version of the database that was rendered last, as our connection counts them
        self._looked_at = -1
        self._is_settled = False  # the files are as the database is
        self._wholes = 0  # renders from nothing in a row
        self._operations = -1  # accepted when we last looked
        self._bulk_since: float | None = None
        self._edited_since: float | None = None
        self._began = self._not_before = self._resumed = 0.0
        self._said = ""

    def _work(self) -> None:
        while not self._stop.is_set():
            try:
                self._watch()
            except _Stopped:
                return
            except Exception as error:  # noqa: BLE001 (a damaged database or a full disk can make anything fail)
                self._complain(error)
                self._stop.wait(min(_AGAIN_SECONDS + time.monotonic() - self._began, _MOST_PAUSE_SECONDS))

    def _watch(self) -> None:
        """Work whenever somebody has written, for as long as the database is the same file."""
        path = self._home.file("mesh.db")
        self._rendered = self._looked_at = -1
        with read_errors(self._home.path):
            watching = open_reading(self._home.path)
            inode = os.stat(path).st_ino
            try:
                while not self._wait(self._pause()) and os.stat(path).st_ino == inode:
                    self._began = self._resumed = time.monotonic()
                    try:
                        self._work_on(watching)
                    except _Interrupted:
                        self._hurry.clear()
                        self._looked_at = -1
                        self._files = self._fresh_files()  # what it knows may be of half a render
            finally:
                watching.connection.close()

    def _pause(self) -> float:
        is_done = self._is_settled and not self._second_look.is_put_off
        return IDLE_SECONDS if is_done else LOOK_SECONDS

    def _work_on(self, watching: Reader) -> None:
        self._render(watching)
        version = _version(watching)
        if version != self._looked_at or self._second_look.is_owed:
            self._looked_at = version
            self._second_look.look(lambda: self._rest(watching))

    def _fresh_files(self) -> RenderedFiles:
        return RenderedFiles(self._home.file(RENDERED_FOLDER), patience_seconds=_PATIENCE_SECONDS)

    def _render(self, watching: Reader) -> None:
        """Bring the files up to date, if somebody has written and the pause is over."""
        began = time.monotonic()
        self._is_settled = False
        if began < self._not_before:
            return
        version = _version(watching)
        is_there = os.path.exists(self._files.path(MEMORY_FILE))  # somebody may have deleted it
        if version == self._rendered and is_there:
            self._is_settled = True
            return
        if self._is_bulk(watching, began):
            return
        self._bulk_since = None
        worked = time.thread_time()
        done = render(self._home.path, self._files, self._breathe)
        worked = time.thread_time() - worked
        self._rendered = version
        self._wholes = self._wholes + 1 if done.is_whole else 0
        if self._said:
            self._said = ""
            log.info("the rendered files are up to date again")
        self._notice_edit(is_edited=done.is_edited)
        pause = _LEAST_PAUSE_SECONDS if self._wholes == 1 else max(_LEAST_PAUSE_SECONDS, 2 * worked)
        self._not_before = time.monotonic() + min(pause, _MOST_PAUSE_SECONDS)

    def _notice_edit(self, *, is_edited: bool) -> None:
        """An edit of MEMORY.md is taken by who keeps the pages. If nobody does, the file gets older, and that is said once."""
        if not is_edited:
            self._edited_since = None
        elif self._edited_since is None:
            self._edited_since = time.monotonic()
        elif time.monotonic() > self._edited_since + _EDITED_SECONDS:
            self._edited_since = math.inf
            path = self._files.path(MEMORY_FILE)
            log.warning(
                "%s was edited and is left as it is, because the edit could not be saved; next: mesh render", path
            )

    def _is_bulk(self, watching: Reader, now: float) -> bool:
        """Whether to wait a little longer: each record would cost its sender and us more time than all of them together later."""
        before, self._operations = self._operations, watching.fingerprint()[0]
        if abs(self._operations - before) < _BULK or before < 0:
            return False
        if self._bulk_since is None:
            self._bulk_since = now
        return now < self._bulk_since + _BULK_SECONDS

    def _rest(self, watching: Reader) -> None:
        """Within a second look, which may take seconds: what is written meanwhile is rendered in time."""
        self._breathe()
        self._render(watching)

    def _breathe(self) -> None:
        if time.monotonic() - self._resumed > _WORK_SECONDS:
            if self._stop.is_set():
                raise _Stopped
            if self._hurry.is_set():
                raise _Interrupted
            time.sleep(_REST_SECONDS)
            self._resumed = time.monotonic()

    def _complain(self, error: Exception) -> None:
        """Once, until it is another error or has gone well again."""
        said = (
            f"{error}; next: {error.next_step}" if isinstance(error, MeshError) else f"{type(error).__name__}: {error}"
        )
        if said != self._said:
            self._said = said
            log.warning("the rendered files are not up to date: %s", said)
            if not isinstance(error, MeshError | OSError):
                log.debug("where it happened", exc_info=error)


def _version(reader: Reader) -> int:
    """Another one after each commit of any other connection."""
    return int(reader.connection.execute("PRAGMA data_version").get)
