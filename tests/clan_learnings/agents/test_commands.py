"""`mesh install` and `mesh uninstall` as a person types them, and the texts that come with them."""

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from clan_learnings.agents.skill_text import CALLS, MARK, agents_text, skill
from mesh.cli import install as command
from mesh.cli.command_list import COMMANDS
from mesh.cli.main import run

REPO = Path(__file__).parents[3]


class Shell:
    """Types commands as a user whose home is a folder of the test."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys
        self.home = Path(os.environ["HOME"])
        self.err = ""

    def __call__(self, *words: str, code: int = 0) -> str:
        try:
            got = run(list(words))
        except SystemExit as stop:
            got = int(str(stop.code))
        out, self.err = self._capsys.readouterr()
        assert (got, "Traceback" in self.err) == (code, False), (words, out, self.err)
        return out


@pytest.fixture
def shell(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Shell:
    for variable in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "GIT_DIR"):
        monkeypatch.delenv(variable, raising=False)
    mesh = tmp_path / "bin" / "mesh"
    mesh.parent.mkdir()
    mesh.write_text("#!/bin/sh\n")
    mesh.chmod(0o755)
    monkeypatch.setattr(sys, "argv", [str(mesh)])
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.chdir(tmp_path)
    made = Shell(capsys)
    made.home.mkdir()
    return made


def test_install_says_what_it_did_and_what_is_left_to_do(shell: Shell, tmp_path: Path) -> None:
    """For Codex it ends with the trust that only a person can give; without a node it says how to make one."""
    out = shell("install", "codex").splitlines()
    assert out[0] == f"created    {shell.home}/.codex/hooks.json"
    assert "/hooks" in out[-1]
    assert "trust" in out[-1]
    assert "next: mesh setup" in shell.err
    hooks = json.loads((shell.home / ".codex/hooks.json").read_text())["hooks"]
    assert hooks["SessionStart"][0]["hooks"][0]["command"] == f"{tmp_path}/bin/mesh hook SessionStart --agent codex"
    assert shell("install", "codex").splitlines()[0] == f"as it was  {shell.home}/.codex/hooks.json"
    assert f"removed    {shell.home}/.codex/hooks.json" in shell("uninstall", "--all").splitlines()
    assert list(shell.home.iterdir()) == []


def test_a_refused_file_is_said_with_the_text_to_add_and_its_own_code(shell: Shell) -> None:
    """The others are done; the code tells scripts that something is left."""
    (shell.home / ".claude").mkdir()
    (shell.home / ".claude/settings.json").write_text("{")
    out = shell("install", "claude-code", code=4)
    assert "settings.json" not in out
    assert f"created    {shell.home}/.claude.json" in out
    assert f"{shell.home}/.claude/settings.json was left alone: it is not JSON: line 1: " in shell.err
    text = shell.err.partition("add this by hand:\n\n")[2]
    assert json.loads(text[: text.rindex("}") + 1])["hooks"]["Stop"]


def test_all_are_those_that_are_here(shell: Shell) -> None:
    """Nobody gets a folder of an agent that was never here; what is named is installed all the same."""
    shell("install", "--all", code=1)
    assert "no agent that we know was found" in shell.err
    (shell.home / ".qwen").mkdir()
    said: Any = json.loads(shell("install", "--all", "--dry-run", "--json"))
    assert {file["agent"] for file in said["files"]} == {"qwen"}
    said = json.loads(shell("install", "cursor", "--dry-run", "--json"))
    assert {file["agent"] for file in said["files"]} == {"cursor"}


def test_json_has_every_file(shell: Shell) -> None:
    """For scripts: what was done, and what a person still has to do."""
    for folder in (".claude", ".codex", ".gemini"):
        (shell.home / folder).mkdir()
    said: Any = json.loads(shell("install", "--all", "--dry-run", "--json"))
    assert said["dry_run"] is True
    assert {file["agent"] for file in said["files"]} == {"claude-code", "codex", "gemini"}
    assert {file["did"] for file in said["files"]} == {"created"}
    assert any("/hooks" in note for note in said["notes"])
    assert [path for path in shell.home.rglob("*") if path.is_file()] == []


def test_a_dry_run_shows_the_lines(shell: Shell) -> None:
    """As a patch shows them."""
    out = shell("install", "gemini", "--dry-run")
    assert f"would create {shell.home}/.gemini/settings.json\n" in out
    assert '+            "timeout": 10000' in out
    assert list(shell.home.iterdir()) == []


def test_a_project_is_the_repository_around_us(shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From a folder below, settings go to its root; without one, to the folder itself."""
    for name in ("objects", "refs"):
        (tmp_path / "tool/.git" / name).mkdir(parents=True)
    (tmp_path / "tool/.git/HEAD").write_text("ref: refs/heads/main\n")
    (tmp_path / "tool/src").mkdir()
    (tmp_path / "plain").mkdir()
    monkeypatch.chdir(tmp_path / "tool/src")
    shell("install", "claude-code", "--project")
    assert (tmp_path / "tool/.mcp.json").exists()
    monkeypatch.chdir(tmp_path / "plain")
    shell("install", "claude-code", "--project", "--allow")
    assert (tmp_path / "plain/.claude/settings.json").exists()
    assert list(shell.home.iterdir()) == []


