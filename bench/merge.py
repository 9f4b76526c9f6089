"""`merge`: records a second that are verified, kept and folded, and what they cost in memory and on disk."""

import contextlib
import importlib.util
import os
import shutil
import time
from collections.abc import Callable, Iterator

from bench.homes import Source, source
from bench.machine import MB, disk_bytes, peak_bytes, resident_bytes
from bench.processes import Measures, side
from bench.pushes import push_singles
from bench.table import Goal, Report, say
from mesh.app.status import node_status
from mesh.store.bundles import ImportReport, export_bundle, import_bundle
from mesh.store.home import create_home, open_home
from mesh.store.reader import Reader

PUSHED = 5000
QUEUED = 16  # what comes while one transaction is written, when a neighbour sends without pause
Read = Callable[[Measures], float]
_PER_RECORD = ("ops", "ops/s", "bytes", "x")


def run(work: str, sizes: list[int], peer_seconds: float) -> Report:
    """Every size, ours then the peer's."""
    report = Report("merge", "one pycrdt document")
    for size in sizes:
        given = source(work, size)
        with _folder(work, f"merge-{size}") as folder:
            ours = _ours(folder, given)
            peer = _peer(folder, size, ours["group"], peer_seconds, report.notes)
        _describe(report, given, ours, peer)
    report.notes += [
        "ours checks every hash and signature and keeps a keyword index; the document does neither, but where said",
        "pushed: one operation, one signature, one transaction each, into the home that was just merged",
        f"in a queue: the same, but {QUEUED} that have come meanwhile share a transaction",
        "serving: the whole state given out once more, as to a newcomer",
    ]
    return report


def _ours(folder: str, given: Source) -> Measures:
    say(f"merging a bundle of {given.records:,}")
    mesh = open_home(given.home).mesh
    home = create_home(os.path.join(folder, "home"), "merging", mesh).path
    merged = side(merge_bundle, home=home, bundle=given.bundle, root=given.root)
    loaded = side(load_home, home=home)
    pushed = side(push_singles, home=home, count=PUSHED, together=1)
    queued = side(push_singles, home=home, count=PUSHED, together=QUEUED)
    return merged | {"load": loaded, "pushed": pushed, "queued": queued}


def merge_bundle(home: str, bundle: str, root: str) -> Measures:
    """The path of `mesh import`; then everything is served once."""
    opened = open_home(home)
    author = opened.author()
    store, report, commits = author.store, ImportReport(), 0

    def count_commit() -> bool:
        nonlocal commits
        commits += bool(report.statements)  # statements are merged first, in a commit of their own
        return False

    store.database.connection.set_commit_hook(count_commit)
    before = resident_bytes()
    wall, processor = time.perf_counter(), time.process_time()
    with open(bundle, "rb") as file:
        import_bundle(author, file, report)
    store.sync()
    measures: Measures = {
        "seconds": time.perf_counter() - wall,
        "processor_seconds": time.process_time() - processor,
        "count": report.operations,
        "group": round(report.operations / (commits - 1)),  # the last is that of `sync`
        "rss_before": before,
        "rss": resident_bytes(),
        "peak": peak_bytes(),
    }
    if store.root().hex() != root:
        raise RuntimeError("the merged state is not that of the source")
    store.database.run("PRAGMA wal_checkpoint(TRUNCATE)")
    measures["disk"] = disk_bytes(store.database.path)
    wall = time.perf_counter()
    with open(os.devnull, "wb") as out:
        export_bundle(store, out)
    measures |= {"served_seconds": time.perf_counter() - wall, "served_bytes": os.path.getsize(bundle)}
    Reader(store.database.connection).tail(20)
    node_status(opened, store)
    return measures | {"served_rss": resident_bytes()}


def load_home(home: str) -> Measures:
    """From the files to a node that knows its root and can say how it is."""
    wall = time.perf_counter()
    opened = open_home(home)
    store = opened.store()
    store.root()
    ready = time.perf_counter() - wall
    node_status(opened, store)
    return {"seconds": ready, "status_seconds": time.perf_counter() - wall, "rss": resident_bytes()}


