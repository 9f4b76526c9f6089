"""Codex CLI: which of its files we add to, and what we add. Edits nothing itself."""

import json
import os
from typing import Any

from clan_learnings.agents import settings_entries, toml_table
from clan_learnings.agents.agent_files import FilePart, InstallTarget, own_file, skill_file
from clan_learnings.agents.skill_text import CALLS, MARK

NAME = "codex"
NOTE = "Codex skips new hooks until you trust them: open Codex, type /hooks, and trust those of mesh once."

# Both go into the hash that Codex trusts: whoever changes one makes every person trust again.
_SECONDS = {
    "SessionStart": 10,
    "UserPromptSubmit": 5,
    "PostToolUse": 5,
    "SubagentStart": 5,
    "Stop": 10,
    "SubagentStop": 10,
    "PreCompact": 10,
}
MATCHERS = {"PostToolUse": "Bash"}  # what fails with words worth a look is a build or a test; the agent waits each time
_TABLE = ("mcp_servers", settings_entries.SERVER)


def folder_of(target: InstallTarget) -> str:
    """Where its settings are."""
    given = "" if target.project else target.environ.get("CODEX_HOME")
    return given or os.path.join(target.project or target.user_home, ".codex")


def parts(target: InstallTarget) -> list[FilePart]:
    """Hooks, the registration of the MCP server, the skill; and rules, if it may call us without asking."""
    base, folder = target.project or target.user_home, folder_of(target)
    made = [
        FilePart(
            os.path.join(folder, "hooks.json"),
            lambda text: settings_entries.put_hooks(text, hooks(target), MATCHERS),
            settings_entries.take_hooks,
            settings_entries.is_empty,
            base,
        ),
        FilePart(
            os.path.join(folder, "config.toml"),
            lambda text: _put_server(text, target),
            _take_server,
            lambda text: not text.strip(),
            base,
        ),
        skill_file(os.path.join(base, ".agents", "skills"), target, base),
    ]
    rules_file = os.path.join(folder, "rules", "clan-mesh.rules")
    if target.allow or os.path.exists(rules_file):
        made.append(own_file(rules_file, rules(target), base))
    return made


def hooks(target: InstallTarget) -> dict[str, dict[str, Any]]:
    """As in Claude Code, but the agent waits for each of them, and calls that fail have no event of their own.

    Not every version runs a hook beside the agent, and those that do not skip it; so none asks for it.
    """
    return {
        event: {"type": "command", "command": target.hook(event, NAME), "timeout": seconds}
        for event, seconds in _SECONDS.items()
    }


def rules(target: InstallTarget) -> str:
    """Everyday calls run without asking, and outside the sandbox, in which they could not write to the home."""
    members: dict[str, list[str]] = {}  # of a family: those that may be called; of the empty name: calls of one word
    for call in CALLS:
        family, _, member = call.rpartition(" ")
        members.setdefault(family, []).append(member)
    written = [
        f'prefix_rule(\n    pattern = {json.dumps([program, *family.split(), names])},\n    decision = "allow",\n'
        '    justification = "reads and writes the memory that agents share",\n)\n'
        for program in dict.fromkeys((target.mesh, "mesh"))
        for family, names in members.items()
    ]
    return f"# {MARK}\n\n" + "\n".join(written)


def _put_server(text: str, target: InstallTarget) -> str:
    present = toml_table.find(text, _TABLE)
    if present is not None and not settings_entries.is_our_server(present):
        raise settings_entries.CannotEdit(f"it has another server named {settings_entries.SERVER}")
    values: dict[str, Any] = {"command": target.mesh, "args": target.server()}
    if present is not None:
        values = settings_entries.with_binding(values, present)
    if target.allow:
        values["default_tools_approval_mode"] = "approve"
    return toml_table.put(text, _TABLE, values)


def _take_server(text: str) -> str:
    return toml_table.take(text, _TABLE) if settings_entries.is_our_server(toml_table.find(text, _TABLE)) else text
