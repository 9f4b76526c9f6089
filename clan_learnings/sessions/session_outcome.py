"""The outcome of a session: success, failure or unknown, and the evidence for it. Decides by what was run and said last."""

import re
from bisect import bisect_right
from typing import NamedTuple

from clan_learnings.sessions.attempts import Attempt, AttemptState
from clan_learnings.sessions.cleaning import excerpt
from clan_learnings.sessions.command_fixes import READING
from clan_learnings.sessions.command_lines import commands_in, plain
from clan_learnings.sessions.edits import files_of, is_edit
from clan_learnings.sessions.failures import SessionCourse
from clan_learnings.sessions.objections import objection_signs
from clan_learnings.sessions.transcript_events import Kind, SessionEvent

SUCCESS, FAILURE, UNKNOWN = "success", "failure", "unknown"


class SessionOutcome(NamedTuple):
    """How a session ended, and the evidence for it."""

    result: str
    why: str
    line: int | None = None


_CHECKS = re.compile(
    r"\b(?:tests?|pytest|jest|vitest|lint\w*|checks?|build|vet|tsc|compile|clippy|check-types|type-?check|verify|ruff|mypy|eslint|make|gradle\w*|mvn|commit|push|publish|release|fix|ci|pr create|getdiagnostics)\b",
    re.IGNORECASE,
)
_CODE = re.compile(
    r"\.(?:py|js|mjs|ts|tsx|jsx|go|rs|java|kt|c|cc|cpp|h|hpp|cs|rb|php|swift|scala|sh|ps1|lua|ex|exs|hs|ml|zig|dart|vue|svelte|ipynb|sql)$",
    re.IGNORECASE,
)
_CLAIM = re.compile(
    r"\b(?:done|fixed|created|added|updated|implemented|completed|successfully|all (?:tests )?(?:pass|green)|passes|works? now|committed|pushed|merged|written|removed|renamed|refactored|resolved|installed|i(?:'ve| have) \w+ed)\b",
    re.IGNORECASE,
)
_PRAISE = re.compile(
    r"\b(?:thanks|thank you|works|great|perfect|awesome|nice|excellent|lgtm|looks good|all good|love it|well done)\b",
    re.IGNORECASE,
)
_WHY = 120
_CLAIMS = 20  # answers after a write that are looked at


def claims_success(reply: str) -> bool:
    """Whether an answer says that something was done."""
    return bool(_CLAIM.search(reply[:600]))


def unwritten_claim(course: SessionCourse) -> tuple[Attempt, SessionEvent] | None:
    """A write that did not happen, and the answer that says it did: nothing was written in its place."""
    edits = [attempt for attempt in course.attempts if is_edit(attempt.call)]
    done = [
        attempt
        for attempt in edits
        if attempt.state in (AttemptState.WORKED, AttemptState.UNKNOWN, AttemptState.HIDDEN)
    ]
    written = {name for attempt in done for name in files_of(attempt.call)}
    claims = [
        (at, event) for at, event in enumerate(course.events) if event.kind is Kind.REPLY and claims_success(event.text)
    ]
    prompts = [at for at, event in enumerate(course.events) if event.kind is Kind.PROMPT]
    by_shell = max((attempt.at for attempt in done if attempt.call.text), default=-1)  # which may have written anything
    for attempt in edits:
        if attempt.state not in (AttemptState.FAILED, AttemptState.GUESSED, AttemptState.REFUSED) or attempt.call.text:
            continue
        target = set(files_of(attempt.call))
        if target & written or by_shell > attempt.at:
            continue
        claim = _claim_after(claims, prompts, attempt, target)
        if claim is not None:
            return attempt, claim
    return None


