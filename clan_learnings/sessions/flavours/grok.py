"""Grok Build: `updates.jsonl` (times, exit codes, cost) and `chat_history.jsonl` (what the model saw) of one session.

Both have the same session id. Where they lie beside each other only `updates.jsonl` is told, because it tells more, and the
history says that it stood back. The history names no session; `summary.json` beside it does, or else its folder.
"""

import os
import re
from collections.abc import Iterator
from typing import Any

from clan_learnings.sessions.flavours.chat import prose
from clan_learnings.sessions.json_values import (
    arguments_of,
    count_of,
    exit_code_of,
    instant_ms,
    list_of,
    object_of,
    parsed,
    text_of,
    words_of,
)
from clan_learnings.sessions.session_builder import SessionBuilder, opening_id
from clan_learnings.sessions.transcript_events import Kind, Session
from clan_learnings.sessions.transcript_source import BESIDE_BYTES, TranscriptSource

NAME = "grok"
ORDER = -1  # its reasoning records look like those of Codex, its other records like nobody's
_METHODS = {"session/update", "_x.ai/session/update"}
_TICKS = 10_000_000_000  # are a dollar: https://docs.x.ai/developers/cost-tracking
_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_TRAITS = {
    "user": {"prompt_index", "synthetic_reason"},
    "assistant": {"model_id", "model_fingerprint"},
    "tool_result": {"tool_call_id"},
}
_ENDED = {"completed": None, "failed": True, "cancelled": True}
_QUIET = {
    "hook_execution",
    "plan",
    "available_commands_update",
    "current_mode_update",
    "usage_update",
    "config_option_update",
}


def recognises(source: TranscriptSource) -> bool:
    """Whether it is one of the two files, or the summary that lies beside them."""
    head = [record.value for record in source.head]
    if any(_is_update(value) or _is_history(value) for value in head):
        return True
    document = source.document()
    return document is not None and _is_summary(document.value)


def read(source: TranscriptSource) -> Iterator[Session]:
    """The session of either file; a summary is not a session."""
    document = source.document()
    if document is not None and _is_summary(document.value):
        source.skip("a summary, which is read with its transcript")
    elif any(_is_update(record.value) for record in source.head):
        yield from _updates(source)
    elif _has_updates_beside(source):
        source.skip("a history, which updates.jsonl beside it tells better")
    else:
        yield _history(source)


def _updates(source: TranscriptSource) -> Iterator[Session]:
    tellings: dict[str, _Updates] = {}
    for line, value in source.records():
        params = object_of(value.get("params"))
        if text_of(value.get("method")) not in _METHODS:
            source.skip_sort("a record", value.get("method"))
            continue
        name = text_of(params.get("sessionId"))
        if name not in tellings:
            tellings[name] = _Updates(_draft(source, name))
        meta = object_of(params.get("_meta"))
        at_ms = instant_ms(meta.get("agentTimestampMs")) or instant_ms(value.get("timestamp"))
        if not tellings[name].tell(line, object_of(params.get("update")), meta, at_ms):
            source.skip_sort("a record", object_of(params.get("update")).get("sessionUpdate"))
    for telling in tellings.values():
        telling.end_of_chunks()
        yield telling.draft.session(source.skipped)


