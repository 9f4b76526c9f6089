"""Which words of one person in one session are a rule for others, and which wait for a second voice."""

import pytest

from clan_learnings.harvest.candidates import APPROVED, PROVISIONAL
from clan_learnings.harvest.directives import is_rule
from clan_learnings.harvest.evidence_bar import Bar, judged
from clan_learnings.harvest.item_gate import problems
from tests.clan_learnings.harvest.signals import candidate, correction, fact, signal

RULES = (
    "use pnpm install instead of npm install",
    "no, do not call the venv directly, use `uv run pytest`",
    "From now on always run make lint before you commit.",
    "never push to the main branch",
    "don't use npm, use pnpm",
    "the service is called billing-api, not billing",
    "I want the formula to be called homebrew-tap instead of homebrew-acme",
    "always run the tests before committing",
    "use pnpm in this project",
    "no, use pnpm here, we never use npm",
    "Migrations must be reversible",
    "tests must never touch the network",
    "you should always pin versions of actions",
    "avoid mocks in integration tests",
    "prefer composition over inheritance",
    "Remember that the staging database needs TLS 1.3",
    "If a test is flaky, never skip it",
    "do not edit files under vendor/",
    "make sure to always run prettier",
    "no logs! parseDate should return an error that the caller can display",
    "we should use pnpm",
)
NONE = (
    "the heading is actually 404040",
    "No rows or columns are loading into the grid now",
    "Entirely below the toolbar",
    "read CONTRIBUTING.md that explains all of it",
    "no, the block should stay as is",
    "token for borders (in addition to the existing `panelBg`), replacing the unused `panelText`",
    "I never said that you should remember this",
    "it never works",
    "that always fails on CI",
    "got a crash, that should never happen",
    "don't do that",
    "use this",
    "use it",
    "never mind the typo in billing",
    "you must have deleted the file",
    "the build never finishes",
    "don't change the block",
    "use the other one",
    "never do this again",
    "the dialog shouldn't be that big",
    "Always the same error with npm",
    "this must be a bug",
    "why do you never use pnpm?",
    "could we also just remove default then",
    "Acme Inc.",
    "no, paleGray should be that",
    "rows should return to the top of the table",
    "we should use the first letters of it",
    "",
)


@pytest.mark.parametrize("said", RULES)
def test_a_directive_with_an_object_is_a_rule(said: str) -> None:
    """However politely it begins."""
    assert is_rule(said)


@pytest.mark.parametrize("said", NONE)
def test_reports_fragments_and_what_points_at_a_screen_are_none(said: str) -> None:
    """Nobody else can go by them."""
    assert not is_rule(said)


@pytest.mark.parametrize("said", RULES)
def test_a_persons_rule_of_one_session_may_be_shared(said: str) -> None:
    """As a correction, and as a statement that objects to nothing."""
    told = f"A person refused a change of setup.cfg and said: “{said}”"
    for item in (
        correction("a change of setup.cfg", said, text=told),
        fact(f"A person said: “{said}”", right=said, source="human", is_stated=True, confidence=0.8),
    ):
        found = candidate(signal(item))
        assert judged(found._replace(problems=problems(found)), Bar()).state == APPROVED


@pytest.mark.parametrize("said", NONE[:-1])
def test_what_is_no_rule_waits_for_a_second_session_or_a_person(said: str) -> None:
    """It is kept, and two sessions that say it are enough, if the gate has nothing against it."""
    item = correction("a change of setup.cfg", said, text=f"After a change of setup.cfg a person objected: “{said}”")
    once = candidate(signal(item))
    assert judged(once._replace(problems=problems(once)), Bar()).state == PROVISIONAL
    twice = candidate(signal(item), signal(item, "codex:2"))
    assert judged(twice, Bar()).state == APPROVED


def test_why_it_waits_is_said() -> None:
    """With what would let it go."""
    item = correction("a change of setup.cfg", "the block stays as is", text="A person said: “the block stays as is”")
    assert "no rule as it was said" in judged(candidate(signal(item)), Bar()).why


def test_words_of_any_length_are_looked_at_in_bounds() -> None:
    """Nothing here takes longer for a wall of text."""
    assert not is_rule("use " * 100_000 + "?")
    assert not is_rule(", " * 100_000)
