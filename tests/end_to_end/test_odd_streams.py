"""Streams and locales that are not as one expects: the script still does its work, and a hook still ends with 0."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.end_to_end.commands import MESH, PATIENCE_SECONDS

ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": ""}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    mesh(tmp_path / "home", "init", "--name", "alpha")
    return tmp_path / "home"


def mesh(home: Path, *words: str, streams: str = "", stdin: str = "", **environ: str) -> str:
    """A command through a shell, which can close streams; its stdout."""
    done = subprocess.run(
        ["/bin/sh", "-c", f'"$@" {streams}', "sh", MESH, *words, "--home", str(home)],
        input=stdin.encode(),
        capture_output=True,
        env=os.environ | {"MESH_NO_AUTOSTART": "1"} | environ,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    assert b"Traceback" not in done.stderr
    return done.stdout.decode()


@pytest.mark.parametrize("streams", [">&-", "2>&-", ">&- 2>&-", "<&-"])
def test_closed_streams_stop_nobody(home: Path, streams: str) -> None:
    """Agents start hooks with whatever streams they have."""
    mesh(home, "hook", "SessionStart", streams=streams, stdin="{}")
    mesh(home, "discover", "a finding", streams=streams)
    assert "a finding" in mesh(home, "tail")


def test_what_is_typed_in_an_old_locale_is_recorded_as_it_was(home: Path) -> None:
    """Containers and cron jobs have no UTF-8 locale; the text has it all the same."""
    mesh(home, "discover", "typed: \u00fcber \U0001f680", **ASCII)
    mesh(home, "discover", "-", stdin="piped: na\u00efve", **ASCII)
    shown = mesh(home, "tail")
    assert "typed: \u00fcber \U0001f680" in shown
    assert "piped: na\u00efve" in shown
