"""A repository with `share = false`: also what is written live in it stays on the machine, and every way in says so."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from mesh.sidecar.desk import Desk
from tests.end_to_end.commands import MESH, done, sidecar

TELLING = (
    ["discover", "the zanzibar service needs a token"],
    ["correct", "--wrong", "zanzibar start", "--right", "zanzibar launch"],
)


@pytest.fixture
def place(tmp_path: Path) -> tuple[Path, Path]:
    """A home, and a clone that shares nothing."""
    home, clone = tmp_path / "home", tmp_path / "clone"
    done(home, "init", "--name", "ada")
    for folder in ("objects", "refs"):
        (clone / ".git" / folder).mkdir(parents=True)
    (clone / ".git" / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
    (clone / ".git" / "config").write_text('[remote "origin"]\n\turl = git@github.com:acme/api.git\n', encoding="utf-8")
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
        timeout=60,
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
    """The desk is what the MCP server has."""
    home, clone = place
    answer = Desk(str(home), {}, str(clone)).discover("the zanzibar service needs a token")
    assert answer["kept_here"]
    assert Desk(str(home), {}, str(clone)).discover("and a cookie for zanzibar", private=True).get("kept_here") is None
