"""Keyword search in the database. Everyday commands import this; the weighing is loaded by the first search."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import apsw

from clan_learnings.search.keywords.word_weights_table import SearchScope, WordWeights
from mesh.core.identifier_words import extra_words
from mesh.store.entries import Entry


class WordSearch:
    """Searches one database as it is now. Of a reader: `reader.part(WordSearch)`."""

    def __init__(self, connection: apsw.Connection) -> None:
        self.connection = connection
        self._weighed: WordWeights | None = None

    def weighed(
        self,
        words: Mapping[str, float],
        count: int,
        *,
        repos: Iterable[str] | None = None,
        logs: Iterable[str] | None = None,
        also: Iterable[bytes] = (),
        author: bytes | None = None,
        since_ms: int | None = None,
        until_ms: int | None = None,
        newest: int | None = None,
        without: Iterable[str] = (),
    ) -> list[tuple[Entry, float]]:
        """The live records that have some of the words, each with its BM25 weight, best first. `words`: what each counts, mostly 1.

        `also`: records that are searched too, whatever repo they were written for. `newest`: only so many that came last.
        `without`: patterns under which none of them was written.
        """
        scope = SearchScope(self.connection.execute, repos, logs, also, author, since_ms, until_ms, without)
        return self._weights().best(words, count, scope, newest) if count > 0 else []

    def documents(self, term: str, most: int | None = None) -> int:
        """In how many live records a word stands; of several words, the rarest. `most`: no more than this is said."""
        return self._weights().documents(term, most)

    def counts(self, words: Iterable[str], most: int | None = None) -> dict[str, int]:
        """The same of several words, each by itself."""
        return self._weights().counts(words, most)

    def records(self) -> int:
        """How many live records there are to be searched."""
        return self._weights().records()

    def terms(self, start: str, count: int) -> list[str]:
        """Words of all records, in the form the index keeps, that begin like this, in the order of the alphabet."""
        return self._weights().terms(start, count)

    def stems(self, text: str) -> list[str]:
        """The words of a text in that form, in their order; then those that its identifiers are made of."""
        return self._weights().stems("\n".join([text, *extra_words(text)]))

    def written(self, stem: str) -> str:
        """A word to ask for, if only its form in the index is known."""
        return self._weights().written(stem)

    def _weights(self) -> WordWeights:
        if self._weighed is None:
            self._weighed = WordWeights(self.connection)
        return self._weighed
