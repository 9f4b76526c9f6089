"""What commands print, and the only place where they do: JSON for machines, plain lines for people.

Whatever is printed here may hold text of others, and is made harmless: a command cannot forget it. Text that is printed as it
is has a function of its own, `put_ours`, whose few callers a test names.
"""

from __future__ import annotations

import io
import json
import sys
import time
from collections.abc import Sequence
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, Any, Protocol

from mesh.cli.streams import OutputLost, silence
from mesh.cli.terminal import terminal
from mesh.core.display import escaped, harmless, harmless_line
from mesh.core.ids import text_id

if TYPE_CHECKING:
    from mesh.cli.progress_bar import Bar

_COPIED = ("next:", "next,", "  next:", "  next,", "  mesh ")  # how lines begin that name a command to type
_MOMENT_SECONDS, _REDRAWN_SECONDS = 0.7, 0.2
_COLUMNS = 80  # of a terminal that shows our errors, while the output goes elsewhere


def print_json(value: Any) -> None:
    """One JSON document on stdout: the texts as they are, with escapes for what a terminal or a model would obey.

    Bytes are ids where they are hashes, else hex.
    """
    terminal().out.write(f"{escaped(_dumps(value))}\n")


def put(*lines: str) -> None:
    """Lines on stdout. Each is one line whatever is in it: no record can begin a line of its own."""
    for line in lines:
        terminal().out.write(f"{_fitted(harmless_line(line))}\n")


def put_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Rows under their headings, in aligned columns; for a terminal so that it fits."""
    here = terminal()
    clean = [[harmless_line(cell) for cell in row] for row in rows]
    if here.width:
        from mesh.cli.rich_output import table

        here.out.write(table(columns, clean, here.width, has_colour=here.has_colour))
        return
    lines = [list(columns), *clean]
    widths = [max(len(row[at]) for row in lines) for at in range(len(columns))]
    put(*("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in lines))


def put_text(text: str, exact: str) -> None:
    """A text of many lines that belongs to others, like a page. `exact`: the command that has it as it is."""
    made = harmless(text)
    terminal().out.write(made)
    if made != text:
        tell_inexact(exact)


def tell_inexact(exact: str) -> None:
    """That a text was not shown as it is."""
    tell("mesh: shown without what could hide in it or be taken for orders", f"  the exact text: {exact}")


def put_ours(text: str) -> None:
    """Text as it is. Only for what we have composed of harmless parts, or what was asked for as it is."""
    terminal().out.write(text)


def plain(value: object, limit: int = 300) -> str:
    """Any value as one short harmless line, to be part of another."""
    text = value if isinstance(value, str) else _dumps(value)
    text = " ".join(harmless_line(text[: 4 * limit]).split())
    return text if len(text) <= limit else text[: limit - 1] + "…"


def when(milliseconds: int) -> str:
    """A time as people and machines both read it."""
    seconds, rest = divmod(milliseconds, 1000)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{rest:03d}Z"


def tell(*lines: str) -> None:
    """Words for the person, which are not data: to stderr, after what stdout has. Agents read both in one pipe."""
    flush()
    try:
        terminal().err.write("\n".join(_fitted(_worded(line)) for line in lines) + "\n")
        terminal().err.flush()
    except OSError:
        silence()  # Python would try again at the end


def say(*lines: str) -> None:
    """Lines on stdout that may name a command to type."""
    for line in lines:
        terminal().out.write(f"{_fitted(_worded(line))}\n")


def say_labelled(columns: int, *lines: str) -> None:
    """The same, of lines whose first columns are a label."""
    if not terminal().has_colour:
        say(*lines)
        return
    from mesh.cli.rich_output import labelled

    for line in lines:
        first, *rest = _fitted(_worded(line)).split("\n")
        terminal().out.write("\n".join([labelled(first, columns), *rest]) + "\n")


def _fitted(line: str) -> str:
    """A line as it is; for a terminal that it does not fit, broken between words. What is to be copied is not."""
    width = terminal().width
    if not width or (len(line) <= width and line.isascii()) or line.startswith(_COPIED):
        return line
    from mesh.cli.wrapping import wrapped

    return wrapped(line, width)


def question(*lines: str) -> str:
    """What a person at a terminal answers; without its line end. Empty without one means that there was no answer."""
    _show("\n".join(map(harmless_line, lines)))
    return sys.stdin.readline()


def clear_screen() -> None:
    """Have a terminal begin anew; nothing in a pipe."""
    if terminal().out.isatty() and terminal().environ.get("TERM", "dumb") != "dumb":
        put_ours("\x1b[H\x1b[2J\x1b[3J")


def hinted(text: str) -> str:
    """A line with `--home` in the commands it names, if they would act on another home without it."""
    home = terminal().worked_on
    if not home or "mesh " not in text:
        return text
    from mesh.cli.home_option import with_home

    return with_home(text, home)


def tell_taken_out(found: str) -> None:
    """Which secrets and private passages a text has lost, by sorts; nothing if it has lost none."""
    if found:
        tell(f"mesh: taken out before it was written: {found}")


def flush() -> None:
    """Write what waits. If that fails it is remembered, and said when the command ends."""
    try:
        terminal().out.flush()
    except OutputLost:
        return


def _show(text: str) -> None:
    """On stderr, at once."""
    terminal().err.write(text)
    terminal().err.flush()


def _worded(line: str) -> str:
    return harmless_line(hinted(line))


def _dumps(value: Any) -> str:

    return json.dumps(value, ensure_ascii=False, default=_plain_bytes)


def _plain_bytes(value: Any) -> str:
    if not isinstance(value, bytes):
        raise TypeError(f"{type(value).__name__} in JSON")
    return text_id(value) if len(value) == 32 else value.hex()


def tell_proposed(answer: dict[str, Any]) -> bool:
    """Whether what was written about somebody else's record or pattern does not count yet; then that, and who can change it."""
    if "proposed" not in answer:
        return False
    tell(
        f"mesh: this mesh is guarded, and others wrote that: it waits for {answer['waits_for']} to say the same",
        f"  next, on another node: mesh proposals grant {answer['proposed']}",
    )
    return True


class Progress:
    """A counter on a terminal for what takes longer than a moment; silent in a pipe."""

    def __init__(self, what: str, total: int | None = None) -> None:
        """`total`: how much there is, if that is known."""
        self._what = what
        self._total = None if total is None else max(total, 1)
        self._count = 0
        self._next = time.monotonic() + _MOMENT_SECONDS
        self._bar: Bar | None = None

    def __call__(self, count: int = 1) -> None:
        """Count on, and show it now and then."""
        self._count += count
        if time.monotonic() < self._next or not terminal().err.isatty():
            return
        self._next = time.monotonic() + _REDRAWN_SECONDS
        if self._bar is None:
            from mesh.cli.progress_bar import Bar

            here = terminal()
            self._bar = Bar(here.err, self._what, self._total, here.width or _COLUMNS, has_colour=here.has_colour)
        self._bar.show(self._count)

    def done(self) -> None:
        """Leave the line."""
        if self._bar is not None:
            self._bar.show(self._count)
            self._bar.stop()
            self._bar = None


class Runnable(Protocol):
    """A command that another one uses."""

    def run(self, words: Sequence[str]) -> int:
        """Run it."""


def json_answer(command: Runnable, words: list[str]) -> Any:
    """What a command answers with `--json`. Its errors are raised, its words for people go to stderr as always."""
    kept = io.StringIO()
    with redirect_stdout(kept):
        command.run([*words, "--json"])
    return json.loads(kept.getvalue().splitlines()[-1])
