"""A small flavour of transcripts, and analysts that read it: for tests of capturing, which is about files and rows."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from clan_learnings.sessions.analysis import Analysts
from clan_learnings.sessions.session_folders import SessionFile, look_at
from clan_learnings.sessions.transcript_events import Kind, Session, SessionEvent


class Read(NamedTuple):
    """As `recognise.Transcript`."""

    flavour: str
    sessions: list[Session]
    skipped: dict[str, int]


class Value(NamedTuple):
    """As a digest or an item."""

    value: dict[str, Any]

    def as_json(self) -> dict[str, Any]:
        return self.value


def read(body: bytes, path: str) -> Read:
    """Lines `{"id": ..., "text": ...}`; sessions by id."""
    events: dict[str, list[SessionEvent]] = {}
    for number, line in enumerate(body.decode().split("\n"), 1):
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if isinstance(value, dict) and "id" in value:
            events.setdefault(value["id"], []).append(SessionEvent(number, Kind.PROMPT, value.get("text", "")))
    sessions = [Session("small", name, found, messages=len(found)) for name, found in events.items()]
    return Read("small" if sessions else "", sessions, {} if sessions else {"no flavour knows it": 1})


def digest(session: Session) -> Value:
    """All its texts, so that a test can see what got through."""
    if any(event.text == "fail" for event in session.events):
        raise RuntimeError("a rule that fails")
    return Value({"session": session.name, "task": session.events[0].text, "outcome": "unknown", "repo": ""})


def items(session: Session) -> list[Value]:
    """One for each event."""
    return [Value({"kind": "fact", "text": event.text, "line": event.line}) for event in session.events]


ANALYSTS = Analysts(read, digest, items)


def write(path: Path, *texts: str, name: str = "s1", mode: str = "w") -> Path:
    """A transcript of one session."""
    with path.open(mode, encoding="utf-8") as file:
        file.writelines(json.dumps({"id": name, "text": text}) + "\n" for text in texts)
    return path


def found(*paths: Path) -> list[SessionFile]:
    """As discovery would find them."""
    return [each for path in paths if (each := look_at(str(path), is_own_only=True)) is not None]


def nobody() -> Iterable[SessionFile]:
    """No file at all."""
    return ()
