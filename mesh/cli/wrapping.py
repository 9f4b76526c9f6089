"""Lines for a terminal: broken between words, never within one. Loaded only where a line does not fit."""

from __future__ import annotations

import re

from rich.cells import cell_len

from mesh.core.display import harmless

_LABEL_MOST = 26  # columns of a first field that further lines are put under
_WORD = re.compile(r"\S+\s*")


def wrapped(line: str, width: int) -> str:
    """A line in as many as it needs, all but the first put under its second field. A word that is longer than a line stays whole."""
    indent = min(_indent(line), width // 2)
    start = len(line) - len(line.lstrip())
    lines, current, columns = [], line[:start], start
    is_empty = True  # but for the indent
    for word in _WORD.findall(line[start:]):
        if not is_empty and columns + cell_len(word.rstrip()) > width:
            lines.append(current.rstrip())
            current, columns = " " * indent, indent
        current += word
        columns += cell_len(word)
        is_empty = False
    return harmless("\n".join([*lines, current.rstrip()]))  # what stands at the beginning of a line now did not before


def _indent(line: str) -> int:
    """Where the second field of a line begins; fields are two blanks apart."""
    start = len(line) - len(line.lstrip())
    gap = line.find("  ", start)
    if gap < 0 or gap > _LABEL_MOST:
        return start + 2  # no line of a text begins where a line of ours does
    return gap + len(line[gap:]) - len(line[gap:].lstrip())
