"""`redaction`: how many secrets go and how many harmless texts are changed, by kind, beside detect-secrets; and how fast.

Four sets. The rules were mended on `development`. `held_out` was written before them, `fresh` after them, `stranger` by somebody who did not
know them; what each said at its first run is in ADR 0029, and some of what they missed was mended since: a set that was looked into is not held out any more. Of detect-secrets
everything it names is replaced, as a redactor on top of it would do.
"""

import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from bench.redaction_cases import Harmless, Secret, harmless, secrets, survives
from bench.table import Goal, Report, say
from clan_learnings.redaction import redact

SETS = ("development", "held_out", "fresh", "stranger")
SEEDS = (1, 2, 3)
_RECALL, _ALARMS = Goal(0.92), Goal(0.01, most=True)
_PLAIN_CHARS = 1_000_000
Redactor = Callable[[str], str]


class Outcome:
    """What became of the texts of a set."""

    def __init__(self, clean: Redactor, texts: list[Secret], plain: list[Harmless]) -> None:
        self.secrets: Counter[str] = Counter()
        self.found: Counter[str] = Counter()
        self.plain: Counter[str] = Counter()
        self.alarms: Counter[str] = Counter()
        self.missed: Counter[str] = Counter()  # by template
        for case in texts:
            text = clean(case.text)
            for secret in case.secrets:
                self.secrets[case.kind] += 1
                lost = not survives(secret, text)
                self.found[case.kind] += lost
                self.missed[case.template] += not lost
        for each in plain:
            self.plain[each.kind] += 1
            self.alarms[each.kind] += clean(each.text) != each.text

    def recall(self, kind: str = "") -> float:
        """The share of secrets that are gone, of one kind or of all."""
        return self.found[kind] / self.secrets[kind] if kind else self.found.total() / self.secrets.total()

    def alarm_rate(self, kind: str = "") -> float:
        """The share of harmless texts that were changed."""
        return self.alarms[kind] / self.plain[kind] if kind else self.alarms.total() / self.plain.total()


def measured(name: str, clean: Redactor) -> Outcome:
    """A set with every seed."""
    texts = [case for seed in SEEDS for case in secrets(name, seed)]
    return Outcome(clean, texts, [each for seed in SEEDS for each in harmless(name, seed)])


def run(work: str) -> Report:
    """Every set, and kind by kind the one that was held out."""
    report = Report("redaction", "detect-secrets")
    peer = _detect_secrets(work)
    if peer is None:
        report.notes.append("detect-secrets is not installed, so it was not measured: pip install detect-secrets")
    for name in SETS:
        say(f"redacting the set {name}")
        ours = measured(name, lambda text: redact(text).text)
        theirs = measured(name, peer) if peer else None
        recall, alarms = (theirs.recall, theirs.alarm_rate) if theirs else (_nothing, _nothing)
        goals = (_RECALL, _ALARMS) if name == "held_out" else (None, None)
        report.add(f"{name}: recall", "", ours.recall(), recall(), goals[0])
        if name == "held_out":
            for kind in ours.secrets:
                report.add(f"  {kind}", "", ours.recall(kind), recall(kind))
        report.add(f"{name}: false alarms", "", ours.alarm_rate(), alarms(), goals[1])
        if name == "held_out":
            for kind in ours.plain:
                report.add(f"  {kind}", "", ours.alarm_rate(kind), alarms(kind))
        report.notes.append(
            f"{name}: {ours.found.total()} of {ours.secrets.total()} secrets, "
            f"{ours.alarms.total()} of {ours.plain.total()} harmless texts changed, seeds {', '.join(map(str, SEEDS))}"
        )
    report.add("harmless lines, processor", "ms/KB", _milliseconds_per_kb())
    return report


def _nothing(_: str = "") -> None:
    """What is known of a peer that is not there."""


def _milliseconds_per_kb() -> float:
    """Of a text of harmless lines, the best of three."""
    lines = "\n".join(each.text for each in harmless("development"))
    text = (lines + "\n") * (_PLAIN_CHARS // len(lines))
    best = float("inf")
    for _ in range(3):
        started = time.process_time()
        redact(text)
        best = min(best, time.process_time() - started)
    return best * 1000 / (len(text) / 1024)


def _detect_secrets(work: str) -> Redactor | None:
    """Everything it names is replaced. It reads files: of a text alone it takes every word for suspicious."""
    try:
        from detect_secrets.core.scan import scan_file
        from detect_secrets.settings import default_settings
    except ImportError:
        return None
    path = Path(work, "text.txt")

    def clean(text: str) -> str:
        path.write_text(text, "utf-8")
        with default_settings():
            found = {each.secret_value for each in scan_file(str(path))}
        for value in sorted(filter(None, found), key=len, reverse=True):
            text = text.replace(value, "*")
        return text

    return clean
