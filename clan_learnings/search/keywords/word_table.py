"""The keyword index: the text of live records, edits applied, in FTS5, written in batches. Disposable: the bodies are the only copy.

FTS5 writes a segment a transaction, which costs more than all the rest of a single write. So single records are
only noted in `unindexed`, and indexed together once there are enough of them. What is edited goes out of the index and is
noted again: no text has to be known to take it out, so what the index holds cannot depend on what it once was told.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from shutil import rmtree
from typing import Any

import apsw

from clan_learnings.search.index_files import FOLDER, VECTORS, WORDS, wipe_vectors
from clan_learnings.search.keywords.fts_table import FTS, SEGMENTS, TOKENIZER, FtsIndex, scrub
from mesh.core.identifier_words import extra_words
from mesh.core.ids import digest, signed_prefix, tag_of
from mesh.core.limits import SALT_BYTES
from mesh.core.strict_msgpack import unpack
from mesh.store.database import Database
from mesh.store.registers import edits_of
from mesh.store.subject import Run, Step, Subject, View

BATCH = 512
_LOOKED_UP = 500  # records that a check looks up by their words
ADD = 1  # as in `mesh.core.operation`, which readers do not load

# Nobody looks for these by their words: they are asked for by name, and would be in every record.
FILTERS = frozenset({"repo", "session", "agent"})

# As it was until version 5.
_FIRST_WORDS = f"""
CREATE TABLE unindexed(op INTEGER PRIMARY KEY);
CREATE VIRTUAL TABLE words USING fts5(text, content='', tokenize='{" ".join(TOKENIZER)}');
INSERT INTO words(words, rank) VALUES('secure-delete', 1);
{SEGMENTS.format("words")}
"""

# In how many records a word stands. Holds nothing itself: it looks into `words`.
_WORD_COUNTS = "CREATE VIRTUAL TABLE word_counts USING fts5vocab('words', 'row');"

# The same, from which a record can be taken without its text: see docs/adr/0041. `mark`: another one whenever a noted record
# reads otherwise. Dropping the table is what makes a damaged one good again.
_WORDS_TABLE = f"CREATE VIRTUAL TABLE words USING {FTS};"
NEW_WORDS = f"""
DROP TABLE words;
DROP TABLE unindexed;
CREATE TABLE unindexed(op INTEGER PRIMARY KEY, mark INTEGER NOT NULL);
{_WORDS_TABLE}
{SEGMENTS.format("words")}
"""

_INSERT = "INSERT INTO words(rowid, text) VALUES(?,?)"


class WordTableView(View):
    """Reads and writes within whatever transaction the connection is in."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._run: Run = connection.execute
        self._many: Run = connection.executemany

    def added(self, feed: int, elements: object, records: Sequence[tuple[int, bytes, dict[str, Any]]]) -> None:  # noqa: ARG002
        """Index records (op, tag and content) that are not in it, now if they are many, else later."""
        if len(records) >= BATCH:
            edits = edits_of(self._run, [tag for _, tag, _ in records])
            self._many(
                _INSERT,
                [(op, searchable(record | edits[tag] if tag in edits else record)) for op, tag, record in records],
            )
        else:
            self._note([op for op, _, _ in records])

    def edited(self, tags: Iterable[bytes]) -> None:
        """Some records may read otherwise now: a field was set, or is set no more."""
        ops: set[int] = set()  # two tags may begin alike, if somebody has tried long enough
        for tag in tags:
            found = self._run(
                "SELECT op FROM ops JOIN elements USING(op) WHERE key=? AND kind=?", (signed_prefix(tag), ADD)
            )
            ops |= {op for (op,) in found}
        for op in ops:
            self.removed(op, None)
        if ops:
            self._note(sorted(ops))

    def removed(self, op: int, element: object) -> None:  # noqa: ARG002
        """Forget a record. Its words stand in the file until `scrub`, but nothing finds them."""
        if self._run("DELETE FROM unindexed WHERE op=? RETURNING op", (op,)).get is None:
            self._run("DELETE FROM words WHERE rowid=?", (op,))

    def flush(self) -> None:
        """Index what was only noted."""
        self._many(_INSERT, list(texts(self._run, "unindexed")))
        self._run("DELETE FROM unindexed")

    def _note(self, ops: Iterable[int]) -> None:
        # The number tells readers who have read this note before that they have not read this text.
        self._many("INSERT INTO unindexed VALUES(?, random())", [(op,) for op in ops])
        if self._run("SELECT count(*) FROM unindexed").get >= BATCH:
            self.flush()


def texts(run: Run, ops: str, args: Sequence[Any] = ()) -> Iterator[tuple[int, str]]:
    """The text of some records as they are now, each with its op. `ops`: a table, or a query in brackets, that has a column op."""
    rows = run(f"SELECT op, node, body FROM {ops} JOIN ops USING(op) JOIN feeds USING(feed)", args).fetchall()
    records = [(op, tag_of(node, digest(body)), unpack(body[SALT_BYTES:])[2]) for op, node, body in rows]
    edits = edits_of(run, [tag for _, tag, _ in records])
    for op, tag, record in records:
        yield op, searchable(record | edits[tag] if tag in edits else record)


