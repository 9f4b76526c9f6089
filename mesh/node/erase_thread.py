"""The thread that finishes erases: about every second, as long as one is unfinished.

Whoever reads an older state is in the way. Our own worker, if it reads for long, is asked to give it up; strangers are waited
for, and `mesh doctor` names them.
"""

import logging
import os
import time
from collections.abc import Callable
from contextlib import suppress

from mesh.core.errors import MeshError
from mesh.store.background_thread import Background
from mesh.store.erasure import finish, unfinished

LOOK_SECONDS = 1.0
_ANYWAY_SECONDS = 30.0  # a file's time has the grain of the system's clock: so often it is looked even if nothing seems to have changed
_RARELY = 16  # tries between two times that our own are asked, once a stranger has held on for a while
_STOP_SECONDS = 1.0

log = logging.getLogger("mesh.node")


class EraseThread(Background):
    """Use as a context manager: leaving it ends the thread, as soon as a try is over."""

    def __init__(self, home: str, let_go: Callable[[], None], look_seconds: float = LOOK_SECONDS) -> None:
        """`let_go`: has whoever of us reads for long stop that and begin again. Returns when that may have happened."""
        self._home = home
        self._let_go = let_go
        self._look_seconds = look_seconds
        self._tries = 0
        self._said = ""
        self._clean: frozenset[tuple[str, int, int]] | None = None  # the home's files when nothing was owed
        self._look_at = 0.0
        super().__init__("erases", _STOP_SECONDS)

    def _work(self) -> None:
        while True:
            try:
                self._look()
            except MeshError as error:  # a command has the lock, or the file is damaged, which others say too
                self._say(f"an erase could not be finished: {error}; trying again")
            except Exception as error:  # noqa: BLE001 (a damaged file can make anything fail)
                self._say(f"an erase could not be finished: {type(error).__name__}: {error}; trying again")
            if self._stop.wait(self._look_seconds):
                return

    def _look(self) -> None:
        files = _files(self._home)
        if files == self._clean and time.monotonic() < self._look_at:
            return
        left = unfinished(self._home)
        self._clean, self._look_at = None if left else files, time.monotonic() + _ANYWAY_SECONDS
        if left:
            self._tries += 1
            left = finish(self._home)
            # Not at each try: a long render would never come to its end while a stranger holds on.
            if left and (self._tries & (self._tries - 1) == 0 or self._tries % _RARELY == 0):
                left = self._in_a_hurry()
        if left:
            self._say(
                f"erased text may still be in {', '.join(left)}: somebody reads an older state, or the disk is full;"
                " trying again every second; who reads: mesh doctor"
            )
            return
        self._tries = 0
        if self._said:
            self._said = ""
            log.info("what was erased is out of all files now")

    def _in_a_hurry(self) -> list[str]:
        self._let_go()
        return finish(self._home)

    def _say(self, text: str) -> None:
        """Once, until it is something else or has gone well."""
        if text != self._said:
            self._said = text
            log.warning("%s", text)


def _files(home: str) -> frozenset[tuple[str, int, int]]:
    """What is different whenever a database was written to, or a file was added to a folder of the home: cheaper than to open them."""
    found = set()
    for entry in os.scandir(home):
        if ".db" in entry.name or entry.is_dir(follow_symlinks=False):
            with suppress(FileNotFoundError):  # it was deleted a moment ago
                state = entry.stat(follow_symlinks=False)
                found.add((entry.name, state.st_mtime_ns, state.st_size))
    return frozenset(found)
