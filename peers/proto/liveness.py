"""Failure suspicion arithmetic. Pure: no timers here; the engine owns them.

After Hayashibara et al., "The phi accrual failure detector" (2004). phi is how many nines of certainty there are that
the silence is not just lateness.
"""

from collections import deque
from math import erfc, log10, sqrt

_WINDOW = 32  # arrivals remembered: a few minutes of pings
_MOST = 100.0  # phi beyond this says nothing more


class Arrivals:
    """When something was heard from one neighbour."""

    __slots__ = ("_gaps", "last")

    def __init__(self, now: float) -> None:
        self._gaps: deque[float] = deque(maxlen=_WINDOW)
        self.last = now

    def heard(self, now: float) -> None:
        """A sign of life."""
        self._gaps.append(now - self.last)
        self.last = now

    def is_quiet(self, now: float, expected_seconds: float, pause_seconds: float) -> bool:
        """Whether there is a silence to judge at all: before the next sign is expected, phi is next to nothing."""
        return now - self.last > expected_seconds + pause_seconds

    def phi(self, now: float, expected_seconds: float, pause_seconds: float) -> float:
        """How sure it is that nothing more comes. `expected_seconds` is the least mean: signs may have come faster
        while there was much to say.
        """
        gaps = self._gaps
        mean = sum(gaps) / len(gaps) if gaps else 0.0
        spread = sqrt(sum([(gap - mean) ** 2 for gap in gaps]) / len(gaps)) if gaps else 0.0
        return phi(now - self.last, max(mean, expected_seconds) + pause_seconds, max(spread, expected_seconds / 4))


def phi(silence: float, mean: float, deviation: float) -> float:
    """-log10 of the probability that the next sign is still to come after so long a silence."""
    later = erfc((silence - mean) / (deviation * sqrt(2))) / 2
    return _MOST if later < 10**-_MOST else -log10(later)
