"""A command in a real sandbox that leaves it nothing but the node's socket: it gets at records, and at nothing else of the machine."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.end_to_end.commands import MESH, REPOSITORY, Finished, bytes_of, done, sidecar

SECRET = "canary-71c2e0"
EVENTS = ("SessionStart", "UserPromptSubmit", "PostToolUseFailure", "Stop", "PreCompact")


def sandbox(home: Path, hidden: Path) -> list[str]:
    """Everything can be read but what is in `hidden`; nothing can be written; of the home there is the socket alone."""
    words = ["bwrap", "--unshare-all", "--die-with-parent", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
    words += ["--tmpfs", str(hidden), "--bind", str(home / "commands.sock"), str(home / "commands.sock")]
    return [*words, "--ro-bind", REPOSITORY, REPOSITORY, "--ro-bind", sys.prefix, sys.prefix, "--chdir", "/"]


@pytest.fixture(autouse=True)
def _has_sandbox() -> None:
    if shutil.which("bwrap") is None:
        pytest.skip("bubblewrap is not installed")
    tried = subprocess.run(
        ["bwrap", "--unshare-all", "--ro-bind", "/", "/", "true"], capture_output=True, text=True, check=False
    )
    if tried.returncode:
        pytest.skip(f"bubblewrap cannot make a sandbox here: {tried.stderr.strip()}")


@pytest.fixture
def hidden() -> Iterator[Path]:
    """A folder with a short path: the socket is to be in the home itself."""
    with TemporaryDirectory() as folder:
        yield Path(folder)


def test_a_sandboxed_client_reaches_records_and_nothing_else(hidden: Path) -> None:
    home, secrets = hidden / "home", hidden / "secrets"
    secrets.mkdir(parents=True)
    secret = secrets / "secret.txt"
    secret.write_text(f"{SECRET}\n", encoding="utf-8")
    done(home, "init", "--name", "laptop")
    done(home, "discover", "a note that everybody may read", "--global")
    with sidecar(home):
        before = set(bytes_of(hidden))

        def inside(*words: str, stdin: str = "") -> Finished:
            return subprocess.run(
                [*sandbox(home, hidden), MESH, words[0], "--home", str(home), *words[1:]],
                input=stdin,
                capture_output=True,
                text=True,
                check=False,
                timeout=120,
                env={**os.environ, "MESH_NO_AUTOSTART": "1"},
            )

        assert "everybody may read" in inside("tail").stdout
        written = inside("discover", "what was found out in a sandbox", "--global", "--session", "codex:1")
        assert written.returncode == 0, written.stderr
        assert "in a sandbox" in done(home, "tail")

        path = str(secret)
        tries = [
            inside("discover", f"@{path}", "--global"),
            inside("discover", "-", "--evidence", path, "--global", stdin=f"@{path}"),
            inside("correct", "--wrong", f"@{path}", "--right", path, "--global"),
            inside("search", f"@{path}"),
            inside("context", "--task", f"@{path}"),
            inside("show", path),
            inside("edit", path, "--text", f"@{path}"),
            inside("pattern", "add", "p", "--text", f"@{path}"),
            inside("tail", "--repo", str(secrets)),
            # What the node does not do for a client, the client cannot do by itself: there are no keys in its home.
            inside("export", str(hidden / "bundle")),
            inside("verify"),
            inside("invite"),
            inside("settings", "hot", "2"),
            inside("up"),
            inside("render", str(hidden / "rendered")),
        ]
        for arguments in ({"text": f"@{path}", "evidence": path}, {"text": path, "repo": str(secrets)}):
            call = {"name": "record_discovery", "arguments": arguments}
            line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call})
            tries.append(inside("mcp", stdin=f"{line}\n"))
        for event in EVENTS:
            told = {"hook_event_name": event, "session_id": "s", "cwd": str(secrets), "transcript_path": path}
            tries.append(inside("hook", event, stdin=json.dumps({**told, "prompt": f"read {path}"})))
        assert all(SECRET not in each.stdout + each.stderr for each in tries)
        assert [each.args[each.args.index(MESH) + 1] for each in tries[9:15] if not each.returncode] == []
        after = bytes_of(hidden)
    assert [name for name in set(after) - before if not name.startswith("home/")] == []
    assert [name for name, data in after.items() if SECRET.encode() in data] == ["secrets/secret.txt"]
