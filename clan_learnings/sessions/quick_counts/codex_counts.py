"""Counts of Codex' rollouts, those in envelopes. What commands printed does not count, and it is most of the bytes."""

from typing import Any

import orjson

from clan_learnings.sessions.json_values import instant_ms, list_of, object_of, text_of, words_of
from clan_learnings.sessions.prompt_text import typed
from clan_learnings.sessions.quick_counts.session_counts import Facts, Unusual, exit_code_in, outcome_by

_ENVELOPES = frozenset({"session_meta", "turn_context", "response_item", "event_msg", "compacted", "world_state"})
_CALLS = frozenset(
    {
        "function_call",
        "custom_tool_call",
        "local_shell_call",
        "tool_call",
        "web_search_call",
        "tool_search_call",
        "image_generation_call",
    }
)


def is_one(first: dict[str, Any]) -> bool:
    """Whether a first record is of this agent."""
    return first.get("type") == "session_meta" and isinstance(first.get("payload"), dict)


def count(lines: list[bytes], first: dict[str, Any]) -> Facts:
    """Go through the lines. Raises Unusual, or ValueError for what is no JSON."""
    meta = object_of(first.get("payload"))
    source = meta.get("source")
    is_subagent = (isinstance(source, dict) and "subagent" in source) or meta.get("thread_source") == "subagent"
    seen = _Seen()
    for line in lines:
        if b'_output"' in line:
            continue
        if b'"message"' not in line and b'_call"' not in line:
            if b'"reasoning"' in line and seen.has_doubtful(lines):
                seen.thought(orjson.loads(line))
            continue
        value = orjson.loads(line)
        kind = value["type"]
        if kind == "response_item":
            seen.item(value["payload"], is_subagent=is_subagent)
        elif kind == "event_msg":
            seen.event(value["payload"], is_subagent=is_subagent)
        elif kind not in _ENVELOPES:
            raise Unusual
    if not seen.messages():
        raise Unusual
    name = text_of(meta.get("id")) or text_of(meta.get("session_id"))
    ancestors = (meta.get("parent_thread_id"), meta.get("forked_from_id"), meta.get("session_id"))
    last = orjson.loads(lines[-1]) if lines[-1] else first
    return Facts(
        "codex",
        name,
        seen.messages(),
        seen.count,
        outcome_by(_failed(lines), has_answer=bool(seen.said)),
        parent=next((found for found in map(text_of, ancestors) if found and found != name), ""),
        is_subagent=is_subagent,
        folder=text_of(meta.get("cwd")),
        remote=text_of(object_of(meta.get("git")).get("repository_url")),
        started_ms=instant_ms(first.get("timestamp")),
        ended_ms=instant_ms(object_of(last).get("timestamp")),
    )


class _Seen:
    """What is in a rollout twice counts once: see the adapter."""

    def __init__(self) -> None:
        self.count = 0
        self.calls: set[str] = set()
        self.said: set[str] = set()
        self.replies = 0
        self.prompts = 0
        self.words: set[str] = set()
        self.doubtful_replies: list[str] = []
        self.doubtful_prompts: list[list[str]] = []
        self._has_doubtful: bool | None = None

    def has_doubtful(self, lines: list[bytes]) -> bool:
        """Whether answers are told a second time anywhere: only then do thoughts matter."""
        if self._has_doubtful is None:
            self._has_doubtful = any(b'"agent_message"' in line for line in lines)
        return self._has_doubtful

    def thought(self, value: dict[str, Any]) -> None:
        item = object_of(value.get("payload"))
        if item.get("type") == "reasoning":
            for block in (*list_of(item.get("summary")), *list_of(item.get("content"))):
                self.said.add(words_of(block).strip())

    def item(self, item: dict[str, Any], *, is_subagent: bool) -> None:
        kind = item.get("type")
        if kind in _CALLS:
            call = item.get("call_id") or text_of(item.get("id"))
            if not call or call not in self.calls:
                self.calls.add(call)
                self.count += 1
        elif kind == "reasoning":
            self.thought({"payload": item})
        elif kind == "message" and (text := words_of(item.get("content")).strip()):
            if item.get("role") == "assistant":
                self.said.add(text)
                self.replies += 1
            elif item.get("role") == "user":
                if text.startswith("<turn_aborted"):
                    return
                blocks = [words_of(block) for block in list_of(item.get("content"))] or [text]
                words = [found for found in map(typed, blocks) if found]
                if words and not is_subagent and not words[0].startswith("<"):
                    self.doubtful_prompts.append([*words, "\n".join(words)])
        elif kind in {"tool_result", "function_result"}:
            raise Unusual

    def event(self, event: dict[str, Any], *, is_subagent: bool) -> None:
        kind = event.get("type")
        if kind == "user_message":
            if words := typed(text_of(event.get("message"))):
                self.words.add(words)
                self.prompts += not is_subagent
        elif kind == "agent_message" and (text := text_of(event.get("message")).strip()):
            self.doubtful_replies.append(text)

    def messages(self) -> int:
        replies = sum(text not in self.said for text in self.doubtful_replies)
        prompts = sum(not any(text in self.words for text in texts) for texts in self.doubtful_prompts)
        return self.prompts + prompts + self.replies + replies


def _failed(lines: list[bytes]) -> bool | None:
    """Whether the last command that says how it ended failed."""
    for line in reversed(lines[-60:]):
        if b'_output"' in line or b'"exec_command_end"' in line:
            code = exit_code_in(line)
            if code is not None:
                return code != 0
    return None
