"""The clients: how each is pointed at our model servers and started without a person, and how it names tools."""

import json
import tomllib
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from tests.clients import installation
from tests.clients.model_server import Call

_KEY = "sk-scripted-0000000000000000"


class Client(ABC):
    """One of them. `lacks`: what the client has no place for, so that nothing of ours can be missing."""

    name: str
    program: str
    title: str
    lacks: ClassVar[Mapping[str, str]] = {}
    full_tokens = 0  # at so many it compacts a conversation by itself; 0: we do not know how to have it do so

    @abstractmethod
    def configure(self, user: Path, address: str) -> None:
        """Its settings before ours are added: which model it asks, and nothing else."""

    @abstractmethod
    def command(self, prompt: str, *, again: bool = False, careful: bool = False) -> list[str]:
        """One prompt, nobody at the keyboard. `again`: in the session before. `careful`: what is not allowed by a rule is refused."""

    @abstractmethod
    def shell(self, command: str) -> Call:
        """The tool that runs a command."""

    @abstractmethod
    def ours(self, tool: str, arguments: dict[str, Any]) -> Call:
        """A tool of our server."""

    def delegate(self, prompt: str) -> Call | None:
        """The tool that starts a subagent; none that we know."""
        return None

    def fork(self, prompt: str) -> list[str]:
        """The command that goes on in a copy of the session before; empty if we know none without a person."""
        return []

    def compaction(self) -> list[str]:
        """The command that compacts the session before; empty if it does so by itself."""
        return []

    def bundle_commands(self) -> list[list[str]]:
        """How our plugin or extension is added; empty if there is none."""
        return []

    def environ(self, address: str) -> dict[str, str]:
        """What it is told by its environment."""
        return {}


class ClaudeCode(Client):
    name, program, title = "claude-code", "claude", "Claude Code"
    full_tokens = 1000  # it is told to

    def configure(self, user: Path, address: str) -> None:
        folder = user / ".claude"
        folder.mkdir()
        # Odd on purpose: an uninstallation gives every byte back.
        (folder / "settings.json").write_text('{ "cleanupPeriodDays" : 30,\n\t"env": {} }', encoding="utf-8")

    def environ(self, address: str) -> dict[str, str]:
        return {
            "ANTHROPIC_BASE_URL": address,
            "ANTHROPIC_API_KEY": _KEY,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "IS_SANDBOX": "1",
        }

    def command(self, prompt: str, *, again: bool = False, careful: bool = False) -> list[str]:
        free = [] if careful else ["--dangerously-skip-permissions"]
        return ["claude", "-p", prompt, *free, *(["--continue"] if again else [])]

    def shell(self, command: str) -> Call:
        return Call("Bash", {"command": command, "description": "as the task says"})

    def ours(self, tool: str, arguments: dict[str, Any]) -> Call:
        return Call(f"mcp__clan-mesh__{tool}", arguments)

    def delegate(self, prompt: str) -> Call:
        return Call(
            "Agent",
            {"description": "look", "prompt": prompt, "subagent_type": "general-purpose", "run_in_background": False},
        )

    def fork(self, prompt: str) -> list[str]:
        return [*self.command(prompt, again=True), "--fork-session"]

    def compaction(self) -> list[str]:
        return self.command("/compact", again=True)

    def bundle_commands(self) -> list[list[str]]:
        plugin = ["claude", "plugin"]
        return [[*plugin, "marketplace", "add", str(installation.ROOT)], [*plugin, "install", "clan-mesh@clan-mesh"]]


