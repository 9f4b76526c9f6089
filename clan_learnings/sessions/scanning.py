"""Sessions as sampling wants them: from the catalogue where it knows a file as it is, else counted from the file, by all processors.

What was counted is remembered, so that the next time nothing but names and sizes is looked at.
"""

import os
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from clan_learnings.sessions.analysis import CREW_BYTES, RULES
from clan_learnings.sessions.catalogue_rows import Look
from clan_learnings.sessions.catalogue_table import Catalogue
from clan_learnings.sessions.digest import repo_of
from clan_learnings.sessions.flavours.opencode import assembled
from clan_learnings.sessions.quick_counts.counting import count, is_packed
from clan_learnings.sessions.quick_counts.session_counts import Facts
from clan_learnings.sessions.sampling import Candidate, project_of
from clan_learnings.sessions.session_folders import Found
from clan_learnings.sessions.transcript_source import TooLarge, unpacked
from clan_learnings.sessions.worker_processes import by_crew, processors

_FILE_BYTES = 64 * 1024 * 1024
_CHUNK = 100  # files handed to a process at once
_ALONE = 400  # files: fewer are not worth another process
_PROCESSES = 4
_REMEMBER = 4000


class Scan(NamedTuple):
    """What is known of all files."""

    candidates: list[Candidate]
    remembered: int  # files that were not opened
    counted: int
    skipped: dict[str, int]


def scan(files: list[Found], catalogue: Catalogue | None, progress: Callable[[int], None]) -> Scan:
    """Everything sampling wants to know, of every file."""
    known: dict[str, tuple[Look, list[dict[str, Any]]]] = {}
    if catalogue is not None:
        known = catalogue.scanned(RULES) | catalogue.facts()
    candidates: list[Candidate] = []
    unknown: list[Found] = []
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
    scans: list[tuple[str, Look, list[dict[str, Any]]]] = []
    for found, rows in _counted(unknown):
        progress(1)
        if isinstance(rows, str):
            skipped[rows] = skipped.get(rows, 0) + 1
            continue
        candidates += [_candidate(found, facts) for facts in rows]
        scans.append((found.path, Look(*found[1:5]), rows))
        if catalogue is not None and len(scans) >= _REMEMBER:  # while others count on
            catalogue.remember(scans, RULES)
            scans = []
    if catalogue is not None and scans:
        catalogue.remember(scans, RULES)
    return Scan(candidates, remembered, len(unknown), skipped)


def _counted(files: list[Found]) -> Iterator[tuple[Found, "list[dict[str, Any]] | str"]]:
    small = [found for found in files if found.size <= CREW_BYTES]
    processes = min(processors(), _PROCESSES, len(small) // _ALONE + 1)
    if processes > 1:
        paths = [found.path for found in small]
        yield from zip(small, by_crew(_facts, paths, processes, _CHUNK), strict=True)
        files = [found for found in files if found.size > CREW_BYTES]  # one at a time: memory is bounded
    for found in files:
        yield found, _facts(found.path)


def _facts(path: str) -> "list[dict[str, Any]] | str":
    """What a file says, or why it says nothing."""
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
        sessions = count(unpacked(data) if is_packed(data) else assembled(path) or data, path)
    except TooLarge:
        return "too large when unpacked"
    return [_as_facts(session) for session in sessions]


def _as_facts(session: Facts) -> dict[str, Any]:
    """As the catalogue has them of captured sessions too."""
    key = f"{session.flavour}:{session.id}"
    return {
        "key": key,
        "session": f"{session.flavour}:{session.parent or session.id}",
        "flavour": session.flavour,
        "messages": session.messages,
        "calls": session.calls,
        "outcome": session.outcome,
        "repo": project_of(repo_of(session.remote, session.folder), session.folder),
        "started_ms": session.started_ms,
        "ended_ms": session.ended_ms,
        "is_subagent": session.is_subagent,
    }


def _candidate(found: Found, facts: dict[str, Any]) -> Candidate:
    written_ms = found.mtime_ns // 1_000_000
    ended_ms = facts.get("ended_ms") or written_ms
    return Candidate(
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
