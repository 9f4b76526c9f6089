"""Counts of Claude Code's transcripts. What a result says does not count, and results are most of the bytes."""

from typing import Any

import orjson

from clan_learnings.sessions.json_values import instant_ms, object_of, text_of, words_of
from clan_learnings.sessions.prompt_text import typed
from clan_learnings.sessions.quick_counts.session_counts import Facts, Unusual, outcome_by

_FIRST = frozenset({"user", "assistant"})
_OTHERS = frozenset({"system", "attachment", "progress"})
_BEFORE = frozenset(
    {
        "summary",
        "file-history-snapshot",
        "queue-operation",
        "last-prompt",
        "permission-mode",
        "mode",
        "ai-title",
        "custom-title",
        "agent-name",
        "worktree-state",
        "bridge-session",
    }
)
_HEAD = 30
_NOT_ASIDE = b'"isSidechain":false'
_USER = b'"type":"user"'
_RESULT = b'"type":"tool_result"'
_NEAR = 1000
_CALLS = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})
_INTERRUPTED = "[Request interrupted"


def first_of(lines: list[bytes]) -> dict[str, Any] | None:
    """The first record that somebody spoke, if this is a transcript of this agent."""
    for line in lines[:_HEAD]:
        value = orjson.loads(line)
        kind = value.get("type")
        if kind in _FIRST and "sessionId" in value and "uuid" in value:
            return value  # type: ignore[no-any-return]
        if kind in _OTHERS and "sessionId" in value and "uuid" in value and value.get("cwd"):
            return value  # type: ignore[no-any-return]
        if kind not in _BEFORE:
            return None
    return None


def count(lines: list[bytes], first: dict[str, Any]) -> Facts:  # noqa: PLR0915 (one loop, kept in one piece for speed)
    """Go through the lines. Raises Unusual, or KeyError, TypeError or ValueError where something is not as it mostly is."""
    session, folder = first["sessionId"], first["cwd"]
    own = b'"' + session.encode() + b'"'
    uuids: set[str] = set()
    answers: set[str] = set()
    calls: set[str] = set()
    queued: dict[str, int] = {}
    prompts = 0
    is_all_aside = True
    for line in lines:
        # A result, as nearly all are written: what stands in its beginning is enough, unless there is text beside it.
        is_result = line.find(_RESULT, 0, _NEAR) > 0 and line.find(_USER, 0, _NEAR) > 0
        if is_result and line.find(_NOT_ASIDE, 0, _NEAR) > 0 and line.find(own, 0, _NEAR) > 0 and b'"text"' not in line:
            is_all_aside = False
            continue
        is_answer = b'"assistant"' in line
        if not is_answer:
            if b'"tool_use"' in line:
                raise Unusual
            if b'"user"' not in line and b'"queue' not in line:
                if own not in line and b'"sessionId"' in line:
                    raise Unusual  # another session's
                continue
        value = orjson.loads(line)
        kind = value["type"]
        if kind == "assistant":
            uuid = value["uuid"]
            if uuid in uuids:
                continue
            uuids.add(uuid)
            if value["sessionId"] != session or "forkedFrom" in value:
                raise Unusual
            if is_all_aside:
                is_all_aside = value["isSidechain"] is True
            message = value["message"]
            if message["model"] == "<synthetic>" or value.get("isApiErrorMessage") is True:
                continue
            answers.add(message["id"])
            for block in message["content"]:
                if block["type"] in _CALLS:
                    calls.add(block["id"])
        elif kind == "user":
            uuid = value["uuid"]
            if uuid in uuids:
                continue
            uuids.add(uuid)
            if value["sessionId"] != session or "forkedFrom" in value:
                raise Unusual
            is_aside = value["isSidechain"] is True
            is_all_aside &= is_aside
            words = _words(value, value["message"]["content"], is_aside=is_aside)
            if words:
                prompts += 1 - _handed_over(words, queued)
        elif kind == "queue-operation":
            prompts += _queued(value, queued)
        elif kind in _OTHERS:
            if kind == "attachment" and value["attachment"]["type"] == "queued_command":
                raise Unusual
            if value.get("sessionId") != session or "forkedFrom" in value:
                raise Unusual
        elif kind in {"tool_use", "tool_result"}:
            raise Unusual
    if is_all_aside or not folder or "" in calls or not all(answers) or not prompts + len(answers):
        raise Unusual  # a subagent's: its id is found out otherwise; or nothing at all
    failed, ended = _end(lines)
    return Facts(
        "claude-code",
        session,
        prompts + len(answers),
        len(calls),
        outcome_by(failed, has_answer=bool(answers)),
        folder=folder,
        started_ms=instant_ms(first.get("timestamp")),
        ended_ms=ended,
    )


def _words(value: dict[str, Any], content: Any, *, is_aside: bool) -> str:
    """What a person typed, if anything."""
    if is_aside or value.get("isMeta") is True or value.get("isCompactSummary") is True:
        return ""
    origin = value.get("origin")
    if isinstance(origin, dict) and origin.get("kind") not in {"human", None}:
        return ""
    if isinstance(content, str):
        parts = [content]
    else:
        blocks = [block for block in content if not (isinstance(block, dict) and block.get("type") == "tool_result")]
        parts = [block if isinstance(block, str) else text_of(object_of(block).get("text")) for block in blocks]
    text = "\n".join(part for part in parts if part and not part.startswith(_INTERRUPTED))
    return typed(text) if text.strip() else ""


def _queued(value: dict[str, Any], queued: dict[str, int]) -> int:
    words = typed(words_of(value.get("content")))
    if value.get("operation") != "enqueue" or not words:
        return 0
    if words.startswith("/"):
        raise Unusual  # a command, maybe
    queued[words] = queued.get(words, 0) + 1
    return 1


def _handed_over(words: str, queued: dict[str, int]) -> int:
    """Whether these words were counted when they were queued."""
    if not words or not queued.get(words):
        return 0
    queued[words] -= 1
    return 1


def _end(lines: list[bytes]) -> tuple[bool | None, int | None]:
    """Whether the last result failed, and when the last record was written."""
    ended = None
    for line in reversed(lines[-40:]):
        if ended is None and b'"timestamp"' in line:
            ended = instant_ms(object_of(orjson.loads(line)).get("timestamp"))
        if b'"tool_result"' in line and b'"user"' in line:
            return b'"is_error":true' in line or b'"is_error": true' in line, ended
    return None, ended
