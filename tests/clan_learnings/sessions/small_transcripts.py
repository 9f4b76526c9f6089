"""Small transcripts of several flavours, written for the tests: everything a flavour has, and no more. Holds no test."""

import json
from pathlib import Path
from typing import Any

SHARED = Path(__file__).parents[4] / "shared" / "transcripts"


def lines(*records: Any) -> bytes:
    """One record a line."""
    return "".join(f"{json.dumps(record)}\n" for record in records).encode()


def document(value: Any) -> bytes:
    """One document, printed over many lines."""
    return json.dumps(value, indent=2).encode()


def _update(name: str, at: int, stream: int = 0, **update: Any) -> dict[str, Any]:
    meta = {
        "agentTimestampMs": 1_790_000_000_000 + at,
        "promptId": "prompt-1",
        **({"streamStartMs": stream} if stream else {}),
    }
    params = {
        "sessionId": "0a0b0c0d-0000-4000-8000-000000000001",
        "update": {"sessionUpdate": name, **update},
        "_meta": meta,
    }
    return {"timestamp": 1_790_000_000, "method": "session/update", "params": params}


GROK_UPDATES = [
    _update("user_message_chunk", 1, content={"type": "text", "text": "Make the te"}, _meta={"modelId": "grok-9"}),
    _update("user_message_chunk", 1, content={"type": "text", "text": "sts pass"}),
    _update("agent_thought_chunk", 2, 5, content={"type": "text", "text": "Which tests?"}),
    _update("agent_message_chunk", 3, 5, content={"type": "text", "text": "I run "}),
    _update("agent_message_chunk", 3, 5, content={"type": "text", "text": "them."}),
    _update("tool_call", 4, 5, toolCallId="c1", title="run_terminal_command", rawInput={"command": "make tests"}),
    _update("tool_call_update", 5, 5, toolCallId="c1", title="Execute"),
    _update(
        "tool_call_update",
        6,
        5,
        toolCallId="c1",
        status="completed",
        content=[{"type": "content", "content": {"type": "text", "text": "make: *** No rule to make target"}}],
        rawOutput={"exit_code": 2, "current_dir": "/home/ann/engine"},
    ),
    _update("agent_message_chunk", 7, 9, content={"type": "text", "text": "The target is called test."}),
    _update("hook_execution", 8, event_name="stop"),
    _update(
        "turn_completed",
        9,
        usage={"inputTokens": 1000, "outputTokens": 20, "cachedReadTokens": 600, "costUsdTicks": 50_000_000},
        stop_reason="end_turn",
    ),
]

