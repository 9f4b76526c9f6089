"""What is shown on a terminal: nothing wider than it, no word broken, colours only where they are wanted; in a pipe none of that."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.cli.command_server import CommandServer
from mesh.cli.main import run
from mesh.cli.output import Progress, put, put_table, say, say_labelled, tell
from mesh.cli.wrapping import wrapped
from mesh.core.draft import NewRecord
from mesh.store.home import create_home

LINE = (
    "4eymvp2t  2026-11-19T04:06  discoveries  laptop·ufpv7  " + "a push is refused where the branch is protected " * 4
)
COLUMNS = ("name", "state", "address")
ROWS = [("laptop·ufpv7", "alive", "10.0.0.7:7946"), ("builder·jzcjr", "dead", "-")]


@pytest.fixture
def terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """One of 80 columns, in colours."""
    monkeypatch.setattr(
        type(sys.stdout), "isatty", lambda _: True
    )  # the streams of the test are others than those of now
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)


@given(st.text(alphabet="ab  漢é·", max_size=300), st.integers(20, 100))
def test_no_word_is_lost_or_broken_and_no_line_too_wide(text: str, width: int) -> None:
    """But for a word that is wider than a line."""
    lines = wrapped(text, width).split("\n")
    assert " ".join(lines).split() == text.split()
    for line in lines:
        wide = sum(2 if char == "漢" else 1 for char in line)
        assert wide <= width or len(line.split()) == 1


def test_lines_fit_a_terminal_and_go_on_under_their_second_field(
    terminal: None, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of all sorts of lines."""
    put(LINE)
    say(LINE)
    tell(LINE)
    printed = capsys.readouterr()
    for line in (printed.out + printed.err).splitlines():
        assert len(line) <= 80
        assert line.startswith(("4eymvp2t  ", " " * 10))
    assert printed.out.split() == 2 * LINE.split()


def test_what_is_to_be_copied_stays_in_one_piece(terminal: None, capsys: pytest.CaptureFixture[str]) -> None:
    """A next step, and a token."""
    steps = [
        f"{start} discover {'word ' * 30}end" for start in ("  next: mesh", "next, on another node: mesh", "  mesh")
    ]
    put(*steps, "x" * 200)
    assert capsys.readouterr().out.splitlines() == [*steps, "x" * 200]


def test_a_pipe_has_plain_lines_whatever_the_width(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """For grep and for agents; labels and tables too."""
    monkeypatch.setenv("COLUMNS", "40")
    put(LINE)
    say_labelled(10, "node      x")
    put_table(COLUMNS, ROWS)
    assert capsys.readouterr().out.splitlines() == [
        LINE,
        "node      x",
        "name           state  address",
        "laptop·ufpv7   alive  10.0.0.7:7946",
        "builder·jzcjr  dead   -",
    ]


def test_labels_and_headings_are_bold_unless_colours_are_not_wanted(
    terminal: None, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By NO_COLOR, or by a terminal that has none. The text is the same."""
    say_labelled(10, "node      x")
    put_table(COLUMNS, ROWS)
    coloured = capsys.readouterr().out
    assert coloured.startswith("\x1b[1mnode      \x1b[0mx\n")
    for name, value in (("NO_COLOR", "1"), ("TERM", "dumb")):
        with monkeypatch.context() as patch:
            patch.setenv(name, value)
            say_labelled(10, "node      x")
            put_table(COLUMNS, ROWS)
        plain = capsys.readouterr().out
        assert "\x1b" not in plain
        assert re.sub(r"\x1b\[\d+m", "", coloured).split() == plain.split()


def test_a_table_that_is_too_wide_becomes_blocks(
    terminal: None, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing of it is cut off."""
    monkeypatch.setenv("COLUMNS", "30")
    monkeypatch.setenv("NO_COLOR", "1")
    put_table(COLUMNS, ROWS)
    assert capsys.readouterr().out.splitlines() == [
        "laptop·ufpv7",
        "  state    alive",
        "  address  10.0.0.7:7946",
        "builder·jzcjr",
        "  state    dead",
    ]


def test_cells_are_no_markup(terminal: None, capsys: pytest.CaptureFixture[str]) -> None:
    """Names are whatever a member has chosen."""
    put_table(COLUMNS, [("[bold red]x[/]", ":smile:", "\x1b[31mred")])
    assert "[bold red]x[/]  :smile:  red" in capsys.readouterr().out


@pytest.mark.parametrize("total", [None, 40])
def test_a_bar_is_drawn_on_a_terminal_alone(
    total: int | None, terminal: None, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """On stderr, with how far it is; what ends at once draws none, nor does a pipe."""
    quick = Progress("files", total)
    quick(40)
    quick.done()
    monkeypatch.setattr("mesh.cli.output._MOMENT_SECONDS", 0.0)
    slow = Progress("files", total)
    for _ in range(40):
        slow()
    slow.done()
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "files" in printed.err
    assert ("40 of 40" in printed.err) == (total is not None)
    assert printed.err.count("files") < 10  # not at every call
    monkeypatch.setattr(type(sys.stdout), "isatty", lambda _: False)
    silent = Progress("files", total)
    silent(40)
    silent.done()
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("words", [["--help"], ["help", "--all"], ["search", "--help"], ["help", "page"]])
def test_help_fits_80_columns(words: list[str], terminal: None, capsys: pytest.CaptureFixture[str]) -> None:
    """But for a line that shows how something is typed."""
    assert run(words) == 0
    lines = capsys.readouterr().out.split("example:")[0].splitlines()
    assert len(lines) > 10
    assert [line for line in lines if len(line) > 80] == []


def shown_to_a_client(home: str, columns: int, *words: str, **variables: str) -> str:
    """What a client at a terminal of so many columns prints."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    environ = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "NO_COLOR", "TERM")}
    command = [sys.executable, "-m", "mesh", *words, "--home", home]
    done = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environ | variables)
    os.close(theirs)
    found = b""
    with suppress(OSError):  # how Linux says that nobody writes there any more
        while part := os.read(ours, 65536):
            found += part
    os.close(ours)
    assert done.wait(300) == 0
    return found.decode().replace("\r\n", "\n")


def test_a_command_that_the_node_runs_is_drawn_for_the_clients_terminal(tmp_path: Path) -> None:
    """Its width, its colours and what its owner wants of them; never those of the node's own."""
    made = create_home(str(tmp_path / "home"), "laptop")
    author = made.author()
    author.append([NewRecord("discoveries", {"text": "word " * 40, "repo": ""})])
    author.store.close()
    with CommandServer(made.path, None, None) as server:
        for columns in (50, 90):
            lines = shown_to_a_client(made.path, columns, "tail").splitlines()
            assert len(lines) > 1
            assert 0 < max(map(len, lines)) <= columns
        assert "\x1b[1mmachines" in shown_to_a_client(made.path, 60, "status", TERM="xterm")
        for variables in ({}, {"TERM": "dumb"}, {"TERM": "xterm", "NO_COLOR": "1"}):
            assert "\x1b" not in shown_to_a_client(made.path, 60, "status", **variables)
        server.home = "/nowhere"  # if one of them was run by the client itself after all, this one would be too
        with pytest.raises(AssertionError):
            shown_to_a_client(made.path, 60, "tail")
