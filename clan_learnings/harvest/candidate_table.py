"""The candidates of a home, kept between harvests: as JSON in a database, with an index of their words and how far digests were read.

Local, like the catalogue beside it: nothing of it is ever in feeds, bundles or rendered files. Judges nothing.
"""

import json
import os
from array import array
from bisect import bisect_left, insort
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from heapq import nlargest, nsmallest
from typing import Any, Self

from clan_learnings.harvest.candidates import HarvestCandidate, candidate_from
from mesh.core.errors import AmbiguousId, UnknownId
from mesh.store.database import Run
from mesh.store.local_database import LocalDatabase

_MOST_WORDS, _MOST_NUMBERS = 50_000, 4_000_000  # in memory: some 30 MB; beyond, all are read again as they are needed


class SharedWords:
    """The words of one table."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._lists: dict[str, array[int]] = {}
        self._numbers = 0

    def nearest(self, words: Iterable[str], most: int) -> list[int]:
        """The candidates that share the most of these words: most first, of equal ones the oldest."""
        lists = sorted((self._list(word) for word in dict.fromkeys(words)), key=len)
        shared: Counter[int] = Counter()
        for at, numbers in enumerate(lists):
            rest = lists[at:]
            # Words that nearly all have are looked into rather than gone through, if those of the rare words win without them.
            if len(shared) >= most and len(numbers) > len(shared) * len(rest):
                whole = {number: count + sum(_has(each, number) for each in rest) for number, count in shared.items()}
                best = _first(whole, most)
                if whole[best[-1]] > len(rest):
                    return best
            shared.update(numbers)
        return _first(shared, most)

    def note(self, words: Iterable[str], number: int) -> None:
        """A candidate has these words, too."""
        for word in words:
            numbers = self._lists.get(word)
            if numbers is not None and not _has(numbers, number):
                insort(numbers, number)
                self._numbers += 1

    def forget(self) -> None:
        """The table has changed in another way."""
        self._lists.clear()
        self._numbers = 0

    def _list(self, word: str) -> "array[int]":
        found = self._lists.get(word)
        if found is None:
            if len(self._lists) >= _MOST_WORDS or self._numbers >= _MOST_NUMBERS:
                self.forget()
            rows = self._run("SELECT candidate FROM words WHERE word=? ORDER BY candidate", (word,))
            found = self._lists[word] = array("q", (row[0] for row in rows))
            self._numbers += len(found)
        return found


def _first(shared: dict[int, int], most: int) -> list[int]:
    least = min(nlargest(most, shared.values()), default=0)
    better = sorted(
        (number for number, count in shared.items() if count > least), key=lambda each: (-shared[each], each)
    )
    return better + nsmallest(most - len(better), (number for number, count in shared.items() if count == least))


def _has(numbers: "array[int]", number: int) -> bool:
    at = bisect_left(numbers, number)
    return at < len(numbers) and numbers[at] == number


FOLDER, FILE = "capture", "candidates.db"
_PAGE = 500

MIGRATIONS = (
    """
CREATE TABLE candidates(
    candidate INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, family TEXT NOT NULL, state TEXT NOT NULL, waits TEXT NOT NULL,
    body TEXT NOT NULL);
CREATE INDEX candidates_by_state ON candidates(state, waits);
CREATE TABLE words(word TEXT NOT NULL, candidate INTEGER NOT NULL, PRIMARY KEY(word, candidate)) WITHOUT ROWID;
CREATE INDEX words_by_candidate ON words(candidate);
CREATE TABLE transcripts(key TEXT NOT NULL, candidate INTEGER NOT NULL, PRIMARY KEY(key, candidate)) WITHOUT ROWID;
CREATE TABLE errors(
    signature TEXT NOT NULL, session TEXT NOT NULL, key TEXT NOT NULL, body TEXT NOT NULL, PRIMARY KEY(signature, session)
    ) WITHOUT ROWID;
