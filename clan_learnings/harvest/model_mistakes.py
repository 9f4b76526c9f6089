"""Rules about the model's own mistakes, whether it corrected them or not.

Not corrected: a claim without its deed, what the sandbox forbids, a way given up after three failures, an error that comes
back. Corrected: the model names the mistake, and the next edit makes the change that it named.
"""

import re

from clan_learnings.harvest.fixes import is_assertion
from clan_learnings.harvest.items import FIX, PITFALL, HarvestItem, base, command, deed, first_sentence, swap
from clan_learnings.sessions.attempts import Attempt, AttemptState, only_looks
from clan_learnings.sessions.cleaning import excerpt
from clan_learnings.sessions.command_fixes import FixKind
from clan_learnings.sessions.command_lines import commands_in, last_of
from clan_learnings.sessions.edits import changes_of, files_of, is_edit
from clan_learnings.sessions.failures import MendedFailure, SessionCourse
from clan_learnings.sessions.session_outcome import unwritten_claim
from clan_learnings.sessions.transcript_events import Kind, SessionEvent

_CLAIM_TEXT, _CLAIM_QUOTE, _CHARS = 300, 300, 3_000
_CLAIM = re.compile(
    r"(?<!until )(?<!once )(?<!if )(?<!when )(?<!whether )(?<!that )(?<!ensure )(?<!sure )(?<!verify )(?<!confirm )(?<!check )\b(?:all )(?:of )?(?:the )?(?:\d+ )?(?:\w+ )?tests? (?:are |have )?(?:now )?(?:all )?(?:pass(?:ing|ed)?|green|succeed(?:ed|ing)?)\b",
    re.IGNORECASE,
)
_TESTED = re.compile(r"tests?(?![a-z])|spec|jest|mocha|bats|tox|nox|^ci$|verify|check-all", re.IGNORECASE)
_RESULTS = re.compile(
    r"\b\d+ (?:tests? )?(?:passed|passing|passes)\b|^ok\s+\S+\s+[\d.(]|\btests?:? +\d+|^PASS\b|\btest result: |^ok \d+ |^OK \(\d|^Ran \d+ tests?|\btests? (?:passed|succeeded)\b|\b100% tests",
    re.IGNORECASE | re.MULTILINE,
)


def untested_claims(course: SessionCourse) -> list[HarvestItem]:
    """The first claim of passing tests without a run of tests, if there is one."""
    if any(event.kind is Kind.SUMMARY for event in course.events):
        return []  # what was run before it is not told
    has_edited, last = False, None
    starts = {attempt.at: attempt for attempt in course.attempts}
    for at, event in enumerate(course.events):
        attempt = starts.get(at)
        if attempt is not None:
            if _is_test(attempt):
                return []
            has_edited = has_edited or is_edit(attempt.call)
            last = attempt if attempt.call.text and not only_looks(attempt.call.text) else last
        if event.kind is Kind.REPLY and has_edited and last is not None and _CLAIM.search(event.text[:_CHARS]):
            said = f"“{first_sentence(event.text)}” was said after {command(last.call)}, and no test was run at all; run them before claiming that they pass"
            return [
                HarvestItem(
                    PITFALL,
                    excerpt(said, _CLAIM_TEXT),
                    event.line,
                    0.6,
                    source="self",
                    quote=excerpt(event.text, _CLAIM_QUOTE),
                    at_ms=event.at_ms,
                )
            ]
    return []


def _is_test(attempt: Attempt) -> bool:
    """Whether a call may have run tests: by its words, by what it printed, or because nobody can tell what it does."""
    if not attempt.call.text:
        return not is_edit(attempt.call) and bool(
            re.search(r"task|agent|test|run|exec", attempt.call.tool, re.IGNORECASE)
        )
    if only_looks(attempt.call.text):
        return False
    if attempt.state is AttemptState.UNKNOWN or _RESULTS.search(attempt.output[-_CHARS:]):
        return True
    return any(
        _TESTED.search(word)
        for command_ in commands_in(attempt.call.text)
        if not only_looks(command_.program)
        for word in (command_.program, *command_.words[:8])
    )


_TEXT, _ERROR, _QUOTE = 300, 140, 300
_GIVEN_UP = 3  # failures
_NEAR = 12  # attempts among which they happen
_COMES_BACK = 2
_NOT_HERE = re.compile(
    r"operation not permitted|sandbox denied|denied by sandbox|read-only file system|\beperm\b|network access (?:is )?(?:disabled|denied)",
    re.IGNORECASE,
)
_NOT_THERE = re.compile(
    r"no such file|does not exist|not found in file|no pull requests|no upstream|bad object|could not get object",
    re.IGNORECASE,
)


