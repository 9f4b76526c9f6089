"""How often records were opened: one counter for each record and month, summed over the fleet.

Only deliberate opening counts (`show`, `why`, an agent's read_record). Being listed, found or put into a context does not.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from fcntl import LOCK_EX, flock
from typing import TYPE_CHECKING

from mesh.core.draft import Draft, Increment
from mesh.core.errors import MeshError
from mesh.core.ids import parse_id, text_id
from mesh.store.reader import Reader

if TYPE_CHECKING:
    from mesh.store.home import Home


KEY = "opened:"  # before the id of a record and a month: opened:<id>:2026-11
DAYS = 90  # an opening counts while a day of its month is among the last so many
_DAY_MS = 86_400_000


def key(record: str, month: str) -> str:
    """The counter of a record, by its whole id, and a month."""
    return f"{KEY}{record}:{month}"


def month_of(at_ms: int) -> str:
    """The month of a time, in UTC."""
    return time.strftime("%Y-%m", time.gmtime(at_ms // 1000))


def lately(now_ms: int) -> list[str]:
    """The months of the last days in which openings count: three or four."""
    found = dict.fromkeys(month_of(max(0, now_ms - days * _DAY_MS)) for days in range(DAYS, 0, -20))
    return [*found | {month_of(now_ms): None}]


def accesses(reader: Reader, tag: bytes, months: list[str]) -> int:
    """How often a record was opened in these months, on any node."""
    record = text_id(tag)
    return sum(reader.total(key(record, month)) for month in months)


FILE = "opened"  # in the home: a time in milliseconds and the id of a record, a line each
HOUR_MS = 3_600_000
_NOTES_BYTES = 32 * 1024  # about five hundred openings; those of the same hour that come after them are not counted
_TIME_CHARS = 13


def note_opening(home: str, record: str, now_ms: int | None = None) -> None:
    """Note that a record was opened, by its whole id. If no node runs, old notes are counted at once."""
    now_ms = int(time.time() * 1000) if now_ms is None else now_ms
    try:
        is_due = _note(os.path.join(home, FILE), f"{now_ms:0{_TIME_CHARS}} {record}\n".encode(), now_ms)
        if is_due:
            _count_without_sidecar(home, now_ms)
    except (MeshError, OSError):
        return  # a sandbox that may only read, a full disk, a busy home: what was opened is shown all the same


def count_openings(home: Home, now_ms: int, *, anyway: bool = False) -> int:
    """Count what was noted, if the oldest note is an hour old. Returns how many operations that took; raises MeshError or OSError.

    Private records, and what is gone meanwhile, are not counted: the shared notebook does not know them.
    """
    path = home.file(FILE)
    lines = _take(path, now_ms, anyway=anyway) if os.path.exists(path) else b""
    if not lines:
        return 0
    try:
        return _count(home, lines)
    except (MeshError, OSError):
        _note(path, lines, now_ms)  # for the next time
        raise


def _count_without_sidecar(home: str, now_ms: int) -> None:

    from mesh.store.home import node_process_id, open_home  # those who only read do not load what writes

    opened = open_home(home)
    if node_process_id(opened) is None:
        count_openings(opened, now_ms)


def _note(path: str, lines: bytes, now_ms: int) -> bool:
    """Add lines, if there is room. Returns whether the oldest is old enough to be counted."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    try:
        flock(descriptor, LOCK_EX)  # held only for the time of a read
        if os.fstat(descriptor).st_size + len(lines) <= _NOTES_BYTES:
            os.write(descriptor, lines)
        return _is_due(descriptor, now_ms)
    finally:
        os.close(descriptor)


def _take(path: str, now_ms: int, *, anyway: bool) -> bytes:
    """Take all lines out of the file, or none before they are due."""
    descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    try:
        flock(descriptor, LOCK_EX)
        if not anyway and not _is_due(descriptor, now_ms):
            return b""
        lines = os.pread(descriptor, _NOTES_BYTES, 0)
        os.ftruncate(descriptor, 0)
        return lines
    finally:
        os.close(descriptor)


def _is_due(descriptor: int, now_ms: int) -> bool:
    """Whether the first note is an hour old, or lies in the future because the clock was set back."""
    first = os.pread(descriptor, _TIME_CHARS, 0)
    return bool(first) and not (first.isdigit() and 0 <= now_ms - int(first) < HOUR_MS)


def _count(home: Home, lines: bytes) -> int:

    author = home.author()
    try:
        with author.store.database.savepoint():  # one state: a record may be erased meanwhile
            drafts = _drafts(Reader(author.store.database.connection), lines)
        if not drafts or not author.may_write:  # what a reader has opened is counted nowhere
            return 0
        author.append(drafts)
        return len(drafts)
    finally:
        author.store.close()


def _drafts(reader: Reader, lines: bytes) -> list[Draft]:

    counts: dict[str, int] = {}
    live: dict[bytes, bool] = {}
    for at_ms, tag, record in _read(lines):
        if tag not in live:
            live[tag] = reader.entry(tag) is not None
        if live[tag]:
            name = key(record, month_of(at_ms))
            counts[name] = counts.get(name, 0) + 1
    return [Increment(name, count) for name, count in sorted(counts.items())]


def _read(lines: bytes) -> Iterator[tuple[int, bytes, str]]:
    """Time, tag and id of every valid line."""
    for line in lines.decode("ascii", "replace").splitlines():
        at, _, record = line.partition(" ")
        if len(at) == _TIME_CHARS and at.isascii() and at.isdigit():
            try:
                tag = parse_id(record, "record id")
            except MeshError:
                continue
            yield int(at), tag, text_id(tag)
