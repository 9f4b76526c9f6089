"""Plain messages of chat APIs."""

from clan_learnings.sessions.flavours import chat
from clan_learnings.sessions.transcript_events import Kind, Session, SessionEvent, Usage
from clan_learnings.sessions.transcript_source import TranscriptSource
from tests.clan_learnings.sessions.small_transcripts import CHAT, CHAT_BLOCKS, document, lines


def _read(data: bytes) -> Session:
    return next(chat.read(TranscriptSource(data)))


def _of(session: Session, *kinds: Kind) -> list[SessionEvent]:
    return [event for event in session.events if event.kind in kinds]


def test_lines_of_messages_are_one_session() -> None:
    """Calls join their results by id, and a shell's own words tell that it failed."""
    session = _read(lines(*CHAT))
    (call,), (result,) = _of(session, Kind.CALL), _of(session, Kind.RESULT)
    assert (call.line, call.text, call.call) == (3, "ls nowhere", "c1")
    assert (result.line, result.call, result.tool, result.failed) == (4, "c1", "bash", True)
    assert (session.messages, session.calls, session.usage) == (3, 1, Usage(9, 3, 0))


def test_a_document_gives_the_same_events_at_its_own_lines() -> None:
    """A list, or under `messages`."""
    ways = [lines(*CHAT), document(CHAT), document({"messages": CHAT})]
    told = [[(event.kind, event.text, event.call) for event in _read(data).events] for data in ways]
    assert told[0] == told[1] == told[2]
    assert _of(_read(document(CHAT)), Kind.PROMPT)[0].line == 6


def test_content_blocks_are_read_too() -> None:
    """Thoughts, calls and results stand among the texts."""
    session = _read(document(CHAT_BLOCKS))
    assert [event.kind for event in session.events] == [Kind.PROMPT, Kind.THOUGHT, Kind.REPLY, Kind.CALL, Kind.RESULT]
    assert (session.events[-1].text, session.events[-1].failed, session.events[-1].tool) == ("denied", True, "bash")
    assert (session.id, session.model, session.messages, session.usage) == ("talk-1", "m-1", 2, Usage(9, 3, 2))


def test_a_line_that_holds_a_conversation_is_a_session() -> None:
    """As files for training have them."""
    sessions = list(chat.read(TranscriptSource(lines({"messages": CHAT}, {"messages": CHAT[1:]}))))
    assert [session.messages for session in sessions] == [3, 3]
    assert {event.line for event in sessions[1].events} == {2}


def test_a_call_without_an_id_is_joined_with_the_answer_that_follows() -> None:
    """As OpenAI had it before there were several."""
    old = [
        {"role": "user", "content": "list"},
        {"role": "assistant", "content": None, "function_call": {"name": "bash", "arguments": '{"command": "ls"}'}},
        {"role": "function", "name": "bash", "content": "a"},
    ]
    session = _read(lines(*old))
    assert _of(session, Kind.CALL)[0].call == _of(session, Kind.RESULT)[0].call


def test_an_id_that_is_used_twice_joins_the_newest_call() -> None:
    """Some servers number the calls of each answer anew."""
    session = _read(lines(*CHAT, *CHAT[2:4]))
    calls, results = _of(session, Kind.CALL), _of(session, Kind.RESULT)
    assert [event.call for event in calls] == [event.call for event in results]
    assert len({event.call for event in calls}) == 2


def test_arguments_that_are_no_json_are_kept_as_they_are() -> None:
    """A model wrote them."""
    broken = [
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"id": "c", "function": {"name": "bash", "arguments": '{"command": '}}],
        }
    ]
    (call,) = _of(_read(lines(*broken)), Kind.CALL)
    assert call.arguments == {"input": '{"command": '}


def test_a_session_without_a_name_keeps_the_one_of_its_beginning() -> None:
    """When the file grows."""
    assert _read(lines(*CHAT[:3])).id == _read(lines(*CHAT)).id


def test_records_that_are_no_messages_are_counted() -> None:
    """Nothing is lost silently."""
    source = TranscriptSource(lines(*CHAT, {"role": "stranger", "content": "x"}, {"x": 1}))
    list(chat.read(source))
    assert source.skipped == {"a record that is no message": 2}


def test_a_tool_that_answers_with_an_error_and_nothing_else_has_failed() -> None:
    """Of others than shells nothing more is known."""
    for answer, failed in (("Error: no such file", True), ("the log says Error: no such file", None)):
        asked = [
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [{"id": "c", "function": {"name": "read_file", "arguments": "{}"}}],
            },
            {"role": "tool", "tool_call_id": "c", "content": answer},
        ]
        assert _of(_read(lines(*asked)), Kind.RESULT)[0].failed is failed
