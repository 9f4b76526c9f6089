"""The analysis of a transcript's cleaned body: its sessions, their digests and items, as the catalogue stores them. Stores nothing.

The functions that read, digest and find items are passed in. Their results are cleaned once more: they may have looked at files beside the transcript.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b
from typing import Any, NamedTuple

from clan_learnings.harvest.rules import items_of_session
from clan_learnings.sessions.catalogue_rows import (
    FAILED,
    SKIPPED,
    TAKEN,
    CapturedFile,
    CapturedSession,
    FileLook,
    KnownFile,
)
from clan_learnings.sessions.cleaning import Cleaner, homeless
from clan_learnings.sessions.digest import digest_of
from clan_learnings.sessions.failures import SessionCourse
from clan_learnings.sessions.recognition import read_transcript
from clan_learnings.sessions.session_folders import SessionFile
from clan_learnings.sessions.transcript_events import Session
from clan_learnings.sessions.transcript_file import FileReading, FileRefused, read_file
from clan_learnings.sessions.worker_processes import CaptureStopped, by_crew, processors

RULES = 2  # raised when adapters or rules changed so that what failed or was skipped is worth another try
NO_SESSION = "no session in it"
_KEY_CHARS = 300


class Analysts(NamedTuple):
    """Who reads, who digests, who looks for what a session taught."""

    read: Callable[[bytes, str], Any]  # -> flavour, sessions, skipped
    digest: Callable[[Session], Any]  # -> something with as_json()
    items: Callable[[Session], list[Any]]  # of the same sort


class Analysis(NamedTuple):
    """What a transcript amounts to."""

    flavour: str
    sessions: list[CapturedSession]
    skipped: dict[str, int]


def real_analysts() -> Analysts:
    """Those of this program. Imported late: hooks and everyday commands come nowhere near."""
    last: list[Any] = [None, None]  # a session and its course, which both of them need

    def course_of(session: Session) -> SessionCourse:
        if last[0] is not session:
            last[:] = session, SessionCourse.of(session)
        return last[1]  # type: ignore[no-any-return]

    return Analysts(
        read_transcript,
        lambda session: digest_of(session, course_of(session)),
        lambda session: items_of_session(session, course_of(session)),
    )


def analyse(body: bytes, path: str, analysts: Analysts, breathe: Callable[[], None]) -> Analysis:
    """Make sessions of a body. Raises whatever the analysts raise."""
    transcript = analysts.read(body, path)
    cleaner = Cleaner()
    told: dict[str, CapturedSession] = {}
    for session in transcript.sessions:
        breathe()
        if not session.events:
            continue
        key = _key(session, path)
        number = 2
        while key in told:  # branches of one session
            key = f"{_key(session, path)}#{number}"
            number += 1
        told[key] = _told(key, session, analysts, cleaner)
    return Analysis(transcript.flavour, list(told.values()), transcript.skipped)


def _told(key: str, session: Session, analysts: Analysts, cleaner: Cleaner) -> CapturedSession:
    session = session._replace(folder=_real(session.folder))
    digest = cleaner.value(analysts.digest(session).as_json())
    items = [cleaner.value(item.as_json()) for item in analysts.items(session)]
    facts = {
        "key": key,
        "session": _safe(session.name),
        "flavour": session.flavour,
        "messages": session.messages,
        "calls": session.calls,
        "outcome": digest.get("outcome", "unknown"),
        "repo": project_of(digest.get("repo", ""), session.folder),
        "started_ms": session.started_ms,
        "ended_ms": session.ended_ms,
        "is_subagent": session.is_subagent,
    }
    return CapturedSession(key, _safe(session.name), len(session.events), facts, digest, items)


def project_of(repo: str, folder: str) -> str:
    """A repository's identity. A folder that is not there any more stands for itself: it was somebody's project."""
    if repo or not folder or os.path.isdir(folder):
        return repo
    return homeless(folder)


def _key(session: Session, path: str) -> str:
    """Of a transcript, equal in every copy of it. One whose id nobody knows goes by its path."""
    own = session.id or "file-" + blake2b(os.fsencode(path), digest_size=8).hexdigest()
    kind = "agent/" if session.is_subagent and session.id == session.parent else ""
    return _safe(f"{session.flavour}:{kind}{own}")


def _safe(text: str) -> str:
    return text.encode("utf-8", "replace").decode()[:_KEY_CHARS]


def _real(folder: str) -> str:
    """A folder whose home was taken out, as it is on this machine, if it is there: its repository has a name."""
    if not folder.startswith("~"):
        return folder
    real = os.path.expanduser(folder)
    return real if os.path.isdir(real) else folder


_CREW = 4  # processes at most: each takes some 40 MB, and all of them must stay below 200
CREW_BYTES = 4 * 1024 * 1024  # of a file that a crew takes: larger ones are read one at a time
_CHUNK = 4
_analysts: list[Analysts] = []  # of a process of the crew


def prepared(
    found: SessionFile, known: KnownFile | None, kept: bytes | None, analysts: Analysts, breathe: Callable[[], None]
) -> CapturedFile | str:
    """What is to be kept; or, if the file cannot be read, why not. `known`, `kept`: how it was read before, and its body."""
    try:
        reading = read_file(found.path, known, kept, breathe)
    except FileRefused as refused:
        look = FileLook(*found[1:5])
        return CapturedFile(
            found.path, look, 0, 0, b"", SKIPPED, str(refused), "", RULES, None, 1, False, True, [], known
        )
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    return _analysed(found.path, reading, known, analysts, breathe)


def analysed_again(
    path: str, known: KnownFile, body: bytes, analysts: Analysts, breathe: Callable[[], None]
) -> CapturedFile:
    """The same of a body that is kept already."""
    reading = FileReading(known.look, known.cursor, known.lines, known.hash, body, b"", 1, True, 0)
    taking = _analysed(path, reading, known, analysts, breathe)
    return taking._replace(segment=None, cursor=known.cursor, lines=known.lines)


def _analysed(
    path: str, reading: FileReading, known: KnownFile | None, analysts: Analysts, breathe: Callable[[], None]
) -> CapturedFile:
    taking = CapturedFile(
        path,
        reading.look,
        reading.cursor,
        reading.lines,
        reading.hash,
        TAKEN,
        "",
        "",
        RULES,
        reading.segment,
        reading.first_line,
        is_analysed=True,
        is_continued=reading.is_continued,
        sessions=[],
        known=known,
    )
    try:
        analysis = analyse(reading.body, path, analysts, breathe)
    except CaptureStopped:
        raise
    except Exception as error:  # noqa: BLE001 (bytes of strangers, and rules that others write)
        # Of the error only its sort: its words may be those of the transcript.
        return taking._replace(state=FAILED, why=f"not analysed: {type(error).__name__}", is_analysed=False)
    if not analysis.sessions:
        why = next(iter(analysis.skipped), NO_SESSION) if not analysis.flavour else NO_SESSION
        return taking._replace(state=SKIPPED, why=why, flavour=analysis.flavour, segment=None, cursor=0, lines=0)
    if reading.shortened:
        for told in analysis.sessions:
            told.digest.setdefault("skipped", {})["a text too long to be kept whole"] = reading.shortened
    return taking._replace(flavour=analysis.flavour, sessions=analysis.sessions)


def prepared_by_crew(files: Iterable[SessionFile]) -> Iterator[tuple[SessionFile, CapturedFile | str]]:
    """Prepare files that were never read, by several processes, in their order."""
    files = list(files)
    yield from zip(files, by_crew(_prepared_anew, files, min(processors(), _CREW), _CHUNK, _begin), strict=True)


def _begin() -> None:
    _analysts.append(real_analysts())


def _prepared_anew(found: SessionFile) -> CapturedFile | str:
    return prepared(found, None, None, _analysts[0], lambda: None)
