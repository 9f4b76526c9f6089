"""The plugin for Claude Code and the extension for Gemini CLI: the same as an installation, but for the way to the program."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from clan_learnings.agents import claude_code_settings, gemini_settings
from clan_learnings.agents.agent_files import InstallTarget
from clan_learnings.agents.skill_text import skill
from mesh import __version__

REPO = Path(__file__).parents[3]
CLAUDE = REPO / "plugins" / "claude-code"
GEMINI = REPO / "plugins" / "gemini"
BUNDLES = pytest.mark.parametrize("folder", [CLAUDE, GEMINI], ids=["claude-code", "gemini"])


def read(path: Path) -> Any:
    return json.loads(path.read_text())


def hooks(path: Path, program: str) -> dict[str, Any]:
    """The groups of each event, with the program of an installation in the place of the bundle's."""
    found: dict[str, Any] = read(path)["hooks"]
    for (group,) in found.values():
        for handler in group["hooks"]:
            assert handler["command"].startswith(program + " hook ")
            handler["command"] = handler["command"].replace(program, "/bin/mesh")
    return found


def test_the_plugin_has_the_hooks_of_an_installation() -> None:
    """Same events, same handlers, same matchers."""
    found = hooks(CLAUDE / "hooks/hooks.json", 'sh "${CLAUDE_PLUGIN_ROOT}/scripts/run.sh"')
    assert found == {
        event: [
            ({"matcher": matcher} if (matcher := claude_code_settings.MATCHERS.get(event)) else {})
            | {"hooks": [handler]}
        ]
        for event, handler in claude_code_settings.hooks(InstallTarget("/bin/mesh", {})).items()
    }


def test_the_extension_has_the_hooks_of_an_installation() -> None:
    """Same events, handlers and matchers."""
    found = hooks(GEMINI / "hooks/hooks.json", 'sh "${extensionPath}/scripts/run.sh"')
    written = json.loads(gemini_settings.parts(InstallTarget("/bin/mesh", {"HOME": "/nowhere"}))[0].put(""))
    assert found == written["hooks"]


def test_both_register_the_server_under_the_same_name() -> None:
    """So that permission rules and answers are the same, however it came there."""
    assert read(CLAUDE / ".mcp.json") == {
        "mcpServers": {"clan-mesh": {"command": "sh", "args": ["${CLAUDE_PLUGIN_ROOT}/scripts/run.sh", "mcp"]}}
    }
    assert read(GEMINI / "gemini-extension.json")["mcpServers"] == {
        "clan-mesh": {"command": "sh", "args": ["${extensionPath}/scripts/run.sh", "mcp"]}
    }


def test_both_have_the_name_and_the_version_of_the_program() -> None:
    """An update is only noticed by its version."""
    for manifest in (CLAUDE / ".claude-plugin/plugin.json", GEMINI / "gemini-extension.json"):
        said = read(manifest)
        assert (said["name"], said["version"]) == ("clan-mesh", __version__)


def test_the_marketplace_at_the_root_lists_the_plugin() -> None:
    """Its source is a folder of the repository, and has a manifest of the same name."""
    (entry,) = read(REPO / ".claude-plugin/marketplace.json")["plugins"]
    assert entry["source"].startswith("./")
    assert REPO / entry["source"] == CLAUDE
    assert entry["name"] == read(CLAUDE / ".claude-plugin/plugin.json")["name"]
    assert "version" not in entry  # one place says it


@BUNDLES
def test_the_skill_is_that_of_an_installation(folder: Path) -> None:
    """Without the mark: nobody writes it anew there."""
    assert (folder / "skills/clan-mesh/SKILL.md").read_text() == skill()


@BUNDLES
def test_every_event_is_in_the_readme(folder: Path) -> None:
    """Documentation as a test."""
    text = (folder / "README.md").read_text()
    assert [event for event in read(folder / "hooks/hooks.json")["hooks"] if f"`{event}`" not in text] == []


@pytest.mark.parametrize(("folder", "settings"), [(CLAUDE, ".claude/settings.json"), (GEMINI, ".gemini/settings.json")])
def test_beside_an_installation_the_hooks_of_a_bundle_keep_silent(folder: Path, settings: str, tmp_path: Path) -> None:
    """So that a session is told once. The server runs: whoever starts it waits for its answers."""
    program = tmp_path / ".local/bin/mesh"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\necho ran\n")
    program.chmod(0o755)
    written = tmp_path / settings
    written.parent.mkdir()
    target = InstallTarget("/it's here/mesh", {"HOME": str(tmp_path)})
    module = claude_code_settings if folder == CLAUDE else gemini_settings

    def ran(word: str) -> str:
        words = ["/bin/sh", str(folder / "scripts/run.sh"), word, "SessionStart"]
        environ = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
        return subprocess.run(words, env=environ, cwd=tmp_path, capture_output=True, text=True, check=True).stdout

    written.write_text('{"hooks": {"SessionStart": [{"hooks": [{"command": "other hook SessionStart"}]}]}}')
    assert (ran("hook"), ran("mcp")) == ("ran\n", "ran\n")
    written.write_text(module.parts(target)[0].put(""))
    assert (ran("hook"), ran("mcp")) == ("", "ran\n")


@BUNDLES
def test_without_the_program_a_bundle_does_no_harm(folder: Path, tmp_path: Path) -> None:
    """A hook ends well, the server says why not; with the program both run it, with their words."""
    script = str(folder / "scripts/run.sh")
    bare = {"HOME": str(tmp_path), "PATH": "/nowhere"}

    def sh(*words: str) -> tuple[int, str]:
        done = subprocess.run(["/bin/sh", script, *words], env=bare, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout

    assert sh("hook", "Stop") == (0, "")
    assert sh("mcp") == (1, "")
    (tmp_path / ".local/bin").mkdir(parents=True)
    (tmp_path / ".local/bin/mesh").write_text('#!/bin/sh\necho "$# $2"\nexit 7\n')
    (tmp_path / ".local/bin/mesh").chmod(0o755)
    assert sh("hook", "Session Start") == (7, "2 Session Start\n")
