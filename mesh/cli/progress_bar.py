"""A bar that says how far a long command is, on a terminal's stderr. Loaded only when it is drawn."""

from __future__ import annotations

from rich.progress import BarColumn, Progress, TextColumn

from mesh.cli.rich_output import console_for
from mesh.cli.terminal import TextStream


class Bar:
    """A bar on a terminal's stderr. Without a thread of its own: it is drawn when it is told to be."""

    def __init__(self, stream: TextStream, what: str, total: int | None, width: int, *, has_colour: bool) -> None:
        """`total`: None if nobody knows how much there is."""
        counted = "{task.completed:,}" if total is None else "{task.completed:,} of {task.total:,}"
        columns = (TextColumn("{task.description}"), BarColumn(30), TextColumn(counted))
        self._progress = Progress(
            *columns,
            console=console_for(width, has_colour=has_colour, stream=stream),
            auto_refresh=False,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._task = self._progress.add_task(what, total=total)
        self._progress.start()

    def show(self, completed: int) -> None:
        """So much is done."""
        self._progress.update(self._task, completed=completed, refresh=True)

    def stop(self) -> None:
        """Leave it as it is."""
        self._progress.stop()
