"""Tiers: what a record's place is, as a function of merged state and mesh time alone. Pure: no store, no clock of its own."""

from __future__ import annotations

HOT, WARM, BANK, ARCHIVE = "HOT", "WARM", "BANK", "ARCHIVE"

WARM_DISCOVERIES = 20
WARM_MS = 2 * 86_400_000
WARM_MOST = 50
DECAYED = 0.3  # below this a record is in the archive

# Days after which a record is believed half as much. What did more harm is remembered longer.
_HALF_LIFE_DAYS = {"low": 45, "medium": 90, "high": 180, "critical": 360}
_DAY_MS = 86_400_000


def strength(confidence: float, severity: str, age_ms: int) -> float:
    """What is left of the confidence in a record that nothing has confirmed for so long."""
    days = max(0, age_ms) / _DAY_MS
    half_life: int = _HALF_LIFE_DAYS.get(severity, _HALF_LIFE_DAYS["medium"])
    return confidence * float(0.5 ** (days / half_life))


def is_hot(sessions: int, further: int | None, hot_at: int, *, superseded: bool) -> bool:
    """Whether a pattern is HOT. `further`: the sessions since it was archived; None if it was not."""
    counted = sessions if further is None else further
    return counted >= hot_at and not superseded


def tier_of(*, hot: bool, warm: bool, gone: bool, left: float) -> str:
    """The tier of a record. `gone`: superseded, archived or retracted; `left`: its strength."""
    if hot:
        return HOT
    if gone or left < DECAYED:
        return ARCHIVE
    return WARM if warm else BANK


def ordinal(number: int) -> str:
    """1st, 2nd, 3rd, 4th, 11th."""
    ends = {1: "st", 2: "nd", 3: "rd"}
    end = "th" if 10 <= number % 100 <= 20 else ends.get(number % 10, "th")
    return f"{number}{end}"
