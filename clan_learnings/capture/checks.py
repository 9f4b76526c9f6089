"""Runs of a check and what made its findings go away: each error that an edit mended, not only the last before all was well.

A check is a line that prints findings, and prints fewer later. Runs of the same check up to one that passes are one row. An
error is told at the last run that shows it; if that was only a second look, at the first one. What a later run does not show is
gone only if that run would have shown it.
"""

import re
from bisect import bisect_left
from typing import NamedTuple

from clan_learnings.capture.attempts import Attempt, State, only_looks
from clan_learnings.capture.commands import filters_of
from clan_learnings.capture.edits import changes_of, files_of, is_edit
from clan_learnings.capture.findings import Finding, findings_in
from clan_learnings.capture.ways import are_one_check

_FAR, _RUNS = 120, 60  # attempts between two runs of one row, and runs in it
_KINDS = 200  # of errors in one row
_EDITS, _CHANGES = 100, 20  # between two runs, and of one edit
_ALIKE = 0.6  # shared words of two signatures that are one error
_STILL = re.compile(r"\b(?:error|errors|err!|failed|failure|failing|fatal|fail)\b", re.IGNORECASE)
_NONE = re.compile(
    r"\b(?:0|no) (?:\w+ )?(?:errors?|failed|failures?|fail|issues?|problems?)\b|\b(?:errors?|failed|failures?|fail):? 0\b",
    re.IGNORECASE,
)
_END = 2_000  # characters
_COUNTS = re.compile(r"^(?:wc|grep -\w*c)\b")
_NAME = re.compile(r"`([^`\n]{2,60})`|'([^'\n]{2,60})'|\"([^\"\n]{2,60})\"|\b(\w+[._]\w[\w.]*|[a-z]+[A-Z]\w+)\b")
_CUTS = frozenset(("head", "tail"))


class Gone(NamedTuple):
    """What one run showed for the last time."""

    attempt: Attempt
    findings: tuple[Finding, ...]  # that went away, the most telling first
    fix: Attempt  # the edit
    passed: Attempt  # what showed it
    is_clean: bool  # whether that had nothing left to say


class _Run(NamedTuple):
    number: int  # among the attempts
    attempt: Attempt
    findings: tuple[Finding, ...]
    filters: str

    @property
    def has_passed(self) -> bool:
        """Whether nothing is left, as far as this run tells."""
        attempt = self.attempt
        if self.findings or attempt.state not in (State.WORKED, State.ANSWERED):
            return False
        if any(_COUNTS.match(part) for part in self.filters.split(" | ")):
            return attempt.output.strip() == "0"
        return is_well(attempt.output)


def is_well(output: str) -> bool:
    """Whether the end of an output does not speak of errors."""
    return not _STILL.search(_NONE.sub(" ", output[-_END:]))


def gone_in(attempts: list[Attempt]) -> list[Gone]:
    """All of a session, in order of the runs that showed them."""
    runs = [
        _Run(number, attempt, findings_in(attempt.output), filters_of(attempt.call.text))
        for number, attempt in enumerate(attempts)
        if attempt.call.text and attempt.result is not None and not only_looks(attempt.call.text)
    ]
    edited = [number for number, attempt in enumerate(attempts) if _has_edited(attempt)]
    found: list[Gone] = []
    seen: set[int] = set()
    for place, run in enumerate(runs):
        if run.findings and run.number not in seen:
            row = _row(runs, place)
            seen.update(one.number for one in row)
            found += _gone(row, attempts, edited)
    return sorted(found, key=lambda gone: gone.attempt.at)


def _row(runs: list[_Run], place: int) -> list[_Run]:
    """The runs of one check, until it passes."""
    row = [runs[place]]
    for run in runs[place + 1 :]:
        if run.number - row[-1].number > _FAR:
            break
        before = row[-1].attempt
        is_later = run.attempt.at >= before.ended and run.attempt.call.is_sidechain == before.call.is_sidechain
        if is_later and are_one_check(before.call.text, run.attempt.call.text):
            row.append(run)
            if run.has_passed or len(row) == _RUNS:
                break
    return row


