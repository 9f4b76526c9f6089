"""Finders of candidates: the protocol between ranking and the indexes, and the finder of every command. Everyday commands import this.

The database always answers (`KeywordFinder`). A running node may have indexes of its own, which answer the same
questions sooner, and by meaning.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from clan_learnings.records.record import written_under
from clan_learnings.search.keywords.search_table import WordSearch
from mesh.store.reader import Entry, Reader

if TYPE_CHECKING:
    from clan_learnings.search.filters import SearchFilters

_AT_ONCE = 30  # records at least
_COMMON = 10_000  # records; a word that is in so many tells hardly anything, whatever their number is


def are_crowded(patterns: Sequence[object], others: int) -> bool:
    """Whether nearly all are of one pattern: fewer than `others` are not."""
    first = set(patterns[:others])  # it is one of these, then
    return any(one and len(patterns) - patterns.count(one) < others for one in first)


class Finder:
    """Finds live records of one snapshot. Results may be out of scope: ranking checks that."""

    has_meaning = False  # whether it knows anything but words
    embedder = ""  # the name of what made its vectors: every one has cosines of its own

    def by_words(
        self,
        words: Mapping[str, float],
        within: SearchFilters,
        count: int,
        also: Iterable[bytes] = (),
        without: Collection[str] = (),
    ) -> list[tuple[Entry, float]]:
        """The records that have some of the words, with their BM25 weights, best first. `words`: what each counts, mostly 1.

        `also`: records that were edited to be in scope, wherever they were written for. `without`: patterns under which
        none of them was written.
        """
        raise NotImplementedError

    def is_crowded(
        self, words: Mapping[str, float], within: SearchFilters, count: int, others: int, also: Iterable[bytes] = ()
    ) -> bool:
        """Whether nearly all of the best so many records were written under one pattern: fewer than `others` were not."""
        found = self.by_words(words, within, count, also)
        return len(found) == count and are_crowded([written_under(entry) for entry, _ in found], others)

    def counts(self, words: Iterable[str]) -> tuple[int, dict[str, int]]:
        """How many records there are, and in how many of them each word stands; counting may stop where it takes too long."""
        raise NotImplementedError

    def stems_of(self, tag: bytes) -> Sequence[str] | None:  # noqa: ARG002 (none known)
        """The words of a record that was found a moment ago, in the form of the index, if they are at hand."""
        return None

    def by_meaning(
        self,
        text: str,  # noqa: ARG002 (none to find)
        within: SearchFilters,  # noqa: ARG002
        count: int,  # noqa: ARG002
        without: Collection[str] = (),  # noqa: ARG002
    ) -> list[tuple[Entry, float]]:
        """The records nearest in meaning, with their cosines, best first; none without vectors."""
        return []

    def expect(self, text: str, within: SearchFilters, count: int) -> None:
        """Be told what `by_meaning` will be asked in a moment: whatever takes its time can be begun."""

    def cosines(self, text: str, tags: Iterable[bytes]) -> dict[bytes, float]:  # noqa: ARG002 (none to find)
        """The exact cosine of each of these records that has a vector."""
        return {}


class KeywordFinder(Finder):
    """The keyword index of the node's database: always there, always up to date."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._asked: tuple[object, ...] = ()
        self._found: list[tuple[Entry, float]] = []

    def by_words(
        self,
        words: Mapping[str, float],
        within: SearchFilters,
        count: int,
        also: Iterable[bytes] = (),
        without: Collection[str] = (),
    ) -> list[tuple[Entry, float]]:
        """As in the seam. Who asks for a few will ask for a few more, and finding them is most of the work."""
        asked = (dict(words), within, [*also], frozenset(without))
        if self._asked == asked and count <= _AT_ONCE:
            return self._found[:count]
        self._asked, self._found = asked, self._weighed(words, within, max(count, _AT_ONCE), also, without)
        return self._found[:count]

    def _weighed(
        self,
        words: Mapping[str, float],
        within: SearchFilters,
        count: int,
        also: Iterable[bytes],
        without: Collection[str],
    ) -> list[tuple[Entry, float]]:
        return self._reader.part(WordSearch).weighed(
            words,
            count,
            repos=None if within.repo is None else ("", within.repo),
            logs=within.logs,
            also=also,
            author=within.author,
            since_ms=within.since_ms,
            until_ms=within.until_ms,
            without=without,
        )

    def counts(self, words: Iterable[str]) -> tuple[int, dict[str, int]]:
        """As in the seam."""
        return self._reader.part(WordSearch).records(), {
            word: self._reader.part(WordSearch).documents(word, _COMMON) for word in words
        }
