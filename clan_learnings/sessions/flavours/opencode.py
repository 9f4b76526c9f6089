"""OpenCode: a session as one document, `{info, messages: [{info, parts}]}`, as `opencode export` writes it, or the lines
of `opencode run --format json`, which leave out what the person asked.

A call and its result are one part here; both cite the part's line. The task of a subagent is the model's text: INJECTED.
"""

import json
import os
import re
from collections.abc import Iterator
from typing import Any

from clan_learnings.sessions.failed_output import exit_code_in
from clan_learnings.sessions.json_values import count_of, exit_code_of, instant_ms, object_of, parsed, text_of
from clan_learnings.sessions.session_builder import SessionBuilder, dollars_of
from clan_learnings.sessions.transcript_events import Kind, Session
from clan_learnings.sessions.transcript_source import BYTES, DocumentPart, TranscriptSource

NAME = "opencode"
_QUIET = {"step-start", "step-finish", "snapshot", "patch", "file", "agent", "subtask", "compaction"}
_REFUSED = (
    "The user rejected permission",
    "The user dismissed this question",
)  # what a person said follows after a colon, if anything
_REASON = "following feedback: "
_ABORTED = {"Tool execution aborted", "Aborted"}


def recognises(source: TranscriptSource) -> bool:
    """Whether the document has a session's head, and messages in parts; or lines hold such parts."""
    if any(_is_streamed(record.value) for record in source.head):
        return True
    document = source.document()
    found = object_of(document.value if document else None)
    info, messages = object_of(found.get("info")), found.get("messages")
    if _is_head(found):
        return True
    if not isinstance(messages, list):
        return False
    in_parts = any("parts" in object_of(message) and "info" in object_of(message) for message in messages[:3])
    return in_parts or text_of(info.get("id")).startswith("ses_")


def read(source: TranscriptSource) -> Iterator[Session]:
    """The one session of the document, or the sessions of the lines."""
    document = source.document()
    if document is None or _is_streamed(document.value):
        yield from _streamed(source)
        return
    if _is_head(document.value):
        source.skip("the head of a session, whose messages lie in other files")
        return
    info = object_of(object_of(document.value).get("info"))
    draft = SessionBuilder(NAME, text_of(info.get("id")))
    draft.parent = text_of(info.get("parentID"))
    draft.is_subagent = bool(draft.parent)
    draft.folder = text_of(info.get("directory"))
    draft.version = text_of(info.get("version"))
    draft.title = text_of(info.get("title"))
    draft.model = text_of(object_of(info.get("model")).get("id"))
    time = object_of(info.get("time"))
    draft.saw(instant_ms(time.get("created")))
    draft.saw(instant_ms(time.get("updated")))
    messages = document.member("messages")
    for number, message in enumerate(messages.elements() if messages else ()):
        about = object_of(object_of(message.value).get("info"))
        parts = message.member("parts")
        if about.get("role") not in ("user", "assistant") or parts is None:
            source.skip_sort("a message", about.get("role"))
            continue
        _message(source, draft, message.line, about, parts, text_of(about.get("id")) or f"{number}")
    yield draft.session(source.skipped)


def _message(
    source: TranscriptSource, draft: SessionBuilder, line: int, about: dict[str, Any], parts: DocumentPart, key: str
) -> None:
    time = object_of(about.get("time"))
    at_ms = instant_ms(time.get("created"))
    draft.saw(at_ms)
    draft.saw(instant_ms(time.get("completed")))
    is_person = about.get("role") == "user"
    for part in parts.elements():
        value = object_of(part.value)
        match value.get("type"):
            case "text" if is_person:
                _typed(draft, part.line, value, at_ms)
            case "text" if about.get("summary") is True:
                draft.note(part.line, Kind.SUMMARY, text_of(value.get("text")), _started(value, at_ms))
            case "text":
                draft.reply(part.line, text_of(value.get("text")), key, _started(value, at_ms))
            case "reasoning":
                draft.thought(part.line, text_of(value.get("text")), key, _started(value, at_ms))
            case "tool":
                _tool(draft, part.line, value, key, at_ms, _answered(part))
            case "retry":
                draft.note(part.line, Kind.FAULT, _error(value), _started(value, at_ms))
            case str(sort) if sort in _QUIET:
                pass
            case _:
                source.skip_sort("a part", value.get("type"))
    if is_person:
        return
    draft.model = text_of(about.get("modelID")) or draft.model
    _spend(draft, about)
    if error := object_of(about.get("error")):
        stopped = text_of(error.get("name")) == "MessageAbortedError"
        draft.note(line, Kind.INTERRUPT if stopped else Kind.FAULT, _error(about), at_ms)


def _streamed(source: TranscriptSource) -> Iterator[Session]:
    drafts: dict[str, SessionBuilder] = {}
    for line, value in source.records():
        if not _is_streamed(value):
            source.skip_sort("a record", value.get("type"))
            continue
        name, part, at_ms = (
            text_of(value.get("sessionID")),
            object_of(value.get("part")),
            instant_ms(value.get("timestamp")),
        )
        draft = drafts.setdefault(name, SessionBuilder(NAME, name))
        draft.saw(at_ms)
        key = text_of(part.get("messageID")) or f"line {line}"
        match part.get("type"):
            case "text":
                draft.reply(line, text_of(part.get("text")), key, at_ms)
            case "reasoning":
                draft.thought(line, text_of(part.get("text")), key, at_ms)
            case "tool":
                _tool(draft, line, part, key, at_ms)
            case "step-finish":
                _spend(draft, part)
            case _ if value.get("type") == "error":
                draft.note(line, Kind.FAULT, _error(value), at_ms)
            case _:
                pass
    for draft in drafts.values():
        yield draft.session(source.skipped)


