"""Which sessions to harvest first: counts of every session, a score of each, and the best of them.

Counts come from the catalogue where it knows a file as it is, else the flavours read the file, in several processes; what was
counted is remembered, so that the next time only names and sizes are looked at. Scoring is pure: the time is an argument.

Recency: 3 up to 7 days, 2 up to 30, else 1. Length: 3 above 50 messages, 2 above 20, else 1. Repository: 5 for the first
session there ever was of it, else 1. Outcome: failure 3, success 2, unknown 1. And 2 for more than 10 calls of tools. Equal
scores stand newest first, then by name: the same sessions give the same order everywhere.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from clan_learnings.sessions.agent_database_table import DatabaseRefused, session_in_database
from clan_learnings.sessions.analysis import CREW_BYTES, RULES, project_of
from clan_learnings.sessions.catalogue_rows import FileLook
from clan_learnings.sessions.catalogue_table import Catalogue
from clan_learnings.sessions.digest import repo_of
from clan_learnings.sessions.flavours.opencode import assembled
from clan_learnings.sessions.recognition import read_transcript
from clan_learnings.sessions.session_folders import SessionFile
from clan_learnings.sessions.transcript_events import Kind, Session, SessionEvent
from clan_learnings.sessions.transcript_source import ZSTD, TooLarge, unpacked
from clan_learnings.sessions.worker_processes import by_crew, processors

_DAY_MS = 86_400_000
_OUTCOMES = {"failure": 3, "success": 2}


class SampleCandidate(NamedTuple):
    """A session that could be harvested."""

    path: str
    key: str  # equal in every copy of it
    session: str  # as records name it
    flavour: str
    messages: int
    calls: int
    outcome: str
    repo: str  # its identity; of a folder that is gone, the folder; empty: none
    started_ms: int
    ended_ms: int
    is_subagent: bool = False


class Scored(NamedTuple):
    """A candidate, its score, and what that is made of."""

    candidate: SampleCandidate
    score: int
    parts: dict[str, int]

    def as_json(self) -> dict[str, Any]:
        """For `--json`."""
        return {**self.candidate._asdict(), "score": self.score, "parts": self.parts}


def score_all(candidates: Iterable[SampleCandidate], now_ms: int) -> list[Scored]:
    """The score of every session, each session once, the best first."""
    once = _once(candidates)
    firsts = _firsts(once)
    scored = [_scored(candidate, now_ms, is_first=candidate.key in firsts) for candidate in once]
    scored.sort(key=lambda each: (-each.score, -each.candidate.ended_ms, each.candidate.key, each.candidate.path))
    return scored


def best(
    scored: list[Scored],
    *,
    count: int,
    min_score: int = 0,
    top_percent: float = 0,
    repo: str = "",
    since_ms: int = 0,
) -> list[Scored]:
    """The best that pass the filters. `top_percent` takes the place of `count`."""
    found = [
        each
        for each in scored
        if each.score >= min_score
        and each.candidate.ended_ms >= since_ms
        and (not repo or _is_of(each.candidate.repo, repo))
    ]
    return found[: max(1, int(len(found) * top_percent / 100)) if top_percent else count]


def _once(candidates: Iterable[SampleCandidate]) -> list[SampleCandidate]:
    """Of several files that tell the same session, the one that tells most."""
    found: dict[str, SampleCandidate] = {}
    for each in candidates:
        other = found.get(each.key)
        if other is None or (-each.messages, each.path) < (-other.messages, other.path):
            found[each.key] = each
    return list(found.values())


def _firsts(candidates: list[SampleCandidate]) -> set[str]:
    """The first session of each repository. Subagents do not count: they began within another session."""
    found: dict[str, SampleCandidate] = {}
    for each in candidates:
        if each.repo and not each.is_subagent:
            other = found.get(each.repo)
            if other is None or (each.started_ms, each.key) < (other.started_ms, other.key):
                found[each.repo] = each
    return {each.key for each in found.values()}


def _scored(candidate: SampleCandidate, now_ms: int, *, is_first: bool) -> Scored:
    days = (now_ms - candidate.ended_ms) // _DAY_MS
    parts = {
        "recency": 3 if days <= 7 else 2 if days <= 30 else 1,
        "length": 3 if candidate.messages > 50 else 2 if candidate.messages > 20 else 1,
        "repo": 5 if is_first else 1,
        "outcome": _OUTCOMES.get(candidate.outcome, 1),
        "calls": 2 if candidate.calls > 10 else 0,
    }
    return Scored(candidate, sum(parts.values()), parts)


def _is_of(repo: str, asked: str) -> bool:
    """`host/owner/name`, or its end: `owner/name`, `name`."""
    asked = asked.lower().strip("/")
    return repo.lower() == asked or repo.lower().endswith("/" + asked)


_FILE_BYTES = 64 * 1024 * 1024
_CHUNK = 100  # files handed to a process at once
_ALONE = 400  # files: fewer are not worth another process
_PROCESSES = 4
_REMEMBER = 4000


class Scan(NamedTuple):
    """The counts of all files."""

    candidates: list[SampleCandidate]
    remembered: int  # files that were not opened
    counted: int
    skipped: dict[str, int]


def scan(files: list[SessionFile], catalogue: Catalogue | None, progress: Callable[[int], None]) -> Scan:
    """Count every file, or remember its counts."""
    known: dict[str, tuple[FileLook, list[dict[str, Any]]]] = {}
    if catalogue is not None:
        known = catalogue.scanned(RULES) | catalogue.facts()
    candidates: list[SampleCandidate] = []
    unknown: list[SessionFile] = []
    remembered = 0
    for found in files:
        before = known.get(found.path)
        if before is not None and before[0] == found[1:5]:
            remembered += 1
            candidates += [_candidate(found, facts) for facts in before[1]]
        else:
            unknown.append(found)
    progress(remembered)
    skipped: dict[str, int] = {}
    scans: list[tuple[str, FileLook, list[dict[str, Any]]]] = []
    for found, rows in _counted(unknown):
        progress(1)
        if isinstance(rows, str):
            skipped[rows] = skipped.get(rows, 0) + 1
            continue
        candidates += [_candidate(found, facts) for facts in rows]
        scans.append((found.path, FileLook(*found[1:5]), rows))
        if catalogue is not None and len(scans) >= _REMEMBER:  # while others count on
            catalogue.remember(scans, RULES)
            scans = []
    if catalogue is not None and scans:
        catalogue.remember(scans, RULES)
    return Scan(candidates, remembered, len(unknown), skipped)


def _counted(files: list[SessionFile]) -> Iterator[tuple[SessionFile, "list[dict[str, Any]] | str"]]:
    small = [found for found in files if found.size <= CREW_BYTES]
    processes = min(processors(), _PROCESSES, len(small) // _ALONE + 1)
    if processes > 1:
        paths = [found.path for found in small]
        yield from zip(small, by_crew(_facts, paths, processes, _CHUNK), strict=True)
        files = [found for found in files if found.size > CREW_BYTES]  # one at a time: memory is bounded
    for found in files:
        yield found, _facts(found.path)


def _facts(path: str) -> "list[dict[str, Any]] | str":
    """The counts of a file's sessions, or why it was skipped."""
    try:
        stored = session_in_database(path)
    except DatabaseRefused as refused:
        return str(refused)
    if stored is not None:
        return [_as_facts(session) for session in read_transcript(stored[0], path).sessions if session.events]
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            size = os.fstat(descriptor).st_size
            if size > _FILE_BYTES:
                return f"larger than {_FILE_BYTES // 1024**2} MB"
            data = os.read(descriptor, size)
        finally:
            os.close(descriptor)
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    try:
        whole = unpacked(data) if data.startswith(ZSTD) else assembled(path) or data
    except TooLarge:
        return "too large when unpacked"
    return [_as_facts(session) for session in read_transcript(whole, path).sessions if session.events]


