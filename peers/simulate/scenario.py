"""What a simulation is asked to do, as one value; and how to say it on the command line again. Nothing runs here."""

from typing import NamedTuple

from peers.simulate.virtual_time import chance


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
    habits: tuple[str, ...] = ()  # in which ways; none: in every way we know
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
