"""Recall, nDCG and MRR against figures worked out by hand."""

from math import log2

import pytest

from bench.recall_metrics import NOTHING, Scores, as_one, mean, scores


def test_all_found_at_the_top_is_one() -> None:
    """Nothing can be better, in whichever order."""
    assert scores(["b", "a", "x"], ["a", "b"]) == pytest.approx(Scores(1.0, 1.0, 1.0))


def test_nothing_found_is_nought() -> None:
    """Also where there is no answer at all."""
    assert scores(["x"], ["a"]) == scores([], ["a"]) == NOTHING


def test_later_places_count_less() -> None:
    """One of two, in the third place."""
    ideal = 1 + 1 / log2(3)
    assert scores(["x", "y", "a"], ["a", "b"]) == pytest.approx(Scores(0.5, 0.5 / ideal, 1 / 3))


def test_recall_looks_at_five_and_the_others_at_ten() -> None:
    """The sixth place is too late for the one, the eleventh for all."""
    others = list("qrstuvwxyz")
    assert scores([*others[:5], "a"], ["a"]) == pytest.approx(Scores(0.0, 1 / log2(7), 1 / 6))
    assert scores([*others, "a"], ["a"]) == NOTHING


def test_a_group_takes_one_place() -> None:
    """That of its first member; what comes after moves up."""
    assert as_one(["x", "a1", "a2", "b"], {"a1": "a", "a2": "a"}) == ["x", "a", "b"]


def test_means_are_of_questions() -> None:
    """Each has the same weight; of none there is nothing."""
    assert mean([Scores(1.0, 1.0, 1.0), NOTHING]) == Scores(0.5, 0.5, 0.5)
    assert mean([]) == NOTHING