def test_another_home_is_named_in_the_hooks(shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Agents do not know our environment; the default home needs no word."""
    monkeypatch.setenv("MESH_HOME", str(tmp_path / "node"))
    shell("install", "claude-code")
    assert f"/bin/mesh hook Stop --home {tmp_path}/node" in (shell.home / ".claude/settings.json").read_text()
    monkeypatch.setenv("MESH_HOME", str(shell.home / ".clan-mesh"))
    shell("install", "claude-code")
    assert "--home" not in (shell.home / ".claude/settings.json").read_text()
    monkeypatch.delenv("MESH_HOME")
    monkeypatch.setattr(command, "home_path", lambda _: str(tmp_path / "team"))
    shell("install", "claude-code", "--home", str(tmp_path / "team"))
    assert (
        "--home" not in (shell.home / ".claude/settings.json").read_text()
    )  # hooks follow the list of homes themselves
    shell("install", "claude-code", "--home", "other")
    assert f"/bin/mesh hook Stop --home {tmp_path}/other" in (shell.home / ".claude/settings.json").read_text()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["install"], "name agents (claude-code, codex, gemini, qwen, copilot, opencode, cursor), or give --all"),
        (
            ["install", "codex", "--all"],
            "name agents (claude-code, codex, gemini, qwen, copilot, opencode, cursor), or give --all",
        ),
        (["install", "aider"], "for other agents: mesh install --text >> AGENTS.md"),
        (["uninstall", "codex", "--user", "--project"], "--user and --project exclude each other"),
    ],
)
def test_wrong_usage_names_the_next_step(shell: Shell, words: list[str], said: str) -> None:
    """Nothing is tried."""
    shell(*words, code=2)
    assert said in shell.err
    assert "next: mesh" in shell.err
    assert list(shell.home.iterdir()) == []


def test_the_program_is_named_by_the_link_that_outlives_an_upgrade(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A link on the PATH to the same program is preferred; another program of that name is not."""
    assert command.program() == f"{tmp_path}/bin/mesh"
    (tmp_path / "links").mkdir()
    (tmp_path / "links/mesh").symlink_to(tmp_path / "bin/mesh")
    monkeypatch.setenv("PATH", str(tmp_path / "links"))
    assert command.program() == f"{tmp_path}/links/mesh"
    (tmp_path / "links/mesh").unlink()
    (tmp_path / "links/mesh").write_text("#!/bin/sh\n")
    (tmp_path / "links/mesh").chmod(0o755)
    assert command.program() == f"{tmp_path}/bin/mesh"
    monkeypatch.setattr(sys, "argv", ["/somewhere/__main__.py"])
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bin/python"))
    assert command.program() == f"{tmp_path}/bin/mesh"
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    assert command.program() == f"{tmp_path}/links/mesh"
    monkeypatch.setenv("PATH", "/nowhere")
    shell("install", "codex", code=1)
    assert "the mesh script cannot be found" in shell.err


def test_the_text_for_other_agents_is_the_one_in_the_documents(shell: Shell) -> None:
    """`mesh install --text` and docs/AGENTS-TEXT.md are the same, well within what AGENTS.md may hold."""
    assert shell("install", "--text") == agents_text()
    assert json.loads(shell("install", "--text", "--json")) == {"text": agents_text()}
    assert (REPO / "docs" / "AGENTS-TEXT.md").read_text() == agents_text()
    assert len(agents_text()) < 32 * 1024


def test_the_texts_say_the_exact_calls() -> None:
    """And that a correction is recorded before the next reply."""
    for text in (skill(), agents_text()):
        for call in (
            '`mesh correct --wrong "',
            '" --right "',
            '`mesh discover "',
            '`mesh search "',
            "`mesh hot`",
            "`mesh why ID`",
        ):
            assert call in text
        assert "Record a correction before your next reply" in text
        assert all(call.startswith(CALLS) for call in re.findall(r"`mesh ([a-z ]+)", text))
    assert "`mesh context`" in agents_text()
    assert MARK in skill("mesh", MARK)


def test_the_skill_keeps_the_limits_of_skills() -> None:
    """Name as the folder, a description of at most 1,024 characters, under 500 lines."""
    head = skill().split("---\n")[1].splitlines()
    assert head[0] == "name: clan-mesh"
    assert head[1].startswith("description: ")
    assert len(head[1]) < 1024
    assert ": " not in head[1].removeprefix("description: ")  # plain YAML, without quotes
    assert skill().count("\n") < 500


def test_what_agents_may_call_without_asking_is_there() -> None:
    """A permission for a command that does not exist helps nobody."""
    assert {call.split()[0] for call in CALLS} <= set(COMMANDS)
