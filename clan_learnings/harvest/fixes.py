"""Rules about failures that were mended: the command that worked, the edit, the preparation, and the correct way to call a tool.

Which failures were mended is decided in `clan_learnings.sessions.failures`.

Not every failure teaches something: a test that does its work does not, nor does something that is missing or fails for a moment.
"""

import re
from typing import Any

from clan_learnings.harvest.items import FIX, PITFALL, TOOL_QUIRK, HarvestItem, base, command, first_sentence, swap
from clan_learnings.sessions.attempts import AttemptState, is_by_shell
from clan_learnings.sessions.check_runs import MendedFinding, findings_in, is_well, mended_findings_in
from clan_learnings.sessions.cleaning import excerpt
from clan_learnings.sessions.command_fixes import FixKind
from clan_learnings.sessions.command_lines import plain
from clan_learnings.sessions.edits import files_of
from clan_learnings.sessions.failed_output import is_misuse
from clan_learnings.sessions.failures import MendedFailure, SessionCourse
from clan_learnings.sessions.transcript_events import Kind

_TEXT, _ERROR, _SIDE, _QUOTE = 300, 120, 200, 300


def mended_checks(course: SessionCourse) -> list[HarvestItem]:
    """One item a mended finding of a check, in order. A slip alone teaches nothing."""
    return [_mended_item(gone) for gone in mended_findings_in(course.attempts) if not gone.findings[0].is_slip]


def _mended_item(gone: MendedFinding) -> HarvestItem:
    finding, call = gone.findings[0], gone.fix.call
    names, change = ", ".join(map(base, files_of(call)[:2])), swap(call)
    right = f"{names}: {change}" if change and names else names or command(call)
    what = command(gone.attempt.call)
    return HarvestItem(
        FIX,
        excerpt(f"{what} fails with “{excerpt(finding.message, _ERROR)}”; mended in {right}", _TEXT),
        gone.attempt.line,
        _mended_sureness(gone),
        fix_line=call.line,
        wrong=excerpt(what, _SIDE),
        right=excerpt(right, _SIDE),
        source="build",
        signature=finding.signature,
        quote=excerpt(finding.message, _QUOTE),
        at_ms=gone.attempt.call.at_ms,
    )


def _mended_sureness(gone: MendedFinding) -> float:
    if gone.attempt.state is not AttemptState.FAILED:
        return 0.5  # only its output tells that it failed
    return 0.7 if gone.is_clean else 0.6


_FAR = 25  # attempts between a failure and what seems to have prepared the success
# A test found what it is there to find.
_ASSERTED = re.compile(
    r"\bassert\w*|\bexpected\b.{0,200}\b(?:got|received|actual|but)\b|\bgot\b.{0,80}\bwant\b|\bwant\b.{0,80}\bgot\b|--- FAIL|\bFAIL\b.{0,120}\.(?:test|spec)\.|\bFailed Tests\b|=== FAIL|\btests? failed\b|\d+ failed\b|\bFAILED .{0,120}::",
    re.IGNORECASE | re.DOTALL,
)
_TESTS = re.compile(
    r"\b(?:tests?|pytest|jest|vitest|spec|rspec|bats|phpunit|ctest|tox|nox|mocha|check)\b", re.IGNORECASE
)
_FAILED, _UNBUILT = (re.compile(form, re.MULTILINE) for form in (r"^FAIL\b", r"\b(?:build|setup) failed\b"))
_COMPILED = re.compile(
    r"cannot find (?:module|symbol|name|package)|undefined: |undeclared|does not implement|cannot use .{1,80} as|syntax ?error|parse error|no module named|import ?error|unresolved|not declared|missing (?:method|return|import)|type ?error|"
    r"build failed|compil|cannot be found|is not defined|has no (?:exported )?member|not assignable|mismatched types|error TS\d|error\[E",
    re.IGNORECASE,
)
# Not there, or only for a moment: nothing to know for the next time.
_ONCE = re.compile(
    r"no such file|does not exist|file not found|bad object|unknown revision|not a valid (?:object|ref)|nothing to commit|already exists|timed? ?out|connection (?:reset|refused|closed)|socket hang up|rate limit|\b50[0-9]\b|"
    r"could not resolve host|temporar|no pull requests|no upstream|not found on|404|could not get object|unable to access|nothing added to commit|already up to date|did not match any file|pathspec|no such (?:container|image|process|volume|network|service|keg|package)|file exists|branch .{1,80} not found|no stash entries|no matching (?:pods?|processes)",
    re.IGNORECASE,
)
_MISSING_PROGRAM = re.compile(
    r"command not found|not recognized|no module named|: not found|externally-managed", re.IGNORECASE
)
_WORD = re.compile(r"(?:parse|syntax) error near (?:unexpected token )?[`'\"]([A-Za-z]\w*)")
_ASSIGNED = re.compile(r"(?:\bexport )?\b[A-Za-z_]\w*=\S+;?")


