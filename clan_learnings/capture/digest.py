"""What a session amounts to, small enough to keep for ever: task, outcome, failures and what mended them, errors, cost. Local, never gossiped."""

from typing import Any, NamedTuple


class Failure(NamedTuple):
    """A command or tool that failed, and what worked in its place, if anything did."""

    line: int
    command: str
    error: str  # what it said, cut
    signature: str  # equal for equal errors of any session: no paths, numbers, names
    tool: str = ""
    fix_line: int | None = None
    fix: str = ""


class Digest(NamedTuple):
    """One session."""

    session: str  # as records name it
    flavour: str
    task: str  # the first thing a person asked for
    folder: str  # with ~ for a home folder
    repo: str  # identity as records have it; empty if nobody can tell
    outcome: str  # success, failure, unknown
    why: str  # how that was seen
    files: list[str]  # that it changed
    failures: list[Failure]
    corrections: list[tuple[int, str]]  # line, the person's words
    errors: dict[str, int]  # by signature
    messages: int
    calls: int
    tokens: int
    dollars: float | None
    started_ms: int | None
    ended_ms: int | None
    model: str = ""
    is_subagent: bool = False
    skipped: dict[str, int] = {}  # noqa: RUF012 (a tuple's default, never changed)

    def as_json(self) -> dict[str, Any]:
        """As it is kept."""
        return self._asdict() | {"failures": [failure._asdict() for failure in self.failures]}
