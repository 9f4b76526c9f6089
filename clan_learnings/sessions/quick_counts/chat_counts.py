"""Counts of lines of chat messages: Hermes' gateway, and whoever has no flavour of its own. What tools answered is not parsed."""

import re
from typing import Any

import orjson

from clan_learnings.sessions.flavours import hermes
from clan_learnings.sessions.json_values import instant_ms, list_of, object_of, text_of, words_of
from clan_learnings.sessions.prompt_text import said_in_channel, typed, without_name
from clan_learnings.sessions.quick_counts.session_counts import Facts, Unusual, exit_code_in, outcome_by
from clan_learnings.sessions.session_builder import opening_id

_ROLES = frozenset({"user", "assistant", "tool", "system", "developer", "session_meta"})
_HEAD = 40
_OF_HERMES = frozenset({"finish_reason", "reasoning", "codex_reasoning_items", "reasoning_details"})
_ALONE = ("cli", "local", "tui")
_FILE = re.compile(r"(\d{8}_\d{6}_[0-9A-Za-z]{4,16})\.jsonl$")
_TOOL = (b'"role":"tool"', b'"role": "tool"')


def is_one(first: dict[str, Any]) -> bool:
    """Whether a first record is a plain message, or Hermes' header."""
    return (
        first.get("role") in _ROLES
        and ("content" in first or first.get("role") == "session_meta")
        and "type" not in first
    )


def count(lines: list[bytes], first: dict[str, Any], path: str) -> Facts:  # noqa: PLR0915 (one loop, kept in one piece for speed)
    """Go through the lines. Raises Unusual, or ValueError for what is no JSON."""
    is_hermes, number, platform = first.get("role") == "session_meta", 0, ""
    prompts = calls = answers = 0
    begins: list[str] = []
    opening: list[str] = []
    raw: list[str] = []
    ended: Any = None
    for line in lines:
        number += 1
        if number > 4 and (_TOOL[0] in line or _TOOL[1] in line) and (is_hermes or number > _HEAD):
            continue
        value = orjson.loads(line)
        role = value["role"]
        content = value.get("content")
        words = content if isinstance(content, str) else words_of(content)
        if number <= 4:
            begins.append(f"{text_of(value.get('timestamp'))} {words}")
            opening.append(words)
        if not is_hermes and number <= _HEAD:
            is_hermes = role == "session_meta" or _is_traced(value)
        if role == "assistant":
            made = value.get("tool_calls")
            if words[:19] == "[CONTEXT COMPACTION" or "function_call" in value or isinstance(content, list):
                raise Unusual
            if made:
                if not isinstance(made, list):
                    raise Unusual
                calls += len(made)
                answers += 1
            elif words and not words.isspace():
                answers += 1
        elif role == "user":
            if isinstance(content, list):
                raise Unusual
            raw.append(words)
        elif role == "session_meta":
            platform = platform or text_of(value.get("platform"))
        elif role not in _ROLES or "messages" in value or "conversations" in value:
            raise Unusual
        ended = value.get("timestamp") or ended
    for words in raw:
        if is_hermes and words.startswith("[CONTEXT COMPACTION"):
            continue
        said = words if not is_hermes or platform in _ALONE else without_name(said_in_channel(words))
        prompts += bool(said and typed(said))
    outcome = outcome_by(_failed(lines), has_answer=bool(answers))
    started = instant_ms(first.get("timestamp"))
    messages = prompts + answers
    if is_hermes:
        match = _FILE.search(path)
        name = match[1] if match else opening_id(*begins)
        return Facts(hermes.NAME, name, messages, calls, outcome, started_ms=started, ended_ms=instant_ms(ended))
    if any(text_of(first.get(key)) for key in ("session_id", "conversation_id")):
        raise Unusual
    name = opening_id(*opening[:3])
    return Facts("chat", name, messages, calls, outcome, started_ms=started, ended_ms=instant_ms(ended))


def _is_traced(value: dict[str, Any]) -> bool:
    """What only Hermes keeps with a message."""
    calls = [object_of(call) for call in list_of(value.get("tool_calls"))]
    is_own = bool(_OF_HERMES & value.keys()) or any("call_id" in call or "response_item_id" in call for call in calls)
    return is_own and isinstance(value.get("timestamp"), str)


def _failed(lines: list[bytes]) -> bool | None:
    for line in reversed(lines[-30:]):
        if _TOOL[0] in line or _TOOL[1] in line:
            code = exit_code_in(line)
            if code is not None:
                return code != 0
    return None