def searchable(record: dict[str, Any]) -> str:
    """The text of a record that keyword search sees: its own words, then those that identifiers are made of."""
    text = plain(record)
    extra = extra_words(text)
    return f"{text}\n{' '.join(extra)}" if extra else text


def plain(record: dict[str, Any]) -> str:
    """Every text in a record, in its order, but for what only filters."""
    parts: list[str] = []
    for name, value in record.items():
        if type(value) is str:
            if name not in FILTERS:
                parts.append(value)
        elif type(value) is dict:
            _collect(value.values(), parts)
        elif type(value) is list:
            _collect(value, parts)
    return "\n".join(parts)


def _collect(values: Iterable[Any], parts: list[str]) -> None:
    for value in values:
        if type(value) is str:
            parts.append(value)
        elif type(value) is dict:
            _collect(value.values(), parts)
        elif type(value) is list:
            _collect(value, parts)


STEP = 4096  # records that are read at once


def reindex(database: Database, progress: Callable[[int], None] = lambda _: None) -> int:
    """Drop the keyword index and fill it again. Returns how many records it holds then. `progress` is told of each step's."""
    with database.writing(durable=False):
        database.run(NEW_WORDS)
        fill(database.connection, progress)
        return int(database.run("SELECT count(*) FROM words_docsize").get)


def fill(connection: apsw.Connection, progress: Callable[[int], None] = lambda _: None) -> None:
    """Index every record there is, in an index that holds none, within whatever transaction the connection is in."""
    last = 0
    while True:
        found = list(
            texts(connection.execute, "(SELECT op FROM elements WHERE op>? ORDER BY op LIMIT ?)", (last, STEP))
        )
        if not found:
            return
        connection.executemany("INSERT INTO words(rowid, text) VALUES(?,?)", found)
        last = max(op for op, _ in found)
        progress(len(found))


def _problems(connection: apsw.Connection) -> Iterator[str]:
    run: Run = connection.execute
    for query, word in (
        (
            "SELECT op FROM main.elements EXCEPT SELECT id FROM words_docsize EXCEPT SELECT op FROM unindexed",
            "is missing",
        ),
        (
            "SELECT * FROM (SELECT id FROM words_docsize UNION SELECT op FROM unindexed) EXCEPT SELECT op FROM main.elements",
            "should not be there",
        ),
        ("SELECT op FROM unindexed JOIN words_docsize ON id=op", "is there twice"),
    ):
        row = run(f"{query} LIMIT 1").fetchone()
        if row is not None:
            yield f"keyword index: record {row[0]} {word}"
    strange = _of_other_words(connection)
    if strange is not None:
        yield f"keyword index: record {strange} is under other words than its own"


def _of_other_words(connection: apsw.Connection) -> int | None:
    """Some records, and some of those that were edited, are looked up by their words: all would take as long as a new index."""
    run: Run = connection.execute
    index = FtsIndex(connection, "words", "word_counts")
    every = max(1, run("SELECT count(*) FROM words_docsize").get // _LOOKED_UP)
    rows = run("SELECT DISTINCT target FROM main.registers WHERE target>=x'' LIMIT ?", (_LOOKED_UP,))
    edited = [signed_prefix(target) for (target,) in rows]
    some = (
        "(SELECT id AS op FROM words_docsize WHERE id % ?1 = 0 UNION SELECT words_docsize.id FROM json_each(?2)"
        " CROSS JOIN ops ON ops.key=value AND kind=1 CROSS JOIN words_docsize ON words_docsize.id=op)"
    )
    found = texts(run, some, (every, str(edited)))
    return next((op for op, text in found if not index.holds(op, text)), None)


def _with_edits(connection: apsw.Connection) -> None:
    """The index has edits and identifiers in it from this version on."""
    connection.execute(NEW_WORDS)
    fill(connection)


class _Search(Subject):
    """See `mesh.store.subject`."""

    name = "search"
    steps: Mapping[int, Step] = {1: _FIRST_WORDS, 3: _WORD_COUNTS, 5: _with_edits}

    def view(self, connection: apsw.Connection, schema: str) -> View | None:
        return WordTableView(connection) if schema == "main" else None

    def problems(self, connection: apsw.Connection) -> Iterator[str]:
        yield from _problems(connection)

    def scrub(self, run: Run) -> None:
        scrub(run, "words")

    def drop_files(self, folder: str) -> None:

        rmtree(os.path.join(folder, FOLDER, WORDS), ignore_errors=True)

    def wiped(self, folder: str, tags: set[bytes]) -> None:

        wipe_vectors(os.path.join(folder, FOLDER, VECTORS), tags)


SEARCH = _Search()
