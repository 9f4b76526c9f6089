"""`start`: how long a node takes to be up, after a clean stop and after a kill -9 in the middle of writing."""

import random
import signal
import statistics
import subprocess
import threading
import time
from collections.abc import Callable
from itertools import islice

from bench.homes import LOG, source
from bench.machine import MB
from bench.merge import load_home
from bench.notes import notes
from bench.processes import MESH, Measures, side, side_command, started
from bench.table import Goal, Report, say
from mesh.core.draft import NewRecord
from mesh.store.home import open_home

_UP = b" mesh.node up node="
_WRITING = b"writing\n"
_WAIT_SECONDS = 120  # for a node that never comes up
_READY = Goal(1, most=True)


def run(work: str, records: int, repeat: int) -> Report:
    """Both kinds of start, several times."""
    given = source(work, records)
    report = Report("start", "")
    say(f"starting with {records:,} records, {repeat} times each way")
    sizes: list[int] = []

    def kill() -> None:
        sizes.append(kill_while_writing(given.home))

    loads = [side(load_home, home=given.home) for _ in range(repeat)]
    clean = [_up_seconds(given.home) for _ in range(repeat)]
    killed = [_up_seconds(given.home, kill) for _ in range(repeat)]
    for what, seconds in (("`mesh up` until it is up", clean), ("the same after kill -9", killed)):
        report.add(f"{records:>9,}  {what}, median", "s", statistics.median(seconds), None, _READY)
        report.add(f"{records:>9,}  {what}, worst", "s", max(seconds), None, _READY)
    report.add(f"{records:>9,}  open the store, root", "s", _median(loads, "seconds"))
    report.add(f"{records:>9,}  open the store, root, status", "s", _median(loads, "status_seconds"))
    report.add(f"{records:>9,}  memory after root and status", "MB", _median(loads, "rss") / MB)
    report.notes += [
        "from the start of the process to its log line; the file system's cache is warm",
        "left in the WAL by the kills, MB: " + ", ".join(f"{size / MB:.1f}" for size in sizes),
    ]
    return report


def kill_while_writing(home: str) -> int:
    """Kill a process that appends, between any two of its instructions. Returns what it left in the WAL, in bytes."""
    chance = random.Random()
    store = open_home(home).store()
    store.database.run("PRAGMA wal_checkpoint(TRUNCATE)")
    wal = store.database.path + "-wal"
    store.close()
    with started(side_command(write_for_ever, home=home), stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        if process.stdout.readline() != _WRITING:
            raise RuntimeError("the process to be killed did not begin to write")
        while process.poll() is None and not _live_bytes(wal):
            time.sleep(0.01)
        time.sleep(chance.uniform(0.0, 1.0))
        if process.poll() is not None:
            raise RuntimeError("the process to be killed ended by itself")
        process.kill()
    left = _live_bytes(wal)
    if not left:
        raise RuntimeError("the kill left nothing in the WAL: nothing to recover from")
    return left


def _live_bytes(wal: str) -> int:
    """The frames that the next process has to read: those of the WAL's current salt, see SQLite's file format.

    The size of the file says nothing: after a checkpoint a WAL is written anew from its start.
    """
    with open(wal, "rb") as file:
        header = file.read(32)
        frame = 24 + int.from_bytes(header[8:12], "big")
        live = 0
        while file.read(16)[8:] == header[16:24] != b"":
            live += frame
            file.seek(32 + live)
    return live


def write_for_ever(home: str) -> Measures:
    author = open_home(home).author()
    drafts = (NewRecord(LOG, note) for note in notes(10**9, seed=4))
    print(_WRITING.decode(), end="", flush=True)
    while True:
        author.append(list(islice(drafts, 100)))


def _up_seconds(home: str, before: Callable[[], None] = lambda: None) -> float:
    before()
    start = time.perf_counter()
    command = [MESH, "up", "--home", home]
    with started(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        alarm = threading.Timer(_WAIT_SECONDS, process.kill)
        alarm.start()
        said = b""
        for line in process.stderr:
            said += line
            if _UP in line:
                break
        seconds = time.perf_counter() - start
        process.send_signal(signal.SIGTERM)
        process.wait()
        alarm.cancel()
    if _UP not in said:
        raise RuntimeError(f"the node did not come up: {said.decode(errors='replace')}")
    return seconds


def _median(measures: list[Measures], name: str) -> float:
    return statistics.median(float(item[name]) for item in measures)
