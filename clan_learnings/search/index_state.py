"""What an index beside the database holds, as it stands in a small file beside the index: by it one process builds and another asks."""

import json
import os
from collections.abc import Iterable
from typing import Any, NamedTuple

from clan_learnings.records.record import Note
from mesh.store.entries import Entry
from mesh.store.reader import Reader
from mesh.store.record_changes import Mark

STATE = "state.json"  # beside an index: what it is of, written after the index itself
_FORM = 2  # of the state, and of whatever is kept by it: another one is made anew
_STATE_BYTES = 16 * 1024 * 1024


class IndexState(NamedTuple):
    """What an index holds: all records up to a place, as they were in a state of the feeds."""

    progress: dict[str, Any]
    place: int
    mark: Mark  # of that state
    is_whole: bool  # whether what is gone was dropped: not yet, while all is gone through for the first time
    view: Any = None  # what was committed then, for those who ask
    looked: dict[Mark, Any] = {}  # noqa: RUF012 (what they found out about it goes with it; `seen` gives each its own)

    def seen(self, view: Any) -> "IndexState":
        """The same, to be asked."""
        return self._replace(view=view, looked={})


class SavedState(NamedTuple):
    """The state of an index, and what the index says of itself."""

    state: IndexState
    about: dict[str, Any]
    generation: int  # of the index's own files, that the state is of


def read_state(path: str, inode: int) -> SavedState | None:
    """What was saved, if it makes sense and is of the database with this inode."""
    try:
        with open(path, encoding="utf-8") as file:
            saved = json.loads(file.read(_STATE_BYTES))
        progress, about, place, mark = saved["progress"], saved["about"], saved["place"], saved["mark"]
        is_sound = (
            saved["form"] == _FORM
            and saved["inode"] == inode
            and type(place) is int
            and type(saved["is_whole"]) is bool
            and type(progress) is dict
            and type(about) is dict
            and type(saved["generation"]) is int
        )
        if not is_sound:
            return None
        mark = (mark[0], *((feed, seq) for feed, seq in mark[1:]))
    except (OSError, ValueError, TypeError, KeyError, IndexError, RecursionError):
        return None
    return SavedState(IndexState(progress, place, mark, saved["is_whole"]), about, saved["generation"])


def write_state(path: str, inode: int, saved: SavedState) -> None:
    """Save it, at once and whole."""
    state = saved.state
    told = {
        "form": _FORM,
        "inode": inode,
        "about": saved.about,
        "generation": saved.generation,
        "progress": state.progress,
        "place": state.place,
        "mark": state.mark,
        "is_whole": state.is_whole,
    }
    with open(f"{path}.new", "w", encoding="utf-8") as file:
        json.dump(told, file)
    os.replace(f"{path}.new", path)


class LiveRecord(NamedTuple):
    """A record as it is now."""

    entry: Entry
    fields: dict[str, Any]

    @property
    def note(self) -> Note:
        """As it is read."""
        return Note(self.entry, self.fields)


def live_records(reader: Reader, entries: Iterable[Entry]) -> list[LiveRecord]:
    """Records with their edits."""
    found = list(entries)
    edits = reader.edits(entry.tag for entry in found)
    return [LiveRecord(entry, edits.get(entry.tag, {})) for entry in found]
