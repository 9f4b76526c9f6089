"""The digest of a session, small enough to keep for ever: task, outcome, failures and what mended them, errors, cost. Local, never gossiped."""

import os
from functools import lru_cache
from typing import Any, NamedTuple

from clan_learnings.repository.consent import file_of
from clan_learnings.repository.detection import find
from clan_learnings.repository.remote_name import identity_of
from clan_learnings.sessions.attempts import AttemptState
from clan_learnings.sessions.cleaning import excerpt
from clan_learnings.sessions.command_fixes import FixKind
from clan_learnings.sessions.corrections import corrections_in
from clan_learnings.sessions.edits import files_of, is_edit
from clan_learnings.sessions.error_signature import signature_of
from clan_learnings.sessions.failures import MendedFailure, SessionCourse
from clan_learnings.sessions.session_outcome import outcome_of
from clan_learnings.sessions.transcript_events import Kind, Session

_TASK, _WORDS, _COMMAND, _ERROR, _PATH = 300, 300, 200, 200, 200  # characters that are kept
_FILES, _FAILURES, _CORRECTIONS, _ERRORS = 200, 100, 100, 100


class Failure(NamedTuple):
    """A command or tool that failed, and what worked in its place, if anything did."""

    line: int
    command: str
    error: str  # what it said, cut
    signature: str  # equal for equal errors of any session: no paths, numbers, names
    tool: str = ""
    fix_line: int | None = None
    fix: str = ""


class Digest(NamedTuple):
    """The digest of one session."""

    session: str  # as records name it
    flavour: str
    task: str  # the first thing a person asked for
    folder: str  # with ~ for a home folder
    repo: str  # identity as records have it; empty if nobody can tell
    outcome: str  # success, failure, unknown
    why: str  # how that was seen
    files: list[str]  # that it changed
    failures: list[Failure]
    corrections: list[tuple[int, str]]  # line, the person's words
    errors: dict[str, int]  # by signature
    messages: int
    calls: int
    tokens: int
    dollars: float | None
    started_ms: int | None
    ended_ms: int | None
    model: str = ""
    is_subagent: bool = False
    skipped: dict[str, int] = {}  # noqa: RUF012 (a tuple's default, never changed)

    def as_json(self) -> dict[str, Any]:
        """As it is kept."""
        return self._asdict() | {"failures": [failure._asdict() for failure in self.failures]}


def digest_of(session: Session, course: SessionCourse | None = None) -> Digest:
    """The digest of a session. `course`: if it was worked out before."""
    course = course or SessionCourse.of(session)
    outcome = outcome_of(course)
    prompt = next((event for event in course.events if event.kind is Kind.PROMPT and not event.is_sidechain), None)
    return Digest(
        session=excerpt(session.name, _PATH),
        flavour=session.flavour,
        task=excerpt(prompt.text if prompt else session.title, _TASK),
        folder=excerpt(session.folder, _PATH),
        repo=repo_of(session.remote, session.folder),
        outcome=outcome.result,
        why=outcome.why,
        files=_files(course),
        failures=[_failure(mended) for mended in course.failures[:_FAILURES]],
        corrections=[
            (found.line, excerpt(found.words, _WORDS))
            for found in corrections_in(course.events, session)[:_CORRECTIONS]
        ],
        errors=_errors(course),
        messages=session.messages,
        calls=session.calls,
        tokens=session.usage.input + session.usage.output,
        dollars=session.usage.dollars,
        started_ms=session.started_ms,
        ended_ms=session.ended_ms,
        model=excerpt(session.model, _PATH),
        is_subagent=session.is_subagent,
        skipped=dict(session.skipped),
    )


def repo_of(remote: str, folder: str) -> str:
    """The repository's identity: from its address, else from the folder if that is on this machine."""
    if remote and (found := identity_of(remote)):
        return found
    return _repo_of_folder(folder, _trusted_at()) if folder.startswith("/") else ""


def _trusted_at() -> int:
    """When a person last said which folders may name their repository: what was found out before may be another."""
    try:
        return os.stat(file_of(os.environ)).st_mtime_ns
    except OSError:
        return 0


@lru_cache(maxsize=1024)
def _repo_of_folder(folder: str, _trusted_at: int) -> str:
    if not os.path.isdir(folder):
        return ""

    environ = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        return find(folder, environ).identity
    except (OSError, ValueError):
        return ""


def _files(course: SessionCourse) -> list[str]:
    changed = (
        name
        for attempt in course.attempts
        if attempt.state in (AttemptState.WORKED, AttemptState.UNKNOWN) and is_edit(attempt.call)
        for name in files_of(attempt.call)
    )
    return list(dict.fromkeys(excerpt(name, _PATH) for name in changed))[:_FILES]


def _failure(mended: MendedFailure) -> Failure:
    call = mended.attempt.call
    helped = mended.fix if mended.way not in (FixKind.NOT, FixKind.AGAIN) else None
    return Failure(
        line=mended.attempt.line,
        command=excerpt(call.text or call.tool, _COMMAND),
        error=excerpt(mended.error, _ERROR),
        signature=mended.signature,
        tool=excerpt(call.tool, _PATH),
        fix_line=helped.call.line if helped else None,
        fix=_fix(helped.call) if helped else "",
    )


def _fix(call: Any) -> str:
    if call.text:
        return excerpt(call.text, _COMMAND)
    names = ", ".join(name.replace("\\", "/").rsplit("/", 1)[-1] for name in files_of(call)[:3])
    return excerpt(f"{call.tool} {names}".strip(), _COMMAND)


def _errors(course: SessionCourse) -> dict[str, int]:
    counts: dict[str, int] = {}
    for attempt in course.attempts:
        if attempt.state in (AttemptState.FAILED, AttemptState.HIDDEN) and (signature := signature_of(attempt.output)):
            counts[signature] = counts.get(signature, 0) + 1
    return dict(sorted(counts.items(), key=lambda item: -item[1])[:_ERRORS])
