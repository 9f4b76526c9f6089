"""What waits outside vector and fold, and how much of it is kept: the limit that keeps strangers from filling the disk.

Strays are authentic ranges that do not extend the held chain: something before them is missing, or they
belong to the other branch of a fork. Both are kept as they came, so that nothing has to be sent twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import apsw

from mesh.core.feed import Range, decode_range, encode_range
from mesh.store.database import Run
from mesh.store.feeds import FeedRow

TOTAL_BYTES = 64 * 1024 * 1024
STRANGER_BYTES = 4 * 1024 * 1024  # of one key without a certificate
AUTHOR_BYTES = 8 * 1024 * 1024  # of one member: so nobody fills the space alone
ASIDE_BYTES = 256 * 1024  # of one signer's erases that name nothing
UNBEGUN = 16  # feeds of one node of which only ranges came that begin too late
PUSHED_OUT_A_MINUTE = (
    64  # feeds of one node by earlier ones: as many as count at first, so that all agree within minutes
)
_MINUTE_MS = 60_000
KEEPING_BYTES = 400  # about what a range or statement costs beside its bytes: rows, indexes, a feed of its own
Lacks = Callable[[Range], bool]  # whether a range comes without a body that no erase explains


class DetachedRange(NamedTuple):
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

    def __init__(self, connection: apsw.Connection, mesh: bytes) -> None:
        self._run: Run = connection.execute
        self._mesh = mesh

    def total_bytes(self) -> int:
        """Everything that waits."""
        return int(
            self._run(
                "SELECT (SELECT coalesce(sum(waiting_bytes + ?1), 0) FROM feeds WHERE waiting_bytes > 0)"
                " + (SELECT coalesce(sum(length(data) + ?1), 0) FROM strays)"
                " + (SELECT coalesce(sum(length(data) + ?1), 0) FROM held_statements)",
                (KEEPING_BYTES,),
            ).get
        )

    def is_empty(self) -> bool:
        """Whether there is no stray at all, as is usual."""
        return self._run("SELECT 1 FROM strays LIMIT 1").get is None

    def covers(self, feed: FeedRow, item: Range, lacks: Lacks) -> bool:
        """Whether a range is kept already, alone or as the end of a longer one, with every body it brings."""
        return any(
            stray.first <= item.first and (lacks(item) or not lacks(decode_range(self._mesh, stray.data)))
            for stray in self.strays(feed)
            if stray.head == item.head
        )

    def keep(self, feed: FeedRow, item: Range, lacks: Lacks) -> None:
        """Keep a stray, instead of those that it covers."""
        for stray in self.strays(feed):
            covered = stray.head == item.head and stray.first >= item.first
            if covered and (not lacks(item) or lacks(decode_range(self._mesh, stray.data))):
                self.drop(stray)
        self._run(
            "INSERT OR REPLACE INTO strays(feed, first, last, prev, head, data) VALUES(?,?,?,?,?,?)",
            (feed.number, item.first, item.last, item.prev, item.head, encode_range(item)),
        )

    def strays(self, feed: FeedRow) -> list[DetachedRange]:
        """The strays of a feed, earliest first."""
        rows = self._run(
            "SELECT stray, feed, first, last, prev, head, data FROM strays WHERE feed=? ORDER BY first, last",
            (feed.number,),
        )
        return [DetachedRange._make(row) for row in rows]

    def of_node(self, node: bytes) -> list[DetachedRange]:
        """The strays of all feeds of a node."""
        rows = self._run(
            "SELECT stray, feed, first, last, prev, head, data FROM strays WHERE feed IN"
            " (SELECT feed FROM feeds WHERE node=?)",
            (node,),
        )
        return [DetachedRange._make(row) for row in rows]

    def everything(self) -> Iterator[DetachedRange]:
        """All strays of all feeds."""
        rows = self._run("SELECT stray, feed, first, last, prev, head, data FROM strays ORDER BY feed, first")
        return map(DetachedRange._make, rows)

    def replace(self, stray: DetachedRange, data: bytes) -> None:
        """Keep other bytes for the same range: after a body in it was erased."""
        self._run("UPDATE strays SET data=? WHERE stray=?", (data, stray.number))

    def drop(self, stray: DetachedRange) -> None:
        """A stray has become part of the chain."""
        self._run("DELETE FROM strays WHERE stray=?", (stray.number,))

    def bytes_of(self, node: bytes) -> int:
        """What waits of one node."""
        return int(
            self._run(
                "SELECT (SELECT coalesce(sum(waiting_bytes + ?2), 0) FROM feeds WHERE node=?1 AND waiting_bytes > 0)"
                " + (SELECT coalesce(sum(length(data) + ?2), 0) FROM strays JOIN feeds USING(feed) WHERE node=?1)"
                " + (SELECT coalesce(sum(length(data) + ?2), 0) FROM held_statements WHERE signer=?1)",
                (node, KEEPING_BYTES),
            ).get
        )


class PushOutRate:
    """How many feeds of one author may push out others in a minute. The rest is not lost: peers send it again."""

    def __init__(self) -> None:
        self._minute = 0
        self._seen: dict[bytes, int] = {}  # in this minute, by node

    def is_too_fast(self, node: bytes, now_ms: int) -> bool:
        """Count one more, unless there were enough."""
        minute = now_ms // _MINUTE_MS
        if minute != self._minute:
            self._minute, self._seen = minute, {}
        if self._seen.get(node, 0) >= PUSHED_OUT_A_MINUTE:
            return True
        self._seen[node] = self._seen.get(node, 0) + 1
        return False


class QuarantineSpace:
    """How much more may be kept waiting, within one transaction: counted once, then kept up to date."""

    def __init__(self, quarantine: Quarantine) -> None:
        self._quarantine = quarantine
        self._total: int | None = None
        self._nodes: dict[bytes, int] = {}

    def refusal(self, node: bytes, size: int, *, certified: bool) -> str | None:
        """Take room for `size` more bytes of a node, or say why not. The newest is refused, never the old."""
        size += KEEPING_BYTES
        if self._total is None:
            self._total = self._quarantine.total_bytes()
        if self._total + size > TOTAL_BYTES:
            return "quarantine is full"
        if node not in self._nodes:
            self._nodes[node] = self._quarantine.bytes_of(node)
        if self._nodes[node] + size > (AUTHOR_BYTES if certified else STRANGER_BYTES):
            return f"quarantine is full for {'this node' if certified else 'a node without a certificate'}"
        self._nodes[node] += size
        self._total += size
        return None
