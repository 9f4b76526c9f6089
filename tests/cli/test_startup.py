"""What the everyday read command costs before it does anything: the modules it imports."""

import json
import subprocess
import sys
from pathlib import Path

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
import json, sys
slow, chains = set(json.loads(sys.argv.pop(1))), {}
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
print(json.dumps({"code": code, "modules": sorted(sys.modules), "chains": chains}), file=sys.stderr)
"""


@pytest.fixture
def home(tmp_path: Path) -> str:
    """A home with records, one of them edited, so that the command has something to read."""
    made = create_home(str(tmp_path / "home"), "laptop")
    author = made.author()
    receipt = author.append([NewRecord("discoveries", {"text": f"note {number}"}) for number in range(3)])
    author.append([Assignment(receipt.tags[0], "text", "a better note")])
    author.store.close()
    return made.path


@pytest.mark.parametrize("options", [[], ["--json"], ["-n", "2", "--log", "discoveries"], ["--help"]])
def test_tail_imports_nothing_slow(home: str, options: list[str]) -> None:
    """`mesh tail` reads and prints records without any of the modules that agents would wait for."""
    done = subprocess.run(
        [sys.executable, "-c", REPORT, json.dumps(SLOW), "tail", "--home", home, *options],
        check=True,
        capture_output=True,
        text=True,
    )
    report = json.loads(done.stderr)
    assert report["code"] == 0
    assert "note" in done.stdout or "--help" in options
    loaded = {
        name: report["chains"].get(name, "loaded before the command") for name in SLOW if name in report["modules"]
    }
    assert loaded == {}
