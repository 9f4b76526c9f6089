"""The builder of a session while its transcript is read: collects events, joins results with calls, counts. Reads nothing itself.

`messages` are prompts and answers of the model; an answer counts once, by the `message` its events share, if it said or
did something. Thoughts alone are no message, and neither is an answer that never came.
"""

import shlex
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

from clan_learnings.sessions.json_values import list_of, text_of
from clan_learnings.sessions.prompt_text import typed
from clan_learnings.sessions.transcript_events import Kind, Session, SessionEvent, Usage

_SHELLS = ("bash", "shell", "terminal", "exec", "command", "cmd", "console", "run")  # in names of tools
_COMMAND_KEYS = ("command", "cmd", "script")
_SAID = (Kind.REPLY, Kind.CALL)
_DOLLARS = 1_000_000  # no session costs more


class SessionBuilder:
    """Builds one session. A flavour calls it record by record."""

    def __init__(self, flavour: str, session: str = "") -> None:
        self.flavour = flavour
        self.id = session
        self.parent = ""
        self.is_subagent = False
        self.folder = ""
        self.remote = ""
        self.branch = ""
        self.model = ""
        self.version = ""
        self.title = ""
        self.started_ms: int | None = None
        self.ended_ms: int | None = None
        self.events: list[SessionEvent] = []
        self._tools: dict[str, str] = {}  # by call, as it is named here
        self._names: dict[str, str] = {}  # of calls, by what the transcript names them; the newest, if it does so twice
        self._commands: dict[str, str] = {}
        self._input = 0
        self._output = 0
        self._cached = 0
        self._dollars: float | None = None

    def prompt(self, line: int, text: str, at_ms: int | None = None) -> None:
        """In the person's place: what a person typed, or, if nothing of it was typed, injected text."""
        if words := typed(text):
            self._add(SessionEvent(line, Kind.PROMPT, words, at_ms))
        else:
            self.note(line, Kind.INJECTED, text, at_ms)

    def note(self, line: int, kind: Kind, text: str, at_ms: int | None = None) -> None:
        """An event that is only text: injected, a summary, a fault, an interruption."""
        if text or kind in (Kind.INTERRUPT, Kind.FAULT):
            self._add(SessionEvent(line, kind, text, at_ms))

    def reply(self, line: int, text: str, message: str, at_ms: int | None = None) -> None:
        """What the model said to the person."""
        if text.strip():
            self._add(SessionEvent(line, Kind.REPLY, text, at_ms, message=message))

    def thought(self, line: int, text: str, message: str, at_ms: int | None = None) -> None:
        """What the model said to itself."""
        if text.strip():
            self._add(SessionEvent(line, Kind.THOUGHT, text, at_ms, message=message))

    def call(
        self,
        line: int,
        name: str,
        tool: str,
        arguments: dict[str, Any],
        message: str,
        at_ms: int | None = None,
        *,
        text: str = "",
    ) -> str:
        """The model uses a tool. Returns the call's name here: others may use a name twice, or none."""
        own = name or f"line-{line}"
        if own in self._tools:
            own = f"{own}#{len(self._tools)}"
        self._names[name] = own
        self._tools[own] = tool
        command = text or command_of(tool, arguments)
        self._commands[own] = command
        self._add(SessionEvent(line, Kind.CALL, command, at_ms, own, tool, arguments, message=message))
        return own

    def result(
        self,
        line: int,
        name: str,
        text: str,
        at_ms: int | None = None,
        *,
        tool: str = "",
        failed: bool | None = None,
        exit_code: int | None = None,
        is_collateral: bool = False,
    ) -> None:
        """What the tool answered. An exit code decides, where it is known, unless the agent says that it failed."""
        own = self._names.get(name, name)
        if exit_code is not None and failed is not True:
            failed = exit_code != 0
        self._add(
            SessionEvent(
                line,
                Kind.RESULT,
                text,
                at_ms,
                own,
                tool or self._tools.get(own, ""),
                failed=failed,
                exit_code=exit_code,
                is_collateral=is_collateral,
            )
        )

    def refusal(self, line: int, name: str, reason: str, at_ms: int | None = None) -> None:
        """A person did not let a tool be used."""
        own = self._names.get(name, name)
        self._add(SessionEvent(line, Kind.REFUSAL, reason, at_ms, own, self._tools.get(own, "")))

    def command_of_call(self, name: str) -> str:
        """What the shell was to run in a call, by the name that the transcript gave the call; empty if it was no shell."""
        return self._commands.get(self._names.get(name, name), "")

    def spend(self, read: int, written: int, cached: int = 0, dollars: float | None = None) -> None:
        """Tokens of one answer, and what it cost if that is known. `read` is without `cached`."""
        self._input += read
        self._output += written
        self._cached += cached
        if dollars is not None:
            self._dollars = (self._dollars or 0.0) + dollars

    def saw(self, at_ms: int | None) -> None:
        """Something happened at this moment, whether or not there is an event for it."""
        if at_ms is not None:
            self.started_ms = at_ms if self.started_ms is None else min(self.started_ms, at_ms)
            self.ended_ms = at_ms if self.ended_ms is None else max(self.ended_ms, at_ms)

    def session(self, skipped: Mapping[str, int]) -> Session:
        """What came of it."""
        prompts = sum(event.kind is Kind.PROMPT for event in self.events)
        answers = {event.message or f"line {event.line}" for event in self.events if event.kind in _SAID}
        return Session(
            self.flavour,
            self.id,
            self.events,
            parent=self.parent,
            is_subagent=self.is_subagent,
            folder=self.folder,
            remote=self.remote,
            branch=self.branch,
            model=self.model,
            version=self.version,
            title=self.title,
            started_ms=self.started_ms,
            ended_ms=self.ended_ms,
            messages=prompts + len(answers),
            calls=sum(event.kind is Kind.CALL for event in self.events),
            usage=Usage(self._input, self._output, self._cached, self._dollars),
            skipped=dict(skipped),
        )

    def _add(self, event: SessionEvent) -> None:
        self.saw(event.at_ms)
        self.events.append(event)


def command_of(tool: str, arguments: Mapping[str, Any]) -> str:
    """What a shell is to run; empty for tools that are none."""
    name = tool.lower()
    if not any(shell in name for shell in _SHELLS):
        return ""
    found = next((value for key in _COMMAND_KEYS if (value := arguments.get(key))), None)
    if isinstance(found, list):
        words = [text_of(word) for word in list_of(found)]
        if len(words) >= 3 and words[1] in ("-c", "-lc"):
            return words[2]
        return shlex.join(words)
    return text_of(found)


def dollars_of(value: Any) -> float | None:
    """What something cost; None if that is not said."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < _DOLLARS:
        return None
    return float(value)


def opening_id(*texts: str) -> str:
    """A name for a session that has none: of how it begins, so that it stays when the transcript grows."""
    digest = blake2b(digest_size=8)
    for text in texts:
        digest.update(text.encode("utf-8", "replace") + b"\0")
    return digest.hexdigest()