def fixes(course: SessionCourse) -> list[HarvestItem]:
    """One item a mended failure that may help others."""
    checks = mended_checks(course)
    told = {item.line for item in checks}
    others = [mended for mended in course.failures if not (mended.way is FixKind.EDITED and _is_of_check(mended, told))]
    return checks + [item for mended in others if (item := _item(mended, course)) is not None]


def _is_of_check(mended: MendedFailure, told: set[int]) -> bool:
    """Whether it was a check with findings: what mended those is known better by them."""
    return bool(told.intersection(mended.lines)) or bool(findings_in(mended.attempt.output))


def _item(mended: MendedFailure, course: SessionCourse) -> HarvestItem | None:
    call, fix = mended.attempt.call, mended.fix
    if not call.text or fix is None or mended.way in (FixKind.NOT, FixKind.AGAIN) or not _teaches(mended):
        return None
    error = excerpt(mended.error, _ERROR)
    what = command(call)
    if mended.way is FixKind.EDITED:
        names, change = ", ".join(map(base, files_of(fix.call)[:2])), swap(fix.call)
        right = f"{names}: {change}" if change and names else names or command(fix.call)
        said = f"{what} fails with “{error}”; mended in {right}"
    elif mended.way is FixKind.HELPED:
        asked = _asked(mended, course)
        right = f"a person has to help: “{asked}”" if asked else "a person has to help"
        said = f"{what} fails with “{error}”; {right}, then it works"
    elif mended.way is FixKind.PREPARED:
        right = command(fix.call)
        said = f"{what} fails with “{error}” until {right} is run"
    else:
        right = command(fix.call)
        said = f"{what} fails with “{error}”; {right} works"
    return HarvestItem(
        TOOL_QUIRK if _is_quirk(mended) else FIX,
        excerpt(said, _TEXT),
        mended.attempt.line,
        _sureness(mended),
        fix_line=fix.call.line,
        wrong=excerpt(what, _SIDE),
        right=excerpt(right, _SIDE),
        source="build",
        signature=mended.signature,
        quote=excerpt(mended.error, _QUOTE),
        at_ms=mended.attempt.call.at_ms,
    )


def _asked(mended: MendedFailure, course: SessionCourse) -> str:
    """What the model told the person after a failure."""
    later = course.events[mended.attempt.ended + 1 : mended.fix.at if mended.fix else None]
    reply = next((event for event in later if event.kind is Kind.REPLY), None)
    return first_sentence(reply.text) if reply else ""


def _is_quirk(mended: MendedFailure) -> bool:
    """Whether a program's own way to be called was what had to be known. Quoting, paths and what is installed are a place's."""
    if _WORD.search(mended.error):
        return True
    is_called_otherwise = mended.way in (FixKind.OTHERWISE, FixKind.INSTEAD)
    return is_called_otherwise and is_misuse(mended.error) and not is_by_shell(mended.attempt.output)


