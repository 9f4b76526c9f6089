"""Tiers as arithmetic: what is HOT, what has decayed, and how an ordinal is written."""

import pytest

from clan_learnings.records.tiers import ARCHIVE, BANK, HOT, WARM, has_decayed, is_hot, ordinal, strength, tier_of

DAY_MS = 86_400_000


@pytest.mark.parametrize(
    ("sessions", "further", "superseded", "expected"),
    [
        (2, None, False, False),
        (3, None, False, True),
        (3, None, True, False),
        (9, 2, False, False),
        (9, 3, False, True),
        (9, 0, False, False),
    ],
)
def test_a_pattern_is_hot_at_three_sessions(
    *, sessions: int, further: int | None, superseded: bool, expected: bool
) -> None:
    """Of an archived one only the sessions since then count; a superseded one is never HOT."""
    assert is_hot(sessions, further, 3, superseded=superseded) is expected


@pytest.mark.parametrize(("days", "left"), [(0, 1.0), (29, 1.0), (30, 0.95), (59, 0.95), (60, 0.9025), (365, 0.95**12)])
def test_a_record_loses_a_twentieth_of_its_quality_a_month(days: int, left: float) -> None:
    """A month has thirty days, and counts when it is over."""
    assert strength(0.8, days * DAY_MS) == pytest.approx(0.8 * left)


def test_a_record_from_the_future_is_as_strong_as_a_new_one() -> None:
    """Mesh time is rounded down, so the newest records are ahead of it."""
    assert strength(0.8, -DAY_MS) == 0.8


def test_the_oldest_records_have_next_to_nothing_left() -> None:
    """However far back a stamp is: records come from anyone."""
    assert strength(1.0, 10_000 * 365 * DAY_MS) == pytest.approx(0.95**120)


@pytest.mark.parametrize(
    ("left", "accesses", "decayed"),
    [(0.3, 0, False), (0.29, 0, True), (0.25, 1, False), (0.2, 1, True), (0.05, 5, False), (0.049, 10**9, True)],
)
def test_openings_keep_a_record_out_of_the_archive_up_to_a_point(left: float, accesses: int, *, decayed: bool) -> None:
    """A twentieth each, a quarter in all."""
    assert has_decayed(left, accesses) is decayed


@pytest.mark.parametrize(
    ("hot", "warm", "gone", "expected"),
    [
        (True, True, False, HOT),
        (True, False, True, HOT),
        (False, True, False, WARM),
        (False, False, False, BANK),
        (False, True, True, ARCHIVE),
    ],
)
def test_the_tier_of_a_record(*, hot: bool, warm: bool, gone: bool, expected: str) -> None:
    """HOT before all, then what is over, then what is recent."""
    assert tier_of(hot=hot, warm=warm, gone=gone) == expected


@pytest.mark.parametrize(
    ("number", "text"),
    [(1, "1st"), (2, "2nd"), (3, "3rd"), (4, "4th"), (11, "11th"), (12, "12th"), (21, "21st"), (113, "113th")],
)
def test_ordinals(number: int, text: str) -> None:
    """As they are spoken."""
    assert ordinal(number) == text
