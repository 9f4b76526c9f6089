"""Codex CLI: which of its files have a part of ours, and what stands there. Edits nothing itself."""

import json
import os
from typing import Any

from clan_learnings.agents import entries, toml_table
from clan_learnings.agents.own_file import own_file, skill_file
from clan_learnings.agents.part import Part
from clan_learnings.agents.skill import CALLS, MARK
from clan_learnings.agents.target import Target

NAME = "codex"
NOTE = "Codex skips new hooks until you trust them: open Codex, type /hooks, and trust those of mesh once."

_SECONDS = 10
_TABLE = ("mcp_servers", entries.SERVER)


def parts(target: Target) -> list[Part]:
    """Hooks, the registration of the MCP server, the skill; and rules, if it may call us without asking."""
    base = target.project or target.user_home
    folder = os.path.join(base, ".codex")
    if not target.project:
        folder = target.environ.get("CODEX_HOME") or folder
    made = [
        Part(
            os.path.join(folder, "hooks.json"),
            lambda text: entries.put_hooks(text, hooks(target)),
            entries.take_hooks,
            entries.is_empty,
            base,
        ),
        Part(
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


def hooks(target: Target) -> dict[str, dict[str, Any]]:
    """As in Claude Code, but nothing runs beside the agent here: it waits for each of them."""
    return {
        event: {"type": "command", "command": target.hook(event, NAME), "timeout": _SECONDS}
        for event in ("SessionStart", "PreCompact", "Stop")
    }


def rules(target: Target) -> str:
    """Everyday calls run without asking, and outside the sandbox, in which they could not write to the home."""
    calls = json.dumps(list(CALLS))
    programs = dict.fromkeys((target.mesh, "mesh"))
    written = [
        f'prefix_rule(\n    pattern = [{json.dumps(program)}, {calls}],\n    decision = "allow",\n'
        '    justification = "reads and writes the memory that agents share",\n)\n'
        for program in programs
    ]
    return f"# {MARK}\n\n" + "\n".join(written)


def _put_server(text: str, target: Target) -> str:
    present = toml_table.find(text, _TABLE)
    if present is not None and not entries.is_our_server(present):
        raise entries.CannotEdit(f"it has another server named {entries.SERVER}")
    values: dict[str, Any] = {"command": target.mesh, "args": target.server()}
    if target.allow:
        values["default_tools_approval_mode"] = "approve"
    return toml_table.put(text, _TABLE, values)


def _take_server(text: str) -> str:
    return toml_table.take(text, _TABLE) if entries.is_our_server(toml_table.find(text, _TABLE)) else text
