"""Figures beside their peers and goals, as an aligned table and as JSON. Measures nothing."""

import json
import os
import sys
from dataclasses import asdict, dataclass, field
from typing import Any

RESULTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "results")


@dataclass(frozen=True, slots=True)
class Goal:
    """A bound on our figure, or on its ratio to the peer's. At least by default: speed."""

    bound: float
    most: bool = False
    ratio: bool = False

    def met(self, ours: float | None, ratio: float | None) -> bool | None:
        """Whether it was reached; None where there is nothing to compare."""
        value = ratio if self.ratio else ours
        if value is None:
            return None
        return value <= self.bound if self.most else value >= self.bound

    def text(self, unit: str) -> str:
        """As a person reads it."""
        return f"{'<=' if self.most else '>='} {number(self.bound)}{' x' if self.ratio else ' ' + unit}"


@dataclass(frozen=True, slots=True)
class Figure:
    """One line: what was measured, ours, and the peers' where there are any. A goal's ratio is that to the first."""

    what: str
    unit: str
    ours: float | None
    peer: float | None = None
    goal: Goal | None = None
    second: float | None = None
    third: float | None = None

    @property
    def ratio(self) -> float | None:
        """Ours over the peer's."""
        return _over(self.ours, self.peer)

    @property
    def second_ratio(self) -> float | None:
        """Ours over the second peer's."""
        return _over(self.ours, self.second)

    @property
    def third_ratio(self) -> float | None:
        """Ours over the third peer's."""
        return _over(self.ours, self.third)


@dataclass(slots=True)
class Report:
    """Everything one benchmark found."""

    name: str
    peer: str
    figures: list[Figure] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    second: str = ""  # another peer
    third: str = ""  # and one more
    parts: "list[Report]" = field(default_factory=list)  # further tables, printed below
    details: dict[str, Any] = field(default_factory=dict)  # too long for a table: only in the JSON

    def add(
        self,
        what: str,
        unit: str,
        ours: float | None,
        peer: float | None = None,
        goal: Goal | None = None,
        *,
        second: float | None = None,
        third: float | None = None,
    ) -> None:
        """One more line."""
        self.figures.append(Figure(what, unit, ours, peer, goal, second, third))

    def render(self) -> str:
        """The table without its empty columns, then the notes."""
        head = ("what", "unit", "clan-mesh", self.peer, "ratio", self.second, "ratio", self.third, "ratio", "goal", "")
        rows = [_cells(figure) for figure in self.figures]
        kept = [at for at in range(len(head)) if any(row[at] for row in rows)]
        widths = [max(len(row[at]) for row in (head, *rows)) for at in range(len(head))]
        lines = ["  ".join(_aligned(row[at], widths, at) for at in kept).rstrip() for row in (head, *rows)]
        lines.insert(1, "  ".join("-" * widths[at] for at in kept).rstrip())
        table = "\n".join([f"== {self.name} ==", *lines, *(f"  * {note}" for note in self.notes)])
        return "\n\n".join([table, *(part.render() for part in self.parts)])

    def save(self, facts: dict[str, Any]) -> str:
        """Write the JSON; returns where."""
        os.makedirs(RESULTS, exist_ok=True)
        path = os.path.join(RESULTS, f"{self.name}.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(self.value({"machine": facts}), file, indent=2)
            file.write("\n")
        return path

    def value(self, more: dict[str, Any]) -> dict[str, Any]:
        """As JSON, with what is known besides."""
        figures = [
            asdict(item)
            | {"ratio": item.ratio, "second_ratio": item.second_ratio, "third_ratio": item.third_ratio}
            | {"met": _met(item)}
            for item in self.figures
        ]
        value: dict[str, Any] = {"name": self.name, "peer": self.peer, "second": self.second, "third": self.third}
        value |= more | {"figures": figures, "notes": self.notes}
        if self.details:
            value["details"] = self.details
        if self.parts:
            value["parts"] = [part.value({}) for part in self.parts]
        return value


def say(text: str) -> None:
    """Progress, for the person who waits."""
    print(f"  .. {text}", file=sys.stderr, flush=True)


def number(value: float | None) -> str:
    """Three digits that matter, thousands apart."""
    if value is None:
        return ""
    if abs(value) >= 100 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:.3g}"


def _over(ours: float | None, peer: float | None) -> float | None:
    return None if ours is None or not peer else ours / peer


def _met(figure: Figure) -> bool | None:
    return None if figure.goal is None else figure.goal.met(figure.ours, figure.ratio)


def _cells(figure: Figure) -> tuple[str, ...]:
    verdict = {True: "met", False: "MISSED", None: ""}[_met(figure)]
    ratios = (figure.ratio, figure.second_ratio, figure.third_ratio)
    ratio, second_ratio, third_ratio = ("" if value is None else f"{value:.3g} x" for value in ratios)
    goal = "" if figure.goal is None else figure.goal.text(figure.unit)
    others = (number(figure.second), second_ratio, number(figure.third), third_ratio)
    return figure.what, figure.unit, number(figure.ours) or "-", number(figure.peer), ratio, *others, goal, verdict


def _aligned(cell: str, widths: list[int], column: int) -> str:
    return cell.rjust(widths[column]) if 2 <= column <= 8 else cell.ljust(widths[column])
