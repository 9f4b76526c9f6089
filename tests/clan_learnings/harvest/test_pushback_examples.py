"""Objections are told from other words by most of many examples, and hardly anything else is taken for one."""

import pytest

from clan_learnings.harvest.items import CORRECTION
from clan_learnings.harvest.rules import items_of_session
from tests.clan_learnings.harvest.made_sessions import Made
from tests.clan_learnings.harvest.pushback_examples import (
    OBJECTIONS,
    OBJECTIONS_TO_AN_ANSWER,
    OTHERS,
    OTHERS_AFTER_AN_ANSWER,
)

LEAST_FOUND, MOST_WRONG = 0.85, 0.03


def is_objection(words: str, *, has_changed: bool) -> bool:
    """Said after the model changed a file and said so, or only explained something."""
    made = Made()
    made.says("make the panel")
    if has_changed:
        made.edits("/src/panel.tsx")
        made.replies("Done. The panel is there.")
    else:
        made.uses("Read", "text", file_path="/src/panel.tsx")
        made.replies("I think the queue is the reason. We could put a cache in front of it.")
    made.says(words)
    made.replies("Looking at it.")
    return any(item.kind == CORRECTION for item in items_of_session(made.session()))


@pytest.mark.parametrize(("examples", "has_changed"), [(OBJECTIONS, True), (OBJECTIONS_TO_AN_ANSWER, False)])
def test_most_objections_are_heard(examples: list[str], *, has_changed: bool) -> None:
    """Those that are not are printed."""
    missed = [words for words in examples if not is_objection(words, has_changed=has_changed)]
    assert len(missed) <= (1 - LEAST_FOUND) * len(examples), missed


@pytest.mark.parametrize(("examples", "has_changed"), [(OTHERS, True), (OTHERS_AFTER_AN_ANSWER, False)])
def test_hardly_anything_else_is_taken_for_one(examples: list[str], *, has_changed: bool) -> None:
    """New work, questions, answers, praise."""
    wrong = [words for words in examples if is_objection(words, has_changed=has_changed)]
    assert len(wrong) <= MOST_WRONG * len(examples), wrong
