"""Recognition of a transcript's flavour by its content, and reading it. The one place where errors of a flavour are caught.

Knows no flavour by name: a module in `flavours` is one. They are asked in the order of their `ORDER` (0 unless they say
otherwise, the generic ones later), then by name.
"""

import hashlib
import os
import pkgutil
import re
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

from clan_learnings.redaction.private_passages import (
    may_be_private,
    without_private,
    without_private_lines,
    without_private_values,
)
from clan_learnings.sessions import flavours
from clan_learnings.sessions.transcript_events import Session
from clan_learnings.sessions.transcript_source import TooLarge, TranscriptSource

_STEM = 100
_BEGINNING = 4096
EMPTY, UNKNOWN, TOO_LARGE = "nothing in it", "no flavour knows it", "too large"


class TranscriptContent(NamedTuple):
    """The sessions of a file, and what was skipped."""

    flavour: str  # empty if nobody knows it
    sessions: list[Session]
    skipped: dict[str, int]  # what was not understood: why, how often


def read_transcript(data: bytes, path: str = "", first_line: int = 1) -> TranscriptContent:
    """The sessions of a transcript. Never raises because of what is in it."""
    try:
        source = TranscriptSource(data, path, first_line)
        if may_be_private(source.data):  # here, where one still sees which blocks are of one message
            source = TranscriptSource(without_private_lines(source.data), path, first_line)
    except TooLarge:
        return TranscriptContent("", [], {TOO_LARGE: 1})
    if source.is_blank:
        return TranscriptContent("", [], {EMPTY: 1})
    for flavour in all_flavours():
        try:
            is_its_own = flavour.recognises(source)
        except Exception as error:  # noqa: BLE001 (bytes of strangers: see the docstring)
            source.skip(f"{flavour.NAME} failed to look at it: {type(error).__name__}")
            continue
        if is_its_own:
            sessions = _read(flavour, source)
            return TranscriptContent(sessions[0].flavour if sessions else flavour.NAME, sessions, source.skipped)
    source.skip(UNKNOWN)
    return TranscriptContent("", [], source.skipped)


@cache
def all_flavours() -> list[Any]:
    """The modules of all flavours, the specific before the generic."""
    names = [found.name for found in pkgutil.iter_modules(flavours.__path__)]
    modules = [import_module(f"{flavours.__name__}.{name}") for name in names]
    found = [module for module in modules if hasattr(module, "NAME")]
    return sorted(found, key=lambda module: (getattr(module, "ORDER", 0), module.__name__))


def _read(flavour: Any, source: TranscriptSource) -> list[Session]:
    sessions: list[Session] = []
    try:
        sessions.extend(_public(session, source) for session in flavour.read(source))
    except Exception as error:  # noqa: BLE001 (as above)
        source.skip(f"{flavour.NAME} could not read on: {type(error).__name__}")
    if len(sessions) == 1:  # of several, nobody can tell whose it was
        sessions = [sessions[0]._replace(skipped=dict(source.skipped))]
    return sessions


def _public(session: Session, source: TranscriptSource) -> Session:
    if not session.id:
        session = session._replace(id=_name_of(source))
    if source.mentions(b"\\ud", b"\\uD"):  # maybe half a character, which nobody could write down
        session = _changed(session, _encodable, _encodable_values)
    if may_be_private(source.data):
        session = _changed(session, without_private, without_private_values)
    return session._replace(title=without_private(_encodable(session.title)))  # maybe from a file beside it


def _name_of(source: TranscriptSource) -> str:
    """What to call a session that does not say its id: the file's name, or its beginning."""
    stem = os.path.basename(source.path).partition(".")[0]
    return re.sub(r"[^\w.-]+", "-", stem)[:_STEM] or hashlib.sha256(source.data[:_BEGINNING]).hexdigest()[:32]


def _changed(session: Session, text: Any, values: Any) -> Session:
    events = [
        event._replace(text=text(event.text), arguments=values(event.arguments) if event.arguments else event.arguments)
        for event in session.events
    ]
    return session._replace(events=events, title=text(session.title))


def _encodable(text: str) -> str:
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _encodable_values(value: Any, depth: int = 0) -> Any:
    if isinstance(value, str):
        return _encodable(value)
    if depth > 100:
        return None
    if isinstance(value, dict):
        return {_encodable(str(key)): _encodable_values(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list):
        return [_encodable_values(item, depth + 1) for item in value]
    return value
