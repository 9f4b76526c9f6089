"""Where candidates come from: the seam between what ranks them and the indexes that find them. Everyday commands import this.

The node's database always answers (`Keywords`). A running sidecar may have indexes of its own, which answer the same
questions sooner, and by meaning.
"""

from __future__ import annotations

TYPE_CHECKING = False  # see `mesh`
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from clan_learnings.recall.within import Within
    from mesh.store.reading import Entry, Reader

_COMMON = 10_000  # records; a word that is in so many tells hardly anything, whatever their number is


class Finder:
    """Finds live records of one snapshot. What it gives may be out of scope: whoever ranks checks that."""

    has_meaning = False  # whether it knows anything but words
    embedder = ""  # the name of what made its vectors: every one has cosines of its own

    def by_words(
        self,
        words: Mapping[str, float],
        within: Within,
        count: int,
        also: Iterable[bytes] = (),
        without: Collection[str] = (),
    ) -> list[tuple[Entry, float]]:
        """The records that have some of the words, with their BM25 weights, best first. `words`: what each counts, mostly 1.

        `also`: records that were edited to be in scope, wherever they were written for. `without`: patterns under which
        none of them was written.
        """
        raise NotImplementedError

    def counts(self, words: Iterable[str]) -> tuple[int, dict[str, int]]:
        """How many records there are, and in how many of them each word stands; counting may stop where it takes too long."""
        raise NotImplementedError

    def stems_of(self, tag: bytes) -> Sequence[str] | None:  # noqa: ARG002 (none known)
        """The words of a record that was found a moment ago, in the form of the index, if they are at hand."""
        return None

    def by_meaning(
        self,
        text: str,  # noqa: ARG002 (none to find)
        within: Within,  # noqa: ARG002
        count: int,  # noqa: ARG002
        without: Collection[str] = (),  # noqa: ARG002
    ) -> list[tuple[Entry, float]]:
        """The records nearest in meaning, with their cosines, best first; none without vectors."""
        return []

    def expect(self, text: str) -> None:
        """Be told what will be asked by meaning in a moment: whatever takes its time can be begun."""

    def cosines(self, text: str, tags: Iterable[bytes]) -> dict[bytes, float]:  # noqa: ARG002 (none to find)
        """The exact cosine of each of these records that has a vector."""
        return {}


class Keywords(Finder):
    """The keyword index of the node's database: always there, always up to date."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def by_words(
        self,
        words: Mapping[str, float],
        within: Within,
        count: int,
        also: Iterable[bytes] = (),
        without: Collection[str] = (),
    ) -> list[tuple[Entry, float]]:
        """As in the seam."""
        return self._reader.weighed(
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
        return self._reader.records(), {word: self._reader.documents(word, _COMMON) for word in words}