def _teaches(mended: MendedFailure) -> bool:
    error = mended.error
    if not mended.signature:
        return False
    if mended.way is not FixKind.EDITED and _ONCE.search(error) and not _MISSING_PROGRAM.search(error):
        return False
    if is_assertion(mended) and not _has_other_variables(mended):
        return False
    if mended.way is FixKind.PREPARED and mended.fix is not None and mended.fix.at - mended.attempt.at > 4 * _FAR:
        return False
    return mended.attempt.state is not AttemptState.HIDDEN or _is_sure(mended)


def is_assertion(mended: MendedFailure) -> bool:
    """Whether a test failed because of what it tests, and not because it could not run."""
    error, output = mended.error, mended.attempt.output
    if _COMPILED.search(error):
        return False
    if _ASSERTED.search(error):
        return True
    if not _TESTS.search(mended.attempt.call.text[:2000]):
        return False
    if _ASSERTED.search(output[-4000:]):
        return True
    return mended.way is FixKind.EDITED and bool(_FAILED.search(output)) and not _UNBUILT.search(output)


def _has_other_variables(mended: MendedFailure) -> bool:
    """Whether the environment was what a test had missed."""
    if mended.way is not FixKind.OTHERWISE or mended.passed is None:
        return False
    before, after = (set(_ASSIGNED.findall(attempt.call.text)) for attempt in (mended.attempt, mended.passed))
    return bool(after - before)


def _is_sure(mended: MendedFailure) -> bool:
    """A failure that only its output shows is believed if the same line passed later, with other filters if nothing speaks of errors."""
    if mended.passed is None or mended.passed.state is not AttemptState.WORKED:
        return False
    before, after = (
        " ".join(_ASSIGNED.sub(" ", attempt.call.text).split()) for attempt in (mended.attempt, mended.passed)
    )
    if before == after or _MISSING_PROGRAM.search(mended.error):
        return True
    if mended.way is FixKind.EDITED and plain(mended.attempt.call.text) == plain(mended.passed.call.text):
        return is_well(mended.passed.output)  # other filters, the same check
    return _is_quirk(mended) or _has_other_variables(mended)


def _sureness(mended: MendedFailure) -> float:
    if mended.attempt.state is AttemptState.HIDDEN:
        return 0.5
    if mended.passed is not None and mended.passed.state is not AttemptState.WORKED:
        return 0.5  # it failed again, for another reason
    return {
        FixKind.OTHERWISE: 0.7,
        FixKind.INSTEAD: 0.7,
        FixKind.EDITED: 0.7,
        FixKind.PREPARED: 0.6,
        FixKind.HELPED: 0.6,
    }.get(mended.way, 0.5)


_RULE_TEXT, _RULE_ERROR, _RULE_QUOTE = 300, 200, 300
_SHORT, _LINES = 600, 12  # of an error that is one message
_TAG = re.compile(r"</?[a-z_]{1,30}>")  # around some tools' errors
_RULE = re.compile(
    r"\bmust\b|\brequired?\b|\brequires\b|\bis missing\b|not (?:been )?read|\bread it first\b|\bexceeds\b|\btoo (?:large|long|many)\b|\bmaximum\b|\bnot allowed\b|\bnot permitted\b|\buse (?:the|a|an|offset|clean|instead)\b|\binstead\b|"
    r"\binvalid (?:argument|parameter|type|value|input)|\bunknown (?:argument|parameter|option|field|tool)|\bunrecogni[sz]ed\b|\bunexpected (?:argument|parameter|property|keyword)|\babsolute\b|\bmatches of the string\b|\bnot unique\b|\bonly (?:supports?|accepts?|works?|allowed)\b|"
    r"\bexpected (?:type|a|an|one of|string|number|array|object|boolean)\b|\bvalidation ?error\b|\bat (?:least|most) \d",
    re.IGNORECASE,
)
_NO_RULE = re.compile(
    r"not found in file|does not exist|no such file|permission|granted|denied|aborted|cancel|interrupted|is not a function|socket|timed? ?out|network|50\d\b|rate limit|modified since|user rejected",
    re.IGNORECASE,
)


