"""The quality gate: what is refused, what costs quality, and that it says why."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given

from clan_learnings.documents.learning import Learning
from clan_learnings.documents.quality_gate import LEAST_CHARS, judge
from tests.clan_learnings.documents.learned import GOOD, learnings


def test_a_good_document_passes_with_a_high_figure() -> None:
    """Nothing is missing: only the author's doubt is taken off."""
    verdict = judge(GOOD)
    assert (verdict.passes, verdict.quality, verdict.category) == (True, 0.96, "build-errors")
    assert verdict.remarks == ()


@pytest.mark.parametrize("name", ["problem", "solution"])
def test_problem_and_solution_are_required(name: str) -> None:
    """Whatever else it says."""
    without: dict[str, Any] = {name: ""}
    verdict = judge(replace(GOOD, **without))
    assert not verdict.passes
    assert f"it has no {name}" in verdict.refusals


def test_a_document_needs_two_hundred_characters() -> None:
    """One less is refused, exactly as many are not."""
    short = Learning(title="t", problem="p" * 100, solution="s" * (LEAST_CHARS - 101))
    assert judge(short).refusals == (f"it has {LEAST_CHARS - 1} characters, and needs {LEAST_CHARS}",)
    assert judge(replace(short, solution="s" * (LEAST_CHARS - 100))).passes


def test_a_solution_that_repeats_the_problem_is_none() -> None:
    """Copying one into the other does not help."""
    assert not judge(replace(GOOD, solution=GOOD.problem)).passes


@pytest.mark.parametrize(
    ("name", "value", "lost"),
    [
        ("prevention", "", 0.15),
        ("example", "", 0.15),
        ("root_cause", "", 0.1),
        ("solution", "do it right", 0.1),
        ("confidence", 0.3, 0.1),
        ("solution", GOOD.solution + " [redacted: aws key]", 0.1),
    ],
)
def test_what_is_missing_costs_quality_and_is_told(name: str, value: object, lost: float) -> None:
    """Each thing has its price and its sentence; the document passes all the same."""
    verdict = judge(replace(GOOD, **{name: value}))  # type: ignore[arg-type]
    assert verdict.passes
    assert round(0.96 - verdict.quality, 2) == lost
    assert len(verdict.remarks) == 1


def test_a_category_that_is_none_is_found_by_the_words() -> None:
    """And one that was not given at all costs nothing."""
    text = "pytest fixtures leak: the tests fail in another order"
    found = judge(replace(GOOD, category="nonsense", title=text, problem=f"{GOOD.problem} {text} pytest test tests"))
    assert found.category == "test-failures"
    assert "none of the mesh's" in found.remarks[0]
    assert judge(replace(GOOD, category="")).quality == 0.96


@given(learnings())
def test_the_figure_is_always_one_from_zero_to_one(learning: Learning) -> None:
    """Whatever is judged."""
    assert 0 <= judge(learning).quality <= 1
