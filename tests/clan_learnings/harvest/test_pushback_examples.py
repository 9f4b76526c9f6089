"""Objections are told from other words by most of many examples, and hardly anything else is taken for one."""

from clan_learnings.harvest.found import found_in
from clan_learnings.harvest.items import CORRECTION
from tests.clan_learnings.harvest.made_sessions import Made
from tests.clan_learnings.harvest.pushback_examples import OBJECTIONS, OTHERS

LEAST_FOUND, MOST_WRONG = 0.9, 0.03


def is_objection(words: str) -> bool:
    """Said after the model changed a file and said so."""
    made = Made()
    made.says("make the panel")
    made.edits("/src/panel.tsx")
    made.replies("Done. The panel is there.")
    made.says(words)
    made.replies("Looking at it.")
    return any(item.kind == CORRECTION for item in found_in(made.session()))


def test_most_objections_are_heard() -> None:
    """Those that are not are printed."""
    missed = [words for words in OBJECTIONS if not is_objection(words)]
    assert len(missed) <= (1 - LEAST_FOUND) * len(OBJECTIONS), missed


def test_hardly_anything_else_is_taken_for_one() -> None:
    """New work, questions, answers, praise."""
    wrong = [words for words in OTHERS if is_objection(words)]
    assert len(wrong) <= MOST_WRONG * len(OTHERS), wrong