GROK_HISTORY = [
    {"type": "system", "content": "You are a tool."},
    {"type": "user", "content": [{"type": "text", "text": "OS: linux"}], "synthetic_reason": "environment_context"},
    {"type": "user", "content": [{"type": "text", "text": "Make the tests pass"}], "prompt_index": 0},
    {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Which tests?"}]},
    {
        "type": "assistant",
        "content": "I run them.",
        "model_id": "grok-9",
        "tool_calls": [{"id": "c1", "name": "run_terminal_cmd", "arguments": '{"command": "make tests"}'}],
    },
    {"type": "tool_result", "tool_call_id": "c1", "content": "bash: make: command not found"},
    {
        "type": "backend_tool_call",
        "kind": {"tool_type": "web_search", "id": "w1", "action": {"query": "make"}, "status": "completed"},
    },
    {"type": "assistant", "content": "It is not installed.", "model_id": "grok-9", "tool_calls": []},
    {
        "type": "user",
        "content": [{"type": "text", "text": "use ninja"}],
        "prompt_index": 1,
        "prior_turn_interrupt": "mid_turn_abort",
    },
]

HERMES_LINES = [
    {"role": "session_meta", "tools": [], "model": "m-1", "platform": "discord", "timestamp": "2026-03-01T10:00:00.5"},
    {"role": "user", "content": "[ann] run the checks", "timestamp": "2026-03-01T10:00:01"},
    {
        "role": "assistant",
        "content": "",
        "reasoning": "Which ones?",
        "finish_reason": "tool_calls",
        "tool_calls": [
            {"id": "c1", "call_id": "c1", "function": {"name": "terminal", "arguments": '{"command": "check"}'}}
        ],
        "timestamp": "2026-03-01T10:00:02",
    },
    {
        "role": "tool",
        "tool_call_id": "c1",
        "content": '{"output": "check: no such thing", "exit_code": 3, "error": null}',
        "timestamp": "2026-03-01T10:00:03",
    },
    {"role": "assistant", "content": "It failed.", "finish_reason": "stop", "timestamp": "2026-03-01T10:00:04"},
    {
        "role": "assistant",
        "content": "[CONTEXT COMPACTION — REFERENCE ONLY] Earlier: checks.",
        "timestamp": "2026-03-01T11:00:00",
    },
]

HERMES_DOCUMENT = {
    "session_id": "20260301_a",
    "model": "m-1",
    "platform": "cli",
    "session_start": "2026-03-01T10:00:00",
    "last_updated": "2026-03-01T10:05:00",
    "cwd": "/home/ann/engine",
    "message_count": 4,
    "system_prompt": "You are Hermes.",
    "messages": [
        {"role": "user", "content": "[draft] look at it"},
        {
            "role": "assistant",
            "content": "Looking.",
            "tool_calls": [{"id": "c1", "function": {"name": "memory", "arguments": '{"query": "x"}'}}],
        },
        {
            "role": "tool",
            "tool_call_id": "c1",
            "tool_name": "memory",
            "content": '{"success": false, "error": "no such entry"}',
        },
        {"role": "session_meta"},
    ],
}

HERMES_SHARED = {
    "conversations": [
        {"from": "system", "value": "Tools: terminal"},
        {"from": "human", "value": "list the files"},
        {
            "from": "gpt",
            "value": '<think>easy</think>Listing.<tool_call>{"name": "terminal", "arguments": {"command": "ls"}}</tool_call>',
        },
        {
            "from": "tool",
            "value": '<tool_response>{"name": "terminal", "content": {"output": "a", "exit_code": 0, "error": null}}</tool_response>',
        },
        {"from": "gpt", "value": "There is one."},
    ],
    "model": "m-1",
    "completed": True,
    "timestamp": "2026-03-01T10:00:00",
}

HERMES_ARCHIVE = {
    "producer": "hermes/0.9.0",
    "session_id": "archived-2",
    "parent_session_id": "archived-1",
    "repository_cwd": "/home/ann/engine",
    "git_branch": "main",
    "created_at": "2026-03-01T10:00:00Z",
    "usage": {"input_tokens": 7, "output_tokens": 5, "cache_read_tokens": 3},
    "cost": {"actual_cost_usd": 0.25},
    "messages": [
        {"role": "user", "text": "fix it", "tool_calls": [], "tool_results": []},
        {
            "role": "assistant",
            "text": "I read it.",
            "reasoning": "Where?",
            "tool_calls": [{"action_id": "a1", "tool_name": "terminal", "arguments_json": '{"command": "cat x"}'}],
            "tool_results": [],
        },
        {
            "role": "tool",
            "text": None,
            "tool_calls": [],
            "tool_results": [{"action_id": "a1", "is_error": True, "exit_code": 1, "output_preview": "no x"}],
        },
    ],
}


def _scope(category: str, scope: str, data: dict[str, Any], uuid: str, **meta: Any) -> dict[str, Any]:
    return {
        "atof_version": "0.1",
        "kind": "scope",
        "category": category,
        "scope_category": scope,
        "uuid": uuid,
        "timestamp": "2026-03-01T10:00:00Z",
        "name": "terminal",
        "metadata": {"session_id": "telemetry-1", "platform": "hermes", **meta},
        "data": data,
    }


HERMES_SCOPES = [
    _scope("agent", "start", {}, "s"),
    _scope("llm", "start", {"content": "list the files"}, "l1"),
    _scope("llm", "end", {"assistant_message": "Listing."}, "l1"),
    _scope("tool", "start", {"command": "ls"}, "t1", tool_call_id="c1"),
    _scope("tool", "end", {"stdout": "a", "exit_code": 0}, "t1", tool_call_id="c1", status="completed"),
    _scope("llm", "end", {"error": "overloaded"}, "l2"),
]


def _record(name: str, parent: str | None, at: str, message: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "message",
        "id": name,
        "parentId": parent,
        "timestamp": f"2026-03-01T10:00:{at}Z",
        "message": message,
    }


PI = [
    {
        "type": "session",
        "version": 3,
        "id": "pi-2",
        "timestamp": "2026-03-01T10:00:00Z",
        "cwd": "/home/ann/engine",
        "parentSession": "/s/2026_pi-1.jsonl",
    },
    {
        "type": "model_change",
        "id": "r1",
        "parentId": None,
        "timestamp": "2026-03-01T10:00:00Z",
        "provider": "p",
        "modelId": "m-1",
    },
    _record("r2", "r1", "01", {"role": "user", "content": [{"type": "text", "text": "run the checks"}]}),
    _record(
        "r3", "r2", "02", {"role": "assistant", "content": [], "stopReason": "error", "errorMessage": "500: overloaded"}
    ),
    _record(
        "r4",
        "r2",
        "03",
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Which?"},
                {"type": "text", "text": "Running."},
                {"type": "toolCall", "id": "c1", "name": "bash", "arguments": {"command": "check"}},
                {"type": "toolCall", "id": "c2", "name": "read", "arguments": {"path": "x"}},
            ],
            "usage": {"input": 10, "output": 5, "cacheRead": 3, "cost": {"total": 0.5}},
            "stopReason": "toolUse",
        },
    ),
    _record(
        "r5",
        "r4",
        "04",
        {
            "role": "toolResult",
            "toolCallId": "c2",
            "toolName": "read",
            "content": [{"type": "text", "text": "x"}],
            "isError": False,
        },
    ),
    _record(
        "r6",
        "r5",
        "05",
        {
            "role": "toolResult",
            "toolCallId": "c1",
            "toolName": "bash",
            "content": [{"type": "text", "text": "bad\n\nCommand exited with code 4"}],
            "isError": True,
        },
    ),
    _record(
        "r7",
        "r6",
        "06",
        {"role": "assistant", "content": [], "stopReason": "aborted", "errorMessage": "Request was aborted"},
    ),
    {
        "type": "compaction",
        "id": "r8",
        "parentId": "r7",
        "timestamp": "2026-03-01T10:00:07Z",
        "summary": "Checks were run.",
        "tokensBefore": 9,
    },
    _record("r9", "r8", "08", {"role": "bashExecution", "command": "git status", "output": "clean", "exitCode": 0}),
]

