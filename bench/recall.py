"""`recall`: how good and how fast search is: the judged set in every way of answering, the hooks' bar, sizes up to a million records."""

import json
import os
import shutil
from typing import Any

from bench import recall_judged as judged
from bench import recall_speed as speed
from bench.recall_home import write_home
from bench.recall_hooks import Bar, judge, told
from bench.recall_quality import Asked, Row, as_json, ask, table
from bench.recall_ways import peers, ready, ways_of
from bench.table import Goal, Report, say

_SILENCE = Goal(0.95)


class RecallReport(Report):
    """The figures, and before them the tables of quality."""

    def __init__(self, asked: Asked) -> None:
        super().__init__("recall", "python -c pass")
        self._asked = asked

    def render(self) -> str:
        """The tables, then the figures."""
        tables = [table(f"split {split}", self._of_split(split)) for split in judged.SPLITS]
        whole = table("both splits", self._asked.rows())
        return "\n\n".join(["== recall: quality ==", *tables, whole, super().render()])

    def save(self, facts: dict[str, Any]) -> str:
        """Write the JSON, the tables with it; returns where."""
        path = super().save(facts)
        with open(path, encoding="utf-8") as file:
            value = json.load(file)
        value["quality"] = {split: as_json(self._of_split(split)) for split in judged.SPLITS}
        value["quality"]["both"] = as_json(self._asked.rows())
        with open(path, "w", encoding="utf-8") as file:
            json.dump(value, file, indent=2)
            file.write("\n")
        return path

    def _of_split(self, split: str) -> list[Row]:
        def is_of_it(question: judged.Question) -> bool:
            return question.split == split

        return self._asked.rows(is_of_it)


def run(work: str, sizes: list[int], rounds: int, choice: str) -> Report:
    """Quality first, then speed if there are sizes. `choice`: the embedder, as `mesh index use` takes it."""
    home = os.path.join(work, "recall-set")
    shutil.rmtree(home, ignore_errors=True)
    items, groups = judged.items(), judged.groups()
    say(f"writing the judged set: {len(items)} records")
    ids = write_home(home, items, judged.supersessions())
    with ready(home, choice) as recall, ways_of(home, ids, recall, archived=False) as ours:
        says = str(recall.status().get("says", ""))
        asked = ask(peers(items) | ours, judged.questions(), groups)
    report = RecallReport(asked)
    _add_bars(report, home, ids, groups)
    for way, (middle, tail) in asked.times.items():
        report.add(f"{len(items):>9,}  {way}, in this process, p50", "ms", middle)
        report.add(f"{len(items):>9,}  {way}, in this process, p95", "ms", tail)
    if sizes:
        speed.add_figures(report, work, sizes, rounds, choice)
    report.notes += [
        f"indexes of the sidecar: {says}",
        "quality: near-duplicates count as one; what search collapsed stands right behind the line that stands for it",
        "the peers know the texts and the scope, and neither archives nor successors",
    ]
    return report


def _add_bars(report: Report, home: str, ids: dict[bytes, str], groups: dict[str, str]) -> None:
    """What hooks say unasked: nothing is better than something beside the point."""
    for what, questions, failures in (("prompts", judged.prompts(), False), ("failures", judged.failures(), True)):
        say(f"{len(questions)} {what}")
        answers = told(home, ids, questions, failures=failures)
        for split in judged.SPLITS:
            chosen = [at for at, question in enumerate(questions) if question.split == split]
            bar = judge([questions[at] for at in chosen], [answers[at] for at in chosen], groups)
            _add_bar(report, f"{what}, {split}", bar)


def _add_bar(report: Report, what: str, bar: Bar) -> None:
    report.add(f"{what}: told nothing of those that must be", "share", bar.silence, goal=_SILENCE)
    report.add(f"{what}: lines that are right, of {bar.told}", "share", bar.precision)
    report.add(f"{what}: told something right of those it helps", "share", bar.recall)
