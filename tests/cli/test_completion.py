"""Completion, in a real shell: what can be typed, by asking mesh itself."""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from mesh.cli.command_list import COMMANDS, GROUPS
from mesh.cli.main import run

BASH = shutil.which("bash")


def completed(typed: str, tmp_path: Path) -> list[str]:
    """What a bash that has run the script would offer for the last word."""
    folder = tmp_path / "bin"
    folder.mkdir(exist_ok=True)
    (folder / "mesh").write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m mesh "$@"\n')
    (folder / "mesh").chmod(0o755)
    words = typed.split(" ")
    script = (
        'eval "$(mesh completion bash 2> /dev/null)"\n'
        f"COMP_WORDS=({' '.join(map(shlex.quote, words))})\n"
        f"COMP_CWORD={len(words) - 1}\n"
        "_mesh_completion mesh\n"
        'printf "%s\\n" "${COMPREPLY[@]}"\n'
    )
    done = subprocess.run(
        [str(BASH), "--norc", "-c", script],
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
        env=os.environ | {"PATH": f"{folder}:{os.environ['PATH']}"},
    )
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.skipif(BASH is None, reason="there is no bash here")
@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("mesh dis", ["discover"]),
        ("mesh page re", ["rename", "remove", "restore", "retry"]),
        ("mesh --home x pattern ap", ["approve"]),
        ("mesh tail --to", ["--topic"]),
        ("mesh page show --con", ["--conflicts"]),
        ("mesh service un", ["uninstall"]),
        ("mesh completion z", ["zsh"]),
        ("mesh settings q", ["quiet"]),
        ("mesh nothing x", []),
    ],
)
def test_bash_completes_commands_members_options_and_words(typed: str, offered: list[str], tmp_path: Path) -> None:
    """As they would be run, also behind an option."""
    assert completed(typed, tmp_path) == offered


@pytest.mark.skipif(BASH is None, reason="there is no bash here")
def test_all_commands_are_offered(tmp_path: Path) -> None:
    """Without loading any of them: the names stand in one table."""
    assert set(completed("mesh ", tmp_path)) == set(COMMANDS)
    assert completed("mesh op ", tmp_path) == list(GROUPS["op"].members)


@pytest.mark.parametrize(("shell", "sign"), [("bash", "complete -o"), ("zsh", "compdef"), ("fish", "complete --")])
def test_each_shell_has_a_script(shell: str, sign: str, capsys: pytest.CaptureFixture[str]) -> None:
    """It goes to stdout alone, so that it can be sent to a file."""
    assert run(["completion", shell]) == 0
    printed = capsys.readouterr()
    assert sign in printed.out
    assert "_MESH_COMPLETE" in printed.out
    assert printed.err.startswith("next: mesh completion")


def test_another_shell_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    """It says which there are."""
    assert run(["completion", "tcsh"]) == 2
    assert "'bash', 'zsh', 'fish'" in capsys.readouterr().err
