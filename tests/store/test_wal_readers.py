"""Who reads a database: named by process, if it holds on; who is done with it, or reads something else, is not."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw
import pytest

from mesh.store.erasure import lasting_readers

_OPEN = """
import sys, apsw
connection = apsw.Connection(sys.argv[1])
connection.execute("SELECT count(*) FROM facts").fetchall()
if sys.argv[2] == "holds":
    connection.execute("BEGIN")
    connection.execute("SELECT count(*) FROM facts").fetchall()
print("ready", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def path(tmp_path: Path) -> Iterator[str]:
    """A database in WAL mode that somebody else has open, too."""
    connection = apsw.Connection(str(tmp_path / "some.db"))
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("CREATE TABLE facts(fact)")
    yield str(tmp_path / "some.db")
    connection.close()


@contextmanager
def other(path: str, what: str) -> Iterator[int]:
    """Another process that has the database open."""
    process = subprocess.Popen(
        [sys.executable, "-c", _OPEN, path, what], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process.pid
    finally:
        process.kill()
        process.communicate()


def test_a_process_in_the_middle_of_a_read_is_named_with_its_command(path: str, tmp_path: Path) -> None:
    """Beside one that only has the file open."""
    with other(path, "holds") as pid, other(path, "rests"):
        assert [reader.pid for reader in lasting_readers([str(tmp_path / "missing.db"), path])] == [pid]
        assert sys.executable in lasting_readers([path])[0].command
    assert lasting_readers([path]) == []


def test_asking_takes_no_lock_from_whoever_asks(path: str) -> None:
    """A transaction of our own, which is not named, still keeps its state."""
    ours = apsw.Connection(path)
    ours.execute("BEGIN")
    assert ours.execute("SELECT count(*) FROM facts").get == 0
    assert lasting_readers([path]) == []
    writer = apsw.Connection(path)
    writer.execute("INSERT INTO facts VALUES('new')")
    ((busy, _, _),) = writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    assert busy
    assert ours.execute("SELECT count(*) FROM facts").get == 0
    ours.close()
    writer.close()
