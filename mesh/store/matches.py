"""Keyword search: which live records match an FTS5 expression, and how well. Reads only; the index is kept by `words`.

The weights are those of Okapi BM25 (Robertson, Zaragoza, "The Probabilistic Relevance Framework", 2009), over all live
records: those of the index and those that are only noted for it. FTS5's own `bm25` knows nothing of the latter, so with
it the order would depend on when the index was last brought up to date; and it goes through every record of a word.
"""

from __future__ import annotations

from math import log

import apsw

from mesh.core.errors import UsageError
from mesh.core.limits import SALT_BYTES
from mesh.core.wire import unpack
from mesh.store.newest import AMONG, keys_of
from mesh.store.schema import TOKENIZER, WORD_COUNTS, WORDS
from mesh.store.words import searchable

TYPE_CHECKING = False  # see `mesh`
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from mesh.store.database import Run

# A word that nearly every record has must not make a search slow: of more matches than this, only those that arrived
# last are looked at, and of those in scope only the newest are weighed. See `documents` for finding such words.
LOOKED_AT = 200_000
WEIGHED = 2_000
_K1, _B = 1.2, 0.75  # as in FTS5
_DIGITS = 6  # of a weight: beyond them, mathematics libraries differ


class Hit:
    """A record that matches: how many words it has, and how often each phrase of the expression stands in it."""

    __slots__ = ("phrases", "words")

    def __init__(self, words: int, phrases: list[int]) -> None:
        self.words = words
        self.phrases = phrases


