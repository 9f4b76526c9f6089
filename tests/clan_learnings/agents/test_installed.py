"""How we stand in the agents of a machine: what is there, what is outdated, broken, twice, or never ran."""

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from clan_learnings.agents.agent_files import InstallTarget
from clan_learnings.agents.installer import AGENTS, Installation, check, found, install

EVERY = tuple(AGENTS)
FIRST = {
    "claude-code": ".claude/settings.json",
    "codex": ".codex/hooks.json",
    "gemini": ".gemini/settings.json",
    "qwen": ".qwen/settings.json",
    "copilot": ".copilot/hooks/clan-mesh.json",
    "opencode": ".config/opencode/opencode.json",
    "cursor": ".cursor/mcp.json",
}
HOOKED = [agent for agent in EVERY if AGENTS[agent].has_hooks]
LATER = 1e12


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A user with all agents, before we come."""
    for folder in (".claude", ".codex", ".gemini", ".qwen", ".copilot/hooks", ".config/opencode", ".cursor"):
        (tmp_path / "ada" / folder).mkdir(parents=True)
    return tmp_path / "ada"


def user(home: Path) -> InstallTarget:
    return InstallTarget("/opt/clan/bin/mesh", {"HOME": str(home)})


def one(home: Path, agent: str, fired: str = "") -> Installation:
    return next(state for state in check(user(home), fired) if state.agent == agent)


def said(state: Installation, now: float = LATER) -> tuple[str, str]:
    complaint = state.complaint(now)
    return (complaint.sort, complaint.next_step) if complaint else ("", "")


def test_agents_are_found_by_their_folders(home: Path, tmp_path: Path) -> None:
    """Also where their own variables say; none on a machine without any."""
    assert found({"HOME": str(home)}) == list(EVERY)
    assert found({"HOME": str(tmp_path)}) == []
    (tmp_path / "codex").mkdir()
    assert found({"HOME": str(tmp_path), "CODEX_HOME": str(tmp_path / "codex")}) == ["codex"]
    assert found({"HOME": str(tmp_path), "GEMINI_CLI_HOME": str(home)}) == ["gemini"]
    assert check(InstallTarget("/opt/clan/bin/mesh", {"HOME": str(tmp_path)})) == []


@pytest.mark.parametrize("agent", EVERY)
def test_from_absent_to_installed(home: Path, agent: str) -> None:
    """With rules or without; and the command that a complaint names is the one that mends it."""
    assert one(home, agent).kind == "absent"
    assert said(one(home, agent)) == ("hooks not installed", f"mesh install {agent}")
    install([agent], user(home))
    state = one(home, agent)
    assert (state.kind, state.files, state.home, state.is_elsewhere) == ("installed", (), "", False)
    install([agent], replace(user(home), allow=True))
    assert one(home, agent).kind == "installed"
    others = {state.kind for state in check(user(home)) if state.agent != agent}
    assert others == {"absent"}


@pytest.mark.parametrize("agent", EVERY)
def test_what_differs_from_what_we_would_write_is_outdated(home: Path, agent: str) -> None:
    """Another program, a hook too few, a server or a skill that is gone: each is named by its file."""
    install([agent], replace(user(home), mesh="/old/mesh"))
    assert one(home, agent).kind == "outdated"
    assert said(one(home, agent)) == ("hooks outdated", f"mesh install {agent}")
    install([agent], user(home))
    file = home / FIRST[agent]
    text = file.read_text()
    settings = json.loads(text)
    (outer,) = {"hooks", "mcp", "mcpServers"} & settings.keys() - ({"mcpServers"} if "hooks" in settings else set())
    del settings[outer][next(iter(settings[outer]))]
    file.write_text(json.dumps(settings))
    assert (one(home, agent).kind, one(home, agent).files) == ("outdated", (str(file),))
    file.write_text(text)
    assert one(home, agent).kind == "installed"
    (skill,) = home.rglob("SKILL.md")
    skill.write_text(skill.read_text() + "more\n")
    assert one(home, agent).files == (str(skill),)
    skill.unlink()
    assert one(home, agent).files == (str(skill),)


def test_a_skill_of_a_persons_own_is_not_outdated(home: Path) -> None:
    """Who took the mark out meant it."""
    install(["gemini"], user(home))
    skill = home / ".gemini/skills/clan-mesh/SKILL.md"
    skill.write_text("mine\n")
    assert one(home, "gemini").kind == "installed"


@pytest.mark.parametrize("agent", EVERY)
def test_a_broken_file_is_said_with_its_reason(home: Path, agent: str) -> None:
    """Whether or not we were in it."""
    file = home / FIRST[agent]
    wrong = {"opencode": b'{"mcp": []}', "cursor": b'{"mcpServers": []}', "copilot": b"[]"}.get(agent, b'{"hooks": []}')
    for data in (b'{"hooks": {', wrong, b'{"a": "\xff"}'):
        file.write_bytes(data)
        state = one(home, agent)
        assert (state.kind, state.files) == ("broken", (str(file),))
        assert state.why
        assert said(state) == ("settings broken", f"mend it, then: mesh install {agent}")
    file.unlink()
    file.mkdir()
    assert one(home, agent).why == "it is no plain file"


@pytest.mark.parametrize("agent", EVERY)
def test_another_homes_hooks_are_not_outdated(home: Path, agent: str) -> None:
    """Of several homes on a machine one is named in an agent's hooks; the others leave it at that."""
    other = replace(user(home), home="/srv/other team")
    install([agent], other)
    state = one(home, agent)
    assert (state.kind, state.home, state.is_elsewhere) == ("installed", "/srv/other team", True)
    assert said(state) == ("", "")
    (skill,) = home.rglob("SKILL.md")
    skill.unlink()
    assert said(one(home, agent)) == ("hooks outdated", f"mesh install {agent} --home '/srv/other team'")
    install([agent], other)
    (mine,) = [state for state in check(other) if state.agent == agent]
    assert (mine.kind, mine.is_elsewhere) == ("installed", False)


