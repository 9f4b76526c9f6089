"""Streams and locales that are not as one expects: the script still does its work, and a hook still ends with 0."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.end_to_end.commands import MESH, PATIENCE_SECONDS, REPOSITORY

ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": ""}

BUFFERED = {"PYTHONUNBUFFERED": ""}  # as it is for users; who runs the tests may have it otherwise


@pytest.fixture
def home(tmp_path: Path) -> Path:
    mesh(tmp_path / "home", "init", "--name", "alpha")
    return tmp_path / "home"


def shell(
    home: Path, *words: str, streams: str = "", stdin: str = "", **environ: str
) -> "subprocess.CompletedProcess[bytes]":
    """A command through a shell, which can close streams or send them elsewhere."""
    return subprocess.run(
        ["/bin/sh", "-c", f'"$@" {streams}', "sh", MESH, *words, "--home", str(home)],
        input=stdin.encode(),
        capture_output=True,
        env=os.environ | {"MESH_NO_AUTOSTART": "1"} | BUFFERED | environ,
        timeout=PATIENCE_SECONDS,
        check=False,
    )


def mesh(home: Path, *words: str, streams: str = "", stdin: str = "", **environ: str) -> str:
    """The same, where it must end well; its stdout."""
    done = shell(home, *words, streams=streams, stdin=stdin, **environ)
    assert done.returncode == 0, done.stderr.decode()
    assert b"Traceback" not in done.stderr
    return done.stdout.decode()


@pytest.mark.parametrize("streams", [">&-", "2>&-", ">&- 2>&-", "<&-", "> /dev/full", "2> /dev/full"])
def test_a_hook_ends_well_whatever_its_streams_are(home: Path, streams: str) -> None:
    """Agents start hooks with whatever streams they have."""
    mesh(home, "hook", "SessionStart", streams=streams, stdin="{}")


@pytest.mark.parametrize("streams", ["2>&-", "<&-", "2> /dev/full"])
def test_streams_that_a_command_does_not_need_stop_nobody(home: Path, streams: str) -> None:
    """Words for people that nobody can read are not missed, and do not go among the data."""
    assert mesh(home, "discover", "a finding", streams=streams).endswith("  recorded\n")
    assert mesh(home, "search", "no such words", streams=streams) == ""
    assert "a finding" in mesh(home, "tail")
    mesh(home, "verify", streams=streams)


@pytest.mark.parametrize(
    "words", [["op", "add", "notes", "--lines"], ["import", "-"], ["curate"], ["mcp"]], ids=" ".join
)
def test_a_closed_stdin_is_an_empty_one(home: Path, words: list[str]) -> None:
    """Nothing comes from it; what a command makes of nothing is its own business."""
    assert b"should not happen" not in shell(home, *words, streams="<&-").stderr


SPEAKING = [
    ["tail"],
    ["tail", "--json"],
    ["tail", "--help"],
    ["hot", "--help"],
    ["search", "note"],
    ["status"],
    ["init", "--help"],
    ["page", "--help"],
    ["--version"],
    ["help"],
    ["doctor"],
    ["op", "list"],
    ["export", "-"],
    ["up"],
]


@pytest.mark.parametrize("words", SPEAKING, ids=" ".join)
@pytest.mark.parametrize(
    ("streams", "why"), [("> /dev/full", "No space left on device"), (">&-", "it is closed")], ids=["full", "closed"]
)
def test_output_that_cannot_be_written_is_told_in_one_sentence(
    home: Path, words: list[str], streams: str, why: str
) -> None:
    """Also if only the last flush shows it. What had gone wrong before, if anything, is another sentence."""
    mesh(home, "discover", "a note", "--global")
    done = shell(home, *words, streams=streams)
    assert done.stdout == b""
    assert done.returncode == 1, done.stderr.decode()
    said = done.stderr.decode()
    assert f"mesh: the output cannot be written: {why}\n  next: send the output elsewhere" in said
    assert "Traceback" not in said
    assert "should not happen" not in said


def test_what_was_recorded_stays_recorded_if_its_answer_is_lost(home: Path) -> None:
    """And the exit code says that something is amiss."""
    assert shell(home, "discover", "a finding", streams=">&-").returncode == 1
    assert "a finding" in mesh(home, "tail")


def test_a_reader_that_has_enough_is_no_failure(home: Path) -> None:
    """As with other tools: nothing is said, and it ended well. An error is still one."""
    mesh(home, "op", "add", "notes", "--lines", stdin="".join(f"line {number:060d}\n" for number in range(3000)))
    for words in (["op", "list"], ["tail", "-n", "3000", "--json"], ["help"]):
        done = shell(home, *words, streams="| head -c 1; exit 7", PATH=os.environ["PATH"])
        assert (done.returncode, done.stderr) == (7, b""), words
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as pipe:
        for words, code in ((["op", "list"], 0), (["--version"], 0), (["show", "nothing"], 1), (["hot", "-x"], 2)):
            done = subprocess.run(
                [MESH, *words, "--home", str(home)],
                stdout=pipe,
                stderr=subprocess.PIPE,
                env=os.environ | BUFFERED,
                timeout=PATIENCE_SECONDS,
                check=False,
            )
            assert done.returncode == code, (words, done.stderr)
            assert bool(done.stderr) == bool(code)


@pytest.mark.parametrize(
    ("words", "first", "last"),
    [
        (["correct", "--wrong", "x", "--right", "y", "--evidence", "ops@acme.example"], "new pattern", "taken out"),
        (["mute", "alpha"], "hidden here", "next: to see it again"),
        (["import", "good", "bad"], "good: ", "bad: "),
        (["search", "note", "--explain"], "a note", "by keywords"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_results_come_before_hints_where_both_go_to_one_pipe(
    home: Path, words: list[str], first: str, last: str
) -> None:
    """Agents read both so, and take what comes first for the answer to what they asked."""
    mesh(home, "discover", "a note", "--global")
    mesh(home, "export", str(home / "good"))
    words = [str(home / word) if word in ("good", "bad") else word for word in words]
    said = shell(home, *words, streams="2>&1").stdout.decode()
    assert 0 <= said.find(first) < said.find(last), said


def test_nothing_is_written_to_stderr_but_through_the_one_function() -> None:
    """Which sees to the order."""
    sources = (Path(REPOSITORY) / "mesh" / "cli").glob("*.py")
    writers = {
        path.stem
        for path in sources
        if re.search(r"terminal\(\)\.err|stderr\.write|file=sys\.stderr", path.read_text())
    }
    assert writers == {"output"}


def test_a_slow_reader_gets_everything_though_the_pipe_is_non_blocking(home: Path) -> None:
    """Node.js makes the pipes of its children so."""
    mesh(home, "op", "add", "notes", "--lines", stdin="".join(f"line {number:060d}\n" for number in range(3000)))
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    words = [MESH, "op", "list", "--home", str(home)]
    environ = os.environ | BUFFERED
    with subprocess.Popen(words, stdout=writing, stderr=subprocess.PIPE, env=environ) as process:
        os.close(writing)
        with os.fdopen(reading, "rb") as lines:
            assert len(lines.read().splitlines()) == 3000
        assert process.stderr is not None
        assert process.stderr.read() == b""
    assert process.returncode == 0


def test_what_is_typed_in_an_old_locale_is_recorded_as_it_was(home: Path) -> None:
    """Containers and cron jobs have no UTF-8 locale; the text has it all the same."""
    mesh(home, "discover", "typed: \u00fcber \U0001f680", **ASCII)
    mesh(home, "discover", "-", stdin="piped: na\u00efve", **ASCII)
    shown = mesh(home, "tail")
    assert "typed: \u00fcber \U0001f680" in shown
    assert "piped: na\u00efve" in shown