class Codex(Client):
    name, program, title = "codex", "codex", "Codex"
    full_tokens = 190_000

    def configure(self, user: Path, address: str) -> None:
        folder = user / ".codex"
        folder.mkdir()
        (folder / "config.toml").write_text(
            '# scripted\nmodel = "scripted"\nmodel_provider = "scripted"\n'
            "model_context_window = 200000\nmodel_auto_compact_token_limit = 150000\n\n"
            '[model_providers.scripted]\nname = "scripted"\n'
            f'base_url = "{address}/v1"\nenv_key = "SCRIPTED_KEY"\nwire_api = "responses"\n',
            encoding="utf-8",
        )
        assert tomllib.loads((folder / "config.toml").read_text(encoding="utf-8"))

    def environ(self, address: str) -> dict[str, str]:
        return {"SCRIPTED_KEY": _KEY}

    def command(self, prompt: str, *, again: bool = False, careful: bool = False) -> list[str]:
        options = ["--skip-git-repo-check", "--dangerously-bypass-hook-trust"]
        options += ["--sandbox", "workspace-write"] if careful else ["--dangerously-bypass-approvals-and-sandbox"]
        return ["codex", "exec", *options, *(["resume", "--last"] if again else []), prompt]

    def shell(self, command: str) -> Call:
        return Call("exec_command", {"cmd": command})

    def ours(self, tool: str, arguments: dict[str, Any]) -> Call:
        return Call(tool, arguments, namespace="mcp__clan_mesh")

    def delegate(self, prompt: str) -> Call:
        return Call("spawn_agent", {"message": prompt}, namespace="multi_agent_v1")


class Gemini(Client):
    name, program, title = "gemini", "gemini", "Gemini CLI"
    lacks: ClassVar[Mapping[str, str]] = {"a subagent is told the rules": "its subagents have no hooks"}

    def configure(self, user: Path, address: str) -> None:
        folder = user / ".gemini"
        folder.mkdir()
        (folder / "settings.json").write_text(
            '{\n  // scripted\n  "security": {"auth": {"selectedType": "gemini-api-key"}},\n'
            '  "general": {"disableAutoUpdate": true, "enableAutoUpdate": false}\n}',
            encoding="utf-8",
        )

    def environ(self, address: str) -> dict[str, str]:
        return {"GEMINI_API_KEY": _KEY, "GOOGLE_GEMINI_BASE_URL": address}

    def command(self, prompt: str, *, again: bool = False, careful: bool = False) -> list[str]:
        free = [] if careful else ["-y"]
        return ["gemini", *free, "--skip-trust", *(["--resume", "latest"] if again else []), "-p", prompt]

    def shell(self, command: str) -> Call:
        return Call("run_shell_command", {"command": command, "description": "as the task says"})

    def ours(self, tool: str, arguments: dict[str, Any]) -> Call:
        return Call(f"mcp_clan-mesh_{tool}", arguments)

    def bundle_commands(self) -> list[list[str]]:
        source = str(installation.ROOT / "plugins" / "gemini")
        return [["gemini", "extensions", "install", source, "--consent"]]


class OpenCode(Client):
    """It has no hooks: `mesh install` gives it the server and the skill."""

    name, program, title = "opencode", "opencode", "OpenCode"

    def configure(self, user: Path, address: str) -> None:
        provider = {
            "npm": "@ai-sdk/openai-compatible",
            "name": "scripted",
            "options": {"baseURL": f"{address}/v1", "apiKey": _KEY},
            "models": {"scripted": {"name": "scripted", "tool_call": True}},
        }
        settings = {
            "provider": {"scripted": provider},
            "model": "scripted/scripted",
            "small_model": "scripted/scripted",
            "autoupdate": False,
            "share": "disabled",
            "permission": {"bash": "allow", "edit": "allow"},
        }
        self._settings(user).parent.mkdir(parents=True)
        self._settings(user).write_text(json.dumps(settings, indent=1), encoding="utf-8")

    def environ(self, address: str) -> dict[str, str]:
        return {"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1"}

    def command(self, prompt: str, *, again: bool = False, careful: bool = False) -> list[str]:
        return ["opencode", "run", *(["--continue"] if again else []), prompt]

    def shell(self, command: str) -> Call:
        return Call("bash", {"command": command, "description": "as the task says"})

    def ours(self, tool: str, arguments: dict[str, Any]) -> Call:
        return Call(f"clan-mesh_{tool}", arguments)

    @staticmethod
    def _settings(user: Path) -> Path:
        return user / ".config" / "opencode" / "opencode.json"


CLIENTS: tuple[Client, ...] = (ClaudeCode(), Codex(), Gemini(), OpenCode())
