"""`mesh demo` as somebody runs it who has never seen the program: it works, it ends, it leaves nothing."""

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.end_to_end.commands import MESH, PATIENCE_SECONDS, wait_until


def run(folder: Path, *options: str) -> "subprocess.Popen[str]":
    """The demo, with a temporary folder that can be looked into."""
    folder.mkdir()
    return subprocess.Popen(
        [MESH, "demo", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"TMPDIR": str(folder)},
        start_new_session=True,
    )


def processes_of(folder: Path) -> list[int]:
    """Every process that was told of this folder."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                command = Path("/proc", name, "cmdline").read_bytes()
            except OSError:
                continue
            if os.fsencode(folder) in command:
                found.append(int(name))
    return found


def require_nothing_left(folder: Path) -> None:
    """No process runs on, and the folder is empty."""
    wait_until(lambda: processes_of(folder) == [])
    assert list(folder.iterdir()) == []


def test_the_demo_shows_what_is_promised_and_leaves_nothing_behind(tmp_path: Path) -> None:
    """An agent that is asked and one that is told, HOT on all three with times, a context before and after, one node cut off and healed, one root."""
    folder = tmp_path / "temporary"
    demo = run(folder)
    printed, complaints = demo.communicate(timeout=2 * PATIENCE_SECONDS)
    assert demo.returncode == 0, complaints
    assert printed.count("HOT from now on, on every node") == 1
    assert printed.count("after the third command returned") == 3
    assert "3 sessions, 3 nodes" in printed
    asked, told = (
        printed.index("If the user corrects you here, record it"),
        printed.index("deploy the payments service"),
    )
    assert asked < told < printed.index("deploy with make ship", told)
    assert "healed" in printed
    assert "All checks passed" in printed
    require_nothing_left(folder)


def test_the_demo_tells_its_figures_as_json(tmp_path: Path) -> None:
    """One document, for who wants to keep it."""
    folder = tmp_path / "temporary"
    demo = run(folder, "--json")
    printed, complaints = demo.communicate(timeout=2 * PATIENCE_SECONDS)
    assert demo.returncode == 0, complaints
    assert set(json.loads(printed)) >= {"seconds", "root", "healed_seconds", "hot_on_laptop_seconds"}


@pytest.mark.parametrize("first", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_demo_leaves_nothing_behind(tmp_path: Path, first: signal.Signals) -> None:
    """Ctrl-C in the middle, with sidecars running, and once more from somebody who cannot wait; or the terminal is closed."""
    folder = tmp_path / "temporary"
    demo = run(folder)
    wait_until(lambda: len([pid for pid in processes_of(folder) if pid != demo.pid]) >= 2)
    demo.send_signal(first)
    demo.send_signal(signal.SIGINT)
    demo.communicate(timeout=PATIENCE_SECONDS)
    assert demo.returncode == 130
    require_nothing_left(folder)
