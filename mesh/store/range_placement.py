"""Where an authentic range belongs: behind our chain, in quarantine, or on the other branch of a fork."""

from typing import TYPE_CHECKING

from mesh.core.clock import horizon
from mesh.core.errors import Malformed, RemoteError
from mesh.core.feed import Range, decode_range, link_hash, range_weight, require_order
from mesh.core.ids import Feed, tag_of
from mesh.core.statement import fork_between
from mesh.core.trust import Trust
from mesh.store.acceptance import CLIPPING, Acceptance
from mesh.store.erasure import without_erased
from mesh.store.feeds import FeedRow
from mesh.store.merge_outcome import AlreadyKnown, Clipped, Forked, Gap, Merged, Outcome, Refused, Waiting
from mesh.store.quarantine import UNBEGUN, QuarantineSpace

if TYPE_CHECKING:
    from mesh.store.store import Store


class Placement:
    """Places ranges within one write transaction of a store."""

    def __init__(self, store: "Store") -> None:
        self._store = store
        self._feeds = store.feeds
        self._quarantine = store.quarantine
        self._room = QuarantineSpace(store.quarantine)

    def place(self, encoded: bytes) -> Outcome:
        """Verify a range, put it where it belongs, and whatever had been waiting for it behind it."""
        try:
            item = decode_range(self._store.mesh, encoded)
        except RemoteError as error:
            return Refused(str(error))
        row = self._feeds.find(item.feed)
        outcome = self._place(item, row)
        if self._quarantine.is_empty():
            return outcome
        attached = self._attach_strays(item.feed, 0 if row is None else row.held.seq)
        if attached and isinstance(outcome, Merged):
            return Merged(outcome.count + attached)
        return outcome

    def retry_strays(self) -> None:
        """Place again what has been kept: an erase may explain a body that was missing."""
        for number in {stray.feed for stray in self._quarantine.everything()}:
            self._attach_strays(self._feeds.numbered(number).feed, -1)

    def _place(self, item: Range, row: FeedRow | None, *, kept: bool = False) -> Outcome:
        """`kept`: it has been waiting here as a stray, so it has its room already."""
        trust = self._store.trust()
        held = 0 if row is None else row.held.seq
        if row is not None and item.last <= held and self._feeds.hash_at(row, item.last) == item.head:
            return AlreadyKnown()
        if item.first > held + 1:
            return self._keep(trust, item, Gap(item.feed, held + 1, item.first - 1))
        if row is not None and self._feeds.hash_at(row, item.first - 1) != item.prev:
            # Another branch, and where it left ours lies before this range.
            return self._keep(trust, item, Gap(item.feed, 1, item.first - 1))
        if row is not None and item.first <= held:
            both = min(held, item.last)
            if self._feeds.hash_at(row, both) != item.hash_at(both):
                return self._fork(trust, row, item)
        return self._extend(trust, row, item, kept=kept)

    def _extend(self, trust: Trust, row: FeedRow | None, item: Range, *, kept: bool) -> Outcome:
        held, hlc = (0, 0) if row is None else (row.held.seq, row.held_hlc)
        new = item.links[held + 1 - item.first :]
        try:
            require_order(hlc, new[:1])
        except Malformed as error:
            return Refused(str(error))
        lacking = _first_lacking(trust, item, held + 1)
        if lacking:
            return self._keep(trust, item, Gap(item.feed, lacking, lacking))
        if not kept and not self._counts_at_once(trust, item, held):
            full = self._full(trust, item, range_weight(new))
            if full is not None:
                return Refused(full)
        acceptance = self._store.acceptance()
        if not held and item.feed.node != self._store.own:
            full = self._begun_full(acceptance, item)
            if full:
                return Refused(full)
        row = row or self._feeds.open(item.feed)
        before = row.accepted.seq
        row, fresh = self._feeds.extend(row, item, trust)
        if not held:  # it may have come before others of its author
            self._feeds.save(row)
            acceptance.drop_excess(item.feed.node)
        row, why = acceptance.settle(row, fresh if before == held else None, unsaved=True)
        if row.feed.node == self._store.own and row.feed in trust.forks:
            self._store.owe_republication()
        return _extended(row, why, row.accepted.seq - before)

    def _begun_full(self, acceptance: Acceptance, item: Range) -> str:
        """Why a feed may not begin here, if so: it is one too many, or pushes out another after many did."""
        may_begin, pushes_out = acceptance.may_begin(item.feed, item.links[0].hlc)
        if not may_begin:
            return "quarantine is full: this node has opened as many feeds as it may"
        pace = self._store.pace
        if pushes_out and pace is not None and pace.is_too_fast(item.feed.node, self._store.clock()):
            return "quarantine is full: feeds of this node push each other out too fast"
        return ""

    def _fork(self, trust: Trust, row: FeedRow, item: Range) -> Outcome:
        """The author signed two histories. Prove it, end the feed there, and keep the other side too."""
        first, prev = self._first_difference(row, item)
        before = next((op.hlc for op in self._feeds.rows(row.number, first - 1, first - 1)), 0)
        if item.links[first - item.first].hlc <= before:
            return Refused("an operation's clock does not increase")  # as if it had come first: then it is refused too
        kept = self._keep(trust, item, Clipped("fork"))
        known = trust.forks.get(item.feed)
        if known is not None and known.first <= first:  # one proof is enough; only a lower one says more
            return kept
        proof = fork_between(self._feeds.next_range(row, first - 1, prev, shortest=True), item, first)
        if not trust.entitled(proof) and (isinstance(kept, Refused) or self._full(trust, item, len(proof.payload))):
            return kept
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

    def _keep(self, trust: Trust, item: Range, outcome: Outcome) -> Outcome:
        """Keep a range that does not extend our chain, once, without erased bodies, if there is room."""
        item = without_erased(trust, item)

        def lacks(other: Range) -> bool:
            return _first_lacking(trust, other, other.first) > 0

        row = self._feeds.find(item.feed)
        if row is not None and self._quarantine.covers(row, item, lacks):
            return outcome
        full = self._full(trust, item, range_weight(item.links))
        if full is None and row is None and self._feeds.unbegun_of(item.feed.node) >= UNBEGUN:
            full = "quarantine is full of feeds of this node that were not begun"
        if full is not None and item.feed.node != self._store.own:
            return Refused(full)
        self._quarantine.keep(row or self._feeds.open(item.feed), item, lacks)
        if item.feed.node == self._store.own:
            self._store.owe_republication()
        return outcome

    def _attach_strays(self, feed: Feed, before: int) -> int:
        """What waited for the chain to grow past `before` is merged as if it came now. Returns how much counts."""
        row = self._feeds.find(feed)
        counted = 0 if row is None else row.accepted.seq
        while row is not None and row.held.seq > before:
            reached = row.held.seq
            for stray in self._quarantine.strays(row):
                if stray.last <= before or stray.first - 1 > reached:
                    continue  # looked at before, or not reached yet
                if self._feeds.hash_at(row, stray.first - 1) != stray.prev:
                    continue  # of another branch, and kept for that
                outcome = self._place(decode_range(self._store.mesh, stray.data), row, kept=True)
                row = self._feeds.find(feed) or row
                absorbed = row.held.seq >= stray.last and self._feeds.hash_at(row, stray.last) == stray.head
                if absorbed or isinstance(outcome, Refused):
                    self._quarantine.drop(stray)
            before = reached
        return 0 if row is None else row.accepted.seq - counted

    def _counts_at_once(self, trust: Trust, item: Range, held: int) -> bool:
        """Whether new operations need no room to wait in. Those that reach over a decreed end are let through once."""
        cut = trust.cut(item.feed)
        return (
            trust.may_write(item.feed.node)
            and item.links[-1].hlc <= horizon(self._store.clock())
            and (cut is None or held < cut.seq)
            and self._store.acceptance().fits_quota(item.feed.node, range_weight(item.links))
        )

    def _full(self, trust: Trust, item: Range, size: int) -> str | None:
        """Why there is no room to keep `size` more of a feed waiting, if so. Our own always has."""
        node = item.feed.node
        if node == self._store.own:
            return None
        return self._room.refusal(node, size, certified=trust.certified(node) and node not in trust.revoked)


def _first_lacking(trust: Trust, item: Range, first: int) -> int:
    """The first operation from `first` on whose body is missing without an erase to explain it, or 0."""
    node = item.feed.node
    for seq, link in enumerate(item.links[first - item.first :], first):
        if link.body is None and not trust.is_erased(tag_of(node, link.body_hash), node, link.kind):
            return seq
    return 0


def _extended(row: FeedRow, why: str, merged: int) -> Outcome:
    if row.accepted.seq == row.held.seq:
        return Merged(merged)
    if why in CLIPPING:
        return Clipped(why, merged)
    return Waiting(why, merged)
