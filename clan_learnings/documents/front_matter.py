"""Front matter: the lines of `key: value` at the top of a Markdown file. Written so that every YAML reader agrees, read leniently.

This is not YAML: there are only texts and lists of texts. Nothing in it is run, looked up or nested; what is not understood is reported
and left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

FENCE = "---"
LINES = 200  # of one front matter; more is somebody's text between two rules
KEYS = 64
VALUE_CHARS = 8000
ELEMENTS = 256

# What every YAML reader takes for this very text: a word or several, nothing that begins or ends a structure.
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_./@+~-]*(?: [A-Za-z0-9_./@+~-]+)*")
_WORDS = frozenset(("true", "false", "null", "yes", "no", "on", "off", "y", "n", "nan", "inf"))
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,17})(?:\.[0-9]{1,17})?")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_KEY = re.compile(r"([A-Za-z_][A-Za-z0-9_-]{0,63})[ \t]*:(?:[ \t]+(.*))?$")

Value = str | list[str]


@dataclass(slots=True)
class FrontMatter:
    """What a front matter says; `end`: the line after it, counted from 0; 0 if there is none."""

    values: dict[str, Value] = field(default_factory=dict)
    end: int = 0
    problems: list[str] = field(default_factory=list)

    def text(self, key: str) -> str:
        """A value that is a text; of a list its first."""
        value = self.values.get(key, "")
        return value if isinstance(value, str) else value[0] if value else ""

    def texts(self, key: str) -> list[str]:
        """A value that is a list; of a text what stands between its commas."""
        value = self.values.get(key, [])
        return [one.strip() for one in value.split(",") if one.strip()] if isinstance(value, str) else list(value)


def written(values: Mapping[str, str | float | int | Sequence[str]]) -> list[str]:
    """The lines of a front matter, fences included."""
    lines = [FENCE]
    for key, value in values.items():
        if isinstance(value, str):
            lines.append(f"{key}: {_scalar(value)}")
        elif isinstance(value, int | float):
            lines.append(f"{key}: {value:g}" if isinstance(value, float) else f"{key}: {value}")
        else:
            lines.append(f"{key}: [{', '.join(_scalar(one) for one in value)}]")
    return [*lines, FENCE]


def read(lines: Sequence[str]) -> FrontMatter:
    """The front matter that some lines begin with."""
    front = FrontMatter()
    if not lines or lines[0].rstrip() != FENCE:
        return front
    end = next((at for at, line in enumerate(lines[1 : LINES + 1], 1) if line.rstrip() in (FENCE, "...")), 0)
    if not end:
        front.problems.append("its front matter has no end")
        return front
    front.end = end + 1
    key = ""
    for number, line in enumerate(lines[1:end], 2):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        if text[:2] == "- " and key and (line[0] in " \t-"):
            _append(front, key, _value(text[2:].strip()))
            continue
        found = _KEY.match(line.rstrip())
        if found is None or len(front.values) >= KEYS:
            front.problems.append(f"line {number} of its front matter was not understood")
            key = ""
            continue
        key, rest = found[1].lower(), (found[2] or "").strip()
        front.values[key] = _value(rest) if rest else ""
    return front


def _append(front: FrontMatter, key: str, value: Value) -> None:
    before = front.values[key]
    listed = ([before] if before else []) if isinstance(before, str) else before
    if len(listed) < ELEMENTS:
        listed.append(value if isinstance(value, str) else ", ".join(value))
    front.values[key] = listed


def _scalar(text: str) -> str:
    if _DATE.fullmatch(text) or (_PLAIN.fullmatch(text) and text.lower() not in _WORDS):
        return text
    return json.dumps(text, ensure_ascii=False)


def _value(text: str) -> Value:
    """A value as somebody wrote it."""
    text = text[:VALUE_CHARS]
    if text.startswith("["):
        return _listed(text)
    return _one(text, 0, "")[0]


def _listed(text: str) -> list[str]:
    """`[a, "b, c", 'd']`; one that is not closed ends with its line."""
    found: list[str] = []
    at = 1
    while at < len(text) and len(found) < ELEMENTS:
        if text[at] in " \t,":
            at += 1
        elif text[at] == "]":
            break
        else:
            one, at = _one(text, at, ",]")
            if one:
                found.append(one)
    return found


def _one(text: str, at: int, ends: str) -> tuple[str, int]:
    """One text from here, and where it ends. `ends`: what ends one without quotation marks, beside a comment."""
    if text[at : at + 1] == '"':
        try:
            value, end = _decode(text, at)
        except ValueError:
            pass
        else:
            return str(value), end
    elif text[at : at + 1] == "'":
        end = at + 1
        while (end := text.find("'", end)) >= 0 and text[end : end + 2] == "''":
            end += 2
        if end > 0:
            return text[at + 1 : end].replace("''", "'"), end + 1
    end = at
    while end < len(text) and text[end] not in ends:
        if text[end] == "#" and end > at and text[end - 1] in " \t":
            break
        end += 1
    plain = text[at:end].strip()
    return plain, end if end > at else at + 1


_decode = json.JSONDecoder(strict=False).raw_decode
