"""OpenCode's documents."""

import copy
import json
from pathlib import Path

from clan_learnings.sessions.flavours import opencode
from clan_learnings.sessions.flavours.opencode import assembled
from clan_learnings.sessions.transcript_events import Kind, Session, SessionEvent, Usage
from clan_learnings.sessions.transcript_source import TranscriptSource
from tests.clan_learnings.sessions.small_transcripts import OPENCODE, OPENCODE_LINES, document, lines


def _read(value: object = OPENCODE) -> Session:
    return next(opencode.read(TranscriptSource(document(value))))


def _of(session: Session, *kinds: Kind) -> list[SessionEvent]:
    return [event for event in session.events if event.kind in kinds]


def test_a_part_is_a_call_and_its_result() -> None:
    """With the exit code where a shell ran; each at its own physical line."""
    session = _read()
    results = _of(session, Kind.RESULT)
    assert [(event.call, event.tool, event.failed, event.exit_code) for event in results] == [
        ("c1", "bash", True, 2),
        ("c2", "read", True, None),
    ]
    assert [event.text for event in _of(session, Kind.CALL)] == ["check", "", ""]
    written = document(OPENCODE).decode().split("\n")
    assert '"type": "tool"' in written[_of(session, Kind.CALL)[0].line]  # the line after the one that opens the part
    assert '"output": ' in written[results[0].line - 1]
    assert '"error": ' in written[results[1].line - 1]


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
    session = next(opencode.read(TranscriptSource(lines(*OPENCODE_LINES))))
    assert [(event.line, event.kind) for event in session.events] == [
        (2, Kind.CALL),
        (2, Kind.RESULT),
        (3, Kind.REPLY),
        (5, Kind.FAULT),
    ]
    assert (session.id, session.messages, session.calls, session.usage) == ("ses_two", 2, 1, Usage(10, 4, 3, 0.5))
    assert (session.events[1].exit_code, session.events[3].text) == (2, "overloaded")


def _stored(storage: Path) -> Path:
    """The session as OpenCode's storage has it: a file a message, a file a part."""
    head = storage / "session" / "project" / "ses_one.json"
    files = {head: {**OPENCODE["info"], "projectID": "project"}}
    for message in OPENCODE["messages"]:
        name = message["info"]["id"].replace("_", "_0")
        files[storage / "message" / "ses_one" / f"{name}.json"] = message["info"]
        for number, part in enumerate(message["parts"]):
            files[storage / "part" / name / f"prt_{number}.json"] = part
    for path, value in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(value))
    return head


def test_a_session_in_many_files_is_put_together(tmp_path: Path) -> None:
    """It tells what the exported document tells."""
    together = assembled(str(_stored(tmp_path)))
    assert together is not None
    session, exported = next(opencode.read(TranscriptSource(together))), _read()
    assert [event._replace(line=0) for event in session.events] == [event._replace(line=0) for event in exported.events]
    assert (session.messages, session.calls, session.usage) == (exported.messages, exported.calls, exported.usage)


def test_the_head_alone_is_no_session_and_that_is_said(tmp_path: Path) -> None:
    """The messages lie elsewhere."""
    source = TranscriptSource(_stored(tmp_path).read_bytes())
    assert opencode.recognises(source)
    assert list(opencode.read(source)) == []
    assert source.skipped == {"the head of a session, whose messages lie in other files": 1}


def test_nothing_is_put_together_from_elsewhere(tmp_path: Path) -> None:
    """No other folder, no id that is a path, no link."""
    head = _stored(tmp_path / "storage")
    assert assembled(str(tmp_path / "nowhere.json")) is None
    aside = tmp_path / "ses_one.json"
    aside.write_bytes(head.read_bytes())
    assert assembled(str(aside)) is None
    head.write_text(json.dumps({"id": "../../message", "projectID": "p"}))
    assert assembled(str(head)) is None
    linked = tmp_path / "storage" / "session" / "project" / "ses_two.json"
    linked.symlink_to(aside)
    assert assembled(str(linked)) is None
