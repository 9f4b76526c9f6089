"""Who had seen what: of two operations of a page, whether the writer of one had the other before them. No text here.

An operation has seen every earlier one of its own stream (a node's epoch), what it names as heads, and what those have seen.
Heads come from peers and may name anything. What is unknown, or applied later than the operation itself, is passed over: so
there are no circles.
"""

from __future__ import annotations

from mesh.core.limits import HEAD_BYTES
from mesh.core.tuples import NamedTuple

TYPE_CHECKING = False  # see `mesh`
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mesh.pages.ledger import PageOp

# A peer may name any epoch. This many of a node's are streams of their own, further ones go on in the last: what is
# remembered of each operation stays small, whatever is named.
_STREAMS_PER_NODE = 8


class _Place(NamedTuple):
    """Where an operation stands: the how-manieth of its stream, and how many it has seen of the others."""

    stream: int
    number: int
    seen: dict[int, int]


class Ancestry:
    """The operations of a page in the order they were applied, named by their places in it."""

    def __init__(self, ops: Sequence[PageOp]) -> None:
        self._known: dict[bytes, int] = {}
        self._places: list[_Place] = []
        streams: dict[tuple[bytes, int], int] = {}
        epochs: dict[bytes, list[int]] = {}
        last: dict[int, int] = {}  # stream -> its newest operation so far
        for index, op in enumerate(ops):
            stream = _stream(op, streams, epochs)
            before = last.get(stream)
            number, seen = (
                (self._places[before].number + 1, self._places[before].seen) if before is not None else (1, {})
            )
            named = [self._known[head] for head in op.heads if head in self._known]
            self._places.append(_Place(stream, number, self._joined(seen, stream, named)))
            self._known.setdefault(op.tag[:HEAD_BYTES], index)
            last[stream] = index

    def saw(self, one: int, other: int) -> bool:
        """Whether the writer of `one` had `other` before them when they wrote it. Every operation has seen itself."""
        mine, yours = self._places[one], self._places[other]
        if mine.stream == yours.stream:
            return yours.number <= mine.number
        return yours.number <= mine.seen.get(yours.stream, 0)

    def are_apart(self, one: int, other: int) -> bool:
        """Whether neither had seen the other."""
        return not self.saw(one, other) and not self.saw(other, one)

    def newest(self, ops: Iterable[int]) -> list[int]:
        """Those that none of the others has seen."""
        latest: dict[int, int] = {}  # of one stream only the last can be
        for op in ops:
            place = self._places[op]
            if place.stream not in latest or self._places[latest[place.stream]].number < place.number:
                latest[place.stream] = op
        return [
            op for op in latest.values() if not any(other != op and self.saw(other, op) for other in latest.values())
        ]

    def seen_from(self, tags: Iterable[bytes]) -> frozenset[int]:
        """The operations whose tags begin so, and all that they had seen."""
        named = [self._known[tag] for tag in tags if tag in self._known]
        seen = self._joined({}, -1, named)
        return frozenset(i for i, place in enumerate(self._places) if place.number <= seen.get(place.stream, 0))

    def _joined(self, seen: dict[int, int], own: int, named: Iterable[int]) -> dict[int, int]:
        """What was seen with what the named ones bring. The same object if that is nothing new: a long stream keeps one."""
        grown = seen
        for other in named:
            place = self._places[other]
            for stream, number in (*place.seen.items(), (place.stream, place.number)):
                if stream != own and grown.get(stream, 0) < number:
                    grown = dict(seen) if grown is seen else grown
                    grown[stream] = number
        return grown


def _stream(op: PageOp, streams: dict[tuple[bytes, int], int], epochs: dict[bytes, list[int]]) -> int:
    known = epochs.setdefault(op.node, [])
    epoch = op.epoch if op.epoch in known or len(known) < _STREAMS_PER_NODE else known[-1]
    if epoch not in known:
        known.append(epoch)
    return streams.setdefault((op.node, epoch), len(streams))
