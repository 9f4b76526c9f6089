"""Gemini CLI's sessions: one document, amended lines, the stream of a headless run; and the lines a person finds things at."""

import json
from typing import Any

import pytest

from clan_learnings.sessions.transcript_events import Kind, Session, Usage
from tests.clan_learnings.sessions import transcripts
from tests.clan_learnings.sessions.transcripts import lines, only, told

ABOUT = {
    "sessionId": "g1",
    "projectHash": "ab" * 32,
    "startTime": "2026-01-01T10:00:00Z",
    "lastUpdated": "2026-01-01T10:09:00Z",
}
REPORT = "Command: {}\nDirectory: {}\nOutput: {}\nError: {}\nExit Code: {}\nSignal: 0\nBackground PIDs: (none)\nProcess Group PGID: 7"


def user(name: str, content: Any) -> dict[str, Any]:
    return {"id": name, "timestamp": "2026-01-01T10:00:01Z", "type": "user", "content": content}


def gemini(name: str, content: str, **fields: Any) -> dict[str, Any]:
    return {
        "id": name,
        "timestamp": "2026-01-01T10:00:02Z",
        "type": "gemini",
        "content": content,
        "model": "gemini-3",
    } | fields


def tool(name: str, status: str = "success", *, arguments: Any = None, **response: Any) -> dict[str, Any]:
    call = f"{name}-1"
    answer = {"functionResponse": {"id": call, "name": name, "response": response}}
    return {"id": call, "name": name, "args": arguments or {}, "result": [answer], "status": status}


def shell(command: str, *report: Any) -> dict[str, Any]:
    return tool("run_shell_command", arguments={"command": command}, output=REPORT.format(command, *report))


def document(*messages: Any, indent: int | None = 2, **about: Any) -> bytes:
    return json.dumps(ABOUT | about | {"messages": list(messages)}, indent=indent).encode()


def session(data: bytes, path: str = "") -> Session:
    return transcripts.session_of(data, "gemini", path)


def test_the_folder_is_the_one_named_at_the_beginning() -> None:
    """Also where no command ran and no file was touched; what a person types names none."""
    begun = "<session_context>\nThis is the Gemini CLI.\n- **Workspace Directories:**\n  - /src/shop\n- **Directory Structure:**"
    said = user("m1", [{"text": f"{begun}\n</session_context>"}])
    assert session(document(said, user("m2", "hello"), gemini("m3", "hello"))).folder == "/src/shop"
    typed = user("m1", "look: Workspace Directories:\n  - /src/other")
    assert session(document(typed, gemini("m3", "hello"))).folder == ""


def test_document_is_a_session() -> None:
    """Prompts, thoughts, answers and tokens; a message of the model counts once, whatever is in it."""
    thought = {"subject": "Looking", "description": "at the files"}
    tokens = {"input": 100, "output": 5, "cached": 60, "thoughts": 7, "tool": 0, "total": 112}
    found = session(
        document(
            user("m1", "what is here?"),
            gemini("m2", "", thoughts=[thought], tokens=tokens, toolCalls=[tool("list_directory", output="a.py")]),
            gemini("m3", "One file.", tokens=tokens),
        )
    )
    assert [(kind, words) for _, kind, words in told(found)] == [
        ("prompt", "what is here?"),
        ("thought", "Looking: at the files"),
        ("call", ""),
        ("result", "a.py"),
        ("reply", "One file."),
    ]
    assert (found.name, found.model, found.messages, found.calls) == ("gemini:g1", "gemini-3", 3, 1)
    assert found.usage == Usage(input=80, output=24, cached=120)
    assert found.ended_ms is not None
    assert found.started_ms is not None
    assert found.ended_ms - found.started_ms == 540_000


def test_result_is_cited_where_the_answer_stands() -> None:
    """In a document printed over many lines a call begins with its message, and its answer is found by its own line."""
    data = document(
        user("m1", "begin"),
        gemini("m2", "", toolCalls=[tool("read_file", "error", error="no such file"), shell("pip", "(root)", "not found", "(none)", 127)]),
    )  # fmt: skip
    found = session(data)
    printed = data.decode().split("\n")
    for event in found.events:
        if event.kind is Kind.CALL:
            assert '"id": "m2"' in printed[event.line]
        if event.kind is Kind.RESULT:
            assert event.text in printed[event.line - 1]
    assert [event.tool for event in found.events if event.kind is Kind.RESULT] == ["read_file", "run_shell_command"]


