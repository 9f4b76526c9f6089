"""Retention: what goes, in which order, and what never does."""

from clan_learnings.sessions.capture_settings import Budget, overdue
from clan_learnings.sessions.catalogue_rows import KeptBody

DAY = 86_400_000
NOW = 1000 * DAY


def body(file: int, size: int, *, days: int = 1, is_analysed: bool = True) -> KeptBody:
    return KeptBody(file, size, is_analysed, NOW - days * DAY)


def test_within_the_budget_everything_stays() -> None:
    """No age but the maximum drops anything while there is room."""
    bodies = [body(1, 50, days=300), body(2, 50)]
    assert overdue(bodies, Budget(100, 200, 365), NOW) == ([], [])


def test_above_the_soft_cap_the_oldest_analysed_go_first() -> None:
    """And no more of them than it takes."""
    bodies = [body(1, 40, days=1), body(2, 40, days=9), body(3, 40, days=5)]
    assert overdue(bodies, Budget(80, 200, 365), NOW) == ([2], [])


def test_what_was_never_analysed_is_left_alone_below_the_hard_cap() -> None:
    """Even if it is older, larger, and all that could go."""
    bodies = [body(1, 150, days=400, is_analysed=False), body(2, 40)]
    assert overdue(bodies, Budget(80, 200, 365), NOW) == ([2], [])


def test_above_the_hard_cap_the_oldest_that_was_never_analysed_is_lost() -> None:
    """After everything that was analysed has gone, and no more of them than it takes."""
    bodies = [body(n, 100, days=10 - n, is_analysed=False) for n in range(1, 5)] + [body(9, 10)]
    assert overdue(bodies, Budget(80, 200, 365), NOW) == ([9], [1, 2])


def test_the_maximum_age_drops_only_what_was_analysed() -> None:
    """It is a backstop, not a reason to lose anything."""
    bodies = [body(1, 1, days=366), body(2, 1, days=366, is_analysed=False), body(3, 1, days=364)]
    assert overdue(bodies, Budget(100, 200, 365), NOW) == ([1], [])


def test_a_soft_cap_of_nothing_drops_all_that_was_analysed() -> None:
    """The smallest budget there can be."""
    bodies = [body(1, 1), body(2, 1, is_analysed=False)]
    assert overdue(bodies, Budget(0, 100, 365), NOW) == ([1], [])
