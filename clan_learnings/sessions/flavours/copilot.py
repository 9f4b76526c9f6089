"""GitHub Copilot CLI: lines of events `{type, data, id, timestamp, parentId}`, as 1.0 writes them to `session-state/ID/events.jsonl`.

`success` speaks of the tool: how a command ended is in `shellExecution`. What hooks, skills and the program itself say is left out.
"""

from collections.abc import Iterator
from typing import Any

from clan_learnings.sessions.json_values import count_of, exit_code_of, instant_ms, list_of, object_of, text_of
from clan_learnings.sessions.session_builder import SessionBuilder
from clan_learnings.sessions.transcript_events import Kind, Session
from clan_learnings.sessions.transcript_source import TranscriptSource

NAME = "copilot"
_PRODUCER = "copilot-agent"
_QUIET = ("session.", "hook.", "permission.", "skill.", "tool.", "system.", "pending_", "assistant.", "subagent.")
_REFUSED = {"denied", "rejected"}
_SHELL_END = "\n<shellId: "


def recognises(source: TranscriptSource) -> bool:
    """Its first event names who writes; a later part of a file has events of tools and answers with the data they have."""
    for _, value in source.head:
        data = object_of(value.get("data"))
        if value.get("type") == "session.start" and data.get("producer") == _PRODUCER:
            return True
        if value.get("type") == "assistant.message" and "messageId" in data and "parentId" in value:
            return True
    return False


def read(source: TranscriptSource) -> Iterator[Session]:
    """One session a file."""
    draft = SessionBuilder(NAME)
    for line, value in source.records():
        data, sort, at_ms = object_of(value.get("data")), text_of(value.get("type")), instant_ms(value.get("timestamp"))
        draft.saw(at_ms)
        match sort:
            case "session.start":
                _start(draft, data)
            case "user.message":
                draft.prompt(line, text_of(data.get("content")), at_ms)
            case "assistant.message":
                _answer(draft, line, data, at_ms)
            case "tool.execution_complete":
                _result(draft, line, data, at_ms)
            case "session.usage_record":
                used = object_of(data.get("usage"))
                cached = count_of(used.get("cacheReadTokens"))
                draft.spend(
                    max(0, count_of(used.get("inputTokens")) - cached), count_of(used.get("outputTokens")), cached
                )
            case "session.error":
                draft.note(line, Kind.FAULT, text_of(data.get("message")), at_ms)
            case "abort":
                draft.note(line, Kind.INTERRUPT, "", at_ms)
            case _ if not sort.startswith(_QUIET):
                source.skip_sort("a record", value.get("type"))
    yield draft.session(source.skipped)


def _start(draft: SessionBuilder, data: dict[str, Any]) -> None:
    about = object_of(data.get("context"))
    draft.id = draft.id or text_of(data.get("sessionId"))
    draft.version = text_of(data.get("copilotVersion"))
    draft.model = text_of(data.get("selectedModel"))
    draft.folder = draft.folder or text_of(about.get("cwd"))
    draft.branch = draft.branch or text_of(about.get("branch"))
    draft.saw(instant_ms(data.get("startTime")))


def _answer(draft: SessionBuilder, line: int, data: dict[str, Any], at_ms: int | None) -> None:
    key = text_of(data.get("messageId")) or f"line {line}"
    draft.model = text_of(data.get("model")) or draft.model
    draft.thought(line, text_of(data.get("reasoningText")), key, at_ms)
    draft.reply(line, text_of(data.get("content")), key, at_ms)
    for call in map(object_of, list_of(data.get("toolRequests"))):
        arguments = object_of(call.get("arguments"))
        draft.call(line, text_of(call.get("toolCallId")), text_of(call.get("name")), arguments, key, at_ms)


def _result(draft: SessionBuilder, line: int, data: dict[str, Any], at_ms: int | None) -> None:
    name, error, result = text_of(data.get("toolCallId")), object_of(data.get("error")), object_of(data.get("result"))
    if text_of(error.get("code")) in _REFUSED:
        draft.refusal(line, name, "", at_ms)
        return
    text = text_of(result.get("detailedContent")) or text_of(result.get("content")) or text_of(error.get("message"))
    code = exit_code_of(object_of(data.get("shellExecution")).get("exitCode"))
    success = data.get("success")
    failed = not success if isinstance(success, bool) else None
    draft.result(line, name, text.partition(_SHELL_END)[0], at_ms, failed=failed, exit_code=code)