def _peer(folder: str, records: int, group: int, seconds: float, remarks: list[str]) -> dict[str, Measures]:
    if importlib.util.find_spec("pycrdt") is None:
        remarks.append("pycrdt is not installed: no peer was measured")
        return {}
    from bench import document

    say(f"the same in one pycrdt document, {group} records a commit")
    first, second, third = (os.path.join(folder, f"{name}.db") for name in ("written", "merged", "indexed"))
    bounds = {"group": group, "seconds": seconds}
    steps = {"write": side(document.write_document, path=first, records=records, **bounds)}
    steps["merge"] = side(document.merge_document, source=first, path=second, indexed=False, **bounds)
    steps["index"] = side(document.merge_document, source=first, path=third, indexed=True, **bounds)
    steps["load"] = side(document.load_document, path=second, seconds=seconds)
    reached = records
    for step, done in steps.items():
        if done["count"] < reached:
            reached = done["count"]
            remarks.append(
                f"at {records:,} the document's {step} ran out of its {seconds:g} s at {reached:,} records:"
                " its rates and bytes a record are those up to there, its totals are left out"
            )
    return steps


def _describe(report: Report, given: Source, ours: Measures, peer: dict[str, Measures]) -> None:
    size, body = given.records, given.body_bytes / given.records

    def line(what: str, unit: str, read: Read, goal: Goal | None = None, step: str = "merge") -> None:
        # Totals of a document that did not get to the end would flatter it.
        whole = step in peer and peer[step]["count"] == size
        theirs = read(peer[step]) if whole or (step in peer and unit in _PER_RECORD) else None
        report.add(f"{size:>9,}  {what}", unit, read(ours if step != "load" else ours["load"]), theirs, goal)

    def alone(what: str, unit: str, value: float, goal: Goal | None = None) -> None:
        report.add(f"{size:>9,}  {what}", unit, value, None, goal)

    line("records merged", "ops", lambda found: found["count"])
    line("merge, wall", "ops/s", _rate, Goal(30_000))
    line("merge, processor", "ops/s", _processor_rate, Goal(30_000))
    line("merge, processor; both with keyword index", "ops/s", _processor_rate, step="index")
    alone("pushed one by one, wall", "ops/s", _rate(ours["pushed"]), Goal(3000))
    alone("pushed one by one, processor", "ops/s", _processor_rate(ours["pushed"]), Goal(3000))
    alone(f"pushed, {QUEUED} in a queue, wall", "ops/s", _rate(ours["queued"]), Goal(3000))
    line("memory before", "MB", lambda found: found["rss_before"] / MB)
    line("memory after merging", "MB", lambda found: found["rss"] / MB)
    line("memory after serving too", "MB", lambda found: found["served_rss"] / MB, Goal(150, most=True))
    line("memory, peak of merging", "MB", lambda found: found["peak"] / MB)
    line("memory, growth a record", "bytes", lambda found: (found["rss"] - found["rss_before"]) / found["count"])
    line("disk a record", "bytes", _disk)
    line("disk a record; both with keyword index", "bytes", _disk, step="index")
    line("disk over body", "x", lambda found: _disk(found) / body, Goal(2, most=True))
    alone("body", "bytes", body)
    line("bundle, or whole update, a record", "bytes", lambda found: found["served_bytes"] / found["count"])
    line("serving all", "s", lambda found: found["served_seconds"])
    line("loading", "s", lambda found: found["seconds"], step="load")
    line("memory after loading", "MB", lambda found: found["rss"] / MB, step="load")


def _rate(found: Measures) -> float:
    return float(found["count"] / found["seconds"])


def _processor_rate(found: Measures) -> float:
    return float(found["count"] / found["processor_seconds"])


def _disk(found: Measures) -> float:
    return float(found["disk"] / found["count"])


@contextlib.contextmanager
def _folder(work: str, name: str) -> Iterator[str]:
    """A folder that lasts as long as its benchmark: these are large."""
    path = os.path.join(work, name)
    shutil.rmtree(path, ignore_errors=True)
    os.makedirs(path)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
