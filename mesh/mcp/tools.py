"""The tools, resources and the prompt of the MCP server: what agents may call, and with which arguments. No protocol here.

An argument's description is all an agent is told about it. Agent and session are not arguments: a mistake counts once a session, and an
agent that invents sessions would promote its own mistakes.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from functools import partial
from typing import Annotated, Any, Literal, Protocol

import anyio
import anyio.to_thread
from mcp.server.mcpserver.exceptions import ResourceError
from mcp.types import CallToolResult, TextContent
from pydantic import Field

from clan_learnings.context.harmless_lines import harmless
from clan_learnings.records.record import CATEGORIES
from mesh.core.errors import AmbiguousId, MeshError, NoHome
from mesh.mcp import tool_answers
from mesh.mcp.answer_bounds import ITEMS

_UNEXPECTED = (
    "something failed that should not; the reason is in the log of `mesh mcp`",
    "next: go on without it, and ask the user to run `mesh doctor`",
)
_NO_HOME = "ask the user to run `mesh setup`, or `mesh init`, in a terminal"
_LOG = logging.getLogger(__name__)


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


Backends = Callable[[str | None], ToolBackend]  # the backend of a repository; None: of the one we are in

Text = Annotated[str, Field(description="One plain sentence that helps somebody who knows nothing of this session.")]
Topic = Annotated[str, Field(description="One word that groups records, like: docker")]
Tags = Annotated[tuple[str, ...], Field(description="Further words, at most 16.")]
Category = Annotated[
    str, Field(description="Left out: found from the words.", json_schema_extra={"enum": list(CATEGORIES)})
]
Severity = Annotated[Literal["low", "medium", "high", "critical"] | None, Field(description="How much harm it does.")]
Repo = Annotated[
    str | None,
    Field(description="A repository, like: github.com/org/name. Left out: the one in whose folder this server runs."),
]
Everywhere = Annotated[bool, Field(description="In all repositories.")]
Global = Annotated[bool, Field(description="It holds in every repository.")]
Confidence = Annotated[float | None, Field(description="From 0 to 1.", ge=0, le=1)]
Evidence = Annotated[str, Field(description="Where it can be checked: a file and line, a link, an error message.")]
Minutes = Annotated[int | None, Field(description="Minutes that it cost.", ge=0)]
RequestId = Annotated[
    str, Field(description="For clients that retry: a call with the same id adds nothing. Else leave it out.")
]
Private = Annotated[bool, Field(description="Keep it on this machine.")]
Source = Annotated[
    Literal["human", "agent", "build", "self"],
    Field(description="Who noticed: the user, another agent, a build or test, you yourself."),
]
OnlyCategory = Annotated[str, Field(description="Only of this category.", json_schema_extra={"enum": list(CATEGORIES)})]
Tier = Annotated[Literal["HOT", "WARM", "BANK", "ARCHIVE"] | None, Field(description="Only of this tier.")]
Id = Annotated[str, Field(description="The id of a record, or its beginning, as in [7k3qmzpa].")]
Limit = Annotated[int, Field(description="At most so many.", ge=1, le=ITEMS)]

Discovered = Annotated[CallToolResult, tool_answers.Discovered]
Corrected = Annotated[CallToolResult, tool_answers.Corrected]
Searched = Annotated[CallToolResult, tool_answers.Searched]
Found = Annotated[CallToolResult, tool_answers.Found]
Hot = Annotated[CallToolResult, tool_answers.Hot]
Story = Annotated[CallToolResult, tool_answers.Story]


class Tools:
    """Asks the backend, one question at a time and off the event loop, and never lets an error through as it is."""

    def __init__(self, backends: Backends) -> None:
        self._backends = backends
        self.at_work = threading.Lock()  # held during a call: ending the process waits for it
        self._one = anyio.CapacityLimiter(1)

    async def record_discovery(
        self,
        text: Text,
        *,
        topic: Topic = "",
        tags: Tags = (),
        category: Category = "",
        severity: Severity = None,
        repo: Repo = None,
        is_global: Global = False,
        confidence: Confidence = None,
        evidence: Evidence = "",
        minutes_lost: Minutes = None,
        private: Private = False,
        anyway: Annotated[bool, Field(description="Record it though a record seems to say it already.")] = False,
        request_id: RequestId = "",
    ) -> Discovered:
        """Record something you found out that is not documented, or that took long to find out: how a tool, an API or this code base really behaves. It is shared with every agent of the team. If a record says it already, nothing is added and the answer names it. Not for what the code says itself, and never with secrets: they are taken out."""
        return await self._tool(
            repo,
            lambda backend: backend.discover(
                text,
                topic=topic,
                tags=tags,
                category=category,
                severity=severity or "",
                repo=repo,
                is_global=is_global,
                confidence=confidence,
                evidence=evidence,
                minutes_lost=minutes_lost,
                private=private,
                anyway=anyway,
                request_id=request_id,
            ),
            tool_answers.discovered,
        )

    async def record_correction(
        self,
        wrong: Annotated[str, Field(description="What was done or believed, in one sentence.")],
        right: Annotated[str, Field(description="What is right instead, in one sentence.")],
        *,
        pattern: Annotated[
            str, Field(description="The name of the pattern it belongs to. Left out: found from the words.")
        ] = "",
        source: Source = "agent",
        topic: Topic = "",
        tags: Tags = (),
        category: Category = "",
        severity: Severity = None,
        repo: Repo = None,
        is_global: Global = False,
        confidence: Confidence = None,
        evidence: Evidence = "",
        minutes_lost: Minutes = None,
        private: Private = False,
        request_id: RequestId = "",
    ) -> Corrected:
        """Record a correction, before your next reply, whenever somebody corrected you or a build, a test or a review proved you wrong. The same mistake in several sessions, on any machine of the team, becomes a rule that every agent is told at its start. Repeating it in one session counts once. The answer says which pattern it was counted under and how often that has happened."""
        return await self._tool(
            repo,
            lambda backend: backend.correct(
                wrong,
                right,
                pattern=pattern,
                source=source,
                topic=topic,
                tags=tags,
                category=category,
                severity=severity or "",
                repo=repo,
                is_global=is_global,
                confidence=confidence,
                evidence=evidence,
                minutes_lost=minutes_lost,
                private=private,
                request_id=request_id,
            ),
            tool_answers.corrected,
        )

    async def search(
        self,
        query: Annotated[str, Field(description="What you are about to do, or the words of an error.")],
        *,
        repo: Repo = None,
        everywhere: Everywhere = False,
        limit: Limit = 10,
        category: OnlyCategory = "",
        tags: Annotated[tuple[str, ...], Field(description="Only with one of these tags.")] = (),
        agent: Annotated[str, Field(description="Only of this agent, like: codex")] = "",
        author: Annotated[str, Field(description="Only of this machine: its name or id.")] = "",
        since: Annotated[str, Field(description="Only from then on: 2026-11-16, 2026-11-16T10:00, or 30d.")] = "",
        until: Annotated[str, Field(description="Only until then.")] = "",
        tier: Tier = None,
        archived: Annotated[bool, Field(description="Also what is in the archive.")] = False,
        min_relevance: Annotated[float, Field(description="Only what fits so well, from 0 to 1.", ge=0, le=1)] = 0.0,
    ) -> Searched:
        """Search what the team's agents have found out and what they were corrected for. Use it before you work on code that is new to you, when an error looks strange or comes back, and before you try something expensive. The best match comes first; fetch opens one."""
        return await self._tool(
            repo,
            lambda backend: backend.search(
                query,
                repo=repo,
                everywhere=everywhere,
                limit=limit,
                category=category,
                tags=list(tags),
                agent=agent,
                author=author,
                since=since,
                until=until,
                tier=tier or "",
                archived=archived,
                min_relevance=min_relevance,
            ),
            tool_answers.searched,
        )

    async def fetch(self, id: Id) -> Story:  # noqa: A002 (as agents call it)
        """Open one record, with its whole text and everything that it says. Use it when a line of a search or of your context is not enough: what is opened stays longer in the team's memory."""
        return await self._tool(None, lambda backend: backend.show(id.strip().strip("[]")), tool_answers.opened)

    async def recent(
        self, *, topic: Topic = "", repo: Repo = None, everywhere: Everywhere = False, count: Limit = 10
    ) -> Found:
        """The newest records of the team's agents, newest first: what others have just found out here."""
        return await self._tool(
            repo,
            lambda backend: backend.recent(count=count, topic=topic, repo=repo, everywhere=everywhere),
            partial(tool_answers.found, name="records"),
        )

    async def hot(self, *, repo: Repo = None, everywhere: Everywhere = False) -> Hot:
        """The rules that hold here because the same mistake was corrected in several sessions. They are in your context from the start of a session; ask again after a long one."""
        return await self._tool(repo, lambda backend: backend.hot(repo=repo, everywhere=everywhere), tool_answers.hot)

    async def why(self, id: Id) -> Story:  # noqa: A002 (as agents call it)
        """Where a record comes from and what became of it: author, time, signature, edits, whether it still counts. Use it before you rely on a surprising note, or contradict it."""
        return await self._tool(None, lambda backend: backend.why(id.strip().strip("[]")), tool_answers.story)

    async def context_resource(self) -> str:
        """What a session is given at its start."""
        given = await self._resource(lambda backend: backend.context())
        return str(given.get("text", ""))

    async def hot_resource(self) -> str:
        """The rules that hold here."""
        return tool_answers.marked(tool_answers.hot(await self._resource(lambda backend: backend.hot())).lines())

    def correct_prompt(
        self, what: Annotated[str, Field(description="What was wrong, if it should be said again.")] = ""
    ) -> str:
        """Record the correction that was just made."""
        about = f" It is about this: {what}" if what else ""
        return (
            "You were just corrected. Record it now with the tool record_correction, so that no agent of the team makes the same "
            "mistake again: `wrong` is what you did or believed, `right` is what holds instead, each one plain sentence that "
            "can be understood without this conversation. If I corrected you, `source` is human; if a build or a test did, build. "
            f"Leave secrets out. Then go on with your work, the right way.{about}"
        )

    async def _tool(
        self,
        repo: str | None,
        ask: Callable[[ToolBackend], Mapping[str, Any]],
        answer: Callable[[Mapping[str, Any]], tool_answers.ReadableAnswer],
    ) -> CallToolResult:
        try:
            said = answer(await self._ask(repo, ask))
        except Exception as error:  # noqa: BLE001 (whatever it is, the agent reads one sentence)
            return CallToolResult(content=[TextContent(type="text", text=_complaint(error))], is_error=True)
        return CallToolResult(
            content=[TextContent(type="text", text=tool_answers.marked(said.lines()))],
            structured_content=tool_answers.data(said),
        )

    async def _resource(self, ask: Callable[[ToolBackend], Mapping[str, Any]]) -> Mapping[str, Any]:
        try:
            return await self._ask(None, ask)
        except Exception as error:  # noqa: BLE001 (as above)
            raise ResourceError(_complaint(error)) from None

    async def _ask(self, repo: str | None, ask: Callable[[ToolBackend], Mapping[str, Any]]) -> Mapping[str, Any]:
        def call() -> Mapping[str, Any]:
            with self.at_work:
                return ask(self._backends(repo))

        return await anyio.to_thread.run_sync(call, limiter=self._one)


def _complaint(error: Exception) -> str:
    """An error as an agent reads it: what happened, then the next step. Tracebacks of unexpected errors go to the log alone."""
    if not isinstance(error, MeshError):
        _LOG.error("a call failed unexpectedly", exc_info=error)
        return tool_answers.marked(_UNEXPECTED)
    matches = error.matches[:ITEMS] if isinstance(error, AmbiguousId) else []
    step = _NO_HOME if isinstance(error, NoHome) else error.next_step
    return tool_answers.marked([*map(harmless, (str(error), *matches)), *([f"next: {harmless(step)}"] if step else [])])
