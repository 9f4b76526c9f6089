"""The keyword index: the text of live records, edits applied, in FTS5, written in batches. Disposable: the bodies are the only copy.

FTS5 writes a segment a transaction, which costs more than all the rest of a single write. So single records are
only noted in `unindexed`, and indexed together once there are enough of them. What is edited goes out of the index and is
noted again: no text has to be known to take it out, so what the index holds cannot depend on what it once was told.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import apsw

from mesh.core.identifiers import extra_words
from mesh.core.ids import digest, signed_prefix, tag_of
from mesh.core.limits import SALT_BYTES
from mesh.core.wire import unpack
from mesh.store import schema
from mesh.store.database import Run

TYPE_CHECKING = False  # see `mesh`
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from mesh.store.database import Database


BATCH = 512
ADD = 1  # as in `mesh.core.operation`, which readers do not load

# Nobody looks for these by their words: they are asked for by name, and would be in every record.
FILTERS = frozenset({"repo", "session", "agent"})

_INSERT = "INSERT INTO words(rowid, text) VALUES(?,?)"


class Words:
    """Reads and writes within whatever transaction the connection is in."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._run: Run = connection.execute
        self._many: Run = connection.executemany

    def add(self, records: Sequence[tuple[int, bytes, dict[str, Any]]]) -> None:
        """Index records (op, tag and content) that are not in it, now if they are many, else later."""
        if len(records) >= BATCH:
            edits = edits_of(self._run, [tag for _, tag, _ in records])
            self._many(
                _INSERT,
                [(op, searchable(record | edits[tag] if tag in edits else record)) for op, tag, record in records],
            )
        else:
            self._note([op for op, _, _ in records])

    def change(self, tags: Iterable[bytes]) -> None:
        """Some records may read otherwise now: a field was set, or is set no more."""
        ops: set[int] = set()  # two tags may begin alike, if somebody has tried long enough
        for tag in tags:
            found = self._run(
                "SELECT op FROM ops JOIN elements USING(op) WHERE key=? AND kind=?", (signed_prefix(tag), ADD)
            )
            ops |= {op for (op,) in found}
        for op in ops:
            self.remove(op)
        if ops:
            self._note(sorted(ops))

    def remove(self, op: int) -> None:
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


def edits_of(run: Run, tags: Sequence[bytes]) -> dict[bytes, dict[str, Any]]:
    """The registers of those of some records that have any, in one look."""
    if run("SELECT 1 FROM registers WHERE target>=x'' LIMIT 1").get is None:
        return {}  # nothing was ever edited
    found: dict[bytes, dict[str, Any]] = {}
    wanted = '["' + '","'.join([tag.hex() for tag in tags]) + '"]'
    rows = run(
        "SELECT target, field, body FROM json_each(?) CROSS JOIN registers ON target=unhex(value)"
        " CROSS JOIN ops USING(op) WHERE body IS NOT NULL ORDER BY target, field",
        (wanted,),
    )
    for target, field, body in rows:
        found.setdefault(target, {})[field] = unpack(body[SALT_BYTES:])[3]
    return found


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
        database.run(schema.NEW_WORDS)
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
