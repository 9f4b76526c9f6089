"""`hooks`: which prompts the prompt hook takes for a correction or a standing rule, of labelled prompts of real sessions. Any flavour.

The labels are in `hooks_judged.json`: file, line and hash of a prompt, and what two readings said, without a word of it. The prompts stand beside
the checkout; without them there is nothing to measure, and it says so. A third, chosen by the hash, was kept apart until the rules were written; they were amended after that (ADR 0070).
Where the readings differ a prompt counts neither way.
"""

import json
import tempfile
from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from bench.harvest import ROOT
from bench.table import Goal, Report
from clan_learnings.agents.record_call import RecordCall
from clan_learnings.agents.record_requests import about_prompt
from clan_learnings.records.shown_to_session import FIRST_PROMPT, ShownRecords
from clan_learnings.sessions.recognition import read_transcript
from clan_learnings.sessions.transcript_events import Kind

LABELS = Path(__file__).resolve().parent / "hooks_judged.json"
_OTHER = "other"
_PARTS = 3  # one of which was kept apart
_MADE_UP = "nemo1991__openclaw-session-viewer"  # a file that a program wrote: the same sentence again and again
_LOCATED, _DISTURBED = Goal(0.85), Goal(0.03, most=True)


class _Judged(NamedTuple):
    """A prompt, what two readings said of it, and whether the hook asked."""

    file: str
    flavour: str
    is_first: bool  # of its session
    is_unseen: bool
    readings: tuple[str, str]
    asked: bool

    @property
    def is_agreed(self) -> bool:
        return (self.readings[0] == _OTHER) == (self.readings[1] == _OTHER)

    @property
    def is_located_rightly(self) -> bool:
        return _OTHER not in self.readings


def run(root: Path = ROOT) -> Report:
    """Figures of the prompts beside the checkout, if they are there."""
    report = Report("hooks", "")
    labels: list[dict[str, Any]] = json.loads(LABELS.read_text("utf-8"))
    if not root.is_dir():
        report.notes.append(f"not measured: there is no {root}")
        return report
    judged = [*_judged(root, labels)]
    later = [one for one in judged if not one.is_first]
    for part, is_unseen in (("seen", False), ("unseen", True)):
        _add(report, part, [one for one in later if one.is_unseen is is_unseen])
    for flavour in sorted({one.flavour for one in later}):
        _add(report, flavour, [one for one in later if one.flavour == flavour], with_goals=False)
    real = [one for one in later if _MADE_UP not in one.file]
    _add(report, "without the file that a program wrote", real, with_goals=False)
    first = [one for one in judged if one.is_first]
    report.add(
        f"first prompts that are disturbed, of {len(first)}",
        "",
        sum(one.asked for one in first),
        goal=Goal(0, most=True),
    )
    doubtful = [one for one in later if not one.is_agreed]
    report.add(f"prompts on which the readings differ, of {len(later)}: asked", "", sum(one.asked for one in doubtful))
    report.add("agreement of the readings, kappa", "", _kappa([one.readings for one in later]))
    report.notes.append(
        f"{len(judged)} of {len(labels)} labelled prompts are there; {len(doubtful)} of them count neither way"
    )
    return report


def _judged(root: Path, labels: Sequence[dict[str, Any]]) -> Iterator[_Judged]:
    """Every prompt that has a label and is as it was."""
    files = dict.fromkeys(str(label["file"]) for label in labels)
    known = {(label["file"], label["line"], label["prompt"]): label for label in labels}
    with tempfile.TemporaryDirectory(prefix="clan-mesh-bench-") as folder:
        for file in files:
            path = root / file
            for session in read_transcript(path.read_bytes(), str(path)).sessions if path.is_file() else ():
                is_first = True
                for event in session.events:
                    words = event.text.strip()
                    if event.kind is not Kind.PROMPT or event.is_sidechain or not words:
                        continue
                    hashed = sha256(words.encode()).hexdigest()
                    label = known.pop((file, event.line, hashed[:16]), None)
                    if label is not None:
                        asked = _asks(folder, f"bench:{hashed[:16]}-{event.line}", words, is_first=is_first)
                        is_unseen = int(hashed[:4], 16) % _PARTS == 0
                        yield _Judged(
                            file, session.flavour, is_first, is_unseen, (label["first"], label["second"]), asked
                        )
                    is_first = False


def _asks(home: str, session: str, prompt: str, *, is_first: bool) -> bool:
    """Whether the hook asks for a record, in a session that was asked nothing yet."""
    seen = ShownRecords(home, session)
    if not is_first:
        seen.note(0, FIRST_PROMPT, "-", "another")
    return bool(about_prompt(seen, prompt, RecordCall("", {}), 0))


def _add(report: Report, part: str, judged: Sequence[_Judged], *, with_goals: bool = True) -> None:
    agreed = [one for one in judged if one.is_agreed]
    for what, is_there, goal in (
        ("corrections and rules located", True, _LOCATED),
        ("others disturbed", False, _DISTURBED),
    ):
        chosen = [one.asked for one in agreed if one.is_located_rightly is is_there]
        if chosen:
            report.add(
                f"{part}: {what}, of {len(chosen)}",
                "share",
                sum(chosen) / len(chosen),
                goal=goal if with_goals else None,
            )


def _kappa(readings: Sequence[tuple[str, str]]) -> float | None:
    """Cohen's, of two readings that say yes or no."""
    count = len(readings)
    if not count:
        return None
    yes: Callable[[int], float] = lambda which: sum(pair[which] != _OTHER for pair in readings) / count  # noqa: E731
    same = sum((one == _OTHER) == (other == _OTHER) for one, other in readings) / count
    chance = yes(0) * yes(1) + (1 - yes(0)) * (1 - yes(1))
    return (same - chance) / (1 - chance) if chance < 1 else 1.0
