"""Virtual time: scheduled actions in order. Two at the same moment run in the order in which they were scheduled."""

from collections.abc import Callable
from heapq import heappop, heappush
from random import Random
from typing import Any

_Entry = tuple[float, int, Callable[..., object], tuple[Any, ...]]


class Schedule:
    """A heap of actions and the time of the one being done."""

    __slots__ = ("_heap", "_number", "done", "now")

    def __init__(self) -> None:
        self.now = 0.0
        self.done = 0  # actions so far
        self._heap: list[_Entry] = []
        self._number = 0

    def at(self, when: float, action: Callable[..., object], *args: Any) -> None:
        """Do something at a time, or now if that has passed."""
        self._number += 1
        heappush(self._heap, (max(when, self.now), self._number, action, args))

    def after(self, seconds: float, action: Callable[..., object], *args: Any) -> None:
        """Do something later."""
        self.at(self.now + seconds, action, *args)

    def run_until(self, end: float) -> None:
        """Do everything up to a time; then it is that time."""
        heap = self._heap
        while heap and heap[0][0] <= end:
            self.now, _, action, args = heappop(heap)
            self.done += 1
            action(*args)
        self.now = end


def chance(seed: int) -> Random:
    """A generator for one purpose. The same seed gives the same draws; no more is needed here."""
    return Random(seed)  # noqa: S311 (reproducible on purpose)
