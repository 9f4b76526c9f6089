"""A bar on a terminal for what has a known length. Silent in a pipe."""

import sys
import time

from mesh.cli.output import draw, tell

_WIDTH = 30


class Bar:
    """Counts on with every call."""

    def __init__(self, what: str, total: int) -> None:
        self._what = what
        self._total = max(total, 1)
        self._count = 0
        self._next = time.monotonic() + 0.5
        self._shown = False

    def __call__(self) -> None:
        """One more is done."""
        self._count += 1
        if sys.stderr.isatty() and time.monotonic() >= self._next:
            share = min(self._count / self._total, 1.0)
            filled = int(share * _WIDTH)
            bar = "#" * filled + "." * (_WIDTH - filled)
            draw(f"{self._what} [{bar}] {self._count:,} of {self._total:,}")
            self._next, self._shown = time.monotonic() + 0.2, True

    def done(self) -> None:
        """Leave the line."""
        if self._shown:
            tell("")