class Matches:
    """Searches one database, within whatever transaction its connection is in."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._run: Run = connection.execute
        self._indexed = Index(connection)
        self._noted = Index(apsw.Connection(":memory:"), new=True)
        self._brought: list[int] = []  # what the second index holds

    def best(
        self,
        expression: str,
        count: int,
        repos: Iterable[str] | None,
        logs: Iterable[str] | None,
        also: Iterable[bytes] = (),
        newest: int | None = None,
    ) -> list[tuple[int, float]]:
        """The numbers of the best records and their weights, best first; all of those that weigh as much as the last.

        `newest`: of how many, at most; whether a record is in the index or only noted for it makes no difference.
        """
        self._bring_up()
        weighed = WEIGHED if newest is None else min(newest, WEIGHED)
        where, args = _scope(repos, logs, also)
        scoped = f"SELECT op, at FROM {{}} CROSS JOIN elements USING(op) WHERE {where} ORDER BY at DESC LIMIT {{}}"
        last = f"(SELECT rowid AS op FROM words WHERE words MATCH ? ORDER BY rowid DESC LIMIT {LOOKED_AT})"
        try:
            noted = self._run(scoped.format("unindexed", -1), args).fetchall()
            hits = self._noted.hits(expression, [op for op, _ in noted])
            found = self._run(scoped.format(last, weighed), (expression, *args)).fetchall()
            stamps = {op: at for op, at in noted if op in hits} | dict(found)
            kept = sorted(stamps, key=lambda op: stamps[op], reverse=True)[:weighed]
            hits = {op: hits[op] for op in kept if op in hits}
            hits |= self._indexed.hits(expression, [op for op in kept if op not in hits])
        except apsw.SQLError as error:
            raise UsageError(
                f"this is not a search: {error}", 'put whatever is not a plain word in quotes: "like this"'
            ) from error
        ranked = sorted(self._weighed(expression, hits), reverse=True)
        least = ranked[count - 1][0] if len(ranked) > count else 0.0
        return [(op, weight) for weight, op in ranked if weight >= least]

    def documents(self, text: str, most: int | None = None) -> int:
        """In how many live records a word stands; of several words, the rarest. `most`: where to stop counting."""
        self._bring_up()
        if most is None:
            return min((self._documents(word) for word in self._indexed.words(text)), default=0)
        found = (
            self._indexed.at_most(word, most) + self._noted.at_most(word, most) for word in self._indexed.words(text)
        )
        return min(min(found, default=0), most)

    def _weighed(self, expression: str, hits: dict[int, Hit]) -> list[tuple[float, int]]:
        if not hits:
            return []
        records, words = map(sum, zip(self._indexed.size(), self._noted.size(), strict=True))
        rarity = []
        for phrase in self._indexed.phrases(expression) or self._noted.phrases(expression):
            found = min((self._documents(word) for word in phrase), default=0)
            # Never negative, as in Lucene: in a small notebook half of all records may have the word that is looked for.
            rarity.append(log(1 + max(records - found + 0.5, 0.5) / (found + 0.5)))
        weighed = []
        for op, hit in hits.items():
            usual = _K1 * (1 - _B + _B * hit.words * records / (words or 1))
            weight = sum(
                rare * often * (_K1 + 1) / (often + usual) for rare, often in zip(rarity, hit.phrases, strict=True)
            )
            weighed.append((round(weight, _DIGITS), op))
        return weighed

    def _documents(self, word: str) -> int:
        return self._indexed.documents(word) + self._noted.documents(word)

    def _bring_up(self) -> None:
        """Index in memory what is only noted: a few hundred at most. What a number stands for never changes."""
        noted = [op for (op,) in self._run("SELECT op FROM unindexed ORDER BY op")]
        if noted != self._brought:
            rows = self._run("SELECT op, body FROM unindexed JOIN ops USING(op)")
            self._noted.refill((op, searchable(unpack(body[SALT_BYTES:])[2])) for op, body in rows)
            self._brought = noted


class Index:
    """One FTS5 table, of the database or in memory, with what has to be known of it for weighing."""

    def __init__(self, connection: apsw.Connection, *, new: bool = False) -> None:
        self._connection = connection
        self._run: Run = connection.execute
        if new:
            self._run(WORDS + WORD_COUNTS)
        connection.register_fts5_function("occurrences", _occurrences)
        connection.register_fts5_function("phrases", _phrases)

    def refill(self, texts: Iterable[tuple[int, str]]) -> None:
        """Hold these and nothing else."""
        self._run("INSERT INTO words(words) VALUES('delete-all')")
        with self._connection:
            self._connection.executemany("INSERT INTO words(rowid, text) VALUES(?,?)", texts)

    def hits(self, expression: str, ops: list[int]) -> dict[int, Hit]:
        """Those of some records that match, with what they match by."""
        found = self._run(
            # The plus keeps SQLite from asking FTS5 for one record at a time.
            "SELECT rowid, occurrences(words) FROM words WHERE words MATCH ?1 AND rowid>=?2"
            " AND +rowid IN (SELECT value FROM json_each(?3))",
            (expression, min(ops, default=0), str(sorted(ops))),
        )
        hits = {}
        for op, counts in found:
            words, *phrases = map(int, counts.split())
            hits[op] = Hit(words, phrases)
        return hits

    def phrases(self, expression: str) -> list[list[str]]:
        """The words of each phrase of an expression; none if nothing matches it."""
        found = self._run("SELECT phrases(words) FROM words WHERE words MATCH ? LIMIT 1", (expression,)).get
        return [line.split(" ") for line in found.split("\n")] if found is not None else []

    def size(self) -> tuple[int, int]:
        """How many records it holds, and how many words in all: the first two numbers of FTS5's "averages record"."""
        block = self._run("SELECT block FROM words_data WHERE id=1").get or b""
        numbers, value = [], 0
        for byte in block:
            value = value << 7 | byte & 0x7F
            if byte < 0x80:
                numbers.append(value)
                value = 0
        return (numbers[0], numbers[1]) if len(numbers) > 1 else (0, 0)

    def documents(self, word: str) -> int:
        """How many of its records have a word, in the form FTS5 keeps."""
        return self._run("SELECT doc FROM word_counts WHERE term=?", (word,)).get or 0

    def at_most(self, word: str, most: int) -> int:
        """The same, but no further than this: a word that is in nearly every record takes long to count."""
        found = "SELECT count(*) FROM (SELECT 1 FROM words WHERE words MATCH ? LIMIT ?)"
        return int(self._run(found, ('"' + word.replace('"', '""') + '"', most)).get)

    def words(self, text: str) -> list[str]:
        """The words of a text in that form."""
        tokenizer = self._connection.fts5_tokenizer(TOKENIZER[0], [*TOKENIZER[1:]])
        found: Any = tokenizer(text.encode(), apsw.FTS5_TOKENIZE_QUERY, None)
        return [word for _, _, word in found]


# Other than methods these keep nothing: SQLite may call what an earlier reader on its connection has registered.
def _occurrences(api: apsw.FTS5ExtensionApi, *_: Any) -> str:
    """Of the record at hand: how many words it has, then how often each phrase of the expression stands in it."""
    counts = [len(api.phrase_locations(phrase)[0]) for phrase in range(api.phrase_count)]
    return " ".join(map(str, [api.column_size(0), *counts]))


def _phrases(api: apsw.FTS5ExtensionApi, *_: Any) -> str:
    """The phrases of the expression, one a line, in the form FTS5 keeps."""
    return "\n".join(" ".join(word for word in phrase if word) for phrase in api.phrases)


def _scope(repos: Iterable[str] | None, logs: Iterable[str] | None, also: Iterable[bytes]) -> tuple[str, list[str]]:
    """What of the elements may be found, as a condition."""
    parts, args = [], []
    for column, names in (("scope", repos), ("log", logs)):
        if names is not None:
            wanted = sorted(set(names))
            part = f"{column} IN (SELECT {column} FROM {column}s WHERE name IN ({','.join('?' * len(wanted))}))"
            args += wanted
            if column == "scope" and (keys := [*also]):
                part = f"({part} OR {AMONG})"
                args.append(keys_of(keys))
            parts.append(part)
    return " AND ".join(parts) or "1", args
