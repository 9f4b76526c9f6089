"""Bytes that anybody may have written: no transcript raises, is lost in silence, or takes longer than its length deserves."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clan_learnings.sessions.recognition import TranscriptContent, all_flavours, read_transcript
from clan_learnings.sessions.transcript_source import TranscriptSource
from tests.clan_learnings.sessions.transcripts import lines

AT = "2026-01-01T10:00:00Z"


def claude(kind: str, **fields: Any) -> dict[str, Any]:
    common = {
        "type": kind,
        "sessionId": "s1",
        "uuid": f"u{len(str(fields))}",
        "timestamp": AT,
        "cwd": "/x",
        "isSidechain": False,
    }
    return common | fields


def codex(kind: str, **payload: Any) -> dict[str, Any]:
    return {"timestamp": AT, "type": kind, "payload": payload}


CLAUDE = [
    {"type": "summary", "summary": "x", "leafUuid": "u1"},
    claude("user", message={"role": "user", "content": "hello"}, origin={"kind": "human"}, forkedFrom={"sessionId": "s0"}),
    claude(
        "assistant",
        message={
            "id": "m1",
            "model": "opus",
            "usage": {"input_tokens": 1, "output_tokens": 2},
            "content": [
                {"type": "text", "text": "hi"},
                {"type": "thinking", "thinking": "hm"},
                {"type": "tool_use", "id": "c1", "name": "Bash", "input": {"command": "ls"}},
            ],
        },
    ),
    claude(
        "user",
        toolUseResult={"interrupted": False},
        message={"content": [{"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "Exit code 1"}], "is_error": True}]},
    ),
    claude("system", subtype="api_error", error={"error": {"error": {"message": "x"}}}, hookAdditionalContext=["x"]),
    claude("attachment", attachment={"type": "queued_command", "prompt": [{"type": "text", "text": "x"}], "origin": {"kind": "human"}}),
    claude("attachment", attachment={"type": "hook_success", "content": [{"content": "x"}]}),
    {"type": "queue-operation", "operation": "enqueue", "content": "x", "sessionId": "s1"},
]  # fmt: skip
CODEX = [
    codex("session_meta", id="t1", cwd="/x", source={"subagent": "x"}, git={"branch": "main"}, parent_thread_id="t0"),
    codex("turn_context", model="gpt", cwd="/x"),
    codex("response_item", type="message", role="user", content=[{"type": "input_text", "text": "hello"}]),
    codex("response_item", type="reasoning", summary=[{"type": "summary_text", "text": "hm"}], content=[{"text": "x"}]),
    codex("response_item", type="function_call", name="exec_command", call_id="c1", arguments='{"cmd":"make"}'),
    codex("response_item", type="function_call_output", call_id="c1", output="Chunk ID: 1\nProcess running with session ID 4\nOutput:\nx"),
    codex("response_item", type="function_call", name="write_stdin", call_id="c2", arguments='{"session_id":4}'),
    codex("response_item", type="function_call_output", call_id="c2", output=[{"type": "input_text", "text": "Process exited with code 1\nOutput:\ny"}]),
    codex("response_item", type="custom_tool_call", name="exec", call_id="c3", input='tools.exec_command({cmd:"ls"})'),
    codex("event_msg", type="user_message", message="hello"),
    codex("event_msg", type="exec_command_end", call_id="c1", exit_code=1, stdout="x"),
    codex("event_msg", type="mcp_tool_call_end", call_id="c3", result={"Ok": {"isError": True, "content": [{"text": "x"}]}}),
    codex("event_msg", type="token_count", info={"total_token_usage": {"input_tokens": 3, "cached_input_tokens": 9}}),
    codex("compacted", message="x", replacement_history=[]),
    {"id": "t0", "timestamp": AT, "git": {"branch": "x"}},
]  # fmt: skip
GEMINI_MESSAGES = [
    {"id": "m1", "type": "user", "timestamp": AT, "content": [{"text": "hello"}]},
    {
        "id": "m2",
        "type": "gemini",
        "content": "ok",
        "thoughts": [{"subject": "a", "description": "b"}],
        "tokens": {"input": 1, "cached": 2},
        "toolCalls": [
            {
                "id": "c1",
                "name": "run_shell_command",
                "args": {"command": "ls", "cwd": "/x"},
                "status": "success",
                "timestamp": AT,
                "result": [{"functionResponse": {"response": {"output": "Command: ls\nDirectory: /x\nOutput: a\nError: (none)\nExit Code: 1"}}}],
            }
        ],
    },
]  # fmt: skip
ABOUT = {"sessionId": "g1", "projectHash": "ab", "directories": ["/x"], "startTime": AT, "meta": {"model": "x"}}
GEMINI = [
    ABOUT,
    *GEMINI_MESSAGES,
    {"$set": {"messages": GEMINI_MESSAGES}},
    {"$rewindTo": "m2"},
    {"type": "message", "role": "assistant", "content": "a", "delta": True},
    {"type": "message", "role": "assistant", "content": "b", "delta": True},
    {"type": "tool_use", "tool_id": "c2", "tool_name": "x", "parameters": {"path": "/x/y"}},
    {"type": "tool_result", "tool_id": "c2", "status": "error", "error": {"message": "x"}},
    {"type": "result", "stats": {"input_tokens": 1}},
]
HISTORY = {"history": [{"role": "user", "parts": [{"text": "x"}, {"functionResponse": {"response": {"output": "x"}}}]}]}
VALID = [
    lines(*CLAUDE),
    lines(*CODEX),
    lines(*GEMINI),
    json.dumps(ABOUT | {"messages": GEMINI_MESSAGES}, indent=1).encode(),
    json.dumps(HISTORY).encode(),
]
WRONG: list[Any] = [
    None,
    True,
    -1,
    1.5,
    "x",
    "",
    [],
    {},
    [None],
    {"x": None},
    [[[]]],
    {"type": []},
    10**30,
    "2026-01-01T10:00:00Z",
]


def assert_whole(transcript: TranscriptContent) -> None:
    """What everybody behind us relies on."""
    broken = [why for why in transcript.skipped if "failed to look" in why or "could not read" in why]
    assert not broken, broken
    for session in transcript.sessions:
        assert session.id
        assert json.dumps([event._replace(arguments={}) for event in session.events], ensure_ascii=False).encode()
        for event in session.events:
            assert event.line >= 1
            assert isinstance(event.text, str)
            assert isinstance(event.arguments, dict)
            assert type(event.at_ms) in {int, type(None)}
            assert type(event.exit_code) in {int, type(None)}
            assert event.failed in {True, False, None}
            assert all(isinstance(text, str) for text in (event.call, event.tool, event.message))
        about = (
            session.parent,
            session.folder,
            session.remote,
            session.branch,
            session.model,
            session.version,
            session.title,
        )
        assert all(isinstance(text, str) for text in about)
        assert session.messages >= 0
        assert min(session.usage[:3]) >= 0


def changed(value: Any, wrong: Any) -> Iterator[Any]:
    """The value with something wrong in one place, for each of its places."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield value | {key: wrong}
            yield {name: value[name] for name in value if name != key}
            for other in changed(item, wrong):
                yield value | {key: other}
    elif isinstance(value, list):
        for at, item in enumerate(value):
            yield [*value[:at], wrong, *value[at + 1 :]]
            for other in changed(item, wrong):
                yield [*value[:at], other, *value[at + 1 :]]


