"""Which held operations count: certificates, decreed ends, the clock. Moves the accepted head and the fold with it.

The clock only ever delays: it can keep an operation waiting, never take back what was accepted.
"""

from collections.abc import Iterable, Iterator

from mesh.core import clock
from mesh.core.feed import weight
from mesh.core.ids import Feed, digest, tag_of
from mesh.core.operation import parse
from mesh.core.trust import Trust
from mesh.core.vector import Head
from mesh.store.feeds import FeedRow, Feeds, OpRow
from mesh.store.fold import Fold, FoldRow

CLIPPING = frozenset({"fork", "revoked"})  # reasons that last; the others only delay
_CHUNK = 4096  # operations folded at a time when they are read back from the table


class Acceptance:
    """Decides within one transaction, under one set of statements and one reading of the clock."""

    def __init__(self, feeds: Feeds, fold: Fold, trust: Trust, now_ms: int, own: bytes | None) -> None:
        """`own`: the node whose clock this is; its own operations never wait for it."""
        self._own = own
        self._feeds = feeds
        self._fold = fold
        self._trust = trust
        self._horizon = clock.horizon(now_ms)

    def allowed(self, row: FeedRow) -> tuple[int, str]:
        """How far this feed may count by the statements alone, and what ends it there."""
        if not self._trust.certified(row.feed.node):
            return 0, "no certificate"
        cut = self._trust.cut(row.feed)
        if cut is None or row.held.seq < cut.seq:
            return row.held.seq, ""
        if cut.seq and self._feeds.hash_at(row, cut.seq) != cut.hash:
            # Another history than the one decreed: nothing of it counts until the two were compared.
            return 0, "fork"
        return cut.seq, cut.why if row.held.seq > cut.seq else ""

    def settle(self, row: FeedRow, fresh: list[FoldRow] | None = None, *, unsaved: bool = False) -> tuple[FeedRow, str]:
        """Bring the accepted head to where it belongs. Returns the row as saved and why anything is left out.

        `fresh`: the folded form of exactly the operations behind the accepted head, where the caller has
        it at hand; otherwise they are read back. `unsaved`: the row was changed and is to be saved in any case.
        """
        target, why = self.allowed(row)
        if target > row.accepted.seq and row.held_hlc > self._horizon and row.feed.node != self._own:
            ripe = self._ripe(row, target)
            target, why = (ripe, "ahead of the clock") if ripe < target else (target, why)
        if target > row.accepted.seq:
            row, before = self._moved(row, target), row
            if fresh is not None and target == row.held.seq:
                self._fold.apply(row.feed, row.number, fresh)
            else:
                self._apply(row, before.accepted.seq)
        elif target < row.accepted.seq:
            last = row.accepted.seq
            row = self._moved(row, target)
            self._fold.withdraw(fold_rows(row.feed, self._feeds.rows(row.number, target + 1, last)))
        elif unsaved:
            self._feeds.save(row)
        return row, why

    def _moved(self, row: FeedRow, target: int) -> FeedRow:
        if target == row.held.seq:
            moved = row._replace(accepted=row.held, accepted_hlc=row.held_hlc, waiting_bytes=0)
        else:
            hlc = next((op.hlc for op in self._feeds.rows(row.number, target, target)), 0)
            head = Head(target, self._feeds.hash_at(row, target))
            moved = row._replace(accepted=head, accepted_hlc=hlc, waiting_bytes=self._waiting_bytes(row, target))
        self._feeds.save(moved)
        return moved

    def _waiting_bytes(self, row: FeedRow, target: int) -> int:
        """What of a feed fills the quarantine: operations that came without counting, not those clipped later."""
        if target < row.accepted.seq:
            return row.waiting_bytes
        behind = sum(weight(op.body) for op in self._feeds.rows(row.number, target + 1, row.held.seq))
        return min(row.waiting_bytes, behind)

    def _apply(self, row: FeedRow, after: int) -> None:
        while after < row.accepted.seq:
            last = min(after + _CHUNK, row.accepted.seq)
            self._fold.apply(
                row.feed, row.number, list(fold_rows(row.feed, self._feeds.rows(row.number, after + 1, last)))
            )
            after = last

    def _ripe(self, row: FeedRow, target: int) -> int:
        """Clocks increase along a feed, so what is ripe is a prefix."""
        ripe = row.accepted.seq
        for op in self._feeds.rows(row.number, ripe + 1, target):
            if op.hlc > self._horizon:
                break
            ripe = op.seq
        return ripe


def fold_rows(feed: Feed, rows: Iterable[OpRow]) -> Iterator[FoldRow]:
    """Operations as the fold takes them. Erased ones are left out: as if they had never counted."""
    for row in rows:
        if row.body is not None:
            tag = tag_of(feed.node, digest(row.body))
            yield FoldRow(row.op, row.seq, tag, parse(row.kind, row.hlc, row.body))
