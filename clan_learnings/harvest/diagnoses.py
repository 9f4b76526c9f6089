"""Items from what the model itself found wrong and put right: it names the mistake, and the next edit makes what it said true.

Also checks that failed elsewhere: the model reads why, changes something, and a check passes. Only what an edit bears out.
"""

import re

from clan_learnings.harvest.items import FIX, Item, base, first_sentence, swap
from clan_learnings.sessions.attempts import Attempt, State
from clan_learnings.sessions.cleaning import excerpt
from clan_learnings.sessions.course import Course
from clan_learnings.sessions.edits import changes_of, files_of, is_edit
from clan_learnings.sessions.events import Event, Kind

_TEXT, _SIDE, _QUOTE = 300, 200, 300
_CHARS = 700  # of an answer that is read; who writes more is explaining
_AHEAD = 6  # events until the edit
# `A` instead of `B`, `A`, not `B`, should be `A`: with its terms, in one sentence.
_CONTRAST = re.compile(
    r"(?:should (?:be|have been)|must be|needs to be|has to be|is called|was renamed to|expects?) `[^`\n]{2,60}`|`[^`\n]{2,60}`[^`.\n]{0,40}\b(?:instead of|rather than|not|isn'?t|doesn'?t exist|is (?:wrong|invalid|deprecated|incorrect))\b",
    re.IGNORECASE,
)
_TERM = re.compile(r"`([^`\n]{2,60})`")
_ELSEWHERE = re.compile(
    r"\b(?:job|build|ci|check|checks|workflow|pipeline|action|step|lint|test|tests)\b[^.\n]{0,80}\b(?:is failing|fails|failed|are failing|exits?|failing)\b[^.\n]{0,20}\b(?:on|because|due to)\b",
    re.IGNORECASE,
)
_FAILS = re.compile(
    r"\b(?:job|build|ci|check|checks|workflow|pipeline|action|step|lint|tests?)\b[^.\n]{0,80}\b(?:is failing|fails|failed|are failing)\b",
    re.IGNORECASE,
)
_LOG = re.compile(
    r"##\[error\]|exit(?:ed with)?(?: error)? code:? [1-9]|(?:^|\n|\s)not ok \d|\bFAILED\b|\btask failed\b|\bconclusion\W{1,4}failure"
)
_LOG_CHARS = 20_000
_LINK = re.compile(r"\]\([^)\n]{1,300}\)")  # where a link leads
_ASKED = re.compile(r"\b(?:fail\w*|broken|broke|error|red|wrong)\b", re.IGNORECASE)
_CHECK = re.compile(
    r"\b(?:tests?|lint\w*|checks?|build|vet|verify|audit|scan|run|clippy|tsc|mypy|ruff)\b", re.IGNORECASE
)


def diagnoses(course: Course) -> list[Item]:
    """Both sorts."""
    return [*_named_and_changed(course), *_failed_elsewhere(course)]


def _named_and_changed(course: Course) -> list[Item]:
    """An answer that names what is wrong and what is right, and an edit that swaps just these."""
    items, touched = [], set[str]()
    by_call = {attempt.call.call or str(attempt.at): attempt for attempt in course.attempts}
    for at, event in enumerate(course.events):
        if event.kind is Kind.CALL and is_edit(event):
            touched.update(files_of(event))
        if event.kind is not Kind.REPLY or len(event.text) > _CHARS or not _CONTRAST.search(event.text):
            continue
        terms = _TERM.findall(event.text)
        edit = next((later for later in course.events[at + 1 : at + _AHEAD] if later.kind is Kind.CALL), None)
        if len(terms) < 2 or edit is None or not is_edit(edit) or not touched & set(files_of(edit)):
            continue
        attempt = by_call.get(edit.call)
        pair = _swapped(edit, terms)
        if pair is None or (attempt is not None and attempt.state not in (State.WORKED, State.UNKNOWN)):
            continue
        said = f"In {base(files_of(edit)[0])} it is `{pair[1]}`, not `{pair[0]}`: {first_sentence(event.text)}"
        items.append(_made(event, edit, said, pair[0], pair[1], 0.6))
    return items


def _swapped(edit: Event, terms: list[str]) -> tuple[str, str] | None:
    """The named terms of which the edit takes one out and puts another in."""
    for change in changes_of(edit):
        gone = [term for term in terms if term in change.old and term not in change.new]
        came = [term for term in terms if term in change.new and term not in change.old]
        if gone and came:
            return gone[0], came[0]
    return None


def _failed_elsewhere(course: Course) -> list[Item]:
    """The first answer that says why a check fails elsewhere, if files were changed later and a check passed."""
    asked = next((event for event in course.events if event.kind is Kind.PROMPT), None)
    if asked is None or not _ASKED.search(asked.text[:600]):
        return []
    for at, event in enumerate(course.events):
        said = _LINK.sub("", event.text[: 2 * _CHARS]) if event.kind is Kind.REPLY else ""
        found = _ELSEWHERE.search(said)
        if found is None or not _TERM.search(said[found.start() : found.start() + 300]):
            continue
        edit = next(
            (
                attempt
                for attempt in course.attempts
                if attempt.at > at and is_edit(attempt.call) and attempt.state in (State.WORKED, State.UNKNOWN)
            ),
            None,
        )
        passed = edit and next(
            (attempt for attempt in course.attempts if attempt.at > edit.at and _passes(attempt)), None
        )
        if edit is None or passed is None:
            return []
        names, change = ", ".join(map(base, files_of(edit.call)[:2])), swap(edit.call)
        text = f"{first_sentence(said)}; mended in {names}{f': {change}' if change else ''}"
        item = _made(event, edit.call, text, first_sentence(said), change or names, 0.6)
        return [item._replace(line=_read_before(course.events, at) or event.line)]
    return []


def _read_before(events: list[Event], until: int) -> int | None:
    """The line of what was read last before the model first said that it failed, once a log had shown that."""
    has_log, last = False, None
    for event in events[: until + 1]:
        if event.kind is Kind.REPLY and has_log and _FAILS.search(event.text[: 2 * _CHARS]):
            return last
        if event.kind in (Kind.CALL, Kind.RESULT):
            last = event.line
            has_log = has_log or bool(event.kind is Kind.RESULT and _LOG.search(event.text[-_LOG_CHARS:]))
    return None


def _passes(attempt: Attempt) -> bool:
    return bool(attempt.call.text) and attempt.state is State.WORKED and bool(_CHECK.search(attempt.call.text[:400]))


def _made(event: Event, edit: Event, said: str, wrong: str, right: str, sureness: float) -> Item:
    return Item(
        FIX,
        excerpt(said, _TEXT),
        event.line,
        sureness,
        fix_line=edit.line,
        wrong=excerpt(wrong, _SIDE),
        right=excerpt(right, _SIDE),
        source="self",
        quote=excerpt(event.text, _QUOTE),
        at_ms=event.at_ms,
    )
