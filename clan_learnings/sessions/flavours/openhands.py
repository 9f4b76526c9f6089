"""OpenHands: runs of its benchmarks and its issue resolver (an instance a line), exported trajectories, events of its SDK.

Each instance is a session of its own, named by
the instance and by how it began: other models solve the same one. Times have no zone and are taken as UTC.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from clan_learnings.sessions.failed_output import exit_code_in, failed_by
from clan_learnings.sessions.json_values import (
    arguments_of,
    count_of,
    exit_code_of,
    instant_ms,
    list_of,
    object_of,
    text_of,
    words_of,
)
from clan_learnings.sessions.prompt_text import assigned
from clan_learnings.sessions.session_builder import SessionBuilder, dollars_of, opening_id
from clan_learnings.sessions.transcript_events import Kind, Session
from clan_learnings.sessions.transcript_source import TranscriptSource

_FAKE = (
    "Please continue working on the task on whatever approach",
    "Please continue on whatever approach",
)  # benchmarks answer so themselves
_QUIET = {
    "change_agent_state",
    "agent_state_changed",
    "null",
    "recall",
    "condensation_request",
    "start",
    "pause",
    "resume",
    "stop",
    "loop_recovery",
}
_QUIET_KINDS = {
    "ConversationStateUpdateEvent",
    "CondensationRequest",
    "TokenEvent",
    "LLMCompletionLogEvent",
    "StreamingDeltaEvent",
}
_KINDS = {
    "ActionEvent",
    "ObservationEvent",
    "MessageEvent",
    "SystemPromptEvent",
    "AgentErrorEvent",
    "UserRejectObservation",
    "Condensation",
    *_QUIET_KINDS,
}
_FAILED = ("ERROR:", "[Your proposed edit has introduced new syntax error", "[No exact match found", "[Error", "Error:")
_STILL_RUNS = -1  # as an exit code
_OLDEST = {"command", "code", "path", "url", "content"}  # arguments that stand in the event itself


class OpenHandsReader:
    """Reads the events of one session into a builder."""

    def __init__(self, draft: SessionBuilder) -> None:
        self.draft = draft
        self.begins: list[str] = []
        self._count = 0
        self._calls: dict[str, str] = {}  # by the action's id
        self._last = ""
        self._spoke = ""

    def tell(self, line: int, event: dict[str, Any]) -> bool:
        """Whether the event was understood."""
        self._count += 1
        if len(self.begins) < 4:
            text = f"{text_of(event.get('timestamp'))} {text_of(event.get('id'))}".strip()
            self.begins.append(text or f"{text_of(event.get('content'))} {text_of(event.get('thought'))}")
        at_ms = instant_ms(event.get("timestamp"))
        self.draft.saw(at_ms)
        if "kind" in event:
            return self._v1(line, event, at_ms)
        if "observation" in event:
            return self._observation(line, event, at_ms)
        return "action" in event and self._action(line, event, at_ms)

    def _action(self, line: int, event: dict[str, Any], at_ms: int | None) -> bool:
        action, args = text_of(event.get("action")), object_of(event.get("args")) or event
        called = object_of(event.get("tool_call_metadata"))
        response = object_of(called.get("model_response"))
        key = text_of(response.get("id")) or f"event {self._count}"
        self.draft.model = self.draft.model or text_of(response.get("model"))
        if action in _QUIET:
            return True
        if action == "system":
            self.draft.note(line, Kind.INJECTED, text_of(args.get("content")), at_ms)
        elif action == "condensation":
            self.draft.note(line, Kind.SUMMARY, text_of(args.get("summary")), at_ms)
        elif action == "message":
            self._message(line, event, args, key, at_ms)
        elif action:
            self._called(line, event, action, args, called, key, at_ms)
        else:
            return False
        return True

    def _message(self, line: int, event: dict[str, Any], args: dict[str, Any], key: str, at_ms: int | None) -> None:
        text, source = text_of(args.get("content")), event.get("source")
        # The oldest files do not say who speaks: person and model take turns, the person first.
        is_person = source == "user" if isinstance(source, str) else self._spoke in ("", "model")
        if is_person:
            self._person(line, text, at_ms)
        else:
            self.draft.reply(line, text, key, at_ms)
        self._spoke = "person" if is_person else "model"

    def _person(self, line: int, text: str, at_ms: int | None) -> None:
        task = assigned(text)
        if text.startswith(_FAKE):
            self.draft.note(line, Kind.INJECTED, text, at_ms)
            return
        if task != text.strip():
            self.draft.note(line, Kind.INJECTED, text, at_ms)
        self.draft.prompt(line, task, at_ms)

    def _called(
        self,
        line: int,
        event: dict[str, Any],
        action: str,
        args: dict[str, Any],
        called: dict[str, Any],
        key: str,
        at_ms: int | None,
    ) -> None:
        self._spoke = "action"
        self.draft.reply(line, text_of(args.get("thought")), key, at_ms)
        if action == "finish" and not called:  # no tool yet, only the end
            self.draft.reply(line, text_of(args.get("final_thought")), key, at_ms)
            return
        names = _OLDEST & args.keys() if args is event else args.keys() - {"thought"}
        arguments = {name: args[name] for name in sorted(names)}
        tool = text_of(called.get("function_name")) or action
        name = text_of(called.get("tool_call_id"))
        command = text_of(args.get("command")) if action == "run" else ""
        own = self.draft.call(line, name, tool, arguments, key, at_ms, text=command)
        self._calls[f"{event.get('id')}"] = self._last = own

    def _observation(self, line: int, event: dict[str, Any], at_ms: int | None) -> bool:
        sort, extras, text = (
            text_of(event.get("observation")),
            object_of(event.get("extras")),
            text_of(event.get("content")),
        )
        if sort == "recall" or (sort in _QUIET and not text):
            knowledge = [
                text_of(object_of(entry).get("content")) for entry in list_of(extras.get("microagent_knowledge"))
            ]
            said = "\n".join(filter(None, [text_of(extras.get("repo_instructions")), *knowledge]))
            self.draft.note(line, Kind.INJECTED, said or text, at_ms)
            return True
        if sort in _QUIET:
            return True
        if sort == "user_rejected":
            self.draft.refusal(line, self._joined(event), text, at_ms)
            return True
        code, failed = self._ended(event, extras)
        name = self._joined(event)
        if sort == "error":
            failed = True
            name = name if "cause" in event else ""  # a call so wrong that no action came of it
        elif failed is None and code is None:
            failed = True if text.lstrip().startswith(_FAILED) else failed_by(text) if sort == "run_ipython" else None
        self.draft.result(line, name, text, at_ms, failed=failed, exit_code=code)
        self.draft.folder = self.draft.folder or text_of(object_of(extras.get("metadata")).get("working_dir"))
        return bool(sort)

    def _joined(self, event: dict[str, Any]) -> str:
        cause = event.get("cause")
        return self._calls.get(f"{cause}", "") if isinstance(cause, int | str) else self._last

    def _ended(self, event: dict[str, Any], extras: dict[str, Any]) -> tuple[int | None, bool | None]:
        places = (extras, object_of(extras.get("metadata")), event)
        code = next((found for place in places if (found := exit_code_of(place.get("exit_code"))) is not None), None)
        if code == _STILL_RUNS:
            return None, None
        return code, True if code is None and event.get("success") is False else None

    def _v1(self, line: int, event: dict[str, Any], at_ms: int | None) -> bool:
        kind, draft = text_of(event.get("kind")), self.draft
        name = text_of(event.get("tool_call_id"))
        match kind:
            case "MessageEvent":
                self._v1_message(line, event, at_ms)
            case "ActionEvent":
                self._v1_action(line, event, name, at_ms)
            case "ObservationEvent":
                self._v1_observation(line, event, name, at_ms)
            case "AgentErrorEvent":
                draft.result(
                    line, name, text_of(event.get("error")), at_ms, tool=text_of(event.get("tool_name")), failed=True
                )
            case "UserRejectObservation":
                draft.refusal(line, name, text_of(event.get("rejection_reason")), at_ms)
            case "SystemPromptEvent":
                draft.note(line, Kind.INJECTED, words_of(event.get("system_prompt")), at_ms)
            case "Condensation" | "CondensationSummaryEvent":
                draft.note(line, Kind.SUMMARY, text_of(event.get("summary")), at_ms)
            case "PauseEvent" | "InterruptEvent":
                draft.note(line, Kind.INTERRUPT, "", at_ms)
            case "ConversationErrorEvent" | "ServerErrorEvent":
                draft.note(line, Kind.FAULT, text_of(event.get("detail")) or text_of(event.get("code")), at_ms)
            case _:
                return kind in _QUIET_KINDS
        return True

    def _v1_message(self, line: int, event: dict[str, Any], at_ms: int | None) -> None:
        message = object_of(event.get("llm_message"))
        text = words_of(message.get("content"))
        if event.get("source") == "user" or (event.get("source") is None and message.get("role") == "user"):
            if text:
                self._person(line, text, at_ms)
            added = words_of(event.get("extended_content"))
            self.draft.note(line, Kind.INJECTED, added, at_ms)
        elif event.get("source") == "agent" or message.get("role") == "assistant":
            key = text_of(event.get("llm_response_id")) or f"event {self._count}"
            self.draft.thought(line, text_of(message.get("reasoning_content")), key, at_ms)
            self.draft.reply(line, text, key, at_ms)
        else:
            self.draft.note(line, Kind.INJECTED, text, at_ms)

    def _v1_action(self, line: int, event: dict[str, Any], name: str, at_ms: int | None) -> None:
        key = text_of(event.get("llm_response_id")) or f"event {self._count}"
        call = object_of(event.get("tool_call"))
        function = object_of(call.get("function")) or call
        action = {key: value for key, value in object_of(event.get("action")).items() if key != "kind"}
        tool = text_of(event.get("tool_name")) or text_of(function.get("name"))
        self.draft.thought(line, text_of(event.get("reasoning_content")), key, at_ms)
        self.draft.reply(line, words_of(event.get("thought")), key, at_ms)
        own = self.draft.call(
            line, name or text_of(call.get("id")), tool, action or arguments_of(function.get("arguments")), key, at_ms
        )
        self._calls[text_of(event.get("id"))] = self._last = own
        if tool == "finish":
            self.draft.reply(line, text_of(action.get("message")), key, at_ms)

    def _v1_observation(self, line: int, event: dict[str, Any], name: str, at_ms: int | None) -> None:
        seen = object_of(event.get("observation"))
        text = words_of(seen.get("content")) or words_of(seen.get("output"))
        places = (seen, object_of(seen.get("metadata")))
        code = next((found for place in places if (found := exit_code_of(place.get("exit_code"))) is not None), None)
        flag = seen.get("is_error")
        name = name or self._calls.get(text_of(event.get("action_id")), "")
        if code == _STILL_RUNS:
            code = None
        elif code is None and self.draft.command_of_call(name):
            code = exit_code_in(text)
        failed = flag if isinstance(flag, bool) else None
        self.draft.result(line, name, text, at_ms, tool=text_of(event.get("tool_name")), failed=failed, exit_code=code)
        self.draft.folder = self.draft.folder or text_of(object_of(seen.get("metadata")).get("working_dir"))


def is_event(value: Any) -> bool:
    """Whether this is an event of either generation, and of nobody else."""
    found = object_of(value)
    kind = found.get("kind")
    if isinstance(kind, str):
        return kind in _KINDS
    is_v0 = isinstance(found.get("action"), str) or isinstance(found.get("observation"), str)
    return is_v0 and found.get("source") in ("agent", "user", "environment") and ("args" in found or "extras" in found)


NAME = "openhands"
_MAX_EVENTS = 200_000
_INSTANCE = {"instance_id", "instance", "issue", "instruction", "test_result"}


def recognises(source: TranscriptSource) -> bool:
    """Whether there are instances with a history of events, or events themselves."""
    if any(_is_instance(record.value) or is_event(record.value) for record in source.head):
        return True
    document = source.document()
    value = document.value if document else None
    return _is_instance(value) or any(map(is_event, list_of(value)[:5]))


def read(source: TranscriptSource) -> Iterator[Session]:
    """One session for each instance; events alone are one."""
    document = source.document()
    if document is not None and isinstance(document.value, list):
        yield _events(source, ((part.line, object_of(part.value)) for part in document.elements()))
    elif document is not None and _is_instance(document.value):
        yield _instance(source, document.line, document.value)
    elif any(_is_instance(record.value) for record in source.head):
        for line, value in source.records():
            if _is_instance(value):
                yield _instance(source, line, value)
            else:
                source.skip("a record that is no instance")
    else:
        yield _events(source, source.records())


def _instance(source: TranscriptSource, line: int, value: dict[str, Any]) -> Session:
    draft = SessionBuilder(NAME)
    issue, instance = object_of(value.get("issue")), object_of(value.get("instance"))
    metadata, metrics = object_of(value.get("metadata")), object_of(value.get("metrics"))
    repository = text_of(instance.get("repo")) or "/".join(
        filter(None, (text_of(issue.get("owner")), text_of(issue.get("repo"))))
    )
    if repository.count("/") == 1 and "://" not in repository:
        draft.remote = f"https://github.com/{repository}"
    draft.title = text_of(issue.get("title"))
    draft.model = text_of(object_of(metadata.get("llm_config")).get("model")) or text_of(
        object_of(metadata.get("llm")).get("model")
    )
    history = list_of(value.get("history"))[:_MAX_EVENTS]
    # The oldest files hold pairs of an action and what came of it.
    events = [event for entry in history for event in (entry if isinstance(entry, list) else [entry])]
    telling = OpenHandsReader(draft)
    for event in events:
        if not telling.tell(line, object_of(event)):
            source.skip("an event of a sort that is not known")
    tokens = object_of(metrics.get("accumulated_token_usage"))
    cached = count_of(tokens.get("cache_read_tokens"))
    cost = dollars_of(metrics.get("accumulated_cost"))
    draft.spend(
        max(count_of(tokens.get("prompt_tokens")) - cached, 0), count_of(tokens.get("completion_tokens")), cached, cost
    )
    number = issue.get("number")
    name = text_of(value.get("instance_id")) or text_of(instance.get("instance_id"))
    name = name or (f"{repository}#{number}" if isinstance(number, int) else "")
    opening = opening_id(draft.model, *telling.begins)
    draft.id = f"{name}-{opening}" if name else opening
    return draft.session(source.skipped)


def _events(source: TranscriptSource, records: Iterable[tuple[int, dict[str, Any]]]) -> Session:
    draft = SessionBuilder(NAME)
    telling = OpenHandsReader(draft)
    for line, value in records:
        if not telling.tell(line, value):
            source.skip("an event of a sort that is not known")
    draft.id = draft.id or opening_id(*telling.begins)
    return draft.session(source.skipped)


def _is_instance(value: Any) -> bool:
    found = object_of(value)
    entries = list_of(found.get("history"))[:3]
    events = [entry[0] if isinstance(entry, list) and entry else entry for entry in entries]
    known = any(is_event(event) or {"action", "observation"} & object_of(event).keys() for event in events)
    return bool(_INSTANCE & found.keys()) and (known or ("history" in found and "instance_id" in found and not entries))
