"""Plain messages of a chat API, in lines or in one document: the last resort, for agents that have no flavour of their own.

`ChatReader` knows the roles and tool calls of OpenAI, the content blocks of Anthropic and the turns of ShareGPT; other flavours
that keep such messages use it too.

Lines of messages are one session; a line, or a list's element, that holds a whole conversation is a session itself.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from clan_learnings.sessions.failed_output import exit_code_in, failed_by, refused_by
from clan_learnings.sessions.json_values import (
    arguments_of,
    count_of,
    instant_ms,
    list_of,
    object_of,
    text_of,
    words_of,
)
from clan_learnings.sessions.session_builder import SessionBuilder, opening_id
from clan_learnings.sessions.transcript_events import Kind, Session
from clan_learnings.sessions.transcript_source import DocumentPart, TranscriptSource

_PERSON = {"user", "human"}
_MODEL = {"assistant", "gpt", "model", "ai", "bot"}
_TOOL = {"tool", "function", "observation", "tool_response", "ipython"}
_SYSTEM = {"system", "developer"}
_THOUGHTS = ("reasoning_content", "reasoning", "thinking")
ROLES = _PERSON | _MODEL | _TOOL | _SYSTEM


class ToolAnswer(NamedTuple):
    """What a tool's answer says."""

    text: str
    failed: bool | None = None
    exit_code: int | None = None


def role_of(message: dict[str, Any]) -> str:
    """The role of the speaker; empty if the message does not say."""
    return text_of(message.get("role")) or text_of(message.get("from"))


def is_message(value: Any) -> bool:
    """Whether this is a message of a chat at all."""
    message = object_of(value)
    spoken = "content" in message or "tool_calls" in message or "value" in message or "function_call" in message
    return spoken and role_of(message) in ROLES


def prose(text: str, command: str) -> ToolAnswer:
    """An answer of which only prose is known; `command` is what a shell was to run, if it was one."""
    if command:
        return ToolAnswer(text, failed_by(text, command), exit_code_in(text))
    return ToolAnswer(text, refused_by(text))


class ChatReader:
    """Reads the messages of one session into a builder, one after another."""

    def __init__(
        self,
        draft: SessionBuilder,
        *,
        answer: Callable[[str, str], ToolAnswer] = prose,
        person: Callable[[str], str] = str,
    ) -> None:
        """`answer` reads what a tool said, `person` takes away what was put around a person's words."""
        self.draft = draft
        self._answer = answer
        self._person = person
        self._count = 0
        self._last_call = ""

    def tell(self, line: int, message: dict[str, Any], at_ms: int | None = None) -> bool:
        """Whether the message was understood."""
        self._count += 1
        role = role_of(message)
        content = message.get("content", message.get("value"))
        if role in _PERSON:
            self._person_says(line, content, at_ms)
        elif role in _MODEL:
            self._model_says(line, message, content, at_ms)
        elif role in _TOOL:
            name = text_of(message.get("tool_call_id")) or self._last_call
            tool = text_of(message.get("name")) or text_of(message.get("tool_name"))
            self._result(line, name, content, tool, message.get("is_error"), at_ms)
        elif role in _SYSTEM:
            self.draft.note(line, Kind.INJECTED, words_of(content), at_ms)
        else:
            return False
        return True

    def _person_says(self, line: int, content: Any, at_ms: int | None) -> None:
        blocks = list_of(content)
        for block in map(object_of, blocks):
            if block.get("type") == "tool_result":
                self._result(
                    line, text_of(block.get("tool_use_id")), block.get("content"), "", block.get("is_error"), at_ms
                )
        text = words_of(content)
        said = self._person(text)
        if said:
            self.draft.prompt(line, said, at_ms)
        else:
            self.draft.note(line, Kind.INJECTED, text, at_ms)

    def _model_says(self, line: int, message: dict[str, Any], content: Any, at_ms: int | None) -> None:
        key = f"{self._count}"
        draft = self.draft
        thought = next((words for name in _THOUGHTS if (words := words_of(message.get(name)))), "")
        draft.thought(line, thought, key, at_ms)
        for block in map(object_of, list_of(content)):
            if block.get("type") == "thinking":
                draft.thought(line, text_of(block.get("thinking")), key, at_ms)
        draft.reply(line, words_of(content), key, at_ms)
        for block in map(object_of, list_of(content)):
            if block.get("type") == "tool_use":
                self._call(line, text_of(block.get("id")), text_of(block.get("name")), block.get("input"), key, at_ms)
        for call in map(object_of, list_of(message.get("tool_calls"))):
            function = object_of(call.get("function")) or call
            name = text_of(call.get("id")) or text_of(call.get("call_id"))
            self._call(line, name, text_of(function.get("name")), function.get("arguments"), key, at_ms)
        if function := object_of(message.get("function_call")):  # as OpenAI had it before there were several
            self._call(line, "", text_of(function.get("name")), function.get("arguments"), key, at_ms)

    def _call(self, line: int, name: str, tool: str, arguments: Any, key: str, at_ms: int | None) -> None:
        own = self.draft.call(line, name, tool, arguments_of(arguments), key, at_ms)
        self._last_call = name or own

    def _result(self, line: int, name: str, content: Any, tool: str, is_error: Any, at_ms: int | None) -> None:
        told = self._answer(words_of(content), self.draft.command_of_call(name))
        failed = is_error if isinstance(is_error, bool) else told.failed
        if is_error is False and told.failed:  # the tool ran; what it ran did not
            failed = True
        self.draft.result(line, name, told.text, at_ms, tool=tool, failed=failed, exit_code=told.exit_code)


