"""The schema of every agent's transcript: a session, its events in order, its cost. Plain values; reads nothing.

Lines are physical lines of the transcript's file, counted from 1, so that a person finds what is cited.

`messages` are what a person typed and what the model answered. An answer is one message however many lines, blocks or calls it
was written in, and whether or not it has words beside its calls, where the format tells which belong together; where it does
not, every text of the model is one. Results of tools and injected text are none; nor is what one agent tells another, but
what a subagent answers in its parent's file is. `calls` are uses of tools, whether or not they were allowed.
"""

from enum import StrEnum
from typing import Any, NamedTuple


class Kind(StrEnum):
    """What an event is. Closed: a flavour's adapter has to say it in these words."""

    PROMPT = "prompt"  # what a person typed, and nothing around it
    REPLY = "reply"  # what the model said to the person
    THOUGHT = "thought"  # what it said to itself
    CALL = "call"  # it uses a tool
    RESULT = "result"  # what the tool answered
    REFUSAL = "refusal"  # a person did not let a tool be used; `text` is the reason if there is one
    INTERRUPT = "interrupt"  # a person stopped the model
    INJECTED = "injected"  # text in the person's or the system's place that no person typed: hooks, skills, AGENTS.md, reminders
    SUMMARY = "summary"  # what stands for earlier parts of a conversation, repeated or shortened
    FAULT = "fault"  # the provider failed, and the answer was tried again


class SessionEvent(NamedTuple):
    """One event of a session."""

    line: int  # where its record begins
    kind: Kind
    text: str = ""  # of a CALL: the command of a shell, else empty; of a RESULT: what the tool printed
    at_ms: int | None = None
    call: str = ""  # joins a CALL with its RESULT or REFUSAL
    tool: str = ""  # its name, as the agent has it; on the RESULT too
    arguments: dict[str, Any] = {}  # noqa: RUF012 (a tuple's default, never changed) of a CALL
    failed: bool | None = None  # of a RESULT; None: nobody can tell
    exit_code: int | None = None
    is_collateral: bool = False  # of a RESULT: it failed only because another call did, or because somebody stopped all
    is_sidechain: bool = False  # of a subagent, inside its parent's transcript
    message: str = ""  # the model's answer it is part of: equal for all blocks of one message


class Usage(NamedTuple):
    """Tokens, each counted once, and what they cost where the transcript says that."""

    input: int = 0
    output: int = 0
    cached: int = 0  # read from a cache; not in `input`
    dollars: float | None = None


class Session(NamedTuple):
    """One session, or one branch of it, as one transcript tells it."""

    flavour: str  # as in `flavour:id` of records: claude-code, codex, gemini, ...
    id: str
    events: list[SessionEvent]
    parent: str = ""  # id of the session it is a subagent, a fork or a continuation of; it counts as that one
    is_subagent: bool = False
    folder: str = ""  # where the agent worked
    remote: str = ""  # address of the repository, where the transcript has it
    branch: str = ""
    model: str = ""
    version: str = ""  # of the agent
    title: str = ""
    started_ms: int | None = None
    ended_ms: int | None = None
    messages: int = 0
    calls: int = 0  # uses of tools, those of subagents in the same file included
    usage: Usage = Usage()
    skipped: dict[str, int] = {}  # noqa: RUF012 (a tuple's default, never changed) what was not understood: why, how often

    @property
    def name(self) -> str:
        """As records name it."""
        return f"{self.flavour}:{self.parent or self.id}"
