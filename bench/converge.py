"""`converge`: how fast what one writes is visible to others, between two real nodes and among a thousand simulated ones."""

import json
import os
import shutil
import statistics
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import islice

from bench import repository, room, sidecars, writing
from bench.machine import MB
from bench.notes import notes
from bench.processes import Measures, side, side_command, started
from bench.quantiles import MS, middle_and_tail
from bench.table import Goal, Report, say
from bench.virtual import simulate_all
from mesh.store.reader import open_reading

_LATENCIES = 400
_SINGLES = 10_000
_RECORDS = 100_000
_BATCH = 1000
_ROUNDS = 3  # of the single writes: the median counts
_COMMITS = 20  # of git: each takes a tenth of a second and more
_PAUSE_SECONDS = 0.005  # between two entries of the peer whose latency is measured
_LIVE_SECONDS = 120.0
_NODES = 1000
_RATE = "records/s"


@dataclass(slots=True)
class _Side:
    """What one way of replicating reached: figures by name; a name that is missing was not measured."""

    figures: dict[str, float | None] = field(default_factory=dict)

    def latencies(self, what: str, seconds: list[float]) -> None:
        """Keep p50 and p99 of these."""
        self.figures[f"{what} p50"], self.figures[f"{what} p99"] = middle_and_tail(seconds)


def run(work: str, seeds: int, peer_seconds: float) -> Report:
    """Ours, then each peer, then the simulator."""
    report = Report("converge", "pycrdt-websocket", second="git")
    folder = os.path.join(work, "converge")
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    ours = _ours(folder, report.notes)
    theirs = _measured(room.missing(), lambda: _room(folder, min(peer_seconds, 60.0), report.notes), report.notes)
    git = _measured(repository.missing(), lambda: _repository(folder), report.notes)
    shutil.rmtree(folder, ignore_errors=True)
    _describe(report, ours, theirs, git)
    _simulated(report, seeds)
    return report


# Ours


def _ours(folder: str, remarks: list[str]) -> _Side:
    """Two sidecars; the second only dials. Every phase ends when both have one root."""
    found = _Side()
    first, second = (os.path.join(folder, name) for name in ("first", "second"))
    sidecars.found(first)
    with sidecars.running(first, listen=sidecars.free_port()) as one:
        sidecars.join(one, second)
        with sidecars.running(second) as two:
            sidecars.until("the two are linked", lambda: two.links() == 1)
            _agree(one, two)
            pair = _Pair(one, two)
            say(f"{_LATENCIES} records, one at a time, from one sidecar to the other")
            pair.look(found, "visible")
            say(f"{_SINGLES:,} single writes, {_ROUNDS} times, by threads once, and {_RECORDS:,} in batches")
            rates = [pair.rate(writing.write_grouped, _SINGLES) for _ in range(_ROUNDS)]
            found.figures["singles"], commits = statistics.median(rates), pair.commits
            found.figures["threads"] = pair.rate(writing.write_in_threads, _SINGLES)
            found.figures["batches"] = pair.rate(writing.write_batches, _RECORDS, batch=_BATCH)
            pair.look(found, "visible later")
            found.figures["memory"], found.figures["memory two"] = one.memory(), two.memory()
            if sidecars.records(open_reading(second)) != pair.written:
                raise RuntimeError("the second node does not have every record")
    each = ", ".join(f"{rate:,.0f}" for rate in rates)
    remarks.append(
        f"ours: single writes in {_ROUNDS} rounds, records/s: {each}; the last took {commits:,} commits, each synced"
    )
    return found