class _Updates:
    """Tells the updates of one session. What was streamed in pieces becomes one event."""

    def __init__(self, draft: SessionBuilder) -> None:
        self.draft = draft
        self._pieces: list[str] = []
        self._sort = ""
        self._where: tuple[int, int | None, str] = (0, None, "")
        self._answer = ""

    def tell(self, line: int, update: dict[str, Any], meta: dict[str, Any], at_ms: int | None) -> bool:
        """Whether the update was understood."""
        sort = text_of(update.get("sessionUpdate"))
        if sort.endswith("_chunk"):
            self._piece(line, sort, update, self._key(meta), at_ms)
            return True
        self.draft.saw(at_ms)
        if sort in _QUIET:
            return True
        self.end_of_chunks()
        if sort == "tool_call":
            self._call(line, update, self._key(meta), at_ms)
        elif sort == "tool_call_update":
            self._result(line, update, at_ms)
        elif sort == "turn_completed":
            self._completed(line, update, at_ms)
        else:
            return False
        return True

    def end_of_chunks(self) -> None:
        """What was streamed so far is whole."""
        text, (line, at_ms, key) = "".join(self._pieces), self._where
        self._pieces = []
        if self._sort == "user_message_chunk":
            if self.draft.is_subagent:
                self.draft.note(line, Kind.INJECTED, text, at_ms)
            elif text:
                self.draft.prompt(line, text, at_ms)
        elif self._sort == "agent_thought_chunk":
            self.draft.thought(line, text, key, at_ms)
        elif text:
            self.draft.reply(line, text, key, at_ms)
        self._sort = ""

    def _key(self, meta: dict[str, Any]) -> str:
        """One request to the model is one answer; its stream's start names it."""
        start = meta.get("streamStartMs")
        return f"{start}" if isinstance(start, int) else text_of(meta.get("promptId"))

    def _piece(self, line: int, sort: str, update: dict[str, Any], key: str, at_ms: int | None) -> None:
        if sort != self._sort or key != self._where[2]:
            self.end_of_chunks()
            self._sort, self._where = sort, (line, at_ms, key)
        self.draft.saw(at_ms)
        self.draft.model = self.draft.model or text_of(object_of(update.get("_meta")).get("modelId"))
        self._pieces.append(words_of(update.get("content")))

    def _call(self, line: int, update: dict[str, Any], key: str, at_ms: int | None) -> None:
        tool = object_of(object_of(update.get("_meta")).get("x.ai/tool"))
        name = text_of(tool.get("name")) or text_of(update.get("title"))
        self.draft.call(line, text_of(update.get("toolCallId")), name, object_of(update.get("rawInput")), key, at_ms)

    def _result(self, line: int, update: dict[str, Any], at_ms: int | None) -> None:
        status = text_of(update.get("status"))
        if status not in _ENDED:
            return  # on its way
        output = update.get("rawOutput")
        raw = object_of(output)
        folder = text_of(raw.get("current_dir"))
        self.draft.folder = self.draft.folder or folder
        shown = "\n".join(words_of(object_of(block).get("content")) for block in list_of(update.get("content")))
        text = shown or text_of(raw.get("output_for_prompt")) or text_of(output)
        failed = True if raw.get("timed_out") is True else _ENDED[status]
        code = exit_code_of(raw.get("exit_code"))
        if status == "cancelled":
            self.draft.refusal(line, text_of(update.get("toolCallId")), text, at_ms)
            return
        if failed is None and code is None and status == "completed":
            failed = False
        self.draft.result(line, text_of(update.get("toolCallId")), text, at_ms, failed=failed, exit_code=code)

    def _completed(self, line: int, update: dict[str, Any], at_ms: int | None) -> None:
        usage = object_of(update.get("usage"))
        cached, ticks = count_of(usage.get("cachedReadTokens")), usage.get("costUsdTicks")
        self.draft.spend(
            max(count_of(usage.get("inputTokens")) - cached, 0),  # the sum of both is what it calls total
            count_of(usage.get("outputTokens")),
            cached,
            count_of(ticks) / _TICKS if type(ticks) is int else None,
        )
        if update.get("stop_reason") == "cancelled":
            self.draft.note(line, Kind.INTERRUPT, "", at_ms)


def _history(source: TranscriptSource) -> Session:
    draft = _draft(source, "")
    begins: list[str] = []
    answer = 0
    for line, value in source.records():
        sort, words = value.get("type"), words_of(value.get("content"))
        begins += [words] if len(begins) < 4 else []
        if sort in ("user", "tool_result"):
            answer += 1  # what the model says after it is another answer
        key = f"{answer}"
        if sort == "user":
            if value.get("prior_turn_interrupt"):
                draft.note(line, Kind.INTERRUPT, "")
            if "synthetic_reason" in value or draft.is_subagent:
                draft.note(line, Kind.INJECTED, words)
            elif words:
                draft.prompt(line, words)
        elif sort == "assistant":
            _answer(draft, line, value, key)
            answer += 1
        elif sort == "reasoning":
            draft.thought(line, words_of(value.get("summary")) or words, key)
        elif sort == "tool_result":
            _told(draft, line, text_of(value.get("tool_call_id")), words)
        elif sort == "backend_tool_call":
            _at_the_provider(draft, line, object_of(value.get("kind")), key)
        elif sort == "system":
            draft.note(line, Kind.INJECTED, words)
        else:
            source.skip_sort("a record", sort)
    draft.id = draft.id or opening_id(*begins)
    return draft.session(source.skipped)