NAME = "chat"
ORDER = 100  # whoever has a flavour of its own is asked before
_CONVERSATION = ("messages", "conversations", "conversation")
_TIMES = ("timestamp", "created_at", "created", "time")
_ENOUGH = 40  # messages that are looked at


def recognises(source: TranscriptSource) -> bool:
    """Whether most of what stands at the beginning are messages, or conversations."""
    document = source.document()
    if document is None:
        head = [record.value for record in source.head]
    else:
        head = [object_of(value) for value in list_of(document.value)[:_ENOUGH]] or [object_of(document.value)]
    known = sum(is_message(value) or bool(_conversation_in(value)) for value in head)
    return known > 0 and 2 * known > len(head)


def read(source: TranscriptSource) -> Iterator[Session]:
    """The sessions of the transcript."""
    document = source.document()
    if document is None:
        yield from _from_lines(source)
    elif list_of(document.value) and any(is_message(value) for value in document.value):
        yield from _told(source, document, {})
    elif isinstance(document.value, list):
        for element in document.elements():
            yield from _from_object(source, element)
    else:
        yield from _from_object(source, document)


def _from_lines(source: TranscriptSource) -> Iterator[Session]:
    single: list[tuple[int, dict[str, Any]]] = []
    for line, value in source.records():
        if name := _conversation_in(value):
            yield from _session(source, value, [(line, object_of(message)) for message in value[name]])
        elif is_message(value):
            single.append((line, value))
        else:
            source.skip("a record that is no message")
    yield from _session(source, {}, single)


def _from_object(source: TranscriptSource, part: DocumentPart) -> Iterator[Session]:
    value = object_of(part.value)
    name = _conversation_in(value)
    messages = part.member(name) if name else None
    if messages:
        yield from _told(source, messages, value)
    elif is_message(value):
        yield from _session(source, {}, [(part.line, value)])
    else:
        source.skip("a record that is no message")


def _told(source: TranscriptSource, messages: DocumentPart, about: dict[str, Any]) -> Iterator[Session]:
    yield from _session(source, about, [(part.line, object_of(part.value)) for part in messages.elements()])


def _session(
    source: TranscriptSource, about: dict[str, Any], messages: list[tuple[int, dict[str, Any]]]
) -> Iterator[Session]:
    if not messages:
        return
    draft = SessionBuilder(NAME, _name_of(about, messages))
    draft.model = text_of(about.get("model"))
    draft.title = text_of(about.get("title"))
    draft.folder = text_of(about.get("cwd"))
    telling = ChatReader(draft)
    for line, message in messages:
        at_ms = next((found for key in _TIMES if (found := instant_ms(message.get(key))) is not None), None)
        if not telling.tell(line, message, at_ms):
            source.skip("a record that is no message")
        draft.model = draft.model or text_of(message.get("model"))
        _spend(draft, object_of(message.get("usage")))
    _spend(draft, object_of(about.get("usage")))
    yield draft.session(source.skipped)


def _spend(draft: SessionBuilder, usage: dict[str, Any]) -> None:
    cached = count_of(object_of(usage.get("prompt_tokens_details")).get("cached_tokens"))
    read = count_of(usage.get("prompt_tokens"))  # OpenAI counts what was cached in it, Anthropic does not
    draft.spend(
        max(read - cached, 0) + count_of(usage.get("input_tokens")),
        count_of(usage.get("completion_tokens")) + count_of(usage.get("output_tokens")),
        cached + count_of(usage.get("cache_read_input_tokens")),
    )


def _name_of(about: dict[str, Any], messages: list[tuple[int, dict[str, Any]]]) -> str:
    for key in ("session_id", "conversation_id", "id"):
        if name := text_of(about.get(key)):
            return name
    for key in ("session_id", "conversation_id"):
        if name := text_of(messages[0][1].get(key)):
            return name
    # The first answer too: many sessions begin with the same instructions.
    return opening_id(*(words_of(message.get("content", message.get("value"))) for _, message in messages[:3]))


def _conversation_in(value: Any) -> str:
    found = object_of(value)
    return next((name for name in _CONVERSATION if any(map(is_message, list_of(found.get(name))[:_ENOUGH]))), "")
