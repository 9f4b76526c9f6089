"""What failed in a session and what mended it: another way to run it, an edit, a command that prepared it. And the course of the whole session.

Equal failures in a row are one: the same check, failing until it passes. The last one that the agent was told about stands for
all, since what followed it is what helped. No opinion whether any of it is worth knowing.
"""

from bisect import bisect_right
from typing import NamedTuple

from clan_learnings.sessions.attempts import Attempt, AttemptState, attempts_in, is_by_shell
from clan_learnings.sessions.command_fixes import (
    ALIKE_BY_SHELL,
    EVERYTHING,
    READING,
    FixKind,
    are_one_check,
    is_another_way,
    is_past,
    is_same,
    is_unknown_program,
    is_usage,
    needs_a_person,
    way_of,
)
from clan_learnings.sessions.command_lines import commands_in, last_of, likeness
from clan_learnings.sessions.edits import is_edit
from clan_learnings.sessions.error_signature import signature_of, signatures_in, telling_line
from clan_learnings.sessions.injected_by_us import InjectedText, without_injected
from clan_learnings.sessions.transcript_events import Kind, Session, SessionEvent


class MendedFailure(NamedTuple):
    """A failure, and what mended it, if anything did."""

    attempt: Attempt
    error: str  # the line that tells most
    signature: str
    way: FixKind
    fix: Attempt | None  # what helped: an edit, or the command that worked
    passed: Attempt | None  # what showed it
    times: int  # how often it failed before
    lines: tuple[int, ...]  # of all these failures


_FAR, _NEAR = 80, 8  # attempts ahead that are looked at: for the same check, for another way
_CLEARLY = 0.5
_SAME_ERROR = 0.6  # shared words of two lines that are one error


def failures_in(attempts: list[Attempt], events: list[SessionEvent]) -> list[MendedFailure]:
    """All failures, each chain of equal ones once, in order."""
    found: list[MendedFailure] = []
    taken: set[int] = set()
    prompts = [at for at, event in enumerate(events) if event.kind is Kind.PROMPT and not event.is_sidechain]
    for number, attempt in enumerate(attempts):
        if number in taken or attempt.state not in (AttemptState.FAILED, AttemptState.HIDDEN):
            continue
        mended = _of_shell(attempts, number, taken, prompts) if attempt.call.text else _of_tool(attempts, number, taken)
        found.append(mended)
    return found


def _of_shell(attempts: list[Attempt], number: int, taken: set[int], prompts: list[int]) -> MendedFailure:
    other = _other_way(attempts, number, prompts) if is_unknown_program(attempts[number].output) else None
    if other and other[1] is FixKind.INSTEAD:
        return _made(attempts[number], [attempts[number].line])._replace(way=other[1], fix=other[0], passed=other[0])
    chain, passed = _chain(attempts, number)
    taken.update(chain)
    told = [place for place in chain if attempts[place].state is AttemptState.FAILED] or chain
    shown = attempts[told[-1] if passed is None else _first_unchanged(attempts, told)]
    made = _made(shown, [attempts[place].line for place in chain])
    if passed is not None:
        return _passed(made, attempts, chain[-1], passed, prompts)
    other = _other_way(attempts, chain[-1], prompts)
    return made._replace(way=other[1], fix=other[0], passed=other[0]) if other else made


def _made(attempt: Attempt, lines: list[int]) -> MendedFailure:
    output = attempt.output
    return MendedFailure(
        attempt, telling_line(output), signature_of(output), FixKind.NOT, None, None, len(lines), tuple(lines)
    )


def _chain(attempts: list[Attempt], number: int) -> tuple[list[int], int | None]:
    """The same failing again and again, and where it passed at last, or failed for another reason."""
    chain = [number]
    for place in range(number + 1, min(number + _FAR, len(attempts))):
        before, attempt = attempts[chain[-1]], attempts[place]
        if not _may_answer(before, attempt):
            continue
        has_failed = attempt.state in (AttemptState.FAILED, AttemptState.HIDDEN)
        if not any(is_same(attempts[one].call.text, attempt.call.text) for one in {chain[0], chain[-1]}):
            if has_failed and place <= chain[-1] + 2 and _are_both_by_shell(before, attempt):
                chain.append(place)
            continue
        if has_failed and _are_alike(before.output, attempt.output):
            chain.append(place)
        elif has_failed or (attempt.state is AttemptState.WORKED and _settles(attempts, chain[-1], place)):
            return chain, place
    return chain, None


def _first_unchanged(attempts: list[Attempt], told: list[int]) -> int:
    """Of equal failures the last, or one before it, if it was only looked at again: the same line, and no edit in between."""
    at = len(told) - 1
    while at and are_one_check(attempts[told[at - 1]].call.text, attempts[told[at]].call.text):
        between = attempts[told[at - 1] + 1 : told[at]]
        if any(is_edit(attempt.call) for attempt in between):
            break
        at -= 1
    return told[at]


def _settles(attempts: list[Attempt], failed: int, passed: int) -> bool:
    """Whether a success says something about the failure: of all that had failed, or after an edit, or of how it was called."""
    failure, success = attempts[failed], attempts[passed]
    if is_usage(failure.output):
        return True
    last = last_of(failure.call.text)
    left = last.targets - EVERYTHING if last else frozenset()
    for command in commands_in(success.call.text):
        right = command.targets - EVERYTHING
        if last is not None and command.key == last.key and (right >= left if left else not right):
            return True
    return any(
        is_edit(attempt.call) and attempt.state is AttemptState.WORKED for attempt in attempts[failed + 1 : passed]
    )


