"""SWE-agent's and mini-swe-agent's documents."""

from clan_learnings.sessions.flavours import swe_agent
from clan_learnings.sessions.transcript_events import Kind, Session, SessionEvent, Usage
from clan_learnings.sessions.transcript_source import TranscriptSource
from tests.clan_learnings.sessions.small_transcripts import HISTORY_ONLY, MINI, MINI_NEWER, TRAJECTORY, document


def _read(value: object) -> Session:
    return next(swe_agent.read(TranscriptSource(document(value))))


def _of(session: Session, *kinds: Kind) -> list[SessionEvent]:
    return [event for event in session.events if event.kind in kinds]


def test_the_task_alone_is_a_persons_and_the_rest_is_the_programs() -> None:
    """What is written around an issue would otherwise be rules of the user."""
    session = _read(TRAJECTORY)
    assert [event.text for event in _of(session, Kind.PROMPT)] == ["It breaks at noon."]
    assert "Always be kind." in " ".join(event.text for event in _of(session, Kind.INJECTED))


def test_a_demonstration_is_left_out_and_counted() -> None:
    """It is another session."""
    session = _read(TRAJECTORY)
    assert not any("never do so" in event.text for event in session.events)
    assert session.skipped == {"a demonstration": 1}


def test_steps_are_read_once_at_their_physical_lines() -> None:
    """The history repeats them."""
    session, text = _read(TRAJECTORY), document(TRAJECTORY).decode().split("\n")
    calls, results = _of(session, Kind.CALL), _of(session, Kind.RESULT)
    assert [event.text for event in calls] == ["python try.py", "cat notes.txt"]
    assert [event.call for event in calls] == [event.call for event in results]
    assert '"action": "python try.py' in text[calls[0].line - 1]
    assert '"observation": "Traceback' in text[results[0].line - 1]


def test_failures_are_told_only_by_python_or_a_shell() -> None:
    """Otherwise nobody can tell."""
    assert [event.failed for event in _of(_read(TRAJECTORY), Kind.RESULT)] == [True, None]
    assert [event.failed for event in _of(_read(HISTORY_ONLY), Kind.RESULT)] == [True]


def test_an_answer_without_a_command_is_told_so_by_the_program() -> None:
    """That is no result."""
    session = _read(TRAJECTORY)
    assert "Your output was not formatted correctly" in [event.text for event in _of(session, Kind.INJECTED)]
    assert (session.messages, session.calls) == (4, 2)


def test_cost_folder_and_a_name_by_the_beginning() -> None:
    """There is no id and no time."""
    session = _read(TRAJECTORY)
    assert session.usage == Usage(100, 10, 0, 0.5)
    assert (session.folder, session.started_ms) == ("/engine", None)
    assert session.id


def test_a_history_is_read_where_there_is_no_trajectory() -> None:
    """Its tool calls are named, and the prompt's sign is no output."""
    session = _read(HISTORY_ONLY)
    (call,), (result,) = _of(session, Kind.CALL), _of(session, Kind.RESULT)
    assert (call.call, call.tool, call.text, result.call, result.text) == (
        "c1",
        "bash",
        "ls nowhere",
        "c1",
        "ls: nowhere: No such file or directory",
    )
    assert session.folder == "/engine"


def test_minis_blocks_are_calls_and_return_codes_their_ends() -> None:
    """The reply is what stands around the block."""
    session = _read(MINI)
    (result,) = _of(session, Kind.RESULT)
    assert [event.text for event in _of(session, Kind.CALL)] == ["cat nowhere", "rm -r ."]
    assert (result.text, result.exit_code, result.failed) == ("cat: nowhere: No such file or directory", 1, True)
    assert [event.text for event in _of(session, Kind.REPLY)] == ["Looking.", "I know it now."]
    assert [event.text for event in _of(session, Kind.PROMPT)] == ["It breaks."]


def test_a_person_who_refuses_a_command_is_heard() -> None:
    """The reason is the correction."""
    assert [event.text for event in _of(_read(MINI), Kind.REFUSAL)] == ["keep the files"]


def test_the_newer_form_has_calls_codes_times_and_cost() -> None:
    """As chat APIs have them, with what the program adds."""
    session = _read(MINI_NEWER)
    (result,) = _of(session, Kind.RESULT)
    assert (result.call, result.exit_code, result.at_ms) == ("c1", 2, 1_790_000_001_000)
    assert (session.version, session.model, session.usage.dollars) == ("2.0.0", "m-1", 0.25)
    assert [event.text for event in _of(session, Kind.PROMPT)] == ["It breaks."]
