"""Messages as chat APIs have them, told as events: OpenAI's roles and tool calls, Anthropic's content blocks, ShareGPT's turns.

Flavours that keep such messages read them with this. Where they stand, and what surrounds them, is the flavour's business.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from clan_learnings.sessions.events import Kind
from clan_learnings.sessions.failed_output import exit_code_in, failed_by, refused_by
from clan_learnings.sessions.json_values import arguments_of, list_of, object_of, text_of, words_of
from clan_learnings.sessions.session_builder import Draft

_PERSON = {"user", "human"}
_MODEL = {"assistant", "gpt", "model", "ai", "bot"}
_TOOL = {"tool", "function", "observation", "tool_response", "ipython"}
_SYSTEM = {"system", "developer"}
_THOUGHTS = ("reasoning_content", "reasoning", "thinking")
ROLES = _PERSON | _MODEL | _TOOL | _SYSTEM


class Answer(NamedTuple):
    """What a tool's answer says."""

    text: str
    failed: bool | None = None
    exit_code: int | None = None


def role_of(message: dict[str, Any]) -> str:
    """Who speaks; empty if that is not said."""
    return text_of(message.get("role")) or text_of(message.get("from"))


def is_message(value: Any) -> bool:
    """Whether this is a message of a chat at all."""
    message = object_of(value)
    spoken = "content" in message or "tool_calls" in message or "value" in message or "function_call" in message
    return spoken and role_of(message) in ROLES


def prose(text: str, command: str) -> Answer:
    """An answer of which only prose is known; `command` is what a shell was to run, if it was one."""
    if command:
        return Answer(text, failed_by(text, command), exit_code_in(text))
    return Answer(text, refused_by(text))


class Telling:
    """Tells one session's messages, one after another."""

    def __init__(
        self,
        draft: Draft,
        *,
        answer: Callable[[str, str], Answer] = prose,
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
