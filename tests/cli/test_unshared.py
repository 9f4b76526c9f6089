"""A repository with `share = false`: also what is written live in it stays on the machine, and every way in says so."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from mesh.app.application import Application
from tests.end_to_end.claude_sessions import clone_of
from tests.end_to_end.commands import MESH, done, quickly, sidecar

PROBLEM = (
    "The zanzibar service fails with 401 Unauthorized at every start, whoever asks, because the token that it was given "
    "when it was built is valid for an hour only, and nobody fetches another one before `zanzibar start` is called."
)
TELLING = (
    ["discover", "the zanzibar service needs a token"],
    ["correct", "--wrong", "zanzibar start", "--right", "zanzibar launch"],
    ["learnings", "add", "--problem", PROBLEM, "--solution", "launch the zanzibar service with a fresh token"],
    ["pattern", "add", "launch zanzibar, never start it"],
)
# It speaks of sharing, and nobody can tell what.
UNCLEAR = ("share = maybe\n", 'share = "no"\n')


@pytest.fixture
def place(tmp_path: Path) -> tuple[Path, Path]:
    """A home, and a clone that shares nothing."""
    home, clone = tmp_path / "home", clone_of("github.com/acme/api", tmp_path / "clone")
    quickly(home, "init", "--name", "ada")
    (clone / ".clan-mesh.toml").write_text("share = false\n", encoding="utf-8")
    return home, clone


def run(home: Path, folder: Path, *words: str) -> tuple[dict[str, Any], str]:
    """A command in a folder: its answer and what it told."""
    finished = subprocess.run(
        [MESH, *words, "--json", "--home", str(home)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    return json.loads(finished.stdout), finished.stderr


@pytest.mark.parametrize("words", TELLING, ids=lambda words: words[0])
@pytest.mark.parametrize("is_up", [False, True], ids=["stopped", "running"])
def test_a_live_record_is_private_there_and_says_so(place: tuple[Path, Path], words: list[str], *, is_up: bool) -> None:
    """With a sidecar, which would have written it for us, as without."""
    home, clone = place
    if is_up:
        with sidecar(home):
            answer, said = run(home, clone, *words)
    else:
        answer, said = run(home, clone, *words)
    assert answer["kept_here"] == "the repository says share = false in .clan-mesh.toml"
    assert "stays on this machine" in said
    assert b"zanzibar" not in (home / "mesh.db").read_bytes() + (home / "mesh.db-wal").read_bytes()
    assert "zanzibar" in done(home, "tail", "--private")
    assert "zanzibar" not in done(home, "tail")


def test_elsewhere_the_same_is_shared(place: tuple[Path, Path], tmp_path: Path) -> None:
    """The file speaks for its own repository alone."""
    home, _ = place
    answer, said = run(home, tmp_path, *TELLING[0])
    assert "kept_here" not in answer
    assert said == ""
    assert "zanzibar" in done(home, "tail")


def test_an_agent_that_asks_by_its_tools_is_told_too(place: tuple[Path, Path]) -> None:
    """The application is what the MCP server has."""
    home, clone = place
    answer = Application(str(home), {}, str(clone)).discover("the zanzibar service needs a token")
    assert answer["kept_here"]
    assert (
        Application(str(home), {}, str(clone)).discover("and a cookie for zanzibar", private=True).get("kept_here")
        is None
    )


@pytest.mark.parametrize("words", [TELLING[0], TELLING[2]], ids=lambda words: words[0])
@pytest.mark.parametrize("text", UNCLEAR)
def test_what_cannot_be_understood_is_not_shared(place: tuple[Path, Path], text: str, words: list[str]) -> None:
    """Whoever wrote of sharing may have meant that nothing leaves; the warning says what to do."""
    home, clone = place
    (clone / ".clan-mesh.toml").write_text(text, encoding="utf-8")
    answer, said = run(home, clone, *words)
    assert ".clan-mesh.toml" in answer["kept_here"]
    assert "share = true, or share = false" in said
    assert "zanzibar" in done(home, "tail", "--private")
    assert "zanzibar" not in done(home, "tail")


@pytest.mark.parametrize("text", ["share = true\n", 'categories = ["share"]\n', "repo = = 3\n"])
def test_a_file_that_does_not_forbid_it_keeps_nothing_here(place: tuple[Path, Path], text: str) -> None:
    """Nor does one that is damaged and says nothing of sharing."""
    home, clone = place
    (clone / ".clan-mesh.toml").write_text(text, encoding="utf-8")
    answer, _ = run(home, clone, *TELLING[0])
    assert "kept_here" not in answer
    assert "zanzibar" in done(home, "tail")


def test_imported_learnings_are_private_too_and_known_the_next_time(place: tuple[Path, Path]) -> None:
    """What was taken in once is unchanged afterwards, and can be changed by its file."""
    home, clone = place
    file = clone / "learnings" / "zanzibar.md"
    file.parent.mkdir()
    file.write_text(f"# zanzibar\n\n## Problem\n\n{PROBLEM}\n\n## Solution\n\nlaunch it with a fresh token\n")
    answer, said = run(home, clone, "learnings", "import", "learnings")
    assert (answer["new"], answer["kept_here"]) == (1, "the repository says share = false in .clan-mesh.toml")
    assert "stays on this machine" in said
    assert "zanzibar" in done(home, "tail", "--private")
    assert "zanzibar" not in done(home, "tail")
    again, said = run(home, clone, "learnings", "import", "learnings")
    assert (again["new"], again["unchanged"]) == (0, 1)
    assert "stays on this machine" not in said
    file.write_text(file.read_text().replace("a fresh token", "a token of today"))
    changed, _ = run(home, clone, "learnings", "import", "learnings")
    assert changed["changed"] == 1
    assert "zanzibar" not in done(home, "tail")


def test_a_pattern_that_is_shared_already_is_changed_where_it_is(place: tuple[Path, Path], tmp_path: Path) -> None:
    """Ending it concerns everybody."""
    home, clone = place
    name = run(home, tmp_path, *TELLING[3])[0]["pattern"]
    answer, said = run(home, clone, "pattern", "archive", name, "--reason", "it is gone")
    assert answer["done"] == "archived"
    assert "kept_here" not in answer
    assert "stays on this machine" not in said
