"""Curating by hand: at a real terminal, key by key, and by options for scripts."""

import json
import os
import pty
import select
import subprocess
import time
from pathlib import Path
from typing import Self

import pytest

from tests.end_to_end.claude_sessions import ClaudeSession, clone_of
from tests.end_to_end.commands import MESH, PATIENCE_SECONDS, asked, done, mesh, quickly

REPO = "github.com/acme/web"


class Terminal:
    """A command at a terminal of its own, within a `with`."""

    def __init__(self, home: Path, *words: str) -> None:
        self._master, slave = pty.openpty()
        environ = os.environ | {"TERM": "xterm", "COLUMNS": "100", "LINES": "30"}
        self._process = subprocess.Popen(
            [MESH, *words, "--home", str(home)], stdin=slave, stdout=slave, stderr=slave, cwd="/", env=environ
        )
        os.close(slave)
        self.shown = ""

    def wait_for(self, text: str) -> None:
        """Read until something stands on the screen."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while text not in self.shown:
            assert time.monotonic() < deadline, f"{text!r} never came: {self.shown[-2000:]}"
            if select.select([self._master], [], [], 0.2)[0]:
                try:
                    self.shown += os.read(self._master, 65536).decode("utf-8", "replace")
                except OSError:  # it has ended, and all it said was read
                    assert text in self.shown, self.shown[-2000:]

    def press(self, keys: str) -> None:
        """Type, on a screen that was read."""
        self.shown = ""
        os.write(self._master, keys.encode())

    def end(self) -> int:
        """Wait for the end of it."""
        return self._process.wait(timeout=PATIENCE_SECONDS)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait(timeout=PATIENCE_SECONDS)
        os.close(self._master)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A node with four candidates that wait for a person."""
    made, folder = tmp_path / "home", tmp_path / "sessions"
    clone = clone_of(REPO, tmp_path / "clone")
    quickly(made, "init", "--name", "laptop")
    done(made, "share", REPO)
    for number, reason in enumerate(
        (
            "lol, the alpha service is started with make alpha",
            "lol, the beta service is started with make beta",
            "lol, the gamma service is started with make gamma",
            "lol, the delta service is started with make delta",
        )
    ):
        session = ClaudeSession(f"s{number}", clone).prompt("Please start the service.").reply("Starting it.")
        session.refused(f"./run-{number}.sh", reason).ran("make it", "started").reply("It runs.").save(folder)
    harvest = asked(made, "harvest", str(folder))
    assert harvest["waiting"]["person"] == 4
    return made


def names(home: Path) -> dict[str, str]:
    """The ids of those that wait, by the service they are about."""
    found = asked(home, "curate", "--list")["candidates"]
    return {
        next(word for word in ("alpha", "beta", "gamma", "delta") if word in each["right"]): each["id"]
        for each in found
    }


def service(screen: str) -> str:
    """Which service a screen is about."""
    (right,) = [line for line in screen.splitlines() if line.startswith("  right")][-1:]
    return next(word for word in ("alpha", "beta", "gamma", "delta") if word in right)


