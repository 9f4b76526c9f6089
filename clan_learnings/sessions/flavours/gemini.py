"""Gemini CLI: one document of messages, lines that amend each other, the stream of a headless run, or a bare history of contents.

Decisions that are nobody's but ours:
- Of lines with one id the last is the message, in the place of the first. `$rewindTo` takes messages away, as the agent does.
- A call and its result are one object. The CALL is where its message begins; the RESULT where the tool's answer stands, which is
  another line in a document printed over many.
- A shell's answer is what it printed, without the words around it. It says `success` whatever the command's exit code was, so
  the exit code decides where there is one.
- A cancelled call is a REFUSAL if a person did not allow it, an INTERRUPT if they stopped it while it ran.
- The folder stands in the words that the agent begins a session with; else it is the one that commands ran in, or the one that holds
  all paths.
"""

import os
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from clan_learnings.sessions.json_values import count_of, instant_ms, list_of, object_of, text_of, words_of
from clan_learnings.sessions.prompt_text import typed
from clan_learnings.sessions.transcript_events import Kind, Session, SessionEvent, Usage
from clan_learnings.sessions.transcript_source import DocumentPart, TranscriptSource

_EXIT_CODE = re.compile(r"(?:^|\n|\\n)Exit Code: (-?\d{1,9})\b")
_FOLDER = re.compile(r"(?:^|\n|\\n)Directory: ([/~][^\n\\]{1,400})")
_WORKSPACE = re.compile(r"\A<session_context>[\s\S]{0,1000}?Workspace Directories:[*]*\n *- ([/~][^\n]{1,400})")
_TRAILERS = ("\nError: ", "\nExit Code: ", "\nSignal: ", "\nBackground PIDs: ", "\nProcess Group PGID: ")
_NEAR = 2000  # from either end: what is said about a command stands before and behind what it printed


class ShellReport(NamedTuple):
    """What is known about a command that ran."""

    printed: str
    exit_code: int | None
    folder: str


def report_of(text: str) -> ShellReport:
    """The report taken apart. The last exit code counts: those before it were printed by the program."""
    folder = _FOLDER.search(text[:_NEAR])
    codes = _EXIT_CODE.findall(text[-_NEAR:])
    return ShellReport(_printed(text), int(codes[-1]) if codes else None, folder[1].strip() if folder else "")


def _printed(text: str) -> str:
    """What a command printed, out of the report about it."""
    if not text.startswith(("Command: ", "Directory: ", "Output: ", "Stdout: ")):
        return text
    start = max(text.find("\nOutput: "), text.find("\nStdout: "))
    body = text[start + 1 :] if start >= 0 else text
    body = body.partition(": ")[2] if body.startswith(("Output: ", "Stdout: ")) else body
    ends = {label: body.rfind(label) for label in _TRAILERS}
    end = min((at for at in ends.values() if at >= 0), default=len(body))
    error = ""
    if ends["\nError: "] == end and end < len(body):
        error = body[end + len("\nError: ") :].partition("\nExit Code: ")[0].strip()
    said = [part for part in (body[:end].strip(), error) if part not in {"", "(none)", "(empty)"}]
    return "\n".join(said)


NAME = "gemini"

_MODEL = {"gemini", "model", "assistant"}
_SHELLS = {"run_shell_command", "ShellTool", "shell"}
_NOT_ALLOWED = ("did not allow", "denied", "declined", "rejected")
_PATHS = ("file_path", "absolute_path", "dir_path", "path", "directory", "cwd")
_PATHS_LOOKED_AT = 200


def recognises(source: TranscriptSource) -> bool:
    """A project's hash beside a session's id, amendments, messages of the type gemini, contents made of parts, or the stream."""
    document = source.document()
    if document is not None and _is_document(document.value):
        return True
    return any(_is_line(value) for _, value in source.head)


def _is_line(value: dict[str, Any]) -> bool:
    match value.get("type"):
        case "init":
            return "session_id" in value and "model" in value
        case "tool_use" | "tool_result":
            return "tool_id" in value
        case "gemini":
            return "id" in value
    return ("projectHash" in value and "sessionId" in value) or bool(value.keys() & {"$set", "$rewindTo"})


