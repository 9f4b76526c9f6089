"""Claude Code: which of its files we add to, and what we add. Edits nothing itself."""

import os
import shlex
from typing import Any

from clan_learnings.agents import agent_files, settings_entries
from clan_learnings.agents.agent_files import FilePart, InstallTarget, skill_file
from clan_learnings.agents.skill_text import CALLS

NAME = "claude-code"

# What a machine that is out of breath may take; a hook ends well under a second. Nobody should wait long after each prompt.
_SECONDS = 10
_PROMPT_SECONDS = 5
MATCHERS = {"PostToolUse": "Bash"}  # only commands fail, and then go well, in a way that teaches something
_BUNDLE = "clan-mesh@"  # our plugin, of whichever marketplace
_ALLOW = ("permissions", "allow")


def folder_of(target: InstallTarget) -> str:
    """Where its settings are."""
    given = "" if target.project else target.environ.get("CLAUDE_CONFIG_DIR")
    return given or os.path.join(target.project or target.user_home, ".claude")


def parts(target: InstallTarget) -> list[FilePart]:
    """Settings with hooks and permissions, the registration of the MCP server, the skill."""
    folder = folder_of(target)
    base = target.project or target.user_home
    if target.project:
        servers = os.path.join(base, ".mcp.json")
    else:
        servers = os.path.join(target.environ.get("CLAUDE_CONFIG_DIR") or base, ".claude.json")
    return [
        FilePart(
            os.path.join(folder, "settings.json"),
            lambda text: _put(text, target),
            lambda text: settings_entries.take_items(settings_entries.take_hooks(text), _ALLOW, _is_our_rule),
            settings_entries.is_empty,
            base,
        ),
        FilePart(
            servers,
            lambda text: settings_entries.put_server(text, {"command": target.mesh, "args": target.server()}),
            settings_entries.take_server,
            settings_entries.is_empty,
            base,
        ),
        skill_file(os.path.join(folder, "skills"), target, base),
    ]


def hooks(target: InstallTarget) -> dict[str, dict[str, Any]]:
    """Sessions, prompts, failures and subagents get what is known; what was said is kept before it is shortened, and after replies.

    Hooks after a reply run beside the agent: they have nothing to tell it. One that still runs when the agent ends is killed with
    it, as `claude -p` does after its only reply; so SessionEnd leaves the same pointer once more, and that one is waited for.
    Of calls that went well only commands have a hook: one that had failed before may have taught something.
    """
    made: dict[str, dict[str, Any]] = {
        event: {"type": "command", "command": target.hook(event), "timeout": seconds}
        for event, seconds in (
            ("SessionStart", _SECONDS),
            ("UserPromptSubmit", _PROMPT_SECONDS),
            ("PostToolUse", _PROMPT_SECONDS),
            ("PostToolUseFailure", _PROMPT_SECONDS),
            ("SubagentStart", _PROMPT_SECONDS),
            ("Stop", _SECONDS),
            ("SubagentStop", _SECONDS),
            ("PreCompact", _SECONDS),
            ("SessionEnd", _PROMPT_SECONDS),
        )
    }
    for event in ("Stop", "SubagentStop"):
        made[event]["async"] = True
    return made


def rules(target: InstallTarget) -> list[str]:
    """What may be called without asking: the tools of our server, and everyday calls of the program."""
    programs = dict.fromkeys((shlex.quote(target.mesh), "mesh"))
    return [f"mcp__{settings_entries.SERVER}", *(f"Bash({program} {call}:*)" for program in programs for call in CALLS)]


def has_bundle(target: InstallTarget) -> bool:
    """Whether our plugin is switched on: it does what an installation does."""
    try:
        text = agent_files.decoded(agent_files.read(os.path.join(folder_of(target), "settings.json")))
        plugins = settings_entries.parsed(text).value.get("enabledPlugins")
    except (settings_entries.CannotEdit, agent_files.Unusable):
        return False
    return isinstance(plugins, dict) and any(name.startswith(_BUNDLE) and on is True for name, on in plugins.items())


def _put(text: str, target: InstallTarget) -> str:
    text = settings_entries.put_hooks(text, hooks(target), MATCHERS)
    if not target.allow:
        return text
    wanted = rules(target)
    text = settings_entries.take_items(
        text, _ALLOW, lambda rule: _is_our_rule(rule) and rule not in wanted
    )  # the program moved
    return settings_entries.put_items(text, _ALLOW, wanted)


def _is_our_rule(rule: object) -> bool:
    if rule == f"mcp__{settings_entries.SERVER}":
        return True
    if not isinstance(rule, str) or not rule.startswith("Bash(") or not rule.endswith(":*)"):
        return False
    line = rule[len("Bash(") : -len(":*)")]
    programs = (line.removesuffix(f" {call}") for call in CALLS if line.endswith(f" {call}"))
    return any(os.path.basename(program.strip("'")) == "mesh" for program in programs)