OPENCLAW = [
    {"type": "session", "version": 3, "id": "claw-1", "timestamp": "2026-03-01T10:00:00Z", "cwd": "/home/ann/engine"},
    {"type": "custom", "id": "x1", "customType": "openclaw.cache-ttl", "data": {}, "timestamp": "2026-03-01T10:00:00Z"},
    {
        "type": "custom_message",
        "id": "x2",
        "customType": "openclaw.runtime-context",
        "content": "The time is now.",
        "timestamp": "2026-03-01T10:00:00Z",
    },
    _record(
        "x3",
        "x2",
        "01",
        {
            "role": "user",
            "content": "[Slack Ann +2m Sun 2026-03-01 10:00 UTC] deploy it\n[slack message id: 17.1 channel: C1]",
        },
    ),
    _record("x4", "x3", "02", {"role": "assistant", "content": [{"type": "text", "text": "Deploying."}]}),
    {"type": "riddle", "id": "x5"},
]

OPENCODE: dict[str, Any] = {
    "info": {
        "id": "ses_one",
        "directory": "/home/ann/engine",
        "title": "Checks",
        "version": "1.2.3",
        "model": {"id": "m-1", "providerID": "p"},
        "time": {"created": 1_790_000_000_000, "updated": 1_790_000_060_000},
    },
    "messages": [
        {
            "info": {"id": "msg_1", "role": "user", "time": {"created": 1_790_000_001_000}},
            "parts": [
                {"type": "text", "text": "run the checks"},
                {"type": "text", "text": "Called the Read tool", "synthetic": True},
            ],
        },
        {
            "info": {
                "id": "msg_2",
                "role": "assistant",
                "modelID": "m-2",
                "time": {"created": 1_790_000_002_000},
                "cost": 0.125,
                "tokens": {"input": 10, "output": 4, "reasoning": 1, "cache": {"read": 3, "write": 0}},
            },
            "parts": [
                {"type": "step-start"},
                {"type": "reasoning", "text": "Which?"},
                {"type": "text", "text": "Running."},
                {
                    "type": "tool",
                    "tool": "bash",
                    "callID": "c1",
                    "state": {
                        "status": "completed",
                        "input": {"command": "check"},
                        "output": "bad",
                        "metadata": {"exit": 2},
                        "time": {"start": 1_790_000_003_000},
                    },
                },
                {
                    "type": "tool",
                    "tool": "read",
                    "callID": "c2",
                    "state": {"status": "error", "input": {"filePath": "x"}, "error": "File not found"},
                },
                {
                    "type": "tool",
                    "tool": "edit",
                    "callID": "c3",
                    "state": {
                        "status": "error",
                        "input": {},
                        "error": "The user rejected permission to use this specific tool call with the following feedback: not that file",
                    },
                },
                {"type": "step-finish"},
            ],
        },
        {
            "info": {
                "id": "msg_3",
                "role": "assistant",
                "error": {"name": "MessageAbortedError", "data": {"message": "stopped"}},
            },
            "parts": [],
        },
    ],
}

