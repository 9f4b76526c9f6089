"""Bounds on the answers of tools: texts made harmless, lists short, all of it below the 25,000 tokens at which agents cut off."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, TypeVar

from clan_learnings.context.harmless_lines import harmless
from clan_learnings.context.token_bound import at_most_tokens
from mesh.mcp.descriptions import ITEMS

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

TEXT_CHARS = 300
NAME_CHARS = 100
TOKENS = 10_000  # of each form
DEPTH = 6  # of what `why` answers; none of our answers is deeper
NOTHING: tuple[object, ...] = (None, "", [], {})

Given = Mapping[str, Any]  # what the backend says
_Line = TypeVar("_Line", bound="DataclassInstance")


def text_of(given: Given, name: str, chars: int = TEXT_CHARS) -> str:
    """A text, in one harmless line; empty if it is none."""
    value = given.get(name)
    return harmless(value, chars) if isinstance(value, str) else ""


def name_of(given: Given, name: str) -> str:
    """A short one."""
    return text_of(given, name, NAME_CHARS)


def number_of(given: Given, name: str) -> int:
    """A whole number, or of a list how long it is."""
    value = given.get(name)
    return len(value) if isinstance(value, list) else value if isinstance(value, int) else 0


def items_of(value: object, of: Callable[[Given], _Line]) -> tuple[list[_Line], int]:
    """The first of a list, and how many are left out."""
    given = [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []
    kept, room = list[_Line](), TOKENS
    for made in map(of, given[:ITEMS]):
        room -= at_most_tokens(json.dumps(asdict(made), ensure_ascii=False))  # longer than its line
        if room < 0:
            break
        kept.append(made)
    return kept, len(given) - len(kept)


def bounded(value: object, depth: int, chars: int) -> Any:
    """Any value, cut to so many levels, items and characters."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if depth and isinstance(value, Mapping):
        return {
            harmless(str(name), NAME_CHARS): bounded(value[name], depth - 1, chars) for name in list(value)[: 2 * ITEMS]
        }
    if depth and isinstance(value, list | tuple):
        return [bounded(item, depth - 1, chars) for item in value[:ITEMS]]
    return harmless(str(value), chars)


def flat(value: object) -> str:
    """Any value in one line."""
    if isinstance(value, dict):
        return "; ".join(f"{name} {flat(item)}" for name, item in value.items() if item not in NOTHING)
    return " | ".join(map(flat, value)) if isinstance(value, list) else str(value)