def _spend(draft: SessionBuilder, told: dict[str, Any]) -> None:
    tokens = object_of(told.get("tokens"))
    draft.spend(
        count_of(tokens.get("input")),
        count_of(tokens.get("output")) + count_of(tokens.get("reasoning")),  # counted apart, paid alike
        count_of(object_of(tokens.get("cache")).get("read")),
        dollars_of(told.get("cost")),
    )


def _is_head(value: Any) -> bool:
    """What OpenCode's own storage has in the session's file; `opencode_storage` puts the rest to it."""
    found = object_of(value)
    return text_of(found.get("id")).startswith("ses_") and "projectID" in found and "messages" not in found


def _is_streamed(value: Any) -> bool:
    found = object_of(value)
    has_part = isinstance(found.get("part"), dict) or text_of(found.get("type")) == "error"
    return has_part and text_of(found.get("sessionID")).startswith("ses_")


def _typed(draft: SessionBuilder, line: int, value: dict[str, Any], at_ms: int | None) -> None:
    text = text_of(value.get("text"))
    if value.get("synthetic") is True or draft.is_subagent:
        draft.note(line, Kind.INJECTED, text, at_ms)
    elif text:
        draft.prompt(line, text, at_ms)


def _answered(part: DocumentPart) -> int | None:
    """Where a tool's answer stands: in a document printed over many lines, some way below its call."""
    state = part.member("state")
    told = None if state is None else state.member("output") or state.member("error")
    return None if told is None else told.line


def _tool(
    draft: SessionBuilder, line: int, value: dict[str, Any], key: str, at_ms: int | None, answered: int | None = None
) -> None:
    """`answered`: the line of the answer, if it is another."""
    state = object_of(value.get("state"))
    time, meta = object_of(state.get("time")), object_of(state.get("metadata"))
    started = instant_ms(time.get("start")) or at_ms
    name = draft.call(
        line, text_of(value.get("callID")), text_of(value.get("tool")), object_of(state.get("input")), key, started
    )
    ended, error = instant_ms(time.get("end")) or started, text_of(state.get("error"))
    below = answered or line
    if state.get("status") == "error":
        if error.startswith(_REFUSED):
            draft.refusal(below, name, error.partition(_REASON)[2].strip(), ended)
        else:
            draft.result(below, name, error, ended, failed=True, is_collateral=error in _ABORTED)
    elif state.get("status") == "completed":
        text = text_of(state.get("output"))
        code = exit_code_of(meta.get("exit"))
        if code is None and draft.command_of_call(name):
            code = exit_code_in(text)
        draft.result(below, name, text, ended, failed=False, exit_code=code)


def _error(value: dict[str, Any]) -> str:
    error = object_of(value.get("error"))
    return (
        text_of(object_of(error.get("data")).get("message"))
        or text_of(error.get("message"))
        or text_of(error.get("name"))
    )


def _started(value: dict[str, Any], otherwise: int | None) -> int | None:
    return instant_ms(object_of(value.get("time")).get("start")) or otherwise


_ID = re.compile(r"(?:ses|msg|prt)_[A-Za-z0-9]{1,64}")
_FILES = 200_000  # of one session


def assembled(path: str) -> bytes | None:
    """The session whose head is the file `storage/session/PROJECT/ID.json`; None if it is no such file, or has no messages."""
    sessions = os.path.dirname(os.path.dirname(path))
    if os.path.basename(sessions) != "session":
        return None
    storage, info = os.path.dirname(sessions), _object(os.path.dirname(path), os.path.basename(path))
    name = text_of(info.get("id"))
    if not _ID.fullmatch(name):
        return None
    messages: list[dict[str, Any]] = []
    size = files = 0
    for message in _named(os.path.join(storage, "message", name)):
        about = _object(os.path.join(storage, "message", name), f"{message}.json")
        folder = os.path.join(storage, "part", message)
        parts = []
        for part in _named(folder):
            files += 1
            size += _size(os.path.join(folder, f"{part}.json"))
            if files > _FILES or size > BYTES // 2:
                return None
            parts.append(_object(folder, f"{part}.json"))
        messages.append({"info": about, "parts": parts})
    return json.dumps({"info": info, "messages": messages}, indent=1).encode() if messages else None


def _named(folder: str) -> list[str]:
    """The ids of a folder's files, in the order in which OpenCode gave them."""
    if os.path.islink(folder):
        return []
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    return sorted(
        stem for name in names if name.endswith(".json") and _ID.fullmatch(stem := name.removesuffix(".json"))
    )


def _object(folder: str, name: str) -> dict[str, Any]:
    data = TranscriptSource(b"", os.path.join(folder, "-")).beside(name) or b""
    return object_of(parsed(data.decode("utf-8", "replace")))


def _size(path: str) -> int:
    try:
        return os.lstat(path).st_size
    except OSError:
        return 0
