"""Runs of a check (tests, linter, compiler), and the edits that made its findings go away: each of them, not only the last.

A check is a line that prints findings, and prints fewer later. Runs of the same check up to one that passes are one row. An
error is told at the last run that shows it; if that was only a second look, at the first one. What a later run does not show is
gone only if that run would have shown it.
"""

import re
from bisect import bisect_left
from functools import lru_cache
from typing import NamedTuple

from clan_learnings.sessions.attempts import Attempt, AttemptState, only_looks
from clan_learnings.sessions.cleaning import without_colours
from clan_learnings.sessions.command_fixes import are_one_check
from clan_learnings.sessions.command_lines import filters_of
from clan_learnings.sessions.edits import changes_of, files_of, is_edit
from clan_learnings.sessions.error_signature import signed

_CHARS, _LINES, _MOST, _LINE = 24_000, 600, 40, 400
_BELOW = 3  # lines below an error that may say where
_FILE = r"[^\s:()\[\]\"'|<>]{1,200}\.[A-Za-z][\w+]{0,9}"
_TAG = r"^\s{0,2}(?:\[[\w:.-]{1,40}\] ?)?(?:[ew]: )?(?:file://)?"  # who ran it, as task runners write it, and how bad it is
# file:3:7: message; without a column only if it says that it is an error.
_PLACED = re.compile(
    _TAG + rf"(?:\./)?({_FILE}):\d{{1,7}}(?::\d{{1,6}}:?\s|:\s(?=(?:fatal )?error\b|[A-Z]{{1,4}}\d{{2,5}}\b))\s?(\S.*)$"
)
_IN_BRACKETS = re.compile(
    _TAG + rf"(?:\./)?({_FILE}):? ?\(\d{{1,7}}(?:, ?\d{{1,6}})?\): ?(\S.*)$"
)  # file(3,7): message
_ABOVE_PLACE = re.compile(
    r"^\s{0,4}(?:(?:error|warning)(?:\[\w{1,12}\])?: |[x×✖✗⚠] ?|[A-Z]{1,4}\d{2,5}\b ?)(\S.*)$"  # noqa: RUF001 (as linters print it)
)  # the message, and below it an arrow to the place
_ARROW = re.compile(rf"^\s{{0,12}}(?:-->|,-\[|╭─\[|┌─|at )\s?(?:\./)?({_FILE}):\d{{1,7}}")
_ANY_PLACE = re.compile(r"\.[A-Za-z][\w+]{0,9}(?::? ?\(|:)\d|^\s{1,8}\d{1,7}:\d", re.MULTILINE)
_NAMED_FILE = re.compile(rf"^\s{{0,2}}(?:[A-Za-z]:)?(?:\./)?({_FILE})$")
_UNDER_FILE = re.compile(r"^\s{1,8}\d{1,7}:\d{1,6}\s{1,10}(?:error|✖|×)\s{1,10}(\S.*)$")  # noqa: RUF001
_RULED = re.compile(r"(?:\s{2,}FIXABLE)?\s*[━─]{3,}\s*$")  # a line that fills the rest of the row
_NOTE = re.compile(r"^(?:note|help|info|debug|hint)\b:?", re.IGNORECASE)
_SUMMARY = re.compile(
    r"^(?:could not compile|aborting due to|\d+ (?:errors?|problems?|warnings?)\b|too many errors|test failed|build failed|process .{1,80} exited)",
    re.IGNORECASE,
)
_ASSERTS = re.compile(
    r"\bassert\w*|\bexpected\b.{0,160}\b(?:received|to (?:equal|be|have|contain|match))\b|\bgot\b.{0,80}\bwant\b|\bwant\b.{0,80}\bgot\b|^\w{0,60}(?:Error|Exception)$",
    re.IGNORECASE,
)
# Slips of the moment: the author of the line knows better.
_SLIP = re.compile(
    r"imported and not used|imported but unused|declared and not used|declared but (?:never|its value is never)|is (?:defined|assigned|declared) but never|never (?:used|read)\b|unused (?:import|variable)|is unused|"
    r"^(?:error TS\d+: )?cannot find name\b|undefined: \w+$|undefined name|is not defined|cannot find value|syntax ?error|unexpected token|expected .{1,30}, found|missing return|redeclared|already declared|undeclared|"
    r"not (?:properly )?formatted|would (?:be )?reformat|trailing (?:white)?space|no newline|line too long",
    re.IGNORECASE,
)


class CheckFinding(NamedTuple):
    """An error that a check reports at a place in a file."""

    file: str  # as it was printed
    message: str
    signature: str
    is_slip: bool  # says nothing that the next person would not know


@lru_cache(maxsize=256)
def findings_in(text: str) -> tuple[CheckFinding, ...]:
    """The findings of an output, in order, each message of each file once."""
    if len(text) > _CHARS:
        text = f"{text[: _CHARS // 2]}\n{text[-_CHARS // 2 :]}"
    if not _ANY_PLACE.search(text):
        return ()
    lines = [line.rstrip()[:_LINE] for line in without_colours(text).splitlines()[:_LINES]]
    found: dict[tuple[str, str], CheckFinding] = {}
    above = ""
    for number, line in enumerate(lines):
        named = _NAMED_FILE.match(line)
        above = named[1] if named else above if line.strip() else ""
        file, message = _read(lines, number, above)
        if not message or _NOTE.match(message) or _SUMMARY.match(message) or _ASSERTS.search(message):
            continue
        signature = signed(message) or message.lower()[:_LINE]
        if signature and (file, signature) not in found:
            found[file, signature] = CheckFinding(file, message, signature, bool(_SLIP.search(message)))
            if len(found) == _MOST:
                break
    return tuple(found.values())


