"""JSON for the small client's side of hooks: the two C functions behind `json`, without its regular expressions, which take longer to import than a hook to run.

Reads and writes exactly what `json` does, and falls back to it where Python has no such functions.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # see `mesh`
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

_SPACE = " \t\r\n"


class _Options:
    """What the scanner asks its decoder for, as `json.JSONDecoder` has it."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    array_hook = None
    parse_float = float
    parse_int = int
    parse_constant = float  # NaN, Infinity and -Infinity, by these names


quoted: Callable[[str], str]
_scan: Callable[[str, int], tuple[Any, int]]
try:
    if hasattr(sys, "gettotalrefcount"):  # a Python for debugging ends the process over what `scan` catches
        raise ImportError  # noqa: TRY301
    from _json import encode_basestring_ascii as quoted
    from _json import make_scanner

    _scan = make_scanner(_Options())  # type: ignore[arg-type] # anything with these attributes
except (ImportError, AttributeError, TypeError):  # another Python, or a later one
    import json

    quoted, _scan = json.dumps, json.JSONDecoder().scan_once  # type: ignore[attr-defined]


def scan(text: str, at: int) -> tuple[Any, int]:
    """The value that begins at a place, and where it ends. ValueError if there is none, RecursionError if it is too deep."""
    try:
        return _scan(text, after_space(text, at))
    except (StopIteration, SystemError):  # the latter if `json`, whose error it would raise, was never imported
        raise ValueError(f"no value at {at}") from None


def loads(text: str) -> Any:
    """The value that a text is."""
    value, end = scan(text, 0)
    if after_space(text, end) != len(text):
        raise ValueError(f"something follows the value at {end}")
    return value


def flat(fields: Mapping[str, str | int]) -> str:
    """An object of texts and whole numbers, in one line of ASCII."""
    parts = (f"{quoted(name)}: {quoted(value) if isinstance(value, str) else value}" for name, value in fields.items())
    return "{" + ", ".join(parts) + "}"


def after_space(text: str, at: int) -> int:
    """The next place that is not white space."""
    while at < len(text) and text[at] in _SPACE:
        at += 1
    return at
