"""A checkout as a coding agent works in, and the commands it runs there. Only git's files: git itself is not needed."""

import json
import os
import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from bench.learnings import REPOS
from bench.processes import MESH, ran

_COMPILING = "PYTHONDONTWRITEBYTECODE"  # with it, every command would compile what has changed: no user's does
# Whoever runs the benchmarks may be an agent: what tells so must not reach the commands that are measured.
_AGENTS = ("CLAUDE", "CODEX", "GEMINI", "OPENCODE", "GROK", "CURSOR")


@dataclass(frozen=True, slots=True)
class Checkout:
    """Its folder, and the environment of what runs in it."""

    folder: str
    environ: dict[str, str]

    def mesh(self, words: Sequence[str], home: str, *, given: bytes = b"", **more: str) -> tuple[float, bytes]:
        """One command of ours in there: seconds, and what it printed."""
        return ran([MESH, *words], given=given, folder=self.folder, environ=self.environ | {"MESH_HOME": home} | more)

    def session_start(self, home: str) -> tuple[float, str]:
        """Claude Code's hook of a new session: seconds, and the context it gave, if any. It starts no sidecar."""
        said = {
            "session_id": str(uuid.uuid4()),
            "transcript_path": os.path.expanduser("~/.claude/projects/bench/transcript.jsonl"),
            "cwd": self.folder,
            "hook_event_name": "SessionStart",
            "source": "startup",
        }
        tells = {"CLAUDECODE": "1", "CLAUDE_ENV_FILE": os.path.join(self.folder, "environment")}
        seconds, out = self.mesh(["hook", "SessionStart"], home, given=json.dumps(said).encode(), **tells)
        context = json.loads(out or b"{}").get("hookSpecificOutput", {}).get("additionalContext", "")
        return seconds, str(context)

    def correct(self, home: str, wrong: str, right: str) -> tuple[float, bytes]:
        """`mesh correct` by an agent in a session of its own."""
        session = f"claude-code:{uuid.uuid4()}"
        return self.mesh(["correct", "--wrong", wrong, "--right", right], home, CLAUDECODE="1", MESH_SESSION=session)


def checkout(work: str) -> Checkout:
    """A clone of the repository that the clan writes about the most, in this work folder."""
    folder = os.path.join(work, "checkout")
    git = os.path.join(folder, ".git")
    for name in ("objects", "refs"):
        os.makedirs(os.path.join(git, name), exist_ok=True)
    config = f'[core]\n\trepositoryformatversion = 0\n[remote "origin"]\n\turl = https://{REPOS[0]}.git\n'
    for name, text in (("HEAD", "ref: refs/heads/main\n"), ("config", config)):
        with open(os.path.join(git, name), "w", encoding="utf-8") as file:
            file.write(text)
    person = os.path.join(work, "person")  # nobody's settings
    os.makedirs(person, exist_ok=True)
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(_AGENTS)
        and name != _COMPILING
        and (not name.startswith(("MESH_", "GIT_", "XDG_")) or name == "MESH_STATE")
    }
    return Checkout(folder, kept | {"HOME": person, "MESH_NO_AUTOSTART": "1"})
