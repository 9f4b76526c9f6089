"""`mesh simulate`: many nodes in one process, under virtual time."""

from mesh.cli.grammar import Given, command, option, options
from mesh.cli.main import EXIT_FAILED
from mesh.cli.output import put, tell
from mesh.core.errors import UsageError
from peers.simulate.hostile_member import Hostile
from peers.simulate.invariants import InvariantBroken
from peers.simulate.run import simulate
from peers.simulate.scenario import Scenario, chaos

_HELP = {
    "nodes": "how many nodes",
    "seed": "the same seed gives the same run, byte for byte",
    "latency": "one way, in milliseconds; each link lies somewhere between",
    "loss": "share of frames that vanish",
    "duplicate": "share of frames that arrive twice",
    "reorder": "share of frames that are overtaken",
    "dead": "share of nodes that stop for good before the first write",
    "partition": "split the network for so long; the share is that of the smaller side",
    "writes": "how many writes, by random nodes",
    "write-bytes": "bytes of text in each",
    "duration": "writes and faults are spread over so many seconds",
    "hostile": "nodes that break the protocol or take more than their share",
    "habits": "only in these ways, as in: many_feeds,junk_erases. Only if named, what is not theirs to say: own_quota, "
    "reader_writes, own_settings",
    "restarts": "nodes that crash and come back",
    "backups": "nodes that come back from an old backup, by turns noticed and not",
    "sleeps": "nodes that stand still for a while",
    "one-way": "links that carry one direction only, for a while",
    "revoked": "members that are revoked in mid-run",
    "skew": "a tenth of the clocks is wrong by up to so many seconds",
    "warm": "seconds to choose neighbours before anything is measured",
    "idle": "seconds of silence to measure idle traffic in, before the first write",
}


_USUAL = Scenario()
_OPTIONS = (
    ("nodes", int, "N", _USUAL.nodes),
    ("seed", int, "N", _USUAL.seed),
    ("latency", str, "LOW-HIGH", f"{_USUAL.latency_ms[0]:g}-{_USUAL.latency_ms[1]:g}"),
    ("loss", float, "SHARE", _USUAL.loss),
    ("duplicate", float, "SHARE", _USUAL.duplicate),
    ("reorder", float, "SHARE", _USUAL.reorder),
    ("dead", float, "SHARE", _USUAL.dead),
    ("partition", str, "SECONDS[:SHARE]", "0"),
    ("writes", int, "N", _USUAL.writes),
    ("write-bytes", int, "BYTES", _USUAL.write_bytes),
    ("duration", float, "SECONDS", _USUAL.duration),
    ("hostile", int, "N", _USUAL.hostile),
    ("habits", str, "NAME,NAME", "all"),
    ("restarts", int, "N", _USUAL.restarts),
    ("backups", int, "N", _USUAL.backups),
    ("sleeps", int, "N", _USUAL.sleeps),
    ("one-way", int, "N", _USUAL.one_way),
    ("revoked", int, "N", _USUAL.revoked),
    ("skew", float, "SECONDS", _USUAL.skew_seconds),
    ("warm", float, "SECONDS", _USUAL.warm_seconds),
    ("idle", float, "SECONDS", _USUAL.idle_seconds),
)


@command("mesh simulate --nodes 1000 --seed 7 --latency 5-50 --loss 0.1 --dead 0.1")
@options(
    *(
        option(f"--{name}", metavar=metavar, type=kind, default=default, help=f"{_HELP[name]} (default: {default})")
        for name, kind, metavar, default in _OPTIONS
    )
)
@option("--chaos", help="every sort of fault, drawn from the seed")
def main(given: Given) -> int:
    """Run, check, report."""
    scenario = chaos(given.nodes, given.seed) if given.chaos else _scenario(given)
    try:
        report = simulate(scenario)
    except InvariantBroken as broken:
        tell(f"mesh: {broken}")
        return EXIT_FAILED
    put(*([report.json()] if given.json else report.lines()))
    return 0


def _scenario(given: Given) -> Scenario:
    seconds, _, share = given.partition.partition(":")
    low, _, high = given.latency.partition("-")
    scenario = Scenario(
        nodes=given.nodes,
        seed=given.seed,
        latency_ms=(_number("latency", low), _number("latency", high or low)),
        loss=given.loss,
        duplicate=given.duplicate,
        reorder=given.reorder,
        dead=given.dead,
        partition_seconds=_number("partition", seconds),
        partition_share=_number("partition", share or "0.5"),
        writes=given.writes,
        write_bytes=given.write_bytes,
        duration=given.duration,
        hostile=given.hostile,
        habits=_habits(given.habits),
        restarts=given.restarts,
        backups=given.backups,
        sleeps=given.sleeps,
        one_way=given.one_way,
        revoked=given.revoked,
        skew_seconds=given.skew,
        warm_seconds=given.warm,
        idle_seconds=given.idle,
    )
    _require(scenario)
    return scenario


def _require(scenario: Scenario) -> None:
    shares = (scenario.loss, scenario.duplicate, scenario.reorder, scenario.dead, scenario.partition_share)
    if not all(0.0 <= share < 1.0 for share in shares):
        raise UsageError("a share is a number from 0 to less than 1", "give 0.1 for a tenth")
    counts = [value for value in scenario if isinstance(value, int | float)]
    if scenario.nodes < 2 or min(counts) < 0 or min(scenario.latency_ms) < 0:
        raise UsageError("there are at least two nodes, and nothing is less than none", "see: mesh simulate --help")
    parts = scenario.hostile + scenario.restarts + scenario.backups + scenario.sleeps + scenario.revoked
    if parts + round(scenario.dead * scenario.nodes) > scenario.nodes // 2:
        raise UsageError("more than half of the nodes would be in trouble", "give more nodes, or fewer faults")
    faults = parts + scenario.one_way + scenario.partition_seconds
    if faults and scenario.duration <= 0:
        raise UsageError("faults need time to happen in", "add: --duration 10")


def _habits(text: str) -> tuple[str, ...]:
    wanted = () if text == "all" else tuple(text.split(","))
    unknown = [name for name in wanted if name not in Hostile.HABITS]
    if unknown:
        raise UsageError(f"there is no habit {unknown[0]!r}", f"take some of these: {', '.join(Hostile.HABITS)}")
    return wanted


def _number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise UsageError(f"--{name} takes numbers, not {text!r}", "see: mesh simulate --help") from error
