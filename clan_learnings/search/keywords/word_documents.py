"""Records as the index of words keeps them: which words, which facets. The follower feeds it, `finder` asks it."""

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from clan_learnings.records.record import LOGS, written_under
from clan_learnings.search.filters import Within
from clan_learnings.search.index_thread import Live
from clan_learnings.search.keywords.search_table import WordSearch
from clan_learnings.search.keywords.word_index import FIELDS, WordIndex
from clan_learnings.search.keywords.word_table import plain
from clan_learnings.search.keywords.word_view import Paper, Scope, View
from mesh.store.reading import Reader
from mesh.store.schema import VERSION

_STAMP_BITS = 16  # of a stamp below its milliseconds


class Wording:
    """The index of words of one home, as a follower keeps it."""

    batch = 500
    commit_records = 10_000

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self._index = WordIndex(os.path.join(folder, "index"))

    @property
    def view(self) -> View | None:
        """What was committed last."""
        return self._index.view

    def open(self, about: Mapping[str, Any] | None) -> bool:
        """As a follower wants it."""
        return about == self.about() and self._index.open()

    def has_changed(self) -> bool:
        """As a follower wants it: there is only one."""
        return False

    def begin(self) -> None:
        """As a follower wants it."""
        self._index.clear()

    def about(self) -> dict[str, Any]:
        """As a follower wants it."""
        return {"fields": FIELDS, "words": VERSION, "logs": list(LOGS)}  # of another log nobody finds anything

    def put(self, records: Sequence[Live], reader: Reader, breathe: Callable[[], None]) -> None:
        """As a follower wants it."""
        for record in records:
            self._index.put([paper(record, reader)])
            breathe()

    def drop(self, tags: Iterable[bytes]) -> None:
        """As a follower wants it."""
        self._index.drop(tags)

    def erase(self, tags: Iterable[bytes]) -> bool:  # noqa: ARG002 (all of it)
        """As a follower wants it. What tantivy deletes stays in its files for as long as it likes."""
        return False

    def swept(self, are_live: Callable[[Sequence[bytes]], set[bytes]]) -> None:
        """As a follower wants it. There was nothing before."""

    def commit(self) -> None:
        """As a follower wants it."""
        self._index.commit()

    def rest(self) -> None:
        """As a follower wants it."""
        self._index.rest()

    def tidy(self) -> bool:
        """As a follower wants it."""
        return self._index.tidy()

    def close(self) -> None:
        """As a follower wants it."""
        self._index.close()


def words_of(record: Live, reader: Reader) -> list[str]:
    """The words of a record, in the form in which the node's database keeps them too."""
    return reader.part(WordSearch).stems(plain(record.entry.record | record.fields))


def paper(record: Live, reader: Reader) -> Paper:
    """What is kept of a record."""
    note = record.note
    facets = [f"log:{note.log}", f"repo:{note.repo}", f"author:{note.node.hex()}", f"agent:{note.word('agent')}"]
    facets += [f"category:{note.word('category')}", *(f"tag:{tag}" for tag in note.tags)]
    pattern = written_under(record.entry)
    facets += [f"pattern:{pattern}"] if pattern else []
    return Paper(note.tag, words_of(record, reader), facets, note.stamp, pattern, is_aside=note.log not in LOGS)


def scope_of(within: Within, without: Collection[str] = ()) -> Scope:
    """Filters, as the index knows them; a tier is worked out by whoever ranks. `without`: patterns."""
    is_usual = set(within.logs) == set(LOGS)
    groups = [] if is_usual else [[f"log:{log}" for log in within.logs]]
    if within.repo is not None:
        groups.append([f"repo:{repo}" for repo in sorted({"", within.repo})])
    for facet, value in (("category", within.category), ("agent", within.agent)):
        if value:
            groups.append([f"{facet}:{value}"])
    if within.tags:
        groups.append([f"tag:{tag}" for tag in within.tags])
    if within.author is not None:
        groups.append([f"author:{within.author.hex()}"])
    passed = tuple(f"pattern:{pattern}" for pattern in sorted(without))
    return Scope(groups, passed, _stamp(within.since_ms), _stamp(within.until_ms))


def _stamp(at_ms: int | None) -> int | None:
    return None if at_ms is None else min(max(at_ms, 0) << _STAMP_BITS, (1 << 63) - 1)