class _Pair:
    """Two sidecars, and how much was written beside the first."""

    def __init__(self, one: sidecars.Sidecar, two: sidecars.Sidecar) -> None:
        self._one, self._two = one, two
        self.written = 0
        self.commits = 0  # of the last rate

    def look(self, found: _Side, what: str) -> None:
        """One record at a time, and the processor time that takes each sidecar."""
        seed = 100 + self.written
        both = {"processor": self._one, "processor two": self._two}
        before = {name: node.processor() for name, node in both.items()}
        seen = side(writing.write_and_look, home=self._one.home, other=self._two.home, count=_LATENCIES, seed=seed)
        self.written += _LATENCIES
        for name, node in both.items():
            then, now = before[name], node.processor()
            found.figures[name] = None if then is None or now is None else (now - then) * MS / _LATENCIES
        found.latencies(what, seen["from_call"])
        found.latencies(f"{what} after", seen["from_receipt"])
        _agree(self._one, self._two)

    def rate(self, write: Callable[..., Measures], count: int, **more: int) -> float:
        """Records a second from the first write until all are in the second's database."""
        command = side_command(write, home=self._one.home, count=count, seed=1 + self.written, **more)
        with started(command, stdout=subprocess.PIPE) as process:
            seen = sidecars.wait_for(self._two.home, self.written + count, _LIVE_SECONDS)
            measures = json.loads(process.communicate()[0])
        self.written += count
        self.commits = measures["commits"]
        _agree(self._one, self._two)
        return float(count / (seen - measures["begin"]))


def _agree(one: sidecars.Sidecar, two: sidecars.Sidecar) -> None:
    sidecars.until("both have one root", lambda: one.root() == two.root())


# The peers


def _measured(missing: str, measure: Callable[[], _Side], remarks: list[str]) -> _Side:
    if missing:
        remarks.append(missing)
        return _Side()
    return measure()