def pitfalls(course: SessionCourse) -> list[HarvestItem]:
    """Items of all mistakes that were not corrected."""
    return [
        *_false_claims(course),
        *untested_claims(course),
        *_forbidden(course),
        *_given_up(course),
        *_coming_back(course),
    ]


def _false_claims(course: SessionCourse) -> list[HarvestItem]:
    found = unwritten_claim(course)
    if found is None:
        return []
    attempt, claim = found
    error = excerpt(attempt.output, _ERROR).rstrip(".") or "it was refused"
    said = f"The answer claims {deed(attempt.call)}, but nothing was written: “{error}”; look whether a write worked before claiming it"
    return [
        HarvestItem(
            PITFALL,
            excerpt(said, _TEXT),
            attempt.line,
            0.8,
            fix_line=None,
            source="self",
            quote=excerpt(claim.text, _QUOTE),
            at_ms=attempt.call.at_ms,
        )
    ]


def _forbidden(course: SessionCourse) -> list[HarvestItem]:
    """What the place does not let anybody do, however it is asked: a sandbox, a disk that cannot be written."""
    items = []
    for mended in course.failures:
        if (
            mended.way is FixKind.NOT
            and mended.attempt.state is AttemptState.FAILED
            and mended.attempt.call.text
            and _NOT_HERE.search(mended.error)
        ):
            said = f"{command(mended.attempt.call)} cannot work here: “{excerpt(mended.error, _ERROR)}”; nobody found a way around it"
            items.append(
                HarvestItem(
                    PITFALL,
                    excerpt(said, _TEXT),
                    mended.attempt.line,
                    0.5,
                    source="build",
                    signature=mended.signature,
                    quote=excerpt(mended.error, _QUOTE),
                    at_ms=mended.attempt.call.at_ms,
                )
            )
    return items


def _given_up(course: SessionCourse) -> list[HarvestItem]:
    """The same program or tool, failing three times in a row for any reason, and never again tried with success."""
    groups: dict[str, list[tuple[int, MendedFailure]]] = {}
    places = {attempt.at: number for number, attempt in enumerate(course.attempts)}
    for mended in course.failures:
        if (
            mended.way is FixKind.NOT
            and mended.attempt.state is AttemptState.FAILED
            and not _NOT_THERE.search(mended.error)
        ):
            groups.setdefault(_key(mended), []).append((places.get(mended.attempt.at, 0), mended))
    items = []
    for key, found in groups.items():
        times = sum(mended.times for _, mended in found)
        if times < _GIVEN_UP or found[-1][0] - found[0][0] > _NEAR * max(len(found), 1):
            continue
        last = found[-1][1]
        if last.attempt.call.text and is_assertion(last):
            continue
        what = command(last.attempt.call) if last.attempt.call.text else key
        said = f"{what} was given up after {times} failures, the last with “{excerpt(last.error, _ERROR)}”"
        items.append(
            HarvestItem(
                PITFALL,
                excerpt(said, _TEXT),
                last.attempt.line,
                0.5,
                source="self",
                signature=last.signature,
                quote=excerpt(last.error, _QUOTE),
                at_ms=last.attempt.call.at_ms,
            )
        )
    return items


def _coming_back(course: SessionCourse) -> list[HarvestItem]:
    """The same error of the same program at different times, with nothing that would have mended it."""
    groups: dict[tuple[str, str], list[MendedFailure]] = {}
    for mended in course.failures:
        is_mended = mended.way not in (FixKind.NOT, FixKind.AGAIN)
        if (
            mended.attempt.state is AttemptState.FAILED
            and mended.signature
            and not is_mended
            and mended.attempt.call.text
            and not _NOT_THERE.search(mended.error)
        ):
            groups.setdefault((_key(mended), mended.signature), []).append(mended)
    items = []
    for (_, signature), found in groups.items():
        first = found[0]
        if len(found) < _COMES_BACK or all(mended.way is FixKind.NOT for mended in found) or is_assertion(first):
            continue
        said = f"{command(first.attempt.call)} fails again and again with “{excerpt(first.error, _ERROR)}”, {len(found)} times in one session"
        items.append(
            HarvestItem(
                PITFALL,
                excerpt(said, _TEXT),
                first.attempt.line,
                0.5,
                source="build",
                signature=signature,
                quote=excerpt(first.error, _QUOTE),
                at_ms=first.attempt.call.at_ms,
            )
        )
    return items


