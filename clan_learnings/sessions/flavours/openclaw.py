"""OpenClaw and pi: one engine, one form. Which of them it was, the records tell; pi, if none says OpenClaw.

Every record counts, in the order of the file: a branch that was left was tried. An answer that failed at the provider and
was tried again is a FAULT, and no message unless it had said something.
"""

import os
import re
from collections.abc import Iterator
from typing import Any

from clan_learnings.sessions.failed_output import exit_code_in
from clan_learnings.sessions.json_values import (
    count_of,
    exit_code_of,
    instant_ms,
    list_of,
    object_of,
    parsed,
    text_of,
    words_of,
)
from clan_learnings.sessions.prompt_text import said_in_channel
from clan_learnings.sessions.session_builder import SessionBuilder, dollars_of, opening_id
from clan_learnings.sessions.transcript_events import Kind, Session
from clan_learnings.sessions.transcript_source import TranscriptSource

NAME = "openclaw"
PI = "pi"
_ROLES = {
    "user",
    "assistant",
    "toolResult",
    "bashExecution",
    "system",
    "custom",
    "branchSummary",
    "compactionSummary",
    "hookMessage",
}
_OWN_TYPES = re.compile(r"openclaw|model-snapshot")
_QUIET = {"thinking_level_change", "label", "session", "leaf", "active_tools_change"}
_ANSWER = 20_000  # characters of a tool that answers in JSON; files that are shown may be longer
_ABORTED = "Command aborted"
_FAULTS = {"openclaw:prompt-error", "openclaw.prompt-error"}


def recognises(source: TranscriptSource) -> bool:
    """Whether a header is there, or records that wrap a message as only this engine does."""
    return any(_is_header(record.value) or _is_message(record.value) for record in source.head)


def read(source: TranscriptSource) -> Iterator[Session]:
    """The one session of the file."""
    draft = SessionBuilder(PI)
    seen: set[str] = set()
    begins: list[str] = []
    for line, value in source.records():
        name = text_of(value.get("id"))
        if name and name in seen and value.get("type") != "session":
            source.skip("a record that is there already")
            continue
        seen.add(name)
        if len(begins) < 4:
            begins.append(words_of(object_of(value.get("message")).get("content")))
        if _speaks_of_openclaw(value):
            draft.flavour = NAME
        if not _tell(draft, line, value):
            source.skip_sort("a record", value.get("type"))
    draft.id = draft.id or opening_id(*begins)
    yield draft.session(source.skipped)


def _tell(draft: SessionBuilder, line: int, value: dict[str, Any]) -> bool:
    at_ms = instant_ms(value.get("timestamp"))
    draft.saw(at_ms)
    match value.get("type"):
        case "session":
            _header(draft, value)
        case "message":
            return _message(draft, line, object_of(value.get("message")), text_of(value.get("id")), at_ms)
        case "model_change":
            draft.model = text_of(value.get("modelId")) or draft.model
        case "compaction" | "branch_summary":
            draft.note(line, Kind.SUMMARY, text_of(value.get("summary")), at_ms)
        case "custom_message":
            draft.note(line, Kind.INJECTED, words_of(value.get("content")), at_ms)
        case "custom":
            if text_of(value.get("customType")) in _FAULTS:
                draft.note(line, Kind.FAULT, text_of(object_of(value.get("data")).get("error")), at_ms)
        case "session_info":
            draft.title = text_of(value.get("name")) or draft.title
        case str(sort) if sort in _QUIET:
            pass
        case _:
            return False
    return True


def _header(draft: SessionBuilder, value: dict[str, Any]) -> None:
    if draft.id:
        return  # of a session that this one was forked from: the first header is the file's own
    draft.id = text_of(value.get("id"))
    draft.folder = text_of(value.get("cwd"))
    draft.model = text_of(value.get("modelId")) or draft.model
    origin = text_of(value.get("parentSession")) or text_of(value.get("branchedFrom"))
    stem = os.path.basename(origin).removesuffix(".jsonl")
    draft.parent = stem.rpartition("_")[2]  # files of pi are called TIME_ID.jsonl


