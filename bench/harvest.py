"""`harvest`: what the rules find in labelled sessions, by kind and by flavour; traps; outcomes; speed. Any set: --root and --labels.

Without a set there is nothing to measure, and it says so. Items of unlabelled files that a person judged are in
`harvest_judged.json`, by file, line and kind, without a word of a transcript.
"""

import json
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.harvest_scores import JUDGED, Cited, Judged, Score, judge, labels_of
from bench.table import Goal, Report, say
from clan_learnings.harvest.items import KINDS, HarvestItem
from clan_learnings.harvest.rules import items_of_session
from clan_learnings.sessions.digest import digest_of
from clan_learnings.sessions.failures import SessionCourse
from clan_learnings.sessions.recognition import read_transcript

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent / "shared" / "transcripts"
VERDICTS = HERE / "harvest_judged.json"
SAMPLE, SEED = 50, 7
_GOALS = {"correction": (0.8, 0.7), "fix": (0.8, 0.7)}
_SAME = {"unclear": "unknown"}  # how labels may call an outcome
_LABELS = "labels.json"


class Harvested:
    """A set of labelled files, and what was found in them."""

    def __init__(self, root: Path, labels: Path) -> None:
        self.root = root
        self.entries: list[dict[str, Any]] = [
            entry for entry in json.loads(labels.read_text("utf-8")) if entry.get("file")
        ]
        self.files: list[tuple[dict[str, Any], list[HarvestItem], Judged, str]] = []  # entry, items, judgement, outcome
        self.notes: list[str] = []
        self.seconds = 0.0
        self.sessions = 0

    def run(self) -> None:
        """Harvest every labelled file."""
        for entry in self.entries:
            path = self.root / entry["file"]
            if not path.is_file():
                self.notes.append(f"not there: {entry['file']}")
                continue
            items, outcome = self._harvest(path)
            labels, traps = labels_of(entry)
            judged = judge([Cited(item.kind, item.line) for item in items], labels, traps)
            self.files.append((entry, items, judged, outcome))

    def _harvest(self, path: Path) -> tuple[list[HarvestItem], str]:
        transcript = read_transcript(path.read_bytes(), str(path))
        started = time.perf_counter()
        items: list[HarvestItem] = []
        outcome = "unknown"
        for session in transcript.sessions:
            course = SessionCourse.of(session)
            outcome = digest_of(session, course).outcome
            items += items_of_session(session, course)
            self.sessions += 1
        self.seconds += time.perf_counter() - started
        return items, outcome

    def scores(self, flavour: str = "") -> dict[str, Score]:
        """By kind, of all files or of one flavour."""
        found: dict[str, Score] = {}
        for entry, _, judged, _ in self.files:
            if not flavour or _flavour(entry) == flavour:
                for kind, score in judged.by_kind.items():
                    found.setdefault(kind, Score()).add(score)
        return found

    def flavours(self) -> list[str]:
        """Those that are there."""
        return sorted({_flavour(entry) for entry, _, _, _ in self.files})

    def traps(self) -> tuple[int, int]:
        """How many were taken, and how many there are."""
        return sum(len(judged.traps) for _, _, judged, _ in self.files), sum(
            len(labels_of(entry)[1]) for entry, _, _, _ in self.files
        )

    def outcomes(self) -> tuple[int, int]:
        """How many outcomes are as labelled, and how many are labelled."""
        told = [(_told(entry), outcome) for entry, _, _, outcome in self.files if _told(entry)]
        return sum(label == outcome for label, outcome in told), len(told)

    def value(self) -> dict[str, Any]:
        """All of it as JSON."""
        taken, traps = self.traps()
        right, told = self.outcomes()
        return {
            "kinds": _as_json(self.scores()),
            "flavours": {flavour: _as_json(self.scores(flavour)) for flavour in self.flavours()},
            "traps": {
                "taken": taken,
                "of": traps,
                "lines": [f"{entry['file']}:{line}" for entry, _, judged, _ in self.files for line in judged.traps],
            },
            "outcomes": {"right": right, "of": told},
            "items": [
                {
                    "file": entry["file"],
                    "verdict": verdict,
                    "kind": item.kind,
                    "evidence_line": item.line,
                    "fix_line": item.fix_line,
                }
                | {"text": item.text, "confidence": item.confidence}
                for entry, items, judged, _ in self.files
                for item, verdict in zip(items, judged.verdicts, strict=True)
            ],
            "missed": [
                {"file": entry["file"], "kind": label.kind, "evidence_line": label.line}
                for entry, _, judged, _ in self.files
                for label in judged.missed
            ],
            "notes": self.notes,
        }

    def render(self) -> str:
        """Tables of kinds and flavours, then traps and outcomes."""
        taken, traps = self.traps()
        right, told = self.outcomes()
        tables = [
            _table("all flavours", self.scores()),
            *(_table(flavour, self.scores(flavour)) for flavour in self.flavours()),
        ]
        lines = [f"traps taken: {taken} of {traps}", f"outcomes as labelled: {right} of {told}"]
        return "\n\n".join([*tables, "\n".join([*lines, *(f"  * {note}" for note in self.notes)])])


