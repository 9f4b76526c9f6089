"""GitHub Copilot CLI: which of its files we add to, and what we add. Edits nothing itself."""

import json
import os
from typing import Any

from clan_learnings.agents import settings_entries
from clan_learnings.agents.agent_files import FilePart, InstallTarget, skill_file

NAME = "copilot"

# Its own name of an event, ours, and the seconds that it may take.
_EVENTS = (
    ("sessionStart", "SessionStart", 10),
    ("userPromptSubmitted", "UserPromptSubmit", 5),
    ("postToolUse", "PostToolUse", 5),
    ("agentStop", "Stop", 10),
    ("preCompact", "PreCompact", 10),
)


def folder_of(target: InstallTarget) -> str:
    """Where its settings are; in a project, GitHub's."""
    if target.project:
        return os.path.join(target.project, ".github")
    return target.environ.get("COPILOT_HOME") or os.path.join(target.user_home, ".copilot")


def parts(target: InstallTarget) -> list[FilePart]:
    """A file of hooks of our own, as it reads every file of that folder; the skill; and for the user the MCP server."""
    folder = folder_of(target)
    base = target.project or os.path.dirname(folder)
    text = hooks(target)
    made = [
        FilePart(
            os.path.join(folder, "hooks", "clan-mesh.json"),
            lambda present: _put(present, text),
            lambda present: "" if _is_ours(present) else present,
            lambda left: not left.strip(),
            base,
        ),
        skill_file(os.path.join(folder, "skills"), target, base),
    ]
    if not target.project:
        server: dict[str, Any] = {"type": "local", "command": target.mesh, "args": target.server(), "tools": ["*"]}
        made.append(
            FilePart(
                os.path.join(folder, "mcp-config.json"),
                lambda present: settings_entries.put_server(present, server),
                settings_entries.take_server,
                settings_entries.is_empty,
                base,
            )
        )
    return made


def hooks(target: InstallTarget) -> str:
    """The file with our hooks. It says only what was asked for, so that its form is known."""
    events = {
        event: [{"type": "command", "bash": target.hook(ours, NAME), "timeoutSec": seconds}]
        for event, ours, seconds in _EVENTS
    }
    return json.dumps({"version": 1, "hooks": events}, indent=2) + "\n"


def _put(present: str, text: str) -> str:
    if not present.strip() or _is_ours(present):
        return text
    settings_entries.parsed(present)
    raise settings_entries.CannotEdit("it has hooks that are not ours")


def _is_ours(text: str) -> bool:
    """Whether every hook of a file is ours."""
    try:
        found = settings_entries.parsed(text).value.get("hooks")
    except settings_entries.CannotEdit:
        return False
    groups = list(found.values()) if isinstance(found, dict) else []
    handlers = [each for group in groups if isinstance(group, list) for each in group]
    return bool(handlers) and all(
        isinstance(each, dict) and settings_entries.is_our_command(each.get("bash")) for each in handlers
    )
