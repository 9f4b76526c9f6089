"""What agents tell hooks: the documented shapes of all three, and what becomes of anything else."""

import json
from typing import Any

import pytest

from clan_learnings.agents.hook_formats import BYTES, CALL, OTHER, PAUSE, PROMPT, START, SUBAGENT, HookEvent, parse

CLAUDE = {
    "session_id": "00893aaf-19fa-41d2-8238-13269b9b3ca0",
    "transcript_path": "/home/ada/.claude/projects/-src-shop/00893aaf.jsonl",
    "cwd": "/src/shop",
    "permission_mode": "default",
    "prompt_id": "p1",
    "effort": "high",
}
CODEX = {
    "session_id": "019d6d29-8f2c-7000-b000-000000000001",
    "transcript_path": None,
    "cwd": "/src/shop",
    "model": "gpt-5.3-codex",
    "permission_mode": "default",
    "turn_id": "turn-7",
}
GEMINI = {
    "session_id": "7b0c5a1e",
    "transcript_path": "/home/ada/.gemini/tmp/shop/chats/session-1.json",
    "cwd": "/src/shop",
    "timestamp": "2026-11-16T15:00:00Z",
}
QWEN = CODEX | {
    "transcript_path": "/home/ada/.qwen/projects/-src-shop/chats/q1.jsonl",
    "timestamp": "2026-11-19T05:22:07Z",
}
COPILOT = {"sessionId": "00ce4720-6ad1-42cf-81a9-97f356675a8c", "timestamp": 1795065683369, "cwd": "/src/shop"}
SHELL_FAILED = "npm error code ERESOLVE"

QWEN_REPORT = f"Command: npm i\nDirectory: (root)\nOutput: {SHELL_FAILED}\nError: (none)\nExit Code: 1\nSignal: 0"

