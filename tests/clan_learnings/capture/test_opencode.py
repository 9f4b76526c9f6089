"""OpenCode's documents."""

import copy

from clan_learnings.capture.events import Event, Kind, Session, Usage
from clan_learnings.capture.flavours import opencode
from clan_learnings.capture.source import Source
from tests.clan_learnings.capture.small_transcripts import OPENCODE, OPENCODE_LINES, document, lines


def _read(value: object = OPENCODE) -> Session:
    return next(opencode.read(Source(document(value))))


def _of(session: Session, *kinds: Kind) -> list[Event]:
    return [event for event in session.events if event.kind in kinds]


def test_a_part_is_a_call_and_its_result() -> None:
    """With the exit code where a shell ran, at the part's physical line."""
    session = _read()
    results = _of(session, Kind.RESULT)
    assert [(event.call, event.tool, event.failed, event.exit_code) for event in results] == [
        ("c1", "bash", True, 2),
        ("c2", "read", True, None),
    ]
    assert [event.text for event in _of(session, Kind.CALL)] == ["check", "", ""]
    line = results[0].line
    assert '"type": "tool"' in document(OPENCODE).decode().split("\n")[line]


def test_a_refused_tool_carries_the_persons_reason() -> None:
    """The text after the colon is the correction."""
    assert [(event.call, event.text) for event in _of(_read(), Kind.REFUSAL)] == [("c3", "not that file")]


def test_synthetic_text_is_not_what_a_person_typed() -> None:
    """It stands beside the person's."""
    session = _read()
    assert [event.text for event in _of(session, Kind.PROMPT)] == ["run the checks"]
    assert [event.text for event in _of(session, Kind.INJECTED)] == ["Called the Read tool"]


def test_a_stopped_answer_is_an_interruption_and_no_message() -> None:
    """It said nothing."""
    session = _read()
    assert [event.text for event in _of(session, Kind.INTERRUPT)] == ["stopped"]
    assert (session.messages, session.calls) == (2, 3)


def test_cost_tokens_and_what_it_was_about() -> None:
    """Each answer tells its own."""
    session = _read()
    assert session.usage == Usage(10, 5, 3, 0.125)
    assert (session.id, session.folder, session.model, session.version, session.title) == (
        "ses_one",
        "/home/ann/engine",
        "m-2",
        "1.2.3",
        "Checks",
    )


def test_the_task_of_a_subagent_is_the_models_text() -> None:
    """And it counts as its parent's session."""
    value = copy.deepcopy(OPENCODE)
    value["info"]["parentID"] = "ses_parent"
    session = _read(value)
    assert session.is_subagent
    assert session.name == "opencode:ses_parent"
    assert not _of(session, Kind.PROMPT)


def test_lines_of_a_run_tell_the_same_parts() -> None:
    """Without what the person asked."""
    session = next(opencode.read(Source(lines(*OPENCODE_LINES))))
    assert [(event.line, event.kind) for event in session.events] == [
        (2, Kind.CALL),
        (2, Kind.RESULT),
        (3, Kind.REPLY),
        (5, Kind.FAULT),
    ]
    assert (session.id, session.messages, session.calls, session.usage) == ("ses_two", 2, 1, Usage(10, 4, 3, 0.5))
    assert (session.events[1].exit_code, session.events[3].text) == (2, "overloaded")
