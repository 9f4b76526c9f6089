"""The arguments of a call, checked against what a tool takes. Pure.

Stricter than JSON Schema has to be, in one thing: an argument that does not exist is an error, because a misspelt `is_global` would put a
record into the wrong scope. Kinder in two: a null was not given, and a number, a flag or a list may come as its text.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from mesh.mcp.descriptions import Schema, Tool

_PROBLEMS = 5  # of one call; the first ones tell enough
_FLAGS = {"true": True, "false": False}
_KINDS = {
    "string": "a text",
    "boolean": "true or false",
    "integer": "a whole number",
    "number": "a number",
    "array": "a list of texts",
}


class WrongArguments(Exception):
    """A call cannot be made. `lines`: what is wrong, and what to do."""

    def __init__(self, *lines: str) -> None:
        super().__init__(lines[0])
        self.lines = lines


def checked(offered: Mapping[str, Tool], name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that were given to a tool, each of its type. Raises WrongArguments."""
    tool = offered.get(name)
    if tool is None:
        raise WrongArguments(f"there is no tool {name}", f"next: call one of {', '.join(offered)}")
    told = {name: value for name, value in given.items() if value is not None}
    if unknown := sorted(set(told) - set(tool.arguments)):
        named = ", ".join(unknown[:_PROBLEMS])
        raise WrongArguments(f"{tool.name} takes no {named}", f"next: it takes {', '.join(tool.arguments)}")
    problems = [f"{argument} is missing" for argument in tool.required if argument not in told]
    made = {}
    for argument, value in told.items():
        try:
            made[argument] = _checked(tool.arguments[argument], value)
        except ValueError as error:
            problems.append(f"{argument} must be {error}")
    if problems:
        raise WrongArguments(
            *problems[:_PROBLEMS], f"next: call {tool.name} again with the right arguments; nothing was done"
        )
    return made


def _checked(schema: Schema, value: Any) -> Any:
    """A value of the schema's type. ValueError says what it must be."""
    kind = schema["type"]
    made = value if kind == "string" else _read(kind, value)
    is_kind = {
        "string": isinstance(made, str),
        "boolean": isinstance(made, bool),
        "integer": isinstance(made, int) and not isinstance(made, bool),
        "number": isinstance(made, int | float) and not isinstance(made, bool),
        "array": isinstance(made, list) and all(isinstance(item, str) for item in made),
    }
    if not is_kind[kind]:
        raise ValueError(_KINDS[kind])
    if (allowed := schema.get("enum")) and made not in allowed:
        raise ValueError(f"{', '.join(map(repr, allowed[:-1]))} or {allowed[-1]!r}")
    if "minimum" in schema:
        least, most = schema["minimum"], schema.get("maximum")
        if made < least or (most is not None and made > most) or made != made:  # noqa: PLR0124 (not a number)
            raise ValueError(f"{least} or more" if most is None else f"between {least} and {most}")
    return tuple(made) if kind == "array" else made


def _read(kind: str, value: Any) -> Any:
    """What a text stands for, where it is no text that is wanted; a whole number written as 3.0."""
    if isinstance(value, str):
        if kind == "boolean":
            return _FLAGS.get(value.strip().lower(), value)
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return value
    if kind == "integer" and isinstance(value, float) and value.is_integer():
        return int(value)
    return value
