"""Untrusted JSON values: what has the wrong type counts as empty. Knows no flavour."""

import json
from datetime import UTC, datetime
from typing import Any

_FIRST_MS, _LAST_MS = 946_684_800_000, 4_102_444_800_000  # 2000 to 2100: what lies outside is no time of a session
_SECONDS = 100_000_000_000  # numbers below are seconds, above milliseconds
_COUNT = 1 << 53


def text_of(value: Any) -> str:
    """A string, or nothing."""
    return value if isinstance(value, str) else ""


def object_of(value: Any) -> dict[str, Any]:
    """An object, or an empty one."""
    return value if isinstance(value, dict) else {}


def list_of(value: Any) -> list[Any]:
    """A list, or an empty one."""
    return value if isinstance(value, list) else []


def count_of(value: Any) -> int:
    """How many: a whole number that is not negative, or 0."""
    return value if type(value) is int and 0 <= value < _COUNT else 0


def exit_code_of(value: Any) -> int | None:
    """What a process ended with, or None."""
    return value if type(value) is int and -(1 << 31) <= value < 1 << 32 else None


def instant_ms(value: Any) -> int | None:
    """When: from a date in words (without a zone it is UTC), or a number of seconds or milliseconds."""
    if isinstance(value, str):
        if len(value) > 40:
            return None
        try:
            moment = datetime.fromisoformat(value)
            if moment.tzinfo is None:
                moment = moment.replace(tzinfo=UTC)
            found = int(moment.timestamp() * 1000)
        except (ValueError, OverflowError):
            return None
    elif type(value) is int:
        found = value * 1000 if abs(value) < _SECONDS else value
    elif type(value) is float and abs(value) < _LAST_MS:
        found = int(value * 1000 if abs(value) < _SECONDS else value)
    else:
        return None
    return found if _FIRST_MS <= found < _LAST_MS else None


def words_of(content: Any) -> str:
    """The text of a message's content: a string, or a list of strings and blocks. Images and the like say nothing."""
    if isinstance(content, str):
        return content
    if isinstance(content, dict):
        content = [content]
    parts = []
    for block in list_of(content):
        if isinstance(block, str):
            parts.append(block)
        elif isinstance(block, dict) and isinstance(block.get("text"), str):
            parts.append(block["text"])
    return "\n".join(parts)


def parsed(text: Any) -> Any:
    """The value that a text holds; None if it holds none."""
    if not isinstance(text, str):
        return None
    try:
        return json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return None


def arguments_of(value: Any) -> dict[str, Any]:
    """A call's arguments: an object, or the text of one. Other text comes under `input`, as the model wrote it."""
    if not isinstance(value, str):
        return object_of(value)
    found = parsed(value)
    if isinstance(found, dict):
        return found
    return {"input": value} if value.strip() else {}
