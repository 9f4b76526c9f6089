"""What a run showed, as plain values, as JSON and as a table. Measures nothing itself."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import ceil

from peers.simulate.meter import PAYLOAD, Meter, Write


@dataclass(frozen=True, slots=True)
class Spread:
    """Seconds until a write counted on a share of the nodes; None where it never did."""

    half: float | None
    most: float | None  # 99 %
    all: float | None


@dataclass(frozen=True, slots=True)
class Report:
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
            ("sent", _counts(self.sent, "B")),
            ("faults", _counts(self.faults)),
            ("engines", _counts(self.observed)),
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


def _counts(counts: dict[str, int], unit: str = "") -> str:
    return ", ".join(f"{name} {count:,}{' ' + unit if unit else ''}" for name, count in counts.items()) or "none"
