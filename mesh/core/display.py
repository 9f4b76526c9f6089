"""Text as people read it: numbers and sizes, and text of others without control codes, invisible characters and markup that a model takes for its harness. Pure.

Names, notes and pages come from any member, and whatever we show may be read by an agent beside its user's words. Here are
the rules that hold wherever text is shown; what a line of a context or of a Markdown file needs besides stands in
`clan_learnings.context.harmless_lines`. Every command that prints comes through here, so no `re`.
"""

from __future__ import annotations

from _bisect import bisect_right
from collections.abc import Callable
from typing import Any

# Combining marks in a row; no writing needs more, and piles of them cover the lines above and below.
_MOST_COMBINING = 4

# Where what does not show begins and ends, by turns: control, format, bidi, zero-width, surrogate, private and never
# assigned characters, fillers, the braille blank, variation selectors (256 of them can hold any byte), tags, and all planes
# behind the third. By number, not by the tables of Unicode, which differ from one Python to the next: nodes must agree.
_HIDDEN = (
    0x0, 0x20, 0x7F, 0xA0, 0xAD, 0xAE, 0x34F, 0x350, 0x600, 0x606, 0x61C, 0x61D, 0x6DD, 0x6DE, 0x70F, 0x710, 0x890,
    0x892, 0x8E2, 0x8E3, 0x115F, 0x1161, 0x17B4, 0x17B6, 0x180B, 0x1810, 0x200B, 0x2010, 0x2028, 0x202F, 0x2060,
    0x2070, 0x2800, 0x2801, 0x3164, 0x3165, 0xD800, 0xF900, 0xFDD0, 0xFDF0, 0xFE00, 0xFE10, 0xFEFF, 0xFF00, 0xFFA0,
    0xFFA1, 0xFFF0, 0xFFFD, 0xFFFE, 0x10000, 0x110BD, 0x110BE, 0x110CD, 0x110CE, 0x13430, 0x13460, 0x16FE4, 0x16FE5,
    0x1BCA0, 0x1BCA4, 0x1D159, 0x1D15A, 0x1D173, 0x1D17B, 0x1FFFE, 0x20000, 0x2FFFE, 0x30000, 0x3FFFE, 0x110000,
)  # fmt: skip
# Combining marks for any letter; those of one script stay.
_COMBINING = frozenset(
    (
        *range(0x300, 0x370),
        *range(0x483, 0x48A),
        *range(0x1AB0, 0x1B00),
        *range(0x1DC0, 0x1E00),
        *range(0x20D0, 0x2100),
        *range(0xFE20, 0xFE30),
    )
)
# Of what does not show, the two that stay, and what somebody takes for the end of a line, or for a blank.
_KEPT = {0x09: "\t", 0x0A: "\n"}
_ENDS = dict.fromkeys((0x0B, 0x0C, 0x0D, 0x1C, 0x1D, 0x1E, 0x85, 0x2028, 0x2029), "\n") | {0x1F: " "}
_ONE_LINE = {0x09: " ", 0x0A: " "}

_LEFT, _RIGHT = "\u2039", "\u203a"  # single quotation marks that look like angles
_ANGLES = {0xFF1C: _LEFT, 0xFE64: _LEFT, 0xFF1E: _RIGHT, 0xFE65: _RIGHT}  # other ways to write them
_NO_TAG = "0123456789" + _LEFT  # after an angle
# What models were trained to take for the turns of a conversation: in brackets, and as the first word of a line. Ours too.
_TURNS = ("INST", "SYSTEM_PROMPT", "AVAILABLE_TOOLS", "TOOL_CALLS", "TOOL_CONTENT", "TOOL_RESULTS")
_SPEAKERS = (
    "Human:", "HUMAN:", "Assistant:", "ASSISTANT:", "System:", "SYSTEM:", "User:", "USER:", "clan-mesh:",
)  # fmt: skip


def harmless(text: str) -> str:
    """The text with its lines and tabs, which is nothing but text wherever it is shown. Twice is the same as once."""
    if not (text.isascii() and text.isprintable()):
        text = visible(text)
        if not text.isascii():
            text = text.translate(_ANGLES)
    if "<" in text:
        text = _without_tags(text)
    if "[" in text:
        text = _without_turns(text, "(", ")")
    if ":" in text and any(speaker in text for speaker in _SPEAKERS):
        text = "\n".join(map(_without_speaker, text.split("\n")))
    return text


def harmless_line(text: str) -> str:
    """The same in one line: whatever ends a line, or moves on to a column, is a blank."""
    if not (text.isascii() and text.isprintable()):
        text = visible(text).translate(_ONE_LINE)
    return harmless(text)


def harmless_value(value: Any) -> Any:
    """Any value as records have them, with all its texts harmless, and the names in it one line each."""
    if isinstance(value, str):
        return harmless(value)
    if isinstance(value, dict):
        return {harmless_line(str(name)): harmless_value(item) for name, item in value.items()}
    return [harmless_value(item) for item in value] if isinstance(value, list) else value


