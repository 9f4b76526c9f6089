"""Qwen Code: lines in envelopes like those of Claude Code, with messages in Gemini's parts, as 0.15 writes them.

`tool_result` lines stand in the person's role. `system` lines tell of the program itself: telemetry, snapshots; what a command
of the program answered, or a shorter text that takes the place of the conversation, is no person's word either.
"""

from collections.abc import Iterator
from typing import Any

from clan_learnings.sessions.flavours.gemini import report_of
from clan_learnings.sessions.json_values import count_of, instant_ms, list_of, object_of, text_of, words_of
from clan_learnings.sessions.session_builder import SessionBuilder
from clan_learnings.sessions.transcript_events import Kind, Session
from clan_learnings.sessions.transcript_source import TranscriptSource

NAME = "qwen"
ORDER = -1  # before Claude Code, whose envelopes these are
_SORTS = {"user", "assistant", "tool_result", "system"}
_COMPRESSED = "chat_compression"


def recognises(source: TranscriptSource) -> bool:
    """Claude Code's envelopes around messages in parts."""
    return any(
        text_of(value.get("type")) in _SORTS
        and isinstance(value.get("sessionId"), str)
        and isinstance(object_of(value.get("message")).get("parts"), list)
        for _, value in source.head
    )


def read(source: TranscriptSource) -> Iterator[Session]:
    """One session a file."""
    draft = SessionBuilder(NAME)
    seen: set[str] = set()
    for line, value in source.records():
        uuid = text_of(value.get("uuid"))
        if uuid and uuid in seen:
            source.skip("a record that is there already")
            continue
        seen.add(uuid)
        draft.id = draft.id or text_of(value.get("sessionId"))
        draft.folder = draft.folder or text_of(value.get("cwd"))
        draft.branch = draft.branch or text_of(value.get("gitBranch"))
        draft.version = text_of(value.get("version")) or draft.version
        at_ms = instant_ms(value.get("timestamp"))
        draft.saw(at_ms)
        parts = [object_of(part) for part in list_of(object_of(value.get("message")).get("parts"))]
        match value.get("type"):
            case "user":
                typed, *added = [text_of(part.get("text")) for part in parts] or [""]
                draft.prompt(line, typed, at_ms)
                draft.note(
                    line, Kind.INJECTED, "\n".join(filter(None, added)), at_ms
                )  # by hooks, or a file that was named
            case "assistant":
                _answer(draft, line, value, parts, uuid or f"line {line}", at_ms)
            case "tool_result":
                _results(draft, line, value, parts, at_ms)
            case "system":
                if value.get("subtype") == _COMPRESSED:
                    draft.note(line, Kind.SUMMARY, words_of(value.get("systemPayload")) or "compressed", at_ms)
            case sort:
                source.skip_sort("a record", sort)
    yield draft.session(source.skipped)


def _words(parts: list[dict[str, Any]]) -> str:
    return "\n".join(filter(None, (text_of(part.get("text")) for part in parts if part.get("thought") is not True)))


def _answer(
    draft: SessionBuilder, line: int, value: dict[str, Any], parts: list[dict[str, Any]], key: str, at_ms: int | None
) -> None:
    draft.model = text_of(value.get("model")) or draft.model
    for part in parts:
        if part.get("thought") is True:
            draft.thought(line, text_of(part.get("text")), key, at_ms)
    draft.reply(line, _words(parts), key, at_ms)
    for part in parts:
        if call := object_of(part.get("functionCall")):
            arguments = object_of(call.get("args"))
            draft.call(line, text_of(call.get("id")), text_of(call.get("name")), arguments, key, at_ms)
    used = object_of(value.get("usageMetadata"))
    cached = count_of(used.get("cachedContentTokenCount"))
    written = count_of(used.get("candidatesTokenCount")) + count_of(used.get("thoughtsTokenCount"))
    draft.spend(max(0, count_of(used.get("promptTokenCount")) - cached), written, cached)


def _results(
    draft: SessionBuilder, line: int, value: dict[str, Any], parts: list[dict[str, Any]], at_ms: int | None
) -> None:
    status = object_of(value.get("toolCallResult")).get("status")
    for part in parts:
        answer = object_of(part.get("functionResponse"))
        if not answer:
            continue
        name, response = text_of(answer.get("id")), object_of(answer.get("response"))
        text = words_of(response.get("error")) or words_of(response.get("output"))
        if status == "cancelled":
            draft.refusal(line, name, "", at_ms)
            continue
        code = None
        if draft.command_of_call(name):
            report = report_of(text)
            text, code = report.printed, report.exit_code
        failed = True if status == "error" or "error" in response else False if status == "success" else None
        draft.result(line, name, text, at_ms, failed=failed, exit_code=code)
