"""SWE-agent's trajectories and mini-swe-agent's: commands and what they printed, without times.

SWE-agent writes each step twice. `trajectory` is read, and from `history` only how it began; where there is no trajectory,
all of the history. Demonstrations are other people's sessions: they are left out. Failures are told only by prose, so
`failed` stays open unless the words are a shell's, Python's or the editor's own.
"""

import re
from collections.abc import Iterator
from typing import Any

from clan_learnings.sessions.failed_output import exit_code_in, failed_by
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
from clan_learnings.sessions.prompt_text import assigned
from clan_learnings.sessions.session_builder import SessionBuilder, dollars_of, opening_id
from clan_learnings.sessions.transcript_events import Kind, Session
from clan_learnings.sessions.transcript_source import DocumentPart, TranscriptSource

NAME = "swe-agent"
_MINI_TRACES = (
    "<returncode>",
    "mswea_bash_command",
    "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT",
    "MINI_SWE_AGENT_FINAL_OUTPUT",
)
_RUN = {"exit_status", "submission", "model_stats", "mini_version"}
_DEMONSTRATION = "Here is a demonstration"
_REFUSED_EDIT = ("Your proposed edit has introduced new syntax error", "Text not found", "No edit was made", "ERROR:")
_PROMPT_SIGN = re.compile(
    r"\n?\(Open file: [^\n]{0,400}\)\n\(Current directory: ([^\n]{0,400})\)\n(?:\([^\n]{0,400}\)\n)?bash-\$\s*$"
)
_BLOCK = re.compile(r"```(?:bash|sh|mswea_bash_command)[ \t]*\n(.{0,100000}?)\n?```", re.DOTALL)
_CODE = re.compile(r"^\s*<returncode>(-?\d{1,9})</returncode>\s*")
_REJECTED = "Command not executed"
_BROKEN_OFF = "Interrupted by user"
_NEW_TASK = "The user added a new task:"


def recognises(source: TranscriptSource) -> bool:
    """Whether it is a document of either program."""
    document = source.document()
    value = document.value if document else None
    return _is_trajectory(value) or _is_mini(value)


def read(source: TranscriptSource) -> Iterator[Session]:
    """The one session of the document."""
    document = source.document()
    if document is None:
        return
    yield (_trajectory if _is_trajectory(document.value) else _mini)(source, document)


def _trajectory(source: TranscriptSource, document: DocumentPart) -> Session:
    draft = SessionBuilder(NAME)
    value = object_of(document.value)
    _about(draft, object_of(value.get("info")))
    steps = document.member("trajectory")
    history = document.member("history")
    begins = _history(source, draft, history, only_opening=bool(steps and steps.value)) if history else []
    for number, step in enumerate(steps.elements() if steps else ()):
        if not isinstance(step.value, dict):
            source.skip("a step that is no object")
            continue
        _step(draft, step, f"step {number}")
        begins += [text_of(step.value.get("response"))] if len(begins) < 4 else []
    draft.id = opening_id(*begins)
    return draft.session(source.skipped)


def _step(draft: SessionBuilder, step: DocumentPart, key: str) -> None:
    value = object_of(step.value)
    action, thought = text_of(value.get("action")).strip(), text_of(value.get("thought")).strip()
    observation = text_of(value.get("observation"))
    state = value.get("state")
    folder = text_of(object_of(parsed(state) if isinstance(state, str) else state).get("working_dir"))
    draft.folder = draft.folder or folder
    if not thought and not action:
        thought = text_of(value.get("response")).strip()
    draft.reply(step.line, thought, key)
    if not action:
        draft.note(step.line, Kind.INJECTED, observation)  # an answer without a command: it is told to write one
        return
    acted, seen = step.member("action"), step.member("observation")
    name = draft.call(
        acted.line if acted else step.line, "", action.split(maxsplit=1)[0], {"command": action}, key, text=action
    )
    if seen:
        failed, code = _judged(observation, action)
        draft.result(seen.line, name, observation, failed=failed, exit_code=code)


