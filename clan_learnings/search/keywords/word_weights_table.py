"""Keyword search in the database: which live records have some of the words of a question, and what they weigh. Reads only; `word_table` writes.

The weights are those of `bm25`, over all live
records: those of the index and those that are only noted for it. FTS5's own `bm25` knows nothing of the latter, so with it
the order would depend on when the index was last brought up to date; and it goes through every record of a word.

Here fewer and fewer records are looked at more and more closely: those that have the rarest words are listed; those in
scope that have most of them are measured; the best of these are read and weighed, with every word.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import apsw

from clan_learnings.search.keywords.bm25 import DIGITS, rarity, word_weight
from clan_learnings.search.keywords.fts_table import FtsIndex, number_in
from clan_learnings.search.keywords.word_table import searchable, texts
from mesh.core.ids import digest, tag_of
from mesh.core.limits import HLC_MAX, SALT_BYTES
from mesh.core.strict_msgpack import unpack
from mesh.store.database import Run
from mesh.store.entries import AMONG, Entry, keys_of
from mesh.store.registers import edits_of

_WRITING = 2  # SQLITE_TXN_WRITE


class UnindexedRecords:
    """The records that are noted for the index but not yet in it, as a second, small index in memory."""

    def __init__(self, connection: apsw.Connection, index: FtsIndex) -> None:
        self.having: dict[str, set[int]] = {}  # by stem
        self.lengths: dict[int, int] = {}
        self._connection = connection
        self._run: Run = connection.execute
        self._index = index
        self._marks: dict[int, int] = {}
        self._seen: tuple[int, int] | None = None

    def size(self) -> tuple[int, int]:
        """How many records, and how many words in all."""
        return len(self.lengths), sum(self.lengths.values())

    def bring_up(self) -> bool:
        """Read what was noted since the last time. False if nobody has written anything since."""
        now = (int(self._run("PRAGMA data_version").get), self._connection.total_changes())
        if now == self._seen:
            return False
        # A transaction of our own may be rolled back, and nothing would tell us.
        self._seen = None if self._connection.txn_state() == _WRITING else now
        marks = dict(self._run("SELECT op, mark FROM unindexed").fetchall())
        gone = {op for op, mark in self._marks.items() if marks.get(op) != mark}
        if gone:
            for ops in self.having.values():
                ops.difference_update(gone)
            self.having = {stem: ops for stem, ops in self.having.items() if ops}
            self.lengths = {op: length for op, length in self.lengths.items() if op not in gone}
        fresh = [op for op in marks if op not in self.lengths]
        for op, text in texts(self._run, "(SELECT value AS op FROM json_each(?))", (str(fresh),)) if fresh else ():
            stems = self._index.stems(text)
            self.lengths[op] = len(stems)
            for stem in stems:
                self.having.setdefault(stem, set()).add(op)
        self._marks = marks
        return True


LISTED = 10_000  # mentions of words that are gone through before the more frequent words only weigh
LISTED_MOST = 400_000  # and if too few of those were in scope
MEASURED = 600  # records whose length is looked up
READ = 200  # records that are read at the most, or half as many again as are asked for
READ_AT_ONCE = 50  # after so many it is seen whether another could still be among the best
REPEATED = 2.0  # times as often as expected a word may stand in one that is not read
ENOUGH = 25  # records in scope that have rare words, so that frequent words need not find any
NARROW = 4_000  # records; a scope of no more is looked up first
WORDS = 64  # of a question, the rarest


class SearchScope:
    """What of the elements may be found, as a condition; empty: everything."""

    __slots__ = ("args", "where")

    def __init__(
        self,
        run: Run,
        repos: Iterable[str] | None = None,
        logs: Iterable[str] | None = None,
        also: Iterable[bytes] = (),
        author: bytes | None = None,
        since_ms: int | None = None,
        until_ms: int | None = None,
        without: Iterable[str] = (),
    ) -> None:
        """`without`: patterns."""
        parts: list[str] = []
        self.args: list[Any] = []
        for column, names in (("scope", repos), ("log", logs)):
            if names is not None:
                part = f"{column} IN ({','.join(_numbers(run, column, names))})"
                if column == "scope" and (keys := [*also]):
                    part = f"({part} OR {AMONG})"
                    self.args.append(keys_of(keys))
                parts.append(part)
        for condition, ms in (("at>=?", since_ms), ("at<?", until_ms)):
            if ms is not None:
                parts.append(condition)
                self.args.append(min(max(ms, 0) << 16, HLC_MAX))
        if without and (numbers := _numbers(run, "pattern", without)):
            parts.append(f"ifnull(pattern, 0) NOT IN ({','.join(numbers)})")
        if author is not None:
            parts.append("(SELECT feed FROM ops WHERE ops.op=elements.op) IN (SELECT feed FROM feeds WHERE node=?)")
            self.args.append(author)
        self.where = " AND ".join(parts)


def _numbers(run: Run, column: str, names: Iterable[str]) -> list[str]:
    wanted = sorted(set(names))
    rows = run(f"SELECT {column} FROM {column}s WHERE name IN ({','.join('?' * len(wanted))})", wanted)
    return [str(number) for (number,) in rows]


class QuestionWord:
    """A word of a question: as it was written, what it counts, and in how many records it stands."""

    __slots__ = ("gain", "is_listed", "records", "written")

    def __init__(self, written: str, gain: float) -> None:
        self.written = written
        self.gain = gain  # at first what the asker gives it, then times its rarity
        self.records = 0
        self.is_listed = False  # whether the records that have it were gone through


class WordWeights:
    """Weighs the records of one database, within whatever transaction its connection is in."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._run: Run = connection.execute
        self._index = FtsIndex(connection, "words", "word_counts")
        self._noted = UnindexedRecords(connection, self._index)
        self._counted: dict[str, int] = {}

    def records(self) -> int:
        """How many live records there are."""
        self._bring_up()
        return self._index.size()[0] + self._noted.size()[0]

    def documents(self, text: str, most: int | None = None) -> int:
        """In how many live records a word stands; of several words, the rarest. `most`: where to stop counting."""
        self._bring_up()
        found = min((self._documents(stem) for stem in self._index.stems(text)), default=0)
        return found if most is None else min(found, most)

    def counts(self, words: Iterable[str], most: int | None = None) -> dict[str, int]:
        """The same of several, each by itself."""
        return {word: self.documents(word, most) for word in words}

    def stems(self, text: str) -> list[str]:
        """The words of a text in the form the index keeps, in their order."""
        return self._index.stems(text)

    def written(self, stem: str) -> str:
        """A word that has this stem."""
        return self._index.written(stem)

    def terms(self, start: str, count: int) -> list[str]:
        """Words of the index, in that form, that begin like this."""
        self._bring_up()
        noted = [stem for stem in self._noted.having if stem.startswith(start)]
        return sorted({*noted, *self._index.terms(start, count)})[:count]

    def best(
        self, words: Mapping[str, float], count: int, scope: SearchScope, newest: int | None = None
    ) -> list[tuple[Entry, float]]:
        """The best records and their weights, best first; of equal weights the newer one, of equal stamps the lesser tag."""
        self._bring_up()
        held, mentions = map(sum, zip(self._index.size(), self._noted.size(), strict=True))
        usual = mentions / max(held, 1) or 1
        wanted = self._wanted(words, held)
        chosen = self._chosen(wanted, count, scope, usual, newest)
        found: list[tuple[Entry, float]] = []
        for first in range(0, len(chosen), READ_AT_ONCE):
            if len(found) >= count and self._at_most(chosen[first], wanted, usual) < found[count - 1][1]:
                break
            found += [
                (entry, round(self._weight(record, size, wanted, usual), DIGITS))
                for entry, record, size in self._read(chosen[first : first + READ_AT_ONCE])
            ]
            found.sort(key=lambda item: (-item[1], -item[0].at, item[0].tag))
        return found[:count]

    def _wanted(self, words: Mapping[str, float], held: int) -> dict[str, QuestionWord]:
        """By stem, the rarest first; those that no record has are left out."""
        wanted: dict[str, QuestionWord] = {}
        for text, counts in words.items():
            for stem, written in self._index.spelled(text):
                known = wanted.get(stem)
                if known is None or known.gain < counts:
                    wanted[stem] = QuestionWord(written, counts)
        for stem, word in wanted.items():
            word.records = self._documents(stem)
            word.gain *= rarity(held, word.records)
        rarest = sorted((word.records, stem) for stem, word in wanted.items() if word.records and word.gain > 0)
        return {stem: wanted[stem] for _, stem in rarest[:WORDS]}

    def _chosen(
        self, wanted: dict[str, QuestionWord], count: int, scope: SearchScope, usual: float, newest: int | None
    ) -> list[tuple[int, int, float]]:
        """The records that are worth reading, the most promising first: op, how many words, what those count that it is known to have."""
        inside = self._inside(scope)
        most, enough = max(MEASURED, 2 * count), min(ENOUGH, count)
        gains: dict[int, float] = {}
        listed, budget = 0, LISTED
        for stem, word in wanted.items():
            if listed + word.records > budget and len(gains) >= enough:
                measured = self._measure(gains, scope, inside, newest, most)
                if len(measured) >= enough or listed >= LISTED_MOST:
                    break
                budget = 4 * (listed + word.records)
            self._list(stem, word, gains, inside)
            listed += word.records
        else:
            measured = self._measure(gains, scope, inside, newest, most)
        measured.sort(key=lambda row: (-_expected(gains[row[0]], row[2], usual), -row[1]))
        return [(op, size, gains[op]) for op, _, size in measured[: max(READ, count * 3 // 2)]]

    def _at_most(self, one: tuple[int, int, float], wanted: dict[str, QuestionWord], usual: float) -> float:
        """What a record that was not read may weigh: it could have the frequent words too, and say each twice."""
        _, size, gain = one
        unlisted = sum(word.gain for word in wanted.values() if not word.is_listed)
        return _expected(gain + unlisted, size, usual, REPEATED)

    def _inside(self, scope: SearchScope) -> set[int] | None:
        """The records of a narrow scope; None: it is wide."""
        if not scope.where:
            return None
        rows = self._run(f"SELECT op FROM elements WHERE {scope.where} LIMIT {NARROW + 1}", scope.args).fetchall()
        return {op for (op,) in rows} if len(rows) <= NARROW else None

    def _list(self, stem: str, word: QuestionWord, gains: dict[int, float], inside: set[int] | None) -> None:
        gain, word.is_listed = word.gain, True
        ops = self._index.having(word.written, LISTED_MOST)
        ops += self._noted.having.get(stem, ())
        if inside is not None:
            ops = [op for op in ops if op in inside]
        found = dict.fromkeys(ops, gain)
        for op in gains.keys() & found.keys():  # few have two rare words: no line of Python may run for the others
            found[op] += gains[op]
        gains.update(found)

    def _measure(
        self, gains: dict[int, float], scope: SearchScope, inside: set[int] | None, newest: int | None, most: int
    ) -> list[tuple[int, int, int]]:
        """Of the records that have most, those in scope: op, stamp, and how many words."""
        ops = sorted(gains, reverse=True)[:newest]  # of equal ones those that came last: sorting keeps their order
        ops.sort(key=gains.__getitem__, reverse=True)
        where = f" WHERE {scope.where}" if scope.where and inside is None else ""
        found: list[tuple[int, int, int]] = []
        for first in range(0, len(ops), most):
            rows = self._run(
                "SELECT op, at, sz FROM json_each(?) CROSS JOIN elements ON op=value"
                f" LEFT JOIN words_docsize ON words_docsize.id=op{where}",
                (str(sorted(ops[first : first + most])), *(scope.args if where else ())),
            )
            found += [(op, at, self._noted.lengths.get(op) or number_in(size)) for op, at, size in rows]
            if len(found) >= most:
                break
        return found

    def _read(self, chosen: Sequence[tuple[int, int, float]]) -> Iterator[tuple[Entry, dict[str, Any], int]]:
        """Each with its record as it is now, and how many words it has."""
        rows = self._run(
            "SELECT op, node, body FROM json_each(?) CROSS JOIN ops ON op=value CROSS JOIN feeds USING(feed)",
            (str([op for op, _, _ in chosen]),),
        )
        sizes = {op: size for op, size, _ in chosen}
        entries = []
        for op, node, body in rows:
            at, log_name, record = unpack(body[SALT_BYTES:])
            entries.append((Entry(tag_of(node, digest(body)), log_name, at, node, record), sizes[op]))
        edits = edits_of(self._run, [entry.tag for entry, _ in entries])
        for entry, size in entries:
            fields = edits.get(entry.tag)
            yield entry, entry.record if fields is None else entry.record | fields, size

    def _weight(self, record: dict[str, Any], size: int, wanted: dict[str, QuestionWord], usual: float) -> float:
        counts: dict[str, int] = {}
        for stem in self._index.stems(searchable(record)):
            if stem in wanted:
                counts[stem] = counts.get(stem, 0) + 1
        # In the order of rarity: a sum of fractions depends on the order of its parts.
        return sum(word_weight(word.gain, counts[stem], size, usual) for stem, word in wanted.items() if stem in counts)

    def _documents(self, stem: str) -> int:
        found = self._counted.get(stem)
        if found is None:
            found = self._counted[stem] = self._index.documents(stem) + len(self._noted.having.get(stem, ()))
        return found

    def _bring_up(self) -> None:
        if self._noted.bring_up():
            self._counted.clear()


def _expected(gain: float, words: int, usual: float, often: float = 1.0) -> float:
    """What a record may weigh that has words which count so much, each so often. A long one may repeat them: that is seen when it is read."""
    return word_weight(gain, often * max(words / usual, 1.0), words, usual)
