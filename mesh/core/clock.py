"""The hybrid logical clock: 48 bits of milliseconds, 16 bits of counter, one integer. Pure: the wall
clock is an argument. After Kulkarni et al., "Logical Physical Clocks" (2014).
"""

from mesh.core.limits import FUTURE_SECONDS, HLC_MAX

COUNTER_BITS = 16
HOUR_MS = 3_600_000
EARLIEST_MS = 1_735_689_600_000  # 2025-01-01, before any release: a clock that says less was never set


def pack(milliseconds: int, counter: int = 0) -> int:
    """A stamp from its two parts."""
    return milliseconds << COUNTER_BITS | counter


def milliseconds(hlc: int) -> int:
    """The physical part of a stamp."""
    return hlc >> COUNTER_BITS


def tick(last: int, now_ms: int) -> int:
    """The next stamp: at least the wall clock, and greater than everything seen.

    Adding one carries out of a full counter into the milliseconds, so 65,536 writes within one
    millisecond need no special case.
    """
    return max(last + 1, now_ms << COUNTER_BITS)


def horizon(now_ms: int) -> int:
    """The greatest stamp acceptable now; later ones wait until the clock has caught up."""
    return min(HLC_MAX, (now_ms + FUTURE_SECONDS * 1000 + 1 << COUNTER_BITS) - 1)


def hour(hlc: int) -> int:
    """Mesh time: a stamp rounded down to the hour, in milliseconds."""
    return milliseconds(hlc) // HOUR_MS * HOUR_MS
