"""Counts of pi's sessions. Those of OpenClaw, which has the same engine, are the adapter's: channels wrap their prompts."""

from typing import Any

import orjson

from clan_learnings.sessions.json_values import instant_ms, list_of, object_of, text_of, words_of
from clan_learnings.sessions.prompt_text import said_in_channel, typed
from clan_learnings.sessions.quick_counts.session_counts import Facts, Unusual, outcome_by

_RESULT = b'"role":"toolResult"'
_NEAR = 400


def is_one(first: dict[str, Any]) -> bool:
    """Whether a first record is of this agent."""
    is_header = first.get("type") == "session" and isinstance(first.get("id"), str)
    return is_header and ("cwd" in first or "version" in first or "modelId" in first)


def count(lines: list[bytes], first: dict[str, Any]) -> Facts:
    """Go through the lines. Raises Unusual, or ValueError for what is no JSON."""
    seen: set[str] = set()
    answers: set[str] = set()
    prompts = count = 0
    for number, line in enumerate(lines):
        if line.find(_RESULT, 0, _NEAR) > 0:
            continue
        if b"openclaw" in line or b"model-snapshot" in line:
            raise Unusual
        if b'"assistant"' not in line and b'"user"' not in line:
            if b'"session"' in line and number:
                raise Unusual
            continue
        value = orjson.loads(line)
        name = text_of(value.get("id"))
        if name and name in seen:
            continue
        seen.add(name)
        if value.get("type") != "message":
            continue
        message = object_of(value.get("message"))
        if message.get("role") == "user":
            prompts += bool(typed(said_in_channel(words_of(message.get("content")))))
        elif message.get("role") == "assistant":
            found = _calls(message)
            count += found
            if found or _says(message.get("content")):
                answers.add(name or f"line {number}")
    if first.get("parentSession") or first.get("branchedFrom"):
        raise Unusual
    last = object_of(orjson.loads(lines[-1])) if lines[-1] else first
    return Facts(
        "pi",
        text_of(first.get("id")),
        prompts + len(answers),
        count,
        outcome_by(_failed(lines), has_answer=bool(answers)),
        folder=text_of(first.get("cwd")),
        started_ms=instant_ms(first.get("timestamp")),
        ended_ms=instant_ms(last.get("timestamp")),
    )


def _calls(message: dict[str, Any]) -> int:
    return sum(isinstance(block, dict) and block.get("type") == "toolCall" for block in list_of(message.get("content")))


def _says(content: Any) -> bool:
    if isinstance(content, str):
        return bool(content.strip())
    blocks = [object_of(block) for block in list_of(content)]
    return any(block.get("type") == "text" and text_of(block.get("text")).strip() for block in blocks)


def _failed(lines: list[bytes]) -> bool | None:
    for line in reversed(lines[-40:]):
        if b'"toolResult"' in line and b'"isError"' in line:
            return b'"isError":true' in line or b'"isError": true' in line
    return None
