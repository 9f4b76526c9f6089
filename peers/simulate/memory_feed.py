"""One feed as a notebook in memory holds it: operations, hashes, signed points, detached ranges. What counts is decided elsewhere."""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import NamedTuple

from mesh.core.feed import ENVELOPE_WEIGHT, Link, Range, weight
from mesh.core.ids import Feed, first_prev, tag_of
from mesh.core.limits import RANGE_BYTES, RANGE_OPERATIONS
from mesh.core.member_limits import share_weight
from mesh.core.version_vector import Head

_STEPS = 48  # heads named to find a common one: with steps that double, more than any chain needs


class MemoryDetachedRange(NamedTuple):
    """A range that is not part of the held chain, and what it costs to keep."""

    item: Range
    size: int


class MemoryFeed:
    """The operations 1 to `held` of a feed, of which 1 to `accepted` count."""

    __slots__ = (
        "_points",
        "_signatures",
        "_tags",
        "accepted",
        "feed",
        "hashes",
        "held_share",
        "links",
        "strays",
        "waiting_bytes",
    )

    def __init__(self, mesh: bytes, feed: Feed) -> None:
        self.feed = feed
        self.accepted = 0
        self.links: list[Link] = []
        self.hashes = [first_prev(mesh, feed)]  # hashes[seq] is the hash after operation seq
        self._points: list[int] = []
        self._signatures: list[bytes] = []
        self.strays: list[MemoryDetachedRange] = []
        self.waiting_bytes = 0
        self.held_share = 0  # what the operations count towards their author's quota
        self._tags: list[bytes] = []

    def tags(self) -> list[bytes]:
        """The tag of every operation, worked out when somebody asks."""
        self._tags += [tag_of(self.feed.node, link.body_hash) for link in self.links[len(self._tags) :]]
        return self._tags

    @property
    def held(self) -> int:
        """The number of the last operation."""
        return len(self.links)

    @property
    def held_hlc(self) -> int:
        """The stamp of the last operation."""
        return self.links[-1].hlc if self.links else 0

    def hlc_at(self, seq: int) -> int:
        """The stamp of an operation; 0 before the first."""
        return self.links[seq - 1].hlc if seq else 0

    def head(self, seq: int) -> Head:
        """A point of the chain."""
        return Head(seq, self.hashes[seq])

    def is_on(self, head: Head) -> bool:
        """Whether a head is a point of this chain."""
        return head.seq < len(self.hashes) and (head.seq == 0 or self.hashes[head.seq] == head.hash)

    def extend(self, item: Range, erased: Callable[[Link], bool]) -> None:
        """Hold what a range has behind our head."""
        skip = self.held + 1 - item.first
        for link in item.links[skip:]:
            kept = link._replace(body=None) if link.body is not None and erased(link) else link
            self.links.append(kept)
            self.waiting_bytes += weight(kept.body)
            self.held_share += share_weight(kept.body)
        self.hashes += item.hashes[skip:]
        self._points.append(item.last)
        self._signatures.append(item.signature)

    def next_range(self, after: int, *, shortest: bool = False) -> Range:
        """The range from `after` to the furthest signed point it can reach, or to the nearest."""
        index = bisect_right(self._points, after)
        best = index
        if not shortest:
            heavy, seq = ENVELOPE_WEIGHT, after
            for later in range(index, len(self._points)):
                point = self._points[later]
                heavy += sum(weight(link.body) for link in self.links[seq:point])
                if heavy > RANGE_BYTES or point - after > RANGE_OPERATIONS:
                    break
                best, seq = later, point
        last = self._points[best]
        hashes = self.hashes[after + 1 : last + 1]
        return Range(self.feed, after + 1, self.hashes[after], self.links[after:last], hashes, self._signatures[best])

    def common(self, points: Sequence[Head]) -> Head:
        """The latest of these points on this chain, or its beginning."""
        return max((self.head(point.seq) for point in points if self.is_on(point)), default=self.head(0))

    def steps(self) -> list[Head]:
        """Points of this chain in steps that double, latest first, down to the beginning."""
        back, seqs = 1, [self.held]
        while seqs[-1] > 0 and len(seqs) < _STEPS:
            seqs.append(max(0, self.held - back))
            back *= 2
        return [self.head(seq) for seq in seqs]

    def copy(self) -> "MemoryFeed":
        """The same chain, to go its own way."""
        other = MemoryFeed.__new__(MemoryFeed)
        other.feed, other.accepted, other.waiting_bytes = self.feed, self.accepted, self.waiting_bytes
        other.links, other.hashes, other.strays = list(self.links), list(self.hashes), list(self.strays)
        other.held_share, other._tags = self.held_share, []  # noqa: SLF001
        other._points, other._signatures = list(self._points), list(self._signatures)  # noqa: SLF001
        return other
