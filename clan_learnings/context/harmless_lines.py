"""Record text as one harmless line.

Record text is untrusted: any member of the mesh wrote it, and an agent reads it beside its user's words. What holds for text wherever
it is shown is in `mesh.core.display`. Here we also change what a Markdown reader or our own harvester would take for structure:
citations, headings, fences, imports, our mark and the parts of a HOT line. Hooks run through here, so no `re`.
"""

from __future__ import annotations

from clan_learnings.context.injected_mark import NAME
from mesh.core import display
from mesh.core.display import is_wordlike, visible

LIMIT = 300
# What is looked at of a long text, in limits: a text is a record's field and may have megabytes.
_READ = 8
# An id has so many characters at least, see `Reader.short_id`; shorter ones in brackets are somebody's index.
_ID_CHARS = 8

# Other ways to write the characters that mean something below.
_ALIKE = {
    0xFF1C: "<", 0xFE64: "<", 0xFF1E: ">", 0xFE65: ">", 0xFF3B: "[", 0xFF3D: "]", 0xFF40: "`", 0xFF20: "@", 0xFE6B: "@",
    0xFF03: "#", 0xFE5F: "#", 0x037E: ";", 0xFF1B: ";", 0xFE54: ";", 0xFF01: "!", 0xFE57: "!", 0x2010: "-", 0x2011: "-",
    0xFF0D: "-", 0xFE63: "-", 0x2024: ".", 0xFF0F: "/", 0xFF5C: "|",
}  # fmt: skip
_DIGITS = "0123456789"
_SMALL = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}  # `lower` may change the length
_STARTS = frozenset(("-", "*", "+", ">", "|", "\u2022", "\u2013", "\u2014"))


def harmless(text: str, limit: int = LIMIT) -> str:
    """The text as one line of at most `limit` characters that is nothing but text, wherever it is put."""
    text = text[: _READ * limit]
    if not (text.isascii() and text.isprintable()):
        text = " ".join(visible(text).split()).translate(_ALIKE)
    text = _without_start(" ".join(text.split()).rstrip("; "))
    while "-->" in text:
        text = text.replace("-->", "->")
    text = display.harmless(text)
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


def _without_citations(text: str) -> str:
    """`[7k3qmzpa]` becomes `(7k3qmzpa)`; `List[int]`, `a[0]` and `[redacted: key]` stay."""
    first, *rest = text.split("[")
    kept = [first]
    for part in rest:
        inside, closing, after = part.partition("]")
        word = inside.strip(" /")
        before = kept[-1][-1:]
        is_loose = not is_wordlike(before) and before not in {"_", ")", "]"}
        if closing and is_wordlike(word) and (is_loose or len(word) >= _ID_CHARS):
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
