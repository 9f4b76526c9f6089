"""The counts of any transcript: quickly where a counter knows its form, else by its adapter. Never raises because of what is in it."""

import orjson

from clan_learnings.sessions.quick_counts import chat_counts, claude_code_counts, codex_counts, openclaw_counts
from clan_learnings.sessions.quick_counts.session_counts import Facts, Unusual, outcome_by
from clan_learnings.sessions.transcript_events import Kind, Session
from clan_learnings.sessions.transcript_source import ZSTD

_BOM = b"\xef\xbb\xbf"


def count(data: bytes, path: str) -> list[Facts]:
    """The sessions of a transcript."""
    quick = quickly(data, path)
    return [quick] if quick is not None else thoroughly(data, path)


def quickly(data: bytes, path: str) -> Facts | None:
    """By a counter; None if none dares."""
    if not data.startswith(b"{") or b"\0" in data:
        return None
    lines = data.split(b"\n")
    if not lines[-1]:
        lines.pop()
    try:
        first = claude_code_counts.first_of(lines)
        if first is not None:
            return claude_code_counts.count(lines, first)
        first = orjson.loads(lines[0])
        if codex_counts.is_one(first):
            return codex_counts.count(lines, first)
        if openclaw_counts.is_one(first):
            return openclaw_counts.count(lines, first)
        if chat_counts.is_one(first) and len(lines) > 1:
            return chat_counts.count(lines, first, path)
    except (Unusual, ValueError, AttributeError, KeyError, TypeError):  # no JSON, or a value that is no object
        return None
    return None


def thoroughly(data: bytes, path: str) -> list[Facts]:
    """By the adapter of its flavour."""
    from clan_learnings.sessions.recognition import read_transcript

    return [facts_of(session) for session in read_transcript(data, path).sessions if session.events]


def facts_of(session: Session) -> Facts:
    """The same of a session that was read."""
    results = [event.failed for event in session.events if event.kind is Kind.RESULT and event.failed is not None]
    has_answer = any(event.kind in (Kind.REPLY, Kind.CALL) for event in session.events)
    return Facts(
        session.flavour,
        session.id,
        session.messages,
        session.calls,
        outcome_by(results[-1] if results else None, has_answer=has_answer),
        session.parent,
        session.is_subagent,
        session.folder,
        session.remote,
        session.started_ms,
        session.ended_ms,
    )


def is_packed(data: bytes) -> bool:
    """Whether an agent has packed it."""
    return data.startswith(ZSTD)
