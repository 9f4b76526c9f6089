"""One simulation from its scenario to its report, or to the check that failed."""

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from peers.proto.config import Config
from peers.simulate.checks import InvariantBroken
from peers.simulate.faults import Faults
from peers.simulate.meter import Write
from peers.simulate.node import SimNode
from peers.simulate.report import Report, payload_per_copy, spreads
from peers.simulate.scenario import Scenario
from peers.simulate.virtual_time import chance
from peers.simulate.world import World
from peers.transport.conditions import Conditions

_UNDERWAY_SECONDS = 0.2  # copies that were still on their way when everyone had one are traffic too
# To agree after the last fault: longer than any wait of the engine between two attempts, also where a branch that only some
# hold waits until they visit its author, among others whose feeds were forked.
_PEACE_SECONDS = 480.0

Prepare = Callable[[World], None]


def simulate(scenario: Scenario, config: Config | None = None, prepare: Prepare | None = None) -> Report:
    """Run a scenario. Raises InvariantBroken, with the seed, if a check fails. `prepare` may still change the world."""
    with _no_garbage_collection():
        return _run(scenario, config, prepare)  # leaves no world behind: what is collected next is all of it, once


def _run(scenario: Scenario, config: Config | None, prepare: Prepare | None) -> Report:
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
) -> Report:
    meter, honest = world.meter, world.honest()
    own = frozenset(node.index for node in honest)
    counted = [write for write in meter.writes if write.author in own and _counts(write, honest[0])]
    median, worst = spreads(counted, own)
    sent, received = meter.totals()
    return Report(
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
