"""Front matter as fields: the lines between two `---` at the top of a page, cut at its top-level keys.

It is read by lines, not as YAML: each field is kept as it was written, with its comments and its spelling, so a page that
nobody changed comes out as the same bytes, and two people who change two fields do not meet. Whatever is not plainly a list
of top-level keys (a key twice, a line that is no key, a tab in front, no closing line, `...` as the closing line) is no
front matter here: it stays text, and nothing of it is lost.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

# A limit for each field, none for all together: fields of two writers may meet in one page, and must still read as fields.
FIELD_LINES = 200
FIELD_BYTES = 16 * 1024
_RULE = "---\n"
_KEY = re.compile(r"([\w.-][^:#\n]{0,99}):(?:[ \t][^\n]*)?\n")
_MORE = re.compile(r"(?: [^\n]*|-(?:[ \t][^\n]*)?|#[^\n]*)?\n")  # indented, an item, a comment, or blank
_LEAD = re.compile(r"(?:#[^\n]*| *)\n")  # what may stand above the first key


class PageFields(NamedTuple):
    """The front matter of a page: each key's source lines, and the order they stand in."""

    fields: dict[str, str]
    order: tuple[str, ...]


def split(text: str) -> tuple[PageFields, str]:
    """The front matter of a text, and the rest. No or unreadable front matter: no fields, and the text as it is."""
    nothing = PageFields({}, ()), text
    if not text.startswith(_RULE):
        return nothing
    lines: list[str] = []
    at = len(_RULE)
    while True:
        stop = text.find("\n", at) + 1
        line = text[at:stop]
        if line == _RULE:
            break
        if not stop or not (_KEY.fullmatch(line) or _MORE.fullmatch(line)):
            return nothing
        lines.append(line)
        at = stop
    fields = _fields(lines)
    return (PageFields(fields, tuple(fields)), text[stop:]) if fields else nothing


def join(front: PageFields, body: str) -> str:
    """The text of a page: its fields in order, the others behind them, and the body. Exactly what `split` took apart.

    Fields come from other nodes too: one that is not a single readable field of its key is left out, because it could end
    the front matter early and pass the rest off as text.
    """
    sound = {key: source for key, source in front.fields.items() if is_field(key, source)}
    keys = [key for key in dict.fromkeys(front.order) if key in sound]
    keys += sorted(sound.keys() - set(keys))
    if not keys:
        return body
    return _RULE + "".join(sound[key] for key in keys) + _RULE + body


def is_field(key: str, source: str) -> bool:
    """Whether a text is the source of one field of that key, and of nothing else."""
    return source.endswith("\n") and list(_fields([line + "\n" for line in source[:-1].split("\n")])) == [key]


def _fields(lines: Sequence[str]) -> dict[str, str]:
    """The source of each field; nothing at all if some line does not fit."""
    fields: dict[str, list[str]] = {}
    current: list[str] = []  # above the first key: what will belong to it
    for line in lines:
        key = _key(line)
        if key is None:
            if not (_MORE if fields else _LEAD).fullmatch(line):
                return {}
            current.append(line)
        elif key in fields:
            return {}
        else:
            current = fields[key] = [*([] if fields else current), line]
    sources = {key: "".join(source) for key, source in fields.items()}
    if any(len(source) > FIELD_LINES for source in fields.values()):
        return {}
    if any(len(source.encode(errors="replace")) > FIELD_BYTES for source in sources.values()):
        return {}
    return sources


def _key(line: str) -> str | None:
    """The key a line begins a field with, if it does."""
    if line.startswith(("---", "- ", "-\t")):
        return None
    match = _KEY.fullmatch(line)
    return match[1].rstrip() if match else None