class HarvestReport(Report):
    """The figures, and before them the tables."""

    def __init__(self, harvested: Harvested | None) -> None:
        super().__init__("harvest", "")
        self._harvested = harvested

    def render(self) -> str:
        """The tables, then the figures."""
        tables = [self._harvested.render()] if self._harvested else []
        return "\n\n".join([*tables, super().render()])

    def save(self, facts: dict[str, Any]) -> str:
        """Write the JSON, the scores with it, but no word of a transcript; returns where."""
        path = super().save(facts)
        if self._harvested is not None:
            value = json.loads(Path(path).read_text("utf-8"))
            whole = self._harvested.value()
            value["scores"] = {name: whole[name] for name in ("kinds", "flavours", "traps", "outcomes")}
            Path(path).write_text(json.dumps(value, indent=2) + "\n", "utf-8")
        return path


def run(root: Path = ROOT, labels: Path | None = None) -> Report:
    """Figures of the set that stands beside the checkout, if one does."""
    labels = labels or root / _LABELS
    if not labels.is_file():
        report = HarvestReport(None)
        report.notes.append(f"not measured: there is no {labels}; give a set with --root DIR --labels FILE")
        return report
    harvested = Harvested(root, labels)
    harvested.run()
    report = HarvestReport(harvested)
    scores = harvested.scores()
    for kind in JUDGED:
        score, (precision, recall) = scores.get(kind, Score()), _GOALS.get(kind, (None, None))
        report.add(f"{kind}: precision", "", score.precision, goal=None if precision is None else Goal(precision))
        report.add(f"{kind}: recall", "", score.recall, goal=None if recall is None else Goal(recall))
    report.add("traps taken", "", harvested.traps()[0], goal=Goal(0, most=True))
    report.add("digests and items", "sessions/s", harvested.sessions / harvested.seconds if harvested.seconds else None)
    _add_judged(report, root)
    return report


def given(root: Path, labels: Path) -> Harvested:
    """Any set."""
    harvested = Harvested(root, labels)
    harvested.run()
    return harvested


def sampled(root: Path, count: int = SAMPLE, seed: int = SEED) -> list[tuple[str, HarvestItem]]:
    """Items of unlabelled files, at random but always the same: what a person is to judge."""
    labels = root / _LABELS
    labelled = {entry.get("file") for entry in json.loads(labels.read_text("utf-8"))} if labels.is_file() else set()
    found = [(name, item) for name, item in _unlabelled(root, labelled) if item.kind in KINDS]
    random.Random(seed).shuffle(found)
    return sorted(found[:count], key=lambda pair: (pair[0], pair[1].line))


def _unlabelled(root: Path, labelled: set[str]) -> Iterator[tuple[str, HarvestItem]]:
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        if not path.is_file() or path.parent == root or name in labelled or name.startswith("edge/"):
            continue
        for session in read_transcript(path.read_bytes(), str(path)).sessions:
            for item in items_of_session(session):
                yield name, item


def _add_judged(report: Report, root: Path) -> None:
    """What a person said about the sample, of items that are still found."""
    if not VERDICTS.is_file():
        return
    verdicts = json.loads(VERDICTS.read_text("utf-8"))
    say("items of unlabelled files")
    found = {(name, item.line, item.kind) for name, item in _unlabelled(root, set())}
    still = [verdict for verdict in verdicts if (verdict["file"], verdict["line"], verdict["kind"]) in found]
    if still:
        report.add(
            f"judged by hand: precision of {len(still)}", "", sum(verdict["is_right"] for verdict in still) / len(still)
        )
    report.notes.append(
        f"{len(verdicts)} items of unlabelled files were judged by hand; {len(still)} of them are still found"
    )


def _flavour(entry: dict[str, Any]) -> str:
    return str(entry.get("flavor") or entry.get("flavour") or entry["file"].partition("/")[0])


def _told(entry: dict[str, Any]) -> str:
    outcome = entry.get("outcome")
    result = str(outcome.get("result", "")) if isinstance(outcome, dict) else ""
    return _SAME.get(result, result)


def _as_json(scores: dict[str, Score]) -> dict[str, Any]:
    return {
        kind: {
            "precision": score.precision,
            "recall": score.recall,
            "hits": score.hits,
            "wrong": score.wrong,
            "missed": score.missed,
        }
        for kind, score in sorted(scores.items())
    }


def _table(title: str, scores: dict[str, Score]) -> str:
    rows: list[tuple[str, ...]] = [("kind", "precision", "recall", "hits", "wrong", "missed")]
    for kind, score in sorted(scores.items(), key=lambda item: (item[0] not in JUDGED, item[0])):
        shares = ("-" if share is None else f"{share:.2f}" for share in (score.precision, score.recall))
        rows.append((kind, *shares, str(score.hits), str(score.wrong), str(score.missed)))
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    lines = [
        "  ".join(
            cell.ljust(width) if not at else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]
    return "\n".join([f"-- {title} --", *lines])
