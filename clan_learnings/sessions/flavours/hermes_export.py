"""What Hermes hands to others: its archival export, and the scopes of its telemetry (ATOF). Its own files are `hermes`'."""

from collections.abc import Iterator
from typing import Any

from clan_learnings.sessions.json_values import (
    arguments_of,
    count_of,
    exit_code_of,
    instant_ms,
    list_of,
    object_of,
    text_of,
)
from clan_learnings.sessions.session_builder import SessionBuilder, dollars_of
from clan_learnings.sessions.transcript_events import Kind, Session
from clan_learnings.sessions.transcript_source import TranscriptSource

NAME = "hermes"


def recognises(source: TranscriptSource) -> bool:
    """Whether the producer is named, or the telemetry's version stands in each record."""
    if any("atof_version" in record.value for record in source.head):
        return True
    document = source.document()
    return document is not None and text_of(object_of(document.value).get("producer")).startswith("hermes")


def read(source: TranscriptSource) -> Iterator[Session]:
    """The one session of an export, or the sessions of a telemetry stream."""
    document = source.document()
    if document is not None and "atof_version" not in object_of(document.value):
        yield _archived(source)
    else:
        yield from _scopes(source)


def _archived(source: TranscriptSource) -> Session:
    document = source.document()
    about = object_of(document.value if document else None)
    draft = SessionBuilder(NAME, text_of(about.get("session_id")))
    draft.parent = text_of(about.get("parent_session_id"))
    draft.folder = text_of(about.get("repository_cwd"))
    draft.branch = text_of(about.get("git_branch"))
    draft.version = text_of(about.get("producer")).partition("/")[2]
    remote = text_of(about.get("git_repo_root"))
    draft.remote = remote if "://" in remote or "@" in remote else ""
    draft.saw(instant_ms(about.get("created_at")))
    draft.saw(instant_ms(about.get("ended_at")))
    usage, cost = object_of(about.get("usage")), object_of(about.get("cost"))
    draft.spend(
        count_of(usage.get("input_tokens")),
        count_of(usage.get("output_tokens")),
        count_of(usage.get("cache_read_tokens")),
        dollars_of(cost.get("actual_cost_usd")),
    )
    messages = document.member("messages") if document else None
    for number, part in enumerate(messages.elements() if messages else ()):
        _archived_message(source, draft, part.line, object_of(part.value), f"{number}")
    return draft.session(source.skipped)


def _archived_message(
    source: TranscriptSource, draft: SessionBuilder, line: int, message: dict[str, Any], key: str
) -> None:
    role, text, at_ms = message.get("role"), text_of(message.get("text")), instant_ms(message.get("timestamp"))
    if role == "user":
        draft.prompt(line, text, at_ms)
    elif role == "system":
        draft.note(line, Kind.INJECTED, text, at_ms)
    elif role == "assistant":
        draft.thought(line, text_of(message.get("reasoning")), key, at_ms)
        draft.reply(line, text, key, at_ms)
    elif role != "tool":
        source.skip_sort("a record", role)
        return
    for call in map(object_of, list_of(message.get("tool_calls"))):
        arguments = arguments_of(call.get("arguments_json"))
        draft.call(line, text_of(call.get("action_id")), text_of(call.get("tool_name")), arguments, key, at_ms)
    for result in map(object_of, list_of(message.get("tool_results"))):
        flag = result.get("is_error")
        draft.result(
            line,
            text_of(result.get("action_id")),
            text_of(result.get("output_preview")),
            at_ms,
            failed=flag if isinstance(flag, bool) else None,
            exit_code=exit_code_of(result.get("exit_code")),
        )


def _scopes(source: TranscriptSource) -> Iterator[Session]:
    drafts: dict[str, SessionBuilder] = {}
    answers: dict[str, str] = {}  # by session, the newest: tools are used by it
    for line, value in source.records():
        meta = object_of(value.get("metadata"))
        name = text_of(meta.get("session_id"))
        if not name or "atof_version" not in value:
            source.skip("a record that names no session")
            continue
        draft = drafts.setdefault(name, SessionBuilder(NAME, name))
        draft.model = draft.model or text_of(meta.get("model"))
        if value.get("category") == "llm":
            answers[name] = text_of(value.get("uuid"))
        _scope(draft, line, value, meta, answers.get(name, ""))
    for draft in drafts.values():
        yield draft.session(source.skipped)


def _scope(draft: SessionBuilder, line: int, value: dict[str, Any], meta: dict[str, Any], key: str) -> None:
    data, at_ms = object_of(value.get("data")), instant_ms(value.get("timestamp"))
    name = text_of(meta.get("tool_call_id")) or text_of(value.get("uuid"))
    draft.saw(at_ms)
    match value.get("category"), value.get("scope_category"):
        case "llm", "start":
            if text := text_of(data.get("content")):
                draft.prompt(line, text, at_ms)
        case "llm", "end":
            if data.get("error"):
                draft.note(line, Kind.FAULT, text_of(data.get("error")), at_ms)
            draft.reply(line, text_of(data.get("assistant_message")), key, at_ms)
        case "tool", "start":
            draft.call(line, name, text_of(value.get("name")), data, key, at_ms)
        case "tool", "end":
            status = text_of(meta.get("status"))
            failed = {"completed": False, "error": True, "failed": True}.get(status)
            text = text_of(data.get("stdout")) or text_of(data.get("output")) or text_of(data.get("error"))
            code = exit_code_of(data.get("exit_code"))
            draft.result(line, name, text, at_ms, failed=None if failed is False else failed, exit_code=code)
        case _:
            pass  # marks and the session's own scope: times, which were seen
