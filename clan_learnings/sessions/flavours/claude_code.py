"""Claude Code, 1.0 to 2.1: lines of JSON, a tree of records that mostly is a list.

Decisions that are nobody's but ours:
- Events come in the order of the file. Branches that a rewind left behind are kept: their commands ran, and what a person
  took back was said. (The tree would not tell them apart anyway: parallel calls make leaves of their own.)
- A record counts once, by its uuid, and a call once, by its id, however often a resumed or forked file repeats them.
- A prompt that was typed while the model was busy is in the file up to three times. It stands where it was handed over, or
  where it was queued if it never was.
- A fork copies the records of its origin under its own id. An answer that was copied names the session that asked for it,
  and the first of them is the session that the fork counts as. (`forkedFrom` says the same where it is written.)
- Several session ids in one file: the last is the session, the first the one that it continues.
- The task of a subagent is the model's text, so it is INJECTED, and the title of the subagent's session.
"""

import re
from collections import deque
from collections.abc import Iterator
from typing import Any

import orjson

from clan_learnings.sessions.flavours.claude_code_output import attached, exit_code, fault, is_collateral, refusal
from clan_learnings.sessions.json_values import count_of, instant_ms, list_of, object_of, text_of, words_of
from clan_learnings.sessions.prompt_text import typed
from clan_learnings.sessions.transcript_events import Kind, Session, SessionEvent, Usage
from clan_learnings.sessions.transcript_source import TranscriptSource

NAME = "claude-code"

_SPOKEN = {"user", "assistant", "system", "attachment"}
_TELLING = {"queue-operation", "ai-title", "custom-title", "pr-link"}
_STATES = {
    "file-history-snapshot",
    "file-history-delta",
    "queue-operation",
    "last-prompt",
    "permission-mode",
    "mode",
    "ai-title",
    "custom-title",
    "agent-name",
    "pr-link",
    "bridge-session",
    "worktree-state",
    "relocated",
    "progress",
    "frame-link",
    "started",
    "result",
    "atis-latch",
    "api-request",
    "api-request-blob",
    "api-request-shape",
    "cost-state",
    "tools-used",
}
_SHELLS = {"bash", "powershell"}
_SYNTHETIC = "<synthetic>"
_INTERRUPTED = "[Request interrupted"

_COMMAND = re.compile(r"/[\w:.-]{1,60}(?:\s|$)")
_TITLE = 200


def recognises(source: TranscriptSource) -> bool:
    """Records with a session's id and a uuid, or the lines of state that only this agent writes."""
    for _, value in source.head:
        kind = value.get("type")
        if not isinstance(kind, str):
            continue
        if kind in _SPOKEN and "sessionId" in value and ("uuid" in value or "parentUuid" in value):
            return True
        if kind == "summary" and "leafUuid" in value:
            return True
        if kind in _STATES and ("sessionId" in value or "messageId" in value):
            return True
    return False


def read(source: TranscriptSource) -> Iterator[Session]:
    """One session a file."""
    reader = _ClaudeCodeReader(source)
    for line, value in source.records():
        reader.take(line, value)
    session = reader.session()
    if session is not None:
        yield session


