"""The JSON that five agents send to hooks, as they document it, and what a hook may answer. Acts on nothing.

Formats drift: what cannot be understood is left out, and the rest is used. Every hook runs through here, so nothing slow is imported.
"""

from __future__ import annotations

import os.path
from typing import Any

from clan_learnings.agents.light_json import after_space, loads, quoted, scan
from clan_learnings.agents.surroundings import is_session

CLAUDE_CODE, CODEX, GEMINI, QWEN, COPILOT = "claude-code", "codex", "gemini", "qwen", "copilot"
AGENTS = (CLAUDE_CODE, CODEX, GEMINI, QWEN, COPILOT)

# What an event means to us, under whatever name.
START, PROMPT, CALL, SUBAGENT, PAUSE, OTHER = "start", "prompt", "call", "subagent", "pause", "other"
_MEANINGS = {
    "SessionStart": START,
    "UserPromptSubmit": PROMPT,
    "BeforeAgent": PROMPT,
    "PostToolUse": CALL,
    "PostToolUseFailure": CALL,
    "AfterTool": CALL,
    "SubagentStart": SUBAGENT,
    "Stop": PAUSE,
    "StopFailure": PAUSE,
    "SubagentStop": PAUSE,
    "SessionEnd": PAUSE,
    "PreCompact": PAUSE,
    "PreCompress": PAUSE,
    "AfterAgent": PAUSE,
    "agent-turn-complete": PAUSE,
}
_ONLY_GEMINI = frozenset({"BeforeAgent", "AfterAgent", "BeforeTool", "AfterTool", "PreCompress"})
_NOTIFICATION = "agent-turn-complete"  # of Codex, before it had hooks

BYTES = 8 * 1024 * 1024  # of one event; a tool's whole answer may be in it
_NAME_CHARS = 64
_PATH_CHARS = 4096
_TEXT_CHARS = 16_000  # of a prompt or an error: half from its beginning, half from its end
_NESTED = 4  # how deep an answer is searched for signs of failure

_SESSION = ("parent_thread_id", "parent_session_id", "session_id", "sessionId", "thread-id", "thread_id")
_ORIGIN = ("forked_from_id", "forked_from", "forked_from_session_id", "parent_session")
_EXIT_CODES = ("exit_code", "exitCode", "exit_status", "returncode", "return_code")
_FLAGS = ("is_error", "isError", "failed")
_WORDS = (
    "error",
    "stderr",
    "message",
    "output",
    "stdout",
    "llmContent",
    "content",
    "text",
    "returnDisplay",
    "aggregated_output",
    "textResultForLlm",
)
_SHELL_END = "completed with exit code "  # Copilot: <shellId: 0 completed with exit code 3>
_SIGNS = ("process exited with code ", "command exited with code ", "exit code: ", "exit code ")
_INNER = ("metadata", "output", "llmContent", "content", "result", "text", "textResultForLlm")
_CONTEXT = ("<hook_context>", "</hook_context>")
_UNHAPPY = frozenset({"error", "failed", "failure"})


class HookEvent:
    """One event, with what could be read of it. Texts are empty where nothing was said."""

    __slots__ = (
        "agent",
        "call",
        "command",
        "error",
        "folder",
        "is_broken",
        "is_failure",
        "is_subagent",
        "meaning",
        "name",
        "origin",
        "printed",
        "prompt",
        "session",
        "source",
        "tool",
        "transcript",
    )

    def __init__(self, name: str, agent: str, fields: dict[str, Any], *, is_broken: bool = False) -> None:
        # As the agent calls it, which wants the same name back; else as the command line does.
        said = _name(fields.get("hook_event_name", fields.get("hookEventName")))
        self.name = said if said in _MEANINGS else _name(name) or said
        self.meaning = _MEANINGS.get(self.name, OTHER)
        self.agent = agent or _guessed(self.name, fields)
        self.is_broken = is_broken
        self.session = _session(self.agent, fields, _SESSION)
        self.origin = _session(self.agent, fields, _ORIGIN)  # the session that this one is a copy of
        self.source = _text(fields.get("source", fields.get("trigger")))[:_NAME_CHARS].strip().lower()
        self.folder = _path(fields.get("cwd"))
        self.is_subagent = bool(_text(fields.get("agent_id")))
        own = fields.get("agent_transcript_path") if self.name == "SubagentStop" else None
        self.transcript = _path(own) or _path(fields.get("transcript_path", fields.get("transcriptPath")))
        self.prompt = _excerpt(_prompt(fields))
        self.tool = _text(fields.get("tool_name", fields.get("toolName")))[:_NAME_CHARS]
        self.command = _excerpt(_command(fields.get("tool_input", fields.get("toolArgs"))))
        self.is_failure, self.error = False, ""
        self.call = _text(fields.get("tool_use_id"))[:_NAME_CHARS]
        self.printed = ""  # by a command, where that is the whole answer: it does not say how the command ended
        if self.meaning == CALL:
            self.is_failure, self.error = _failure(self.name, fields)
            response = fields.get("tool_response")
            if self.command and type(response) is str:
                self.printed = _excerpt(_text(response))