# agent, event, what it says beside the common fields; then what must be read of it
SHAPES: list[tuple[str, dict[str, Any], str, dict[str, Any], dict[str, Any]]] = [
    (
        "claude-code",
        CLAUDE,
        "SessionStart",
        {"source": "startup", "model": "opus"},
        {"meaning": START, "source": "startup"},
    ),
    ("claude-code", CLAUDE, "SessionStart", {"source": "resume"}, {"meaning": START, "source": "resume"}),
    ("claude-code", CLAUDE, "SessionStart", {"source": "fork"}, {"meaning": START, "source": "fork"}),
    (
        "claude-code",
        CLAUDE,
        "UserPromptSubmit",
        {"prompt": "fix the tests"},
        {"meaning": PROMPT, "prompt": "fix the tests"},
    ),
    (
        "claude-code",
        CLAUDE,
        "PostToolUse",
        {
            "tool_name": "Bash",
            "tool_input": {"command": "ls"},
            "tool_response": {"stdout": "a b", "stderr": "", "interrupted": False, "isImage": False},
        },
        {"meaning": CALL, "tool": "Bash", "is_failure": False, "error": ""},
    ),
    (
        "claude-code",
        CLAUDE,
        "PostToolUseFailure",
        {
            "tool_name": "Bash",
            "tool_input": {"command": "npm i"},
            "error": f"Exit code 1\n{SHELL_FAILED}",
            "is_interrupt": False,
        },
        {"meaning": CALL, "is_failure": True, "error": f"Exit code 1\n{SHELL_FAILED}"},
    ),
    (
        "claude-code",
        CLAUDE,
        "PostToolUseFailure",
        {"tool_name": "Bash", "error": "stopped", "is_interrupt": True},
        {"meaning": CALL, "is_failure": False, "error": ""},
    ),
    (
        "claude-code",
        CLAUDE,
        "SubagentStart",
        {"agent_id": "a8a5", "agent_type": "Explore"},
        {"meaning": SUBAGENT, "is_subagent": True},
    ),
    (
        "claude-code",
        CLAUDE,
        "SubagentStop",
        {"agent_id": "a8a5", "agent_transcript_path": "/home/ada/sub.jsonl"},
        {"meaning": PAUSE, "transcript": "/home/ada/sub.jsonl"},
    ),
    (
        "claude-code",
        CLAUDE,
        "Stop",
        {"stop_hook_active": False, "last_assistant_message": "done"},
        {"meaning": PAUSE, "transcript": CLAUDE["transcript_path"]},
    ),
    ("claude-code", CLAUDE, "PreCompact", {"trigger": "auto", "custom_instructions": ""}, {"meaning": PAUSE}),
    (
        "qwen",
        QWEN,
        "PostToolUse",
        {
            "tool_name": "run_shell_command",
            "tool_input": {"command": "npm i", "is_background": False},
            "tool_response": {"llmContent": QWEN_REPORT, "returnDisplay": SHELL_FAILED},
        },
        {"meaning": CALL, "is_failure": True, "command": "npm i", "transcript": QWEN["transcript_path"]},
    ),
    ("copilot", COPILOT, "SessionStart", {"source": "new", "initialPrompt": "go"}, {"meaning": START, "source": "new"}),
    ("copilot", COPILOT, "UserPromptSubmit", {"prompt": "add a flag"}, {"meaning": PROMPT, "prompt": "add a flag"}),
    (
        "copilot",
        COPILOT,
        "PostToolUse",
        {
            "toolName": "bash",
            "toolArgs": {"command": "npm i", "description": "install"},
            "toolResult": {
                "resultType": "success",
                "textResultForLlm": f"{SHELL_FAILED}\n<shellId: 0 completed with exit code 3>",
            },
        },
        {"meaning": CALL, "is_failure": True, "command": "npm i", "tool": "bash"},
    ),
    (
        "copilot",
        COPILOT,
        "PostToolUse",
        {
            "toolName": "bash",
            "toolArgs": {"command": "npm i"},
            "toolResult": {
                "resultType": "success",
                "textResultForLlm": f"{SHELL_FAILED}\n<shellId: 0 completed with exit code 0>",
            },
        },
        {"meaning": CALL, "is_failure": False},
    ),
    (
        "copilot",
        COPILOT,
        "Stop",
        {"transcriptPath": "/home/ada/.copilot/session-state/s/events.jsonl", "stopReason": "end_turn"},
        {"meaning": PAUSE, "transcript": "/home/ada/.copilot/session-state/s/events.jsonl"},
    ),
    ("codex", CODEX, "SessionStart", {"source": "compact"}, {"meaning": START, "source": "compact", "transcript": ""}),
    ("codex", CODEX, "UserPromptSubmit", {"prompt": "add a flag"}, {"meaning": PROMPT, "prompt": "add a flag"}),
    (
        "codex",
        CODEX,
        "PostToolUse",
        {
            "tool_name": "Bash",
            "tool_use_id": "call-1",
            "tool_input": {"command": "npm i"},
            "tool_response": json.dumps(
                {"output": SHELL_FAILED, "metadata": {"exit_code": 1, "duration_seconds": 0.1}}
            ),
        },
        {"meaning": CALL, "is_failure": True},
    ),
    (
        "codex",
        CODEX,
        "PostToolUse",
        {"tool_response": f"Chunk ID: 1\nWall time: 0.1 s\nProcess exited with code 1\nOutput:\n{SHELL_FAILED}"},
        {"meaning": CALL, "is_failure": True},
    ),
    (
        "codex",
        CODEX,
        "PostToolUse",
        {
            "tool_response": "Chunk ID: 1\nWall time: 0.1 s\nProcess exited with code 0\nOutput:\nexit code 3 is documented"
        },
        {"meaning": CALL, "is_failure": False},
    ),
    (
        "codex",
        CODEX,
        "SubagentStart",
        {"agent_id": "t-2", "agent_type": "review"},
        {"meaning": SUBAGENT, "is_subagent": True},
    ),
    ("codex", CODEX, "Stop", {"stop_hook_active": False, "last_assistant_message": None}, {"meaning": PAUSE}),
    ("gemini", GEMINI, "SessionStart", {"source": "clear"}, {"meaning": START, "source": "clear"}),
    ("gemini", GEMINI, "BeforeAgent", {"prompt": "why is it slow"}, {"meaning": PROMPT, "prompt": "why is it slow"}),
    (
        "gemini",
        GEMINI,
        "BeforeAgent",  # with what a hook said at the start of the session
        {"prompt": "<hook_context>&lt;clan-mesh context&gt;\n- use pnpm</hook_context>\n\nwhy is it slow"},
        {"meaning": PROMPT, "prompt": "why is it slow"},
    ),
    (
        "gemini",
        GEMINI,
        "AfterTool",
        {
            "tool_name": "run_shell_command",
            "tool_input": {"command": "npm i"},
            "tool_response": {"llmContent": f"Output: {SHELL_FAILED}\nExit Code: 1", "returnDisplay": ""},
        },
        {"meaning": CALL, "is_failure": True},
    ),
    (
        "gemini",
        GEMINI,
        "AfterTool",
        {"tool_response": {"llmContent": "x", "error": {"message": SHELL_FAILED, "type": "shell_execute_error"}}},
        {"meaning": CALL, "is_failure": True},
    ),
    (
        "gemini",
        GEMINI,
        "AfterTool",
        {"tool_response": {"llmContent": [{"text": "Output: fine\nExit Code: 0"}], "returnDisplay": "fine"}},
        {"meaning": CALL, "is_failure": False},
    ),
    (
        "gemini",
        GEMINI,
        "AfterAgent",
        {"prompt": "a", "prompt_response": "b", "stop_hook_active": False},
        {"meaning": PAUSE},
    ),
    ("gemini", GEMINI, "PreCompress", {"trigger": "auto"}, {"meaning": PAUSE}),
]


