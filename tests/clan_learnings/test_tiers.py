"""Tiers as arithmetic: what is HOT, what has decayed, and how an ordinal is written."""

import pytest

from clan_learnings.tiers import ARCHIVE, BANK, DECAYED, HOT, WARM, is_hot, ordinal, strength, tier_of

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


@pytest.mark.parametrize(("severity", "days"), [("low", 45), ("medium", 90), ("high", 180), ("critical", 360)])
def test_confidence_halves_and_what_did_more_harm_lasts_longer(severity: str, days: int) -> None:
    """The half-life goes with the severity."""
    assert strength(0.8, severity, days * DAY_MS) == pytest.approx(0.4)


def test_a_record_from_the_future_is_as_strong_as_a_new_one() -> None:
    """Mesh time is rounded down, so the newest records are ahead of it."""
    assert strength(0.8, "medium", -DAY_MS) == 0.8


def test_an_unknown_severity_decays_like_a_medium_one() -> None:
    """Records come from anyone."""
    assert strength(0.8, "??", 90 * DAY_MS) == pytest.approx(0.4)


@pytest.mark.parametrize(
    ("hot", "warm", "gone", "left", "expected"),
    [
        (True, True, False, 0.9, HOT),
        (True, False, False, 0.1, HOT),
        (False, True, False, 0.9, WARM),
        (False, False, False, 0.9, BANK),
        (False, False, False, DECAYED, BANK),
        (False, True, False, DECAYED - 0.01, ARCHIVE),
        (False, True, True, 0.9, ARCHIVE),
    ],
)
def test_the_tier_of_a_record(*, hot: bool, warm: bool, gone: bool, left: float, expected: str) -> None:
    """HOT before all, then what is over, then what is recent."""
    assert tier_of(hot=hot, warm=warm, gone=gone, left=left) == expected


@pytest.mark.parametrize(
    ("number", "text"),
    [(1, "1st"), (2, "2nd"), (3, "3rd"), (4, "4th"), (11, "11th"), (12, "12th"), (21, "21st"), (113, "113th")],
)
def test_ordinals(number: int, text: str) -> None:
    """As they are spoken."""
    assert ordinal(number) == text
