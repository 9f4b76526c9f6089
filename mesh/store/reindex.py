"""Making the keyword index anew from the bodies: whole, or not at all.

In one transaction. Whoever searches meanwhile sees the index as it was, and whoever is killed over it leaves that; other writers
wait, some seconds for a hundred thousand records.
"""

from __future__ import annotations

import apsw

from mesh.store import schema
from mesh.store.words import texts

TYPE_CHECKING = False  # see `mesh`
if TYPE_CHECKING:
    from collections.abc import Callable

    from mesh.store.database import Database

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
