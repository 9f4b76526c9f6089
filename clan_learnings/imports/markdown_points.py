"""The points of a Markdown text: what its lists say, and paragraphs that are rules. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from clan_learnings.harvest.item_quality import is_rule

_HEADING = re.compile(r"(#{1,6})\s+(.*?)\s*#*$")
_POINT = re.compile(r"(\s*)(?:[-*+]|\d{1,3}[.)])\s+(.*)")
_FENCE = re.compile(r"\s*(`{3,}|~{3,})")
_LINK = re.compile(r"!?\[([^\]]{0,200})\]\([^)]{0,500}\)")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_LINE_CHARS = 4000


class Point(NamedTuple):
    """One of them, with the headings above it."""

    line: int
    text: str
    headings: tuple[str, ...]


def points(text: str) -> Iterator[Point]:
    """Every point, in order. One under a point that ends in a colon is told with it."""
    headings: list[str] = []
    above: list[tuple[int, str]] = []  # points that this one may be under: how far they are indented, and what they say
    block: list[str] = []  # what is being read
    first = 0  # its line
    is_point = False
    fence = ""

    def ended() -> Iterator[Point]:
        nonlocal block, is_point
        said = plain(" ".join(block))
        depth = above[-1][0] if is_point and above else 0
        block, was_point, is_point = [], is_point, False
        if was_point:
            above[-1] = (depth, said)
            if said.endswith(":"):
                return
            head = next((each for indent, each in reversed(above[:-1]) if indent < depth), "")
            yield Point(first, f"{head} {said}" if head.endswith(":") else said, tuple(headings))
        elif said and is_rule(said):
            yield Point(first, said, tuple(headings))

    for number, given in enumerate(_lines(text), 1):
        line = given[:_LINE_CHARS]
        mark = _FENCE.match(line)
        if fence:
            fence = "" if mark is not None and mark[1].startswith(fence) else fence
            continue
        if mark is not None:
            yield from ended()
            fence = mark[1]
            continue
        heading, point = _HEADING.match(line), _POINT.match(line)
        if heading is not None:
            yield from ended()
            above.clear()
            del headings[len(heading[1]) - 1 :]
            headings += [""] * (len(heading[1]) - 1 - len(headings)) + [plain(heading[2])]
        elif point is not None:
            yield from ended()
            depth = len(point[1].expandtabs(4))
            while above and above[-1][0] >= depth:
                above.pop()
            above.append((depth, ""))
            block, first, is_point = [point[2]], number, True
        elif not line.strip():
            yield from ended()
        elif line.lstrip().startswith(("|", ">", "@", "<")):
            yield from ended()  # tables, quotations, imports of other files, HTML
        else:
            if not block:
                first = number
            block.append(line.strip())
    yield from ended()


def plain(text: str) -> str:
    """Without marks that only make it look better."""
    return _LINK.sub(lambda found: found[1], text).replace("**", "").replace("__", "").strip()


def _lines(text: str) -> list[str]:
    """Without comments and front matter, each line where it was."""
    text = _COMMENT.sub(lambda found: "\n" * found[0].count("\n"), text)
    lines = text.splitlines()
    if lines and lines[0].strip() == "---":
        end = next((at for at, line in enumerate(lines[1:], 1) if line.strip() == "---"), 0)
        lines[: end + 1] = [""] * (end + 1) if end else lines[:1]
    return lines
