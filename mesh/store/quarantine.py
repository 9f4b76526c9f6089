"""What waits outside vector and fold, and how much of it may: the bound that keeps strangers from filling the disk.

Strays are authentic ranges that do not extend the held chain: something before them is missing, or they
belong to the other branch of a fork. Both are kept as they came, so that nothing has to be sent twice.
"""

from collections.abc import Iterator
from typing import NamedTuple

import apsw

from mesh.core.feed import Range, encode_range
from mesh.store.database import Run
from mesh.store.feeds import FeedRow

TOTAL_BYTES = 64 * 1024 * 1024
STRANGER_BYTES = 4 * 1024 * 1024  # of one key without a certificate


class Stray(NamedTuple):
    """A kept range that is not part of the held chain."""

    number: int
    feed: int
    first: int
    last: int
    prev: bytes
    head: bytes
    data: bytes


class Quarantine:
    """Reads and writes within whatever transaction the connection is in."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._run: Run = connection.execute

    def refusal(self, node: bytes, size: int, *, certified: bool) -> str | None:
        """Why `size` more bytes of a node may not be kept waiting, if so. The newest is refused, never the old."""
        if self.total_bytes() + size > TOTAL_BYTES:
            return "quarantine is full"
        if not certified and self._bytes_of(node) + size > STRANGER_BYTES:
            return "quarantine is full for a node without a certificate"
        return None

    def total_bytes(self) -> int:
        """Everything that waits."""
        return int(
            self._run(
                "SELECT (SELECT coalesce(sum(waiting_bytes), 0) FROM feeds)"
                " + (SELECT coalesce(sum(length(data)), 0) FROM strays)"
                " + (SELECT coalesce(sum(length(data)), 0) FROM held_statements)"
            ).get
        )

    def keep(self, feed: FeedRow, item: Range) -> bool:
        """Keep a stray; False if it was kept already."""
        return (
            self._run(
                "INSERT OR IGNORE INTO strays(feed, first, last, prev, head, data) VALUES(?,?,?,?,?,?) RETURNING stray",
                (feed.number, item.first, item.last, item.prev, item.head, encode_range(item)),
            ).get
            is not None
        )

    def strays(self, feed: FeedRow) -> list[Stray]:
        """The strays of a feed, earliest first."""
        rows = self._run(
            "SELECT stray, feed, first, last, prev, head, data FROM strays WHERE feed=? ORDER BY first, last",
            (feed.number,),
        )
        return [Stray._make(row) for row in rows]

    def everything(self) -> Iterator[Stray]:
        """All strays of all feeds."""
        rows = self._run("SELECT stray, feed, first, last, prev, head, data FROM strays ORDER BY feed, first")
        return map(Stray._make, rows)

    def replace(self, stray: Stray, data: bytes) -> None:
        """Keep other bytes for the same range: after a body in it was erased."""
        self._run("UPDATE strays SET data=? WHERE stray=?", (data, stray.number))

    def drop(self, stray: Stray) -> None:
        """A stray has become part of the chain."""
        self._run("DELETE FROM strays WHERE stray=?", (stray.number,))

    def _bytes_of(self, node: bytes) -> int:
        return int(
            self._run(
                "SELECT (SELECT coalesce(sum(waiting_bytes), 0) FROM feeds WHERE node=?1)"
                " + (SELECT coalesce(sum(length(data)), 0) FROM strays JOIN feeds USING(feed) WHERE node=?1)"
                " + (SELECT coalesce(sum(length(data)), 0) FROM held_statements WHERE signer=?1)",
                (node,),
            ).get
        )