def _as_facts(session: Session) -> dict[str, Any]:
    """As the catalogue has them of captured sessions too."""
    return {
        "key": f"{session.flavour}:{session.id}",
        "session": f"{session.flavour}:{session.parent or session.id}",
        "flavour": session.flavour,
        "messages": session.messages,
        "calls": session.calls,
        "outcome": _last_outcome(session),
        "repo": project_of(repo_of(session.remote, session.folder), session.folder),
        "started_ms": session.started_ms,
        "ended_ms": session.ended_ms,
        "is_subagent": session.is_subagent,
    }


def _last_outcome(session: Session) -> str:
    """How a session looks by its last result; a digest knows better. Without results, or without an answer, nobody can tell."""
    failed = next((event.failed for event in reversed(session.events) if _has_result(event)), None)
    if failed is None:
        return "unknown"
    has_answer = any(event.kind in (Kind.REPLY, Kind.CALL) for event in session.events)
    return "failure" if failed else "success" if has_answer else "unknown"


def _has_result(event: SessionEvent) -> bool:
    return event.kind is Kind.RESULT and event.failed is not None


def _candidate(found: SessionFile, facts: dict[str, Any]) -> SampleCandidate:
    written_ms = found.mtime_ns // 1_000_000
    ended_ms = facts.get("ended_ms") or written_ms
    return SampleCandidate(
        found.path,
        facts["key"],
        facts["session"],
        facts["flavour"],
        facts["messages"],
        facts["calls"],
        facts["outcome"],
        facts["repo"],
        facts.get("started_ms") or ended_ms,
        ended_ms,
        facts.get("is_subagent", False),
    )