def _key(mended: MendedFailure) -> str:
    last = last_of(mended.attempt.call.text) if mended.attempt.call.text else None
    if last is None:
        return mended.attempt.call.tool
    has_subcommand = bool(last.words) and not last.words[0].startswith("-") and "/" not in last.words[0]
    return f"{last.program} {last.words[0]}" if has_subcommand else last.program


_DIAGNOSIS_TEXT, _SIDE, _DIAGNOSIS_QUOTE = 300, 200, 300
_DIAGNOSIS_CHARS = 700  # of an answer that is read; who writes more is explaining
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


def diagnoses(course: SessionCourse) -> list[HarvestItem]:
    """Items of mistakes that the model itself named and corrected."""
    return [*_named_and_changed(course), *_failed_elsewhere(course)]


def _named_and_changed(course: SessionCourse) -> list[HarvestItem]:
    """An answer that names what is wrong and what is right, and an edit that swaps just these."""
    items, touched = [], set[str]()
    by_call = {attempt.call.call or str(attempt.at): attempt for attempt in course.attempts}
    for at, event in enumerate(course.events):
        if event.kind is Kind.CALL and is_edit(event):
            touched.update(files_of(event))
        if event.kind is not Kind.REPLY or len(event.text) > _DIAGNOSIS_CHARS or not _CONTRAST.search(event.text):
            continue
        terms = _TERM.findall(event.text)
        edit = next((later for later in course.events[at + 1 : at + _AHEAD] if later.kind is Kind.CALL), None)
        if len(terms) < 2 or edit is None or not is_edit(edit) or not touched & set(files_of(edit)):
            continue
        attempt = by_call.get(edit.call)
        pair = _swapped(edit, terms)
        if pair is None or (attempt is not None and attempt.state not in (AttemptState.WORKED, AttemptState.UNKNOWN)):
            continue
        said = f"In {base(files_of(edit)[0])} it is `{pair[1]}`, not `{pair[0]}`: {first_sentence(event.text)}"
        items.append(_made(event, edit, said, pair[0], pair[1], 0.6))
    return items


def _swapped(edit: SessionEvent, terms: list[str]) -> tuple[str, str] | None:
    """The named terms of which the edit takes one out and puts another in."""
    for change in changes_of(edit):
        gone = [term for term in terms if term in change.old and term not in change.new]
        came = [term for term in terms if term in change.new and term not in change.old]
        if gone and came:
            return gone[0], came[0]
    return None


def _failed_elsewhere(course: SessionCourse) -> list[HarvestItem]:
    """The first answer that says why a check fails elsewhere, if files were changed later and a check passed."""
    asked = next((event for event in course.events if event.kind is Kind.PROMPT), None)
    if asked is None or not _ASKED.search(asked.text[:600]):
        return []
    for at, event in enumerate(course.events):
        said = _LINK.sub("", event.text[: 2 * _DIAGNOSIS_CHARS]) if event.kind is Kind.REPLY else ""
        found = _ELSEWHERE.search(said)
        if found is None or not _TERM.search(said[found.start() : found.start() + 300]):
            continue
        edit = next(
            (
                attempt
                for attempt in course.attempts
                if attempt.at > at
                and is_edit(attempt.call)
                and attempt.state in (AttemptState.WORKED, AttemptState.UNKNOWN)
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


def _read_before(events: list[SessionEvent], until: int) -> int | None:
    """The line of what was read last before the model first said that it failed, once a log had shown that."""
    has_log, last = False, None
    for event in events[: until + 1]:
        if event.kind is Kind.REPLY and has_log and _FAILS.search(event.text[: 2 * _DIAGNOSIS_CHARS]):
            return last
        if event.kind in (Kind.CALL, Kind.RESULT):
            last = event.line
            has_log = has_log or bool(event.kind is Kind.RESULT and _LOG.search(event.text[-_LOG_CHARS:]))
    return None


def _passes(attempt: Attempt) -> bool:
    return (
        bool(attempt.call.text)
        and attempt.state is AttemptState.WORKED
        and bool(_CHECK.search(attempt.call.text[:400]))
    )


def _made(event: SessionEvent, edit: SessionEvent, said: str, wrong: str, right: str, sureness: float) -> HarvestItem:
    return HarvestItem(
        FIX,
        excerpt(said, _DIAGNOSIS_TEXT),
        event.line,
        sureness,
        fix_line=edit.line,
        wrong=excerpt(wrong, _SIDE),
        right=excerpt(right, _SIDE),
        source="self",
        quote=excerpt(event.text, _DIAGNOSIS_QUOTE),
        at_ms=event.at_ms,
    )