def _may_answer(failed: Attempt, attempt: Attempt) -> bool:
    """Whether a line was run in the knowledge of a failure: not beside it, not by another agent."""
    return (
        bool(attempt.call.text) and attempt.call.is_sidechain == failed.call.is_sidechain and attempt.at >= failed.ended
    )


def _are_alike(one: str, other: str) -> bool:
    """Whether two errors say the same, maybe of other names."""
    if signatures_in(one) & signatures_in(other):
        return True
    left, right = set(signature_of(one).split()), set(signature_of(other).split())
    return left == right or len(left & right) >= _SAME_ERROR * len(left | right)


def _are_both_by_shell(one: Attempt, other: Attempt) -> bool:
    """Whether a shell understood neither of two lines that are about the same."""
    if not (is_by_shell(one.output) and is_by_shell(other.output)):
        return False
    return likeness(one.call.text, other.call.text) >= ALIKE_BY_SHELL


def _passed(
    made: MendedFailure, attempts: list[Attempt], failed: int, passed: int, prompts: list[int]
) -> MendedFailure:
    """What was done between the last failure and the success."""
    between = [
        attempt
        for attempt in attempts[failed + 1 : passed]
        if attempt.at > attempts[failed].ended
        and attempt.state in (AttemptState.WORKED, AttemptState.UNKNOWN, AttemptState.HIDDEN)
    ]
    success = attempts[passed]
    edits = [attempt for attempt in between if is_edit(attempt.call)]
    if edits:
        return made._replace(way=FixKind.EDITED, fix=edits[-1], passed=success)
    if (
        success.state is not AttemptState.WORKED
    ):  # it failed for another reason, and nobody can tell whether the first is gone
        return made
    failure = attempts[failed]
    is_other = is_another_way(failure, success)
    if is_other and is_usage(failure.output):
        return made._replace(way=FixKind.OTHERWISE, fix=success, passed=success)
    prepared = [attempt for attempt in between if attempt.call.text and _changes_something(attempt.call.text)]
    if prepared:
        return made._replace(way=FixKind.PREPARED, fix=prepared[-1], passed=success)
    if not is_other and needs_a_person(failure.output) and _is_prompted(prompts, failure.ended, success.at):
        return made._replace(way=FixKind.HELPED, fix=success, passed=success)
    return made._replace(way=FixKind.OTHERWISE if is_other else FixKind.AGAIN, fix=success, passed=success)


def _is_prompted(prompts: list[int], since: int, until: int) -> bool:
    """Whether a person said something in between."""
    later = bisect_right(prompts, since)
    return later < len(prompts) and prompts[later] < until


def _other_way(attempts: list[Attempt], number: int, prompts: list[int]) -> tuple[Attempt, FixKind] | None:
    """A line soon after that does it differently."""
    failed = attempts[number]
    line, is_shells = failed.call.text, is_by_shell(failed.output)
    later = bisect_right(prompts, failed.at)
    until = prompts[later] if later < len(prompts) else None
    best: tuple[float, Attempt, FixKind] | None = None
    for attempt in attempts[number + 1 : number + 1 + _NEAR]:
        if until is not None and attempt.at > until:
            break
        if not _may_answer(failed, attempt):
            continue
        if attempt.state is not AttemptState.WORKED and not is_past(failed, attempt):
            continue
        if attempt.state is AttemptState.WORKED and is_same(line, attempt.call.text):
            continue  # which did not settle it
        way, least = way_of(line, attempt.call.text, failed.output, is_shells=is_shells)
        share = likeness(line, attempt.call.text) + (0.1 if attempt.output.strip() else 0.0)
        if way is not FixKind.NOT and share >= least and (best is None or share > best[0]):
            best = (share, attempt, way)
            if share >= _CLEARLY or is_shells:
                break
    return (best[1], best[2]) if best else None


def _of_tool(attempts: list[Attempt], number: int, taken: set[int]) -> MendedFailure:
    """The same tool soon after, with other arguments and the same target if it has one."""
    failed = attempts[number]
    lines = [failed.line]
    for place in range(number + 1, min(number + 1 + _NEAR, len(attempts))):
        attempt = attempts[place]
        if attempt.call.tool != failed.call.tool or attempt.at < failed.ended:
            continue
        if attempt.state is AttemptState.WORKED:
            way = FixKind.AGAIN if attempt.call.arguments == failed.call.arguments else FixKind.OTHERWISE
            return _made(failed, lines)._replace(way=way, fix=attempt, passed=attempt)
        if attempt.state is AttemptState.FAILED and signature_of(attempt.output) == signature_of(failed.output):
            taken.add(place)
            lines.append(attempt.line)
    return _made(failed, lines)


def _changes_something(line: str) -> bool:
    return any(command.program not in READING and command.key not in READING for command in commands_in(line))


class SessionCourse(NamedTuple):
    """What happened in a session, worked out once for digest and rules: events without our own text, attempts, failures."""

    session: Session
    events: list[SessionEvent]
    attempts: list[Attempt]
    failures: list[MendedFailure]
    ours: InjectedText  # what we told it

    @classmethod
    def of(cls, session: Session) -> "SessionCourse":
        """Of a session as its transcript tells it."""
        events, ours = without_injected(session.events)
        attempts = attempts_in(events)
        return cls(session, events, attempts, failures_in(attempts, events), ours)
