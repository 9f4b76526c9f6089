"""JSON that stands as text inside JSON: a call's arguments, a tool's answer. Never raises; knows no flavour."""

import json
from typing import Any

from clan_learnings.capture.values import object_of


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
