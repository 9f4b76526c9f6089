"""How a command ends: at once where it can, and never before what was asked for is done."""

import subprocess
import sys

import pytest

from mesh.cli.command_groups import overview

START = "import sys; sys.argv = ['mesh', *{words}]; {before}; from mesh.cli.main import main; main()"


def ended(*words: str, before: str = "pass") -> "subprocess.CompletedProcess[str]":
    """A process that did something before it ran a command."""
    script = START.format(words=list(words), before=before)
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300, check=False)


def test_all_that_was_said_arrives() -> None:
    """On both streams, though they are pipes, with the exit code."""
    finished = ended("--help")
    assert (finished.returncode, finished.stdout, finished.stderr) == (0, f"{overview()}\n", "")
    finished = ended("serach")
    assert (finished.returncode, finished.stdout) == (2, "")
    assert finished.stderr.endswith("next: mesh search --help\n")
    finished = ended("--version", before="sys.stderr.write('without an end of line')")
    assert finished.stderr == "without an end of line"


@pytest.mark.parametrize(
    "before",
    [
        "import atexit; atexit.register(lambda: print('done'))",
        "import threading; threading.Thread(target=lambda: (threading.main_thread().join(), print('done'))).start()",
    ],
    ids=["at exit", "thread"],
)
def test_what_has_to_be_done_at_the_end_is_done(before: str) -> None:
    """Whoever measures, traces or writes in the background has said so before."""
    assert ended("--version", before=before).stdout.endswith("\ndone\n")
