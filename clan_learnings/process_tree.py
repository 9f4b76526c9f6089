"""The processes above this one, as far as the system tells without starting another. Judges nothing.

A process is named by its number and its start, so that a number used again is not taken for the old one.
"""

from __future__ import annotations

import os
from collections import namedtuple

TYPE_CHECKING = False  # see `mesh`
if TYPE_CHECKING:
    from typing import NamedTuple

    class Process(NamedTuple):
        """One process: number, start in the system's ticks (0: not known), name of its program."""

        number: int
        start: int
        name: str

else:
    Process = namedtuple("Process", ("number", "start", "name"))  # noqa: PYI024

_DEPTH = 32


def ancestors(proc: str = "/proc") -> tuple[Process, ...]:
    """The parent first, then its parent, and so on. Without /proc only the parent is known."""
    parent = os.getppid()
    found: list[Process] = []
    while parent > 1 and len(found) < _DEPTH:
        process, parent = _look(proc, parent)
        if process is None:
            break
        found.append(process)
    return tuple(found) or (Process(os.getppid(), 0, ""),)


def is_alive(number: int, start: int, proc: str = "/proc") -> bool:
    """Whether that very process still runs."""
    process, _ = _look(proc, number)
    return process is not None and process.start == start


def _look(proc: str, number: int) -> tuple[Process | None, int]:
    """A process and its parent's number."""
    try:
        with open(f"{proc}/{number}/stat", encoding="utf-8", errors="replace") as file:
            text = file.read()
        # The name stands in parentheses and may hold any character; the fields after it are numbers.
        name, _, rest = text.partition("(")[2].rpartition(")")
        fields = rest.split()
        return Process(number, int(fields[19]), name), int(fields[1])
    except (OSError, ValueError, IndexError):
        return None, 0
