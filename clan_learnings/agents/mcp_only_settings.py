"""OpenCode and Cursor: the MCP server and the skill. They have no hooks of ours, so their agents fetch what they need themselves.

OpenCode's hooks are programs in JavaScript that run inside it; those of Cursor cannot add to a prompt.
"""

import os

from clan_learnings.agents import settings_entries
from clan_learnings.agents.agent_files import FilePart, InstallTarget, skill_file

OPENCODE, CURSOR = "opencode", "cursor"
_OPENCODE_SERVER = ("mcp", settings_entries.SERVER)


def opencode_folder(target: InstallTarget) -> str:
    """Where OpenCode's settings are."""
    config = target.environ.get("XDG_CONFIG_HOME") or os.path.join(target.user_home, ".config")
    return target.project or os.path.join(config, "opencode")


def opencode_parts(target: InstallTarget) -> list[FilePart]:
    """Its settings, with or without comments, and the skill."""
    folder = opencode_folder(target)
    base = target.project or target.environ.get("XDG_CONFIG_HOME") or target.user_home
    name = "opencode.jsonc" if os.path.exists(os.path.join(folder, "opencode.jsonc")) else "opencode.json"
    return [
        FilePart(
            os.path.join(folder, name),
            lambda text: _put_in_opencode(text, target),
            _take_from_opencode,
            settings_entries.is_empty,
            base,
        ),
        skill_file(os.path.join(folder, ".opencode" if target.project else "", "skills"), target, base),
    ]


def cursor_folder(target: InstallTarget) -> str:
    """Where Cursor's settings are."""
    return os.path.join(target.project or target.user_home, ".cursor")


def cursor_parts(target: InstallTarget) -> list[FilePart]:
    """Its list of MCP servers, and the skill."""
    folder = cursor_folder(target)
    base = os.path.dirname(folder)
    return [
        FilePart(
            os.path.join(folder, "mcp.json"),
            lambda text: settings_entries.put_server(text, {"command": target.mesh, "args": target.server()}),
            settings_entries.take_server,
            settings_entries.is_empty,
            base,
        ),
        skill_file(os.path.join(folder, "skills"), target, base),
    ]


def home_of(text: str) -> str | None:
    """The home that our server names in either's settings, empty for the default one; None if it is not there."""
    opencode = settings_entries.value_at(text, _OPENCODE_SERVER)
    if _is_ours(opencode):
        return settings_entries.home_in(opencode["command"])
    cursor = settings_entries.value_at(text, ("mcpServers", settings_entries.SERVER))
    return settings_entries.home_in(cursor["args"]) if settings_entries.is_our_server(cursor) else None


def _put_in_opencode(text: str, target: InstallTarget) -> str:
    """Program and arguments are one list there."""
    present = settings_entries.value_at(text, _OPENCODE_SERVER)
    wanted = [target.mesh, *target.server()]
    if present is None:
        server = {"type": "local", "command": wanted, "enabled": True}
        return settings_entries.put(text, _OPENCODE_SERVER, server)
    if not _is_ours(present):
        raise settings_entries.CannotEdit(f"it has another server named {settings_entries.SERVER}")
    return settings_entries.put_value(text, (*_OPENCODE_SERVER, "command"), wanted)


def _take_from_opencode(text: str) -> str:
    present = settings_entries.value_at(text, _OPENCODE_SERVER)
    return settings_entries.take(text, _OPENCODE_SERVER) if _is_ours(present) else text


def _is_ours(server: object) -> bool:
    command = server.get("command") if isinstance(server, dict) else None
    if not isinstance(command, list) or not command:
        return False
    return settings_entries.is_our_server({"command": command[0], "args": command[1:]})
