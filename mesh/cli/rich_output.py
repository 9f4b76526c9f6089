"""What a terminal is shown in the place of plain lines: wrapped between words, tables, a little colour. Loaded only for one.

Nothing here writes: each function makes text for the width and the colours of the terminal that it is for, which may be a
client's. What is given is harmless already, and is never read as markup.
"""

from __future__ import annotations

import io
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from mesh.cli.terminal import TextStream
from mesh.cli.wrapping import wrapped


def labelled(line: str, columns: int) -> str:
    """A line whose first columns are its label, in bold."""
    return _rendered(Text.assemble((line[:columns], "bold"), line[columns:]))


def table(columns: Sequence[str], rows: Sequence[Sequence[str]], width: int, *, has_colour: bool) -> str:
    """A table, if it fits; else each row as a block of lines."""
    shown = [
        at for at in range(len(columns)) if any(row[at] != "-" for row in rows)
    ]  # nobody needs a column of hyphens
    made = Table(box=None, pad_edge=False, header_style="bold")
    for at in shown:
        made.add_column(columns[at], no_wrap=True)
    for row in rows:
        made.add_row(*(Text(row[at]) for at in shown))
    console = console_for(width, has_colour=has_colour)
    if console.measure(made, options=console.options.update(width=10 * width)).maximum <= width:
        return _printed(console, made)
    label = max((len(columns[at]) for at in shown), default=0)
    lines = []
    for row in rows:
        lines.append(Text(row[0], style="bold"))
        lines += [Text(wrapped(f"  {columns[at]:<{label}}  {row[at]}", width)) for at in shown[1:] if row[at] != "-"]
    return _printed(console, *lines)


def console_for(width: int, *, has_colour: bool, stream: TextStream | None = None) -> Console:
    """What draws for a terminal. `stream`: where to; None: to be asked for what was drawn."""
    return Console(
        file=io.StringIO() if stream is None else stream,  # type: ignore[arg-type]
        width=width,
        force_terminal=True,
        color_system="standard" if has_colour else None,
        no_color=not has_colour,
        markup=False,
        emoji=False,
        highlight=False,
        legacy_windows=False,
    )


def _rendered(text: Text) -> str:
    return _printed(console_for(max(len(text) + 1, 20), has_colour=True), text).removesuffix("\n")


def _printed(console: Console, *things: Text | Table) -> str:
    with console.capture() as kept:
        for thing in things:
            console.print(thing, soft_wrap=isinstance(thing, Text))
    return "\n".join(line.rstrip() for line in kept.get().split("\n"))
