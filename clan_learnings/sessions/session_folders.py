"""Where each coding agent keeps its sessions, and which files there are. Looks at names and owners only, inside databases alone.

Symbolic links below a place are not followed, and only regular files of our own are found: what an agent's folder names is
nobody's order to read something else. The folder of an agent itself may be a link, as people keep those elsewhere.
"""

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from clan_learnings.sessions.agent_database_table import DatabaseRefused, is_database, looks_of_sessions
from mesh.core.errors import UsageError

_DEPTH = 8
_ENTRIES = 2_000_000  # looked at in one place: more is no folder of sessions


class SessionFolder(NamedTuple):
    """A folder of an agent, and the names of session files below it."""

    agent: str  # as in `flavour:id` of records
    folder: str
    names: tuple[str, ...]  # of files, as patterns
    within: str = ""  # a pattern that the path below the folder must fit; empty: any
    is_database: bool = False  # the files, right in the folder, are databases of many sessions


class SessionFile(NamedTuple):
    """A file that may be a transcript, or a session in a database, with its identity, size and time."""

    path: str
    device: int
    inode: int
    size: int
    mtime_ns: int
    agent: str = ""  # whose place it was found in


def places(environ: Mapping[str, str]) -> list[SessionFolder]:
    """The session folders of all agents, whether or not they exist."""
    home = environ.get("HOME") or os.path.expanduser("~")
    data = environ.get("XDG_DATA_HOME") or os.path.join(home, ".local", "share")
    config = environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    claude = environ.get("CLAUDE_CONFIG_DIR") or os.path.join(home, ".claude")
    codex = environ.get("CODEX_HOME") or os.path.join(home, ".codex")
    gemini = os.path.join(environ.get("GEMINI_CLI_HOME") or home, ".gemini")
    grok = environ.get("GROK_HOME") or os.path.join(home, ".grok")
    hermes = environ.get("HERMES_HOME") or os.path.join(home, ".hermes")
    openclaw = environ.get("OPENCLAW_STATE_DIR") or os.path.join(home, ".openclaw")
    qwen = environ.get("QWEN_HOME") or os.path.join(home, ".qwen")
    copilot = environ.get("COPILOT_HOME") or os.path.join(home, ".copilot")
    pi = environ.get("PI_CODING_AGENT_DIR") or os.path.join(home, ".pi", "agent")
    lines = ("*.jsonl", "*.jsonl.zst")
    return [
        SessionFolder("claude-code", os.path.join(claude, "projects"), ("*.jsonl",)),
        SessionFolder("claude-code", os.path.join(config, "claude", "projects"), ("*.jsonl",)),
        SessionFolder("codex", os.path.join(codex, "sessions"), lines),
        SessionFolder("codex", os.path.join(codex, "archived_sessions"), lines),
        SessionFolder("gemini", os.path.join(gemini, "tmp"), ("*.json", "*.jsonl"), "*/chats/*"),
        SessionFolder("qwen", os.path.join(qwen, "projects"), ("*.jsonl",), "*/chats/*"),
        SessionFolder("copilot", os.path.join(copilot, "session-state"), ("events.jsonl",)),
        SessionFolder("grok", os.path.join(grok, "sessions"), ("updates.jsonl", "chat_history.jsonl")),
        SessionFolder("hermes", os.path.join(hermes, "sessions"), ("*.jsonl", "session_*.json")),
        SessionFolder("openclaw", os.path.join(openclaw, "agents"), ("*.jsonl",), "*/sessions/*"),
        SessionFolder("pi", os.path.join(pi, "sessions"), ("*.jsonl",)),
        SessionFolder("opencode", os.path.join(data, "opencode", "storage", "session"), ("*.json",)),
        SessionFolder("opencode", os.path.join(data, "opencode"), ("opencode*.db",), is_database=True),
        SessionFolder("hermes", hermes, ("state.db",), is_database=True),
    ]


AGENTS = tuple(dict.fromkeys(place.agent for place in places({"HOME": "/"})))


