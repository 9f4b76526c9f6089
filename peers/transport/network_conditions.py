"""What a network does to frames in one direction: delay, loss, duplicates, reordering, limited bandwidth, silence.

Pure: `now` and the generator of randomness are arguments, so that a simulator and links in memory share it.
"""

from dataclasses import dataclass
from random import Random

LATE_SECONDS = 0.01  # the least span by which a reordered frame can be late, so that it shows without any latency


@dataclass(frozen=True, slots=True)
class Conditions:
    """One direction of a path between two nodes. Shares are probabilities from 0 to 1."""

    latency_seconds: tuple[float, float] = (0.0, 0.0)  # a lane lies somewhere between, and stays there
    jitter_seconds: float = 0.0  # on top, drawn for each frame
    loss: float = 0.0
    duplicate: float = 0.0
    reorder: float = 0.0  # this share is held back while later frames pass
    bandwidth_bytes_per_second: float | None = None  # frames queue for the wire; None: it is never busy
    cut: bool = False  # everything vanishes, nobody is told


class Lane:
    """The state of one direction. `conditions` may be changed at any time; what is on its way stays on its way."""

    __slots__ = ("_free_at", "_last_arrival", "_place", "conditions")

    def __init__(self, conditions: Conditions) -> None:
        self.conditions = conditions
        self._free_at = float("-inf")  # when the wire has taken in all frames so far
        self._last_arrival = float("-inf")  # no frame in order arrives before this
        self._place: float | None = None  # where between the two latencies this lane lies, 0 to 1

    def deliveries(self, size: int, now: float, random: Random) -> list[float]:
        """When a frame sent now arrives: once, not at all (lost or cut), or twice. Never in the past."""
        conditions = self.conditions
        if conditions.cut:
            return []
        arrival = self._soonest(size, now, random)
        if conditions.loss and random.random() < conditions.loss:
            return []  # lost behind the wire: it took its time there all the same
        twice = bool(conditions.duplicate) and random.random() < conditions.duplicate
        times = [self._place_in_order(arrival, now, random)]
        if twice:
            times.append(self._place_in_order(arrival, now, random))
        return times

    def arrival(self, size: int, now: float, random: Random) -> float | None:
        """When something that is repeated until it arrives, as a TCP handshake is, does so; None if cut."""
        if self.conditions.cut:
            return None
        self._last_arrival = max(self._last_arrival, self._soonest(size, now, random))
        return self._last_arrival

    def _soonest(self, size: int, now: float, random: Random) -> float:
        conditions = self.conditions
        sent = now
        if conditions.bandwidth_bytes_per_second is not None:
            sent = self._free_at = max(now, self._free_at) + size / conditions.bandwidth_bytes_per_second
        low, high = conditions.latency_seconds
        if high > low:
            if self._place is None:
                self._place = random.random()
            low += (high - low) * self._place
        jitter = random.random() * conditions.jitter_seconds if conditions.jitter_seconds else 0.0
        return sent + low + jitter

    def _place_in_order(self, arrival: float, now: float, random: Random) -> float:
        if self.conditions.reorder and random.random() < self.conditions.reorder:
            # It leaves `_last_arrival` alone: the frames behind it need not wait for it.
            return max(arrival, self._last_arrival) + random.random() * max(arrival - now, LATE_SECONDS)
        self._last_arrival = max(self._last_arrival, arrival)
        return self._last_arrival