def _gone(row: list[_Run], attempts: list[Attempt], edited: list[int]) -> list[Gone]:
    found, shown = list[Gone](), _shown(row)
    for place, run in enumerate(row):
        last = tuple(
            finding
            for finding in run.findings
            if _first_unchanged(row, shown[finding.signature], edited) == place
            and not _is_second_look(row, shown[finding.signature], place)
        )
        if not last:
            continue
        later = next((other for other in row[place + 1 :] if _would_show(run, other)), None)
        if later is None:
            continue
        between = edited[bisect_left(edited, run.number) : bisect_left(edited, later.number)]
        edits = [attempts[number] for number in between[-_EDITS:] if attempts[number].at > run.attempt.ended]
        if not later.has_passed:
            last = tuple(finding for finding in last if any(_touches(edit, finding) for edit in edits))
        if not edits or not last:
            continue
        last = tuple(sorted(last, key=lambda finding: finding.is_slip))
        fix = _mending(edits, last[0], row[place + 1].attempt.at)
        if not any(other.fix is fix for other in found):  # one edit is one story, told where it begins
            found.append(Gone(run.attempt, last, fix, later.attempt, later.has_passed))
    return found


def _shown(row: list[_Run]) -> dict[str, list[int]]:
    """For each signature the runs that show it or its like."""
    kinds: list[tuple[set[str], list[int]]] = []
    places: dict[str, list[int]] = {}
    for at, run in enumerate(row):
        for signature in {finding.signature for finding in run.findings}:
            if signature not in places:
                words = set(signature.split())
                kind = next(
                    (found for known, found in kinds if len(known & words) >= _ALIKE * len(known | words)), None
                )
                if kind is None:
                    kind = []
                    if len(kinds) < _KINDS:
                        kinds.append((words, kind))
                places[signature] = kind
            places[signature].append(at)
    return places


def _is_second_look(row: list[_Run], places: list[int], place: int) -> bool:
    """Whether a run only shows in passing what the one just before had failed with."""
    if row[place].attempt.state is State.FAILED or place - 1 not in places:
        return False
    return row[place - 1].attempt.state is State.FAILED


def _first_unchanged(row: list[_Run], places: list[int], edited: list[int]) -> int:
    """The run to cite: the last that shows it, or one before that, if nothing was changed in between."""
    last = places[-1]
    since = bisect_left(edited, row[last].number)  # edits before it
    return next(at for at in places if bisect_left(edited, row[at].number) == since)


def _would_show(run: _Run, later: _Run) -> bool:
    """Whether a later run says something about what this one showed."""
    if later.has_passed:
        return True
    filters = {part.partition(" ")[0] for part in later.filters.split(" | ") if part}
    return bool(later.findings) and (not filters or later.filters == run.filters) and not filters & _CUTS


def _has_edited(attempt: Attempt) -> bool:
    return attempt.state in (State.WORKED, State.UNKNOWN) and is_edit(attempt.call)


def _touches(edit: Attempt, finding: Finding) -> bool:
    name = finding.file.rsplit("/", 1)[-1]
    names = {file.replace("\\", "/").rsplit("/", 1)[-1] for file in files_of(edit.call)}
    return name in names or (bool(edit.call.text) and name in edit.call.text)


def _mending(edits: list[Attempt], finding: Finding, until: int) -> Attempt:
    """The edit that speaks of what the finding names, rather in its file and before the next run; else the last one of its file."""
    names = {name for groups in _NAME.findall(finding.message) for name in groups if name}

    def likely(edit: Attempt) -> tuple[int, bool, int]:
        speaks = any(
            name in change.old or name in change.new for change in changes_of(edit.call)[:_CHANGES] for name in names
        )
        touches = _touches(edit, finding)
        return 2 * speaks + touches, edit.at < until, edit.at

    return max(edits, key=likely)
