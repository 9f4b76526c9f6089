"""`bootstrap`: a newcomer that fetches everything from three nodes, beside merging the same from memory."""

import os
import shutil
import statistics
import time
from collections.abc import Callable
from contextlib import ExitStack

from bench import repository, room, sidecars, writing
from bench.machine import MB, resident_bytes
from bench.notes import notes
from bench.processes import Measures, side
from bench.table import Goal, Report, say
from mesh.core.feed import encode_range
from mesh.store.home import create_home, open_home
from mesh.store.merge_outcome import Merged
from mesh.store.reader import open_reading
from peers.proto.gossip_config import ANSWER_BYTES

_NODES = 3
_RECORDS = 100_000
_BATCH = 1000
_FETCH_SECONDS = 120.0
_ROUNDS = 3  # newcomers, and merges from memory: the median of each


def run(work: str) -> Report:
    """Newcomers and merges from memory in turn, then the peers."""
    report = Report("bootstrap", "pycrdt-websocket", second="git")
    folder = os.path.join(work, "bootstrap")
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    ours = _ours(folder)
    theirs = _measured(room.missing(), _room, report.notes)
    git = _measured(repository.missing(), lambda: _repository(folder), report.notes)
    shutil.rmtree(folder, ignore_errors=True)
    _describe(report, ours, theirs, git)
    return report


def _ours(folder: str) -> Measures:
    homes = [os.path.join(folder, f"node{number}") for number in range(_NODES)]
    sidecars.found(homes[0])
    with ExitStack() as stack:
        nodes = [stack.enter_context(sidecars.running(homes[0], listen=sidecars.free_port()))]
        for home in homes[1:]:
            sidecars.join(nodes[0], home)
            nodes.append(stack.enter_context(sidecars.running(home, listen=sidecars.free_port())))
        say(f"{_RECORDS:,} records written at {_NODES} nodes")
        for number, home in enumerate(homes):
            share = _RECORDS * (number + 1) // _NODES - _RECORDS * number // _NODES
            side(writing.write_batches, home=home, count=share, batch=_BATCH, seed=1 + number)
        for home in homes:
            sidecars.wait_for(home, _RECORDS, _FETCH_SECONDS)
        sidecars.until("all have one root", lambda: len({node.root() for node in nodes}) == 1)
        found: Measures = {"fetch": [], "memory": [], "rss": []}
        for number in range(_ROUNDS):
            say(f"a newcomer fetches them, and the same from memory ({number + 1} of {_ROUNDS})")
            newcomer = os.path.join(folder, f"newcomer{number}")
            sidecars.join(nodes[0], newcomer)
            _fetch(newcomer, nodes[0], found)
            merged = side(merge_from_memory, home=homes[0], other=os.path.join(folder, f"memory{number}"))
            found["memory"].append(merged["seconds"])
        found["servers"] = [node.memory() for node in nodes]
    return found


def _fetch(home: str, host: sidecars.Sidecar, found: Measures) -> None:
    """Start a newcomer, and wait until it has what its host has."""
    with sidecars.running(home) as newcomer:
        seen = sidecars.wait_for(home, _RECORDS, _FETCH_SECONDS)
        sidecars.until("the newcomer has the same root", lambda: newcomer.root() == host.root(), step=0.005)
        found["fetch"].append(seen - newcomer.ready)
        found["rss"].append(newcomer.memory())
        if sidecars.records(open_reading(home)) != _RECORDS:
            raise RuntimeError("the newcomer does not have every record")


def merge_from_memory(home: str, other: str) -> Measures:
    """Read all ranges of a home into memory, then merge them into an empty one, an answer's worth a transaction."""
    source = open_home(home)
    store = source.store()
    groups: list[list[bytes]] = [[]]
    size = 0
    for row in store.feeds.all():
        for item in store.feeds.ranges(row, 0):
            data = encode_range(item)
            if size + len(data) > ANSWER_BYTES:
                groups.append([])
                size = 0
            groups[-1].append(data)
            size += len(data)
    target = create_home(other, "memory", source.mesh).author()
    founders = store.founders()
    assert founders is not None
    target.store.learn_founders(*founders)
    target.merge_statements([item.encode() for item in store.trust().statements()])
    begin = time.perf_counter()
    outcomes = [outcome for group in groups for outcome in target.merge_ranges(group)]
    seconds = time.perf_counter() - begin
    if not all(isinstance(outcome, Merged) for outcome in outcomes) or target.store.root() != store.root():
        raise RuntimeError("what was merged from memory is not what its source has")
    return {"seconds": seconds, "rss": resident_bytes()}


# The peers


def _measured(missing: str, measure: Callable[[], Measures], remarks: list[str]) -> Measures:
    if missing:
        remarks.append(missing)
        return {}
    return measure()


def _room() -> Measures:
    say("a client fetches the same from a pycrdt-websocket room")
    with room.serving("", entries=_RECORDS) as server:
        fetched = [side(room.fetch_entries, port=server.port, count=_RECORDS) for _ in range(_ROUNDS)]
        return {
            "fetch": [item["seconds"] for item in fetched],
            "rss": [item["rss"] for item in fetched],
            "servers": [server.facts()["rss"]],
        }


def _repository(folder: str) -> Measures:
    say("`git clone` of the same")
    with repository.serving(os.path.join(folder, "git")) as port:
        source = repository.Clone(os.path.join(folder, "source"), port)
        source.commit(notes(_RECORDS))
        source.push()
        seconds = []
        for number in range(_ROUNDS):
            begin = time.perf_counter()
            clone = repository.Clone(os.path.join(folder, f"clone{number}"), port)
            seconds.append(time.perf_counter() - begin)
            if clone.pull() != _RECORDS:
                raise RuntimeError("not every record was cloned")
    return {"fetch": seconds}


def _describe(report: Report, ours: Measures, theirs: Measures, git: Measures) -> None:
    def median(found: Measures, name: str) -> float | None:
        values = [value for value in found.get(name, ()) if value is not None]
        return statistics.median(values) if values else None

    def line(what: str, unit: str, name: str, convert: Callable[[float], float]) -> None:
        values = [median(found, name) for found in (ours, theirs, git)]
        mine, peer, second = (None if value is None else convert(value) for value in values)
        report.add(what, unit, mine, peer, second=second)

    line(f"{_RECORDS:,} records fetched", "s", "fetch", float)
    line(f"{_RECORDS:,} records fetched", "records/s", "fetch", lambda seconds: _RECORDS / seconds)
    line("the same merged from memory", "s", "memory", float)
    fetch, memory = statistics.median(ours["fetch"]), statistics.median(ours["memory"])
    report.add("fetched over merged from memory", "x", fetch / memory, None, Goal(3, most=True))
    line("memory of the newcomer, at the end", "MB", "rss", lambda size: size / MB)
    line("memory of who serves, at the end", "MB", "servers", lambda size: size / MB)
    report.notes += [
        (
            f"ours: from the moment `mesh up` says that it is ready until all records are in the newcomer's database;"
            f" {_NODES} nodes that serve, as many feeds, mutual TLS; medians of {_ROUNDS}, with its root compared in the end"
        ),
        "merged from memory: the same ranges, verified, folded and indexed the same way, in one process, 1 MB a commit",
        "pycrdt-websocket: from dialling until synced; nothing is verified, and the document is in memory only",
        "git: `git clone` of one commit with one file, its time with that of starting git",
    ]