def parse(name: str, agent: str, data: bytes) -> HookEvent:
    """The event in an agent's bytes. Never fails: what cannot be read is left out."""
    text = data[:BYTES].decode("utf-8", "replace").removeprefix("\ufeff")
    try:
        value = loads(text)
    except (ValueError, RecursionError):
        return HookEvent(name, agent, _beginning(text), is_broken=True)
    if type(value) is not dict:
        return HookEvent(name, agent, {}, is_broken=True)
    return HookEvent(name, agent, value)


def _beginning(text: str) -> dict[str, Any]:
    """The fields before the place where a text stops being JSON: an answer of a tool may be cut, the session stands before it."""
    fields: dict[str, Any] = {}
    at = text.find("{") + 1
    try:
        while at:
            key, at = scan(text, at)
            at = after_space(text, at)
            if type(key) is not str or text[at : at + 1] != ":":
                break
            fields[key], at = scan(text, at + 1)
            at = after_space(text, at)
            at = at + 1 if text[at : at + 1] == "," else 0
    except (ValueError, RecursionError):
        pass
    return fields


def _name(value: object) -> str:
    """An event's name as it is documented, however its words were joined; empty if it can be none."""
    if type(value) is not str or len(value) > _NAME_CHARS or not value.isascii():
        return ""
    plain = _plain(value)
    return next((name for name in _MEANINGS if _plain(name) == plain), value if value.isalnum() else "")


def _plain(name: str) -> str:
    return name.replace("-", "").replace("_", "").lower()


def _guessed(name: str, fields: dict[str, Any]) -> str:
    """The agent, where the command line does not tell."""
    if name in _ONLY_GEMINI:
        return GEMINI
    return CODEX if fields.get("type") == _NOTIFICATION else CLAUDE_CODE


def _session(agent: str, fields: dict[str, Any], names: tuple[str, ...]) -> str:
    """A session as records name it. What a subagent does counts for the session it works for."""
    for name in names:
        own = fields.get(name)
        if type(own) is str and is_session(f"{agent}:{own}"):
            return f"{agent}:{own}"
    return ""


def _text(value: object) -> str:
    """A text that can be written: half a surrogate pair cannot."""
    return value.encode("utf-8", "replace").decode() if type(value) is str else ""


def _path(value: object) -> str:
    path = _text(value)
    if path.startswith("~/"):
        path = os.path.expanduser(path)
    return path if path.startswith("/") and len(path) <= _PATH_CHARS and path.isprintable() else ""


def _prompt(fields: dict[str, Any]) -> str:
    prompt = fields.get("prompt", fields.get("user_prompt"))
    if type(prompt) is list:  # parts of a message
        prompt = "\n".join(_text(part.get("text")) if type(part) is dict else _text(part) for part in prompt[:100])
    return _without_context(_text(prompt))


def _without_context(prompt: str) -> str:
    """What the person typed: Gemini CLI puts what the hook of the session's start said before the first prompt."""
    while prompt.startswith(_CONTEXT[0]) and (end := prompt.find(_CONTEXT[1])) >= 0:
        prompt = prompt[end + len(_CONTEXT[1]) :].lstrip()
    return prompt


def _command(called: object) -> str:
    """What a tool was told to run, if it runs commands."""
    said = called.get("command", called.get("cmd")) if type(called) is dict else None
    return " ".join(_text(word) for word in said[:100]) if type(said) is list else _text(said)


def _excerpt(text: str) -> str:
    half = _TEXT_CHARS // 2
    return text if len(text) <= _TEXT_CHARS else f"{text[:half]}\n{text[-half:]}"


