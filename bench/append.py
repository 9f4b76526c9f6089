"""`append`: acknowledged writes a second, each on disk before it is answered, beside a plain SQLite table."""

import os
import shutil
import statistics
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import apsw

from bench.homes import LOG
from bench.notes import notes
from bench.processes import Measures, side
from bench.table import Report, say
from mesh.core.draft import NewRecord
from mesh.core.operation import Add, encode
from mesh.store.author import Author
from mesh.store.home import create_home
from mesh.store.writer import Writer

_ROUNDS = 5
_SINGLES = 300  # a round
_THREADS = 64
_A_THREAD = 25
_BATCH = 1000
_BATCHES = 4

Note = dict[str, str]


def run(work: str) -> Report:
    """Ours and theirs in turn, on the same disk; the median of the rounds."""
    report = Report("append", "plain SQLite")
    say(f"writing and syncing, {_ROUNDS} rounds")
    folder = os.path.join(work, "append")
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    measures = side(append_in_turn, folder=folder)
    shutil.rmtree(folder, ignore_errors=True)
    for what, (ours, theirs) in measures.items():
        report.add(what, "writes/s", statistics.median(ours), statistics.median(theirs))
    report.notes += [
        "plain SQLite: the same bodies into one table of two columns, WAL, synchronous=FULL, no index, no signature",
        f"{_THREADS} threads: each waits for its receipt before it writes again; beside it {_THREADS} rows a commit",
    ]
    return report


def append_in_turn(folder: str) -> Measures:
    author = create_home(os.path.join(folder, "home"), "appending").author()
    table = _Table(os.path.join(folder, "plain.db"))
    supply = notes(10**9, seed=3)
    pairs: dict[str, tuple[Callable[[list[Note]], None], Callable[[list[Note]], None], int]] = {
        "one writer, one record a write": (lambda given: _singles(author, given), table.singles, _SINGLES),
        f"{_THREADS} threads, one record a write": (
            lambda given: _threads(author, given),
            lambda given: table.groups(given, _THREADS),
            _THREADS * _A_THREAD,
        ),
        f"one writer, {_BATCH} records a write": (
            lambda given: _groups(author, given),
            lambda given: table.groups(given, _BATCH),
            _BATCH * _BATCHES,
        ),
    }
    rates: dict[str, tuple[list[float], list[float]]] = {what: ([], []) for what in pairs}
    for _ in range(_ROUNDS):
        for what, (*sides, count) in pairs.items():
            for rate, write in zip(rates[what], sides, strict=True):
                given = [next(supply) for _ in range(count)]
                start = time.perf_counter()
                write(given)
                rate.append(count / (time.perf_counter() - start))
    return dict(rates)


def _singles(author: Author, given: list[Note]) -> None:
    for note in given:
        author.append([NewRecord(LOG, note)])


def _groups(author: Author, given: list[Note]) -> None:
    for first in range(0, len(given), _BATCH):
        author.append([NewRecord(LOG, note) for note in given[first : first + _BATCH]])


def _threads(author: Author, given: list[Note]) -> None:
    gate = threading.Barrier(_THREADS)

    def write(part: list[Note]) -> None:
        gate.wait()
        for note in part:
            writer.submit([NewRecord(LOG, note)]).result()

    with Writer(author) as writer, ThreadPoolExecutor(_THREADS) as pool:
        list(pool.map(write, [given[first::_THREADS] for first in range(_THREADS)]))


class _Table:
    """What a program without any of our promises but durability would do."""

    def __init__(self, path: str) -> None:
        self._connection = apsw.Connection(path)
        self._connection.execute("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA fullfsync=ON")
        self._connection.execute("CREATE TABLE notes(number INTEGER PRIMARY KEY, body BLOB)")

    def singles(self, given: list[Note]) -> None:
        self.groups(given, 1)

    def groups(self, given: list[Note], size: int) -> None:
        for first in range(0, len(given), size):
            rows = [(encode(Add(1, LOG, note), os.urandom(16)),) for note in given[first : first + size]]
            self._connection.execute("BEGIN IMMEDIATE")
            self._connection.executemany("INSERT INTO notes(body) VALUES(?)", rows)
            self._connection.execute("COMMIT")