@pytest.mark.parametrize("data", VALID, ids=["claude", "codex", "gemini-lines", "gemini-document", "gemini-history"])
def test_valid_transcripts_are_whole(data: bytes) -> None:
    """The measure for all that follows."""
    transcript = read_transcript(data)
    assert_whole(transcript)
    assert transcript.sessions[0].events


@pytest.mark.parametrize("records", [CLAUDE, CODEX, GEMINI], ids=["claude", "codex", "gemini"])
@pytest.mark.parametrize("wrong", WRONG, ids=repr)
def test_wrong_type_at_every_place_costs_no_more_than_that_place(records: list[Any], wrong: Any) -> None:
    """A key that is missing, or has another type than ever before."""
    for at, record in enumerate(records):
        for other in changed(record, wrong):
            assert_whole(read_transcript(lines(*records[:at], other, *records[at + 1 :])))


@pytest.mark.parametrize("wrong", WRONG, ids=repr)
def test_wrong_type_at_every_place_of_a_document(wrong: Any) -> None:
    """The same for one value that is all."""
    for value in (ABOUT | {"messages": GEMINI_MESSAGES}, HISTORY):
        for other in changed(value, wrong):
            assert_whole(read_transcript(json.dumps(other, indent=1).encode()))


@given(st.binary(max_size=2000))
def test_any_bytes_are_read(data: bytes) -> None:
    """As nothing, most of the time."""
    assert_whole(read_transcript(data))


@given(st.data())
@settings(max_examples=300)
def test_damaged_transcripts_are_read(data: st.DataObject) -> None:
    """Cut, glued, repeated, overwritten in the middle."""
    whole = data.draw(st.sampled_from(VALID))
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(whole)))
        end = data.draw(st.integers(start, min(len(whole), start + 200)))
        new = data.draw(
            st.one_of(
                st.binary(max_size=20),
                st.just(whole[start:end] * 2),
                st.sampled_from([b"\n", b"\0", b"{", b"[[", b'"']),
            )
        )
        whole = whole[:start] + new + whole[end:]
    assert_whole(read_transcript(whole))


JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["type", "message", "content", "payload", "id", "text", "role", "output", "x"]), inner, max_size=5),
    max_leaves=20,
)  # fmt: skip


@given(st.sampled_from(all_flavours()), st.lists(st.dictionaries(st.text(max_size=8), JSON, max_size=6), max_size=6))
def test_any_records_are_read_by_every_flavour(flavour: Any, records: list[Any]) -> None:
    """Also by one that would not have taken them for its own."""
    source = TranscriptSource(lines(*records))
    flavour.recognises(source)
    for session in flavour.read(source):
        assert session.flavour


@pytest.mark.parametrize(
    "unit",
    [
        b'{"a":1}',
        b'{"type":"user","sessionId":"s","uuid":"u","message":{"content":"<system-reminder>"}}\n',
        b'{"type":"response_item","payload":{"type":"function_call_output","call_id":"c","output":"Process running with session ID 1"}}\n',
        b'{"type":"message","role":"assistant","content":"x","delta":true,"tool_id":1}\n',
        b"[",
        b'{"":',
        b"\n",
        b" ",
        b'"',
        b'cmd:"\\x ',
        b"<private>",
        b'"<private>",',
    ],
)
def test_much_of_the_same_is_read_in_its_length(unit: bytes) -> None:
    """A million bytes that would take for ever if anything were looked at twice for each of them."""
    data = unit * (1_000_000 // len(unit))
    assert_whole(read_transcript(b'{"type":"user","sessionId":"s","uuid":"v"}\n' + data))
    assert_whole(read_transcript(data))
    script = codex("response_item", type="custom_tool_call", name="exec", call_id="c", input=data.decode())
    assert_whole(read_transcript(lines(script)))
    prompt = claude("user", message={"role": "user", "content": data.decode()})
    assert_whole(read_transcript(lines(prompt)))
