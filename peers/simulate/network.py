"""Links between simulated nodes: dialling, frames in flight, silence, resets. Knows no message and no engine.

A frame is subject to the lane it travels (loss, copies, disorder); what TCP itself says (open, close, reset) is repeated
until it arrives, so that only a cut stops it.
"""

from collections.abc import Callable, Iterable
from random import Random
from typing import Protocol

from peers.simulate.virtual_time import Schedule
from peers.transport.network_conditions import Conditions, Lane

_FLUSH_BYTES = 65_536  # beyond so much unreported the sender is told at once
_ROUND_TRIPS = 2  # TCP and TLS 1.3, before a link is up


class Party(Protocol):
    """A node, as the wire sees it."""

    index: int
    listens: bool  # others can dial it

    @property
    def is_up(self) -> bool:
        """Whether its machine answers."""

    def link_up(self, end: "End") -> None:
        """A link exists."""

    def link_down(self, end: "End", reason: str) -> None:
        """A link is gone."""

    def frame(self, end: "End", frame: bytes, kind: str) -> None:
        """A frame came."""

    def flushed(self, end: "End", size: int) -> None:
        """So many bytes have left us."""


class End:
    """One end of a link."""

    __slots__ = ("dialed", "free_at", "lane", "number", "open", "other", "party", "unflushed")

    def __init__(self, party: Party, number: int, lane: Lane, *, dialed: bool) -> None:
        self.party = party
        self.number = number
        self.lane = lane  # towards the other end
        self.dialed = dialed
        self.open = True
        self.other: End
        self.unflushed = 0
        self.free_at = 0.0


class Network:
    """All links of a world, and who cannot reach whom."""

    def __init__(self, schedule: Schedule, random: Random, conditions: Conditions, flush_seconds: float) -> None:
        self._schedule = schedule
        self._random = random
        self._flush_seconds = flush_seconds
        self._numbers = 0
        self._ends: dict[int, End] = {}  # one of each open link
        self._group: dict[int, int] = {}  # node: its side of a partition
        self._blocked: set[tuple[int, int]] = set()  # directions that carry nothing
        self._conditions = conditions
        self.was_faithful = _is_faithful(conditions)  # so far every frame came once and in order, as in a real stream
        self.frames_lost = 0

    # Faults

    @property
    def conditions(self) -> Conditions:
        """What lanes are like."""
        return self._conditions

    def set_conditions(self, conditions: Conditions) -> None:
        """From now on, also on links that exist."""
        self._conditions = conditions
        self.was_faithful = self.was_faithful and _is_faithful(conditions)
        for end in self._ends.values():
            end.lane.conditions = end.other.lane.conditions = conditions

    def partition(self, groups: Iterable[Iterable[int]]) -> None:
        """Only nodes of one group reach each other. Nobody is told."""
        self.was_faithful = False
        self._group = {node: number for number, group in enumerate(groups) for node in group}

    def heal(self) -> None:
        """End the partition."""
        self._group = {}

    def block(self, source: int, target: int) -> None:
        """Nothing gets from one to the other; the way back works."""
        self.was_faithful = False
        self._blocked.add((source, target))

    def unblock(self, source: int, target: int) -> None:
        """Undo `block`."""
        self._blocked.discard((source, target))

    def carries(self, source: Party, target: Party) -> bool:
        """Whether anything gets from one node to another."""
        one, other = source.index, target.index
        if self._group and self._group.get(one, -1) != self._group.get(other, -1):
            return False
        return not self._blocked or (one, other) not in self._blocked

    # Links

    def dial(self, source: Party, target: Party, timeout: float, failed: Callable[[str], None]) -> None:
        """Open a link; `failed` is told if that is not to be."""
        there, back = Lane(self._conditions), Lane(self._conditions)
        now = self._schedule.now
        arrivals = there.arrival(0, now, self._random), back.arrival(0, now, self._random)
        trip = sum(timeout if at is None else at - now for at in arrivals)
        if not self._reach(source, target) or not target.listens:
            self._schedule.after(timeout, failed, "no answer")
            return
        self._schedule.after(_ROUND_TRIPS * trip, self._opened, source, target, there, back, failed)

    def send(self, end: End, frame: bytes, kind: str) -> None:
        """Put a frame on its way."""
        if not end.open:
            return
        self._flush_later(end, len(frame))
        if not self.carries(end.party, end.other.party):
            self.frames_lost += 1
            return
        schedule = self._schedule
        times = end.lane.deliveries(len(frame), schedule.now, self._random)
        self.frames_lost += not times
        for when in times:
            schedule.at(when, self._arrive, end.other, frame, kind)

    def close(self, end: End, reason: str) -> None:
        """Close a link from one end; the other hears of it if the wire carries."""
        if end.open:
            self._end(end, reason)
            self._tell_other(end, reason)

    def vanish(self, end: End) -> None:
        """One end is gone without a word, as with a machine that lost its power."""
        end.open = False
        self._forget(end)

    def _reach(self, source: Party, target: Party) -> bool:
        return source.is_up and target.is_up and self.carries(source, target) and self.carries(target, source)

    def _opened(self, source: Party, target: Party, there: Lane, back: Lane, failed: Callable[[str], None]) -> None:
        if not self._reach(source, target):
            failed("no answer")
            return
        near, far = End(source, self._numbers, there, dialed=True), End(target, self._numbers + 1, back, dialed=False)
        self._numbers += 2
        near.other, far.other = far, near
        self._ends[near.number] = near
        target.link_up(far)
        source.link_up(near)

    def _arrive(self, end: End, frame: bytes, kind: str) -> None:
        if end.open:
            end.party.frame(end, frame, kind)
        elif end.party.is_up and end.other.open:
            self._tell_other(end, "reset")  # there is no such link any more

    def _tell_other(self, end: End, reason: str) -> None:
        if not self.carries(end.party, end.other.party):
            return
        when = end.lane.arrival(0, self._schedule.now, self._random)
        if when is not None:
            self._schedule.at(when, self._end, end.other, reason)

    def _end(self, end: End, reason: str) -> None:
        if end.open:
            end.open = False
            self._forget(end)
            end.party.link_down(end, reason)

    def _forget(self, end: End) -> None:
        if not end.other.open:
            self._ends.pop(end.number if end.dialed else end.other.number, None)

    def _flush_later(self, end: End, size: int) -> None:
        """Report bytes that have left in lots: one event a frame would be half of all events."""
        bandwidth = self._conditions.bandwidth_bytes_per_second
        now, before = self._schedule.now, end.unflushed
        end.free_at = max(end.free_at, now)
        if bandwidth is not None:
            end.free_at += size / bandwidth
        end.unflushed = before + size
        if not before or before < _FLUSH_BYTES <= end.unflushed:
            soon = 0.0 if end.unflushed >= _FLUSH_BYTES else self._flush_seconds
            self._schedule.at(max(end.free_at, now + soon), self._flush, end)

    def _flush(self, end: End) -> None:
        if end.free_at > self._schedule.now:
            self._schedule.at(end.free_at, self._flush, end)
        elif end.unflushed:
            size, end.unflushed = end.unflushed, 0
            if end.open:
                end.party.flushed(end, size)


def _is_faithful(conditions: Conditions) -> bool:
    return not (conditions.loss or conditions.duplicate or conditions.reorder or conditions.cut)
