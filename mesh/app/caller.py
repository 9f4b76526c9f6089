"""Who calls, and from where: repository, agent, session. What a record says about its surroundings."""

from __future__ import annotations

import os
import time

TYPE_CHECKING = False  # see `mesh`
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from clan_learnings.agents.surroundings import Surroundings
    from clan_learnings.records.record import About
    from clan_learnings.repository.detection import Repository

HERE = "."  # the repository we are in, where one may be named
NOTES = "sessions"  # in the home: what session starts leave for later calls
SHARED = ("topic", "tags", "category", "severity", "confidence", "evidence", "minutes_lost")


class CallerSide:
    """What is found out where the caller is: its repository, agent and session. Here: in this process, from its own files and parents."""

    def __init__(self, environ: Mapping[str, str], folder: str = "") -> None:
        self._environ = environ
        self._folder = folder

    def repository(self) -> Repository:
        """The repository the caller is in."""
        from clan_learnings.repository.detection import find

        return find(self._folder or _current(), self._environ)

    def claimed(self, found: Repository) -> str:
        """The repository's name; one without a remote gets it now."""
        from clan_learnings.repository.detection import claim

        return claim(found, self._environ, os.urandom(16)).identity

    def look(self, home: str, node: bytes, session: str) -> Surroundings:
        """Agent, session and repository, from the environment, the folder and the parent processes."""
        from clan_learnings.agents.session_notes import ancestors
        from clan_learnings.agents.surroundings import look_around

        return look_around(
            self._environ,
            self._folder or _current(),
            node=node,
            day=time.strftime("%Y-%m-%d", time.gmtime()),
            session=session,
            left=os.path.join(home, NOTES),
            tree=ancestors(),
        )


class Caller:
    """One caller. Which repository it is in is found once, so not to be kept longer than a command or a request."""

    def __init__(self, home: str, side: CallerSide, *, agent: str = "", session: str = "") -> None:
        """`agent`, `session`: who it is, if that was given."""
        self.home = home
        self._side = side
        self.agent = agent
        self._session = session
        self._found: Repository | None = None

    def about(self, node: bytes, said: Mapping[str, Any]) -> About:
        """The facts of a record: those that were given, and for the rest what is found here."""
        from clan_learnings.records.record import About
        from clan_learnings.repository.remote_name import named_repo

        around = self.look(node, said.get("session") or "", said.get("agent") or "")
        if said.get("is_global"):
            repo = ""
        elif said.get("repo") and said["repo"] != HERE:
            repo = named_repo(said["repo"])
        else:
            repo = self._side.claimed(around.repository)
            self._found = None  # it may have got its name only now
        facts = {name: said[name] for name in SHARED if said.get(name) is not None}
        return About(repo=repo, agent=said.get("agent") or self.agent or around.agent, session=around.session, **facts)

    def look(self, node: bytes, session: str = "", agent: str = "") -> Surroundings:
        """Agent, session and repository. A bare session id is of the agent that was named."""
        from clan_learnings.agents.surroundings import is_session

        session, agent = session or self._session, agent or self.agent
        if session and agent and not is_session(session) and is_session(f"{agent}:{session}"):
            session = f"{agent}:{session}"
        return self._side.look(self.home, node, session)

    def scope(self, repo: str | None) -> str:
        """The repository that a question is about: the one named, else the one we are in."""
        if repo is not None and repo != HERE:
            from clan_learnings.repository.remote_name import named_repo

            return named_repo(repo) if repo else ""
        return self.repository.identity

    @property
    def is_unshared(self) -> bool:
        """Whether the repository we are in says that nothing of it is to be shared."""
        return bool(self.why_unshared)

    @property
    def why_unshared(self) -> str:
        """Why nothing that is written here may leave the machine, in words; empty if it may."""
        return self.repository.file.why_unshared

    @property
    def categories(self) -> tuple[str, ...]:
        """Categories that the repository adds to those of the mesh."""
        return self.repository.file.categories

    @property
    def repository(self) -> Repository:
        """The repository we are in."""
        if self._found is None:
            self._found = self._side.repository()
        return self._found


def _current() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError:  # deleted under our feet
        return "/"
