"""Items from tools that were used in a way they do not take, where the error says which way they do. Shells are `fixes`' business."""

import re
from typing import Any

from clan_learnings.harvest.items import PITFALL, TOOL_QUIRK, Item
from clan_learnings.sessions.attempts import State
from clan_learnings.sessions.cleaning import excerpt
from clan_learnings.sessions.command_fixes import Way
from clan_learnings.sessions.course import Course
from clan_learnings.sessions.failed_output import is_misuse
from clan_learnings.sessions.failures import Mended

_TEXT, _ERROR, _QUOTE = 300, 200, 300
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


def quirks(course: Course) -> list[Item]:
    """One item a rule that a tool told."""
    return [_item(mended, rule) for mended in course.failures if (rule := _rule(mended))]


def _rule(mended: Mended) -> str:
    """The line of an error that says what a tool takes; empty if none does, or none that holds the next time."""
    attempt = mended.attempt
    if attempt.state is not State.FAILED or not mended.error:
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


def _is_blocked(mended: Mended) -> bool:
    """A shell's line that never ran: no exit code, and a sentence instead of output."""
    result = mended.attempt.result
    if result is None or result.exit_code is not None:
        return False
    return (
        bool(re.search(r"\bhook\b|^use the\b|\btool\b", mended.error[:200], re.IGNORECASE)) and len(result.text) < 600
    )


def _item(mended: Mended, told: str) -> Item:
    attempt, tool = mended.attempt, excerpt(mended.attempt.call.tool, 60)
    rule = excerpt(told, _ERROR).rstrip(".")
    has_fix = mended.fix is not None and mended.way is Way.OTHERWISE
    return Item(
        TOOL_QUIRK,
        excerpt(f"The tool {tool} refuses with “{rule}”{'; done so, it works' if has_fix else ''}", _TEXT),
        attempt.line,
        0.7 if has_fix else 0.5,
        fix_line=mended.fix.call.line if has_fix and mended.fix else None,
        wrong=excerpt(f"{tool} without that", _ERROR),
        right=rule,
        source="self",
        signature=mended.signature,
        quote=excerpt(told, _QUOTE),
        at_ms=attempt.call.at_ms,
    )


CONFIDENCE = 0.4  # it happened, more than once; why, nobody has said
_FAILURES = 20  # of one session
_SHOWN_CHARS = 90
_LEAST_WORDS = 2  # of a signature; \"error\" alone is no error


def recurring(failures: Any) -> list[Item]:
    """What failed and was told apart by its signature, as pitfalls. `failures`: of a digest as it is kept."""
    found: list[Item] = []
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
            Item(
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
