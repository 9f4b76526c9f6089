"""Tiers of records: HOT, WARM, BANK or archive, as a function of merged state and mesh time alone. Pure: no store, no clock of its own."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from clan_learnings.records.record import LOGS

if TYPE_CHECKING:
    from clan_learnings.records.memory import Memory


HOT, WARM, BANK, ARCHIVE = "HOT", "WARM", "BANK", "ARCHIVE"

WARM_DISCOVERIES = 20
WARM_MS = 2 * 86_400_000
WARM_MOST = 50
DECAYED = 0.3  # below this a record is in the archive

ENOUGH = 5  # openings; more do not help more
_HELP = 0.05  # what each is worth, where quality goes from 0 to 1
_MONTH_MS = 30 * 86_400_000
_MONTHLY = 0.95  # what is left of the trust in a record after a month
_MONTHS = 120  # after which no more is taken off: nothing is left to speak of


def _shares() -> list[float]:
    """What is left after each number of months. By multiplication, which is the same on every machine; a power need not be."""
    shares = [1.0]
    while len(shares) <= _MONTHS:
        shares.append(shares[-1] * _MONTHLY)
    return shares


_LEFT = _shares()


def strength(quality: float, age_ms: int) -> float:
    """What is left of the quality of a record after so long; whole months count."""
    return quality * _LEFT[min(max(0, age_ms) // _MONTH_MS, _MONTHS)]


def has_decayed(left: float, accesses: int) -> bool:
    """Whether a record belongs in the archive: little is left of it, and hardly anybody has opened it lately."""
    return round(left + _HELP * min(ENOUGH, accesses), 6) < DECAYED


def is_hot(sessions: int, further: int | None, hot_at: int, *, superseded: bool) -> bool:
    """Whether a pattern is HOT. `further`: the sessions that came to it after it was archived; None if it was not."""
    counted = sessions if further is None else further
    return counted >= hot_at and not superseded


def tier_of(*, hot: bool, warm: bool, gone: bool) -> str:
    """The tier of a record. `gone`: superseded, archived, retracted or decayed."""
    if hot:
        return HOT
    if gone:
        return ARCHIVE
    return WARM if warm else BANK


def ordinal(number: int) -> str:
    """1st, 2nd, 3rd, 4th, 11th."""
    ends = {1: "st", 2: "nd", 3: "rd"}
    end = "th" if 10 <= number % 100 <= 20 else ends.get(number % 10, "th")
    return f"{number}{end}"


MOST = 20_000  # of each log: about a second
_PAGE = 1000


class Census:
    """Records by tier. `is_whole`: nothing older was left uncounted."""

    def __init__(self, memory: Memory, repo: str | None, most: int = MOST) -> None:
        self.counts = dict.fromkeys((HOT, WARM, BANK, ARCHIVE), 0)
        self.is_whole = True
        for log in LOGS:
            notes = memory.newest(log, repo, _PAGE)
            for note in islice(notes, most):
                self.counts[memory.tier_in(note, repo)] += 1
            self.is_whole = self.is_whole and next(notes, None) is None
