"""Items from failures that were mended: the command that worked, the edit, the preparation. Which failures were is `capture.failures`' business.

Not every one teaches something. A test that does its work is none; what is not there, and what fails for a moment, neither.
"""

import re

from clan_learnings.harvest.items import FIX, TOOL_QUIRK, Item, base, command, first_sentence, swap
from clan_learnings.sessions.attempts import State, is_by_shell
from clan_learnings.sessions.checks import Gone, findings_in, gone_in, is_well
from clan_learnings.sessions.cleaning import excerpt
from clan_learnings.sessions.command_fixes import Way
from clan_learnings.sessions.command_lines import plain
from clan_learnings.sessions.course import Course
from clan_learnings.sessions.edits import files_of
from clan_learnings.sessions.events import Kind
from clan_learnings.sessions.failed_output import is_misuse
from clan_learnings.sessions.failures import Mended

_TEXT, _ERROR, _SIDE, _QUOTE = 300, 120, 200, 300


def mended_checks(course: Course) -> list[Item]:
    """In order. A slip alone teaches nothing."""
    return [_mended_item(gone) for gone in gone_in(course.attempts) if not gone.findings[0].is_slip]


def _mended_item(gone: Gone) -> Item:
    finding, call = gone.findings[0], gone.fix.call
    names, change = ", ".join(map(base, files_of(call)[:2])), swap(call)
    right = f"{names}: {change}" if change and names else names or command(call)
    what = command(gone.attempt.call)
    return Item(
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


def _mended_sureness(gone: Gone) -> float:
    if gone.attempt.state is not State.FAILED:
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


def fixes(course: Course) -> list[Item]:
    """One item a mended failure that may help others."""
    checks = mended_checks(course)
    told = {item.line for item in checks}
    others = [mended for mended in course.failures if not (mended.way is Way.EDITED and _is_of_check(mended, told))]
    return checks + [item for mended in others if (item := _item(mended, course)) is not None]


def _is_of_check(mended: Mended, told: set[int]) -> bool:
    """Whether it was a check with findings: what mended those is known better by them."""
    return bool(told.intersection(mended.lines)) or bool(findings_in(mended.attempt.output))


def _item(mended: Mended, course: Course) -> Item | None:
    call, fix = mended.attempt.call, mended.fix
    if not call.text or fix is None or mended.way in (Way.NOT, Way.AGAIN) or not _teaches(mended):
        return None
    error = excerpt(mended.error, _ERROR)
    what = command(call)
    if mended.way is Way.EDITED:
        names, change = ", ".join(map(base, files_of(fix.call)[:2])), swap(fix.call)
        right = f"{names}: {change}" if change and names else names or command(fix.call)
        said = f"{what} fails with “{error}”; mended in {right}"
    elif mended.way is Way.HELPED:
        asked = _asked(mended, course)
        right = f"a person has to help: “{asked}”" if asked else "a person has to help"
        said = f"{what} fails with “{error}”; {right}, then it works"
    elif mended.way is Way.PREPARED:
        right = command(fix.call)
        said = f"{what} fails with “{error}” until {right} is run"
    else:
        right = command(fix.call)
        said = f"{what} fails with “{error}”; {right} works"
    return Item(
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


def _asked(mended: Mended, course: Course) -> str:
    """What the model told the person after a failure."""
    later = course.events[mended.attempt.ended + 1 : mended.fix.at if mended.fix else None]
    reply = next((event for event in later if event.kind is Kind.REPLY), None)
    return first_sentence(reply.text) if reply else ""


def _is_quirk(mended: Mended) -> bool:
    """Whether a program's own way to be called was what had to be known. Quoting, paths and what is installed are a place's."""
    if _WORD.search(mended.error):
        return True
    is_called_otherwise = mended.way in (Way.OTHERWISE, Way.INSTEAD)
    return is_called_otherwise and is_misuse(mended.error) and not is_by_shell(mended.attempt.output)


def _teaches(mended: Mended) -> bool:
    error = mended.error
    if not mended.signature:
        return False
    if mended.way is not Way.EDITED and _ONCE.search(error) and not _MISSING_PROGRAM.search(error):
        return False
    if is_assertion(mended) and not _has_other_variables(mended):
        return False
    if mended.way is Way.PREPARED and mended.fix is not None and mended.fix.at - mended.attempt.at > 4 * _FAR:
        return False
    return mended.attempt.state is not State.HIDDEN or _is_sure(mended)


def is_assertion(mended: Mended) -> bool:
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
    return mended.way is Way.EDITED and bool(_FAILED.search(output)) and not _UNBUILT.search(output)


def _has_other_variables(mended: Mended) -> bool:
    """Whether the environment was what a test had missed."""
    if mended.way is not Way.OTHERWISE or mended.passed is None:
        return False
    before, after = (set(_ASSIGNED.findall(attempt.call.text)) for attempt in (mended.attempt, mended.passed))
    return bool(after - before)


def _is_sure(mended: Mended) -> bool:
    """A failure that only its output shows is believed if the same line passed later, with other filters if nothing speaks of errors."""
    if mended.passed is None or mended.passed.state is not State.WORKED:
        return False
    before, after = (
        " ".join(_ASSIGNED.sub(" ", attempt.call.text).split()) for attempt in (mended.attempt, mended.passed)
    )
    if before == after or _MISSING_PROGRAM.search(mended.error):
        return True
    if mended.way is Way.EDITED and plain(mended.attempt.call.text) == plain(mended.passed.call.text):
        return is_well(mended.passed.output)  # other filters, the same check
    return _is_quirk(mended) or _has_other_variables(mended)


def _sureness(mended: Mended) -> float:
    if mended.attempt.state is State.HIDDEN:
        return 0.5
    if mended.passed is not None and mended.passed.state is not State.WORKED:
        return 0.5  # it failed again, for another reason
    return {Way.OTHERWISE: 0.7, Way.INSTEAD: 0.7, Way.EDITED: 0.7, Way.PREPARED: 0.6, Way.HELPED: 0.6}.get(
        mended.way, 0.5
    )
