"""The caller of a client, seen from the node: everything about its place is asked of the client, and nothing is looked up here."""

from __future__ import annotations

from collections.abc import Callable

from clan_learnings.agents.hook_side import HookPlace, HookSide
from clan_learnings.agents.session_notes import Process
from clan_learnings.agents.surroundings import Surroundings, is_session
from clan_learnings.repository.detection import Repository
from mesh.app.caller import CallerSide
from mesh.cli.caller_answers import CLAIM, EXPORT, HOOK_PLACE, LOOK, REPOSITORY, REPOSITORY_FIELDS, unpacked
from mesh.core.errors import UsageError


class AskedSide(CallerSide):
    """The caller of a client, who is asked."""

    def __init__(self, ask: Callable[..., list[str]]) -> None:
        """`ask`: puts a question, and gives the fields of the answer."""
        super().__init__({}, "/")
        self._ask = ask

    def repository(self) -> Repository:
        """The repository the caller is in."""
        return unpacked(self._ask(REPOSITORY))

    def claimed(self, found: Repository) -> str:
        """The repository's name; one without a remote gets it now."""
        return self._ask(CLAIM)[0] if found.needs_claim else found.identity

    def look(self, home: str, node: bytes, session: str) -> Surroundings:  # noqa: ARG002 (the client knows its home)
        """Agent, session and repository."""
        agent, named, *fields = self._ask(LOOK, node.hex(), session)
        if not is_session(named):
            raise UsageError(f"{named!r} is no session", "leave --session out")
        return Surroundings(agent, named, unpacked(fields))


class AskedHookSide(HookSide):
    """Where a client's hook was called, as the client says."""

    def __init__(self, ask: Callable[..., list[str]]) -> None:
        super().__init__({}, ())
        self._ask = ask

    def place(self, folder: str, agent: str) -> HookPlace:
        """As `HookSide` has it."""
        found, session, problem, *rest = self._ask(HOOK_PLACE, folder, agent)
        tree = []
        for line in rest[REPOSITORY_FIELDS:]:
            number, start, name = line.split(" ", 2)
            tree.append(Process(int(number), int(start), name))
        return HookPlace(found, unpacked(rest[:REPOSITORY_FIELDS]), tuple(tree), session, problem)

    def export(self, session: str) -> None:
        """As `HookSide` has it."""
        self._ask(EXPORT, session)
