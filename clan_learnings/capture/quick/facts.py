"""What sampling wants to know of a session. Plain values."""

from typing import Any, NamedTuple

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


def texts(value: Any) -> str:
    """A string, or nothing."""
    return value if isinstance(value, str) else ""
