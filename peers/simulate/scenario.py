"""What a simulation does, as one value, how to say it on the command line, and the faults that are drawn from its seed."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from mesh.core.statement import ADMIN
from peers.simulate.hostile_member import Hostile
from peers.simulate.simulated_node import SimNode
from peers.simulate.virtual_time import chance
from peers.simulate.world import World
from peers.transport.network_conditions import Conditions


class Scenario(NamedTuple):
    """Every number that shapes a run. Shares are of all nodes, seconds are virtual."""

    nodes: int = 100
    seed: int = 1
    latency_ms: tuple[float, float] = (5.0, 50.0)
    loss: float = 0.0  # share of frames that vanish
    duplicate: float = 0.0
    reorder: float = 0.0
    dead: float = 0.0  # share of nodes that stop for good, silently, before the first write
    partition_seconds: float = 0.0
    partition_share: float = 0.5  # of the nodes on the smaller side
    writes: int = 1
    write_bytes: int = 200
    duration: float = 0.0  # writes and faults are spread over this
    hostile: int = 0  # nodes that break the protocol, or take more than their share
    habits: tuple[str, ...] = ()  # in which ways; none: in all but those that have to be named
    restarts: int = 0
    backups: int = 0  # nodes that come back from an old backup, by turns noticed and not
    sleeps: int = 0
    one_way: int = 0  # links that carry one direction only, for a while
    revoked: int = 0
    skew_seconds: float = 0.0  # a tenth of the clocks is wrong by up to this
    warm_seconds: float = 30.0  # before the first write
    idle_seconds: float = 0.0  # measured before the first write, when all is quiet
    chaos: bool = False

    def command(self) -> str:
        """The command that runs this."""
        words = [f"mesh simulate --nodes {self.nodes} --seed {self.seed}"]
        if self.chaos:
            return " ".join([*words, "--chaos"])
        default = Scenario()
        if self.latency_ms != default.latency_ms:
            words.append(f"--latency {self.latency_ms[0]:g}-{self.latency_ms[1]:g}")
        if self.partition_seconds:
            words.append(f"--partition {self.partition_seconds:g}:{self.partition_share:g}")
        if self.habits:
            words.append(f"--habits {','.join(self.habits)}")
        for name, value, usual in zip(self._fields, self, default, strict=True):
            if name in _OPTIONS and value != usual:
                words.append(f"{_OPTIONS[name]} {value:g}")
        return " ".join(words)


_OPTIONS = {
    "loss": "--loss",
    "duplicate": "--duplicate",
    "reorder": "--reorder",
    "dead": "--dead",
    "writes": "--writes",
    "write_bytes": "--write-bytes",
    "duration": "--duration",
    "hostile": "--hostile",
    "restarts": "--restarts",
    "backups": "--backups",
    "sleeps": "--sleeps",
    "one_way": "--one-way",
    "revoked": "--revoked",
    "skew_seconds": "--skew",
    "warm_seconds": "--warm",
    "idle_seconds": "--idle",
}


def chaos(nodes: int, seed: int) -> Scenario:
    """A run with every sort of fault in it, how many and how bad drawn from the seed."""
    random = chance(seed)
    return Scenario(
        nodes=nodes,
        seed=seed,
        latency_ms=random.choice(((1.0, 5.0), (5.0, 50.0), (50.0, 150.0))),
        loss=random.choice((0.0, 0.02, 0.1, 0.2)),
        duplicate=random.choice((0.0, 0.05, 0.2)),
        reorder=random.choice((0.0, 0.05, 0.2)),
        dead=random.choice((0.0, 0.05, 0.1)),
        partition_seconds=random.choice((0.0, 0.7, 2.0)),
        partition_share=random.choice((0.1, 0.3, 0.5)),
        writes=random.randint(3, 8),
        write_bytes=random.choice((50, 300, 6000)),
        duration=3.0,
        hostile=random.choice((0, 1, 2)),
        restarts=random.randint(0, 4),
        backups=random.choice((0, 1, 2)),
        sleeps=random.choice((0, 1)),
        one_way=random.choice((0, 1, 2)),
        revoked=random.choice((0, 1)),
        skew_seconds=random.choice((0.0, 30.0, 3600.0)),
        warm_seconds=1.5,
        chaos=True,
    )


_GREED_SECONDS = 30.0  # after the other faults, for which who takes more than its share goes on with that


class Faults:
    """The faults of one run. `happened` counts them by name."""

    def __init__(self, world: World, scenario: Scenario) -> None:
        self._world = world
        self._scenario = scenario
        self._random = chance(scenario.seed * 7919 + 1)
        self.happened: Counter[str] = Counter()
        order = list(world.nodes)
        self._random.shuffle(order)
        take = _Taker(order)
        # No node has two parts: what one fault excuses must not hide what another breaks.
        self.dead = take(round(scenario.dead * scenario.nodes))
        self.hostile = take(scenario.hostile)
        self._backups = take(scenario.backups)
        self._revoked = take(scenario.revoked)
        self._restarting = take(scenario.restarts)
        self._sleeping = take(scenario.sleeps)
        self._skewed = take(scenario.nodes // 10 if scenario.skew_seconds else 0)
        self.writers = order[take.taken :] or order[len(self.dead) + len(self.hostile) :] or order
        world.checker.fragile = {node.index for node in (*self.dead, *self._backups)}

    def before_start(self) -> None:
        """What is so from the beginning: wrong clocks, and who is not to be trusted."""
        limit = self._scenario.skew_seconds * 1000
        for node in self._skewed:
            node.skew_ms = int(self._random.uniform(-limit, limit))
            self.happened["skewed clock"] += 1
        for node in self.hostile:
            node.twist = Hostile(self._world, node, self._random, self._scenario.habits or None)
        if "own_settings" in self._scenario.habits:
            self.writers[0].role = ADMIN  # so that there is a setting to change

    def arrange(self) -> None:
        """Put everything into the schedule, from now until the duration has passed."""
        scenario, world = self._scenario, self._world
        for node in self.dead:
            node.stop(silently=True)
            self.happened["dead node"] += 1
        for node in self.hostile:
            assert isinstance(node.twist, Hostile)
            node.twist.begin()
            world.schedule.after(scenario.duration + _GREED_SECONDS, node.twist.have_enough)
            self.happened["hostile node"] += 1
        if "own_settings" in scenario.habits:
            for share in (0.1, 0.9):
                self._later(share, world.change_setting, self.writers[0], "hot_at", round(10 * share))
        bad = Conditions(
            world.wire.conditions.latency_seconds, 0.0, scenario.loss, scenario.duplicate, scenario.reorder
        )
        for name in ("loss", "duplicate", "reorder"):
            self.happened[name] += getattr(scenario, name) > 0
        world.wire.set_conditions(bad)
        if scenario.partition_seconds:
            self._at(0.0, 0.3, self._partition)
        for number, node in enumerate(self._backups):
            self._backup(node, noticed=number % 2 == 0)
        for node in self._revoked:
            self._at(0.0, 0.3, self._world.write, node, "before the revocation")
            self._at(0.4, 0.6, self._revoke, node)
            self._at(0.6, 0.7, self._world.write, node, "perhaps after the revocation")
        for node in self._restarting:
            self._at(0.0, 0.6, self._crash, node)
        for node in self._sleeping:
            self._at(0.0, 0.5, self._sleep, node)
        for _ in range(scenario.one_way):
            self._at(0.0, 0.5, self._one_way)
        if scenario.chaos:
            clean = Conditions(bad.latency_seconds)
            world.schedule.after(scenario.duration, world.wire.set_conditions, clean)

    def _at(self, low: float, high: float, action: Callable[..., object], *args: object) -> None:
        """Somewhere within a part of the duration."""
        self._world.schedule.after(self._random.uniform(low, high) * self._scenario.duration, action, *args)

    def _later(self, share: float, action: Callable[..., object], *args: object) -> None:
        self._world.schedule.after(share * self._scenario.duration, action, *args)

    def _partition(self) -> None:
        nodes = list(self._world.nodes)
        self._random.shuffle(nodes)
        side = max(1, round(self._scenario.partition_share * len(nodes)))
        self._world.partition(nodes[:side], nodes[side:])
        self._world.schedule.after(self._scenario.partition_seconds, self._world.heal)
        self.happened["partition"] += 1

    def _backup(self, node: SimNode, *, noticed: bool) -> None:
        """Write, back up, write more, lose the disk, and write again before anyone can tell what was lost."""
        world = self._world

        def begin() -> None:
            world.write(node, "before the backup")
            kept = node.notebook.snapshot()
            self._later(0.1, world.write, node, "after the backup")
            self._later(0.3, restore, kept)

        def restore(kept: object) -> None:
            world.restore(node, kept, noticed=noticed)  # type: ignore[arg-type]
            world.write(node, "after the restore")
            self.happened[f"backup restored, {'noticed' if noticed else 'unnoticed'}"] += 1

        self._at(0.0, 0.4, begin)

    def _revoke(self, node: SimNode) -> None:
        by = self._random.choice([other for other in self.writers if other.is_up])
        self._world.revoke(node, by)
        self.happened["revocation"] += 1

    def _crash(self, node: SimNode) -> None:
        silently = self._random.random() < 0.5
        node.stop(silently=silently)
        self._later(self._random.uniform(0.05, 0.4), node.start)
        self.happened["restart after a silent crash" if silently else "restart"] += 1

    def _sleep(self, node: SimNode) -> None:
        node.sleep()
        self._later(self._random.uniform(0.1, 0.5), node.wake)
        self.happened["sleep"] += 1

    def _one_way(self) -> None:
        """One direction of a link that exists carries nothing for a while."""
        linked = [node for node in self._world.nodes if node.is_up and node.ends]
        node = self._random.choice(linked)
        end = node.ends[self._random.choice(sorted(node.ends))]
        pair = (node.index, end.other.party.index)
        self._world.wire.block(*pair)
        self._later(0.4, self._world.wire.unblock, *pair)
        self.happened["one-way failure"] += 1


class _Taker:
    """Hands out nodes, each once."""

    def __init__(self, nodes: Sequence[SimNode]) -> None:
        self._nodes = nodes
        self.taken = 0

    def __call__(self, count: int) -> list[SimNode]:
        self.taken += count
        return list(self._nodes[self.taken - count : self.taken])
