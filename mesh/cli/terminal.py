"""Where a command line was typed: its streams, its environment, its home. Commands ask here, never the process they run in.

A command runs in the process that was started for it, or in the node, for a client (`command_server`).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from contextvars import ContextVar
from typing import TYPE_CHECKING, Protocol

from mesh.app.caller import CallerSide

if TYPE_CHECKING:
    from clan_learnings.search.indexes import SearchIndexes
    from mesh.app.record_store import RecordStore


_MOST_COLUMNS = 10_000


class TextStream(Protocol):
    """What can be written to."""

    def write(self, text: str, /) -> object:
        """Some text."""

    def flush(self) -> None:
        """All that was written."""

    def isatty(self) -> bool:
        """Whether a person looks at it."""


class CommandStopped(BaseException):
    """A command is not to go on. Not an Exception: nobody on the way may take it for a failure of their own."""


class RunByCaller(CommandStopped):
    """The node is not to do this for a client: the client's own process has to."""


class Terminal:
    """The one this process was started in."""

    home = ""  # of the node that runs the command for a client; empty: the command finds its home
    recall: SearchIndexes | None = None  # the node's indexes, and where it writes
    store: RecordStore | None = None
    side: CallerSide | None = None  # who finds out about the caller's surroundings, if not this process

    event: bytes | None = None  # of a hook, if it is read already

    def __init__(self, request_id: str = "") -> None:
        self.request_id = request_id  # what makes a write one, whoever does it in the end
        self.worked_on = ""  # the home that hints name: the one that was given, or one that is not this folder's

    @property
    def environ(self) -> Mapping[str, str]:
        """The caller's environment, or what of it commands need."""
        return os.environ

    @property
    def out(self) -> TextStream:
        """For data."""
        return sys.stdout

    @property
    def err(self) -> TextStream:
        """For words to a person."""
        return sys.stderr

    @property
    def width(self) -> int:
        """Columns of the terminal that shows what is printed; 0 in a pipe."""
        if not self.out.isatty():
            return 0
        given = self.environ.get("COLUMNS", "")
        if given.isascii() and given.isdigit() and 0 < int(given) < _MOST_COLUMNS:
            return int(given)
        return self._columns()

    @property
    def has_colour(self) -> bool:
        """Whether that terminal shows colours, and its owner wants them."""
        wanted = not self.environ.get("NO_COLOR") and self.environ.get("TERM", "dumb") != "dumb"
        return wanted and self.out.isatty()

    def _columns(self) -> int:
        try:
            return os.get_terminal_size(1).columns
        except (OSError, ValueError):
            return 0

    def read(self) -> str:
        """All of stdin. UnicodeDecodeError if it is no text."""
        return sys.stdin.read()

    def require_own_process(self) -> None:
        """Go on only in the caller's own process: this concerns files, programs, keys or members, or may take long."""


_HERE = Terminal()
_CURRENT: ContextVar[Terminal] = ContextVar("terminal", default=_HERE)


def terminal() -> Terminal:
    """The one of the command that runs in this thread."""
    return _CURRENT.get()


def use(other: Terminal) -> None:
    """Have this thread run a command for another terminal, from now on."""
    _CURRENT.set(other)
