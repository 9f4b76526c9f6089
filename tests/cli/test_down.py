"""Stopping a sidecar. That it stops is tested where real ones run."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from mesh.cli import node_process
from mesh.cli.main import run
from mesh.store.home import create_home


def test_a_sidecar_that_ends_by_itself_just_then_is_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Between the look at who runs and the signal: somebody else may have stopped it too."""
    home = os.fspath(tmp_path / "home")
    create_home(home, "one")
    with subprocess.Popen(["true"]) as ended:
        pass
    monkeypatch.setattr(node_process, "_surely_running", lambda _home: ended.pid)
    assert run(["down", "--json", "--home", home]) == 0
    assert json.loads(capsys.readouterr().out) == {"stopped": ended.pid}
