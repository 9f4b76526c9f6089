"""Quality of recall as a table: a row a kind of question, a column a way of answering. Asks each way every question once."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from bench.quantiles import quantile
from bench.recall_judged import Question
from bench.recall_metrics import NAMES, Scores, as_one, mean, scores
from bench.recall_ways import COMMAND, Way
from bench.table import say

ALL = "all"
_SHORT = ("r@5", "nDCG", "MRR")
_CELL = "{:>5} {:>5} {:>5}"


class Row(NamedTuple):
    """So many questions of one kind, and what each way made of them."""

    name: str
    questions: int
    found: dict[str, Scores]


class Asked(NamedTuple):
    """Every question with the scores of each way, and how long the ways took: p50 and p95 in milliseconds, in this process."""

    questions: Sequence[Question]
    found: dict[str, list[Scores]]
    times: dict[str, tuple[float, float]]

    def rows(self, takes: Callable[[Question], bool] = lambda _: True) -> list[Row]:
        """The kinds of those questions that are taken, then all of these together."""
        taken = [number for number, question in enumerate(self.questions) if takes(question)]
        kinds = dict.fromkeys(self.questions[number].kind for number in taken)
        parts = {kind: [at for at in taken if self.questions[at].kind == kind] for kind in kinds if kind}
        return [self._row(name, part) for name, part in (parts | {ALL: taken}).items()]

    def _row(self, name: str, part: Sequence[int]) -> Row:
        return Row(name, len(part), {way: mean([each[at] for at in part]) for way, each in self.found.items()})


def ask(ways: Mapping[str, Way], questions: Sequence[Question], groups: Mapping[str, str]) -> Asked:
    """Each way is asked every question. `groups`: ids of near-duplicates, which count as one answer."""
    found: dict[str, list[Scores]] = {}
    times = {}
    for name, way in ways.items():
        say(f"{len(questions):,} questions: {name}")
        found[name], took = [], []
        for question in questions:
            start = time.perf_counter()
            ranked = way(question)
            took.append(1000 * (time.perf_counter() - start))
            found[name].append(scores(as_one(ranked, groups), as_one(question.relevant, groups)))
        times[name] = (quantile(took, 0.5), quantile(took, 0.95))
    return Asked(questions, found, times)


def table(title: str, rows: Sequence[Row]) -> str:
    """Aligned, three figures a way."""
    ways = list(rows[0].found)
    width = max(len(title), *(len(row.name) for row in rows))
    empty = len(_CELL.format("", "", ""))
    cell = max(empty, *map(len, ways))
    lines = [
        _line(title.ljust(width), "", [way.center(cell) for way in ways]),
        _line(" " * width, "n", [_CELL.format(*_SHORT).rjust(cell)] * len(ways)),
        _line("-" * width, "----", ["-" * cell] * len(ways)),
    ]
    for row in rows:
        cells = [_CELL.format(*map(_figure, row.found[way])).rjust(cell) for way in ways]
        lines.append(_line(row.name.ljust(width), str(row.questions), cells))
    return "\n".join(lines)


def as_json(rows: Iterable[Row]) -> dict[str, Any]:
    """The same for programs: row, way, measure."""
    return {
        row.name: {"questions": row.questions}
        | {
            key_of(way): {name: round(value, 4) for name, value in zip(NAMES, found, strict=True)}
            for way, found in row.found.items()
        }
        for row in rows
    }


def key_of(way: str) -> str:
    """A way's name in JSON. What everyone has, without a sidecar, is plainly `keyword`."""
    return "keyword" if way == COMMAND else way.lower().replace(", ", "_").replace(" ", "_")


def _line(name: str, count: str, cells: Sequence[str]) -> str:
    return "  ".join([name, count.rjust(4), *cells]).rstrip()


def _figure(value: float) -> str:
    return "1.000" if value > 0.9995 else f"{value:.3f}"[1:]
