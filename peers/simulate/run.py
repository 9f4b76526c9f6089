"""One simulation from its scenario to its report, or to the check that failed; the report as values, as JSON and as a table."""

import gc
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from math import ceil

from peers.proto.gossip_config import Config
from peers.simulate.invariants import InvariantBroken
from peers.simulate.scenario import Faults, Scenario
from peers.simulate.simulated_node import SimNode
from peers.simulate.traffic_meter import PAYLOAD, Meter, Write
from peers.simulate.virtual_time import chance
from peers.simulate.world import World
from peers.transport.network_conditions import Conditions


@dataclass(frozen=True, slots=True)
class Spread:
    """Seconds until a write counted on a share of the nodes; None where it never did."""

    half: float | None
    most: float | None  # 99 %
    all: float | None


@dataclass(frozen=True, slots=True)
class SimulationReport:
    """One run. Everything in it follows from the scenario: the same seed gives the same bytes."""

    command: str
    nodes: int
    alive: int
    writes: int
    spread_median: Spread
    spread_worst: Spread
    agreed_seconds: float  # from the last fault until all is as it should be
    payload_per_copy: float | None  # payload bytes received a node, over the bytes of the writes
    copies_per_node: float  # of each pushed range
    idle_sent: float | None  # bytes a second and node, when nothing is written
    idle_received: float | None
    sent: dict[str, int]  # bytes by kind, of all nodes
    received: dict[str, int]
    faults: dict[str, int]
    observed: dict[str, int]
    events: int
    checks: int
    virtual_seconds: float
    root: str

    def json(self) -> str:
        """One line, in a fixed order."""
        return json.dumps(asdict(self), sort_keys=True)

    def lines(self) -> list[str]:
        """For people."""
        rows = [
            ("nodes", f"{self.nodes}, of which {self.alive} were up and honest at the end"),
            ("writes", f"{self.writes}"),
            ("reach", "of a write, in seconds: 50 % / 99 % / all of the nodes"),
            ("  median", _spread(self.spread_median)),
            ("  worst", _spread(self.spread_worst)),
            ("agreed", f"{self.agreed_seconds:.1f} s after the last fault"),
            ("payload", f"{_number(self.payload_per_copy)} x the bytes written, received a node"),
            ("copies", f"{self.copies_per_node:.2f} of each pushed range, received a node"),
            ("idle", f"{_number(self.idle_sent)} B/s sent, {_number(self.idle_received)} B/s received a node"),
            ("sent", _count_columns(self.sent, "B")),
            ("faults", _count_columns(self.faults)),
            ("engines", _count_columns(self.observed)),
            ("events", f"{self.events:,} in {self.virtual_seconds:.0f} virtual seconds; {self.checks:,} checks"),
            ("root", self.root),
        ]
        return [f"{name:<9} {text}" for name, text in rows]