def visible(text: str) -> str:
    """The text without what does not show, and without escape sequences. Lines and tabs stay."""
    if "\x1b" in text or "\x9b" in text:
        text = _without_ansi(text)
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    odd = _odd(text)
    hidden = {code: _ENDS.get(code, "") for code in odd if _is_hidden(code)}
    if hidden:
        text = text.translate(hidden)
    return text if odd.isdisjoint(_COMBINING) else _without_piles(text, lambda _: "")


def escaped(json: str) -> str:
    """JSON that says the same, with an escape in the place of all that `harmless` takes out: what is read from it is the text itself."""
    if not (json.isascii() and json.isprintable()):
        odd = _odd(json)
        written = {code: _escape(code) for code in odd if _is_hidden(code) or code in _ANGLES}
        if written:
            json = json.translate(written)
        if not odd.isdisjoint(_COMBINING):
            json = _without_piles(json, lambda char: _escape(ord(char)))
    if "<" in json:  # where nothing opens, nothing is closed: an arrow stays an arrow
        json = json.replace("<", "\\u003c").replace(">", "\\u003e")
    return _without_turns(json, "\\u005b", "\\u005d") if "[" in json else json


def _odd(text: str) -> set[int]:
    return {ord(char) for char in set(text) if not " " <= char <= "~"}


def _is_hidden(code: int) -> bool:

    return code not in _KEPT and bisect_right(_HIDDEN, code) % 2 == 1


def _escape(code: int) -> str:
    """As JSON writes a character that it does not want to show."""
    if code < 0x10000:
        return f"\\u{code:04x}"
    code -= 0x10000
    return f"\\u{0xD800 | code >> 10:04x}\\u{0xDC00 | code & 0x3FF:04x}"


def _without_ansi(text: str) -> str:
    """Without escape sequences; a string sequence goes to its end, to the next escape or to the end of the line."""
    first, *rest = text.replace("\x9b", "\x1b[").split("\x1b")
    kept = [first]
    for part in rest:
        at = int(part[:1] != "\n")
        if part.startswith("["):
            while at < len(part) and " " <= part[at] <= "?":
                at += 1
            at += "@" <= part[at : at + 1] <= "~"
        elif part[:1] in {"]", "P", "X", "^", "_"}:
            line = part.partition("\n")[0]
            bell = line.find("\x07")
            at = len(line) if bell < 0 else bell + 1
        kept.append(part[at:])
    return "".join(kept)


def _without_piles(text: str, write: Callable[[str], str]) -> str:
    kept = []
    row = 0
    for char in text:
        row = row + 1 if ord(char) in _COMBINING else 0
        kept.append(char if row <= _MOST_COMBINING else write(char))
    return "".join(kept)


def is_wordlike(text: str) -> bool:
    """Letters and digits; everything beyond ASCII counts as such, so that every Python says the same."""
    return text != "" and all(char > "~" or char.isalnum() for char in text)


def _without_tags(text: str) -> str:
    """The angles of `<b>` become quotation marks that look like them; `a < b`, `<-` and `1<<2` stay."""
    first, *rest = text.split("<")
    kept = [first]
    for part in rest:
        line, end, more = part.partition("\n")
        head = line.lstrip()[:1]
        if head and ((is_wordlike(part[:1]) and part[0] not in _NO_TAG) or head in "/!?|&%"):
            kept.append(f"{_LEFT}{line.replace('>', _RIGHT, 1)}{end}{more}")
        else:
            kept.append("<" + part)
    return "".join(kept)


def _without_turns(text: str, opening: str, closing: str) -> str:
    """`[INST]` and its like, with other brackets."""
    first, *rest = text.split("[")
    kept = [first]
    for part in rest:
        word, bracket, after = part[: len(_TURNS[1]) + 2].partition("]")
        if bracket and word.removeprefix("/").upper() in _TURNS:
            kept.append(f"{opening}{word}{closing}{after}{part[len(word) + 1 + len(after) :]}")
        else:
            kept.append("[" + part)
    return "".join(kept)


def _without_speaker(line: str) -> str:
    """A speaker in quotation marks: somebody is quoted, nobody speaks."""
    bare = line.lstrip()
    if not bare.startswith(_SPEAKERS):
        return line
    name, _, said = bare.partition(":")
    return f"{line[: len(line) - len(bare)]}{_LEFT}{name}{_RIGHT}:{said}"


SIZES = {"KB": 2**10, "MB": 2**20, "GB": 2**30, "TB": 2**40}


def number_of(count: int, noun: str) -> str:
    """`1 session`, `2 sessions`."""
    return f"{count} {noun}" if count == 1 else f"{count:,} {noun}s"


def shown_size(size: int) -> str:
    """A number of bytes, short. A megabyte has 1024 times 1024 of them."""
    for unit in reversed(SIZES):
        if size >= SIZES[unit]:
            return f"{size / SIZES[unit]:.1f} {unit}".replace(".0 ", " ")
    return f"{size} bytes"
