"""The mark on text that we injected into a session, and how to take such text out again.

A harvester reads what an agent saw, and half of that may be what we told the agent. There are three marks: a block for the start of a
session, a word before single lines (matches of a prompt, answers of tools), and lines for rendered files. They are found wherever a
transcript puts them: indented, numbered, cut off at the end, or inside a JSON string.
"""

from __future__ import annotations

from collections.abc import Iterator

NAME = "clan-mesh"
VERSION = 1
LINE = f"{NAME}: "
CLOSING = f"</{NAME}>"
# In a rendered Markdown file: its first and its last line. In a rendered JSON line: the value of a field.
RENDERED = f"{NAME} rendered v{VERSION}"
FILE_OPENING = f"<!-- {RENDERED} -->"
FILE_CLOSING = f"<!-- /{NAME} rendered -->"

_DIGEST_CHARS = 16
_HEAD = f"{NAME} context v"
# `<` as it is, as JSON encoders write it for HTML, as HTML does.
_LESS = ("<", "\\u003c", "\\u003C", "&lt;")
_GREATER = (">", "\\u003e", "\\u003E", "&gt;")
# What tools put before a line that they quote: indentation, numbers, quotation marks, list marks.
_BEFORE = " \t>|│*-+→0123456789:"


def opening(digest: str) -> str:
    """The first line of a block."""
    return f"<{_HEAD}{VERSION} digest={digest[:_DIGEST_CHARS]}>"


def is_ours(text: str) -> bool:
    """Whether anything in a text came from us."""
    return NAME in text and next(_spans(text), None) is not None


def without_ours(text: str) -> str:
    """A text without what came from us: whole blocks, lines and files, to the end of the text where one is cut off."""
    if NAME not in text:
        return text
    kept = []
    at = 0
    for start, end in _spans(text):
        kept.append(text[at:start])
        at = end
    kept.append(text[at:])
    return "".join(kept)


def _spans(text: str) -> Iterator[tuple[int, int]]:
    """From where to where a text is ours, in order and apart."""
    at = 0
    while (found := text.find(NAME, at)) >= 0:
        span = _span(text, found)
        if span is None:
            at = found + len(NAME)
        else:
            at = span[1]
            yield span


def _span(text: str, name: int) -> tuple[int, int] | None:
    """Which of our marks begins at this place."""
    for less, greater in zip(_LESS, _GREATER, strict=True):
        start = name - len(less)
        if start >= 0 and text.startswith(less, start):
            return _block(text, start, name, less, greater)
        start = name - len(less) - 4
        if start >= 0 and text.startswith((less + "!-- " + RENDERED), start):
            return start, _after(text, name, f"{less}!-- /{NAME} rendered --{greater}")
    if text.startswith(RENDERED, name):
        return _line_around(text, name)
    if text.startswith(LINE, name):
        return _line(text, name)
    return None


def _block(text: str, start: int, name: int, less: str, greater: str) -> tuple[int, int] | None:
    """A block, if this is the whole of its first line, or the text ends in the middle of that."""
    head = text[name : name + len(_HEAD)]
    if head != _HEAD:
        return (start, len(text)) if name + len(head) == len(text) and _HEAD.startswith(head) and " " in head else None
    rest = text[name + len(_HEAD) : name + len(_HEAD) + 64]
    version, _, tail = rest.partition(" digest=")
    if greater in tail and version.isdigit() and tail.partition(greater)[0].isalnum():
        return start, _after(text, name, f"{less}/{NAME}{greater}")
    cut = name + len(_HEAD) + len(rest) == len(text) and "\n" not in rest and greater not in rest
    return (start, len(text)) if cut else None


def _after(text: str, at: int, closing: str) -> int:
    """Behind a closing mark and its line's end; the end of the text if there is none."""
    found = text.find(closing, at)
    if found < 0:
        return len(text)
    end = found + len(closing)
    for line_end in ("\r\n", "\n", "\\r\\n", "\\n"):
        if text.startswith(line_end, end):
            return end + len(line_end)
    return end


def _line(text: str, name: int) -> tuple[int, int] | None:
    """A line that begins with our word, with what tools put before it and its end."""
    start = len(text[:name].rstrip(_BEFORE))
    if start == 0 or text[start - 1] in "\r\n":
        end = text.find("\n", name)
        return start, len(text) if end < 0 else end + 1
    before = text[max(start - 2, 0) : start]
    if before.endswith(("\\n", "\\t")) or before[-1:] == '"':
        return start, _string_line_end(text, name)
    return None


def _string_line_end(text: str, at: int) -> int:
    """The end of a line inside a JSON string: behind its escaped line end, or before the quotation mark or the line end."""
    while at < len(text):
        char = text[at]
        if char in '"\n':
            return at
        if char == "\\":
            if text[at + 1 : at + 2] == "n":
                return at + 2
            at += 1
        at += 1
    return len(text)


def _line_around(text: str, at: int) -> tuple[int, int]:
    """The whole line in which a mark stands: a rendered JSON line has it in a field. Maybe itself inside a JSON string."""
    start = text.rfind("\n", 0, at) + 1
    if text[max(at - 2, 0) : at] == '\\"':
        return max(start, _string_line_start(text, at)), _string_line_end(text, at)
    end = text.find("\n", at)
    return start, len(text) if end < 0 else end + 1


def _string_line_start(text: str, at: int) -> int:
    """The beginning of a line inside a JSON string: behind an escaped line end, or the string's own quotation mark."""
    while at > 0:
        at -= 1
        before = text[max(at - 64, 0) : at]
        slashes = len(before) - len(before.rstrip("\\"))
        if (text[at] == '"' and slashes % 2 == 0) or (text[at] == "n" and slashes % 2 == 1):
            return at + 1
    return 0