class _ClaudeCodeReader:
    def __init__(self, source: TranscriptSource) -> None:
        self.source = source
        self.events: list[SessionEvent | None] = []
        self.uuids: set[str] = set()
        self.calls: dict[str, str] = {}  # id to name of the tool
        self.call_count = 0
        self.last_call = ("", "")
        self.answers: set[str] = set()
        self.usage: dict[str, tuple[int, int, int]] = {}
        self.queued: dict[str, deque[int]] = {}
        self.ids: list[str] = []  # first and last
        self.agent = ""
        self.fork = ""
        self.are_all_aside = True
        self.folder = self.branch = self.version = self.model = self.remote = ""
        self.titles: dict[str, str] = {}
        self.summaries: dict[str, str] = {}  # by the record they end at; mostly of other sessions
        self.started: int | None = None
        self.ended: int | None = None

    # Records

    def take(self, line: int, value: dict[str, Any]) -> None:
        kind = text_of(value.get("type"))
        if kind in _STATES and kind not in _TELLING:
            return
        if kind in _SPOKEN or kind in {"tool_use", "tool_result"}:
            uuid = text_of(value.get("uuid"))
            if uuid and uuid in self.uuids:
                return
            self.uuids.add(uuid)
            self._note(value, kind)
        at_ms = self._moment(value.get("timestamp"))
        is_aside = value.get("isSidechain") is True
        match kind:
            case "user":
                self._user(line, value, at_ms, is_aside=is_aside)
            case "assistant":
                self._assistant(line, value, at_ms, is_aside=is_aside)
            case "system":
                self._system(line, value, at_ms)
            case "attachment":
                self._attachment(line, value, at_ms)
            case "queue-operation":
                self._queue(line, value, at_ms)
            case "summary":
                self.summaries[text_of(value.get("leafUuid"))] = text_of(value.get("summary"))
                self._add(SessionEvent(line, Kind.SUMMARY, text_of(value.get("summary")), at_ms))
            case "ai-title" | "custom-title":
                self.titles[kind] = text_of(value.get("aiTitle") or value.get("customTitle"))
            case "pr-link":
                self.remote = text_of(value.get("prUrl")).partition("/pull/")[0]
            case "tool_use":
                self._call(line, value, at_ms, "", is_aside=is_aside)
            case "tool_result":
                self._result(line, value | {"content": value.get("output")}, {}, at_ms, is_aside=is_aside)
            case _:
                self.source.skip_sort("a record", kind)

    def _note(self, value: dict[str, Any], kind: str) -> None:
        if kind in {"user", "assistant"}:
            self.are_all_aside &= value.get("isSidechain") is True
            self.agent = text_of(value.get("agentId")) or self.agent
        session = text_of(value.get("sessionId"))
        if session:
            self.ids = [self.ids[0], session] if self.ids else [session, session]
        self.folder = self.folder or text_of(value.get("cwd"))
        self.branch = self.branch or text_of(value.get("gitBranch"))
        self.version = text_of(value.get("version")) or self.version
        origin = text_of(object_of(value.get("forkedFrom")).get("sessionId")) or text_of(value.get("requestSessionId"))
        self.fork = self.fork or (origin if origin != session else "")

    def _moment(self, value: Any) -> int | None:
        at_ms = instant_ms(value)
        if at_ms is not None:
            self.started = at_ms if self.started is None else min(self.started, at_ms)
            self.ended = at_ms if self.ended is None else max(self.ended, at_ms)
        return at_ms

    def _add(self, event: SessionEvent) -> None:
        self.events.append(event)

    # What stands in the person's place

    def _user(self, line: int, value: dict[str, Any], at_ms: int | None, *, is_aside: bool) -> None:
        content = object_of(value.get("message")).get("content")
        if not isinstance(content, str | list):
            self.source.skip("a record without content")
            self.uuids.discard(text_of(value.get("uuid")))  # a better copy may follow
            return
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        texts = []
        for block in blocks:
            if isinstance(block, dict) and block.get("type") == "tool_result":
                self._result(line, block, value, at_ms, is_aside=is_aside)
            elif isinstance(block, str):
                texts.append(block)
            elif isinstance(block, dict):
                texts.append(text_of(block.get("text")))
        for text in texts:
            if text.startswith(_INTERRUPTED):
                self._add(SessionEvent(line, Kind.INTERRUPT, "", at_ms, is_sidechain=is_aside))
        text = "\n".join(text for text in texts if text and not text.startswith(_INTERRUPTED))
        if value.get("isCompactSummary") is True:
            self._add(SessionEvent(line, Kind.SUMMARY, text, at_ms, is_sidechain=is_aside))
        elif text.strip():
            is_person = not is_aside and value.get("isMeta") is not True and _is_human(value.get("origin"))
            self._prompt(line, text, at_ms, is_person=is_person, is_aside=is_aside)

    def _prompt(self, line: int, text: str, at_ms: int | None, *, is_person: bool, is_aside: bool = False) -> None:
        words = typed(text) if is_person else ""
        if not words:
            self._add(SessionEvent(line, Kind.INJECTED, text, at_ms, is_sidechain=is_aside))
            if is_aside:
                self.titles.setdefault("task", text)
            return
        waiting = self.queued.get(words)
        if waiting:  # the same words, now handed over
            self.events[waiting.popleft()] = None
        self._add(SessionEvent(line, Kind.PROMPT, words, at_ms))

    def _queue(self, line: int, value: dict[str, Any], at_ms: int | None) -> None:
        words = typed(words_of(value.get("content")))
        if value.get("operation") == "enqueue" and words and not _COMMAND.match(words):
            self.queued.setdefault(words, deque()).append(len(self.events))
            self._add(SessionEvent(line, Kind.PROMPT, words, at_ms))

    def _attachment(self, line: int, value: dict[str, Any], at_ms: int | None) -> None:
        attachment = object_of(value.get("attachment"))
        if attachment.get("type") == "queued_command":
            text = words_of(attachment.get("prompt"))
            is_person = text_of(attachment.get("commandMode")) in {"prompt", ""} and _is_human(attachment.get("origin"))
            is_person &= attachment.get("isMeta") is not True and value.get("isSidechain") is not True
            if text.strip() and not (is_person and _COMMAND.match(text)):
                self._prompt(line, text, at_ms, is_person=is_person)
            return
        text = attached(attachment)
        if text.strip():
            self._add(SessionEvent(line, Kind.INJECTED, text, at_ms))

    def _system(self, line: int, value: dict[str, Any], at_ms: int | None) -> None:
        text = words_of(value.get("content"))
        match value.get("subtype"):
            case "api_error" | "error":
                self._add(SessionEvent(line, Kind.FAULT, fault(value.get("error")) or text, at_ms))
            case "away_summary":
                self._add(SessionEvent(line, Kind.SUMMARY, text, at_ms))
            case "compact_boundary" | "turn_duration":
                pass
            case _:
                text = "\n".join([text, *filter(None, map(text_of, list_of(value.get("hookAdditionalContext"))))])
                if text.strip():
                    self._add(SessionEvent(line, Kind.INJECTED, text.strip(), at_ms))

    # What the model said and did

    def _assistant(self, line: int, value: dict[str, Any], at_ms: int | None, *, is_aside: bool) -> None:
        message = object_of(value.get("message"))
        content = message.get("content")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else list_of(content)
        model = text_of(message.get("model"))
        if model == _SYNTHETIC or value.get("isApiErrorMessage") is True:
            kind = Kind.FAULT if value.get("isApiErrorMessage") is True else Kind.INJECTED
            self._add(SessionEvent(line, kind, words_of(blocks), at_ms, is_sidechain=is_aside))
            return
        answer = text_of(message.get("id")) or text_of(value.get("uuid")) or str(line)
        self.answers.add(answer)
        self.model = model or self.model
        self._tokens(answer, object_of(message.get("usage")))
        for block in blocks:
            if not isinstance(block, dict):
                continue
            match block.get("type"):
                case "text":
                    if text := text_of(block.get("text")).strip():
                        self._add(SessionEvent(line, Kind.REPLY, text, at_ms, message=answer, is_sidechain=is_aside))
                case "thinking":
                    if text := text_of(block.get("thinking")).strip():
                        self._add(SessionEvent(line, Kind.THOUGHT, text, at_ms, message=answer, is_sidechain=is_aside))
                case "tool_use" | "server_tool_use" | "mcp_tool_use":
                    self._call(line, block, at_ms, answer, is_aside=is_aside)

    def _call(self, line: int, block: dict[str, Any], at_ms: int | None, answer: str, *, is_aside: bool) -> None:
        call, tool = text_of(block.get("id")), text_of(block.get("name"))
        if call and call in self.calls:
            return
        self.calls[call] = tool
        self.last_call = (call, tool)
        self.call_count += 1
        arguments = object_of(block.get("input"))
        command = text_of(arguments.get("command")) if tool.lower() in _SHELLS else ""
        self._add(
            SessionEvent(
                line,
                Kind.CALL,
                command,
                at_ms,
                call=call,
                tool=tool,
                arguments=arguments,
                message=answer,
                is_sidechain=is_aside,
            )
        )

    def _result(
        self, line: int, block: dict[str, Any], value: dict[str, Any], at_ms: int | None, *, is_aside: bool
    ) -> None:
        call = text_of(block.get("tool_use_id"))
        tool = self.calls.get(call, "") if call else self.last_call[1]
        text = words_of(block.get("content"))
        has_failed = block.get("is_error") is True
        event = SessionEvent(
            line, Kind.RESULT, text, at_ms, call=call, tool=tool, failed=has_failed, is_sidechain=is_aside
        )
        detail = value.get("toolUseResult")
        if has_failed:
            reason = refusal(text, text_of(value.get("toolDenialKind")), detail)
            if reason is not None:
                self._add(event._replace(kind=Kind.REFUSAL, text=reason, failed=None))
                return
            event = event._replace(exit_code=exit_code(text))
        is_stopped = isinstance(detail, dict) and detail.get("interrupted") is True
        self._add(event._replace(is_collateral=is_stopped or (has_failed and is_collateral(text))))

    def _tokens(self, answer: str, usage: dict[str, Any]) -> None:
        if not usage:
            return
        new = (
            count_of(usage.get("input_tokens")) + count_of(usage.get("cache_creation_input_tokens")),
            count_of(usage.get("output_tokens")),
            count_of(usage.get("cache_read_input_tokens")),
        )
        old = self.usage.get(answer, (0, 0, 0))  # repeated on every line of an answer, and growing
        self.usage[answer] = (max(new[0], old[0]), max(new[1], old[1]), max(new[2], old[2]))

    # The whole

    def session(self) -> Session | None:
        events = [event for event in self.events if event is not None]
        if not self.ids:
            self.source.skip("no session in it, only lines about others")
            return None
        first, last = self.ids or ["", ""]
        is_subagent = self.are_all_aside and bool(self.uuids)
        parent = self.fork or (first if first != last else "")
        title = self.titles.get("custom-title") or self.titles.get("ai-title") or self._summary()
        if is_subagent:
            title = self._description() or self.titles.get("task", "")
            last, parent = self._subagent(last)
        used = list(self.usage.values())
        return Session(
            flavour=NAME,
            id=last,
            events=events,
            parent=parent,
            is_subagent=is_subagent,
            folder=self.folder,
            remote=self.remote,
            branch=self.branch,
            model=self.model,
            version=self.version,
            title=title[:_TITLE],
            started_ms=self.started,
            ended_ms=self.ended,
            messages=len(self.answers) + sum(event.kind is Kind.PROMPT for event in events),
            calls=self.call_count,
            usage=Usage(sum(one[0] for one in used), sum(one[1] for one in used), sum(one[2] for one in used)),
        )

    def _description(self) -> str:
        # What the model called the subagent's task stands beside its transcript, if anywhere.
        data = self.source.beside(f"agent-{self.agent}.meta.json") if self.agent else None
        try:
            return text_of(object_of(orjson.loads(data or b"{}")).get("description"))
        except ValueError:
            return ""

    def _summary(self) -> str:
        return next((text for leaf, text in self.summaries.items() if leaf in self.uuids), "")

    def _subagent(self, session: str) -> tuple[str, str]:
        # Its records have the parent's id. Only where they have its own is the parent in the folder's name.
        if not self.agent or session.removeprefix("agent-") != self.agent:
            return self.agent or f"{session}/{min(self.uuids)}", session
        folders = self.source.path.replace("\\", "/").split("/")[:-1]
        return self.agent, folders[-2] if len(folders) > 1 and folders[-1] == "subagents" else ""


def _is_human(origin: Any) -> bool:
    return not isinstance(origin, dict) or text_of(origin.get("kind")) in {"human", ""}
