"""Qwen Code: which of its files we add to, and what we add. Edits nothing itself."""

import os
from typing import Any

from clan_learnings.agents import settings_entries
from clan_learnings.agents.agent_files import FilePart, InstallTarget, skill_file

NAME = "qwen"

_MILLISECONDS = {
    "SessionStart": 10_000,
    "UserPromptSubmit": 5_000,
    "PostToolUse": 5_000,
    "SubagentStart": 5_000,
    "Stop": 10_000,
    "SubagentStop": 10_000,
    "PreCompact": 10_000,
    "SessionEnd": 5_000,
}
MATCHERS = {"PostToolUse": "run_shell_command"}  # a command that fails counts as a call that went well


def folder_of(target: InstallTarget) -> str:
    """Where its settings are."""
    given = "" if target.project else target.environ.get("QWEN_HOME")
    return given or os.path.join(target.project or target.user_home, ".qwen")


def parts(target: InstallTarget) -> list[FilePart]:
    """Settings with hooks and the MCP server, the skill."""
    folder = folder_of(target)
    base = os.path.dirname(folder)
    return [
        FilePart(
            os.path.join(folder, "settings.json"),
            lambda text: _put(text, target),
            lambda text: settings_entries.take_server(settings_entries.take_hooks(text)),
            settings_entries.is_empty,
            base,
        ),
        skill_file(os.path.join(folder, "skills"), target, base),
    ]


def hooks(target: InstallTarget) -> dict[str, dict[str, Any]]:
    """The events of Claude Code, with milliseconds. The agent waits for each of them."""
    return {
        event: {
            "type": "command",
            "name": settings_entries.SERVER,
            "command": target.hook(event, NAME),
            "timeout": milliseconds,
        }
        for event, milliseconds in _MILLISECONDS.items()
    }


def _put(text: str, target: InstallTarget) -> str:
    text = settings_entries.put_hooks(text, hooks(target), MATCHERS)
    return settings_entries.put_server(text, {"command": target.mesh, "args": target.server()})