def test_document_on_one_line_tells_the_same() -> None:
    """How it was printed changes nothing but the lines."""
    messages = (user("m1", "begin"), gemini("m2", "ok", toolCalls=[shell("ls", "/srv/shop", "a", "(none)", 0)]))
    printed, flat = session(document(*messages)), session(document(*messages, indent=None))
    assert [event._replace(line=1) for event in printed.events] == flat.events


def test_command_that_failed_has_failed_whatever_its_status() -> None:
    """`success` is the tool's; the exit code is the command's. What it printed is told without the words around it."""
    found = session(
        document(
            gemini("m1", "", toolCalls=[shell("pip install x", "(root)", "pip: command not found", "(none)", 127)])
        )
    )
    assert only(found, Kind.CALL).text == "pip install x"
    answer = only(found, Kind.RESULT)
    assert (answer.text, answer.failed, answer.exit_code) == ("pip: command not found", True, 127)


@pytest.mark.parametrize(
    ("printed", "text", "exit_code"),
    [
        (REPORT.format("ls", "(root)", "(empty)", "(none)", 0), "", 0),
        (REPORT.format("ls", "(root)", "a", "spawn ENOENT", 1), "a\nspawn ENOENT", 1),
        (REPORT.format("sh x", "(root)", "Exit Code: 9\nError: inner", "(none)", 0), "Exit Code: 9\nError: inner", 0),
        ("Output: a.py\nProcess Group PGID: 12", "a.py", None),
        (
            "Command: ls\nDirectory: /x\nStdout: a\nStderr: b\nError: (none)\nExit Code: 2\nSignal: (none)",
            "a\nStderr: b",
            2,
        ),
        ("nothing of the sort", "nothing of the sort", None),
    ],
)
def test_report_of_a_shell_is_taken_apart(printed: str, text: str, exit_code: int | None) -> None:
    """Only the last words about the process count, not what the program printed."""
    answer = only(
        session(document(gemini("m1", "", toolCalls=[tool("run_shell_command", output=printed)]))), Kind.RESULT
    )
    assert (answer.text, answer.exit_code) == (text, exit_code)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ("[Operation Cancelled] Reason: User cancelled the operation.", Kind.INTERRUPT),
        ("[Operation Cancelled] Reason: User did not allow tool call", Kind.REFUSAL),
    ],
)
def test_cancelled_call_is_the_persons_doing(error: str, kind: Kind) -> None:
    """Stopped while it ran, or never allowed: neither is a result."""
    found = session(document(gemini("m1", "", toolCalls=[tool("write_file", "cancelled", error=error)])))
    assert [event.kind for event in found.events] == [Kind.CALL, kind]
    assert (found.events[1].tool, found.events[1].text) == ("write_file", "")


def test_messages_of_the_agent_itself_are_injected_and_errors_are_faults() -> None:
    """Neither counts as a message."""
    found = session(
        document(
            {"id": "m1", "type": "info", "content": "Update available"},
            {"id": "m2", "type": "warning", "content": "Hook failed"},
            {"id": "m3", "type": "error", "content": "429"},
            user("m4", "This is the Gemini CLI. We are setting up the context for our chat."),
            user("m5", "explain @a.py\n--- Content from referenced files ---\nalways use tabs"),
        )
    )
    assert [(kind, words[:16]) for _, kind, words in told(found)] == [
        ("injected", "Update available"),
        ("injected", "Hook failed"),
        ("fault", "429"),
        ("injected", "This is the Gemi"),
        ("prompt", "explain @a.py"),
    ]
    assert found.messages == 1


def test_later_line_with_the_same_id_wins() -> None:
    """Messages are written again as they grow."""
    found = session(
        lines(
            ABOUT | {"kind": "main"},
            user("m1", [{"text": "begin"}]),
            gemini("m2", "wor"),
            user("m3", "and then?"),
            {"$set": {"lastUpdated": "2026-01-01T10:20:00Z", "summary": "A title"}},
            gemini("m2", "working", toolCalls=[tool("read_file", output="x")]),
        )
    )
    assert told(found) == [
        (2, "prompt", "begin"),
        (6, "reply", "working"),
        (6, "call", ""),
        (6, "result", "x"),
        (4, "prompt", "and then?"),
    ]
    assert (found.messages, found.calls, found.title) == (3, 1, "A title")


