"""Gemini CLI: which of its files we add to, and what we add. Edits nothing itself."""

import json
import os
import shlex
from typing import Any

from clan_learnings.agents import settings_entries
from clan_learnings.agents.agent_files import FilePart, InstallTarget, own_file, skill_file
from clan_learnings.agents.skill_text import CALLS, MARK

NAME = "gemini"

_MILLISECONDS = {
    "SessionStart": 10_000,
    "BeforeAgent": 5_000,
    "AfterTool": 5_000,
    "AfterAgent": 10_000,
    "PreCompress": 10_000,
}
MATCHERS = {
    "AfterTool": "run_shell_command"
}  # as with Codex: the agent waits, and reading a file needs no word of ours


def folder_of(target: InstallTarget) -> str:
    """Where its settings are."""
    return os.path.join(target.project or target.environ.get("GEMINI_CLI_HOME") or target.user_home, ".gemini")


def has_bundle(target: InstallTarget) -> bool:
    """Whether our extension is there: it does what an installation does."""
    return os.path.exists(
        os.path.join(folder_of(target), "extensions", settings_entries.SERVER, "gemini-extension.json")
    )


def parts(target: InstallTarget) -> list[FilePart]:
    """Settings with hooks and the MCP server, the skill; and a policy, if it may call us without asking."""
    folder = folder_of(target)
    base = os.path.dirname(folder)
    made = [
        FilePart(
            os.path.join(folder, "settings.json"),
            lambda text: _put(text, target),
            lambda text: settings_entries.take_server(settings_entries.take_hooks(text)),
            settings_entries.is_empty,
            base,
        ),
        skill_file(os.path.join(folder, "skills"), target, base),
    ]
    policy_file = os.path.join(folder, "policies", "clan-mesh.toml")
    if target.allow or os.path.exists(policy_file):
        made.append(own_file(policy_file, policy(target), base))
    return made


def hooks(target: InstallTarget) -> dict[str, dict[str, Any]]:
    """The same moments under Gemini's names, with its milliseconds. Subagents have none, and nothing runs beside the agent."""
    return {
        event: {
            "type": "command",
            "name": settings_entries.SERVER,
            "command": target.hook(event, NAME),
            "timeout": milliseconds,
        }
        for event, milliseconds in _MILLISECONDS.items()
    }


def policy(target: InstallTarget) -> str:
    """The tools of our server and everyday calls of the program run without asking."""
    programs = dict.fromkeys((shlex.quote(target.mesh), "mesh"))
    prefixes = [f"{program} {call}" for program in programs for call in CALLS]
    return (
        f'# {MARK}\n\n[[rule]]\nmcpName = "{settings_entries.SERVER}"\ntoolName = "*"\ndecision = "allow"\npriority = 100\n\n'
        f'[[rule]]\ntoolName = "run_shell_command"\ncommandPrefix = {json.dumps(prefixes)}\n'
        'decision = "allow"\npriority = 100\n'
    )


def _put(text: str, target: InstallTarget) -> str:
    text = settings_entries.put_hooks(text, hooks(target), MATCHERS)
    return settings_entries.put_server(text, {"command": target.mesh, "args": target.server()})
