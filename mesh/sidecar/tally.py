"""What happened, counted: for `/metrics` and `mesh peers`. Counts only; nothing is decided by them."""

import time
from collections import Counter

from peers.proto.replica import Verdict

_WINDOW_SECONDS = 2.0


class Tally:
    """Counters of one sidecar since its start."""

    def __init__(self) -> None:
        self.bytes_in: Counter[str] = Counter()
        self.bytes_out: Counter[str] = Counter()
        self.frames_in: Counter[str] = Counter()
        self.frames_out: Counter[str] = Counter()
        self.verdicts: Counter[str] = Counter()
        self.events: Counter[str] = Counter()
        self._flows: dict[bytes, Flow] = {}

    def sent(self, kind: str, node: bytes, size: int) -> None:
        """A frame was queued."""
        self.frames_out[kind] += 1
        self.bytes_out[kind] += size
        self.flow(node).count(size)

    def received(self, kind: str, node: bytes, size: int) -> None:
        """A frame came in."""
        self.frames_in[kind] += 1
        self.bytes_in[kind] += size
        self.flow(node).count(size)

    def flow(self, node: bytes) -> "Flow":
        """The traffic with one node."""
        known = self._flows.get(node)
        if known is None:
            known = self._flows[node] = Flow(time.monotonic())
        return known

    def merged(self, verdict: Verdict) -> None:
        """A range or statement was judged."""
        self.verdicts[verdict.value] += 1

    def observed(self, what: str, amount: int) -> None:
        """The engine noticed something."""
        self.events[what] += amount


class Flow:
    """Bytes both ways with one node, and how many a second lately."""

    def __init__(self, now: float) -> None:
        self.bytes = 0
        self._begun, self._in_window, self._rate = now, 0, 0.0

    def count(self, size: int) -> None:
        """So many bytes more."""
        self.rate()
        self.bytes += size
        self._in_window += size

    def rate(self) -> float:
        """Bytes a second over the last full window."""
        elapsed = time.monotonic() - self._begun
        if elapsed >= _WINDOW_SECONDS:
            self._rate = self._in_window / elapsed
            self._begun, self._in_window = self._begun + elapsed, 0
        return self._rate
