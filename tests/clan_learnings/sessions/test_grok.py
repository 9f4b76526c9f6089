"""Grok Build's two files of a session."""

import json
from pathlib import Path

from clan_learnings.sessions.flavours import grok
from clan_learnings.sessions.transcript_events import Kind, Session, SessionEvent, Usage
from clan_learnings.sessions.transcript_source import TranscriptSource
from tests.clan_learnings.sessions.small_transcripts import GROK_HISTORY, GROK_UPDATES, lines


def _read(data: bytes, path: str = "") -> Session:
    return next(grok.read(TranscriptSource(data, path)))


def _of(session: Session, *kinds: Kind) -> list[SessionEvent]:
    return [event for event in session.events if event.kind in kinds]


def test_streamed_pieces_become_one_event_at_the_line_of_the_first() -> None:
    """A prompt, a thought and an answer come in chunks."""
    session = _read(lines(*GROK_UPDATES))
    spoken = _of(session, Kind.PROMPT, Kind.THOUGHT, Kind.REPLY)
    assert [(event.line, event.text) for event in spoken] == [
        (1, "Make the tests pass"),
        (3, "Which tests?"),
        (4, "I run them."),
        (9, "The target is called test."),
    ]


def test_updates_join_a_call_with_its_exit_code_and_give_the_folder() -> None:
    """Updates on the way to the result are none."""
    session = _read(lines(*GROK_UPDATES))
    (call,), (result,) = _of(session, Kind.CALL), _of(session, Kind.RESULT)
    assert (call.line, call.text, call.tool, call.call) == (6, "make tests", "run_terminal_command", "c1")
    assert (result.line, result.call, result.tool, result.exit_code, result.failed) == (
        8,
        "c1",
        "run_terminal_command",
        2,
        True,
    )
    assert session.folder == "/home/ann/engine"


def test_updates_tell_cost_tokens_times_and_the_session() -> None:
    """Ticks are parts of a dollar; what was cached is counted apart."""
    session = _read(lines(*GROK_UPDATES))
    assert session.usage == Usage(400, 20, 600, 0.005)
    assert (session.started_ms, session.ended_ms) == (1_790_000_000_001, 1_790_000_000_009)
    assert session.name == "grok:0a0b0c0d-0000-4000-8000-000000000001"
    assert session.model == "grok-9"


def test_answers_of_one_stream_are_one_message() -> None:
    """What is said before a call and the call belong together; what follows the result is another answer."""
    session = _read(lines(*GROK_UPDATES))
    assert (session.messages, session.calls) == (3, 1)


def test_a_history_tells_what_was_injected_and_what_a_person_typed() -> None:
    """The record itself says so."""
    session = _read(lines(*GROK_HISTORY))
    assert [event.text for event in _of(session, Kind.PROMPT)] == ["Make the tests pass", "use ninja"]
    assert [event.text for event in _of(session, Kind.INJECTED)] == ["You are a tool.", "OS: linux"]
    assert [event.line for event in _of(session, Kind.INTERRUPT)] == [9]


def test_a_history_has_failures_only_in_a_shells_own_words() -> None:
    """It keeps no exit code, and what the provider runs itself is a call too."""
    session = _read(lines(*GROK_HISTORY))
    assert [(event.tool, event.failed) for event in _of(session, Kind.RESULT)] == [
        ("run_terminal_cmd", True),
        ("web_search", False),
    ]
    assert (session.messages, session.calls) == (4, 2)


def test_both_files_of_a_session_give_the_same_id(tmp_path: Path) -> None:
    """The folder is named by it, where no summary is."""
    name = "0a0b0c0d-0000-4000-8000-000000000001"
    assert (
        _read(lines(*GROK_HISTORY), str(tmp_path / name / "chat_history.jsonl")).id
        == name
        == _read(lines(*GROK_UPDATES)).id
    )


def test_a_history_stands_back_where_updates_lie_beside_it(tmp_path: Path) -> None:
    """They tell more; and it says so. What are no updates changes nothing."""
    (tmp_path / "updates.jsonl").write_bytes(lines(*GROK_UPDATES))
    source = TranscriptSource(lines(*GROK_HISTORY), str(tmp_path / "chat_history.jsonl"))
    assert list(grok.read(source)) == []
    assert source.skipped == {"a history, which updates.jsonl beside it tells better": 1}
    (tmp_path / "updates.jsonl").write_bytes(b"not yet\n")
    assert _read(lines(*GROK_HISTORY), source.path).messages == 4


def test_a_summary_beside_it_names_the_history_and_where_it_happened(tmp_path: Path) -> None:
    """The summary alone is no session, and that is said."""
    summary = {
        "info": {"id": "named-here", "cwd": "/home/ann/engine"},
        "chat_format_version": 1,
        "git_remotes": ["git@forge.example:ann/engine.git"],
        "head_branch": "main",
        "session_kind": "subagent",
        "generated_title": "Tests",
        "created_at": "2026-03-01T10:00:00Z",
    }
    (tmp_path / "summary.json").write_text(json.dumps(summary, indent=1))
    session = _read(lines(*GROK_HISTORY), str(tmp_path / "chat_history.jsonl"))
    assert (session.id, session.folder, session.branch, session.title) == (
        "named-here",
        "/home/ann/engine",
        "main",
        "Tests",
    )
    assert session.remote == "git@forge.example:ann/engine.git"
    assert session.is_subagent
    assert not _of(session, Kind.PROMPT)  # what a subagent is told, the model wrote
    alone = TranscriptSource((tmp_path / "summary.json").read_bytes())
    assert grok.recognises(alone)
    assert list(grok.read(alone)) == []
    assert alone.skipped == {"a summary, which is read with its transcript": 1}


def test_a_history_without_anything_beside_it_keeps_its_name_when_it_grows() -> None:
    """The beginning names it."""
    assert _read(lines(*GROK_HISTORY[:6])).id == _read(lines(*GROK_HISTORY)).id != ""
