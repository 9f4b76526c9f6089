"""What an everyday command loads in its own process while the node runs it: counted in modules, so that no machine is too slow for it."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mesh.cli.command_list import COMMANDS as ALL_COMMANDS
from mesh.cli.command_list import GROUPS
from mesh.cli.command_server import CommandServer
from mesh.core.draft import NewRecord
from mesh.store.home import create_home

CLIENT = {"_socket", "mesh", "mesh.cli", "mesh.cli.client", "mesh.cli.command_frames"}
# What finds out where we are, once the node asks for it.
SURROUNDINGS = {
    "_blake2",
    "clan_learnings",
    "clan_learnings.repository",
    "clan_learnings.repository.detection",
    "clan_learnings.repository.git_config",
    "clan_learnings.repository.remote_name",
    "clan_learnings.repository.repository_settings",
    "mesh.app",
    "mesh.app.caller",
    "mesh.cli.caller_answers",
    "mesh.core",
    "mesh.core.errors",
    "mesh.core.ids",
}
SESSION = {
    "clan_learnings.agents",
    "clan_learnings.agents.session_notes",
    "clan_learnings.agents.surroundings",
}
HOOK = SESSION | {
    "clan_learnings.agents.hook_side",
    "clan_learnings.agents.light_json",
    "clan_learnings.records",
    "clan_learnings.records.spool",
}
STANDARD = {"__future__", "_collections", "_functools", "_operator", "collections", "functools", "heapq", "itertools"}
STANDARD |= {"keyword", "operator", "reprlib", "types", "errno", "time", "_json", "zlib", "fcntl", "_heapq"}
EVENT = json.dumps({"hook_event_name": "SessionStart", "source": "startup", "session_id": "s1", "cwd": "/"})

COMMANDS: list[tuple[list[str], set[str]]] = [
    (["tail"], set()),
    (["tail", "-n", "2", "--log", "discoveries"], set()),
    (["tail", "--repo", "github.com/acme/api"], set()),
    (["tail", "--help"], set()),
    (["show", "nothing"], set()),
    (["peers"], set()),
    (["hot", "--all"], set()),
    (["search", "--all", "note"], set()),
    (["hot"], SURROUNDINGS),
    (["context", "--task", "a better note"], SURROUNDINGS),
    (["discover", "note of something else"], SURROUNDINGS | SESSION),
    (["correct", "--wrong", "npm install", "--right", "pnpm install"], SURROUNDINGS | SESSION),
    (["hook", "PostToolUse"], set()),
    (["hook", "SessionStart"], SURROUNDINGS | HOOK),
]


@pytest.fixture
def home(tmp_path: Path) -> Iterator[str]:
    """A home with a record, and what answers for its node."""
    made = create_home(str(tmp_path / "home"), "laptop")
    author = made.author()
    author.append([NewRecord("discoveries", {"text": "a note", "repo": ""})])
    author.store.close()
    with CommandServer(made.path, None, None):
        yield made.path


def loaded(code: str, *words: str, event: str = "") -> set[str]:
    """The modules that a process has loaded."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", code, *words],
        check=False,
        capture_output=True,
        text=True,
        input=event,
        cwd="/",
        env=os.environ | {"MESH_NO_AUTOSTART": "1"},
    )
    return {
        line.rpartition("|")[2].strip()
        for line in done.stderr.splitlines()
        if line.startswith("import time:") and "[us]" not in line
    }


@pytest.mark.parametrize(
    ("command", "asked"), COMMANDS, ids=lambda value: " ".join(sorted(value)[:1] if isinstance(value, set) else value)
)
def test_a_client_loads_only_itself_and_what_the_node_asks_it_for(
    home: str, command: list[str], asked: set[str]
) -> None:
    """With a node: no parser, no database, no JSON, no regular expressions, no typing."""
    event = EVENT if command[-1] == "SessionStart" else '{"hook_event_name": "PostToolUse"}'
    words = (command[0], "--home", home, *command[1:])
    new = loaded("from mesh.cli.client import main; main()", *words, event=event) - loaded("pass")
    assert new >= CLIENT
    assert new - CLIENT - asked - (STANDARD if asked else set()) == set()


MESSAGES = [
    ("initialize", {"protocolVersion": "2025-06-18"}, set()),
    ("tools/list", {}, SURROUNDINGS),
    ("tools/call", {"name": "recent", "arguments": {"everywhere": True}}, set()),
    ("tools/call", {"name": "record_discovery", "arguments": {"text": "a thing"}}, SURROUNDINGS | SESSION),
]


@pytest.mark.parametrize(
    ("method", "params", "asked"), MESSAGES, ids=lambda value: value if isinstance(value, str) else ""
)
def test_what_passes_messages_on_loads_no_more(home: str, method: str, params: dict[str, Any], asked: set[str]) -> None:
    """`mesh mcp` with a node: not even JSON."""
    line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}) + "\n"
    new = loaded("from mesh.cli.client import main; main()", "mcp", "--home", home, event=line) - loaded("pass")
    assert new >= CLIENT | {"mesh.cli.mcp_client"}
    assert new - CLIENT - {"mesh.cli.mcp_client", "select"} - asked - (STANDARD if asked else set()) == set()


def test_without_a_node_the_first_answers_load_no_command_line(home: str) -> None:
    """An agent waits for them: neither what calls need, nor options, nor the rest of the application."""
    line = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n'
    new = loaded("from mesh.cli.client import main; main()", "mcp", "--home", f"{home}-elsewhere", event=line)
    assert "mesh.mcp.server" in new
    assert not new & {"argparse", "mesh.cli.main", "mesh.mcp.tools", "mesh.app.snapshot", "asyncio", "pydantic", "mcp"}


def test_a_command_that_the_node_must_not_run_loads_its_own(home: str) -> None:
    """The check itself sees what is loaded."""
    assert "mesh.cli.main" in loaded("from mesh.cli.client import main; main()", "verify", "--home", home)


def test_the_overview_loads_no_command_and_a_command_no_other(tmp_path: Path) -> None:
    """Names and sentences stand in one table; and what draws for a terminal is loaded for a terminal."""
    places = {f"mesh.cli.{entry.place.partition(':')[0]}" for entry in ALL_COMMANDS.values() if entry.place}
    places |= {f"mesh.cli.{one.place.partition(':')[0]}" for group in GROUPS.values() for one in group.members.values()}
    start = "from mesh.cli.client import main; main()"
    assert len(places) > 50
    assert loaded(start, "--help") & places == set()
    assert loaded(start, "page", "--help") & places == set()
    new = loaded(start, "mute", "--list", "--home", str(create_home(str(tmp_path / "other"), "other").path))
    assert new & places == {"mesh.cli.mute"}
    assert {name for name in new if name.partition(".")[0] == "rich"} == set()


def test_a_hook_without_a_node_loads_no_grammar(tmp_path: Path) -> None:
    """An agent waits for it at every call of a tool."""
    home = create_home(str(tmp_path / "other"), "other").path
    new = loaded("from mesh.cli.client import main; main()", "hook", "PostToolUse", "--home", home, event="{}")
    assert "mesh.cli.hook" in new
    assert {name for name in new if name.partition(".")[0] in ("click", "rich")} == set()
