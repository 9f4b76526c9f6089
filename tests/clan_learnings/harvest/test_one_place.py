"""Words that hold for one place only."""

import pytest

from clan_learnings.harvest.candidates import APPROVED, PROVISIONAL
from clan_learnings.harvest.directives import one_place
from clan_learnings.harvest.evidence_bar import Bar, judged
from tests.clan_learnings.harvest.signals import candidate, correction, signal


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
    found = judged(candidate(*(signal(item, f"codex:{number}", repo="") for number in range(3))), Bar())
    assert found.state == PROVISIONAL
    assert "this project" in found.why
    assert f"mesh curate --accept {found.id} --repo REPO" in found.why
    assert judged(candidate(signal(item), signal(item, "codex:2", repo="")), Bar()).state == APPROVED
