"""How an agent is told to record something: the call of our MCP server's tool where that is installed, else the command line.

Looks into the agent's own settings of this user, and only when it is to be asked; a project's are not looked at: there the command does.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Mapping

from clan_learnings.agents.hook_formats import CLAUDE_CODE, CODEX, GEMINI
from clan_learnings.context.injected_mark import NAME
from clan_learnings.repository.git_config import read_text

_BYTES = 8 * 1024 * 1024  # Claude Code keeps its history in the file that names its servers
_SERVER = re.compile(rf'"{NAME}"\s*:\s*{{')  # in JSON
_TABLE = re.compile(rf'^\s*\[mcp_servers\."?{NAME}"?\]', re.MULTILINE)  # in TOML
_PLUGIN = re.compile(rf'"{NAME}@[^"]*"\s*:\s*true')
_LOGIN_FOLDERS = ("/usr/local/bin", "/usr/bin", "/bin")  # on the PATH of every login shell


class RecordCall:
    """The exact words for one agent. `program`: see `program`; `options`: those that its hooks were installed with."""

    def __init__(
        self, agent: str, environ: Mapping[str, str], program: str = "mesh", options: tuple[str, ...] = ()
    ) -> None:
        self._agent = agent
        self._environ = environ
        self.program = program
        self._options = "".join(f" {shlex.quote(word)}" for word in options)

    def correction(self, wrong: str, right: str, source: str) -> str:
        """The call that records a correction."""
        if has_tools(self._agent, self._environ):
            return f'{self._tool("record_correction")}(wrong="{wrong}", right="{right}", source="{source}")'
        return f'{self.program} correct{self._options} --wrong "{wrong}" --right "{right}" --source {source}'

    def discovery(self, text: str) -> str:
        """The call that records a discovery."""
        if has_tools(self._agent, self._environ):
            return f'{self._tool("record_discovery")}(text="{text}")'
        return f'{self.program} discover{self._options} "{text}"'

    def _tool(self, name: str) -> str:
        return f"mcp__{NAME}__{name}" if self._agent == CLAUDE_CODE else f"{name} of the MCP server {NAME}: {name}"


def has_tools(agent: str, environ: Mapping[str, str]) -> bool:
    """Whether our MCP server is installed in an agent, by itself or with our plugin."""
    home = environ.get("HOME") or os.path.expanduser("~")
    if agent == CLAUDE_CODE:
        folder = environ.get("CLAUDE_CONFIG_DIR")
        settings = os.path.join(folder or os.path.join(home, ".claude"), "settings.json")
        return _has(os.path.join(folder or home, ".claude.json"), _SERVER) or _has(settings, _PLUGIN)
    if agent == CODEX:
        return _has(os.path.join(environ.get("CODEX_HOME") or os.path.join(home, ".codex"), "config.toml"), _TABLE)
    if agent == GEMINI:
        folder = os.path.join(environ.get("GEMINI_CLI_HOME") or home, ".gemini")
        extension = os.path.join(folder, "extensions", NAME, "gemini-extension.json")
        return os.path.exists(extension) or _has(os.path.join(folder, "settings.json"), _SERVER)
    return False


def program(argv0: str) -> str:
    """How a shell of the agent names this program: a login shell of its own may have another PATH than the one that runs now."""
    path = os.path.abspath(argv0)
    if os.path.basename(path) != "mesh":  # python -m mesh
        path = os.path.join(os.path.dirname(os.path.abspath(sys.executable)), "mesh")
        if not os.path.exists(path):
            return f"{shlex.quote(sys.executable)} -m mesh"
    return "mesh" if os.path.dirname(path) in _LOGIN_FOLDERS else shlex.quote(path)


def _has(path: str, sign: re.Pattern[str]) -> bool:
    return sign.search(read_text(path, _BYTES) or "") is not None
