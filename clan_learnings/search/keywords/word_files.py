"""The index of words as one sees it who asks: files that another process builds, opened read-only whenever there are newer ones.

Asking costs two looks at the disk; nothing is watched. Files that were checked are not checked again: tantivy never changes one.
"""

import json
import os
import threading
from contextlib import suppress

from clan_learnings.search.index_state import STATE, IndexState, read_state
from clan_learnings.search.keywords.word_sums import CheckedFiles, is_sound
from clan_learnings.search.keywords.word_view import WordIndexBroken, WordView, open_index, reading

_SMALL_BYTES = 64 << 20  # as much may stay mapped while questions come, if it is all there is
_MAPPED_BYTES = 32 << 20  # of what is larger

_Stamp = tuple[int, int, int]
_NOTHING: _Stamp = (0, 0, 0)


class WordFiles:
    """Of one home. For any thread."""

    def __init__(self, home: str, folder: str) -> None:
        """`folder`: of the index and its state."""
        self._database = os.path.join(home, "mesh.db")
        self._state = os.path.join(folder, STATE)
        self._index = os.path.join(folder, "index")
        self._lock = threading.Lock()
        self._kept: IndexState | None = None
        self._seen: tuple[_Stamp, int] = (_NOTHING, 0)  # the files as they were when `_kept` was opened
        self._opened = -1  # its generation
        self._checked: CheckedFiles = {}
        self._file_bytes = 0
        self._mapped = 0  # when somebody last looked after it

    def kept(self) -> IndexState | None:
        """What was committed last; None while it cannot be used."""
        seen = self._look()
        with self._lock:
            if seen != self._seen:
                self._open(seen)
            return self._kept

    def forget(self) -> None:
        """It is broken: not used again until another one was committed."""
        with self._lock:
            self._kept, self._checked = None, {}

    def tidy(self) -> None:
        """Called now and then: let go of files that are gone, and of what was looked at and is not any more."""
        kept = self.kept()
        with self._lock:
            view: WordView | None = None if kept is None else kept.view
            mapped = 0 if view is None else min(view.mapped_bytes, self._file_bytes)
            is_quiet = mapped == self._mapped
            is_much = self._file_bytes > _SMALL_BYTES and mapped > _MAPPED_BYTES
            self._mapped = mapped
            if kept is not None and mapped and (is_quiet or is_much):
                again = self._view(view)
                if again is not None and self._generation() == self._opened:
                    self._kept, self._mapped = kept.seen(again), 0

    def _look(self) -> tuple[_Stamp, int]:
        try:
            found, database = os.stat(self._state), os.stat(self._database)
        except OSError:
            return _NOTHING, 0
        return (found.st_ino, found.st_mtime_ns, found.st_size), database.st_ino

    def _open(self, seen: tuple[_Stamp, int]) -> None:
        """Whoever builds may be in the middle of a commit: then what was there before stays in use for a moment."""
        stamp, inode = seen
        saved = read_state(self._state, inode) if stamp != _NOTHING else None
        if saved is None:
            self._kept, self._seen, self._checked = None, seen, {}
            return
        checked = dict(self._checked)
        view = self._view() if is_sound(self._index, checked) else None
        if view is not None and self._generation() == saved.generation:
            self._kept, self._seen, self._checked = saved.state.seen(view), seen, checked
            self._opened = saved.generation
            self._file_bytes = sum(size for size, _ in checked.values())
        elif view is None and self._look() == seen:
            self._kept, self._seen, self._checked = None, seen, {}

    def _view(self, same: WordView | None = None) -> WordView | None:
        with suppress(WordIndexBroken), reading():
            return WordView(open_index(self._index), same)
        return None

    def _generation(self) -> int:
        try:
            with open(os.path.join(self._index, "meta.json"), "rb") as file:
                return int(json.loads(file.read())["opstamp"])
        except (OSError, ValueError, TypeError, KeyError):
            return -1
