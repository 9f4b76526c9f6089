"""`wire`: bytes that cross the network for records, in bulk and one by one, and when nothing happens."""

import os
import shutil
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice

from bench import repository, room, sidecars, writing
from bench.notes import notes
from bench.processes import Measures, side
from bench.proxy import Proxy, counting
from bench.table import Goal, Report, say
from bench.virtual import simulate_all
from mesh.store.reader import open_reading
from peers.simulate.traffic_meter import PAYLOAD

_SINGLES = 1000
_COMMITS = 20
_RECORDS = 100_000
_BATCH = 1000
_PAUSE_SECONDS = 0.002
_QUIET_SECONDS = 8.0  # until a new mesh has stopped greeting
_LIVE_SECONDS = 120.0
_SIMULATED = (100, 1000)
_BULK = {100: 3000, 1000: 1000}  # records of the batch: a larger one takes a thousand nodes minutes
_IDLE_NODES = 5
_IDLE_GOAL = 1000.0
_Counts = Counter[tuple[str, str]]  # by name and kind of message


@dataclass(frozen=True, slots=True)
class _Carried:
    """What one system sent over its connection for some records, each way."""

    records: int
    out: int  # to who receives the records
    back: int

    @property
    def each(self) -> float:
        """Bytes a record, both ways."""
        return (self.out + self.back) / self.records


def run(work: str, idle_seconds: float) -> Report:
    """Ours through a counting proxy, the peers through the same, then the simulator."""
    report = Report("wire", "pycrdt-websocket", second="git")
    folder = os.path.join(work, "wire")
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    ours = _ours(folder, report)
    theirs = _measured(room.missing(), _room, report.notes)
    git = _measured(repository.missing(), lambda: _repository(folder), report.notes)
    for name, (carried, count) in ours.items():
        both = [carried, theirs.get(name), git.get(name)]
        mine, peer, second = (None if item is None else item.each for item in both)
        report.add(f"{name}, bytes a record, both ways", "bytes", mine, peer, second=second)
        mine, peer, second = (None if item is None else item.back / item.records for item in both)
        report.add(f"{name}, of these back to the writer", "bytes", mine, peer, second=second)
        _counted(report, name, carried, count)
    _idle(folder, report, idle_seconds)
    shutil.rmtree(folder, ignore_errors=True)
    _simulated(report)
    report.notes += [
        "on the wire: bytes of TCP's payload, counted by a proxy between the two; ours with mutual TLS, the others plain",
        (
            f"bulk: {_RECORDS:,} records, written in batches of {_BATCH:,} while the other side is linked; git's are one"
            f" commit, and cross twice: pushed, then pulled. Single: {_SINGLES:,} (git {_COMMITS}), each visible before the next is written"
        ),
    ]
    return report


def _ours(folder: str, report: Report) -> dict[str, tuple[_Carried, _Counts]]:
    """By name: what the proxy saw, and what the receiver's own counters say."""
    first, second = (os.path.join(folder, name) for name in ("first", "second"))
    sidecars.found(first)
    port = sidecars.free_port()
    with counting(port) as proxy, sidecars.running(first, listen=port, advertise=proxy.address) as one:
        sidecars.join(one, second)
        with sidecars.running(second) as two:  # it only dials, so whatever crosses does so through the proxy
            sidecars.until("the two are linked", lambda: two.links() == 1)
            sidecars.until("both have one root", lambda: one.root() == two.root())
            gauge = _Gauge(proxy, two)
            say(f"{_SINGLES:,} single writes and {_RECORDS:,} in batches through a counting proxy")
            side(writing.write_and_look, home=first, other=second, count=_SINGLES, seed=1)
            found = {"single": gauge.take(_SINGLES)}
            side(writing.write_batches, home=first, count=_RECORDS, batch=_BATCH, seed=2)
            sidecars.wait_for(second, _SINGLES + _RECORDS, _LIVE_SECONDS)
            sidecars.until("both have one root", lambda: one.root() == two.root())
            found["bulk"] = gauge.take(_RECORDS)
    body = open_reading(second).connection.execute("SELECT sum(length(body)) FROM ops").get / (_SINGLES + _RECORDS)
    report.notes.append(f"ours: bodies of {body:.0f} bytes on average, as they are stored and signed")
    return found


class _Gauge:
    """Proxy and counters, read together."""

    def __init__(self, proxy: Proxy, receiver: sidecars.Sidecar) -> None:
        self._proxy, self._receiver = proxy, receiver
        self._before = self._now()

    def take(self, records: int) -> tuple[_Carried, _Counts]:
        """What was carried since the last time."""
        before, self._before = self._before, self._now()
        forth, back, count = self._before
        # The receiver dialled: what the proxy carries back to it is what it receives.
        return _Carried(records, back - before[1], forth - before[0]), count - before[2]

    def _now(self) -> tuple[int, int, _Counts]:
        return self._proxy.forth, self._proxy.back, self._receiver.traffic()


def _counted(report: Report, name: str, carried: _Carried, count: _Counts) -> None:
    came = {kind: size for (direction, kind), size in count.items() if direction == "bytes_in"}
    went = sum(size for (direction, _), size in count.items() if direction == "bytes_out")
    payload = sum(came.get(kind, 0) for kind in PAYLOAD)
    report.add(f"{name}, by our counters, operations received", "bytes", payload / carried.records)
    rest = (sum(came.values()) - payload + went) / carried.records
    report.add(f"{name}, by our counters, all other messages", "bytes", rest)
    kinds = ", ".join(f"{kind} {size:,}" for kind, size in sorted(came.items(), key=lambda item: -item[1]))
    report.notes.append(f"ours, {name}: received by kind, bytes: {kinds}; sent back: {went:,}")


