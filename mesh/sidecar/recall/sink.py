"""What a follower keeps up to date, and what it tells of that: the seam between following a database and being an index of it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from clan_learnings.records.record import Note
from mesh.store.changes import Mark
from mesh.store.entries import Entry
from mesh.store.reading import Reader


class Kept(NamedTuple):
    """What an index holds: all records up to a place, as they were in a state of the feeds."""

    progress: dict[str, Any]
    place: int
    mark: Mark  # of that state
    is_whole: bool  # whether what is gone was dropped: not yet, while all is gone through for the first time
    view: Any = None  # what was committed then, for those who ask
    looked: dict[Mark, Any] = {}  # noqa: RUF012 (what they found out about it goes with it; `seen` gives each its own)

    def seen(self, view: Any) -> "Kept":
        """The same, to be asked."""
        return self._replace(view=view, looked={})


class Live(NamedTuple):
    """A record as it is now."""

    entry: Entry
    fields: dict[str, Any]

    @property
    def note(self) -> Note:
        """As it is read."""
        return Note(self.entry, self.fields)


def as_they_are(reader: Reader, entries: Iterable[Entry]) -> list[Live]:
    """Records with their edits."""
    found = list(entries)
    edits = reader.edits(entry.tag for entry in found)
    return [Live(entry, edits.get(entry.tag, {})) for entry in found]


class Sink(Protocol):
    """An index that is kept up to date. Used by the follower's thread only."""

    folder: str
    batch: int  # records that are taken at once
    commit_records: int  # as many are worth a commit

    @property
    def view(self) -> Any:
        """What was committed last: for any thread, and never changed."""
        ...

    def open(self, about: Mapping[str, Any] | None) -> bool:
        """Go on with what is there; `about`: what it said of itself at its last commit. False: nothing to go on with."""
        ...

    def has_changed(self) -> bool:
        """Whether it has to be opened again: somebody wants another one."""
        ...

    def begin(self) -> None:
        """All records will come again. What is not among them is to be dropped: see `swept`."""
        ...

    def about(self) -> dict[str, Any]:
        """What is remembered beside the state, to know the index again."""
        ...

    def put(self, records: Sequence[Live], reader: Reader, breathe: Callable[[], None]) -> None:
        """Records that are new or another."""
        ...

    def drop(self, tags: Iterable[bytes]) -> None:
        """Records that are gone."""
        ...

    def erase(self, tags: Iterable[bytes]) -> bool:
        """Records of which not a byte may stay. False: that takes beginning anew."""
        ...

    def swept(self, are_live: Callable[[Sequence[bytes]], set[bytes]]) -> None:
        """All records have come since `begin`."""
        ...

    def commit(self) -> None:
        """On disk, and to be found."""
        ...

    def rest(self) -> None:
        """Nothing has come for a while."""
        ...

    def tidy(self) -> bool:
        """Called again and again. True: `view` is another one of the same."""
        ...

    def close(self) -> None:
        """The end, or before `open`."""
        ...


class Off(Exception):
    """There is to be no such index, or what it needs is not installed: no error either."""
