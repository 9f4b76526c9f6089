"""OpenClaw and pi, which share an engine."""

from clan_learnings.sessions.flavours import openclaw
from clan_learnings.sessions.transcript_events import Kind, Session, SessionEvent, Usage
from clan_learnings.sessions.transcript_source import TranscriptSource
from tests.clan_learnings.sessions.small_transcripts import OPENCLAW, PI, lines


def _read(*records: object) -> Session:
    return next(openclaw.read(TranscriptSource(lines(*records))))


def _of(session: Session, *kinds: Kind) -> list[SessionEvent]:
    return [event for event in session.events if event.kind in kinds]


def test_which_of_the_two_it_was_is_told_by_the_records() -> None:
    """Headers are the same; OpenClaw's own types are not."""
    assert _read(*PI).flavour == "pi"
    assert _read(*OPENCLAW).flavour == "openclaw"


def test_a_person_who_speaks_of_openclaw_does_not_make_it_one() -> None:
    """Text decides nothing."""
    said = {"type": "message", "id": "z", "message": {"role": "user", "content": "read the openclaw docs"}}
    assert _read(*PI, said).flavour == "pi"


def test_an_answer_that_failed_and_was_tried_again_is_a_fault_and_no_message() -> None:
    """28 of 61 may be such."""
    session = _read(*PI)
    assert [(event.line, event.text) for event in _of(session, Kind.FAULT)] == [(4, "500: overloaded")]
    assert (session.messages, session.calls) == (2, 2)


def test_results_join_their_calls_in_any_order_with_their_exit_codes() -> None:
    """The code stands in the last line of what was printed."""
    results = _of(_read(*PI), Kind.RESULT)
    assert [(event.call, event.tool, event.failed, event.exit_code) for event in results] == [
        ("c2", "read", False, None),
        ("c1", "bash", True, 4),
    ]


def test_an_answer_that_was_stopped_is_an_interruption() -> None:
    """A person pressed escape."""
    assert [event.line for event in _of(_read(*PI), Kind.INTERRUPT)] == [8]


def test_a_compaction_is_a_summary() -> None:
    """It stands for what was before."""
    assert [event.text for event in _of(_read(*PI), Kind.SUMMARY)] == ["Checks were run."]


def test_a_command_that_a_person_ran_is_no_call_of_the_model() -> None:
    """The model only reads what came of it."""
    assert [event.text for event in _of(_read(*PI), Kind.INJECTED)] == ["$ git status\nclean\nexit code: 0"]


def test_the_header_tells_folder_and_parent_and_answers_tell_the_cost() -> None:
    """Real cost, not an estimate."""
    session = _read(*PI)
    assert (session.id, session.parent, session.name, session.folder) == ("pi-2", "pi-1", "pi:pi-1", "/home/ann/engine")
    assert session.usage == Usage(10, 5, 3, 0.5)


def test_a_channels_header_is_not_what_a_person_typed() -> None:
    """Nor the message's number after it, nor what the runtime adds."""
    session = _read(*OPENCLAW)
    assert [event.text for event in _of(session, Kind.PROMPT)] == ["deploy it"]
    assert [event.text for event in _of(session, Kind.INJECTED)] == ["The time is now."]


def test_a_record_of_an_unknown_sort_is_counted() -> None:
    """Nothing is lost silently."""
    assert _read(*OPENCLAW).skipped == {"a record of a sort that is not known: riddle": 1}


def test_a_record_that_is_there_twice_counts_once() -> None:
    """Resumed files repeat."""
    twice = _read(*PI, PI[4])
    assert (twice.messages, twice.calls) == (2, 2)
    assert twice.skipped == {"a record that is there already": 1}


def test_a_tool_that_was_stopped_failed_only_because_of_that() -> None:
    """Nobody learns from it."""
    stopped = {
        "role": "toolResult",
        "toolCallId": "c1",
        "toolName": "bash",
        "content": [{"type": "text", "text": "half\n\nCommand aborted"}],
        "isError": True,
    }
    (*_, result) = _of(_read(*PI, {"type": "message", "id": "z", "message": stopped}), Kind.RESULT)
    assert (result.failed, result.is_collateral) == (True, True)


def test_a_tool_that_answers_with_an_error_has_failed_though_no_flag_says_so() -> None:
    """OpenClaw's own tools answer in JSON."""
    said = {
        "role": "toolResult",
        "toolCallId": "c1",
        "content": [{"type": "text", "text": '{"status": "error", "error": "no such channel"}'}],
        "isError": False,
    }
    (*_, result) = _of(_read(*PI, {"type": "message", "id": "z", "message": said}), Kind.RESULT)
    assert result.failed is True
