"""One link as the engine sees it: who is there, what they have, how it goes. No decisions here."""

from collections import deque
from math import erfc, log10, sqrt
from typing import Final, NamedTuple

from mesh.core.ids import Feed

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


# Feeds that we do not have and a neighbour says it has, as many as are remembered: epochs cost an author nothing. Nobody is
# blamed for more, who may only pass on what others made: the next comparison brings the rest.
CLAIMED_MOST = 8_192
_SMOOTH = 0.2  # weight of the newest round trip
_HALF_LIFE_SECONDS = 60.0  # of a penalty
_ROOM_LEAST, _ROOM_MOST = 65_536, 1_048_576
_TOKENS, _TOKENS_A_SECOND = 200.0, 50.0  # questions: far above what an honest node asks


class Comparison(NamedTuple):
    """The last time two states of these names were compared, and when that may be done again."""

    names: tuple[bytes, bytes]
    again_at: float
    step: float


class Neighbour:
    """State of one link."""

    def __init__(self, link: int, node: bytes, address: str, now: float, *, dialed: bool) -> None:
        self.link: Final = link
        self.node: Final = node
        self.address: Final = address
        self.dialed: Final = dialed
        self.since: Final = now
        self.greeted = False
        self.passing = False  # for one comparison only
        self.goodbye = ""  # why they are closing it
        # What the other side has
        self.has: dict[Feed, int] = {}
        self.holds: dict[
            Feed, tuple[int, int]
        ] = {}  # of our own feeds: how far it counts them, and how far it has them
        self.root = b""
        self.statements = b""
        self.cards = b""
        self.differs_since: float | None = None
        # How it goes
        self.arrivals = Arrivals(now)
        self.round_trip: float | None = None
        self.offset_ms: int | None = None
        self.pings: dict[int, tuple[float, int]] = {}  # nonce: steady and wall time
        self.next_ping = now
        self.queued = 0
        self.busy_until = 0.0
        self.told_busy_until = 0.0
        # What is being asked
        self.comparing: dict[int, Comparison] = {}  # by set
        self.pulls: set[int] = set()
        self.late_until = 0.0  # an answer may still be on its way
        self.looking: set[Feed] = set()  # feeds whose heads are being compared
        self.misses = 0
        self.room = _ROOM_LEAST * 4
        self._penalty = 0.0
        self._penalty_at = now
        self._tokens = _TOKENS
        self._tokens_at = now

    def learn_has(self, feed: Feed, seq: int, known: int) -> bool:
        """The other side has at least this much of a feed. `known`: how many feeds we have. Says whether it is remembered."""
        if feed not in self.has and len(self.has) >= CLAIMED_MOST + known:
            return False
        self.has[feed] = max(seq, self.has.get(feed, 0))
        return True

    def answered(self, sent: tuple[float, int], now: float, clock_ms: int) -> None:
        """A pong came: how long the way is, and how far our clocks are apart."""
        trip = now - sent[0]
        self.round_trip = trip if self.round_trip is None else self.round_trip + _SMOOTH * (trip - self.round_trip)
        self.offset_ms = clock_ms - (sent[1] + int(trip * 500))

    def patience(self, least: float) -> float:
        """How long an answer may take: longer on a long way, and twice as long after each that did not come."""
        return min(60.0, max(least, 6 * (self.round_trip or 0.0)) * 2.0 ** min(self.misses, 6))

    def grow(self) -> None:
        """An answer came: the next may be larger."""
        self.misses = 0
        self.room = min(_ROOM_MOST, self.room * 2)

    def shrink(self) -> None:
        """An answer did not come in time."""
        self.misses += 1
        self.room = max(_ROOM_LEAST, self.room // 2)

    def punish(self, points: float, now: float) -> float:
        """Add to the penalty, which fades. Returns what it is now."""
        self._penalty *= 0.5 ** ((now - self._penalty_at) / _HALF_LIFE_SECONDS)
        self._penalty += points
        self._penalty_at = now
        return self._penalty

    def may_ask(self, now: float) -> bool:
        """Whether the other side has questions left: each costs us reading and sending."""
        self._tokens = min(_TOKENS, self._tokens + (now - self._tokens_at) * _TOKENS_A_SECOND)
        self._tokens_at = now
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True
