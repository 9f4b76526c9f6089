"""The three standard streams. Only the `mesh` script opens them: `mesh.cli.main`.

A failure of stdout cannot be taken for any other error: a full disk under `> FILE` is not a full disk under the home, and a reader that has gone is not a peer that has gone.
"""

from __future__ import annotations

import os
import sys
from errno import EBADF, EPIPE
from io import BufferedWriter, FileIO, RawIOBase, TextIOWrapper
from select import POLLOUT, poll
from typing import Any

_STDOUT = 1


class OutputLost(Exception):
    """Stdout cannot be written. Not an OSError: nobody on the way may take it for a failure of their own."""

    def __init__(self, error: OSError) -> None:
        super().__init__("it is closed" if error.errno == EBADF else error.strerror)
        self.is_told = error.errno == EPIPE  # whoever read our output has enough; or the command has dealt with it


class _Descriptor(FileIO):
    """Descriptor 1. Once it has failed, what is written goes nowhere: the buffer above would try the same bytes again."""

    lost: OutputLost | None = None

    def write(self, data: Any) -> int:
        """Write some of it; all of it if there is nowhere to write to."""
        while self.lost is None:
            try:
                written = super().write(data)
            except OSError as error:
                self.lost = OutputLost(error)
                raise self.lost from error
            if written is not None:
                return written
            _wait()  # whoever shares the pipe has made it non-blocking, and it is full
        return len(data)


def open_streams() -> _Descriptor:
    """Put our own stdout in its place, and something in the place of what was closed. Returns what stdout writes to."""
    if sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115 (to the end)
    old = sys.stdout
    if old is None:
        _occupy()
    raw = _Descriptor(_STDOUT, "wb", closefd=False)
    is_unbuffered = old is not None and isinstance(getattr(old, "buffer", None), RawIOBase)
    sys.stdout = TextIOWrapper(
        raw if is_unbuffered else BufferedWriter(raw),
        encoding="utf-8" if old is None else old.encoding,
        errors="backslashreplace",  # a terminal without our letters shows their codes, it does not fail
        line_buffering=old is not None and bool(old.line_buffering),
        write_through=is_unbuffered,
    )
    if sys.stderr is None:
        silence()
    else:
        sys.stderr.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    return raw


def silence() -> None:
    """Have stderr go nowhere: it is closed, or does not take what it is given."""
    sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 (to the end)


def _occupy() -> None:
    """Have descriptor 1 taken by something that cannot be written: the next file that is opened would get the number."""
    descriptor = os.open(os.devnull, os.O_RDONLY)
    if descriptor != _STDOUT:
        os.dup2(descriptor, _STDOUT)
        os.close(descriptor)


def _wait() -> None:
    """Until something can be written, or will fail."""
    ready = poll()
    ready.register(_STDOUT, POLLOUT)
    ready.poll()
