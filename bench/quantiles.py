"""Times of many single events, summed up. Pure."""

from collections.abc import Sequence

MS = 1000.0


def quantile(values: Sequence[float], share: float) -> float:
    """The value that this share of all values does not exceed."""
    ordered = sorted(values)
    return ordered[max(0, -(-int(share * len(ordered) * 1000) // 1000) - 1)]


def middle_and_tail(seconds: Sequence[float]) -> tuple[float, float]:
    """p50 and p99, in milliseconds."""
    return quantile(seconds, 0.5) * MS, quantile(seconds, 0.99) * MS