def spreads(writes: Sequence[Write], nodes: frozenset[int]) -> tuple[Spread, Spread]:
    """The median and the worst over all writes, among the nodes that count."""
    each = [_reached(write, nodes) for write in writes]
    if not each:
        return Spread(None, None, None), Spread(None, None, None)
    return _pick(each, len(each) // 2), _pick(each, len(each) - 1)


def payload_per_copy(meter: Meter, nodes: int) -> float | None:
    """Bytes of pushes and answers received by a node, over the bytes all others wrote."""
    written = sum(write.size for write in meter.writes)
    received = sum(size for (_, kind), size in meter.received.items() if kind in PAYLOAD)
    return received / (written * max(1, nodes - 1)) if written else None


def _reached(write: Write, nodes: frozenset[int]) -> list[float | None]:
    times = sorted(at - write.at for node, at in write.arrivals.items() if node in nodes)
    found: list[float | None] = []
    for share in (0.5, 0.99, 1.0):
        needed = max(1, ceil(share * len(nodes)))
        found.append(times[needed - 1] if len(times) >= needed else None)
    return found


def _pick(each: list[list[float | None]], position: int) -> Spread:
    columns = [
        sorted(column, key=lambda value: float("inf") if value is None else value) for column in zip(*each, strict=True)
    ]
    half, most, everyone = (column[position] for column in columns)
    return Spread(half, most, everyone)


def _spread(spread: Spread) -> str:
    return " / ".join("never" if value is None else f"{value:.3f}" for value in (spread.half, spread.most, spread.all))


def _number(value: float | None) -> str:
    return "not measured" if value is None else f"{value:,.2f}"


def _count_columns(counts: dict[str, int], unit: str = "") -> str:
    return ", ".join(f"{name} {count:,}{' ' + unit if unit else ''}" for name, count in counts.items()) or "none"


_UNDERWAY_SECONDS = 0.2  # copies that were still on their way when everyone had one are traffic too
# To agree after the last fault: longer than any wait of the engine between two attempts, also where a branch that only some
# hold waits until they visit its author, among others whose feeds were forked.
_PEACE_SECONDS = 480.0

Prepare = Callable[[World], None]


def simulate(scenario: Scenario, config: Config | None = None, prepare: Prepare | None = None) -> SimulationReport:
    """Run a scenario. Raises InvariantBroken, with the seed, if a check fails. `prepare` may still change the world."""
    with _no_garbage_collection():
        return _run(scenario, config, prepare)  # leaves no world behind: what is collected next is all of it, once


def _run(scenario: Scenario, config: Config | None, prepare: Prepare | None) -> SimulationReport:
    low, high = scenario.latency_ms
    world = World(scenario.seed, scenario.nodes, conditions=Conditions((low / 1000, high / 1000)), config=config)
    world.checker.repeat = scenario.command()
    faults = Faults(world, scenario)
    faults.before_start()
    if prepare is not None:
        prepare(world)
    world.start_connected()
    world.run(scenario.warm_seconds)
    idle = _idle(world, scenario.idle_seconds)
    world.meter.forget_traffic()
    faults.arrange()
    _arrange_writes(world, faults, scenario)
    world.run(max(scenario.duration, 0.001))
    agreed = find_peace(world)
    world.run(_UNDERWAY_SECONDS)
    return _report(world, scenario, faults, idle, agreed)


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """A world is millions of objects that live until its end: to look through them again and again is a third of a run."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def find_peace(world: World, seconds: float = _PEACE_SECONDS) -> float:
    """Let time pass until everything is as it must be in the end; how long that took. Raises if it does not come."""
    begin = world.now
    while True:
        try:
            world.checker.eventually_everything()
        except InvariantBroken:
            if world.now - begin >= seconds:
                raise
            world.run(0.1 if world.now - begin < 5.0 else 1.0)
        else:
            return world.now - begin


def _idle(world: World, seconds: float) -> tuple[float, float] | None:
    if not seconds:
        return None
    world.meter.forget_traffic()
    world.run(seconds)
    each = seconds * len(world.nodes)
    return sum(world.meter.sent.values()) / each, sum(world.meter.received.values()) / each


def _arrange_writes(world: World, faults: Faults, scenario: Scenario) -> None:
    random = chance(scenario.seed + 2)

    def write() -> None:
        up = [node for node in faults.writers if node.is_up]
        if up:  # random bytes: text of one letter would travel as nothing
            world.write(random.choice(up), random.randbytes(scenario.write_bytes))

    for number in range(scenario.writes):
        world.schedule.after(scenario.duration * number / scenario.writes, write)


def _counts(write: Write, node: SimNode) -> bool:
    """Whether a write counts where it was written; what a fork took counts elsewhere, published again."""
    chain = node.notebook.chain(write.feed)
    return chain is not None and chain.accepted >= write.seq


def _report(
    world: World, scenario: Scenario, faults: Faults, idle: tuple[float, float] | None, agreed: float
) -> SimulationReport:
    meter, honest = world.meter, world.honest()
    own = frozenset(node.index for node in honest)
    counted = [write for write in meter.writes if write.author in own and _counts(write, honest[0])]
    median, worst = spreads(counted, own)
    sent, received = meter.totals()
    return SimulationReport(
        command=scenario.command(),
        nodes=scenario.nodes,
        alive=len(honest),
        writes=len(meter.writes),
        spread_median=median,
        spread_worst=worst,
        agreed_seconds=round(agreed, 3),
        payload_per_copy=payload_per_copy(meter, len(world.nodes) - len(faults.dead)),
        copies_per_node=meter.copies / max(1, len(meter.writes) * (len(honest) - 1)),
        idle_sent=None if idle is None else idle[0],
        idle_received=None if idle is None else idle[1],
        sent=sent,
        received=received,
        faults=dict(sorted(item for item in faults.happened.items() if item[1])),
        observed=dict(sorted(meter.observed.items())),
        events=meter.handled,
        checks=world.checker.checks,
        virtual_seconds=world.now,
        root=honest[0].notebook.root().hex() if honest else "",
    )
