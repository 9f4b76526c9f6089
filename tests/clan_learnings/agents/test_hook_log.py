"""The log of hooks: where it goes, what never gets into it, and how large it may become."""

import os
from pathlib import Path

import pytest

from clan_learnings.agents import hook_log
from clan_learnings.agents.hook_log import log


@pytest.fixture
def temporary(tmp_path: Path) -> Path:
    return tmp_path / "temporary"


@pytest.fixture
def environ(temporary: Path) -> dict[str, str]:
    return {"MESH_SPOOL": str(temporary)}


def test_a_problem_is_one_line(tmp_path: Path, environ: dict[str, str]) -> None:
    """With its time and event, for its owner's eyes only."""
    log(str(tmp_path), "Stop of codex", ["one\nproblem \x1b[31m", "another"], environ)
    first, second = (tmp_path / "hook.log").read_text().splitlines()
    assert first.partition(" ")[2] == "Stop of codex: one problem "
    assert second.endswith("Z Stop of codex: another")
    assert (tmp_path / "hook.log").stat().st_mode & 0o777 == 0o600


def test_secrets_do_not_get_into_it(tmp_path: Path, environ: dict[str, str]) -> None:
    """An error may quote what it failed on."""
    log(str(tmp_path), "Stop", ["cannot open https://ada:hunter2horse@example.org/x"], environ)
    assert "hunter2" not in (tmp_path / "hook.log").read_text()


@pytest.mark.parametrize("home", ["", "missing", "file"])
def test_without_a_home_it_goes_to_the_temporary_folder(
    tmp_path: Path, temporary: Path, environ: dict[str, str], home: str
) -> None:
    """Where nobody else can read it."""
    (tmp_path / "file").write_text("no folder")
    log(str(tmp_path / home) if home else "", "Stop", ["no home"], environ)
    assert "no home" in (temporary / "hook.log").read_text()
    assert temporary.stat().st_mode & 0o777 == 0o700
    assert not (tmp_path / "missing").exists()


def test_without_either_it_goes_nowhere(tmp_path: Path) -> None:
    """And nothing is raised."""
    (tmp_path / "file").write_text("no folder")
    log("", "Stop", ["no home"], {"MESH_SPOOL": str(tmp_path / "file")})
    assert os.listdir(tmp_path) == ["file"]


def test_it_is_rotated_once(tmp_path: Path, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Two files at most, however often hooks fail."""
    monkeypatch.setattr(hook_log, "_BYTES", 1000)
    for number in range(100):
        log(str(tmp_path), "Stop", [f"problem {number} " + "x" * 100], environ)
    assert sorted(os.listdir(tmp_path)) == ["hook.log", "hook.log.1"]
    assert all(os.path.getsize(tmp_path / name) < 1300 for name in os.listdir(tmp_path))


def test_a_link_is_not_followed(tmp_path: Path, temporary: Path, environ: dict[str, str]) -> None:
    """Nothing is written to what somebody pointed us to."""
    (tmp_path / "victim").write_text("")
    home = tmp_path / "home"
    home.mkdir()
    (home / "hook.log").symlink_to(tmp_path / "victim")
    log(str(home), "Stop", ["problem"], environ)
    assert (tmp_path / "victim").read_text() == ""
    assert "problem" in (temporary / "hook.log").read_text()
