"""Where to install and what: the program, its home, the folder, the environment. Reads no file.

Command lines are made here and nowhere else. They must come out byte for byte the same after an upgrade: Codex trusts a hook
by its hash.
"""

import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Target:
    """One request to install or to uninstall."""

    mesh: str  # the absolute path of the program
    environ: Mapping[str, str]
    project: str = ""  # the folder of one project; empty: for the user
    home: str = ""  # the node's home, if it is not the default one
    allow: bool = False  # also let the agent call us without asking

    @property
    def user_home(self) -> str:
        """The user's own folder."""
        return self.environ.get("HOME") or os.path.expanduser("~")

    @property
    def program(self) -> str:
        """How texts name the program: in a project, which others share, by its name alone."""
        return "mesh" if self.project else shlex.quote(self.mesh)

    def hook(self, event: str, agent: str = "") -> str:
        """The command line of a hook. Claude Code is what `mesh hook` takes for granted."""
        words = [self.mesh, "hook", event]
        words += ["--agent", agent] if agent else []
        return shlex.join(words + self._home)

    def server(self) -> list[str]:
        """The words after the program that run the MCP server."""
        return ["mcp", *self._home]

    @property
    def _home(self) -> list[str]:
        return ["--home", self.home] if self.home else []