def _read(lines: list[str], number: int, above: str) -> tuple[str, str]:
    line = lines[number]
    for form in (_PLACED, _IN_BRACKETS):
        if placed := form.match(line):
            return placed[1], _RULED.sub("", placed[2]).lstrip("- ").strip()
    if above and (under := _UNDER_FILE.match(line)):
        return above, under[1].strip()
    if said := _ABOVE_PLACE.match(line):
        for below in lines[number + 1 : number + 1 + _BELOW]:
            if arrow := _ARROW.match(below):
                return arrow[1], said[1].strip()
    return "", ""


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


class MendedFinding(NamedTuple):
    """Findings that went away: the last run that showed them, the edit, and the run that passed."""

    attempt: Attempt
    findings: tuple[CheckFinding, ...]  # that went away, the most telling first
    fix: Attempt  # the edit
    passed: Attempt  # what showed it
    is_clean: bool  # whether that had nothing left to say


class _CheckRun(NamedTuple):
    number: int  # among the attempts
    attempt: Attempt
    findings: tuple[CheckFinding, ...]
    filters: str

    @property
    def has_passed(self) -> bool:
        """Whether nothing is left, as far as this run tells."""
        attempt = self.attempt
        if self.findings or attempt.state not in (AttemptState.WORKED, AttemptState.ANSWERED):
            return False
        if any(_COUNTS.match(part) for part in self.filters.split(" | ")):
            return attempt.output.strip() == "0"
        return is_well(attempt.output)


def is_well(output: str) -> bool:
    """Whether the end of an output does not speak of errors."""
    return not _STILL.search(_NONE.sub(" ", output[-_END:]))


def mended_findings_in(attempts: list[Attempt]) -> list[MendedFinding]:
    """All mended findings of a session, in order of the runs that showed them."""
    runs = [
        _CheckRun(number, attempt, findings_in(attempt.output), filters_of(attempt.call.text))
        for number, attempt in enumerate(attempts)
        if attempt.call.text and attempt.result is not None and not only_looks(attempt.call.text)
    ]
    edited = [number for number, attempt in enumerate(attempts) if _has_edited(attempt)]
    found: list[MendedFinding] = []
    seen: set[int] = set()
    for place, run in enumerate(runs):
        if run.findings and run.number not in seen:
            row = _row(runs, place)
            seen.update(one.number for one in row)
            found += _gone(row, attempts, edited)
    return sorted(found, key=lambda gone: gone.attempt.at)


def _row(runs: list[_CheckRun], place: int) -> list[_CheckRun]:
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


def _gone(row: list[_CheckRun], attempts: list[Attempt], edited: list[int]) -> list[MendedFinding]:
    found, shown = list[MendedFinding](), _shown(row)
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
            found.append(MendedFinding(run.attempt, last, fix, later.attempt, later.has_passed))
    return found


def _shown(row: list[_CheckRun]) -> dict[str, list[int]]:
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


def _is_second_look(row: list[_CheckRun], places: list[int], place: int) -> bool:
    """Whether a run only shows in passing what the one just before had failed with."""
    if row[place].attempt.state is AttemptState.FAILED or place - 1 not in places:
        return False
    return row[place - 1].attempt.state is AttemptState.FAILED


def _first_unchanged(row: list[_CheckRun], places: list[int], edited: list[int]) -> int:
    """The run to cite: the last that shows it, or one before that, if nothing was changed in between."""
    last = places[-1]
    since = bisect_left(edited, row[last].number)  # edits before it
    return next(at for at in places if bisect_left(edited, row[at].number) == since)


def _would_show(run: _CheckRun, later: _CheckRun) -> bool:
    """Whether a later run says something about what this one showed."""
    if later.has_passed:
        return True
    filters = {part.partition(" ")[0] for part in later.filters.split(" | ") if part}
    return bool(later.findings) and (not filters or later.filters == run.filters) and not filters & _CUTS


def _has_edited(attempt: Attempt) -> bool:
    return attempt.state in (AttemptState.WORKED, AttemptState.UNKNOWN) and is_edit(attempt.call)


def _touches(edit: Attempt, finding: CheckFinding) -> bool:
    name = finding.file.rsplit("/", 1)[-1]
    names = {file.replace("\\", "/").rsplit("/", 1)[-1] for file in files_of(edit.call)}
    return name in names or (bool(edit.call.text) and name in edit.call.text)


def _mending(edits: list[Attempt], finding: CheckFinding, until: int) -> Attempt:
    """The edit that speaks of what the finding names, rather in its file and before the next run; else the last one of its file."""
    names = {name for groups in _NAME.findall(finding.message) for name in groups if name}

    def likely(edit: Attempt) -> tuple[int, bool, int]:
        speaks = any(
            name in change.old or name in change.new for change in changes_of(edit.call)[:_CHANGES] for name in names
        )
        touches = _touches(edit, finding)
        return 2 * speaks + touches, edit.at < until, edit.at

    return max(edits, key=likely)
