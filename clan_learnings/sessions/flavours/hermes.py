"""Hermes: lines of its gateway, documents of its command line, conversations exported for training. Telemetry and the archival export are in `hermes_export`.

Its times have no zone and are taken as UTC. Lines of the gateway name no session: the file does, or else their beginning.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from clan_learnings.sessions.flavours.chat import ChatReader, ToolAnswer, prose, role_of
from clan_learnings.sessions.json_values import exit_code_of, instant_ms, list_of, object_of, parsed, text_of, words_of
from clan_learnings.sessions.prompt_text import said_in_channel, without_name
from clan_learnings.sessions.session_builder import SessionBuilder, opening_id
from clan_learnings.sessions.transcript_events import Kind, Session
from clan_learnings.sessions.transcript_source import TranscriptSource

NAME = "hermes"
_COMPACTION = "[CONTEXT COMPACTION"
_META = "session_meta"
_DOCUMENT = {"session_start", "platform", "message_count", "last_updated", "base_url"}
_TRACE = {"finish_reason", "reasoning", "codex_reasoning_items", "reasoning_details"}
_EXPORT = {"completed", "model", "timestamp", "toolsets_used", "api_calls"}
_FILE = re.compile(r"(\d{8}_\d{6}_[0-9A-Za-z]{4,16})\.jsonl$")
_ALONE = ("cli", "local", "tui")  # where one person types, and nobody's name stands before a line


def recognises(source: TranscriptSource) -> bool:
    """Whether a header, or the traits of Hermes' messages, are there."""
    head = [record.value for record in source.head]
    if any(value.get("role") == _META for value in head) or any(map(_is_traced, head)) or any(map(_is_export, head)):
        return True
    document = source.document()
    return document is not None and (_is_session(document.value) or _is_export(document.value))


def read(source: TranscriptSource) -> Iterator[Session]:
    """The sessions of the transcript."""
    document = source.document()
    if document is not None and _is_session(document.value):
        messages = document.member("messages")
        told = ((part.line, object_of(part.value)) for part in messages.elements()) if messages else ()
        yield _conversation(source, document.value, told)
    elif document is not None and _is_export(document.value):
        yield _exported(source, document.line, document.value)
    elif any(_is_export(record.value) for record in source.head):
        for line, value in source.records():
            if _is_export(value):
                yield _exported(source, line, value)
            else:
                source.skip("a record that is no conversation")
    else:
        yield _conversation(source, {}, source.records())


def _conversation(
    source: TranscriptSource, about: dict[str, Any], messages: Iterable[tuple[int, dict[str, Any]]]
) -> Session:
    draft = SessionBuilder(NAME, text_of(about.get("session_id")))
    draft.parent = text_of(about.get("parent_session_id"))
    draft.model = text_of(about.get("model"))
    draft.folder = text_of(about.get("cwd")) or text_of(object_of(about.get("model_config")).get("cwd"))
    draft.title = text_of(about.get("title"))
    draft.saw(instant_ms(about.get("session_start")))
    draft.saw(instant_ms(about.get("last_updated")))
    platform = text_of(about.get("platform"))
    begins: list[str] = []

    def typed_words(text: str) -> str:
        return text if platform in _ALONE else without_name(said_in_channel(text))

    telling = ChatReader(draft, answer=_answer, person=typed_words)
    if document := source.document() if about else None:
        instructions = document.member("system_prompt")
        draft.note(instructions.line if instructions else 1, Kind.INJECTED, text_of(about.get("system_prompt")))
    for line, message in messages:
        at_ms = instant_ms(message.get("timestamp"))
        words = words_of(message.get("content"))
        if message.get("role") == _META:
            platform = platform or text_of(message.get("platform"))
            draft.model = draft.model or text_of(message.get("model"))
            draft.saw(at_ms)
        elif words.startswith(_COMPACTION):
            draft.note(line, Kind.SUMMARY, words, at_ms)
        elif not telling.tell(line, message, at_ms):
            source.skip_sort("a record", message.get("role"))
        if len(begins) < 4:
            begins.append(f"{text_of(message.get('timestamp'))} {words}")
    draft.id = draft.id or _named_by(source.path) or opening_id(*begins)
    return draft.session(source.skipped)


