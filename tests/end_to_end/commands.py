"""Running the real `mesh` command, and reading what it says. No test lives here."""

import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import Any

from mesh.cli.main import run

MESH = os.path.join(os.path.dirname(sys.executable), "mesh")
REPOSITORY = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PATIENCE_SECONDS = 300.0  # how long anything may take before it counts as hanging, also on a busy machine
_PAUSE_SECONDS = (0.01, 0.5)  # the shortest and the longest between two looks
_SHARE = 4  # a pause is so many times as long as the look before it: who is waited for needs the processor too

Finished = subprocess.CompletedProcess[str]
Path = str | os.PathLike[str]


def mesh(home: Path, *words: str, stdin: str | None = None) -> Finished:
    """Run one command on a home, to its end."""
    return subprocess.run(
        [MESH, *words],
        input=stdin,
        stdin=subprocess.DEVNULL if stdin is None else None,
        capture_output=True,
        text=True,
        errors="replace",  # a bundle on stdout is no text
        env=os.environ | {"MESH_HOME": os.fspath(home)},
        timeout=PATIENCE_SECONDS,
        check=False,
        cwd="/",  # no repository: the one these tests lie in must not be taken for an agent's
    )


def done(home: Path, *words: str, stdin: str | None = None) -> str:
    """Run one command that must succeed; returns what it printed."""
    finished = mesh(home, *words, stdin=stdin)
    assert finished.returncode == 0, (
        f"mesh {' '.join(words)}: exit code {finished.returncode}: {finished.stderr}{finished.stdout}"
    )
    return finished.stdout


def quickly(home: Path, *words: str) -> str:
    """The same without a process, for what a test begins with but is not about: most of what a command takes is to be loaded."""
    printed, said = io.StringIO(), io.StringIO()
    with redirect_stdout(printed), redirect_stderr(said):
        code = run([*words, "--home", os.fspath(home)])
    assert code == 0, f"mesh {' '.join(words)}: {said.getvalue()}"
    return printed.getvalue()


def asked(home: Path, *words: str) -> Any:
    """Run one command with `--json`; returns the last document it printed."""
    return json.loads(done(home, *words, "--json").splitlines()[-1])


def texts(home: Path) -> list[str]:
    """The text of every live record, oldest first."""
    return [json.loads(line)["record"]["text"] for line in done(home, "op", "list", "--json").splitlines()]


def start(home: Path, *words: str) -> "subprocess.Popen[str]":
    """Start one command; whoever starts it waits for it or kills it."""
    return subprocess.Popen(
        [MESH, *words, "--home", os.fspath(home)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def killed_after(seconds: float, home: Path, *words: str) -> bool:
    """Run one command and kill it after a while. False if it had finished before."""
    process = start(home, *words)
    try:
        process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=PATIENCE_SECONDS)
    return process.returncode == -signal.SIGKILL


def killed_at(function: str, time_called: int, home: Path, *words: str, stdin: str = "") -> bool:
    """Run one command that is killed on entering a function (`module.name`) for the n-th time. False if it never got there."""
    module, _, name = function.rpartition(".")
    program = f"""
import os, signal, sys
import {module} as module
from mesh.cli.main import run
real, left = module.{name}, {time_called}
def die(*given, **named):
    global left
    left -= 1
    if not left:
        os.kill(os.getpid(), signal.SIGKILL)
    return real(*given, **named)
module.{name} = die
sys.exit(run(sys.argv[1:]))
"""
    finished = subprocess.run(
        [sys.executable, "-c", program, *words, "--home", os.fspath(home)],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        cwd=REPOSITORY,
        check=False,
    )
    assert finished.returncode in (0, -signal.SIGKILL), finished.stderr
    return finished.returncode == -signal.SIGKILL


def erase_cut_short(home: Path, record: str) -> None:
    """Erase a record, and be killed when the body is out of the tables but not yet out of the files."""
    for call in range(1, 6):
        assert killed_at("mesh.store.store.scrub", call, home, "erase", record, "--reason", "leaked")
        if asked(home, "why", record)["record"] is None:
            return
    raise AssertionError("the erase is never about to scrub")


def complaint(finished: Finished) -> tuple[str, str]:
    """What a failed command said: the sentence and the next step. Anything else it might have said is an error."""
    said = finished.stderr
    assert "Traceback" not in said, said
    assert finished.returncode == 1, f"exit code {finished.returncode}: {finished.stdout}{said}"
    assert finished.stdout == "", f"printed as data: {finished.stdout}"
    lines = said.splitlines()
    assert len(lines) == 2, f"not a sentence and a next step: {said}"
    assert lines[0].startswith("mesh: "), f"no sentence: {said}"
    assert lines[1].startswith("  next: "), f"no next step: {said}"
    sentence, step = lines[0].removeprefix("mesh: "), lines[1].removeprefix("  next: ")
    assert sentence, f"an empty sentence: {said}"
    assert step, f"an empty next step: {said}"
    return sentence, step


@contextmanager
def sidecar(home: Path) -> Iterator["subprocess.Popen[str]"]:
    """A running `mesh up`, which has said that it is ready; killed at the end if it still runs."""
    process = start(home, "up", "--json")
    assert process.stdout is not None
    try:
        process.stdout.readline()  # nothing, if it has ended
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate(timeout=PATIENCE_SECONDS)


def wait_until(condition: Callable[[], bool], patience_seconds: float = PATIENCE_SECONDS) -> None:
    """Wait for something that must come true. A file or folder that goes while the condition reads it: not yet."""
    shortest, longest = _PAUSE_SECONDS
    began = looked = time.monotonic()
    while not _holds(condition):
        now = time.monotonic()
        assert now - began < patience_seconds, "waited in vain"
        time.sleep(min(longest, max(shortest, _SHARE * (now - looked))))
        looked = time.monotonic()


def _holds(condition: Callable[[], bool]) -> bool:
    try:
        return condition()
    except FileNotFoundError:
        return False


def bytes_of(folder: Path) -> dict[str, bytes]:
    """Every file in a folder and below it, with its content."""
    found = {}
    for place, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(place, name)
            if not os.path.isfile(path):  # a sidecar's socket
                continue
            try:
                with open(path, "rb") as file:
                    found[os.path.relpath(path, folder)] = file.read()
            except FileNotFoundError:  # what a sidecar writes anew, it writes beside the old file first
                continue
    return found


def anywhere(folder: Path, secret: str) -> list[str]:
    """The files of a folder in which a text can still be read."""
    return [name for name, content in bytes_of(folder).items() if secret.encode() in content]