def test_a_person_decides_with_single_keys(home: Path) -> None:
    """Accept, skip, edit and reject, one screen each; an arrow key decides nothing."""
    with Terminal(home, "curate") as terminal:
        terminal.wait_for("q quit")
        assert "1 of 4" in terminal.shown
        assert "shown by claude-code:s" in terminal.shown
        accepted = service(terminal.shown)
        terminal.press("\x1b[A")  # arrow up ends in an A
        terminal.wait_for("q quit")
        assert "1 of 4" in terminal.shown
        terminal.press("a")
        terminal.wait_for("2 of 4")
        terminal.wait_for("q quit")
        terminal.press("s")
        terminal.wait_for("3 of 4")
        terminal.wait_for("q quit")
        rejected = service(terminal.shown)
        terminal.press("r")
        terminal.wait_for("why (may be empty): ")
        terminal.press("only in that branch\n")
        terminal.wait_for("4 of 4")
        terminal.wait_for("q quit")
        edited = service(terminal.shown)
        terminal.press("e")
        terminal.wait_for("new sentence")
        terminal.press(f"Start the {edited} service with make {edited}.\n")
        terminal.wait_for("what is wrong")
        terminal.press("\n")
        terminal.wait_for("what is right")
        terminal.press(f"make {edited}\n")
        terminal.wait_for("now accept it")
        terminal.wait_for("q quit")
        terminal.press("a")
        terminal.wait_for("2 accepted")
        assert "0 candidates left" in terminal.shown
        assert terminal.end() == 0
    records = [json.loads(line)["record"] for line in done(home, "op", "list", "--json").splitlines()]
    assert sorted(record["right"] for record in records if "title" not in record) == sorted(
        [f"make {edited}", f"lol, the {accepted} service is started with make {accepted}"]
    )
    assert rejected not in names(home)
    states = {each["state"]: each["why"] for each in asked(home, "curate", "--list", "--all")["candidates"]}
    assert states["rejected"] == "only in that branch"


def test_quitting_leaves_the_rest_and_the_terminal_as_they_were(home: Path) -> None:
    """Also by the end of input."""
    for key in ("q", "\x04"):
        with Terminal(home, "curate") as terminal:
            terminal.wait_for("q quit")
            terminal.press(key)
            terminal.wait_for("nothing was decided; 4 candidates left")
            assert terminal.end() == 0
    assert len(names(home)) == 4


def test_merging_at_the_terminal(home: Path) -> None:
    """By the id of the other."""
    with Terminal(home, "curate") as terminal:
        terminal.wait_for("q quit")
        mine = service(terminal.shown)
        other = next(word for word in names_held(home, mine))
        terminal.press("m")
        terminal.wait_for("into which candidate")
        terminal.press(f"{other}\n")
        terminal.wait_for("2 of 4")
        terminal.wait_for("q quit")
        terminal.press("q")
        terminal.wait_for("1 merged")
        assert terminal.end() == 0
    assert mine not in names(home)


def names_held(home: Path, but: str) -> list[str]:
    """Ids of the others, read while another process curates: from the database itself, without the lock."""
    from clan_learnings.harvest.candidate_table import CandidateTable

    with CandidateTable(str(home)) as kept:
        return [body["id"] for body in kept.every() if but not in body["right"]]


def test_scripts_decide_by_options(home: Path) -> None:
    """One decision a call, with the candidate as it is then."""
    by_name = names(home)
    assert done(home, "curate", "--accept", by_name["alpha"]).startswith(f"{by_name['alpha']}  accepted, recorded as ")
    assert asked(home, "curate", "--reject", by_name["beta"], "--reason", "no")["state"] == "rejected"
    edited = asked(
        home, "curate", "--edit", by_name["gamma"], "--text", "Start gamma with make gamma.", "--right", "make gamma"
    )
    assert (edited["state"], edited["right"]) == ("approved", "make gamma")
    assert [record["kind"] for record in asked(home, "curate", "--auto")["recorded"]] == ["correction"]
    merged = asked(home, "curate", "--merge", by_name["delta"], by_name["beta"])
    assert merged["id"] == by_name["beta"]
    assert mesh(home, "curate", "--list").stderr == "nothing waits for a person\n"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "without a terminal"),
        (["--accept", "x", "--reject", "y"], "exclude each other"),
        (["--merge", "x"], "--merge ID INTO"),
        (["x"], "--merge ID INTO"),
        (["--list", "--reason", "x"], "--reason goes with"),
        (["--list", "--text", "x"], "go with --edit"),
        (["--auto", "--all"], "--all goes with"),
    ],
)
def test_command_lines_that_cannot_be_are_refused(tmp_path: Path, words: list[str], sentence: str) -> None:
    """Before a home is looked for."""
    finished = mesh(tmp_path / "none", "curate", *words)
    assert finished.returncode == 2
    assert sentence in finished.stderr
