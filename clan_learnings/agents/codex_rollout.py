"""How a command ended that Codex ran: its hooks are told only what the command printed. The session's rollout has the exit code.

The line about the command is the newest or nearly so when its hook is called, so only the end of the file is read.
"""

from __future__ import annotations

import os
import stat
from typing import Any

from clan_learnings.agents.hook_formats import CODEX, HookEvent
from clan_learnings.agents.light_json import loads
from clan_learnings.sessions.failed_output import failed_by

_TAIL = 512 * 1024  # a line has what the command printed, of which Codex keeps less than this


def settle(event: HookEvent) -> None:
    """Let an event of Codex say whether its command failed, by the rollout, or else by the form of what was printed."""
    if event.agent != CODEX or not event.printed:
        return
    code = _exit_code(event.transcript, event.call) if event.transcript and event.call else None
    if code is not None:
        event.is_failure = code != 0
    elif not event.is_failure:
        event.is_failure = failed_by(event.printed, event.command) is True
    event.error = event.printed if event.is_failure else ""


def _exit_code(path: str, call: str) -> int | None:
    """What the rollout says of one call; None if it says nothing."""
    needle = call.encode()
    for line in reversed(_tail(path).split(b"\n")):
        if needle not in line or b"exit_code" not in line:
            continue
        try:
            payload = loads(line.decode("utf-8", "replace")).get("payload")
        except (ValueError, RecursionError, AttributeError):
            continue
        code = _code_in(payload, call)
        if code is not None:
            return code
    return None


def _code_in(payload: Any, call: str) -> int | None:
    """Of `item_completed`, which holds the command as an item; or of `exec_command_end`, which is one."""
    if type(payload) is not dict:
        return None
    for found, name in ((payload.get("item"), "id"), (payload, "call_id")):
        if type(found) is dict and found.get(name) == call and type(found.get("exit_code")) is int:
            return int(found["exit_code"])
    return None


def _tail(path: str) -> bytes:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return b""
    try:
        seen = os.fstat(descriptor)
        if not stat.S_ISREG(seen.st_mode) or seen.st_uid != os.getuid():
            return b""
        return os.pread(descriptor, _TAIL, max(0, seen.st_size - _TAIL))
    except OSError:
        return b""
    finally:
        os.close(descriptor)