def _is_document(value: Any) -> bool:
    if isinstance(value, list):
        return _are_contents(value)
    value = object_of(value)
    messages = list_of(value.get("messages"))
    if any(isinstance(message, dict) and message.get("type") == "gemini" for message in messages[:20]):
        return True
    return ("projectHash" in value and "sessionId" in value) or _are_contents(list_of(value.get("history")))


def _are_contents(values: list[Any]) -> bool:
    return any(
        isinstance(value, dict) and "role" in value and isinstance(value.get("parts"), list) for value in values[:5]
    )


def read(source: TranscriptSource) -> Iterator[Session]:
    """One session a file."""
    reader = _GeminiReader(source)
    document = source.document()
    if document is not None and _is_document(document.value):
        reader.document(document)
    else:
        reader.lines()
    yield reader.session()


class _GeminiReader:
    def __init__(self, source: TranscriptSource) -> None:
        self.source = source
        self.about: dict[str, Any] = {}
        self.events: list[SessionEvent] = []
        self.calls: dict[str, str] = {}
        self.paths: list[str] = []
        self.pieces: list[str] = []  # of the answer that is the last event
        self.folder = self.model = ""
        self.tokens = [0, 0, 0]
        self.started: int | None = None
        self.ended: int | None = None
        self.answers = 0
        self.call_count = 0

    def document(self, document: DocumentPart) -> None:
        self.about = object_of(document.value)
        messages = document.member("messages") or document.member("history") or document
        for message in messages.elements():
            if isinstance(message.value, dict):
                self._message(message.line, message.value, message)

    def lines(self) -> None:
        messages: dict[str, tuple[int, dict[str, Any]]] = {}
        for line, value in self.source.records():
            if "$set" in value:
                new = object_of(value["$set"])
                self.about |= {name: item for name, item in new.items() if name != "messages"}
                if isinstance(new.get("messages"), list):
                    messages = {_id(message, line, at): (line, message) for at, message in enumerate(new["messages"])}
            elif "$rewindTo" in value:
                last = text_of(value["$rewindTo"])
                while last in messages:
                    messages.popitem()
            elif "projectHash" in value or value.get("type") == "init":
                self.about |= value
                for at, message in enumerate(list_of(value.get("messages"))):
                    messages[_id(message, line, at)] = (line, message)
            else:
                messages[_id(value, line, 0)] = (line, value)
        for line, message in messages.values():
            if isinstance(message, dict):
                self._message(line, message, None)

    def _message(self, line: int, message: dict[str, Any], part: DocumentPart | None) -> None:
        at_ms = self._moment(message.get("timestamp", message.get("ts")))
        kind = text_of(message.get("type")) or text_of(message.get("role"))
        if kind == "message":
            kind = text_of(message.get("role"))
        if isinstance(message.get("parts"), list):
            self._contents(line, message, kind, at_ms)
            return
        text = words_of(message.get("content")).strip()
        match kind:
            case "user":
                self._prompt(line, text, at_ms)
            case "gemini" | "model" | "assistant":
                self._answer(line, message, text, at_ms, part)
            case "info" | "warning" | "system":
                self._add(SessionEvent(line, Kind.INJECTED, text, at_ms))
            case "error":
                self._add(SessionEvent(line, Kind.FAULT, text or text_of(message.get("message")), at_ms))
            case "tool_use":
                self._call(line, message, at_ms, "")
            case "tool_result":
                self._streamed_result(line, message, at_ms)
            case "result":
                stats = object_of(message.get("stats"))
                self._used(stats.get("input_tokens"), stats.get("output_tokens"), stats.get("cached"))
            case _:
                self.source.skip_sort("a record", kind)

    def _prompt(self, line: int, text: str, at_ms: int | None) -> None:
        words = typed(text)
        if not words and (workspace := _WORKSPACE.match(text)):
            self.folder = self.folder or workspace[1].strip()
        self._add(SessionEvent(line, Kind.PROMPT if words else Kind.INJECTED, words or text, at_ms))

    def _answer(
        self, line: int, message: dict[str, Any], text: str, at_ms: int | None, part: DocumentPart | None
    ) -> None:
        is_piece = message.get("delta") is True
        if is_piece and self.pieces:
            self.pieces.append(words_of(message.get("content")))
            return
        answer = text_of(message.get("id")) or str(line)
        self.answers += 1
        self.model = text_of(message.get("model")) or self.model
        tokens = object_of(message.get("tokens"))
        output = count_of(tokens.get("output")) + count_of(tokens.get("thoughts"))
        self._used(tokens.get("input"), output, tokens.get("cached"))
        for thought in map(object_of, list_of(message.get("thoughts"))):
            words = ": ".join(filter(None, [text_of(thought.get("subject")), text_of(thought.get("description"))]))
            self._add(SessionEvent(line, Kind.THOUGHT, words, at_ms, message=answer))
        self._add(SessionEvent(line, Kind.REPLY, text, at_ms, message=answer))
        if is_piece and text:
            self.pieces = [words_of(message.get("content"))]
        calls = [call for call in list_of(message.get("toolCalls")) if isinstance(call, dict)]
        for call in calls:
            self._call(line, call, at_ms, answer)
        if calls:
            where = _answer_lines(part) if part is not None else []
            for at, call in enumerate(calls):
                self._result(where[at] if at < len(where) else line, call)

    def _call(self, line: int, call: dict[str, Any], at_ms: int | None, answer: str) -> None:
        name = text_of(call.get("id")) or text_of(call.get("tool_id"))
        tool = text_of(call.get("name")) or text_of(call.get("tool_name"))
        arguments = object_of(call.get("args", call.get("parameters")))
        self.calls[name] = tool
        self.call_count += 1
        for key in _PATHS:
            path = text_of(arguments.get(key))
            if path.startswith(("/", "~/")) and len(self.paths) < _PATHS_LOOKED_AT:
                self.paths.append(path if key in {"cwd", "directory", "dir_path"} else os.path.dirname(path))
        command = text_of(arguments.get("command")) if tool in _SHELLS else ""
        self._add(
            SessionEvent(line, Kind.CALL, command, at_ms, call=name, tool=tool, arguments=arguments, message=answer),
            keep=True,
        )

    def _result(self, line: int, call: dict[str, Any]) -> None:
        status = call.get("status")
        response: dict[str, Any] = {}
        for result in list_of(call.get("result")):
            response = object_of(object_of(object_of(result).get("functionResponse")).get("response")) or response
        error, output = words_of(response.get("error")), words_of(response.get("output"))
        text = error or output or words_of(call.get("resultDisplay"))
        if status is None and not text:
            return
        at_ms = self._moment(call.get("timestamp"))
        has_failed = True if status == "error" or error else False if status == "success" else None
        event = SessionEvent(
            line, Kind.RESULT, text, at_ms, call=text_of(call.get("id")), tool=text_of(call.get("name"))
        )
        if status == "cancelled":
            is_refused = any(words in text for words in _NOT_ALLOWED)
            self._add(event._replace(kind=Kind.REFUSAL if is_refused else Kind.INTERRUPT, text=""), keep=True)
        else:
            self._add(self._judged(event._replace(failed=has_failed)), keep=True)

    def _judged(self, event: SessionEvent) -> SessionEvent:
        if event.tool not in _SHELLS:
            return event
        report = report_of(event.text)
        self.folder = self.folder or report.folder
        event = event._replace(text=report.printed)
        code = report.exit_code
        return event if code is None else event._replace(exit_code=code, failed=code != 0)

    def _streamed_result(self, line: int, message: dict[str, Any], at_ms: int | None) -> None:
        call = text_of(message.get("tool_id"))
        text = words_of(message.get("output")) or text_of(object_of(message.get("error")).get("message"))
        has_failed = {"success": False, "error": True}.get(text_of(message.get("status")))
        event = SessionEvent(
            line, Kind.RESULT, text, at_ms, call=call, tool=self.calls.get(call, ""), failed=has_failed
        )
        self._add(self._judged(event), keep=True)

    def _contents(self, line: int, message: dict[str, Any], kind: str, at_ms: int | None) -> None:
        parts = [part for part in message["parts"] if isinstance(part, dict)]
        text = "\n".join(filter(None, (text_of(part.get("text")) for part in parts))).strip()
        if kind in _MODEL:
            self.answers += 1
            self._add(SessionEvent(line, Kind.REPLY, text, at_ms, message=str(line)))
        elif text:
            self._prompt(line, text, at_ms)
        for part in parts:
            if call := object_of(part.get("functionCall")):
                self._call(line, call, at_ms, str(line))
            if answer := object_of(part.get("functionResponse")):
                self._result(line, {"id": answer.get("id"), "name": answer.get("name"), "result": [part]})

    def _add(self, event: SessionEvent, *, keep: bool = False) -> None:
        if keep or event.text:
            self._join()
            self.events.append(event)

    def _join(self) -> None:
        # An answer that came in pieces ends where something else begins.
        if self.pieces:
            self.events[-1] = self.events[-1]._replace(text="".join(self.pieces).strip())
            self.pieces = []

    def _used(self, given: Any, output: Any, cached: Any) -> None:
        self.tokens[0] += max(0, count_of(given) - count_of(cached))
        self.tokens[1] += count_of(output)
        self.tokens[2] += count_of(cached)

    def _moment(self, value: Any) -> int | None:
        at_ms = instant_ms(value)
        if at_ms is not None:
            self.started = at_ms if self.started is None else min(self.started, at_ms)
            self.ended = at_ms if self.ended is None else max(self.ended, at_ms)
        return at_ms

    def session(self) -> Session:
        self._join()
        about = self.about
        self._moment(about.get("startTime") or about.get("timestamp"))
        self._moment(about.get("lastUpdated"))
        folders = [text_of(folder) for folder in list_of(about.get("directories"))]
        is_subagent = about.get("kind") == "subagent"
        return Session(
            flavour=NAME,
            id=text_of(about.get("sessionId")) or text_of(about.get("session_id")),
            events=self.events,
            parent=_parent(self.source.path) if is_subagent else "",
            is_subagent=is_subagent,
            folder=next(filter(None, folders), "") or self.folder or _common(self.paths),
            model=self.model or text_of(about.get("model")) or text_of(object_of(about.get("meta")).get("model")),
            title=text_of(about.get("summary")),
            started_ms=self.started,
            ended_ms=self.ended,
            messages=self.answers + sum(event.kind is Kind.PROMPT for event in self.events),
            calls=self.call_count,
            usage=Usage(self.tokens[0], self.tokens[1], self.tokens[2]),
        )


def _id(message: Any, line: int, at: int) -> str:
    # The stream has no ids: each of its lines is its own.
    return text_of(object_of(message).get("id")) or f"{line}.{at}"


def _parent(path: str) -> str:
    # chats/<id of the parent>/<id>.jsonl: nothing inside says it.
    folders = path.replace("\\", "/").split("/")[:-1]
    return folders[-1] if len(folders) > 1 and folders[-2] == "chats" else ""


def _common(paths: list[str]) -> str:
    try:
        found = os.path.commonpath(paths) if paths else ""
    except ValueError:
        return ""
    return "" if found in {"/", "/home", "/Users", "/tmp"} else found  # noqa: S108 (no file is made there)


def _answer_lines(message: DocumentPart) -> list[int]:
    """The line of what each tool answered; where it answered nothing, the line of the call."""
    calls = message.member("toolCalls")
    found = []
    for call in calls.elements() if calls is not None else ():
        if not isinstance(call.value, dict):
            continue
        line = call.line
        result = call.member("result")
        for part in result.elements() if result is not None else ():
            response = part.member("functionResponse")
            response = response.member("response") if response is not None else None
            if response is not None:
                said = response.member("error") or response.member("output")
                line = (said or response).line
        found.append(line)
    return found
