"""How far the feeds of one author count when together they hold more than its quota: the earliest operations, by (stamp, feed).

Begins where the accepted heads are, so that it looks only at the operations that come to count or cease to.
"""

from collections.abc import Sequence

from mesh.store.feeds import FeedRow, Feeds


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
