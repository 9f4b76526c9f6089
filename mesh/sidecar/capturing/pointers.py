"""Pointers that hooks left: which transcripts to look at next. Takes them from the spool while hooks go on appending.

The file is renamed first and read then: a hook that has it open still writes into the renamed one, so that is read once more
before it goes. Paths in it came through an agent: only regular files of our own are looked at.
"""

import json
import os
import time
from typing import NamedTuple

from clan_learnings.records.spool import FOLDER, POINTERS, POINTERS_BYTES

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
        """Forget all of them unread: whoever switched capturing off does not want these looked at later."""
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
