"""Which lines of a Markdown text are code between fences, where a heading is none. Linear; reads no other Markdown."""

import re
from collections.abc import Sequence
from typing import NamedTuple

# https://spec.commonmark.org/0.31.2/#fenced-code-blocks. Behind backticks no more of them may follow.
_MARK = re.compile(r" {0,3}(?:(`{3,})([^`]*)|(~{3,})(.*))\Z")


class Fences(NamedTuple):
    """The numbers of lines, from 0."""

    inside: set[int]  # of blocks that are closed, their fences included
    unclosed: set[int]  # fences that nothing closes: text here, rather than code to the end of the document


class _Mark(NamedTuple):
    at: int
    sign: str
    length: int
    is_alone: bool  # nothing else stands in the line: only such a one closes a block


def fences(lines: Sequence[str]) -> Fences:
    """Where code stands in a text."""
    marks = [mark for at, line in enumerate(lines) if (mark := _mark(at, line)) is not None]
    longest = {"`": 0, "~": 0}  # of what could close a block and stands further on
    is_closed = []
    for mark in reversed(marks):
        is_closed.append(longest[mark.sign] >= mark.length)
        if mark.is_alone:
            longest[mark.sign] = max(longest[mark.sign], mark.length)
    found = Fences(set(), set())
    opened: _Mark | None = None
    for mark, closed in zip(marks, reversed(is_closed), strict=True):
        if opened is None and closed:
            opened = mark
        elif opened is None:
            found.unclosed.add(mark.at)
        elif mark.is_alone and mark.sign == opened.sign and mark.length >= opened.length:
            found.inside.update(range(opened.at, mark.at + 1))
            opened = None
    return found


def is_fence(line: str) -> bool:
    """Whether a line could open or close a block."""
    return _mark(0, line) is not None


def _mark(at: int, line: str) -> _Mark | None:
    found = _MARK.match(line)
    if found is None:
        return None
    fence, rest = (found[1], found[2]) if found[1] else (found[3], found[4])
    return _Mark(at, fence[0], len(fence), not rest.strip())
