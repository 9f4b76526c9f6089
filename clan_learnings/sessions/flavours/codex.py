"""Codex: rollouts, bare items (until September 2025) or in envelopes, packed with zstd or not.

Decisions that are nobody's but ours:
- What is in the file twice counts once. A prompt is the `user_message`, and the item that it repeats is dropped; an answer or
  a thought is the item, and the event that repeats it is dropped.
- A command that ran on (`Process running with session ID N`, `Script running with cell ID N`) gets one RESULT, where it ended:
  at the line of the `write_stdin` or `wait` that brought the end, with all it printed and its exit code. The RESULTs of the
  calls that waited for it are empty. A command whose end nobody saw has its RESULT where it was left, failed unknown.
- `exec` is a script that calls tools; the command of its CALL is what it gives to a shell.
- Several `session_meta`: the first is the file's own, its ancestor is the session it counts as.
- `replacement_history` repeats what was said before: only the summary is taken.
"""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from clan_learnings.sessions.flavours.codex_output import arguments_of, command_of, told
from clan_learnings.sessions.json_values import (
    count_of,
    exit_code_of,
    instant_ms,
    list_of,
    object_of,
    text_of,
    words_of,
)
from clan_learnings.sessions.prompt_text import typed
from clan_learnings.sessions.transcript_events import Kind, Session, SessionEvent, Usage
from clan_learnings.sessions.transcript_source import TranscriptSource

NAME = "codex"

_ENVELOPES = {
    "session_meta",
    "turn_context",
    "response_item",
    "event_msg",
    "compacted",
    "world_state",
    "inter_agent_communication",
    "inter_agent_communication_metadata",
    "token_usage_record",
}
_ITEMS = {"message", "reasoning", "function_call", "function_call_output", "custom_tool_call", "local_shell_call"}
_SHELLS = {"shell", "exec_command", "shell_command", "local_shell", "container.exec", "unified_exec", "exec"}
_WAITING = {"write_stdin", "wait"}
_SCRIPT_FAILED = ("Script failed", "Script error")
_SCRIPT_WAITS = re.compile(r"\bwrite_stdin\(\s{0,9}\{[^}]{0,200}?\bsession_id[\"']?\s{0,9}:\s{0,9}(\d{1,20})")
_REFUSED = re.compile(r"(?:rejected|denied|declined) by (?:the )?user", re.IGNORECASE)
_ABORTED = re.compile(r"aborted by (?:the )?user", re.IGNORECASE)
_SHORT = 300  # a refusal is said in a sentence


def recognises(source: TranscriptSource) -> bool:
    """Envelopes with a payload, or the bare items that came before them."""
    for _, value in source.head:
        kind = value.get("type")
        if not isinstance(kind, str):
            if value.get("record_type") == "state":
                return True
            continue
        if kind in _ENVELOPES and isinstance(value.get("payload"), dict):
            return True
        if kind == "message" and any(
            isinstance(block, dict) and text_of(block.get("type")) in {"input_text", "output_text"}
            for block in list_of(value.get("content"))
        ):
            return True
        if kind in {"function_call", "custom_tool_call"} and "call_id" in value and "message" not in value:
            return True
        if kind == "reasoning" and "encrypted_content" in value:
            return True
    return False


def read(source: TranscriptSource) -> Iterator[Session]:
    """One session a file."""
    reader = _CodexReader(source)
    for line, value in source.records():
        reader.take(line, value)
    yield reader.session()


class _CommandEnd(NamedTuple):
    """What an event says about how a call ended: better than the words of its output."""

    line: int
    failed: bool | None
    exit_code: int | None
    text: str


class _Running(NamedTuple):
    """A command that has not ended yet."""

    place: int  # of its event
    event: SessionEvent
    printed: list[str]

    @property
    def text(self) -> str:
        return "\n".join(filter(None, self.printed))


