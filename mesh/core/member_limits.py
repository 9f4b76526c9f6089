"""How much one member may use of every other node: how many feeds count, and how many bytes. Pure arithmetic; see docs/adr/0058.

Both limits grow with the age of a node's certificate. Which feeds count follows from their first stamps alone; the clock
only decides how long bytes beyond the quota wait, so in the end everything counts that a feed within the limit holds.
"""

from collections.abc import Iterable

from mesh.core.clock import milliseconds
from mesh.core.feed import weight
from mesh.core.ids import Feed
from mesh.core.limits import (
    ERASED_WEIGHT,
    FEEDS,
    FEEDS_A_DAY,
    FEEDS_MOST,
    QUOTA_BYTES,
    THROW_AWAY_BYTES,
    THROW_AWAY_DAYS,
)

DAY_MS = 86_400_000


def feed_limit(at_ms: int, certified_ms: int) -> int:
    """How many feeds of a node may begin by a time. What began before the certificate has the share of its first day."""
    return min(FEEDS_MOST, FEEDS + FEEDS_A_DAY * (max(0, at_ms - certified_ms) // DAY_MS))


def within_limit(feeds: Iterable[tuple[int, Feed]], certified_ms: int) -> list[Feed]:
    """Of one node's feeds, given with their first stamps, those that count: first come by (first stamp, feed) first served.

    A feed that is left out stays so however many others become known, so nobody has to remember it (ADR 0058).
    """
    chosen: list[Feed] = []
    for first, feed in sorted(feeds):
        if len(chosen) < feed_limit(milliseconds(first), certified_ms):
            chosen.append(feed)
    return chosen


def usual_quota(*, is_throw_away: bool) -> int:
    """The bytes a node may add for each span of its life (`span_days`), if no statement says more."""
    return THROW_AWAY_BYTES if is_throw_away else QUOTA_BYTES


def span_days(*, is_throw_away: bool) -> int:
    """After how many days a node may add as much again."""
    return THROW_AWAY_DAYS if is_throw_away else 1


def allowance(quota: int, certified_ms: int, now_ms: int, days: int) -> int:
    """What all feeds of a node may weigh together by now."""
    return quota * (max(0, now_ms - certified_ms) // (days * DAY_MS) + 1)


def next_span_ms(certified_ms: int, now_ms: int, days: int) -> int:
    """When the allowance grows next."""
    span = days * DAY_MS
    return certified_ms + (max(0, now_ms - certified_ms) // span + 1) * span


def share_weight(body: bytes | None) -> int:
    """What an operation counts towards its author's quota. An erased one stands for the statement that erased it, too."""
    return ERASED_WEIGHT if body is None else weight(body)