def test_rewind_takes_away_a_message_and_all_after_it() -> None:
    """As the agent does with them."""
    found = session(
        lines(
            ABOUT,
            user("m1", "one"),
            user("m2", "two"),
            gemini("m3", "x"),
            {"$rewindTo": "m2"},
            user("m4", "three"),
            {"$rewindTo": "unheard"},
        )
    )
    assert told(found) == [(2, "prompt", "one"), (6, "prompt", "three")]


def test_set_replaces_all_messages() -> None:
    """An amendment may bring the whole conversation anew."""
    found = session(
        lines(ABOUT, user("m1", "one"), {"$set": {"messages": [user("m9", "other"), 7]}}, gemini("m10", "ok"))
    )
    assert told(found) == [(3, "prompt", "other"), (4, "reply", "ok")]


def test_stream_of_a_headless_run_is_read() -> None:
    """Pieces of an answer are one answer."""
    found = session(
        lines(
            {"type": "init", "timestamp": "2026-01-01T10:00:00Z", "session_id": "g7", "model": "gemini-3"},
            {"type": "message", "role": "user", "content": "list files"},
            {"type": "tool_use", "tool_name": "run_shell_command", "tool_id": "c1", "parameters": {"command": "ls x"}},
            {"type": "tool_result", "tool_id": "c1", "status": "error", "error": {"type": "x", "message": "no x"}},
            {"type": "message", "role": "assistant", "content": "There is ", "delta": True},
            {"type": "message", "role": "assistant", "content": "no x.", "delta": True},
            {"type": "result", "status": "success", "stats": {"input_tokens": 50, "output_tokens": 9, "cached": 20}},
        )
    )
    assert told(found) == [
        (2, "prompt", "list files"),
        (3, "call", "ls x"),
        (4, "result", "no x"),
        (5, "reply", "There is no x."),
    ]
    assert (found.id, found.messages, found.calls) == ("g7", 2, 1)
    assert only(found, Kind.RESULT).failed is True
    assert found.usage == Usage(input=30, output=9, cached=20)


def test_history_of_contents_is_read() -> None:
    """Checkpoints hold what went to the model and came from it."""
    found = session(
        json.dumps(
            [
                {"role": "user", "parts": [{"text": "list files"}]},
                {"role": "model", "parts": [{"functionCall": {"id": "c1", "name": "ls", "args": {"path": "/srv"}}}]},
                {
                    "role": "user",
                    "parts": [{"functionResponse": {"id": "c1", "name": "ls", "response": {"output": "a"}}}],
                },
                {"role": "model", "parts": [{"text": "One."}]},
            ],
            indent=1,
        ).encode()
    )
    assert [(kind, words) for _, kind, words in told(found)] == [
        ("prompt", "list files"),
        ("call", ""),
        ("result", "a"),
        ("reply", "One."),
    ]
    assert found.messages == 3


@pytest.mark.parametrize(
    ("calls", "about", "folder"),
    [
        ([shell("ls", "/srv/shop", "a", "(none)", 0)], {}, "/srv/shop"),
        ([shell("ls", "(root)", "a", "(none)", 0)], {}, ""),
        ([tool("read_file", arguments={"file_path": "/srv/shop/src/a.py"}, output="x"), tool("read_file", arguments={"absolute_path": "/srv/shop/b.py"}, output="x")], {}, "/srv/shop"),
        ([tool("read_file", arguments={"file_path": "/a/x"}, output="x"), tool("read_file", arguments={"file_path": "/b/y"}, output="x")], {}, ""),
        ([], {"directories": ["/srv/shop"]}, "/srv/shop"),
        ([shell("ls", "~/shop", "a", "(none)", 0)], {}, "~/shop"),
        ([tool("read_file", arguments={"file_path": "~/shop/a.py"}, output="x")], {}, "~/shop"),
    ],
)  # fmt: skip
def test_folder_is_told_by_what_was_done_there(calls: Any, about: Any, folder: str) -> None:
    """The file itself has only a hash of it."""
    assert session(document(gemini("m1", "", toolCalls=calls), **about)).folder == folder


def test_subagent_has_its_parent_in_the_path() -> None:
    """Nothing inside names it."""
    found = session(document(user("m1", "x"), kind="subagent"), "/home/ada/.gemini/tmp/ab/chats/g0/g1.jsonl")
    assert (found.is_subagent, found.parent, found.name) == (True, "g0", "gemini:g0")