def sent(name: str, agent: str, fields: object) -> HookEvent:
    return parse(name, agent, json.dumps(fields).encode())


@pytest.mark.parametrize(("agent", "common", "name", "fields", "expected"), SHAPES)
def test_documented_shapes_are_read(
    agent: str, common: dict[str, Any], name: str, fields: dict[str, Any], expected: dict[str, Any]
) -> None:
    """Every event of every agent says who it is of, where, and what it means to us."""
    event = sent(name, agent, common | {"hook_event_name": name} | fields)
    assert event.name == name
    assert event.agent == agent
    assert event.session == f"{agent}:{common.get('session_id') or common['sessionId']}"
    assert event.folder == "/src/shop"
    assert not event.is_broken
    assert {field: getattr(event, field) for field in expected} == expected
    if event.is_failure:
        assert SHELL_FAILED in event.error


@pytest.mark.parametrize(
    ("response", "failed"),
    [
        ({"exit_code": 1, "stdout": "boom"}, True),
        ({"exitCode": 127, "stderr": "boom"}, True),
        ({"exit_code": 0, "stderr": "a warning"}, False),
        ({"exit_code": True}, False),
        ({"is_error": True, "content": [{"type": "text", "text": "boom"}]}, True),
        ({"isError": True, "content": []}, True),
        ({"isError": False, "content": [{"text": "fine"}]}, False),
        ({"success": False, "output": "boom"}, True),
        ({"status": "error", "output": "boom"}, True),
        ({"status": "completed", "output": "fine"}, False),
        ({"error": None, "llmContent": "fine"}, False),
        ({"error": "", "llmContent": "fine"}, False),
        ({"output": {"metadata": {"exit_code": 2}}}, True),
        ([{"type": "input_text", "text": "Exit code: 1\nboom"}], True),
        ([{"type": "input_text", "text": "Script completed"}], False),
        ("all went well", False),
        ("Exit code: 0\nerror: none", False),
        ("Error: this text alone tells nothing of the command", False),
        ("Exit code: lots", False),
        (None, False),
        (7, False),
    ],
)
def test_a_failed_call_is_told_from_a_successful_one(response: object, failed: bool) -> None:  # noqa: FBT001
    """Agents report exit codes, flags and errors in many ways; words like "error" alone are none of them."""
    assert sent("PostToolUse", "codex", CODEX | {"tool_response": response}).is_failure is failed


def test_an_older_notification_of_codex_is_a_pause() -> None:
    """Before it had hooks, Codex called a program with other names for the same things."""
    event = sent(
        "notify",
        "",
        {"type": "agent-turn-complete", "thread-id": "t-1", "turn-id": "1", "cwd": "/src", "input-messages": []},
    )
    assert (event.agent, event.session, event.folder) == ("codex", "codex:t-1", "/src")
    assert sent("agent-turn-complete", "codex", {"thread-id": "t-1"}).meaning == PAUSE


def test_the_agent_is_guessed_where_nobody_tells() -> None:
    """Claude Code's hooks are installed without `--agent`; names that only Gemini has are Gemini's."""
    assert sent("SessionStart", "", CLAUDE).agent == "claude-code"
    assert sent("BeforeAgent", "", GEMINI).agent == "gemini"


@pytest.mark.parametrize("written", ["SessionStart", "sessionstart", "session-start", "session_start"])
def test_a_name_may_be_written_in_other_ways(written: str) -> None:
    """What a person types into settings by hand means the same event, and gets its documented name back."""
    event = sent(written, "", {})
    assert (event.name, event.meaning) == ("SessionStart", START)