# The peers


def _measured(missing: str, measure: Callable[[], dict[str, _Carried]], remarks: list[str]) -> dict[str, _Carried]:
    if missing:
        remarks.append(missing)
        return {}
    return measure()


def _room() -> dict[str, _Carried]:
    say("the same to a pycrdt-websocket room, which stores nothing this time")
    found = {}
    for name, count, batch, pause in (("single", _SINGLES, 1, _PAUSE_SECONDS), ("bulk", _RECORDS, _BATCH, 0.0)):
        with room.serving("") as server, counting(server.port) as proxy:
            room.write(proxy.port, count, batch=batch, pause=pause)
            server.wait("seen", count // batch, _LIVE_SECONDS)
            _until_quiet(proxy)
            found[name] = _Carried(count, proxy.forth, proxy.back)
    return found


def _repository(folder: str) -> dict[str, _Carried]:
    say("the same between two clones of a git repository")
    found = {}
    with repository.serving(os.path.join(folder, "git")) as port, counting(port) as push, counting(port) as pull:
        source = repository.Clone(os.path.join(folder, "source"), push.port)
        target = repository.Clone(os.path.join(folder, "target"), pull.port)
        supply = notes(_COMMITS + _RECORDS, seed=3)

        def take(name: str, count: int, send: Callable[[list[dict[str, str]]], object]) -> None:
            before = push.forth + pull.back, push.back + pull.forth
            send(list(islice(supply, count)))
            found[name] = _Carried(count, push.forth + pull.back - before[0], push.back + pull.forth - before[1])

        take("single", _COMMITS, lambda given: repository.one_by_one(source, target, given))
        take("bulk", _RECORDS, lambda given: repository.at_once(source, target, given))
    return found


def _until_quiet(proxy: Proxy) -> None:
    """Wait until nothing more comes: echoes are part of what a system sends."""
    deadline = time.perf_counter() + _LIVE_SECONDS
    seen = -1
    while seen != proxy.total and time.perf_counter() < deadline:
        seen = proxy.total
        time.sleep(0.3)


# Silence, and many nodes


def _idle(folder: str, report: Report, seconds: float) -> None:
    say(f"{_IDLE_NODES} sidecars that have nothing to say, {seconds:g} s")
    with ExitStack() as stack:
        proxies: list[Proxy] = []
        nodes: list[sidecars.Sidecar] = []
        for number in range(_IDLE_NODES):
            home = os.path.join(folder, f"idle{number}")
            if nodes:
                sidecars.join(nodes[0], home)
            else:
                sidecars.found(home)
            port = sidecars.free_port()
            proxies.append(stack.enter_context(counting(port)))
            node = sidecars.running(home, listen=port, advertise=proxies[-1].address)
            nodes.append(stack.enter_context(node))
        sidecars.until("all are linked", lambda: all(node.links() == _IDLE_NODES - 1 for node in nodes))
        time.sleep(_QUIET_SECONDS)
        before = sum(proxy.total for proxy in proxies), _sent(nodes)
        time.sleep(seconds)
        carried, counted = sum(proxy.total for proxy in proxies) - before[0], _sent(nodes) - before[1]
    each = seconds * _IDLE_NODES
    goal = Goal(_IDLE_GOAL, most=True)
    report.add(f"idle, {_IDLE_NODES} real nodes, sent a node, on the wire", "bytes/s", carried / each, None, goal)
    report.add(f"idle, {_IDLE_NODES} real nodes, sent a node, our counters", "bytes/s", counted / each)
    report.notes.append("idle: what one node sends; it receives as much, so both ways together are twice that")


def _sent(nodes: list[sidecars.Sidecar]) -> int:
    return sum(size for node in nodes for (way, _), size in node.traffic().items() if way == "bytes_out")


def _simulated(report: Report) -> None:
    runs: list[Measures] = []
    for nodes in _SIMULATED:
        runs += [
            {"nodes": nodes, "seed": 1, "idle_seconds": 20},
            {"nodes": nodes, "seed": 1, "eager": False},
            {"nodes": nodes, "seed": 1, "records": _BULK[nodes]},
        ]
    say(f"{' and '.join(map(str, _SIMULATED))} simulated nodes, in three modes")
    results = iter(simulate_all(runs))
    for nodes in _SIMULATED:
        eager, announced, bulk = next(results), next(results), next(results)
        head = f"{nodes:>5,} simulated"
        report.add(f"{head}, bulk, received a node over one copy", "x", _copies(bulk), None, Goal(1.3, most=True))
        report.add(f"{head}, bulk, over the bytes written", "x", bulk["payload"] / bulk["written"])
        report.add(f"{head}, single, pushed at once, over one copy", "x", eager["payload"] / eager["written"])
        report.add(f"{head}, single, announced first, over one copy", "x", _copies(announced))
        report.add(f"{head}, single, pushed at once, all messages", "bytes", eager["received"])
        report.add(f"{head}, single, announced first, all messages", "bytes", announced["received"])
        goal = Goal(_IDLE_GOAL, most=True) if nodes == max(_SIMULATED) else None
        report.add(f"{head}, idle, sent a node", "bytes/s", eager["idle"], None, goal)
        report.notes.append(
            f"{nodes:,} simulated, one record everywhere: {eager['all']:.3f} s pushed at once, {announced['all']:.3f} s"
            f" announced first; bulk is {_BULK[nodes]:,} records, {bulk['written']:,} bytes"
        )
    report.notes.append(
        "one copy: of bulk and of what is announced, the bytes of its ranges compressed as they travel, once; of a push,"
        " which travels as it is, its range. All messages: what a node receives until five seconds after"
    )


def _copies(found: Measures) -> float:
    return float(found["payload"] / found["copy"])
