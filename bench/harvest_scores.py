"""How well found items agree with labels: precision, recall, traps. Arithmetic alone; reads no file and harvests nothing.

An item and a label agree if kind and file are equal and their lines at most 3 apart, one to one, the nearest first. A label that
says `durable: false` counts neither way, and neither does an item that agrees with it. A trap is taken when an item
cites its very line and no label does.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

NEAR = 3
JUDGED = ("correction", "fix", "pitfall", "tool-quirk")  # the kinds that are held against a bar; others are shown


@dataclass(frozen=True, slots=True)
class Cited:
    """What counts of an item."""

    kind: str
    line: int


@dataclass(frozen=True, slots=True)
class Label:
    """What somebody says is there."""

    kind: str
    line: int
    is_durable: bool = True


@dataclass(slots=True)
class Score:
    """How often it was right."""

    hits: int = 0
    wrong: int = 0
    missed: int = 0

    @property
    def precision(self) -> float | None:
        """Of what was found."""
        found = self.hits + self.wrong
        return self.hits / found if found else None

    @property
    def recall(self) -> float | None:
        """Of what is there."""
        there = self.hits + self.missed
        return self.hits / there if there else None

    def add(self, other: "Score") -> None:
        """Both together."""
        self.hits += other.hits
        self.wrong += other.wrong
        self.missed += other.missed


@dataclass(slots=True)
class Judged:
    """One file's items beside its labels."""

    by_kind: dict[str, Score] = field(default_factory=dict)
    verdicts: list[str] = field(default_factory=list)  # of each item: hit, neutral, wrong
    missed: list[Label] = field(default_factory=list)
    traps: list[int] = field(default_factory=list)  # lines of those taken


def judge(items: Sequence[Cited], labels: Sequence[Label], traps: Iterable[int] = ()) -> Judged:
    """Items of one file against its labels."""
    pairs = sorted(
        (abs(item.line - label.line), not label.is_durable, number, place)
        for number, item in enumerate(items)
        for place, label in enumerate(labels)
        if item.kind == label.kind and abs(item.line - label.line) <= NEAR
    )
    agreed: dict[int, int] = {}
    for _, _, number, place in pairs:
        if number not in agreed and place not in agreed.values():
            agreed[number] = place
    judged = Judged()
    for number, item in enumerate(items):
        label = labels[agreed[number]] if number in agreed else None
        verdict = "wrong" if label is None else "hit" if label.is_durable else "neutral"
        judged.verdicts.append(verdict)
        score = judged.by_kind.setdefault(item.kind, Score())
        score.hits += verdict == "hit"
        score.wrong += verdict == "wrong"
    for place, label in enumerate(labels):
        if label.is_durable and place not in agreed.values():
            judged.by_kind.setdefault(label.kind, Score()).missed += 1
            judged.missed.append(label)
    cited = {label.line for label in labels}
    lines = {item.line for item in items}
    judged.traps = sorted({line for line in traps if line in lines and line not in cited})
    return judged


def labels_of(entry: Mapping[str, Any]) -> tuple[list[Label], list[int]]:
    """The labels and the lines of traps of one entry of a file of labels; what is not well formed is left out."""
    labels = [
        Label(item["kind"], item["evidence_line"], item.get("durable") is not False)
        for item in entry.get("items") or ()
        if isinstance(item, dict) and isinstance(item.get("kind"), str) and isinstance(item.get("evidence_line"), int)
    ]
    traps = [
        trap["line"]
        for trap in entry.get("traps") or ()
        if isinstance(trap, dict) and isinstance(trap.get("line"), int)
    ]
    return labels, traps