def test_the_name_in_the_event_goes_before_the_command_line() -> None:
    """The agent checks that the answer names the event it told about."""
    assert sent("Stop", "", {"hook_event_name": "SubagentStop"}).name == "SubagentStop"
    assert sent("Stop", "", {"hook_event_name": "NeverHeardOf"}).name == "Stop"
    assert sent("Notification", "", {}).meaning == OTHER


def test_a_subagent_counts_as_the_session_it_works_for() -> None:
    """Whether the agent gives the parent's id as the session or beside the child's."""
    assert sent("Stop", "codex", {"session_id": "child", "parent_thread_id": "root"}).session == "codex:root"
    assert sent("Stop", "", CLAUDE | {"agent_id": "a1"}).session == f"claude-code:{CLAUDE['session_id']}"


def test_a_fork_names_the_session_it_copies() -> None:
    """Where the agent tells."""
    event = sent("SessionStart", "codex", {"session_id": "new", "forked_from_id": "old", "source": "fork"})
    assert (event.session, event.origin) == ("codex:new", "codex:old")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b" \n",
        b"not json",
        b"{",
        b"[1, 2]",
        b'"text"',
        b"42",
        b"null",
        b"\xff\xfe\x00",
        b"\x00" * 100,
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b'{"session_id"',
        b'{"session_id":',
        b'{"session_id" "x"}',
        b"{'session_id': 'x'}",
    ],
)
def test_what_is_no_event_is_an_empty_one(data: bytes) -> None:
    """Nothing is raised, and nothing is made up."""
    event = parse("SessionStart", "", data)
    assert (event.name, event.meaning, event.agent, event.is_broken) == ("SessionStart", START, "claude-code", True)
    assert (event.session, event.folder, event.transcript, event.prompt, event.error) == ("", "", "", "", "")


@pytest.mark.parametrize(
    "fields",
    [
        {"session_id": 7, "cwd": ["/src"], "transcript_path": {}, "prompt": 1.5, "source": None, "hook_event_name": []},
        {"session_id": "a b", "cwd": "src", "transcript_path": "x.jsonl"},
        {"session_id": "x" * 1000, "cwd": "/" + "x" * 10_000, "transcript_path": "/a\nb"},
        {"session_id": "", "cwd": "/a\0b", "transcript_path": "\x1b[31m/a"},
        {"session_id": "a\u202eb", "cwd": "", "hook_event_name": "x" * 100},
    ],
)
def test_fields_of_a_wrong_kind_are_left_out(fields: dict[str, Any]) -> None:
    """A session must be one that records can name, a path a whole and printable one."""
    event = sent("Stop", "", fields)
    assert (event.name, event.meaning) == ("Stop", PAUSE)
    assert (event.session, event.folder, event.transcript, event.prompt, event.source) == ("", "", "", "", "")


@pytest.mark.parametrize(
    "rest",
    [
        '"tool_response": "cut in the mid',
        '"tool_response": {"output": [1, 2,',
        f'"tool_response": {"[" * 50_000}',
        "oops}",
    ],
)
def test_what_stands_before_the_damage_is_read(rest: str) -> None:
    """An answer of a tool may be cut or nested without end; the session it belongs to stands before it."""
    event = parse("Stop", "", f'{{"session_id": "s1", "cwd" : "/src",\n {rest}'.encode())
    assert (event.session, event.folder, event.is_broken) == ("claude-code:s1", "/src", True)


def test_more_than_the_limit_is_not_read() -> None:
    """What an agent sends costs no more memory than the limit allows."""
    event = parse("Stop", "", b'{"session_id": "s1", "x": "' + b"y" * BYTES + b'", "cwd": "/src"}')
    assert (event.session, event.folder) == ("claude-code:s1", "")


def test_texts_can_be_written_afterwards() -> None:
    """Half a surrogate pair is valid JSON and no text; bytes that are no UTF-8 are replaced."""
    sent_text = parse("UserPromptSubmit", "", b'{"prompt": "a\\ud800b", "session_id": "s\xff1"}')
    assert sent_text.prompt.encode() == b"a?b"
    long = sent("UserPromptSubmit", "", {"prompt": "a" * 50_000 + "z" * 50_000}).prompt
    assert len(long) < 20_000
    assert long.startswith("aaa")
    assert long.endswith("zzz")
