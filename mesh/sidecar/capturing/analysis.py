"""What is made of a transcript's cleaned body: sessions, their digests and items, as the catalogue keeps them. Keeps nothing.

Who reads, digests and harvests is handed in. Whatever they say is cleaned once more: they may have looked at files beside it.
"""

import os
from collections.abc import Callable
from hashlib import blake2b
from typing import Any, NamedTuple

from clan_learnings.capture.cleaning import Cleaner
from clan_learnings.capture.events import Session
from mesh.sidecar.capturing.projects import project_of
from mesh.store.captured import Told

RULES = 1  # raised when adapters or rules changed so that what failed or was skipped is worth another try
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
    sessions: list[Told]
    skipped: dict[str, int]


def real_analysts() -> Analysts:
    """Those of this program. Imported late: hooks and everyday commands come nowhere near."""
    from clan_learnings.capture.course import Course
    from clan_learnings.capture.digest import digest_of
    from clan_learnings.capture.recognise import read_transcript
    from clan_learnings.harvest.found import found_in

    last: list[Any] = [None, None]  # a session and its course, which both of them need

    def course_of(session: Session) -> Course:
        if last[0] is not session:
            last[:] = session, Course.of(session)
        return last[1]  # type: ignore[no-any-return]

    return Analysts(
        read_transcript,
        lambda session: digest_of(session, course_of(session)),
        lambda session: found_in(session, course_of(session)),
    )


def analyse(body: bytes, path: str, analysts: Analysts, breathe: Callable[[], None]) -> Analysis:
    """Make sessions of a body. Raises whatever the analysts raise."""
    transcript = analysts.read(body, path)
    cleaner = Cleaner()
    told: dict[str, Told] = {}
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


def _told(key: str, session: Session, analysts: Analysts, cleaner: Cleaner) -> Told:
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
    return Told(key, _safe(session.name), len(session.events), facts, digest, items)


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
