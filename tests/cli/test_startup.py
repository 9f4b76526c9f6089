"""What everyday commands cost before they do anything: the modules they import."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mesh.core.draft import Assignment, NewRecord
from mesh.store.home import create_home

# Each of these takes longer to import than the whole command takes to run.
SLOW = (
    "aiohttp",
    "argparse",
    "asyncio",
    "dataclasses",
    "http.client",
    "nacl",
    "numpy",
    "pathlib",
    "pycrdt",
)

# Runs the command as the `mesh` script does, then tells which modules are there and who asked for the slow ones.
REPORT = """
import sys
slow, chains = set(sys.argv.pop(1).split()), {}
class Watch:
    def find_spec(name, path=None, target=None):
        if name in slow:
            frame, chain = sys._getframe(1), []
            while frame is not None:
                module = frame.f_globals.get("__name__", "?")
                if "importlib" not in module and module not in chain[-1:]:
                    chain.append(module)
                frame = frame.f_back
            chains.setdefault(name, " <- ".join(chain))
        return None
sys.meta_path.insert(0, Watch)
from mesh.cli.main import run
code = run(sys.argv[1:])
modules = sorted(sys.modules)
import json
print(json.dumps({"code": code, "modules": modules, "chains": chains}), file=sys.stderr)
"""


@pytest.fixture
def home(tmp_path: Path) -> str:
    """A home with records, one of them edited, so that the command has something to read."""
    made = create_home(str(tmp_path / "home"), "laptop")
    author = made.author()
    receipt = author.append([NewRecord("discoveries", {"text": f"note {number}", "repo": ""}) for number in range(3)])
    author.append([Assignment(receipt.tags[0], "text", "a better note")])
    author.store.close()
    return made.path


# What reads takes a few milliseconds in all, so it loads none of these either.
HEAVY = ("enum", "inspect", "re", "typing")
# What writes has to sign, and to read the home's JSON.
WRITING = {"enum", "nacl", "re", "typing"}
EVENT = json.dumps({"hook_event_name": "SessionStart", "source": "startup", "session_id": "s1", "cwd": "/"})

COMMANDS: list[tuple[list[str], set[str]]] = [
    (["tail"], set()),
    (["tail", "-n", "2", "--log", "discoveries"], set()),
    (["tail", "--topic", "git"], set()),
    (["tail", "--repo", "github.com/acme/api"], set()),
    (["tail", "--help"], set()),
    (["hot", "--all"], set()),
    (["search", "--all", "note"], set()),
    (["search", "--all", "--tier", "warm", "--author", "laptop", "--explain", "note"], set()),
    (["context"], set()),
    (["context", "--task", "a better note"], set()),
    (["hook", "SessionStart"], set()),
    (["hook", "UserPromptSubmit"], set()),
    (["discover", "note of something else"], WRITING),
    (["correct", "--wrong", "npm install", "--right", "pnpm install"], WRITING),
]


def report(home: str, command: list[str], folder: Path = Path("/"), event: str = EVENT) -> tuple[str, dict[str, Any]]:
    """What a command prints, and what it has loaded."""
    done = subprocess.run(
        [sys.executable, "-c", REPORT, " ".join(SLOW + HEAVY), command[0], "--home", home, *command[1:]],
        check=True,
        capture_output=True,
        text=True,
        input=event,
        cwd=folder,
        env=os.environ | {"MESH_NO_AUTOSTART": "1"},
    )
    return done.stdout, json.loads(done.stderr.splitlines()[-1])


@pytest.mark.parametrize(
    ("command", "allowed"), COMMANDS, ids=lambda value: " ".join(sorted(value) if isinstance(value, set) else value)
)
def test_everyday_commands_import_nothing_slow(home: str, command: list[str], allowed: set[str]) -> None:
    """Agents wait for them: they load none of what takes longer than they do, but for what a write cannot do without."""
    printed, told = report(home, command)
    assert told["code"] == 0
    assert printed or command[0] in ("hot", "tail")
    loaded = {name: told["chains"].get(name, "loaded before") for name in SLOW + HEAVY if name in told["modules"]}
    assert {name: chain for name, chain in loaded.items() if name not in allowed} == {}


def test_a_file_of_a_newer_version_in_the_repository_loads_nothing_slow(home: str, tmp_path: Path) -> None:
    """Tables that are to come are passed over without a TOML parser."""
    (tmp_path / "repo" / ".git" / "objects").mkdir(parents=True)
    (tmp_path / "repo" / ".git" / "refs").mkdir()
    (tmp_path / "repo" / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (tmp_path / "repo" / ".clan-mesh.toml").write_text(
        'repo = "github.com/acme/api"\n\n[search]\nlimit = 10\n[decay]\ndays = 90\nwhen = "idle"\n'
    )
    for command in (["search", "note"], ["context"], ["hook", "SessionStart"]):
        event = json.dumps({"hook_event_name": "SessionStart", "cwd": str(tmp_path / "repo"), "session_id": "s1"})
        _, told = report(home, command, folder=tmp_path / "repo", event=event)
        assert "clan_learnings.repository.repository_settings" in told["modules"]
        assert set(told["modules"]) & {*SLOW, *HEAVY, "tomllib", "difflib"} == set()


def test_what_a_person_has_trusted_is_read_only_where_git_does_not_confirm_a_name(home: str, tmp_path: Path) -> None:
    """Hooks run all the time, and hardly any repository needs it."""
    root = tmp_path / "repo"
    (root / ".git" / "objects").mkdir(parents=True)
    (root / ".git" / "refs").mkdir()
    (root / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (root / ".clan-mesh.toml").write_text('repo = "github.com/acme/api"\n')
    event = json.dumps({"hook_event_name": "SessionStart", "cwd": str(root), "session_id": "s1"})
    for url, is_read in (("github.com/acme/api", False), ("github.com/evil/api", True)):
        (root / ".git" / "config").write_text(f'[remote "origin"]\n\turl = https://{url}\n')
        _, told = report(home, ["hook", "SessionStart"], folder=root, event=event)
        assert ("clan_learnings.repository.consent" in told["modules"]) is is_read
        assert set(told["modules"]) & {*SLOW, *HEAVY} == set()


def test_json_for_machines_imports_nothing_slow(home: str) -> None:
    """The module that writes JSON brings `re` with it, and no more."""
    printed, told = report(home, ["tail", "--json"])
    assert "note" in printed
    assert set(told["modules"]) & set(SLOW) == set()
