"""A write that waits outside the store, as bytes: what a command was given, and nothing that a command could not be given. Pure.

Everything is a text: whoever reads it trusts neither its names nor its types.
"""

from __future__ import annotations

from clan_learnings.agents.light_json import flat, loads

TYPE_CHECKING = False  # see `mesh`
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

WRITE_BYTES = 64 * 1024

# What it may say, and how that is read back: the options of the two commands, nothing else.
_COMMON = {
    "agent": "text",
    "category": "text",
    "confidence": "number",
    "evidence": "text",
    "is_global": "flag",
    "minutes_lost": "whole",
    "private": "flag",
    "repo": "text",
    "request_id": "id",
    "request_seconds": "whole",
    "session": "text",
    "severity": "text",
    "tags": "list",
    "topic": "text",
}
KINDS: dict[str, dict[str, str]] = {
    "discover": {**_COMMON, "text": "text", "anyway": "flag"},
    "correct": {**_COMMON, "wrong": "text", "right": "text", "pattern": "text", "source": "text"},
}
_NEEDED = {"discover": ("text",), "correct": ("wrong", "right")}


def encode(kind: str, arguments: Mapping[str, Any]) -> bytes:
    """A command's arguments without their secrets and what is private. What was not said is left out."""
    from clan_learnings.redaction import redact_value

    kinds = KINDS[kind]
    written = {name: _written(value, kinds[name]) for name, value in arguments.items()}
    said = {name: text for name, text in written.items() if text is not None}
    kept, _ = redact_value({name: _public(text) for name, text in said.items() if kinds[name] != "id"})
    kept |= {name: text for name, text in said.items() if kinds[name] == "id"}  # looks like a secret, and is none
    return f'{{"kind": "{kind}", "arguments": {flat(kept)}}}'.encode()


def _public(text: str) -> str:
    if "<" not in text:  # a plain look: what is needed to look closer is loaded by who needs it
        return text
    from clan_learnings.redaction.private_passages import without_private

    return without_private(text)


def decode(data: bytes) -> tuple[str, dict[str, Any]] | None:
    """Kind and arguments; None for anything that a command of ours would not have written."""
    try:
        value = loads(data.decode())
    except (ValueError, RecursionError):
        return None
    if type(value) is not dict or value.keys() != {"kind", "arguments"}:
        return None
    kind, said = value["kind"], value["arguments"]
    if type(kind) is not str or kind not in KINDS or type(said) is not dict:
        return None
    arguments = {}
    for name, text in said.items():
        read = _read(text, KINDS[kind].get(name, ""))
        if read is None:
            return None
        arguments[name] = read
    if any(not arguments.get(name) for name in _NEEDED[kind]):
        return None
    return kind, arguments


def _written(value: Any, kind: str) -> str | None:
    """An option as text; None if it was not given."""
    if value is None:
        return None
    if kind == "flag":
        return "yes" if value else None
    if kind == "list":
        return "\n".join(value) or None
    return str(value)


def _read(text: object, kind: str) -> Any:
    """The option that a text stands for; None if it stands for none."""
    if type(text) is not str or "\0" in text:
        return None
    try:
        text.encode()  # half a surrogate pair is no text
        match kind:
            case "text" | "id":
                return text
            case "flag":
                return True if text == "yes" else None
            case "list":
                return tuple(text.split("\n"))
            case "whole":
                return int(text[:20])
            case "number":
                return float(text[:40])
    except ValueError:
        return None
    return None  # an option that the command does not have