_CHECKED = OPENCODE["messages"][1]["parts"][3]
OPENCODE_LINES = [
    {
        "type": "step_start",
        "timestamp": 1_790_000_000_000,
        "sessionID": "ses_two",
        "part": {"type": "step-start", "messageID": "msg_1"},
    },
    {
        "type": "tool_use",
        "timestamp": 1_790_000_001_000,
        "sessionID": "ses_two",
        "part": {**_CHECKED, "messageID": "msg_1"},
    },
    {
        "type": "text",
        "timestamp": 1_790_000_002_000,
        "sessionID": "ses_two",
        "part": {"type": "text", "text": "It failed.", "messageID": "msg_2"},
    },
    {
        "type": "step_finish",
        "timestamp": 1_790_000_003_000,
        "sessionID": "ses_two",
        "part": {
            "type": "step-finish",
            "cost": 0.5,
            "tokens": {"input": 10, "output": 4, "reasoning": 0, "cache": {"read": 3}},
        },
    },
    {
        "type": "error",
        "timestamp": 1_790_000_004_000,
        "sessionID": "ses_two",
        "error": {"name": "APIError", "data": {"message": "overloaded"}},
    },
]

TRAJECTORY = {
    "environment": "swe_main",
    "trajectory": [
        {
            "action": "python try.py\n",
            "observation": 'Traceback (most recent call last):\n  File "try.py", line 1\nNameError: x\n',
            "response": "Let us try.\n```\npython try.py\n```",
            "state": '{"open_file": "n/a", "working_dir": "/engine"}',
            "thought": "Let us try.\n",
        },
        {
            "action": "cat notes.txt\n",
            "observation": "all good\n",
            "response": "Reading.",
            "state": {"working_dir": "/engine"},
            "thought": "Reading.",
        },
        {
            "action": "",
            "observation": "Your output was not formatted correctly",
            "response": "Hm.",
            "state": "{}",
            "thought": "Hm.",
        },
    ],
    "history": [
        {"role": "system", "content": "SETTING: a shell.", "agent": "primary"},
        {
            "role": "user",
            "content": "Here is a demonstration of how to do it.\nnever do so",
            "agent": "primary",
            "is_demo": True,
        },
        {
            "role": "user",
            "content": "We solve this.\nISSUE:\nIt breaks at noon.\n\nINSTRUCTIONS:\nAlways be kind.\n(Open file: n/a)\n(Current directory: /engine)\nbash-$",
            "agent": "primary",
        },
        {
            "role": "assistant",
            "content": "Let us try.",
            "action": "python try.py\n",
            "thought": "Let us try.",
            "agent": "primary",
        },
    ],
    "info": {
        "exit_status": "submitted",
        "model_stats": {"instance_cost": 0.5, "tokens_sent": 100, "tokens_received": 10, "api_calls": 3},
    },
}

HISTORY_ONLY = {
    "history": [
        {"role": "system", "content": "SETTING: a shell.", "agent": "main", "message_type": "system_prompt"},
        {"role": "user", "content": "It breaks at noon.", "agent": "main", "message_type": "observation"},
        {
            "role": "assistant",
            "content": "Looking.",
            "thought": "Looking.",
            "action": "ls nowhere",
            "agent": "main",
            "tool_calls": [{"id": "c1", "function": {"name": "bash", "arguments": '{"command": "ls nowhere"}'}}],
        },
        {
            "role": "tool",
            "content": "ls: nowhere: No such file or directory\n(Open file: n/a)\n(Current directory: /engine)\nbash-$",
            "agent": "main",
            "tool_call_ids": ["c1"],
        },
    ]
}

MINI = [
    {"role": "system", "content": "Write one block."},
    {"role": "user", "content": "Please solve this issue: It breaks.\n\nYou can execute bash commands and edit files."},
    {"role": "assistant", "content": "Looking.\n\n```mswea_bash_command\ncat nowhere\n```"},
    {
        "role": "user",
        "content": "<returncode>1</returncode>\n<output>\ncat: nowhere: No such file or directory\n</output>",
    },
    {"role": "assistant", "content": "I know it now."},
    {"role": "user", "content": "Please always provide EXACTLY ONE action."},
    {"role": "assistant", "content": "```bash\nrm -r .\n```"},
    {
        "role": "user",
        "content": "Command not executed. The user rejected your command with the following message: keep the files",
    },
]