def _room(folder: str, seconds: float, remarks: list[str]) -> _Side:
    found = _Side()
    say("the same between a pycrdt-websocket client and a room that stores to SQLite")
    with room.serving(os.path.join(folder, "one.db")) as server:
        sent = room.write(server.port, _LATENCIES, pause=_PAUSE_SECONDS)
        server.wait("stored", _LATENCIES, seconds)
        times = server.facts("times")
    for what, name in (("visible", "seen"), ("stored", "stored")):
        found.latencies(what, [at - call for call, at in zip(sent["called"], times[name], strict=False)])
    for name, count, batch in (("singles", _SINGLES, 1), ("batches", _RECORDS, _BATCH)):
        with room.serving(os.path.join(folder, f"{name}.db")) as server:
            sent = room.write(server.port, count, batch=batch, seed=2)
            counts = server.wait("stored", count // batch, seconds)
        begin = sent["called"][0]
        if counts["entries"] != count:
            remarks.append(f"pycrdt-websocket: only {counts['entries']:,} of {count:,} entries of {name} came")
        found.figures[name] = counts["entries"] / (counts["last_seen"] - begin)
        found.figures[f"{name} stored"] = counts["stored"] * batch / (counts["last_stored"] - begin)
        if counts["stored"] * batch < count:
            stored = counts["stored"] * batch
            remarks.append(
                f"pycrdt-websocket had stored {stored:,} of {count:,} ({name}) when its {seconds:g} s were over"
            )
        found.figures["memory"], found.figures["memory two"] = sent["rss"], counts["rss"]
    return found


def _repository(folder: str) -> _Side:
    found = _Side()
    say("the same between two clones of a git repository")
    with repository.serving(os.path.join(folder, "git")) as port:
        source, target = (repository.Clone(os.path.join(folder, name), port) for name in ("source", "target"))
        supply = notes(_COMMITS + _SINGLES + _RECORDS, seed=3)
        seconds = repository.one_by_one(source, target, list(islice(supply, _COMMITS)))
        found.latencies("visible", seconds)
        found.latencies("stored", seconds)
        found.figures["singles"] = found.figures["singles stored"] = _COMMITS / sum(seconds)
        found.figures["at once"] = _SINGLES / repository.at_once(source, target, list(islice(supply, _SINGLES)))
        found.figures["batches"] = _RECORDS / repository.at_once(source, target, list(islice(supply, _RECORDS)))
        found.figures["batches stored"] = found.figures["batches"]
    return found


# The table


def _describe(report: Report, ours: _Side, theirs: _Side, git: _Side) -> None:
    def line(what: str, unit: str, name: str, goal: Goal | None = None, peer: str = "", mine: str = "") -> None:
        values = [found.figures.get(key) for found, key in ((ours, mine or name), (theirs, peer or name), (git, name))]
        if unit == "MB":
            values = [None if value is None else value / MB for value in values]
        report.add(what, unit, values[0], values[1], goal, second=values[2])

    line("10,000 single writes, until visible", _RATE, "singles", Goal(10_000))
    line("10,000 single writes, until stored there", _RATE, "singles stored", mine="singles")
    line("the same by 64 threads that wait for receipts", _RATE, "threads")
    line("100,000 in batches of 1,000, until visible", _RATE, "batches")
    line("100,000 in batches of 1,000, until stored there", _RATE, "batches stored", mine="batches")
    line("10,000 in one commit", _RATE, "at once")
    line("one record visible, from the call, p50", "ms", "visible p50", Goal(2, most=True))
    line("one record visible, from the call, p99", "ms", "visible p99", Goal(10, most=True))
    line("one record stored there, from the call, p50", "ms", "stored p50", mine="visible p50")
    line("one record stored there, from the call, p99", "ms", "stored p99", mine="visible p99")
    line("one record visible, from its receipt, p50", "ms", "visible after p50")
    line("one record visible, from its receipt, p99", "ms", "visible after p99")
    there = _LATENCIES + (_ROUNDS + 1) * _SINGLES + _RECORDS
    line(f"the same with {there:,} records there, call, p50", "ms", "visible later p50")
    line(f"the same with {there:,} records there, call, p99", "ms", "visible later p99")
    line("processor time of the writer's sidecar, each", "ms", "processor")
    line("processor time of the other sidecar, each", "ms", "processor two")
    line("memory of the writing side, at the end", "MB", "memory")
    line("memory of the other side, at the end", "MB", "memory two")
    report.notes += [
        (
            "ours: two sidecars over mutual TLS; a record is visible when a reader of the second's database sees it, which"
            " is when it is verified, committed and folded there; its author has synced it before, that commit is not synced"
        ),
        (
            "pycrdt-websocket: one client, one server, plain TCP, one array entry a record, nothing verified; visible is in"
            " the server's memory, stored is committed and synced to its SQLite by pycrdt-store; the client keeps nothing"
        ),
        (
            f"git: a line of a file a record, one commit a record over {_COMMITS}, from before the commit until after the"
            " pull; its 100,000 are one commit; git does not sync loose objects"
        ),
    ]


def _simulated(report: Report, seeds: int) -> None:
    say(f"{_NODES:,} simulated nodes, {seeds} seeds, with and without faults")
    every = range(1, seeds + 1)
    calm: list[Measures] = [{"nodes": _NODES, "seed": seed} for seed in every]
    rough: list[Measures] = [run | {"dead": 0.1, "loss": 0.1} for run in calm]
    results = simulate_all([*calm, *rough])
    still, faulty = results[:seeds], results[seeds:]
    head = f"{_NODES:,} simulated"

    def worst(found: list[Measures], name: str) -> float:
        return max(float(item[name]) for item in found)

    report.add(f"{head}, one write, half of them", "s", worst(still, "half"))
    report.add(f"{head}, one write, 99 % of them", "s", worst(still, "most"), None, Goal(0.5, most=True))
    report.add(f"{head}, one write, all", "s", worst(still, "all"), None, Goal(1.5, most=True))
    report.add(f"{head}, 10 % dead, 10 % loss, 99 % of them", "s", worst(faulty, "most"))
    report.add(f"{head}, 10 % dead, 10 % loss, all", "s", worst(faulty, "all"), None, Goal(3, most=True))
    report.notes.append(
        f"simulated: virtual seconds, links of 5 to 50 ms one way, the worst of {seeds} seeds; the dead stop without a"
        " word at the moment of the write"
    )
