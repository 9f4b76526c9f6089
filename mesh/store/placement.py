"""Where an authentic range belongs: behind our chain, among the strays, or on the other branch of a fork."""

from typing import TYPE_CHECKING

from mesh.core.clock import horizon
from mesh.core.errors import Malformed, RemoteError
from mesh.core.feed import Range, decode_range, link_hash, require_order
from mesh.core.ids import Feed, tag_of
from mesh.core.statement import fork_between
from mesh.core.trust import Trust
from mesh.store.feeds import FeedRow
from mesh.store.outcome import AlreadyKnown, Clipped, Forked, Gap, Merged, Outcome, Refused, Waiting

if TYPE_CHECKING:
    from mesh.store.store import Store


class Placement:
    """Places ranges within one write transaction of a store."""

    def __init__(self, store: "Store") -> None:
        self._store = store
        self._feeds = store.feeds
        self._quarantine = store.quarantine

    def place(self, encoded: bytes) -> Outcome:
        """Verify a range, put it where it belongs, and whatever had been waiting for it behind it."""
        try:
            item = decode_range(self._store.mesh, encoded)
        except RemoteError as error:
            return Refused(str(error))
        before = self._feeds.find(item.feed)
        outcome = self._place(item, len(encoded))
        attached = self._attach_strays(item.feed, 0 if before is None else before.held.seq)
        if attached and isinstance(outcome, Merged):
            return Merged(outcome.count + attached)
        return outcome

    def retry_strays(self) -> None:
        """Place again what has been kept: an erase may explain a body that was missing."""
        for number in {stray.feed for stray in self._quarantine.everything()}:
            self._attach_strays(self._feeds.numbered(number).feed, -1)

    def _place(self, item: Range, size: int) -> Outcome:
        trust = self._store.trust()
        row = self._feeds.find(item.feed)
        held = 0 if row is None else row.held.seq
        if row is not None and item.last <= held and self._feeds.hash_at(row, item.last) == item.head:
            return AlreadyKnown()
        full = self._refusal(trust, row, item, size)
        row = row or (self._feeds.open(item.feed) if full is None else None)
        if row is None:
            return Refused(full or "")
        if item.first > held + 1:
            return self._keep(row, item, full, Gap(item.feed, held + 1, item.first - 1))
        if self._feeds.hash_at(row, item.first - 1) != item.prev:
            # Another branch, and where it left ours lies before this range.
            return self._keep(row, item, full, Gap(item.feed, 1, item.first - 1))
        if item.first <= held and self._feeds.hash_at(row, min(held, item.last)) != item.hash_at(min(held, item.last)):
            return self._fork(trust, row, item, full)
        return self._extend(trust, row, item, full)

    def _extend(self, trust: Trust, row: FeedRow, item: Range, full: str | None) -> Outcome:
        new = item.links[row.held.seq + 1 - item.first :]
        try:
            require_order(row.held_hlc, new[:1])
        except Malformed as error:
            return Refused(str(error))
        for seq, link in enumerate(new, row.held.seq + 1):
            if link.body is None and not trust.is_erased(
                tag_of(item.feed.node, link.body_hash), item.feed.node, link.kind
            ):
                return self._keep(row, item, full, Gap(item.feed, seq, seq))
        if full is not None:
            return Refused(full)
        before = row.accepted.seq
        row, fresh = self._feeds.extend(row, item, trust)
        row, why = self._store.acceptance().settle(row, fresh if before == row.held.seq - len(new) else None)
        if row.feed.node == self._store.own and row.feed in trust.forks:
            self._store.owe_republication()
        return _extended(row, why, row.accepted.seq - before)

    def _fork(self, trust: Trust, row: FeedRow, item: Range, full: str | None) -> Outcome:
        """The author signed two histories. Prove it, end the feed there, and keep the other side too."""
        first, prev = self._first_difference(row, item)
        proof = fork_between(self._feeds.next_range(row, first - 1, prev, shortest=True), item, first)
        if full is not None and not trust.entitled(proof):
            return Refused(full)
        if full is None:
            self._quarantine.keep(row, item)
        if row.feed.node == self._store.own:
            self._store.owe_republication()
        known = trust.forks.get(item.feed)
        if known is not None and known.first <= first:  # one proof is enough; only a lower one says more
            return Clipped("fork") if full is None else Refused(full)
        self._store.take([proof])
        return Forked(item.feed, first)

    def _first_difference(self, row: FeedRow, item: Range) -> tuple[int, bytes]:
        """The first operation of a range that is not ours, and the hash both have before it."""
        prev = item.prev
        for op in self._feeds.rows(row.number, item.first, item.last):
            link = self._feeds.link(op)
            ours = link_hash(prev, link.hlc, link.kind, link.body_hash)
            if ours != item.hash_at(op.seq):
                return op.seq, prev
            prev = ours
        raise AssertionError("called only where the two differ")

    def _keep(self, row: FeedRow, item: Range, full: str | None, outcome: Outcome) -> Outcome:
        if full is not None:
            return Refused(full)
        kept = self._quarantine.keep(row, item)
        if kept and row.feed.node == self._store.own:
            self._store.owe_republication()
        return outcome

    def _attach_strays(self, feed: Feed, before: int) -> int:
        """What waited for the chain to grow past `before` is merged as if it came now. Returns how much counts."""
        row = self._feeds.find(feed)
        counted = 0 if row is None else row.accepted.seq
        while row is not None and row.held.seq > before:
            reached = row.held.seq
            for stray in self._quarantine.strays(row):
                if before < stray.first - 1 <= reached:
                    outcome = self._place(decode_range(self._store.mesh, stray.data), 0)
                    row = self._feeds.find(feed) or row
                    absorbed = row.held.seq >= stray.last and self._feeds.hash_at(row, stray.last) == stray.head
                    if absorbed or isinstance(outcome, Refused):
                        self._quarantine.drop(stray)
            before = reached
        return 0 if row is None else row.accepted.seq - counted

    def _refusal(self, trust: Trust, row: FeedRow | None, item: Range, size: int) -> str | None:
        """Why there would be no room for a range if it had to wait, if so. What counts at once needs no room."""
        if item.feed.node == self._store.own or size == 0:
            return None
        certified = trust.certified(item.feed.node) and item.feed.node not in trust.revoked
        held = 0 if row is None else row.held.seq
        ripe = item.links[-1].hlc <= horizon(self._store.clock())
        cut = trust.cut(item.feed)
        if certified and ripe and item.first <= held + 1 and (cut is None or held < cut.seq):
            return None
        return self._quarantine.refusal(item.feed.node, size, certified=certified)


def _extended(row: FeedRow, why: str, merged: int) -> Outcome:
    if row.accepted.seq == row.held.seq:
        return Merged(merged)
    if why in ("fork", "revoked"):
        return Clipped(why, merged)
    return Waiting(why, merged)
