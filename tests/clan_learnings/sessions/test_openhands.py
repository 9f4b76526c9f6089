"""OpenHands: instances of benchmarks, and events of its SDK."""

from clan_learnings.sessions.flavours import openhands
from clan_learnings.sessions.transcript_events import Kind, Session, SessionEvent, Usage
from clan_learnings.sessions.transcript_source import TranscriptSource
from tests.clan_learnings.sessions.small_transcripts import (
    OPENHANDS_EVENTS,
    OPENHANDS_INSTANCE,
    OPENHANDS_OLD,
    document,
    lines,
)


def _read(*records: object) -> Session:
    return next(openhands.read(TranscriptSource(lines(*records))))


def _of(session: Session, *kinds: Kind) -> list[SessionEvent]:
    return [event for event in session.events if event.kind in kinds]


def test_each_line_is_a_session() -> None:
    """An instance each, at its own line."""
    one, other = openhands.read(TranscriptSource(lines(OPENHANDS_INSTANCE, OPENHANDS_OLD)))
    assert one.id.startswith("ann__engine-1-")
    assert other.id.startswith("ann/engine#7-")
    assert {event.line for event in other.events} == {2}


def test_the_issue_alone_is_a_persons() -> None:
    """Neither the instructions around it, nor what a benchmark answers by itself."""
    session = _read(OPENHANDS_INSTANCE)
    assert [event.text for event in _of(session, Kind.PROMPT)] == ["It breaks.", "use ninja"]
    injected = [event.text for event in _of(session, Kind.INJECTED)]
    assert injected[0] == "You are OpenHands."
    assert injected[2] == "Use git."
    assert injected[3].startswith("Please continue")


def test_observations_join_their_actions_with_exit_codes() -> None:
    """By the cause; one that has none stands for a call that never came to be."""
    results = _of(_read(OPENHANDS_INSTANCE), Kind.RESULT)
    assert [(event.call, event.failed, event.exit_code) for event in results] == [
        ("c1", True, 2),
        ("", True, None),
        ("c2", True, None),
    ]


def test_answers_count_by_the_models_response() -> None:
    """What was thought beside an action was said."""
    session = _read(OPENHANDS_INSTANCE)
    assert [event.text for event in _of(session, Kind.REPLY)] == ["I build it."]
    assert (session.messages, session.calls) == (4, 2)
    assert [event.text for event in _of(session, Kind.CALL)] == ["make", ""]


def test_cost_repository_and_folder() -> None:
    """Benchmarks name the repository."""
    session = _read(OPENHANDS_INSTANCE)
    assert session.usage == Usage(60, 10, 40, 0.5)
    assert (session.remote, session.folder, session.model) == (
        "https://github.com/ann/engine",
        "/workspace/engine",
        "m-1",
    )


def test_the_oldest_events_have_neither_ids_nor_sources() -> None:
    """The order joins them."""
    session = _read(OPENHANDS_OLD)
    assert [event.kind for event in session.events] == [Kind.PROMPT, Kind.REPLY, Kind.CALL, Kind.RESULT, Kind.REPLY]
    assert (session.events[3].call, session.events[3].exit_code) == (session.events[2].call, 2)
    assert (session.messages, session.calls) == (3, 1)


def test_other_models_on_the_same_instance_are_other_sessions() -> None:
    """The name of an instance is not enough."""
    other = {**OPENHANDS_INSTANCE, "metadata": {"llm_config": {"model": "m-2"}}}
    assert _read(OPENHANDS_INSTANCE).id != _read(other).id


def test_events_of_the_sdk_join_by_their_call() -> None:
    """A command's exit code counts, though the tool itself did not fail."""
    session = _read(*OPENHANDS_EVENTS)
    results = _of(session, Kind.RESULT)
    assert [(event.line, event.call, event.failed, event.exit_code) for event in results] == [
        (4, "c1", True, 2),
        (5, "c0", True, None),
        (6, "c9", True, None),
    ]
    (call,) = _of(session, Kind.CALL)
    assert (call.tool, call.text, call.arguments) == ("terminal", "make", {"command": "make"})


def test_events_of_the_sdk_tell_refusals_pauses_and_condensations() -> None:
    """Each in its own words."""
    session = _read(*OPENHANDS_EVENTS)
    assert [event.text for event in _of(session, Kind.REFUSAL)] == ["not now"]
    assert [event.line for event in _of(session, Kind.INTERRUPT)] == [8]
    assert [event.text for event in _of(session, Kind.SUMMARY)] == ["It was built."]
    assert (session.messages, session.calls, session.skipped) == (2, 1, {})


def test_an_exported_trajectory_is_a_list_of_events() -> None:
    """With its physical lines."""
    data = document(OPENHANDS_INSTANCE["history"])
    session = next(openhands.read(TranscriptSource(data)))
    (prompt, _) = _of(session, Kind.PROMPT)
    assert '"id": 1,' in data.decode().split("\n")[prompt.line]
