"""The quality gate: a subject, an action, evidence; and what is never let through by itself."""

import pytest

from clan_learnings.harvest.candidates import APPROVED, PROVISIONAL, HarvestCandidate
from clan_learnings.harvest.clusters import OF_ONE_SESSION, WAITING, warnings
from clan_learnings.harvest.evidence_bar import EvidenceBar, judged
from clan_learnings.harvest.item_quality import bears_mark, is_rule, one_place, problems
from clan_learnings.harvest.items import QUESTION, HarvestItem
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
    asked = HarvestItem(QUESTION, "Whether billing needs TLS 1.3 is not known.", 3, 0.9)
    assert any("question" in said for said in problems(candidate(signal(asked))))


def test_a_secret_and_the_mark_of_one_are_told() -> None:
    """Whether it was taken out by others before, or is now."""
    assert bears_mark("use [redacted: aws key] there")
    assert bears_mark("", redact("AKIA" + "IOSFODNN7EXAMPLA").text)
    assert not bears_mark("use the key of the vault", "")


def waiting(count: int, session: str = "") -> list[HarvestCandidate]:
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
        assert judged(found._replace(problems=problems(found)), EvidenceBar()).state == APPROVED


@pytest.mark.parametrize("said", NONE[:-1])
def test_what_is_no_rule_waits_for_a_second_session_or_a_person(said: str) -> None:
    """It is kept, and two sessions that say it are enough, if the gate has nothing against it."""
    item = correction("a change of setup.cfg", said, text=f"After a change of setup.cfg a person objected: “{said}”")
    once = candidate(signal(item))
    assert judged(once._replace(problems=problems(once)), EvidenceBar()).state == PROVISIONAL
    twice = candidate(signal(item), signal(item, "codex:2"))
    assert judged(twice, EvidenceBar()).state == APPROVED


def test_why_it_waits_is_said() -> None:
    """With what would let it go."""
    item = correction("a change of setup.cfg", "the block stays as is", text="A person said: “the block stays as is”")
    assert "no rule as it was said" in judged(candidate(signal(item)), EvidenceBar()).why


def test_words_of_any_length_are_looked_at_in_bounds() -> None:
    """Nothing here takes longer for a wall of text."""
    assert not is_rule("use " * 100_000 + "?")
    assert not is_rule(", " * 100_000)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("use pnpm instead of npm in this project", "this project"),
        ("in This Repo, always use pnpm", "this repo"),
        ("we never use npm here.", "here"),
        ("the codebase is formatted with black", "the codebase"),
        ("never touch the files of this package", "this package"),
        ("do not edit `src/generated/api.ts`", "src/generated/api.ts"),
        ("run ./configure before make", "./configure"),
        ("do not edit files under vendor/", "vendor/"),
        ("keep notes in ~/work/api", "~/work/api"),
    ],
)
def test_a_place_is_told_by_its_words(text: str, words: str) -> None:
    """Which ones is said, so that a person sees why."""
    assert one_place(text) == words


@pytest.mark.parametrize(
    "text",
    [
        "use pnpm instead of npm",
        "never use --force and/or --hard",
        "see https://example.org/a/b/c.html",
        "install @acme/tools",
        "never write to /etc/passwd",
        "github.com/acme/api is built with bazel",
        "a project needs a licence",
        "where and there",
        "",
    ],
)
def test_what_may_hold_everywhere_names_none(text: str) -> None:
    """Addresses, packages and folders of every machine are no place of one checkout."""
    assert one_place(text) == ""


def test_without_a_repository_it_waits_for_a_person_however_many_say_it() -> None:
    """And says how to give it one."""
    item = correction("npm install", "use pnpm install in this project", text="Use pnpm install in this project.")
    found = judged(candidate(*(signal(item, f"codex:{number}", repo="") for number in range(3))), EvidenceBar())
    assert found.state == PROVISIONAL
    assert "this project" in found.why
    assert f"mesh curate --accept {found.id} --repo REPO" in found.why
    assert judged(candidate(signal(item), signal(item, "codex:2", repo="")), EvidenceBar()).state == APPROVED