CREATE INDEX errors_by_key ON errors(key);
CREATE TABLE progress(name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
""",
)


def has_candidates(home: str) -> bool:
    """Whether anything was ever harvested in a home."""
    return os.path.exists(os.path.join(home, FOLDER, FILE))


class CandidateTable:
    """One connection, for one thread. Bodies are dicts with an `id`; the caller knows what else is in them."""

    def __init__(self, home: str) -> None:
        self._database = LocalDatabase(os.path.join(home, FOLDER, FILE), MIGRATIONS)
        self._run = self._database.run
        self._shared = SharedWords(self._run)

    def close(self) -> None:
        """Release the file. Safe to call twice."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """One transaction: all that is put in it, or nothing."""
        try:
            with self._database.writing():
                yield
        except BaseException:
            self._shared.forget()
            raise

    def get(self, name: str) -> dict[str, Any] | None:
        """The candidate of an id."""
        found = self._run("SELECT body FROM candidates WHERE id=?", (name,)).get
        return None if found is None else _read(found)

    def beginning(self, name: str, most: int = 10) -> list[str]:
        """The ids that begin like this."""
        rows = self._run(
            "SELECT id FROM candidates WHERE id>=? AND id<? ORDER BY id LIMIT ?", (name, name + "\U0010ffff", most)
        )
        return [row[0] for row in rows]

    def near(self, family: str, words: Iterable[str], most: int) -> list[str]:
        """The ids of those of a family that share the most of these words, most first."""
        numbers = self._shared.nearest([_word(family, word) for word in words], most)
        rows = self._run(
            "SELECT candidate, id FROM candidates WHERE candidate IN (SELECT value FROM json_each(?))",
            (json.dumps(numbers),),
        )
        names: dict[int, str] = dict(rows.fetchall())
        return [names[number] for number in numbers]

    def put(self, body: dict[str, Any], family: str, state: str, waits: str) -> None:
        """Keep one, in the place of the one with the same id."""
        self._run(
            "INSERT INTO candidates(id, family, state, waits, body) VALUES(?,?,?,?,?) ON CONFLICT(id) DO UPDATE SET"
            " family=excluded.family, state=excluded.state, waits=excluded.waits, body=excluded.body",
            (body["id"], family, state, waits, json.dumps(body, separators=(",", ":"))),
        )

    def find_by(self, name: str, family: str, words: Iterable[str]) -> None:
        """One is found by these words too, from now on. One that is not there yet has to be put before others can read it."""
        self._run(
            "INSERT OR IGNORE INTO candidates(id, family, state, waits, body) VALUES(?,?,'','','{}')", (name, family)
        )
        number = self._run("SELECT candidate FROM candidates WHERE id=?", (name,)).get
        whole = [_word(family, word) for word in words]
        self._database.connection.executemany(
            "INSERT OR IGNORE INTO words VALUES(?,?)", [(word, number) for word in whole]
        )
        self._shared.note(whole, number)

    def remove(self, name: str) -> None:
        """Forget one altogether."""
        number = self._run("SELECT candidate FROM candidates WHERE id=?", (name,)).get
        for table in ("words", "transcripts", "candidates"):
            self._run(f"DELETE FROM {table} WHERE candidate=?", (number,))
        self._shared.forget()

    def every(
        self, states: Iterable[str] | None = None, waits: Iterable[str] | None = None
    ) -> Iterator[dict[str, Any]]:
        """All, or those in some states, or that wait for something, in the order they were founded."""
        wanted = None if states is None else json.dumps(list(states))
        waited = None if waits is None else json.dumps(list(waits))
        after = 0
        while True:
            rows = self._run(
                "SELECT candidate, body FROM candidates WHERE candidate>?1 AND"
                " (?2 IS NULL OR state IN (SELECT value FROM json_each(?2))) AND"
                " (?3 IS NULL OR waits IN (SELECT value FROM json_each(?3))) ORDER BY candidate LIMIT ?4",
                (after, wanted, waited, _PAGE),
            ).fetchall()
            yield from (_read(row[1]) for row in rows)
            if len(rows) < _PAGE:
                return
            after = rows[-1][0]

    def counts(self) -> dict[tuple[str, str], int]:
        """How many there are by state, and by what they wait for."""
        rows = self._run("SELECT state, waits, count(*) FROM candidates GROUP BY state, waits")
        return {(state, waits): count for state, waits, count in rows}

    # Which transcripts it was found in

    def found_in(self, name: str, key: str) -> None:
        """A transcript has told of a candidate."""
        self._run(
            "INSERT OR IGNORE INTO transcripts SELECT ?, candidate FROM candidates WHERE id=?", (_storable(key), name)
        )

    def told_by(self, key: str) -> list[str]:
        """The ids of what a transcript has told of."""
        rows = self._run("SELECT id FROM transcripts JOIN candidates USING(candidate) WHERE key=?", (_storable(key),))
        return [row[0] for row in rows.fetchall()]

    def of_forgotten(self, is_there: Callable[[str], bool]) -> list[tuple[str, str]]:
        """Candidates of transcripts that are not there any more: key and id."""
        keys = [row[0] for row in self._run("SELECT key FROM transcripts UNION SELECT key FROM errors")]
        lost = [key for key in keys if not is_there(key)]
        for key in lost:
            self.forget_errors(key)
        gone = json.dumps(lost)
        rows = self._run(
            "SELECT key, id FROM transcripts JOIN candidates USING(candidate)"
            " WHERE key IN (SELECT value FROM json_each(?)) ORDER BY id",
            (gone,),
        ).fetchall()
        return [(key, name) for key, name in rows]

    def forget(self, key: str, name: str) -> bool:
        """A transcript tells of a candidate no more. Says whether another one does."""
        number = self._run("SELECT candidate FROM candidates WHERE id=?", (name,)).get
        self._run("DELETE FROM transcripts WHERE key=? AND candidate=?", (_storable(key), number))
        return self._run("SELECT 1 FROM transcripts WHERE candidate=? LIMIT 1", (number,)).get is not None

    # Errors, until a second session has the same

    def note_error(self, signature: str, session: str, key: str, body: dict[str, Any]) -> list[dict[str, Any]]:
        """A session had an error. Returns what is worth saying now: nothing of the first session, then both, then each further one."""
        row = (_storable(signature), _storable(session), _storable(key), json.dumps(body, separators=(",", ":")))
        self._run("INSERT OR REPLACE INTO errors VALUES(?,?,?,?)", row)
        rows = self._run("SELECT body FROM errors WHERE signature=? ORDER BY session LIMIT 3", row[:1]).fetchall()
        # Where there are more than two, all but this one have been told: when there were two.
        return [_read(each[0]) for each in rows] if len(rows) == 2 else [body] if len(rows) > 2 else []

    def forget_errors(self, key: str) -> None:
        """A transcript tells of no error any more."""
        self._run("DELETE FROM errors WHERE key=?", (_storable(key),))

    def rewrite(self) -> bool:
        """Leave nothing in the file of what was removed. False if that has to wait for a reader."""
        return self._database.rewrite()

    # Up to where

    def progress(self, name: str) -> int:
        """A number that was kept; 0 if none was."""
        return self._run("SELECT value FROM progress WHERE name=?", (name,)).get or 0

    def reach(self, name: str, value: int) -> None:
        """Keep a number."""
        self._run("INSERT OR REPLACE INTO progress VALUES(?,?)", (name, value))


def _read(body: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(body)
    return found


def _word(family: str, word: str) -> str:
    """A word of one family: those of others need not be gone through."""
    return _storable(f"{family}\t{word}")


def _storable(text: str) -> str:
    """Half a pair of surrogates is no text for SQLite."""
    return text.encode("utf-8", "replace").decode()


_SIGNALS = 10_000  # of candidates that are remembered, about 2 KB each
_LEAST = 64  # candidates that are remembered, however many signals they have


class CandidateStore:
    """The same candidates as values: a `CandidateSet` for `clan_learnings.harvest.clusters`.

    Remembers what it has read, for the same ones are compared again and again; and what is put within `writing` is written
    once, at its end, however often it changes. Nobody else changes candidates meanwhile: who does has the lock of harvesting.
    """

    def __init__(self, kept: CandidateTable) -> None:
        self.kept = kept
        self.changed: dict[str, None] = {}  # ids that were put, in order
        self._unwritten: dict[str, HarvestCandidate] = {}
        self._remembered: OrderedDict[str, HarvestCandidate] = (
            OrderedDict()
        )  # the one that was not asked for longest first
        self._signals = 0
        self._is_writing = False

    @contextmanager
    def writing(self) -> Iterator[None]:
        """One transaction: all that is put or removed in it, or nothing."""
        try:
            with self.kept.writing():
                self._is_writing = True
                yield
                for candidate in self._unwritten.values():
                    self._write(candidate)
        except BaseException:
            self._remembered.clear()
            self._signals = 0
            raise
        finally:
            self._unwritten.clear()
            self._is_writing = False

    def get(self, name: str) -> HarvestCandidate | None:
        """The candidate of an id."""
        found = self._unwritten.get(name)
        if found is not None:
            return found
        if name in self._remembered:
            self._remembered.move_to_end(name)
            return self._remembered[name]
        body = self.kept.get(name)
        found = None if body is None else candidate_from(body)
        if found is not None:
            self._remember(found)
        return found

    def near(self, family: str, words: list[str], most: int) -> list[HarvestCandidate]:
        """Those of a family that share words, most of them first."""
        return [found for name in self.kept.near(family, words, most) if (found := self.get(name)) is not None]

    def put(self, candidate: HarvestCandidate, words: list[str]) -> None:
        """Keep one. Its texts were cleaned where they came in: what a session says in `intake`, what a person says in `curating`."""
        if not self._is_writing:
            with self.writing():
                self.put(candidate, words)
            return
        if words:
            self.kept.find_by(candidate.id, candidate.family, words)
        self._forget(candidate.id)
        self._unwritten[candidate.id] = candidate
        self.changed[candidate.id] = None

    def remove(self, name: str) -> None:
        """Forget one altogether."""
        self._forget(name)
        self._unwritten.pop(name, None)
        self.kept.remove(name)

    def _write(self, candidate: HarvestCandidate) -> None:
        self.kept.put(candidate.as_json(), candidate.family, candidate.state, candidate.waits_for)
        self._remember(candidate)

    def _remember(self, candidate: HarvestCandidate) -> None:
        self._forget(candidate.id)
        self._remembered[candidate.id] = candidate
        self._signals += len(candidate.signals)
        while self._signals > _SIGNALS and len(self._remembered) > _LEAST:
            self._signals -= len(self._remembered.popitem(last=False)[1].signals)

    def _forget(self, name: str) -> None:
        found = self._remembered.pop(name, None)
        self._signals -= 0 if found is None else len(found.signals)

    def every(self, *states: str, waits: Iterable[str] | None = None) -> Iterator[HarvestCandidate]:
        """All of some states, of all if none is named; `waits`: only those that wait for one of these."""
        for body in self.kept.every(states or None, waits):
            found = candidate_from(body)
            if found is not None:
                yield found

    def find(self, name: str) -> HarvestCandidate:
        """The candidate of an id, or of the beginning of one."""
        found = self.get(name)
        if found is not None:
            return found
        close = self.kept.beginning(name) if name else []
        if len(close) > 1:
            raise AmbiguousId(f"{name} is the beginning of several candidates", close)
        only = self.get(close[0]) if close else None
        if only is None:
            raise UnknownId(f"there is no candidate {name!r}", "see which there are: mesh curate --list")
        return only
