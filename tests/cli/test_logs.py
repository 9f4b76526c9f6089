"""`mesh logs`: the last lines of the node's log, and those that follow, whatever is rotated meanwhile."""

import logging
import logging.handlers
import threading
from contextlib import closing
from itertools import islice
from pathlib import Path

import pytest

from mesh.cli.logs import following, last_lines
from mesh.cli.main import run
from mesh.node.log_lines import FILES, SIDECAR_LOG


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / SIDECAR_LOG


def last(log: Path, count: int) -> list[bytes]:
    with log.open("rb") as file:
        return last_lines(str(log), file, count)


def test_the_last_lines_come_from_older_files_too(log: Path) -> None:
    """In the order in which they were written; half a line is not one yet."""
    log.write_bytes(b"seven\neight\nhal")
    Path(f"{log}.1").write_bytes(b"five\nsix\n")
    Path(f"{log}.2").write_bytes(b"four\n")
    assert [last(log, count) for count in (0, 1, 3, 100)] == [
        [],
        [b"eight"],
        [b"six", b"seven", b"eight"],
        [b"four", b"five", b"six", b"seven", b"eight"],
    ]
    log.write_bytes(b"")
    assert last(log, 1) == [b"six"]


def test_what_is_written_is_followed_through_rotations(log: Path) -> None:
    """Every line once and in order, by the handler that the node logs with."""
    handler = logging.handlers.RotatingFileHandler(log, maxBytes=200, backupCount=FILES, encoding="utf-8")
    count, read = 200, threading.Semaphore(0)

    def write() -> None:
        for number in range(count):
            handler.emit(logging.LogRecord("x", logging.INFO, "", 0, f"line {number}", None, None))
            assert read.acquire(timeout=60)  # a reader that sleeps through four rotations may miss one

    with log.open("rb") as file:
        assert last_lines(str(log), file, 10) == []
        writer = threading.Thread(target=write, daemon=True)
        writer.start()
        found = []
        with closing(following(str(log), file, pause=0.001)) as lines:
            for line in islice(lines, count):
                found.append(line)
                read.release()
    writer.join(60)
    handler.close()
    assert found == [b"line %d" % number for number in range(count)]
    assert Path(f"{log}.1").exists()


def test_half_a_line_is_told_once_it_is_whole(log: Path) -> None:
    """Also where it began before anybody followed."""
    log.write_bytes(b"one\ntw")
    with log.open("rb") as file:
        assert last_lines(str(log), file, 10) == [b"one"]
        with log.open("ab") as more:
            more.write(b"o\nthree\n")
        with closing(following(str(log), file, pause=0.001)) as lines:
            assert list(islice(lines, 2)) == [b"two", b"three"]


def test_the_command_prints_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is in a log may come from others; without a log, how to get one."""
    home = tmp_path / "home"
    assert run(["init", "--home", str(home)]) == 0
    capsys.readouterr()
    assert run(["logs", "--home", str(home)]) == 1
    assert "next: start one: mesh" in capsys.readouterr().err
    (home / SIDECAR_LOG).write_bytes(b"first\nsecond \x1b[2J\xff\n")
    assert run(["logs", "-n", "1", "--home", str(home)]) == 0
    assert capsys.readouterr().out == "second \ufffd\n"
    assert run(["logs", "-n", "2", "--json", "--home", str(home)]) == 0
    assert capsys.readouterr().out.splitlines()[0] == '{"line": "first"}'
