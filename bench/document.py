"""The peer of `merge`: the same records in one pycrdt document, each update a row in SQLite. Nothing of ours.

It checks no signature and its author is not known; with `indexed` it keeps the keyword index we keep.
"""

import time
from collections.abc import Iterator
from itertools import islice
from typing import Any

import apsw
from pycrdt import Array, Doc, TransactionEvent

from bench.machine import disk_bytes, peak_bytes, resident_bytes
from bench.notes import notes
from bench.processes import Measures

_FIELD = "records"


def write_document(path: str, records: int, group: int, seconds: float) -> Measures:
    """Append the records one by one, each its own update; commit in groups. Stops when the time is over."""
    table = _Updates(path)
    before, meter = resident_bytes(), _Meter(seconds)
    document: Doc[Any] = Doc()
    array: Array[Any] = document.get(_FIELD, type=Array)
    updates: list[bytes] = []

    def keep(event: TransactionEvent) -> None:
        updates.append(event.update)

    document.observe(keep)
    source = notes(records)
    while not meter.is_over and (batch := list(islice(source, group))):
        for note in batch:
            array.append(note)
        table.keep(updates)
        table.commit()
        meter.count += len(updates)
        updates.clear()
    return meter.measures() | _memory(before) | {"disk": table.checkpoint()}


def merge_document(source: str, path: str, group: int, seconds: float, *, indexed: bool) -> Measures:
    """Apply the updates of another document one by one, and keep them. Then serve them all, as a newcomer asks."""
    table = _Updates(path, indexed=indexed)
    arriving = _Updates(source).read()
    before, meter = resident_bytes(), _Meter(seconds)
    document: Doc[Any] = Doc()
    array: Array[Any] = document.get(_FIELD, type=Array)
    while not meter.is_over and (batch := list(islice(arriving, group))):
        for update in batch:
            document.apply_update(update)
        table.keep(batch)
        if indexed:
            table.index(meter.count, array[meter.count : meter.count + len(batch)])
        table.commit()
        meter.count += len(batch)
    measures = meter.measures() | _memory(before)
    wall = time.perf_counter()
    served = {"served_bytes": len(document.get_update()), "served_seconds": time.perf_counter() - wall}
    return measures | served | {"served_rss": resident_bytes(), "disk": table.checkpoint()}


def load_document(path: str, seconds: float) -> Measures:
    """From the rows to a document that answers, as at every start."""
    before, meter = resident_bytes(), _Meter(seconds)
    document: Doc[Any] = Doc()
    array: Array[Any] = document.get(_FIELD, type=Array)
    for update in _Updates(path).read():
        document.apply_update(update)
        meter.count += 1
        if meter.count % 1000 == 0 and meter.is_over:
            break
    if len(array) != meter.count:
        raise RuntimeError(f"{len(array)} records loaded from {meter.count} updates")
    return meter.measures() | _memory(before)


class _Updates:
    """One table of updates, merged ones synced as ours are: WAL, NORMAL, one commit a group."""

    def __init__(self, path: str, *, indexed: bool = False) -> None:
        self._path = path
        self._connection = apsw.Connection(path)
        self._connection.execute("PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL")
        self._connection.execute("CREATE TABLE IF NOT EXISTS updates(number INTEGER PRIMARY KEY, data BLOB)")
        if indexed:
            self._connection.execute(
                "CREATE VIRTUAL TABLE words USING fts5(text, content='', tokenize='porter unicode61')"
            )

    def keep(self, updates: list[bytes]) -> None:
        self._connection.execute("BEGIN IMMEDIATE")
        self._connection.executemany("INSERT INTO updates(data) VALUES(?)", [(update,) for update in updates])

    def index(self, first: int, records: list[dict[str, str]]) -> None:
        rows = [(number, "\n".join(record.values())) for number, record in enumerate(records, first)]
        self._connection.executemany("INSERT INTO words(rowid, text) VALUES(?,?)", rows)

    def commit(self) -> None:
        self._connection.execute("COMMIT")

    def read(self) -> Iterator[bytes]:
        for (data,) in self._connection.execute("SELECT data FROM updates ORDER BY number"):
            assert isinstance(data, bytes)
            yield data

    def checkpoint(self) -> int:
        self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return disk_bytes(self._path)


class _Meter:
    """Wall and processor time since it was made, with a limit."""

    def __init__(self, seconds: float) -> None:
        self.count = 0
        self._wall, self._processor = time.perf_counter(), time.process_time()
        self._limit = self._wall + seconds

    @property
    def is_over(self) -> bool:
        return time.perf_counter() > self._limit

    def measures(self) -> Measures:
        wall, processor = time.perf_counter() - self._wall, time.process_time() - self._processor
        return {"count": self.count, "seconds": wall, "processor_seconds": processor}


def _memory(before: int) -> Measures:
    return {"rss_before": before, "rss": resident_bytes(), "peak": peak_bytes()}
