"""The quality gate: a subject, an action, evidence; and what is never let through by itself."""

import pytest

from clan_learnings.harvest.candidates import PROVISIONAL, Candidate
from clan_learnings.harvest.clusters import OF_ONE_SESSION, WAITING, warnings
from clan_learnings.harvest.item_gate import bears_mark, problems
from clan_learnings.harvest.items import QUESTION, Item
from clan_learnings.redaction import redact
from tests.clan_learnings.harvest.signals import candidate, correction, fact, signal

GOOD = (
    "The staging database of billing needs TLS 1.3.",
    "go test ./... fails in /tmp because of noexec.",
    "`VAR=1 time cmd` is a parse error in zsh.",
    "HTTP 405 on push means branch protection.",
    "posthog-go Close() waits forever with ShutdownTimeout<=0.",
    "Running make before ./configure leaves a stale config.h.",
)
BAD = (
    ("It did not work.", "no subject"),
    ("This one again.", "no subject"),
    ("ruff 0.9.1", "no action"),
    ("ok", "characters"),
    ("Use ruff.\nThen mypy.", "not one plain line"),
    ("Use \x1b[31mruff\x1b[0m for the lint of billing.", "not one plain line"),
    ("Does ruff read pyproject.toml of billing?", "a question"),
    ("Use ruff " + "x" * 400, "characters"),
)


@pytest.mark.parametrize("text", GOOD)
def test_a_sentence_that_a_stranger_understands_passes(text: str) -> None:
    """It names something, and says what is so or what to do."""
    assert problems(candidate(signal(fact(text)))) == ()


@pytest.mark.parametrize(("text", "problem"), BAD)
def test_what_is_missing_is_said(text: str, problem: str) -> None:
    """In words that a person can act on."""
    assert any(problem in said for said in problems(candidate(signal(fact(text)))))


def test_of_a_rule_the_right_way_is_the_action() -> None:
    """Whatever the verbs in its sentence."""
    assert (
        problems(candidate(signal(correction("folder: in brews", "directory:", text="brews: directory, no folder."))))
        == ()
    )


@pytest.mark.parametrize(
    "told",
    [
        "do not call the venv directly, use `uv run pytest`",
        "no, use pnpm here, we never use npm",
        "ok so please use ruff format in billing",
        "I want the formula to be called homebrew-tap",
        "setTheme should return an error that the caller can display",
        "we deploy from the branch release, it is protected",
        "Acme Inc.",
    ],
)
def test_a_person_who_says_what_to_do_or_what_is_so_gives_a_rule(told: str) -> None:
    """However briefly, and after however many a no."""
    assert problems(candidate(signal(correction("a change of LICENSE", told, text=f"In LICENSE: {told}")))) == ()


@pytest.mark.parametrize(
    ("told", "problem"),
    [
        ("is 241 really a problem?", "a question"),
        ("can you take a look at it, we should keep CHANGELOG.md shorter, right?”", "a question"),
        ("what is the footer using? it should be dimmer", "a question"),
        ("I continued the rebase and it completed, so this does not happen all the time", "talk"),
        ("sorry, this error is from worktree 2", "talk"),
        ("hm, that is the old color", "talk"),
        ("no data is showing up, it is still empty", "talk"),
        ("the damn linter is there to be used", "words to hand on"),
        ("use ruff " + "and mypy " * 40, "at most 240"),
        ("all texts sound alike somehow", "no action"),
    ],
)
def test_what_a_person_said_to_one_session_alone_waits_for_a_person(told: str, problem: str) -> None:
    """It is a correction, and it counts as one; but somebody has to make a rule of it."""
    item = correction("a change of LICENSE", told, text="A person corrected the change of LICENSE.")
    assert any(problem in said for said in problems(candidate(signal(item))))
    edited = candidate(signal(item))._replace(is_edited=True, right="use ruff", text="Use ruff in billing.")
    assert problems(edited) == ()


def test_without_a_line_of_a_session_there_is_no_evidence() -> None:
    """A line is a physical one, counted from 1."""
    assert any("no evidence" in said for said in problems(candidate(signal(fact(line=0)))))


def test_a_question_waits_for_a_person() -> None:
    """Whatever its form."""
    asked = Item(QUESTION, "Whether billing needs TLS 1.3 is not known.", 3, 0.9)
    assert any("question" in said for said in problems(candidate(signal(asked))))


def test_a_secret_and_the_mark_of_one_are_told() -> None:
    """Whether it was taken out by others before, or is now."""
    assert bears_mark("use [redacted: aws key] there")
    assert bears_mark("", redact("AKIA" + "IOSFODNN7EXAMPLA").text)
    assert not bears_mark("use the key of the vault", "")


def waiting(count: int, session: str = "") -> list[Candidate]:
    """So many before a person."""
    return [
        candidate(
            signal(fact(f"The service srv{number} listens on port {number + 2000}."), session or f"codex:{number}")
        )._replace(state=PROVISIONAL)
        for number in range(count)
    ]


def test_bloat_is_warned_of_and_each_warning_has_a_next_step() -> None:
    """Too many, too much of one session, too long, too much alike, too much HOT."""
    assert warnings(waiting(10)) == []
    (many,) = warnings(waiting(WAITING + 1))
    assert "mesh curate" in many
    assert any("one session, codex:x" in said for said in warnings(waiting(OF_ONE_SESSION + 1, "codex:x")))
    (long,) = warnings([each._replace(text="x" * 250) for each in waiting(2)])
    assert "2 of those" in long
    (alike,) = warnings([each._replace(linked=tuple("abcdef")) for each in waiting(1)])
    assert "--merge" in alike
    (hot,) = warnings([], ["x" * 300] * 200)
    assert "mesh doctor" in hot
