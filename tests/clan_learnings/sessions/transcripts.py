"""Small transcripts for tests, written here: lines of JSON, and the one session that they tell."""

import json
from typing import Any

from clan_learnings.sessions.recognition import read_transcript
from clan_learnings.sessions.transcript_events import Kind, Session, SessionEvent


def lines(*records: Any) -> bytes:
    """Records as lines of JSON."""
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def session_of(data: bytes, flavour: str, path: str = "") -> Session:
    """The one session of a transcript."""
    transcript = read_transcript(data, path)
    assert transcript.flavour == flavour
    (session,) = transcript.sessions
    return session


def told(session: Session, *kinds: Kind) -> list[tuple[int, str, str]]:
    """Line, kind and text of events, of these kinds or of all."""
    return [(event.line, event.kind.value, event.text) for event in session.events if not kinds or event.kind in kinds]


def only(session: Session, kind: Kind) -> SessionEvent:
    """The one event of a kind."""
    (event,) = (event for event in session.events if event.kind is kind)
    return event
