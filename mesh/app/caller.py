"""Where a caller is and who it is, for a home: repository, agent, session. What a record says of its surroundings."""

from __future__ import annotations

import os
import time

TYPE_CHECKING = False  # see `mesh`
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from clan_learnings.agents.surroundings import Surroundings
    from clan_learnings.records.record import About

HERE = "."  # the repository we are in, where one may be named
NOTES = "sessions"  # in the home: what session starts leave for later calls
SHARED = ("topic", "tags", "category", "severity", "confidence", "evidence", "minutes_lost")


class Caller:
    """One caller."""

    def __init__(self, home: str, environ: Mapping[str, str], folder: str, *, agent: str, session: str) -> None:
        self._home = home
        self._environ = environ
        self._folder = folder
        self.agent = agent
        self._session = session

    def about(self, node: bytes, said: Mapping[str, Any]) -> About:
        """What a record says beside its words: what was given, and for the rest what is found here."""
        from clan_learnings.records.record import About
        from clan_learnings.repository.detection import claim
        from clan_learnings.repository.remote_name import named_repo

        around = self.look(node, said.get("session") or "", said.get("agent") or "")
        if said.get("is_global"):
            repo = ""
        elif said.get("repo") and said["repo"] != HERE:
            repo = named_repo(said["repo"])
        else:
            repo = claim(around.repository, self._environ, os.urandom(16)).identity
        facts = {name: said[name] for name in SHARED if said.get(name) is not None}
        return About(repo=repo, agent=said.get("agent") or self.agent or around.agent, session=around.session, **facts)

    def look(self, node: bytes, session: str = "", agent: str = "") -> Surroundings:
        """Agent, session and repository, as the environment, the folder and the processes above tell. An id alone is of the agent that was named."""
        from clan_learnings.agents.session_notes import ancestors
        from clan_learnings.agents.surroundings import is_session, look_around

        session, agent = session or self._session, agent or self.agent
        if session and agent and not is_session(session) and is_session(f"{agent}:{session}"):
            session = f"{agent}:{session}"
        return look_around(
            self._environ,
            self._folder or _current(),
            node=node,
            day=time.strftime("%Y-%m-%d", time.gmtime()),
            session=session,
            left=os.path.join(self._home, NOTES),
            tree=ancestors(),
        )

    def scope(self, repo: str | None) -> str:
        """The repository that a question is about: the one named, else the one we are in."""
        if repo is not None and repo != HERE:
            from clan_learnings.repository.remote_name import named_repo

            return named_repo(repo) if repo else ""
        from clan_learnings.repository.detection import find

        return find(self._folder or _current(), self._environ).identity

    @property
    def is_unshared(self) -> bool:
        """Whether the repository we are in says that nothing of it is to be shared."""
        return bool(self.why_unshared)

    @property
    def why_unshared(self) -> str:
        """Why nothing that is written here may leave the machine, in words; empty if it may."""
        from clan_learnings.repository.detection import find

        return find(self._folder or _current(), self._environ).file.why_unshared

    @property
    def categories(self) -> tuple[str, ...]:
        """Categories that the repository adds to those of the mesh."""
        from clan_learnings.repository.detection import find

        return find(self._folder or _current(), self._environ).file.categories


def _current() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError:  # deleted under our feet
        return "/"