def quirks(course: SessionCourse) -> list[HarvestItem]:
    """One item for each rule of use that a tool's error states."""
    return [_quirk_item(mended, rule) for mended in course.failures if (rule := _rule(mended))]


def _rule(mended: MendedFailure) -> str:
    """The line of an error that says what a tool takes; empty if none does, or none that holds the next time."""
    attempt = mended.attempt
    if attempt.state is not AttemptState.FAILED or not mended.error:
        return ""
    if attempt.call.text and not _is_blocked(mended):
        return ""
    if _NO_RULE.search(mended.error):
        return ""
    others = _TAG.sub("", attempt.output).splitlines()[:_LINES] if len(attempt.output) < _SHORT else []
    for line in (mended.error, *(line.strip() for line in others)):
        if (_RULE.search(line) or is_misuse(line)) and not _NO_RULE.search(line):
            return line
    return ""


def _is_blocked(mended: MendedFailure) -> bool:
    """A shell's line that never ran: no exit code, and a sentence instead of output."""
    result = mended.attempt.result
    if result is None or result.exit_code is not None:
        return False
    return (
        bool(re.search(r"\bhook\b|^use the\b|\btool\b", mended.error[:200], re.IGNORECASE)) and len(result.text) < 600
    )


def _quirk_item(mended: MendedFailure, told: str) -> HarvestItem:
    attempt, tool = mended.attempt, excerpt(mended.attempt.call.tool, 60)
    rule = excerpt(told, _RULE_ERROR).rstrip(".")
    has_fix = mended.fix is not None and mended.way is FixKind.OTHERWISE
    return HarvestItem(
        TOOL_QUIRK,
        excerpt(f"The tool {tool} refuses with “{rule}”{'; done so, it works' if has_fix else ''}", _RULE_TEXT),
        attempt.line,
        0.7 if has_fix else 0.5,
        fix_line=mended.fix.call.line if has_fix and mended.fix else None,
        wrong=excerpt(f"{tool} without that", _RULE_ERROR),
        right=rule,
        source="self",
        signature=mended.signature,
        quote=excerpt(told, _RULE_QUOTE),
        at_ms=attempt.call.at_ms,
    )


CONFIDENCE = 0.4  # it happened, more than once; why, nobody has said
_FAILURES = 20  # of one session
_SHOWN_CHARS = 90
_LEAST_WORDS = 2  # of a signature; \"error\" alone is no error


def recurring(failures: Any) -> list[HarvestItem]:
    """The failures of a digest as pitfalls, where their signature says enough. `failures`: from the JSON of the digest."""
    found: list[HarvestItem] = []
    for failure in failures[:_FAILURES] if isinstance(failures, list) else ():
        if not isinstance(failure, dict):
            continue
        line = failure.get("line")
        command, error, signature = (_text(failure.get(name)) for name in ("command", "error", "signature"))
        if type(line) is not int or not error or len(signature.split()) < _LEAST_WORDS:
            continue
        said = _cut(error)
        what = f"`{_cut(command)}`" if command else f"The tool {_cut(_text(failure.get('tool')) or 'in use')}"
        found.append(
            HarvestItem(
                PITFALL, f"{what} fails with \u201c{said}\u201d", line, CONFIDENCE, source="build", signature=signature
            )
        )
    return found


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _cut(text: str) -> str:
    """The first line that says something, short."""
    lines = [" ".join(line.split()) for line in text.splitlines()]
    first = next((line for line in lines if line), "")
    return first if len(first) <= _SHOWN_CHARS else first[: _SHOWN_CHARS - 1] + "\u2026"
