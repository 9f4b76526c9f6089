"""Hermes: its gateway's lines, its documents, what it exports."""

from clan_learnings.sessions.flavours import hermes, hermes_export
from clan_learnings.sessions.transcript_events import Kind, Session, SessionEvent, Usage
from clan_learnings.sessions.transcript_source import TranscriptSource
from tests.clan_learnings.sessions.small_transcripts import (
    HERMES_ARCHIVE,
    HERMES_DOCUMENT,
    HERMES_LINES,
    HERMES_SCOPES,
    HERMES_SHARED,
    document,
    lines,
)


def _read(data: bytes, path: str = "") -> Session:
    return next(hermes.read(TranscriptSource(data, path)))


def _of(session: Session, *kinds: Kind) -> list[SessionEvent]:
    return [event for event in session.events if event.kind in kinds]


def test_a_results_json_gives_its_output_and_exit_code() -> None:
    """Tools answer with JSON inside of a text."""
    (result,) = _of(_read(lines(*HERMES_LINES)), Kind.RESULT)
    assert (result.text, result.exit_code, result.failed, result.tool) == ("check: no such thing", 3, True, "terminal")


def test_names_before_lines_are_taken_away_in_group_chats_only() -> None:
    """At a terminal a person's own brackets stay."""
    assert [event.text for event in _of(_read(lines(*HERMES_LINES)), Kind.PROMPT)] == ["run the checks"]
    assert [event.text for event in _of(_read(document(HERMES_DOCUMENT)), Kind.PROMPT)] == ["[draft] look at it"]


def test_a_compaction_is_a_summary_and_no_message() -> None:
    """It repeats what is there already."""
    session = _read(lines(*HERMES_LINES))
    assert [event.line for event in _of(session, Kind.SUMMARY)] == [6]
    assert (session.messages, session.calls) == (3, 1)


def test_times_without_a_zone_are_taken_as_utc() -> None:
    """Nobody can tell the zone."""
    session = _read(lines(*HERMES_LINES))
    assert session.started_ms == 1_772_359_200_500


def test_lines_are_named_by_their_file_or_by_their_beginning() -> None:
    """There is no id inside."""
    assert _read(lines(*HERMES_LINES), "/x/20260301_100000_ab12cd34.jsonl").id == "20260301_100000_ab12cd34"
    grown, before = _read(lines(*HERMES_LINES)), _read(lines(*HERMES_LINES[:5]))
    assert grown.id == before.id != ""


def test_a_document_cites_its_physical_lines() -> None:
    """It is printed over many."""
    data = document(HERMES_DOCUMENT)
    (result,) = _of(_read(data), Kind.RESULT)
    assert '"role": "tool"' in data.decode().split("\n")[result.line]
    assert (result.failed, result.tool) == (True, "memory")
    assert "no such entry" in result.text


def test_a_document_tells_where_and_when() -> None:
    """And its system prompt is nobody's words."""
    session = _read(document(HERMES_DOCUMENT))
    assert (session.id, session.folder, session.model) == ("20260301_a", "/home/ann/engine", "m-1")
    assert [event.text for event in _of(session, Kind.INJECTED)] == ["You are Hermes."]


def test_a_conversation_exported_for_training_has_its_calls_in_tags() -> None:
    """Thoughts too."""
    session = _read(lines(HERMES_SHARED))
    assert [(event.kind, event.text) for event in session.events] == [
        (Kind.INJECTED, "Tools: terminal"),
        (Kind.PROMPT, "list the files"),
        (Kind.THOUGHT, "easy"),
        (Kind.REPLY, "Listing."),
        (Kind.CALL, "ls"),
        (Kind.RESULT, "a"),
        (Kind.REPLY, "There is one."),
    ]
    assert (session.events[5].call, session.events[5].failed) == (session.events[4].call, False)


def test_an_archival_export_tells_cost_parent_and_failures() -> None:
    """It has names of its own for everything."""
    session = next(hermes_export.read(TranscriptSource(document(HERMES_ARCHIVE))))
    (result,) = _of(session, Kind.RESULT)
    assert (session.id, session.parent, session.branch, session.version) == (
        "archived-2",
        "archived-1",
        "main",
        "0.9.0",
    )
    assert session.usage == Usage(7, 5, 3, 0.25)
    assert (result.call, result.tool, result.failed, result.exit_code) == ("a1", "terminal", True, 1)


def test_telemetry_tells_prompts_answers_tools_and_faults() -> None:
    """A tool's scope belongs to the answer before it."""
    session = next(hermes_export.read(TranscriptSource(lines(*HERMES_SCOPES))))
    assert [event.kind for event in session.events] == [Kind.PROMPT, Kind.REPLY, Kind.CALL, Kind.RESULT, Kind.FAULT]
    assert (session.messages, session.calls, session.events[3].exit_code) == (2, 1, 0)