def _history(
    source: TranscriptSource, draft: SessionBuilder, history: DocumentPart, *, only_opening: bool
) -> list[str]:
    begins: list[str] = []
    calls: list[str] = []
    has_task = False
    for number, part in enumerate(history.elements()):
        entry = object_of(part.value)
        role, words = entry.get("role"), words_of(entry.get("content"))
        if entry.get("is_demo") or words.startswith(_DEMONSTRATION):
            source.skip("a demonstration")
            continue
        begins += [words] if len(begins) < 3 else []
        if role == "system":
            draft.note(part.line, Kind.INJECTED, words)
        elif role == "user" and not has_task:
            has_task = True
            _task(draft, part.line, words)
        elif only_opening:
            break
        elif role == "assistant":
            calls += _acted(draft, part.line, entry, f"entry {number}")
        elif role in ("user", "tool"):
            _observed(draft, part.line, entry, calls)
        else:
            source.skip("an entry of a sort that is not known")
    return begins


def _task(draft: SessionBuilder, line: int, words: str) -> None:
    sign = _PROMPT_SIGN.search(words)
    if sign:
        draft.folder = draft.folder or sign[1]
        words = words[: sign.start()]
    task = assigned(words)
    if task != words.strip():
        draft.note(line, Kind.INJECTED, words)
    draft.prompt(line, task)


def _acted(draft: SessionBuilder, line: int, entry: dict[str, Any], key: str) -> list[str]:
    action = text_of(entry.get("action")).strip()
    draft.reply(line, (text_of(entry.get("thought")) or words_of(entry.get("content"))).strip(), key)
    made = []
    for call in map(object_of, list_of(entry.get("tool_calls"))):
        function = object_of(call.get("function"))
        arguments = arguments_of(function.get("arguments"))
        made.append(
            draft.call(line, text_of(call.get("id")), text_of(function.get("name")), arguments, key, text=action)
        )
    if not made and action:
        made.append(draft.call(line, "", action.split(maxsplit=1)[0], {"command": action}, key, text=action))
    return made


def _observed(draft: SessionBuilder, line: int, entry: dict[str, Any], calls: list[str]) -> None:
    words = words_of(entry.get("content"))
    sign = _PROMPT_SIGN.search(words)
    if sign:
        draft.folder = draft.folder or sign[1]
        words = words[: sign.start()]
    named = [text_of(name) for name in list_of(entry.get("tool_call_ids"))]
    name = text_of(entry.get("tool_call_id")) or next(iter(named), "") or (calls[-1] if calls else "")
    if not calls:
        draft.note(line, Kind.INJECTED, words)
        return
    failed, code = _judged(words, draft.command_of_call(name))
    draft.result(line, name, words, failed=failed, exit_code=code)


def _judged(observation: str, action: str) -> tuple[bool | None, int | None]:
    if observation.lstrip().startswith(_REFUSED_EDIT):
        return True, None
    return failed_by(observation, action), exit_code_in(observation)


def _about(draft: SessionBuilder, info: dict[str, Any]) -> None:
    stats = object_of(info.get("model_stats"))
    config = object_of(info.get("config"))
    cost = dollars_of(stats.get("instance_cost"))
    is_paid = (
        bool(cost) or count_of(stats.get("api_calls")) > 0
    )  # a replay asks no model, and costs nothing that would count
    draft.spend(
        count_of(stats.get("tokens_sent")), count_of(stats.get("tokens_received")), 0, cost if is_paid else None
    )
    draft.model = text_of(object_of(config.get("model")).get("model_name"))
    draft.version = text_of(info.get("mini_version")) or text_of(info.get("swe_agent_version"))
    draft.folder = text_of(object_of(config.get("environment")).get("cwd"))


