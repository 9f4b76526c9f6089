"""Plain messages of a chat API, in lines or in one document: the last resort, for agents that have no flavour of their own.

Lines of messages are one session; a line, or a list's element, that holds a whole conversation is a session itself.
"""

from collections.abc import Iterator
from typing import Any

from clan_learnings.sessions.chat_messages import Telling, is_message
from clan_learnings.sessions.events import Session
from clan_learnings.sessions.json_values import count_of, instant_ms, list_of, object_of, text_of, words_of
from clan_learnings.sessions.session_builder import Draft, opening_id
from clan_learnings.sessions.transcript_source import Part, Source

NAME = "chat"
ORDER = 100  # whoever has a flavour of its own is asked before
_CONVERSATION = ("messages", "conversations", "conversation")
_TIMES = ("timestamp", "created_at", "created", "time")
_ENOUGH = 40  # messages that are looked at


def recognises(source: Source) -> bool:
    """Whether most of what stands at the beginning are messages, or conversations."""
    document = source.document()
    if document is None:
        head = [record.value for record in source.head]
    else:
        head = [object_of(value) for value in list_of(document.value)[:_ENOUGH]] or [object_of(document.value)]
    known = sum(is_message(value) or bool(_conversation_in(value)) for value in head)
    return known > 0 and 2 * known > len(head)


def read(source: Source) -> Iterator[Session]:
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


def _from_lines(source: Source) -> Iterator[Session]:
    single: list[tuple[int, dict[str, Any]]] = []
    for line, value in source.records():
        if name := _conversation_in(value):
            yield from _session(source, value, [(line, object_of(message)) for message in value[name]])
        elif is_message(value):
            single.append((line, value))
        else:
            source.skip("a record that is no message")
    yield from _session(source, {}, single)


def _from_object(source: Source, part: Part) -> Iterator[Session]:
    value = object_of(part.value)
    name = _conversation_in(value)
    messages = part.member(name) if name else None
    if messages:
        yield from _told(source, messages, value)
    elif is_message(value):
        yield from _session(source, {}, [(part.line, value)])
    else:
        source.skip("a record that is no message")


def _told(source: Source, messages: Part, about: dict[str, Any]) -> Iterator[Session]:
    yield from _session(source, about, [(part.line, object_of(part.value)) for part in messages.elements()])


def _session(source: Source, about: dict[str, Any], messages: list[tuple[int, dict[str, Any]]]) -> Iterator[Session]:
    if not messages:
        return
    draft = Draft(NAME, _name_of(about, messages))
    draft.model = text_of(about.get("model"))
    draft.title = text_of(about.get("title"))
    draft.folder = text_of(about.get("cwd"))
    telling = Telling(draft)
    for line, message in messages:
        at_ms = next((found for key in _TIMES if (found := instant_ms(message.get(key))) is not None), None)
        if not telling.tell(line, message, at_ms):
            source.skip("a record that is no message")
        draft.model = draft.model or text_of(message.get("model"))
        _spend(draft, object_of(message.get("usage")))
    _spend(draft, object_of(about.get("usage")))
    yield draft.session(source.skipped)


def _spend(draft: Draft, usage: dict[str, Any]) -> None:
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
