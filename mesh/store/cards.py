"""Cards: contacts and certificates, the newest of each node. Local: gossip keeps them outside the root.

What is in a card is not looked at here: whoever keeps one has checked it.
"""

from typing import NamedTuple

from mesh.store.database import Database


class Card(NamedTuple):
    """One fact about a node that only its latest version matters of."""

    kind: int
    subject: bytes
    at: int
    data: bytes


class Cards:
    """All cards of one home."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._run = database.run

    def all(self) -> list[Card]:
        """Every card, in one order on all nodes."""
        return [
            Card._make(row) for row in self._run("SELECT kind, subject, at, data FROM cards ORDER BY kind, subject")
        ]

    def keep(self, kind: int, subject: bytes, at: int, data: bytes) -> bool:
        """Keep a card if it is newer than what is known; of two as new, the larger. Returns whether it was kept."""
        with self._database.writing(durable=False):  # what is lost in a power failure, peers send again
            self._run(
                "INSERT INTO cards VALUES(?,?,?,?) ON CONFLICT(kind, subject) DO UPDATE SET at=excluded.at,"
                " data=excluded.data WHERE (excluded.at, excluded.data) > (cards.at, cards.data)",
                (kind, subject, at, data),
            )
            return bool(self._run("SELECT changes()").get)

    def drop(self, kind: int, subject: bytes) -> None:
        """Forget a card: whatever comes next counts."""
        with self._database.writing(durable=False):
            self._run("DELETE FROM cards WHERE kind=? AND subject=?", (kind, subject))
