"""`mesh logs`: what the node has written into its log, and what it goes on to write. Reads files, so never in the node."""

from __future__ import annotations

import os
import time
from collections.abc import Generator
from typing import BinaryIO

from mesh.cli.grammar import Given, Whole, command, option
from mesh.cli.main import EXIT_OK
from mesh.cli.output import flush, print_json, put
from mesh.core.errors import UsageError
from mesh.node.log_lines import FILES, SIDECAR_LOG
from mesh.store.home import open_home

_MOST = 1_000_000
_PAUSE_SECONDS = 0.2


@command("mesh logs -f", more="A node that runs in the foreground logs to its terminal.")
@option("-n", metavar="COUNT", type=Whole(0, _MOST), default=50, help="how many lines (default: 50)")
@option("-f", "--follow", help="go on with what is written from now on, until Ctrl-C")
def main(given: Given) -> int:
    """Print the last lines, and then what follows."""
    home = open_home(given.home)
    path = home.file(SIDECAR_LOG)
    try:
        current = open(path, "rb")  # noqa: SIM115 (rotated below)
    except FileNotFoundError:
        raise UsageError(
            f"there is no {path}: no node of this home has run in the background", "start one: mesh up --detach"
        ) from None
    with current:
        for line in last_lines(path, current, given.n):
            _print(line, as_json=given.json)
        if given.follow:
            for line in following(path, current):
                _print(line, as_json=given.json)
    return EXIT_OK


def _print(line: bytes, *, as_json: bool) -> None:
    text = line.decode("utf-8", "replace")
    if as_json:
        print_json({"line": text})
    else:
        put(text)


def last_lines(path: str, current: BinaryIO, count: int) -> list[bytes]:
    """The last whole lines of a log, its older files included. The current file is left where they end.

    A file is a few megabytes at most, so it is read whole.
    """
    *found, rest = current.read().split(b"\n")
    current.seek(-len(rest), os.SEEK_CUR)  # half a line is told once it is whole
    for number in range(1, FILES + 1):
        if len(found) >= count:
            break
        try:
            with open(f"{path}.{number}", "rb") as older:
                found = [*older.read().splitlines(), *found]
        except FileNotFoundError:
            break
    return found[-count:] if count else []


def following(path: str, current: BinaryIO, pause: float = _PAUSE_SECONDS) -> Generator[bytes, None, None]:
    """Whole lines as they are written, for ever; also behind a rotation."""
    rest = b""
    try:
        while True:
            is_over = _is_another(path, current)  # asked before its end is read: nothing comes behind that
            *lines, rest = (rest + current.read()).split(b"\n")
            yield from lines
            if is_over:
                yield from filter(None, (rest,))
                rest = b""
                current.close()
                current = open(path, "rb")  # noqa: SIM115 (closed below)
            else:
                flush()
                time.sleep(pause)
    finally:
        current.close()


def _is_another(path: str, current: BinaryIO) -> bool:
    """Whether a new file stands in the place of the one that is being read."""
    try:
        found, mine = os.stat(path), os.fstat(current.fileno())
    except FileNotFoundError:
        return False  # between two files
    return (found.st_dev, found.st_ino) != (mine.st_dev, mine.st_ino)
