"""Record text as one harmless line. What a line is made of besides the text stands in `compose`.

Record text is untrusted: any member of the mesh wrote it, and an agent will read it beside its user's words. Removed is
what a person would not see; changed is what an agent, a Markdown reader or our own harvester would take for structure:
tags, citations, headings, fences, imports, our mark and the parts of a HOT line. Hooks come through here, so no `re`.
"""

from __future__ import annotations

from bisect import bisect_right

from clan_learnings.context.mark import NAME

LIMIT = 300
# What is looked at of a long text, in limits: a text is a record's field and may have megabytes.
_READ = 8
# Combining marks in a row; no writing needs more, and piles of them cover the lines above and below.
_MOST_COMBINING = 4
# An id has so many characters at least, see `Reader.short_id`; shorter ones in brackets are somebody's index.
_ID_CHARS = 8

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
# Other ways to write the characters that mean something below.
_ALIKE = {
    0xFF1C: "<", 0xFE64: "<", 0xFF1E: ">", 0xFE65: ">", 0xFF3B: "[", 0xFF3D: "]", 0xFF40: "`", 0xFF20: "@", 0xFE6B: "@",
    0xFF03: "#", 0xFE5F: "#", 0x037E: ";", 0xFF1B: ";", 0xFE54: ";", 0xFF01: "!", 0xFE57: "!", 0x2010: "-", 0x2011: "-",
    0xFF0D: "-", 0xFE63: "-", 0x2024: ".", 0xFF0F: "/", 0xFF5C: "|",
}  # fmt: skip
_LEFT, _RIGHT = "\u2039", "\u203a"  # single quotation marks that look like angles
_DIGITS = "0123456789"
_NO_TAG = _DIGITS + _LEFT  # after an angle
_SMALL = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}  # `lower` may change the length
_STARTS = frozenset(("-", "*", "+", ">", "|", "\u2022", "\u2013", "\u2014"))


def harmless(text: str, limit: int = LIMIT) -> str:
    """The text as one line of at most `limit` characters that is nothing but text, wherever it is put."""
    text = text[: _READ * limit]
    if not (text.isascii() and text.isprintable()):
        text = _visible(text)
    text = _without_start(" ".join(text.split()).rstrip("; "))
    if "<" in text or "-->" in text:
        text = _without_tags(text)
    if "[" in text:
        text = _without_citations(text)
    if "`" in text or "~~~" in text:
        text = _without_fences(text)
    if "@" in text or "!" in text:
        text = _without_expansions(text)
    if ";" in text:
        text = _without_segments(text)
    if NAME in text or (not text.islower() and NAME in text.translate(_SMALL)):
        text = _without_mark(text)
    return text if len(text) <= limit else text[: max(limit - 1, 0)].rstrip() + "…"[:limit]


def _visible(text: str) -> str:
    """Without what does not show, and without ANSI sequences."""
    if "\x1b" in text or "\x9b" in text:
        text = _without_ansi(text)
    text = " ".join(text.split())
    odd = {ord(char) for char in set(text) if not " " <= char <= "~"}
    hidden = dict.fromkeys((code for code in odd if bisect_right(_HIDDEN, code) % 2), "")
    text = text.translate(_ALIKE | hidden)
    return text if odd.isdisjoint(_COMBINING) else _without_piles(text)


def _without_ansi(text: str) -> str:
    """Without escape sequences; a string sequence goes to its end, or to the next escape."""
    first, *rest = text.replace("\x9b", "\x1b[").split("\x1b")
    kept = [first]
    for part in rest:
        at = 1
        if part.startswith("["):
            while at < len(part) and " " <= part[at] <= "?":
                at += 1
            at += 1
        elif part[:1] in {"]", "P", "X", "^", "_"}:
            bell = part.find("\x07")
            at = len(part) if bell < 0 else bell + 1
        kept.append(part[at:])
    return "".join(kept)


def _without_piles(text: str) -> str:
    kept = []
    row = 0
    for char in text:
        row = row + 1 if ord(char) in _COMBINING else 0
        if row <= _MOST_COMBINING:
            kept.append(char)
    return "".join(kept)


def _is_wordlike(text: str) -> bool:
    """Letters and digits; everything beyond ASCII counts as such, so that every Python says the same."""
    return text != "" and all(char > "~" or char.isalnum() for char in text)


def _without_tags(text: str) -> str:
    """The angles of `<b>` become quotation marks that look like them; `a < b`, `<-` and `1<<2` stay."""
    while "-->" in text:
        text = text.replace("-->", "->")
    first, *rest = text.split("<")
    kept = [first]
    for part in rest:
        head = part.lstrip()[:1]
        if head and ((_is_wordlike(part[:1]) and part[0] not in _NO_TAG) or head in "/!?|&%"):
            kept.append(_LEFT + part.replace(">", _RIGHT, 1))
        else:
            kept.append("<" + part)
    return "".join(kept)


def _without_citations(text: str) -> str:
    """`[7k3qmzpa]` becomes `(7k3qmzpa)`; `List[int]`, `a[0]` and `[redacted: key]` stay."""
    first, *rest = text.split("[")
    kept = [first]
    for part in rest:
        inside, closing, after = part.partition("]")
        word = inside.strip(" /")
        before = kept[-1][-1:]
        is_loose = not _is_wordlike(before) and before not in {"_", ")", "]"}
        if closing and _is_wordlike(word) and (is_loose or len(word) >= _ID_CHARS):
            kept.append(f"({inside}){after}")
        else:
            kept.append("[" + part)
    return "".join(kept)


def _without_fences(text: str) -> str:
    for fence, single in (("```", "'"), ("~~~", "~")):
        while fence in text:
            text = text.replace(fence, single)
    return text


def _without_expansions(text: str) -> str:
    """No import by `@path`, no call by !`command`, no picture. Markdown shows an escaped `@types` as it was written."""
    for opening in ("`", "{", "["):
        text = text.replace("!" + opening, "! " + opening)
    if "@" in text:
        text = " ".join(["\\" + word if word[0] == "@" and word != "@" else word for word in text.split(" ")])
    return text


def _without_segments(text: str) -> str:
    """A HOT line is cut by `; not` and `; N sessions`: only we write these."""
    first, *rest = text.split(";")
    kept = [first]
    for part in rest:
        head = part.lstrip()
        kept.append(("," if head[:3].lower() == "not" or (head and head[0] in _DIGITS) else ";") + part)
    return "".join(kept)


def _without_mark(text: str) -> str:
    kept = []
    low = text.translate(_SMALL)
    at = 0
    while (found := low.find(NAME, at)) >= 0:
        end = found + len(NAME)
        kept.append(text[at:end])
        at = end
        if text[at : at + 1] == ":" or text[at : at + 2] == " :":
            kept.append(",")
            at = text.index(":", at) + 1
    kept.append(text[at:])
    return "".join(kept)


def _without_start(text: str) -> str:
    """No heading, list, quotation or rule: what those begin with is taken off, and the point of a number is escaped."""
    while text:
        head, _, rest = text.partition(" ")
        if not head.strip("#") or head in _STARTS or (len(head) > 2 and not head.strip("-=*_")):
            text = rest.lstrip()
        elif head[0] == ">":
            text = text[1:].lstrip()
        else:
            break
    if text[:1] == "!":
        return "\\" + text
    if text and text[0] in _DIGITS:
        number = text.partition(" ")[0]
        if number[-1] in ".)" and not number[:-1].strip(_DIGITS):
            return f"{number[:-1]}\\{text[len(number) - 1 :]}"
    return text
