"""Small sessions made of events, for tests of rules: each method is one thing that happens, on a line of its own."""

from typing import Any

from clan_learnings.sessions.transcript_events import Kind, Session, SessionEvent


class Made:
    """A session in the making. Lines count up, as in a file with one record a line."""

    def __init__(self, flavour: str = "claude-code") -> None:
        self.flavour = flavour
        self.events: list[SessionEvent] = []
        self.line = 0

    def says(self, text: str, kind: Kind = Kind.PROMPT, **more: Any) -> int:
        """Words: of a person, unless another kind is given. Returns the line."""
        self.line += 1
        self.events.append(SessionEvent(self.line, kind, text, **more))
        return self.line

    def replies(self, text: str) -> int:
        """Words of the model."""
        return self.says(text, Kind.REPLY)

    def stops(self) -> int:
        """A person interrupts."""
        return self.says("", Kind.INTERRUPT)

    def uses(self, tool: str, output: str = "", *, failed: bool | None = False, **arguments: Any) -> int:
        """A tool that is no shell, and its result. Returns the result's line."""
        call = f"call-{self.line}"
        self.line += 1
        self.events.append(SessionEvent(self.line, Kind.CALL, "", None, call, tool, arguments))
        return self._result(call, tool, output, None, failed=failed)

    def runs(self, command: str, output: str = "", exit_code: int | None = 0, *, failed: bool | None = None) -> int:
        """A line for a shell, and its result. Returns the result's line."""
        call = f"call-{self.line}"
        self.line += 1
        self.events.append(SessionEvent(self.line, Kind.CALL, command, None, call, "Bash", {"command": command}))
        told = failed if failed is not None else None if exit_code is None else exit_code != 0
        return self._result(call, "Bash", output, exit_code, failed=told)

    def edits(
        self, path: str, old: str = "old", new: str = "new", output: str = "updated", *, failed: bool = False
    ) -> int:
        """A piece of a file is replaced. Returns the line of the call."""
        self.uses("Edit", output, failed=failed, file_path=path, old_string=old, new_string=new)
        return self.line - 1

    def is_refused(self, tool: str, reason: str, **arguments: Any) -> int:
        """A person does not let a tool be used. Returns the refusal's line."""
        call = f"call-{self.line}"
        self.line += 1
        self.events.append(SessionEvent(self.line, Kind.CALL, "", None, call, tool, arguments))
        self.line += 1
        self.events.append(SessionEvent(self.line, Kind.REFUSAL, reason, None, call, tool))
        return self.line

    def session(self, **more: Any) -> Session:
        """What came of it."""
        return Session(self.flavour, "made", self.events, **more)

    def _result(self, call: str, tool: str, output: str, exit_code: int | None, *, failed: bool | None) -> int:
        self.line += 1
        self.events.append(
            SessionEvent(self.line, Kind.RESULT, output, None, call, tool, failed=failed, exit_code=exit_code)
        )
        return self.line