def _answer(text: str, command: str) -> ToolAnswer:
    """Tools answer with JSON text: {output, exit_code, error}, or {success, error}."""
    value = parsed(text)
    return _structured(value, text) if isinstance(value, dict) else prose(text, command)


def _structured(value: dict[str, Any], text: str) -> ToolAnswer:
    error = value.get("error")
    told = text_of(value.get("output")) or text_of(value.get("content")) or ("" if "output" in value else text)
    if isinstance(error, str) and error and error not in told:
        told = f"{told}\n{error}".strip()
    success = value.get("success")
    failed = True if error or success is False else False if success is True else None
    return ToolAnswer(told, failed, exit_code_of(value.get("exit_code")))


def _exported(source: TranscriptSource, line: int, value: dict[str, Any]) -> Session:
    """A conversation as it is exported for training: thoughts and calls stand as tags in the text."""
    turns = [object_of(turn) for turn in list_of(value.get("conversations"))]
    draft = SessionBuilder(NAME, opening_id(*(text_of(turn.get("value")) for turn in turns[:4])))
    draft.model = text_of(value.get("model"))
    draft.saw(instant_ms(value.get("timestamp")))
    calls: list[str] = []
    for number, turn in enumerate(turns):
        text, who = text_of(turn.get("value")), role_of(turn)
        if who in ("human", "user"):
            draft.prompt(line, text)
        elif who in ("gpt", "assistant"):
            key = f"{number}"
            thoughts, text = _tagged(text, "think")
            written, text = _tagged(text, "tool_call")
            draft.thought(line, "\n".join(thoughts), key)
            draft.reply(line, text.strip(), key)
            made = [object_of(parsed(call)) for call in written]
            calls += [
                draft.call(line, "", text_of(call.get("name")), object_of(call.get("arguments")), key) for call in made
            ]
        elif who == "tool":
            for answer in _tagged(text, "tool_response")[0] or [text]:
                told = _answer_in(answer)
                draft.result(
                    line, calls.pop(0) if calls else "", told.text, failed=told.failed, exit_code=told.exit_code
                )
        else:
            draft.note(line, Kind.INJECTED, text)
    return draft.session(source.skipped)


def _tagged(text: str, tag: str) -> tuple[list[str], str]:
    """What stands in pairs of a tag, and the text without it."""
    opening, closing = f"<{tag}>", f"</{tag}>"
    inside, outside, at = [], [], 0
    while (start := text.find(opening, at)) >= 0 and (end := text.find(closing, start)) >= 0:
        outside.append(text[at:start])
        inside.append(text[start + len(opening) : end].strip())
        at = end + len(closing)
    return inside, "".join([*outside, text[at:]])


def _answer_in(text: str) -> ToolAnswer:
    """A turn holds {name, content}; the content is a tool's answer, as an object or as its text."""
    inner = object_of(parsed(text)).get("content")
    if isinstance(inner, dict):
        return _structured(inner, text)
    return _answer(inner if isinstance(inner, str) else text, "")


def _named_by(path: str) -> str:
    match = _FILE.search(path)
    return match[1] if match else ""


def _is_traced(value: dict[str, Any]) -> bool:
    """A gateway's message: OpenAI's form, a time, and what only Hermes keeps with it."""
    if (
        text_of(value.get("role")) not in {"assistant", "tool", "user"}
        or not isinstance(value.get("timestamp"), str)
        or "type" in value
    ):
        return False
    calls = [object_of(call) for call in list_of(value.get("tool_calls"))]
    return bool(_TRACE & value.keys()) or any("call_id" in call or "response_item_id" in call for call in calls)


def _is_session(value: Any) -> bool:
    found = object_of(value)
    return (
        isinstance(found.get("session_id"), str)
        and isinstance(found.get("messages"), list)
        and bool(_DOCUMENT & found.keys())
    )


def _is_export(value: Any) -> bool:
    found = object_of(value)
    turns = list_of(found.get("conversations"))
    return len(_EXPORT & found.keys()) >= 2 and any("from" in object_of(turn) for turn in turns[:3])
