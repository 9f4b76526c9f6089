"""Which held operations count: certificates, decreed ends, shares, the clock. Moves the accepted head and the fold with it.

The clock only ever delays: it can keep an operation waiting, never take back what was accepted. What else there is of the
same author can: of its feeds the earliest count, and of its operations the earliest, as far as its quota reaches.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

from mesh.core import clock
from mesh.core.feed import weight
from mesh.core.ids import Feed, digest, tag_of
from mesh.core.limits import FEEDS
from mesh.core.operation import parse
from mesh.core.trust import Trust
from mesh.core.version_vector import Head
from mesh.store.feeds import FeedRow, Feeds, OpRow
from mesh.store.fold import Fold, FoldRow


def within_quota(feeds: Feeds, rows: Sequence[tuple[FeedRow, int]], allowance: int) -> list[tuple[FeedRow, int]]:
    """Each feed with how far it counts. `rows`: with how far each may count by all other rules.

    Of what may count, in the order of (stamp, feed), as much as weighs no more than the allowance, all together. The first
    operation that does not fit ends it, also for smaller ones behind it.
    """
    lanes = [_Lane(feeds, row, most) for row, most in rows]
    total = sum(lane.weight for lane in lanes)
    while True:
        latest = max((lane for lane in lanes if lane.head), key=_Lane.last, default=None)
        if latest is not None and total > allowance:
            total -= latest.back()
            continue
        earliest = min((lane for lane in lanes if lane.head < lane.most), key=_Lane.coming, default=None)
        if earliest is None:
            break
        is_between = latest is not None and earliest.coming() < latest.last()
        if not is_between and total + earliest.coming_weight > allowance:
            break
        total += earliest.forward()
    return [(lane.row, lane.head) for lane in lanes]


class _Lane:
    """One feed on its way to where it counts."""

    def __init__(self, feeds: Feeds, row: FeedRow, most: int) -> None:
        self.row = row
        self.most = most
        self.head = min(row.accepted.seq, most)
        self.weight = row.weight - feeds.share_of(row.number, self.head + 1, row.accepted.seq)
        self._feeds = feeds
        self._key = row.feed.encode()
        self._steps: dict[int, tuple[int, int]] = {}

    def last(self) -> tuple[int, bytes]:
        """The place of the last operation that counts."""
        return self._step(self.head)[0], self._key

    def coming(self) -> tuple[int, bytes]:
        """The place of the next one."""
        return self._step(self.head + 1)[0], self._key

    @property
    def coming_weight(self) -> int:
        """What the next one weighs."""
        return self._step(self.head + 1)[1]

    def forward(self) -> int:
        """Let the next one count. Returns what it weighs."""
        self.head += 1
        return self._step(self.head)[1]

    def back(self) -> int:
        """Take the last one back. Returns what it weighed."""
        self.head -= 1
        return self._step(self.head + 1)[1]

    def _step(self, seq: int) -> tuple[int, int]:
        found = self._steps.get(seq)
        if found is None:
            self._steps = {seq: step for seq, step in self._steps.items() if abs(seq - self.head) <= 1}
            found = self._steps[seq] = self._feeds.step(self.row.number, seq)
        return found


CLIPPING = frozenset({"fork", "revoked"})  # reasons that last; the others only delay
NO_CERTIFICATE, MAY_ONLY_READ = "no certificate", "it may only read"
AHEAD, OVER_QUOTA, TOO_MANY_FEEDS = "ahead of the clock", "over the quota of its author", "one feed too many"
_CHUNK = 4096  # operations folded at a time when they are read back from the table
Moved = Callable[[int, int, int], None]  # a feed's number, and which of its operations came to count or ceased to


class Acceptance:
    """Decides within one transaction, under one set of statements and one reading of the clock."""

    def __init__(
        self, feeds: Feeds, fold: Fold, trust: Trust, now_ms: int, own: bytes | None, moved: Moved = lambda *_: None
    ) -> None:
        """`own`: the node whose clock this is; its own operations never wait for it."""
        self._own = own
        self._feeds = feeds
        self._fold = fold
        self._trust = trust
        self._now_ms = now_ms
        self._horizon = clock.horizon(now_ms)
        self._tell_moved = moved
        self._counted: dict[bytes, frozenset[Feed]] = {}  # of nodes with many feeds: those that count
        self.shared: set[bytes] = set()  # nodes all of whose feeds were brought to where their quota ends

    def allowed(self, row: FeedRow) -> tuple[int, str]:
        """How far this feed may count by statements and by what else there is of its author, and what ends it there."""
        target, why = self._decreed(row)
        if target and not self._is_within(row):
            return 0, TOO_MANY_FEEDS
        return target, why

    def _decreed(self, row: FeedRow) -> tuple[int, str]:
        """How far this feed may count by the statements alone, and what ends it there."""
        if not self._trust.may_write(row.feed.node):
            return 0, MAY_ONLY_READ if self._trust.certified(row.feed.node) else NO_CERTIFICATE
        cut = self._trust.cut(row.feed)
        if cut is None or row.held.seq < cut.seq:
            return row.held.seq, ""
        if cut.seq and self._feeds.hash_at(row, cut.seq) != cut.hash:
            # Another history than the one decreed: nothing of it counts until the two were compared.
            return 0, "fork"
        return cut.seq, cut.why if row.held.seq > cut.seq else ""

    # Feeds

    def may_begin(self, feed: Feed, first_hlc: int) -> tuple[bool, bool]:
        """Whether another feed of a node would count, or could once the node is certified; and whether it pushes another out.

        No honest author's feed does that: its feeds begin one after the other.
        """
        node = feed.node
        if not self._trust.is_limited or (count := self._feeds.count_of(node)) < FEEDS:
            return True, False
        if count >= 2 * FEEDS and not self._trust.may_write(node):
            return False, False  # of a reader or a stranger none is ever dropped, as none counts
        cut = self._trust.cut(feed)
        if cut is not None and not cut.seq and self._trust.may_write(node):
            return (
                False,
                False,
            )  # of a feed that ends before it begins nothing counts, so it is not among the first either
        candidates = self._candidates(node)
        chosen = self._trust.within_limit(node, [*candidates, (first_hlc, feed)])
        return feed in chosen, len(chosen) <= len(candidates)

    def drop_excess(self, node: bytes) -> None:
        """Forget the feeds of a node that are beyond its limit. Our own are kept, and count nowhere."""
        if not self._trust.is_limited or self._feeds.count_of(node) <= FEEDS:
            return
        counted = self._counted[node] = frozenset(self._trust.within_limit(node, self._candidates(node)))
        for row in self._feeds.of_node(node):
            if row.held.seq and row.feed not in counted and self._decreed(row)[0]:
                settled, _ = self.settle(row)
                if node != self._own:
                    self._feeds.drop(settled)

    def _is_within(self, row: FeedRow) -> bool:
        node = row.feed.node
        if not self._trust.is_limited:
            return True
        counted = self._counted.get(node)
        if counted is None:
            if self._feeds.count_of(node) <= FEEDS:
                return True
            every = {*self._candidates(node), (row.first_hlc, row.feed)}  # a row that was not saved yet among them
            counted = self._counted[node] = frozenset(self._trust.within_limit(node, every))
        return row.feed in counted

    def _candidates(self, node: bytes) -> list[tuple[int, Feed]]:
        """The feeds among which the first ones count: of which anything would, by the statements. Of strangers all."""
        may_write = self._trust.may_write(node)
        return [
            (row.first_hlc, row.feed)
            for row in self._feeds.of_node(node)
            if row.held.seq and (not may_write or self._decreed(row)[0])
        ]

    # Operations

    def settle(self, row: FeedRow, fresh: list[FoldRow] | None = None, *, unsaved: bool = False) -> tuple[FeedRow, str]:
        """Bring the accepted head to where it belongs. Returns the row as saved and why anything is left out.

        `fresh`: the folded form of exactly the operations behind the accepted head, where the caller has
        it at hand; otherwise they are read back. `unsaved`: the row was changed and is to be saved in any case.
        """
        target, why = self._ripe(row)
        if target and self._is_over_quota(row):
            if unsaved:
                self._feeds.save(row)
            return self._share_quota(row, why)
        return self._move(row, target, fresh, unsaved=unsaved), why

    def due(self, row: FeedRow) -> tuple[int, str]:
        """How far a feed counts by all rules, and why anything is left out. Moves nothing."""
        target, why = self._ripe(row)
        if target and self._is_over_quota(row):
            reached = {other.number: end for other, end, _ in self._shares(row.feed.node)}[row.number]
            return reached, OVER_QUOTA if reached < target else why
        return target, why

    def fits_quota(self, node: bytes, more: int) -> bool:
        """Whether a node may add so much without waiting."""
        if not self._trust.is_limited:
            return True
        return self._feeds.held_weight(node) + more <= self._trust.allowance(node, self._shared_now())

    def _ripe(self, row: FeedRow) -> tuple[int, str]:
        """How far a feed may count if its author's quota is large enough."""
        target, why = self.allowed(row)
        if target > row.accepted.seq and row.held_hlc > self._horizon and row.feed.node != self._own:
            ripe = self._until_horizon(row, target)
            target, why = (ripe, AHEAD) if ripe < target else (target, why)
        return target, why

    def _is_over_quota(self, row: FeedRow) -> bool:
        if not self._trust.is_limited:
            return False
        node = row.feed.node
        saved = self._feeds.find(row.feed)
        unsaved = row.held_weight - (0 if saved is None else saved.held_weight)
        return not self.fits_quota(node, unsaved)

    def _share_quota(self, row: FeedRow, why: str) -> tuple[FeedRow, str]:
        """Bring every feed of an author to where it belongs."""
        self.shared.add(row.feed.node)
        for other, target, most in self._shares(row.feed.node):
            moved = self._move(other, target)
            if other.number == row.number:
                why = OVER_QUOTA if target < most else why
                row = moved
        return row, why

    def _shares(self, node: bytes) -> list[tuple[FeedRow, int, int]]:
        """Of all feeds of an author the earliest operations count, as far as its quota reaches: how far each, and how far it might."""
        limits = [(row, self._ripe(row)[0]) for row in self._feeds.of_node(node)]
        reached = within_quota(self._feeds, limits, self._trust.allowance(node, self._shared_now()))
        return [(row, target, most) for (row, target), (_, most) in zip(reached, limits, strict=True)]

    def _shared_now(self) -> int:
        """No earlier than any operation that counts: so a clock that is set back takes nothing back."""
        return max(self._now_ms, clock.milliseconds(self._feeds.greatest_stamp()))

    def _move(self, row: FeedRow, target: int, fresh: list[FoldRow] | None = None, *, unsaved: bool = False) -> FeedRow:
        before = row.accepted.seq
        if target > before:
            row = self._moved(row, target)
            if fresh is not None and target == row.held.seq:
                self._fold.apply(row.feed, row.number, fresh)
            else:
                self._apply(row, before)
        elif target < before:
            row = self._moved(row, target)
            self._fold.withdraw(fold_rows(row.feed, self._feeds.rows(row.number, target + 1, before)))
        elif unsaved:
            self._feeds.save(row)
        if target != before:
            self._tell_moved(row.number, min(before, target) + 1, max(before, target))
        return row

    def _moved(self, row: FeedRow, target: int) -> FeedRow:
        if target == row.held.seq:
            moved = row._replace(accepted=row.held, accepted_hlc=row.held_hlc, waiting_bytes=0, weight=row.held_weight)
        else:
            hlc = next((op.hlc for op in self._feeds.rows(row.number, target, target)), 0)
            head = Head(target, self._feeds.hash_at(row, target))
            behind = self._feeds.share_of(row.number, target + 1, row.held.seq)
            moved = row._replace(
                accepted=head,
                accepted_hlc=hlc,
                waiting_bytes=self._waiting_bytes(row, target),
                weight=row.held_weight - behind,
            )
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

    def _until_horizon(self, row: FeedRow, target: int) -> int:
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
