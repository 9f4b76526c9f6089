"""What a call of a tool does, and what it is answered: from checked arguments to a use case, and from its answer to lines and data.

No protocol here, and no error gets through as it is.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from clan_learnings.context.harmless_lines import harmless
from mesh.core.errors import AmbiguousId, MeshError, NoHome
from mesh.mcp import tool_answers
from mesh.mcp.arguments import WrongArguments, checked
from mesh.mcp.descriptions import ITEMS, OLD_NAMES, Tool
from mesh.mcp.protocol import FAILED, ProtocolError
from mesh.mcp.tool_answers import ReadableAnswer

_UNEXPECTED = (
    "something failed that should not; the reason is in the log",
    "next: go on without it, and ask the user to run `mesh doctor`",
)
_NO_HOME = "ask the user to run `mesh setup`, or `mesh init`, in a terminal"
_LOG = logging.getLogger(__name__)

# What an argument is that was not given.
_FACTS: dict[str, Any] = {
    "topic": "",
    "tags": (),
    "category": "",
    "severity": "",
    "repo": None,
    "is_global": False,
    "confidence": None,
    "evidence": "",
    "minutes_lost": None,
    "private": False,
    "request_id": "",
}
_SCOPE: dict[str, Any] = {"repo": None, "everywhere": False}
_NEWEST: dict[str, Any] = _SCOPE | {"topic": "", "count": 10}
_FILTERS: dict[str, Any] = _SCOPE | {
    "limit": 10,
    "category": "",
    "tags": (),
    "agent": "",
    "author": "",
    "since": "",
    "until": "",
    "tier": "",
    "archived": False,
    "min_relevance": 0.0,
}


class ToolBackend(Protocol):
    """The use cases that commands and this server share. Every answer is a dictionary."""

    def discover(self, text: str, **about: Any) -> dict[str, Any]:
        """Record a discovery."""

    def correct(self, wrong: str, right: str, **about: Any) -> dict[str, Any]:
        """Record a correction."""

    def search(self, query: str, **asked: Any) -> dict[str, Any]:
        """What matches."""

    def show(self, text: str) -> dict[str, Any]:
        """A record with all its fields."""

    def recent(
        self, *, count: int = 20, topic: str = "", repo: str | None = None, everywhere: bool = False
    ) -> dict[str, Any]:
        """What is new."""

    def hot(self, *, repo: str | None = None, everywhere: bool = False) -> dict[str, Any]:
        """What is HOT."""

    def why(self, text: str) -> dict[str, Any]:
        """Where a record comes from."""

    def context(self) -> dict[str, Any]:
        """What a session is given at its start."""


_Given = dict[str, Any]  # checked arguments
Backends = Callable[[str | None], ToolBackend]  # the backend of a repository; None: of the one we are in


class Tools:
    """Asks the backend."""

    def __init__(self, backends: Backends) -> None:
        self._backends = backends

    def call(self, name: str, given: Mapping[str, Any], offered: Mapping[str, Tool]) -> dict[str, Any]:
        """The result of a call. Whatever is wrong with it is a result too, which the agent reads."""
        name, meant = OLD_NAMES.get(name, (name, {}))
        try:
            arguments = checked(offered, name, given) | meant
            said = _CALLS[name](self._backends(arguments.get("repo")), arguments)
        except WrongArguments as error:
            return _content(tool_answers.marked(map(harmless, error.lines))) | {"isError": True}
        except Exception as error:  # noqa: BLE001 (whatever it is, the agent reads one sentence)
            return _content(_complaint(error)) | {"isError": True}
        text = tool_answers.marked(said.lines())
        return _content(text) | {"structuredContent": tool_answers.data(said), "isError": False}

    def context(self) -> str:
        """What a session is given at its start."""
        return self._resource(lambda backend: str(backend.context().get("text", "")))

    def hot(self) -> str:
        """The rules that hold here."""
        return self._resource(lambda backend: tool_answers.marked(_hot(backend, {}).lines()))

    def _resource(self, ask: Callable[[ToolBackend], str]) -> str:
        try:
            return ask(self._backends(None))
        except Exception as error:  # noqa: BLE001 (as above)
            raise ProtocolError(FAILED, _complaint(error)) from None


def _discover(backend: ToolBackend, given: _Given) -> ReadableAnswer:
    (text,), about = _apart(_FACTS | {"anyway": False} | given, "text")
    return tool_answers.discovered(backend.discover(text, **about))


def _correct(backend: ToolBackend, given: _Given) -> ReadableAnswer:
    (wrong, right), about = _apart(_FACTS | {"pattern": "", "source": "agent"} | given, "wrong", "right")
    return tool_answers.corrected(backend.correct(wrong, right, **about))


def _search(backend: ToolBackend, given: _Given) -> ReadableAnswer:
    (query,), asked = _apart(_FILTERS | given, "query")
    asked["tags"] = list(asked["tags"])
    return tool_answers.searched(backend.search(query, **asked))


def _read(backend: ToolBackend, given: _Given) -> ReadableAnswer:
    record = str(given["id"]).strip().strip("[]")
    return (
        tool_answers.story(backend.why(record)) if given.get("history") else tool_answers.opened(backend.show(record))
    )


def _recent(backend: ToolBackend, given: _Given) -> ReadableAnswer:
    return tool_answers.found(backend.recent(**_NEWEST | given), name="records")


def _hot(backend: ToolBackend, given: _Given) -> ReadableAnswer:
    return tool_answers.hot(backend.hot(**_SCOPE | given))


def _apart(given: dict[str, Any], *names: str) -> tuple[list[Any], dict[str, Any]]:
    """The arguments of these names, and the others."""
    return [given.pop(name) for name in names], given


_CALLS: dict[str, Callable[[ToolBackend, _Given], ReadableAnswer]] = {
    "record_correction": _correct,
    "record_discovery": _discover,
    "search_memory": _search,
    "read_record": _read,
    "list_hot": _hot,
    "list_recent": _recent,
}


def _content(text: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}]}


def _complaint(error: Exception) -> str:
    """An error as an agent reads it: what happened, then the next step. Tracebacks of unexpected errors go to the log alone."""
    if not isinstance(error, MeshError):
        _LOG.error("a call failed unexpectedly", exc_info=error)
        return tool_answers.marked(_UNEXPECTED)
    matches = error.matches[:ITEMS] if isinstance(error, AmbiguousId) else []
    step = _NO_HOME if isinstance(error, NoHome) else error.next_step
    return tool_answers.marked([*map(harmless, (str(error), *matches)), *([f"next: {harmless(step)}"] if step else [])])