@pytest.mark.parametrize("agent", HOOKED)
def test_hooks_that_never_ran_are_said_after_a_while(home: Path, tmp_path: Path, agent: str) -> None:
    """A hook leaves a file; its time is the last time. Right after installing nobody has had the chance."""
    install([agent], user(home))
    state = one(home, agent, str(tmp_path / "hooks"))
    assert state.fired is None
    assert state.since is not None
    assert said(state, now=state.since + 5) == ("", "")
    sort, step = said(state)
    assert sort == "hooks never fired"
    assert ("/hooks" in step) is (agent == "codex")
    (tmp_path / "hooks").mkdir()
    (tmp_path / "hooks" / agent).touch()
    os.utime(tmp_path / "hooks" / agent, (77, 77))
    assert one(home, agent, str(tmp_path / "hooks")).fired == 77
    assert said(one(home, agent, str(tmp_path / "hooks"))) == ("", "")


def test_the_plugin_counts_as_installed_and_both_as_twice(home: Path) -> None:
    """Its tools would be there twice."""
    settings = home / ".claude/settings.json"
    settings.write_text('{"enabledPlugins": {"clan-mesh@somewhere": false, "other@x": true}}')
    assert one(home, "claude-code").kind == "absent"
    settings.write_text('{"enabledPlugins": {"clan-mesh@somewhere": true}} // mine')
    assert (one(home, "claude-code").kind, one(home, "claude-code").bundle) == ("installed", True)
    install(["claude-code"], user(home))
    assert one(home, "claude-code").kind == "twice"
    assert said(one(home, "claude-code"))[1].startswith("mesh uninstall claude-code")
    extension = home / ".gemini/extensions/clan-mesh/gemini-extension.json"
    extension.parent.mkdir(parents=True)
    extension.write_text("{}")
    assert one(home, "gemini").kind == "installed"
    install(["gemini"], user(home))
    assert one(home, "gemini").kind == "twice"


def test_looking_changes_nothing(home: Path) -> None:
    """Neither a file nor its time."""
    install(EVERY, user(home))
    before = {path: path.stat().st_mtime_ns for path in home.rglob("*")}
    check(user(home), str(home / "hooks"))
    assert {path: path.stat().st_mtime_ns for path in home.rglob("*")} == before