def outcome_of(course: SessionCourse) -> SessionOutcome:
    """How a session ended."""
    if not course.attempts and not any(event.kind is Kind.REPLY for event in course.events):
        return SessionOutcome(UNKNOWN, "nothing was done")
    false = unwritten_claim(course)
    if false is not None:
        return SessionOutcome(FAILURE, "a write did not happen, yet the answer claims it", false[0].line)
    edits = [
        attempt
        for attempt in course.attempts
        if is_edit(attempt.call) and attempt.state in (AttemptState.WORKED, AttemptState.UNKNOWN)
    ]
    last_edit = edits[-1].at if edits else -1
    thanks = _thanked(course.events)
    if thanks is not None:
        return SessionOutcome(SUCCESS, "the person was content", thanks.line)
    decisive = [
        attempt
        for attempt in course.attempts
        if _is_check(attempt) and attempt.state in (AttemptState.WORKED, AttemptState.FAILED, AttemptState.HIDDEN)
    ]
    if decisive and (decisive[-1].at > last_edit or _is_harmless_after(decisive[-1], edits)):
        last = decisive[-1]
        result = SUCCESS if last.state is AttemptState.WORKED else FAILURE
        verb = "passed" if result is SUCCESS else "failed"
        return SessionOutcome(
            result, f"{excerpt(plain(last.call.text) or last.call.tool, _WHY)} {verb} last", last.line
        )
    return _by_edits(course, edits)


def _by_edits(course: SessionCourse, edits: list[Attempt]) -> SessionOutcome:
    last = course.events[-1] if course.events else None
    if last is not None and last.kind in (Kind.INTERRUPT, Kind.REFUSAL):
        return SessionOutcome(UNKNOWN, "it was stopped", last.line)
    reply = next(
        (event for event in reversed(course.events) if event.kind is Kind.REPLY and not event.is_sidechain), None
    )
    if not edits:
        ran = [
            attempt
            for attempt in course.attempts
            if attempt.call.text and attempt.state is AttemptState.WORKED and not _only_reads(attempt)
        ]
        if ran and reply is not None and claims_success(reply.text):
            return SessionOutcome(SUCCESS, "the last command worked, and the answer says that it is done", ran[-1].line)
        return SessionOutcome(UNKNOWN, "nothing was changed")
    final = edits[-1]
    if any(_CODE.search(name) for edit in edits[-3:] for name in files_of(edit.call)):
        ran = [
            attempt
            for attempt in course.attempts
            if attempt.at > final.at
            and attempt.call.text
            and attempt.state is AttemptState.WORKED
            and not _only_reads(attempt)
        ]
        if not ran:
            return SessionOutcome(UNKNOWN, "code was changed, and never run", final.line)
        return SessionOutcome(SUCCESS, "the changed code was run", ran[-1].line)
    return SessionOutcome(SUCCESS, "files were changed as asked", final.line)


def _thanked(events: list[SessionEvent]) -> SessionEvent | None:
    """The last prompt, if it is praise and nothing but that."""
    prompt = next((event for event in reversed(events) if event.kind is Kind.PROMPT and not event.is_sidechain), None)
    first = next((event for event in events if event.kind is Kind.PROMPT), None)
    if prompt is None or prompt is first:
        return None
    sound = objection_signs(prompt.text)
    is_short = sound.size <= 8 and not sound.is_question and not sound.against
    return prompt if is_short and _PRAISE.search(prompt.text[:200]) else None


def _claim_after(
    claims: list[tuple[int, SessionEvent]], prompts: list[int], attempt: Attempt, target: set[str]
) -> SessionEvent | None:
    """The first claim after an attempt, and before the next prompt, that names what it was to write."""
    names = {name.replace("\\", "/").rsplit("/", 1)[-1].lower() for name in target}
    later = bisect_right(prompts, attempt.at)
    until = prompts[later] if later < len(prompts) else None
    first = bisect_right(claims, attempt.at, key=lambda claim: claim[0])
    for at, event in claims[first : first + _CLAIMS]:
        if until is not None and at > until:
            break
        if any(name in event.text.lower() for name in names):
            return event
    return None


def _is_check(attempt: Attempt) -> bool:
    if not attempt.call.text:
        return bool(_CHECKS.search(attempt.call.tool)) and not is_edit(attempt.call)
    return bool(_CHECKS.search(plain(attempt.call.text)[:400])) and not _only_reads(attempt)


def _only_reads(attempt: Attempt) -> bool:
    return all(command.program in READING or command.key in READING for command in commands_in(attempt.call.text))


def _is_harmless_after(check: Attempt, edits: list[Attempt]) -> bool:
    """Whether only words were changed after the last check: they need none."""
    later = [edit for edit in edits if edit.at > check.at]
    return check.state is AttemptState.WORKED and not any(
        _CODE.search(name) for edit in later for name in files_of(edit.call)
    )