MINI_NEWER = {
    "trajectory_format": "mini-swe-agent-1.1",
    "info": {
        "mini_version": "2.0.0",
        "model_stats": {"instance_cost": 0.25, "api_calls": 2},
        "config": {"model": {"model_name": "m-1"}},
    },
    "messages": [
        {"role": "system", "content": "Use the tool."},
        {
            "role": "user",
            "content": "<pr_description>\nIt breaks.\n</pr_description>\n<instructions>Never stop.</instructions>",
        },
        {
            "role": "assistant",
            "content": "Looking.",
            "tool_calls": [{"id": "c1", "function": {"name": "bash", "arguments": '{"command": "make"}'}}],
            "extra": {"timestamp": 1_790_000_000.5},
        },
        {
            "role": "tool",
            "tool_call_id": "c1",
            "content": "no rule",
            "extra": {"returncode": 2, "timestamp": 1_790_000_001},
        },
        {"role": "exit", "content": ""},
    ],
}

_CALLED = {"function_name": "execute_bash", "tool_call_id": "c1", "model_response": {"id": "gen-1", "model": "m-1"}}
OPENHANDS_INSTANCE = {
    "instance_id": "ann__engine-1",
    "instance": {"repo": "ann/engine"},
    "metadata": {"llm_config": {"model": "m-1"}},
    "metrics": {
        "accumulated_cost": 0.5,
        "accumulated_token_usage": {"prompt_tokens": 100, "completion_tokens": 10, "cache_read_tokens": 40},
    },
    "history": [
        {
            "id": 0,
            "timestamp": "2026-03-01T10:00:00",
            "source": "agent",
            "action": "system",
            "args": {"content": "You are OpenHands."},
        },
        {
            "id": 1,
            "timestamp": "2026-03-01T10:00:01",
            "source": "user",
            "action": "message",
            "args": {"content": "<issue_description>\nIt breaks.\n</issue_description>\nYou must always test."},
        },
        {"id": 2, "source": "user", "action": "recall", "args": {"query": "It breaks."}},
        {
            "id": 3,
            "source": "environment",
            "observation": "recall",
            "cause": 2,
            "content": "Added",
            "extras": {"microagent_knowledge": [{"content": "Use git."}]},
        },
        {
            "id": 4,
            "timestamp": "2026-03-01T10:00:02",
            "source": "agent",
            "action": "run",
            "args": {"command": "make", "thought": "I build it."},
            "tool_call_metadata": _CALLED,
        },
        {
            "id": 5,
            "timestamp": "2026-03-01T10:00:03",
            "source": "agent",
            "observation": "run",
            "cause": 4,
            "content": "no rule",
            "extras": {"metadata": {"exit_code": 2, "working_dir": "/workspace/engine"}},
            "success": False,
        },
        {
            "id": 6,
            "source": "agent",
            "observation": "error",
            "content": "Parameter missing",
            "extras": {"error_id": ""},
        },
        {
            "id": 7,
            "source": "agent",
            "action": "edit",
            "args": {"path": "/x", "thought": ""},
            "tool_call_metadata": {**_CALLED, "tool_call_id": "c2", "model_response": {"id": "gen-2"}},
        },
        {
            "id": 8,
            "source": "agent",
            "observation": "edit",
            "cause": 7,
            "content": "ERROR:\nNo replacement was performed",
            "extras": {},
        },
        {
            "id": 9,
            "source": "user",
            "action": "message",
            "args": {"content": "Please continue working on the task on whatever approach you think is suitable."},
        },
        {"id": 10, "source": "user", "action": "message", "args": {"content": "use ninja"}},
    ],
}

OPENHANDS_OLD = {
    "issue": {"owner": "ann", "repo": "engine", "number": 7, "title": "It breaks"},
    "history": [
        {"action": "message", "content": "It breaks", "wait_for_response": False},
        {"action": "run", "command": "make", "thought": "I build it."},
        {"observation": "run", "content": "no rule", "command": "make", "exit_code": 2},
        {"action": "finish", "outputs": {}, "thought": "Done."},
    ],
    "metrics": {"accumulated_cost": 0.25},
    "success": True,
}

