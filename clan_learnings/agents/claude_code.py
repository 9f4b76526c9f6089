"""Claude Code: which of its files have a part of ours, and what stands there. Edits nothing itself."""

import os
import shlex
from typing import Any

from clan_learnings.agents import entries
from clan_learnings.agents.own_file import skill_file
from clan_learnings.agents.part import Part
from clan_learnings.agents.skill import CALLS
from clan_learnings.agents.target import Target

NAME = "claude-code"

_SECONDS = 10  # fail open, well under a second; this is for a machine that is out of breath
_ALLOW = ("permissions", "allow")


def parts(target: Target) -> list[Part]:
    """Settings with hooks and permissions, the registration of the MCP server, the skill."""
    if target.project:
        base = target.project
        folder = os.path.join(base, ".claude")
        servers = os.path.join(base, ".mcp.json")
    else:
        given = target.environ.get("CLAUDE_CONFIG_DIR")
        base = target.user_home
        folder = given or os.path.join(base, ".claude")
        servers = os.path.join(given or base, ".claude.json")
    return [
        Part(
            os.path.join(folder, "settings.json"),
            lambda text: _put(text, target),
            lambda text: entries.take_items(entries.take_hooks(text), _ALLOW, _is_our_rule),
            entries.is_empty,
            base,
        ),
        Part(
            servers,
            lambda text: entries.put_server(text, {"command": target.mesh, "args": target.server()}),
            entries.take_server,
            entries.is_empty,
            base,
        ),
        skill_file(os.path.join(folder, "skills"), target, base),
    ]


def hooks(target: Target) -> dict[str, dict[str, Any]]:
    """A session's start gets context; what it said is kept before it is shortened, and after each reply, which does not wait.

    Nothing hangs on SessionEnd: its hooks have 1.5 s together, and are killed after that.
    """
    return {
        "SessionStart": {"type": "command", "command": target.hook("SessionStart"), "timeout": _SECONDS},
        "PreCompact": {"type": "command", "command": target.hook("PreCompact"), "timeout": _SECONDS},
        "Stop": {"type": "command", "command": target.hook("Stop"), "timeout": _SECONDS, "async": True},
    }


def rules(target: Target) -> list[str]:
    """What may be called without asking: the tools of our server, and everyday calls of the program."""
    programs = dict.fromkeys((shlex.quote(target.mesh), "mesh"))
    return [f"mcp__{entries.SERVER}", *(f"Bash({program} {call}:*)" for program in programs for call in CALLS)]


def _put(text: str, target: Target) -> str:
    text = entries.put_hooks(text, hooks(target))
    return entries.put_items(text, _ALLOW, rules(target)) if target.allow else text


def _is_our_rule(rule: object) -> bool:
    if rule == f"mcp__{entries.SERVER}":
        return True
    if not isinstance(rule, str) or not rule.startswith("Bash(") or not rule.endswith(":*)"):
        return False
    program, _, call = rule[len("Bash(") : -len(":*)")].rpartition(" ")
    return os.path.basename(program.strip("'")) == "mesh" and call in CALLS