def _mini(source: TranscriptSource, document: DocumentPart) -> Session:
    draft = SessionBuilder(NAME)
    value = object_of(document.value)
    _about(draft, object_of(value.get("info")))
    messages = document.member("messages") if value else document
    begins: list[str] = []
    last, has_task = "", False
    for number, part in enumerate(messages.elements() if messages else ()):
        message = object_of(part.value)
        role, words, extra = message.get("role"), words_of(message.get("content")), object_of(message.get("extra"))
        at_ms = instant_ms(extra.get("timestamp")) or instant_ms(message.get("timestamp"))
        begins += [words] if len(begins) < 4 else []
        if role == "system":
            draft.note(part.line, Kind.INJECTED, words, at_ms)
        elif role == "user" and not has_task:
            has_task = True
            _task(draft, part.line, words)
        elif role == "assistant":
            last = _answered(draft, part.line, message, f"message {number}", at_ms)
        elif role in ("user", "tool"):
            _returned(draft, part.line, message, last, at_ms)
        elif role != "exit":
            source.skip("a message of a sort that is not known")
    draft.id = opening_id(*begins)
    return draft.session(source.skipped)


def _answered(draft: SessionBuilder, line: int, message: dict[str, Any], key: str, at_ms: int | None) -> str:
    """Tells an answer; returns the name of its last call, empty if it has none."""
    words, name = words_of(message.get("content")), ""
    calls = [object_of(call) for call in list_of(message.get("tool_calls"))]
    block = None if calls else _BLOCK.search(words)
    draft.reply(line, (words[: block.start()] + words[block.end() :] if block else words).strip(), key, at_ms)
    for call in calls:
        function = object_of(call.get("function"))
        arguments = arguments_of(function.get("arguments"))
        name = text_of(call.get("id")) or f"{key} call"
        draft.call(line, name, text_of(function.get("name")), arguments, key, at_ms)
    if block:
        name = draft.call(line, "", "bash", {"command": block[1]}, key, at_ms)
    return name


def _returned(draft: SessionBuilder, line: int, message: dict[str, Any], last: str, at_ms: int | None) -> None:
    words, extra = words_of(message.get("content")), object_of(message.get("extra"))
    name = text_of(message.get("tool_call_id")) or last
    if words.startswith(_REJECTED):
        draft.refusal(line, name, words.partition("message:")[2].strip() or words.partition(":")[2].strip(), at_ms)
    elif words.startswith(_BROKEN_OFF):
        draft.note(line, Kind.INTERRUPT, "", at_ms)
        draft.prompt(line, words.partition(":")[2].strip(), at_ms)
    elif words.startswith(_NEW_TASK):
        draft.prompt(line, words.removeprefix(_NEW_TASK).strip(), at_ms)
    elif not name:
        draft.note(line, Kind.INJECTED, words, at_ms)  # it is told to write exactly one command
    else:
        code = exit_code_of(extra.get("returncode"))
        if (written := _CODE.match(words)) and code is None:
            code = int(written[1])
        text = words[written.end() :] if written else words
        inside = (
            text.strip().removeprefix("<output>").removesuffix("</output>") if text.startswith("<output>") else text
        )
        draft.result(line, name, inside.strip("\n"), at_ms, exit_code=code)


def _is_trajectory(value: Any) -> bool:
    found = object_of(value)
    steps, history = [list_of(found.get(name))[:3] for name in ("trajectory", "history")]
    if any({"action", "observation"} <= object_of(step).keys() for step in steps):
        return True
    traits = {"agent", "message_type", "is_demo"}
    return any("role" in object_of(entry) and bool(traits & object_of(entry).keys()) for entry in history)


def _is_mini(value: Any) -> bool:
    found = object_of(value)
    if text_of(found.get("trajectory_format")).startswith("mini-swe-agent"):
        return True
    if isinstance(found.get("messages"), list):
        return bool(_RUN & object_of(found.get("info")).keys())
    messages = [object_of(message) for message in list_of(value)[:40]]
    return all("role" in message for message in messages) and any(
        trace in words_of(message.get("content")) for message in messages for trace in _MINI_TRACES
    )