class _CodexReader:
    def __init__(self, source: TranscriptSource) -> None:
        self.source = source
        self.events: list[SessionEvent | None] = []
        self.meta: dict[str, Any] | None = None
        self.has_aborts = source.mentions(b'"turn_aborted"')
        self.prompts: set[str] = set()
        self.said: set[str] = set()
        self.doubtful: list[
            tuple[int, list[str]]
        ] = []  # events that may be the second telling of another: index, texts
        self.calls: dict[str, str] = {}
        self.waits: dict[str, str] = {}  # a waiting call to the process it waits for
        self.running: dict[str, _Running] = {}  # by process
        self.ended: dict[str, _CommandEnd] = {}
        self.answered: set[str] = set()
        self.total: dict[str, Any] = {}
        self.folder = self.model = self.title = ""
        self.started: int | None = None
        self.last: int | None = None
        self.call_count = 0

    def take(self, line: int, value: dict[str, Any]) -> None:
        at_ms = instant_ms(value.get("timestamp") or value.get("created_at"))
        if at_ms is not None:
            self.started = at_ms if self.started is None else min(self.started, at_ms)
            self.last = at_ms if self.last is None else max(self.last, at_ms)
        payload = object_of(value.get("payload"))
        match value.get("type"):
            case "session_meta":
                if self.meta is None:
                    self.meta = payload
            case "turn_context":
                self.model = text_of(payload.get("model")) or self.model
                self.folder = self.folder or text_of(payload.get("cwd"))
            case "response_item":
                self._item(line, payload, at_ms)
            case "event_msg":
                self._event(line, payload, at_ms)
            case "compacted":
                if text := text_of(payload.get("message")):
                    self._add(SessionEvent(line, Kind.SUMMARY, text, at_ms))
            case str(kind) if kind in _ENVELOPES:
                pass  # what the agent tells of itself
            case str():
                self._item(line, value, at_ms)
            case _:
                self._bare(line, value, at_ms)

    def _bare(self, line: int, value: dict[str, Any], at_ms: int | None) -> None:
        if "record_type" in value:
            return
        if self.meta is None and "id" in value and "timestamp" in value:
            self.meta = value
        elif text_of(value.get("role")) in {"user", "assistant"}:
            content = value.get("content", value.get("message"))
            self._item(line, {"type": "message", "role": value["role"], "content": content}, at_ms)
        else:
            self.source.skip_sort("a record", value.get("type"))

    def _add(self, event: SessionEvent) -> int:
        self.events.append(event)
        return len(self.events) - 1

    # Items: what went to the model and came from it

    def _item(self, line: int, item: dict[str, Any], at_ms: int | None) -> None:
        match item.get("type"):
            case "message":
                self._message(line, item, at_ms)
            case "reasoning":
                for block in (*list_of(item.get("summary")), *list_of(item.get("content"))):
                    if text := words_of(block).strip():
                        self.said.add(text)
                        self._add(SessionEvent(line, Kind.THOUGHT, text, at_ms))
            case "function_call" | "custom_tool_call" | "local_shell_call" | "tool_call":
                self._call(line, item, at_ms)
            case "web_search_call" | "tool_search_call" | "image_generation_call":
                self._call(line, item, at_ms)
            case "function_call_output" | "custom_tool_call_output" | "tool_search_output":
                self._output(line, item, item.get("output"), at_ms)
            case "tool_result" | "function_result":
                self._output(line, item, item.get("result"), at_ms)
            case "agent_message" | "ghost_snapshot" | "compaction" | "other":
                pass
            case _:
                self.source.skip_sort("a record", item.get("type"))

    def _message(self, line: int, item: dict[str, Any], at_ms: int | None) -> None:
        text = words_of(item.get("content")).strip()
        if not text:
            return
        match item.get("role"):
            case "assistant":
                self.said.add(text)
                self._add(SessionEvent(line, Kind.REPLY, text, at_ms, message=text_of(item.get("id")) or str(line)))
            case "user":
                self._in_persons_place(line, item, text, at_ms)
            case _:
                self._add(SessionEvent(line, Kind.INJECTED, text, at_ms))

    def _in_persons_place(self, line: int, item: dict[str, Any], text: str, at_ms: int | None) -> None:
        self.folder = self.folder or _between(text, "<cwd>", "</cwd>")
        if text.startswith("<turn_aborted") and not self.has_aborts:
            self._add(SessionEvent(line, Kind.INTERRUPT, "", at_ms))
            return
        blocks = [words_of(block) for block in list_of(item.get("content"))] or [text]
        words = [found for found in map(typed, blocks) if found]
        if not words or self._is_subagent or words[0].startswith("<"):  # a wrapper that is not known yet
            index = self._add(SessionEvent(line, Kind.INJECTED, text, at_ms))
        else:
            index = self._add(SessionEvent(line, Kind.PROMPT, "\n".join(words), at_ms))
        self.doubtful.append((index, [*words, "\n".join(words)]))

    def _call(self, line: int, item: dict[str, Any], at_ms: int | None) -> None:
        kind = text_of(item.get("type"))
        tool = text_of(item.get("name")) or text_of(object_of(item.get("function")).get("name"))
        tool = tool or kind.removesuffix("_call") or "tool"
        call = text_of(item.get("call_id")) or text_of(item.get("id"))
        if call and call in self.calls:
            return
        self.calls[call] = tool
        self.call_count += 1
        arguments = arguments_of(item)
        if tool in _WAITING:
            self.waits[call] = str(arguments.get("session_id") or arguments.get("cell_id") or "")[:40]
        elif waited := _SCRIPT_WAITS.search(text_of(arguments.get("input"))):
            self.waits[call] = waited[1]
        command = command_of(arguments) if tool in _SHELLS else ""
        self._add(SessionEvent(line, Kind.CALL, command, at_ms, call=call, tool=tool, arguments=arguments))

    def _output(self, line: int, item: dict[str, Any], output: Any, at_ms: int | None) -> None:
        call = text_of(item.get("call_id"))
        tool = self.calls.get(call, "") or text_of(item.get("name"))
        text, code, about, process = told(output)
        self.answered.add(call)
        event = SessionEvent(line, Kind.RESULT, text, at_ms, call=call, tool=tool, exit_code=code, failed=_failed(code))
        if isinstance(output, dict) and isinstance(output.get("success"), bool):
            event = event._replace(failed=not output["success"])
        if len(text) < _SHORT and _REFUSED.search(text):
            self._add(event._replace(kind=Kind.REFUSAL, text="", failed=None))
            return
        if len(text) < _SHORT and _ABORTED.search(text):
            event = event._replace(is_collateral=True)
        elif about.startswith(_SCRIPT_FAILED):
            event = event._replace(failed=True)
        waited = self.waits.get(call, "")
        if tool and len(text) < _SHORT and text.startswith(f"{tool} failed: "):
            self._add(event._replace(failed=True))  # the tool itself, and not what it waited for
        elif waited in self.running:
            self._goes_on(waited, event, process)
        elif process:
            self.running[process] = _Running(self._add(event), event, [text])
        else:
            self._add(event)

    def _goes_on(self, process: str, event: SessionEvent, now: str) -> None:
        self._add(event._replace(text="", failed=None, exit_code=None))  # of the call that waited
        begun = self.running.pop(process)
        begun.printed.append(event.text)
        if now:  # maybe by another name: a script ends before the process that it began
            self.running[now] = begun
            return
        self.events[begun.place] = None
        known = begun.event._replace(text=begun.text, exit_code=event.exit_code, failed=event.failed)
        self._add(known._replace(line=event.line, at_ms=event.at_ms))

    # Events: what the person saw

    def _event(self, line: int, event: dict[str, Any], at_ms: int | None) -> None:
        match event.get("type"):
            case "user_message":
                words = typed(text_of(event.get("message")))
                if words:
                    self.prompts.add(words)
                    kind = Kind.INJECTED if self._is_subagent else Kind.PROMPT
                    self._add(SessionEvent(line, kind, words, at_ms))
            case "agent_message":
                self._maybe(
                    SessionEvent(line, Kind.REPLY, text_of(event.get("message")).strip(), at_ms, message=str(line))
                )
            case "agent_reasoning":
                self._maybe(SessionEvent(line, Kind.THOUGHT, text_of(event.get("text")).strip(), at_ms))
            case "turn_aborted":
                if text_of(event.get("reason")) in {"interrupted", ""}:
                    self._add(SessionEvent(line, Kind.INTERRUPT, "", at_ms))
            case "error" | "stream_error":
                text = text_of(event.get("message")) or text_of(object_of(event.get("error")).get("message"))
                self._add(SessionEvent(line, Kind.FAULT, text, at_ms))
            case "token_count":
                self.total = object_of(object_of(event.get("info")).get("total_token_usage")) or self.total
            case "turn.completed":
                self.total = object_of(event.get("usage")) or self.total
            case "thread_name_updated":
                self.title = text_of(event.get("thread_name"))
            case "exec_command_end":
                code = exit_code_of(event.get("exit_code"))
                text = text_of(event.get("aggregated_output")) or text_of(event.get("stdout"))
                self._end(event, _CommandEnd(line, _failed(code), code, text or text_of(event.get("stderr"))))
            case "patch_apply_end":
                success = event.get("success")
                text = text_of(event.get("stdout")) or text_of(event.get("stderr"))
                self._end(event, _CommandEnd(line, (not success) if isinstance(success, bool) else None, None, text))
            case "mcp_tool_call_end":
                result = object_of(event.get("result"))
                has_failed = "Err" in result or object_of(result.get("Ok")).get("isError") is True
                text = text_of(result.get("Err")) or words_of(object_of(result.get("Ok")).get("content"))
                self._end(event, _CommandEnd(line, has_failed if result else None, None, text))

    def _maybe(self, event: SessionEvent) -> None:
        if event.text:
            self.doubtful.append((self._add(event), [event.text]))

    def _end(self, event: dict[str, Any], ended: _CommandEnd) -> None:
        call = text_of(event.get("call_id"))
        if call in self.calls:
            self.ended[call] = ended

    # The whole

    @property
    def _is_subagent(self) -> bool:
        meta = self.meta or {}
        return "subagent" in object_of(meta.get("source")) or meta.get("thread_source") == "subagent"

    def session(self) -> Session:
        for running in self.running.values():
            self.events[running.place] = running.event._replace(text=running.text)
        for index, texts in self.doubtful:
            event = self.events[index]
            told = self.said if event is not None and event.kind in {Kind.REPLY, Kind.THOUGHT} else self.prompts
            if any(text in told for text in texts):
                self.events[index] = None
        events = [self._as_it_ended(event) for event in self.events if event is not None]
        for call, end in self.ended.items():
            if call not in self.answered:
                result = SessionEvent(end.line, Kind.RESULT, end.text, None, call=call, tool=self.calls[call])
                events.append(self._as_it_ended(result))
        events.sort(key=lambda event: event.line)
        meta = self.meta or {}
        git = object_of(meta.get("git"))
        name = text_of(meta.get("id")) or text_of(meta.get("session_id"))
        ancestors = (meta.get("parent_thread_id"), meta.get("forked_from_id"), meta.get("session_id"))
        cached = count_of(self.total.get("cached_input_tokens"))
        return Session(
            flavour=NAME,
            id=name,
            events=events,
            parent=next((found for found in map(text_of, ancestors) if found and found != name), ""),
            is_subagent=self._is_subagent,
            folder=text_of(meta.get("cwd")) or self.folder,
            remote=text_of(git.get("repository_url")),
            branch=text_of(git.get("branch")),
            model=self.model,
            version=text_of(meta.get("cli_version")),
            title=self.title,
            started_ms=self.started,
            ended_ms=self.last,
            messages=sum(event.kind in {Kind.PROMPT, Kind.REPLY} for event in events),
            calls=self.call_count,
            usage=Usage(
                max(0, count_of(self.total.get("input_tokens")) - cached),
                count_of(self.total.get("output_tokens")),
                cached,
            ),
        )

    def _as_it_ended(self, event: SessionEvent) -> SessionEvent:
        end = self.ended.get(event.call) if event.kind is Kind.RESULT else None
        if end is None or event.call in self.waits:
            return event
        failed = event.failed if end.failed is None else end.failed
        return event._replace(failed=failed, exit_code=event.exit_code if end.exit_code is None else end.exit_code)


def _failed(code: int | None) -> bool | None:
    return None if code is None else code != 0


def _between(text: str, opening: str, closing: str) -> str:
    _, found, rest = text.partition(opening)
    return rest.partition(closing)[0].strip() if found and closing in rest else ""
