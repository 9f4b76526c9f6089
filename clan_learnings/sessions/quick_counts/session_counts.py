"""What sampling wants to know of a session. Plain values."""

import re
from typing import NamedTuple

_SAID = (b"exited with code", b"exit_code", b"xit code")
_NUMBER = re.compile(rb'[\\":\s]{0,8}(-?\d{1,9})')
_NEAR = 6000

FAILURE, SUCCESS, UNKNOWN = "failure", "success", "unknown"


class Unusual(Exception):
    """Something that only the adapter can judge."""


class Facts(NamedTuple):
    """Of one session."""

    flavour: str
    id: str
    messages: int
    calls: int
    outcome: str = UNKNOWN  # how it looks by its last results; a digest knows better
    parent: str = ""
    is_subagent: bool = False
    folder: str = ""
    remote: str = ""
    started_ms: int | None = None
    ended_ms: int | None = None


def outcome_by(failed: bool | None, *, has_answer: bool) -> str:  # noqa: FBT001 (three values)
    """How a session looks: by whether the last thing it ran failed; if it ran nothing, nobody can tell."""
    if failed is None:
        return UNKNOWN
    return FAILURE if failed else SUCCESS if has_answer else UNKNOWN


def exit_code_in(line: bytes) -> int | None:
    """What a command ended with, as agents write that down, whatever the escapes; None if it is not said near either end."""
    for said in _SAID:
        at = line.find(said, 0, _NEAR)
        if at < 0:
            at = line.rfind(said, max(0, len(line) - _NEAR))
        if at >= 0:
            found = _NUMBER.match(line, at + len(said))
            if found:
                return int(found[1])
    return None