def _answer(draft: SessionBuilder, line: int, value: dict[str, Any], key: str) -> None:
    draft.model = draft.model or text_of(value.get("model_id"))
    draft.reply(line, words_of(value.get("content")), key)
    for call in map(object_of, list_of(value.get("tool_calls"))):
        draft.call(line, text_of(call.get("id")), text_of(call.get("name")), arguments_of(call.get("arguments")), key)


def _told(draft: SessionBuilder, line: int, name: str, words: str) -> None:
    """The history has no flag for failures: only a command's own words tell."""
    told = prose(words, draft.command_of_call(name))
    draft.result(line, name, words, failed=told.failed, exit_code=told.exit_code)


def _at_the_provider(draft: SessionBuilder, line: int, kind: dict[str, Any], key: str) -> None:
    """A tool that the provider runs itself: call and result in one."""
    name = draft.call(line, text_of(kind.get("id")), text_of(kind.get("tool_type")), object_of(kind.get("action")), key)
    status = text_of(kind.get("status"))
    draft.result(line, name, "", failed={"completed": False, "failed": True}.get(status))


def _draft(source: TranscriptSource, name: str) -> SessionBuilder:
    """A session with what lies beside its file: the summary, and names for it."""
    summary = object_of(parsed((source.beside("summary.json") or b"").decode("utf-8", "replace")))
    info = object_of(summary.get("info"))
    if name and text_of(info.get("id")) not in ("", name):
        summary, info = {}, {}  # another session's
    draft = SessionBuilder(NAME, name or text_of(info.get("id")) or _id_of_folder(source))
    draft.is_subagent = summary.get("session_kind") == "subagent"
    draft.parent = text_of(summary.get("parent_session_id"))
    draft.folder = text_of(info.get("cwd")) or text_of(summary.get("git_root_dir"))
    draft.branch = text_of(summary.get("head_branch"))
    draft.remote = next(filter(None, map(text_of, list_of(summary.get("git_remotes")))), "")
    draft.model = text_of(summary.get("current_model_id"))
    draft.title = text_of(summary.get("generated_title")) or text_of(summary.get("session_summary"))
    draft.saw(instant_ms(summary.get("created_at")))
    draft.saw(instant_ms(summary.get("updated_at")))
    return draft


def _id_of_folder(source: TranscriptSource) -> str:
    folder = os.path.basename(os.path.dirname(source.path))
    return folder if _ID.fullmatch(folder) else ""


def _has_updates_beside(source: TranscriptSource) -> bool:
    line = (source.beside("updates.jsonl") or b"").partition(b"\n")[0].decode("utf-8", "replace")
    if line:
        return _is_update(object_of(parsed(line)))
    try:  # too large to be looked at beside another, so surely not empty
        return (
            bool(source.path)
            and os.lstat(os.path.join(os.path.dirname(source.path), "updates.jsonl")).st_size > BESIDE_BYTES
        )
    except (OSError, ValueError):
        return False


def _is_update(value: dict[str, Any]) -> bool:
    update = object_of(object_of(value.get("params")).get("update"))
    return text_of(value.get("method")) in _METHODS and isinstance(update.get("sessionUpdate"), str)


def _is_history(value: dict[str, Any]) -> bool:
    sort = value.get("type")
    traits = _TRAITS.get(sort, set()) if isinstance(sort, str) else set()
    return "content" in value and bool(traits & value.keys()) and "uuid" not in value and "payload" not in value


def _is_summary(value: Any) -> bool:
    found = object_of(value)
    return (
        isinstance(object_of(found.get("info")).get("id"), str)
        and "messages" not in found
        and "chat_format_version" in found
    )
