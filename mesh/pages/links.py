"""The links of a page: `[[target]]`, `[[target|label]]`, `[[target#part]]`. Nothing here knows whether a target is there.

Code is passed over, fenced or between backticks. The text comes from anybody: every step is linear in its length.
"""

from __future__ import annotations

import re

from mesh.core.tuples import NamedTuple

TYPE_CHECKING = False  # see `mesh`
if TYPE_CHECKING:
    from collections.abc import Iterator

TARGET_CHARS = 1000  # with label and part
_LINK = re.compile(rf"(?<!\\)\[\[([^\[\]\n]{{1,{TARGET_CHARS}}})\]\]")
_FENCE = re.compile(r"[ \t>]*(`{3,}(?=[^`\n]*$)|~{3,})")
_BLOCK = re.compile(
    r"[ \t]*(?:[-*+>|]|\d{1,9}[.)]|#{1,6}[ \t])"
)  # lists, quotes, tables, headings: code ends before them
_TICKS = re.compile(r"`+")


class Link(NamedTuple):
    """A link, and the line (from 1) it stands in."""

    target: str
    line: int


def links(text: str) -> list[Link]:
    """Every link of a text, in order, also where one stands twice."""
    return [link for first, lines in _blocks(text) for link in _links_of(first, "\n".join(lines))]


def _blocks(text: str) -> Iterator[tuple[int, list[str]]]:
    """The number of the first line and the lines of each piece of text that code between backticks may span."""
    fence = ""
    first, lines = 1, list[str]()
    for number, line in enumerate(text.split("\n"), 1):
        match = _FENCE.match(line)
        if fence:
            closes = match and match[1].startswith(fence) and not line[match.end() :].strip()
            fence = "" if closes else fence
        elif match or not line.strip() or _BLOCK.match(line):
            yield first, lines
            first, lines = number, [] if match else [line]
            fence = match[1] if match else ""
        else:
            if not lines:
                first = number
            lines.append(line)
    yield first, lines


def _links_of(first: int, block: str) -> Iterator[Link]:
    if "[[" not in block:
        return
    at, line = 0, first
    for match in _LINK.finditer(_without_code(block)):
        line += block.count("\n", at, match.start())
        at = match.start()
        target = match[1].partition("|")[0].rstrip("\\").partition("#")[0].strip()
        if target:
            yield Link(target, line)


def _without_code(block: str) -> str:
    """The block with what stands between equal runs of backticks blanked out."""
    runs = [match.span() for match in _TICKS.finditer(block)]
    following: dict[int, int] = {}
    closer = [-1] * len(runs)  # the next run of the same length
    for place in range(len(runs) - 1, -1, -1):
        start, end = runs[place]
        closer[place] = following.get(end - start, -1)
        following[end - start] = place
    out: list[str] = []
    done = place = 0
    while place < len(runs):
        start = runs[place][0]
        if closer[place] < 0 or block[start - 1 : start] == "\\":
            place += 1
            continue
        end = runs[closer[place]][1]
        out += (block[done:start], re.sub(r"[^\n]", " ", block[start:end]))
        done = end
        place = closer[place] + 1
    out.append(block[done:])
    return "".join(out)