def _failure(name: str, fields: dict[str, Any]) -> tuple[bool, str]:
    """Whether a call failed, and with which words. A call that a person stopped has not failed."""
    if fields.get("is_interrupt") is True:
        return False, ""
    response = fields.get("tool_response", fields.get("tool_output", fields.get("toolResult")))
    told = _words(fields.get("error", fields.get("error_message")))
    failed = name == "PostToolUseFailure" or bool(told) or _has_failed(response, _NESTED)
    if not failed:
        return False, ""
    return True, _excerpt("\n".join(part for part in (told, _words(response)) if part))


def _has_failed(response: object, depth: int) -> bool:
    """Whether an answer shows that the command in it failed. Agents report success for calls whose command failed."""
    if type(response) is str:
        return _says_failed(response, depth)
    if type(response) is list:
        return depth > 0 and any(_has_failed(part, depth - 1) for part in response[:20])
    if type(response) is not dict:
        return False
    for key in _EXIT_CODES:
        code = response.get(key)
        if type(code) is int:
            return code != 0
    if any(response.get(key) is True for key in _FLAGS) or response.get("success") is False:
        return True
    error, status = response.get("error"), response.get("status")
    if error not in (None, "", False, {}, []) or (type(status) is str and status.lower() in _UNHAPPY):
        return True
    inner = [response.get(key) for key in _INNER]
    return depth > 0 and any(_has_failed(value, depth - 1) for value in inner)


def _says_failed(text: str, depth: int) -> bool:
    """An exit code on a line of its own among the first or last lines, or inside JSON."""
    if depth > 0 and text.startswith("{") and len(text) <= 1_000_000:
        try:
            return _has_failed(loads(text), depth - 1)
        except (ValueError, RecursionError):
            pass
    lines = text[:2000].splitlines()[:12] + text[-1000:].splitlines()[-6:]
    for line in lines:
        plain = line.strip().lower()
        if plain.startswith("<shellid: "):
            plain = _SIGNS[1] + plain.partition(_SHELL_END)[2].rstrip(">")
        for sign in _SIGNS:
            if plain.startswith(sign):
                code = plain.removeprefix(sign).split(" ")[0].rstrip(".,;)")
                if code.isdigit():
                    return int(code[:9]) != 0
    return False


def _words(value: object, depth: int = _NESTED) -> str:
    """The texts in an error or an answer, each once, those that tell most first."""
    if type(value) is str:
        return _excerpt(_text(value))
    if depth == 0:
        return ""
    parts: list[object] = []
    if type(value) is list:
        parts = value[:20]
    elif type(value) is dict:
        parts = [value[key] for key in _WORDS if key in value]
    return "\n".join(dict.fromkeys(words for part in parts if (words := _words(part, depth - 1))))


NOTHING = "{}"
# After which events an agent listens; anything said after another one would fail the hook, or be shown to a person.
_LISTENS = {
    CLAUDE_CODE: frozenset({"SessionStart", "UserPromptSubmit", "PostToolUse", "PostToolUseFailure", "SubagentStart"}),
    CODEX: frozenset({"SessionStart", "UserPromptSubmit", "PostToolUse", "SubagentStart"}),
    GEMINI: frozenset({"SessionStart", "BeforeAgent", "AfterTool"}),
    QWEN: frozenset({"SessionStart", "UserPromptSubmit", "PostToolUse", "SubagentStart"}),
    COPILOT: frozenset({"SessionStart", "UserPromptSubmit", "PostToolUse"}),
}


def reply(agent: str, event: str, text: str, warning: str = "") -> str:
    """One JSON object in ASCII, which every terminal and pipe can carry. `warning`: for the person, not for the model."""
    if not listens(agent, event):
        return NOTHING
    if agent == COPILOT:
        return f'{{"additionalContext": {quoted(text)}}}' if text else NOTHING
    said = [f'"systemMessage": {quoted(warning)}'] if warning else []
    if text:
        said.append(f'"hookSpecificOutput": {{"hookEventName": {quoted(event)}, "additionalContext": {quoted(text)}}}')
    return f"{{{', '.join(said)}}}"


def listens(agent: str, event: str) -> bool:
    """Whether an agent reads what a hook answers to this event."""
    return event in _LISTENS.get(agent, ())