OPENHANDS_EVENTS = [
    {
        "id": "e1",
        "timestamp": "2026-03-01T10:00:00",
        "source": "agent",
        "kind": "SystemPromptEvent",
        "system_prompt": {"type": "text", "text": "You are."},
    },
    {
        "id": "e2",
        "timestamp": "2026-03-01T10:00:01",
        "source": "user",
        "kind": "MessageEvent",
        "llm_message": {"role": "user", "content": [{"type": "text", "text": "build it"}]},
    },
    {
        "id": "e3",
        "timestamp": "2026-03-01T10:00:02",
        "source": "agent",
        "kind": "ActionEvent",
        "thought": [{"type": "text", "text": "Building."}],
        "tool_name": "terminal",
        "tool_call_id": "c1",
        "action": {"kind": "TerminalAction", "command": "make"},
        "llm_response_id": "resp-1",
    },
    {
        "id": "e4",
        "timestamp": "2026-03-01T10:00:03",
        "source": "environment",
        "kind": "ObservationEvent",
        "tool_name": "terminal",
        "tool_call_id": "c1",
        "action_id": "e3",
        "observation": {"content": [{"type": "text", "text": "no rule"}], "is_error": False, "exit_code": 2},
    },
    {
        "id": "e5",
        "source": "environment",
        "kind": "ObservationEvent",
        "tool_name": "think",
        "tool_call_id": "c0",
        "observation": {"content": [], "is_error": True},
    },
    {
        "id": "e6",
        "source": "agent",
        "kind": "AgentErrorEvent",
        "tool_name": "x",
        "tool_call_id": "c9",
        "error": "no such tool",
    },
    {
        "id": "e7",
        "source": "environment",
        "kind": "UserRejectObservation",
        "tool_call_id": "c1",
        "rejection_reason": "not now",
    },
    {"id": "e8", "source": "user", "kind": "PauseEvent"},
    {"id": "e9", "source": "environment", "kind": "Condensation", "summary": "It was built."},
    {"id": "e10", "source": "environment", "kind": "ConversationStateUpdateEvent", "key": "x", "value": 1},
]

CHAT = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "list the files"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": '{"command": "ls nowhere"}'}}
        ],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "ls: nowhere: No such file or directory"},
    {
        "role": "assistant",
        "content": [{"type": "text", "text": "There is no such folder."}],
        "usage": {"prompt_tokens": 9, "completion_tokens": 3},
    },
]

CHAT_BLOCKS = {
    "id": "talk-1",
    "model": "m-1",
    "messages": [
        {"role": "user", "content": "list the files"},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "easy"},
                {"type": "text", "text": "Listing."},
                {"type": "tool_use", "id": "c1", "name": "bash", "input": {"command": "ls"}},
            ],
            "usage": {"input_tokens": 9, "output_tokens": 3, "cache_read_input_tokens": 2},
        },
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "denied", "is_error": True}],
        },
    ],
}

# What each is, by the module that must know it, and nobody else.
TRANSCRIPTS: dict[str, tuple[str, bytes]] = {
    "grok updates": ("grok", lines(*GROK_UPDATES)),
    "grok history": ("grok", lines(*GROK_HISTORY)),
    "hermes lines": ("hermes", lines(*HERMES_LINES)),
    "hermes document": ("hermes", document(HERMES_DOCUMENT)),
    "hermes shared": ("hermes", lines(HERMES_SHARED)),
    "hermes archive": ("hermes_export", document(HERMES_ARCHIVE)),
    "hermes scopes": ("hermes_export", lines(*HERMES_SCOPES)),
    "pi": ("openclaw", lines(*PI)),
    "openclaw": ("openclaw", lines(*OPENCLAW)),
    "opencode": ("opencode", document(OPENCODE)),
    "opencode lines": ("opencode", lines(*OPENCODE_LINES)),
    "trajectory": ("swe_agent", document(TRAJECTORY)),
    "history": ("swe_agent", document(HISTORY_ONLY)),
    "mini": ("swe_agent", document(MINI)),
    "newer mini": ("swe_agent", document(MINI_NEWER)),
    "openhands instances": ("openhands", lines(OPENHANDS_INSTANCE, OPENHANDS_OLD)),
    "openhands old": ("openhands", lines(OPENHANDS_OLD)),
    "openhands events": ("openhands", lines(*OPENHANDS_EVENTS)),
    "openhands export": ("openhands", document(OPENHANDS_INSTANCE["history"])),
    "chat lines": ("chat", lines(*CHAT)),
    "chat document": ("chat", document(CHAT)),
    "chat blocks": ("chat", document(CHAT_BLOCKS)),
}
