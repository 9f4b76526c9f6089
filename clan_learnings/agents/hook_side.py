"""Where a hook is called: its repository, session and parent processes, and the file in which Claude Code's shells look for variables.

Loaded by the side that the agent has started, which looks at its own files only, so nothing slow is imported.
"""

from __future__ import annotations

import os
from collections import namedtuple

from clan_learnings.agents.surroundings import session_of
from clan_learnings.repository.detection import Repository, find
from mesh.core.errors import UsageError

TYPE_CHECKING = False  # see `mesh`
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import NamedTuple

    from clan_learnings.agents.session_notes import Process

    class _HookPlace(NamedTuple):
        folder: str
        repository: Repository
        tree: tuple[Process, ...]
        session: str  # that the environment names
        problem: str = ""  # with that session

else:
    _HookPlace = namedtuple("_HookPlace", ("folder", "repository", "tree", "session", "problem"), defaults=("",))  # noqa: PYI024


class HookPlace(_HookPlace):
    """Where a hook was called: the folder the event is about, its repository, the parent processes, the session that the environment names."""

    __slots__ = ()


class HookSide:
    """What is found out, and left, where a hook was called. Here: in this process, from its own environment, files and parents."""

    def __init__(self, environ: Mapping[str, str], tree: tuple[Process, ...]) -> None:
        self._environ = environ
        self._tree = tree

    def place(self, folder: str, agent: str) -> HookPlace:
        """`folder`: what the event says; empty: where we are."""
        folder = folder or _current()
        session = problem = ""
        try:
            session = session_of(self._environ, agent=agent, tree=self._tree)
        except UsageError as error:
            problem = f"the session: {error}"
        return HookPlace(folder, find(folder, self._environ), self._tree, session, problem)

    def export(self, session: str) -> None:
        """Have the shells of Claude Code know their session."""
        file = self._environ.get("CLAUDE_ENV_FILE", "")
        if os.path.isabs(file):
            quoted = session.replace("'", "'\\''")
            _append(file, f"export MESH_SESSION='{quoted}'\n")


def _append(path: str, line: str) -> None:
    """Add a line, unless the file ends with it: every clearing and shortening of a conversation is a start, too."""
    descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        new = line.encode()
        end = os.pread(descriptor, len(new), max(0, os.fstat(descriptor).st_size - len(new)))
        if end != new:
            os.write(descriptor, new if end.endswith(b"\n") or not end else b"\n" + new)
    finally:
        os.close(descriptor)


def _current() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError:  # deleted under our feet
        return "/"