def sessions_in(place: SessionFolder) -> Iterator[SessionFile]:
    """The files of a place that are called like sessions, in the order of their names."""
    root = os.path.realpath(place.folder)
    if place.is_database:
        names = sorted(os.listdir(root)) if os.path.isdir(root) else []
        for name in names:
            database = look_at(os.path.join(root, name), is_own_only=True)
            if database is not None and any(fnmatchcase(name, pattern) for pattern in place.names):
                for found in _in_database(database):
                    yield found._replace(agent=place.agent)
        return
    for found in files_below(root, is_own_only=True):
        below = os.path.relpath(found.path, root)
        if any(fnmatchcase(os.path.basename(found.path), name) for name in place.names) and (
            not place.within or fnmatchcase(below, place.within)
        ):
            yield found._replace(agent=place.agent)


def _in_database(database: SessionFile) -> Iterator[SessionFile]:
    """The sessions of a database; itself if it cannot be read: whoever reads it then says why."""
    try:
        for path, look in looks_of_sessions(database.path):
            yield SessionFile(path, *look)
    except DatabaseRefused:
        yield database


def files_below(root: str, *, is_own_only: bool) -> Iterator[SessionFile]:
    """Every regular file below a folder, without following links."""
    entries = 0
    folders = [(root, 0)]
    while folders:
        folder, depth = folders.pop()
        try:
            with os.scandir(folder) as listing:
                inside = sorted(listing, key=lambda entry: entry.name)
        except OSError:
            continue
        deeper = []
        for entry in inside:
            entries += 1
            if entries > _ENTRIES:
                return
            try:
                if entry.is_dir(follow_symlinks=False):
                    if depth < _DEPTH:
                        deeper.append((entry.path, depth + 1))
                    continue
                seen = entry.stat(follow_symlinks=False)
            except OSError:
                continue
            if stat.S_ISREG(seen.st_mode) and (not is_own_only or seen.st_uid == os.getuid()):
                yield SessionFile(entry.path, seen.st_dev, seen.st_ino, seen.st_size, seen.st_mtime_ns)
        folders += reversed(deeper)


def look_at(path: str, *, is_own_only: bool) -> SessionFile | None:
    """One file; None if it must not be read."""
    try:
        seen = os.lstat(path)
    except (OSError, ValueError):
        return None
    if not stat.S_ISREG(seen.st_mode) or (is_own_only and seen.st_uid != os.getuid()):
        return None
    return SessionFile(path, seen.st_dev, seen.st_ino, seen.st_size, seen.st_mtime_ns)


def discover(paths: Sequence[str], agent: str, since_ms: int, environ: Mapping[str, str]) -> Iterator[SessionFile]:
    """Files to look at, each once. A path that was given may be anybody's; what is found by itself is our own only."""
    seen: set[tuple[int, int]] = set()
    for found in _given(paths) if paths else _kept(agent, environ):
        place = (found.device, found.inode)
        if found.mtime_ns >= since_ms * 1_000_000 and place not in seen:
            seen.add(place)
            yield found


def refuse_unknown(agent: str) -> None:
    """Raise if there is no such agent."""
    if agent and agent not in AGENTS:
        raise UsageError(f"there is no agent {agent!r} here", f"one of these: {', '.join(AGENTS)}")


def refuse_missing(paths: Sequence[str]) -> None:
    """Raise if a path leads nowhere, or to what is neither a file nor a folder."""
    for path in paths:
        if not os.path.exists(path):
            raise UsageError(f"{path} is not there", f"look: ls -la {os.path.dirname(os.path.abspath(path))}")
        if not os.path.isfile(path) and not os.path.isdir(path):
            raise UsageError(f"{path} is neither a file nor a folder", "name a transcript, or a folder of them")


def _given(paths: Sequence[str]) -> Iterator[SessionFile]:
    for path in paths:
        real = os.path.realpath(path)
        if os.path.isdir(real):
            yield from files_below(real, is_own_only=False)
        else:
            found = look_at(real, is_own_only=False)
            if found is not None:
                yield from _in_database(found) if is_database(real) else (found,)


def _kept(agent: str, environ: Mapping[str, str]) -> Iterator[SessionFile]:
    for place in places(environ):
        if not agent or place.agent == agent:
            yield from sessions_in(place)
