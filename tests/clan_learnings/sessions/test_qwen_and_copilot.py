"""Sessions of Qwen Code and GitHub Copilot CLI, as the clients write them: who said what, and how commands ended."""

from typing import Any

from clan_learnings.sessions.recognition import read_transcript
from clan_learnings.sessions.transcript_events import Kind, Session, Usage
from tests.clan_learnings.sessions.transcripts import lines, session_of

REPORT = "Command: pytest\nDirectory: (root)\nOutput: 1 failed\nError: (none)\nExit Code: 1\nSignal: 0\nProcess Group PGID: 42"


def qwen(sort: str, uuid: str, *parts: Any, **fields: Any) -> dict[str, Any]:
    role = "model" if sort == "assistant" else "user"
    return {
        "uuid": uuid,
        "parentUuid": None,
        "sessionId": "q1",
        "timestamp": "2026-03-01T10:00:00.000Z",
        "type": sort,
        "cwd": "/src/shop",
        "version": "0.15.10",
        "message": {"role": role, "parts": list(parts)},
    } | fields


CALL = {"functionCall": {"id": "c1", "name": "run_shell_command", "args": {"command": "pytest"}}}
ANSWER = {"functionResponse": {"id": "c1", "name": "run_shell_command", "response": {"output": REPORT}}}
QWEN = (
    qwen("user", "u1", {"text": "run the tests"}, {"text": "what a hook added"}),
    {**qwen("system", "s1"), "subtype": "ui_telemetry", "systemPayload": {"uiEvent": {}}, "message": None},
    qwen(
        "assistant",
        "a1",
        {"text": "I wonder", "thought": True},
        CALL,
        model="qwen3",
        usageMetadata={"promptTokenCount": 10, "cachedContentTokenCount": 4, "candidatesTokenCount": 2},
    ),
    qwen("tool_result", "t1", ANSWER, toolCallResult={"callId": "c1", "status": "success"}),
    qwen("assistant", "a2", {"text": "One fails."}, model="qwen3"),
)


def copilot(sort: str, **data: Any) -> dict[str, Any]:
    return {"type": sort, "data": data, "id": "i", "timestamp": "2026-03-01T10:00:00.000Z", "parentId": None}


REQUEST = {"toolCallId": "c1", "name": "bash", "arguments": {"command": "pytest"}, "type": "function"}
PRINTED = "1 failed\n<shellId: 0 completed with exit code 1>"
COPILOT = (
    copilot(
        "session.start",
        sessionId="p1",
        producer="copilot-agent",
        copilotVersion="1.0.102",
        selectedModel="gpt-4.1",
        context={"cwd": "/src/shop", "branch": "main"},
    ),
    copilot("hook.start", hookType="sessionStart", input={"initialPrompt": "run the tests"}),
    copilot("user.message", content="run the tests", transformedContent="<current_datetime/> run the tests"),
    copilot("system.message", role="system", content="You are an assistant"),
    copilot("assistant.message", messageId="m1", model="gpt-4.1", content="", toolRequests=[REQUEST]),
    copilot("tool.execution_start", toolCallId="c1", toolName="bash", arguments={"command": "pytest"}),
    copilot(
        "tool.execution_complete",
        toolCallId="c1",
        success=True,
        shellExecution={"exitCode": 1},
        result={
            "content": f"{PRINTED}\n\nAdditional guidance from postToolUse hooks:\nours",
            "detailedContent": PRINTED,
        },
    ),
    copilot("session.usage_record", usage={"inputTokens": 10, "outputTokens": 2, "cacheReadTokens": 4}),
    copilot("assistant.message", messageId="m2", model="gpt-4.1", content="One fails.", toolRequests=[]),
)


def said(session: Session) -> list[tuple[Kind, str]]:
    return [(event.kind, event.text) for event in session.events if event.kind not in (Kind.THOUGHT, Kind.INJECTED)]


def test_both_tell_what_was_said_and_done() -> None:
    """That a tool succeeded does not say that its command did."""
    for records, flavour, name, model in ((QWEN, "qwen", "q1", "qwen3"), (COPILOT, "copilot", "p1", "gpt-4.1")):
        session = session_of(lines(*records), flavour)
        assert said(session) == [
            (Kind.PROMPT, "run the tests"),
            (Kind.CALL, "pytest"),
            (Kind.RESULT, "1 failed"),
            (Kind.REPLY, "One fails."),
        ]
        result = next(event for event in session.events if event.kind is Kind.RESULT)
        assert (result.failed, result.exit_code) == (True, 1)
        assert (session.id, session.folder, session.model) == (name, "/src/shop", model)
        assert (session.messages, session.calls, session.usage) == (3, 1, Usage(6, 2, 4))


def test_a_person_may_refuse_a_call() -> None:
    refused = copilot(
        "tool.execution_complete", toolCallId="c1", success=False, error={"code": "denied", "message": ""}
    )
    session = session_of(lines(*COPILOT[:5], refused), "copilot")
    assert said(session)[-1] == (Kind.REFUSAL, "")
    cancelled = qwen("tool_result", "t1", ANSWER, toolCallResult={"callId": "c1", "status": "cancelled"})
    assert said(session_of(lines(*QWEN[:3], cancelled), "qwen"))[-1] == (Kind.REFUSAL, "")


def test_a_line_that_is_there_twice_counts_once() -> None:
    assert said(session_of(lines(*QWEN, *QWEN), "qwen")) == said(session_of(lines(*QWEN), "qwen"))


def test_unknown_sorts_are_counted_by_name() -> None:
    read = read_transcript(lines(*COPILOT, copilot("riddle.asked")))
    assert read.skipped == {"a record of a sort that is not known: riddle.asked": 1}
    read = read_transcript(lines(*QWEN, qwen("riddle", "r1")))
    assert read.skipped == {"a record of a sort that is not known: riddle": 1}


def test_stopped_sessions_say_so() -> None:
    session = session_of(
        lines(*COPILOT, copilot("abort", reason="user"), copilot("session.error", message="429")), "copilot"
    )
    assert said(session)[-2:] == [(Kind.INTERRUPT, ""), (Kind.FAULT, "429")]
