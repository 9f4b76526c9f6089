"""The keyword index: the text of live records in FTS5, written in batches. Disposable: the bodies are the only copy of a text.

FTS5 writes a segment a transaction, which costs more than all the rest of a single write. So single records are
only noted in `unindexed`, and indexed together once there are enough of them or someone wants to search.
"""

from __future__ import annotations

import apsw

from mesh.core.limits import SALT_BYTES
from mesh.core.wire import unpack
from mesh.store.database import Run

TYPE_CHECKING = False  # see `mesh`
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

BATCH = 512


class Words:
    """Reads and writes within whatever transaction the connection is in."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._run: Run = connection.execute
        self._many: Run = connection.executemany

    def add(self, records: Sequence[tuple[int, dict[str, Any]]]) -> None:
        """Index records (their op and content), now if they are many, else later."""
        if len(records) >= BATCH:
            self._many(
                "INSERT INTO words(rowid, text) VALUES(?,?)", [(op, searchable(record)) for op, record in records]
            )
            return
        self._many("INSERT INTO unindexed VALUES(?)", [(op,) for op, _ in records])
        if self._run("SELECT count(*) FROM unindexed").get >= BATCH:
            self.flush()

    def flush(self) -> None:
        """Index what was only noted. Before a search, and when enough has come together."""
        rows = self._run("SELECT op, body FROM unindexed JOIN ops USING(op)").fetchall()
        texts = [(op, searchable(unpack(body[SALT_BYTES:])[2])) for op, body in rows]
        self._many("INSERT INTO words(rowid, text) VALUES(?,?)", texts)
        self._run("DELETE FROM unindexed")

    def remove(self, op: int, record: dict[str, Any]) -> None:
        """Forget a record while its text is still known: a contentless index needs it to delete by."""
        if self._run("DELETE FROM unindexed WHERE op=? RETURNING op", (op,)).get is None:
            self._run("INSERT INTO words(words, rowid, text) VALUES('delete',?,?)", (op, searchable(record)))


def searchable(record: dict[str, Any]) -> str:
    """The text of a record that keyword search sees: every text in it, in its order."""
    parts: list[str] = []
    _collect(record.values(), parts)
    return "\n".join(parts)


def _collect(values: Iterable[Any], parts: list[str]) -> None:
    for value in values:
        if type(value) is str:
            parts.append(value)
        elif type(value) is dict:
            _collect(value.values(), parts)
        elif type(value) is list:
            _collect(value, parts)
