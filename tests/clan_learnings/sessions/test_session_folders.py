"""Where agents keep sessions: which files are found, and which are not."""

import os
from pathlib import Path

import pytest

from clan_learnings.sessions.session_folders import AGENTS, SessionFile, look_at, places, sessions_in


def make(root: Path, *names: str) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}\n")


def found(environ: dict[str, str]) -> dict[str, list[str]]:
    home = os.path.realpath(environ["HOME"])
    seen: dict[str, list[str]] = {}
    for place in places(environ):
        for each in sessions_in(place):
            seen.setdefault(each.agent, []).append(os.path.relpath(each.path, home))
    return seen


SESSIONS = {
    "claude-code": [".claude/projects/-w/s1.jsonl", ".claude/projects/-w/s1/subagents/agent-a.jsonl"],
    "codex": [
        ".codex/sessions/2026/11/16/rollout-1.jsonl",
        ".codex/sessions/2026/11/16/rollout-2.jsonl.zst",
        ".codex/archived_sessions/rollout-3.jsonl",
    ],
    "gemini": [".gemini/tmp/abc/chats/p1/x.jsonl", ".gemini/tmp/abc/chats/session-1.json"],
    "grok": [".grok/sessions/%2Fw/u1/chat_history.jsonl", ".grok/sessions/%2Fw/u1/updates.jsonl"],
    "hermes": [".hermes/sessions/20260413_1_a.jsonl", ".hermes/sessions/session_1.json"],
    "openclaw": [".openclaw/agents/main/sessions/1.jsonl"],
    "pi": [".pi/agent/sessions/--w--/1.jsonl"],
    "qwen": [".qwen/projects/-w/chats/q1.jsonl"],
    "copilot": [".copilot/session-state/p1/events.jsonl"],
    "opencode": [".local/share/opencode/storage/session/p/ses_1.json"],
}
OTHERS = [
    ".claude/projects/-w/s1.meta.json",
    ".claude/history.jsonl",
    ".codex/history.jsonl",
    ".gemini/tmp/abc/logs.json",
    ".grok/sessions/%2Fw/u1/summary.json",
    ".hermes/sessions/sessions.json",
    ".qwen/projects/-w/meta.jsonl",
    ".copilot/session-state/p1/rewind.json",
    ".openclaw/agents/main/agent.jsonl",
]


def test_every_agents_sessions_are_found_and_nothing_else(tmp_path: Path) -> None:
    """Where each of them keeps its own, by default."""
    make(tmp_path, *OTHERS, *(name for names in SESSIONS.values() for name in names))
    assert {agent: sorted(names) for agent, names in found({"HOME": str(tmp_path)}).items()} == {
        agent: sorted(names) for agent, names in SESSIONS.items()
    }
    assert set(AGENTS) == set(SESSIONS)


@pytest.mark.parametrize(
    ("variable", "value", "name", "agent"),
    [
        ("CLAUDE_CONFIG_DIR", "x", "x/projects/p/1.jsonl", "claude-code"),
        ("CODEX_HOME", "x", "x/sessions/2026/1.jsonl", "codex"),
        ("GEMINI_CLI_HOME", "x", "x/.gemini/tmp/p/chats/1.json", "gemini"),
        ("HERMES_HOME", "x", "x/sessions/1.jsonl", "hermes"),
        ("OPENCLAW_STATE_DIR", "x", "x/agents/a/sessions/1.jsonl", "openclaw"),
        ("PI_CODING_AGENT_DIR", "x", "x/sessions/p/1.jsonl", "pi"),
        ("QWEN_HOME", "x", "x/projects/p/chats/1.jsonl", "qwen"),
        ("COPILOT_HOME", "x", "x/session-state/p1/events.jsonl", "copilot"),
        ("XDG_DATA_HOME", "x", "x/opencode/storage/session/p/1.json", "opencode"),
    ],
)
def test_a_variable_moves_an_agents_place(tmp_path: Path, variable: str, value: str, name: str, agent: str) -> None:
    """As the agent itself would look there."""
    make(tmp_path, name)
    assert found({"HOME": str(tmp_path), variable: str(tmp_path / value)}) == {agent: [name]}


def test_links_below_a_place_are_not_followed(tmp_path: Path) -> None:
    """Neither to a folder nor to a file; but the place itself may be a link."""
    make(tmp_path, "elsewhere/secret.jsonl", "real/projects/p/1.jsonl")
    (tmp_path / "real/projects/out").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "real/projects/p/2.jsonl").symlink_to(tmp_path / "elsewhere/secret.jsonl")
    (tmp_path / ".claude").symlink_to(tmp_path / "real")
    assert found({"HOME": str(tmp_path)}) == {"claude-code": ["real/projects/p/1.jsonl"]}


def test_only_regular_files_of_our_own_are_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pipes, folders, links and files of others are none."""
    make(tmp_path, "a.jsonl")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(tmp_path / "a.jsonl")
    assert isinstance(look_at(str(tmp_path / "a.jsonl"), is_own_only=True), SessionFile)
    for name in ("pipe", "link", "", "gone", "a\0b"):
        assert look_at(str(tmp_path / name), is_own_only=True) is None
    monkeypatch.setattr(os, "getuid", lambda: 4242)
    assert look_at(str(tmp_path / "a.jsonl"), is_own_only=True) is None
