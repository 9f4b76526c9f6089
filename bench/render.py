"""`render`: how long after a write the rendered files show it, and how long all of them take from nothing."""

import os
import shutil
import time
from collections.abc import Iterator

from bench.checkout import Checkout, checkout
from bench.clan import clan
from bench.learnings import REPOS, Lessons
from bench.processes import Measures, side
from bench.quantiles import quantile
from bench.sidecars import rest, running
from bench.table import Goal, Report, say
from clan_learnings.records.record import CORRECTIONS, DISCOVERIES
from mesh.core.draft import NewRecord
from mesh.store.home import open_home

_GOAL = Goal(1, most=True)
_WAIT_SECONDS = 60.0
_WHOLE_SECONDS = 600.0
_LOOK_SECONDS = 0.002
_PAUSE_SECONDS = 0.3  # between two writes, so that what follows the first is over
_FILES = {DISCOVERIES: "discoveries.jsonl", CORRECTIONS: "corrections.md"}


def run(work: str, sizes: list[int], rounds: int) -> Report:
    """Every size: from nothing, then single writes beside a sidecar."""
    report = Report("render", "")
    place = checkout(work)
    for size in sizes:
        home = clan(work, size).home
        say(f"all files of {size:,} records from nothing")
        report.add(f"{size:>9,}  mesh render DIR, from nothing", "s", _whole(work, place, home))
        with running(home) as sidecar:
            rest(sidecar, _WHOLE_SECONDS)  # a home that was never rendered is, now
            say(f"{rounds} writes of each kind with {size:,} records, until the files show them")
            for log, file in _FILES.items():
                found = side(
                    write_and_look, home=home, log=log, file=os.path.join(home, "rendered", file), count=rounds
                )
                what = f"{size:>9,}  a write is in {file}"
                report.add(f"{what}, median", "s", found["median"], None, _GOAL)
                report.add(f"{what}, worst", "s", found["worst"], None, _GOAL)
                report.add(f"{what}, the first of them", "s", found["first"])
    report.notes += [
        f"from the receipt of the write, which is on disk by then, until the replaced file holds its words; {rounds} writes each",
        "the first write after the start, when the sidecar counts what it later remembers, is in a row of its own",
    ]
    return report


def _whole(work: str, place: Checkout, home: str) -> float:
    folder = os.path.join(work, "rendered")
    shutil.rmtree(folder, ignore_errors=True)
    seconds, _ = place.mesh(["render", folder], home)
    shutil.rmtree(folder, ignore_errors=True)
    return seconds


def write_and_look(home: str, log: str, file: str, count: int) -> Measures:
    """One record at a time, and a look into the file until it is there."""
    author = open_home(home).author()
    seconds = []
    for word, draft in _drafts(log, count + 1):
        author.append([draft])
        received = time.perf_counter()
        while not _holds(file, word):
            if time.perf_counter() > received + _WAIT_SECONDS:
                raise RuntimeError(f"a record was not in {file} after {_WAIT_SECONDS:g} s")
            time.sleep(_LOOK_SECONDS)
        seconds.append(time.perf_counter() - received)
        time.sleep(_PAUSE_SECONDS)
    first, *others = seconds
    return {"first": first, "median": quantile(others, 0.5), "worst": max(others)}


def _holds(file: str, word: bytes) -> bool:
    try:
        with open(file, "rb") as handle:
            return word in handle.read()
    except FileNotFoundError:
        return False


def _drafts(log: str, count: int) -> Iterator[tuple[bytes, NewRecord]]:
    """Records with a word in each that stands nowhere else."""
    lessons, begin = Lessons(), time.time_ns()
    for number in range(count):
        word = f"unheard{begin + number}"
        about = {"repo": REPOS[0], "agent": "claude-code", "session": f"claude-code:{word}", "confidence": 0.8}
        if log == DISCOVERIES:
            yield word.encode(), NewRecord(log, about | {"text": f"The cache is stale after {word} was set."})
        else:
            wrong, right = f"used {word} for the cache", "use the new client for the cache"
            slug = lessons.lesson(200_000_000 + number).slug
            yield (
                word.encode(),
                NewRecord(log, about | {"wrong": wrong, "right": right, "pattern": slug, "source": "agent"}),
            )