def _message(draft: SessionBuilder, line: int, message: dict[str, Any], record: str, at_ms: int | None) -> bool:
    content = message.get("content")
    match message.get("role"):
        case "user":
            words = words_of(content)
            if said := said_in_channel(words):
                draft.prompt(line, said, at_ms)
            else:
                draft.note(line, Kind.INJECTED, words, at_ms)
        case "assistant":
            _answer(draft, line, message, record or f"line {line}", at_ms)
        case "toolResult":
            _result(draft, line, message, at_ms)
        case "bashExecution":  # a person ran it; the model only reads it
            code = exit_code_of(message.get("exitCode"))
            ended = "" if code is None else f"\nexit code: {code}"
            draft.note(
                line,
                Kind.INJECTED,
                f"$ {text_of(message.get('command'))}\n{text_of(message.get('output'))}{ended}",
                at_ms,
            )
        case "branchSummary" | "compactionSummary":
            draft.note(line, Kind.SUMMARY, text_of(message.get("summary")), at_ms)
        case "system" | "custom" | "hookMessage":
            draft.note(line, Kind.INJECTED, words_of(content), at_ms)
        case _:
            return False
    return True


def _answer(draft: SessionBuilder, line: int, message: dict[str, Any], key: str, at_ms: int | None) -> None:
    content = message.get("content")
    blocks = [object_of(block) for block in list_of(content)]
    if isinstance(content, str):
        draft.reply(line, content, key, at_ms)
    for block in blocks:
        match block.get("type"):
            case "text":
                draft.reply(line, text_of(block.get("text")), key, at_ms)
            case "thinking":
                draft.thought(line, text_of(block.get("thinking")), key, at_ms)
            case "toolCall":
                arguments = object_of(block.get("arguments"))
                draft.call(line, text_of(block.get("id")), text_of(block.get("name")), arguments, key, at_ms)
            case _:
                pass
    usage = object_of(message.get("usage"))
    draft.spend(
        count_of(usage.get("input")),
        count_of(usage.get("output")),
        count_of(usage.get("cacheRead")),
        dollars_of(object_of(usage.get("cost")).get("total")),
    )
    draft.model = draft.model or text_of(message.get("model"))
    if message.get("stopReason") == "error":
        draft.note(line, Kind.FAULT, text_of(message.get("errorMessage")), at_ms)
    elif message.get("stopReason") == "aborted":
        draft.note(line, Kind.INTERRUPT, text_of(message.get("errorMessage")), at_ms)


def _result(draft: SessionBuilder, line: int, message: dict[str, Any], at_ms: int | None) -> None:
    text, details, flag = words_of(message.get("content")), object_of(message.get("details")), message.get("isError")
    name = text_of(message.get("toolCallId"))
    code = exit_code_of(details.get("exitCode"))
    if code is None and draft.command_of_call(name):
        code = exit_code_in(text)
    failed = flag if isinstance(flag, bool) else None
    if not failed and "error" in {text_of(details.get("status")), _status_in(text)}:
        failed = True  # OpenClaw's own tools answer so, and flag nothing
    draft.result(
        line,
        name,
        text,
        at_ms,
        tool=text_of(message.get("toolName")),
        failed=failed,
        exit_code=code,
        is_collateral=flag is True and text.rstrip().endswith(_ABORTED),
    )


def _status_in(text: str) -> str:
    return text_of(object_of(parsed(text)).get("status")) if text.startswith("{") and len(text) < _ANSWER else ""


def _speaks_of_openclaw(value: dict[str, Any]) -> bool:
    """What only OpenClaw writes: its own types, its providers, its folders; text of messages does not count."""
    message = object_of(value.get("message"))
    told = (
        value.get("customType"),
        value.get("provider"),
        value.get("agent"),
        value.get("cwd"),
        message.get("provider"),
        message.get("api"),
        value.get("id") if value.get("type") == "session" else "",
    )
    return any(_OWN_TYPES.search(text_of(text)) for text in told)


def _is_header(value: dict[str, Any]) -> bool:
    is_one = value.get("type") == "session" and isinstance(value.get("id"), str)
    return is_one and ("cwd" in value or "version" in value or "modelId" in value)


def _is_message(value: dict[str, Any]) -> bool:
    role = object_of(value.get("message")).get("role")
    return value.get("type") == "message" and isinstance(role, str) and role in _ROLES and "sessionId" not in value
