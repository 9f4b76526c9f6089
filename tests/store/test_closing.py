"""What a writer leaves behind: the next to open a home alone reads its whole WAL first, so a long one is emptied."""

from pathlib import Path

import apsw
import pytest

from mesh.store.database import Database
from mesh.store.file_access import FileLock

LARGE = b"x" * 6 * 1024 * 1024


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "mesh.db"
    database = Database(str(path), create=True)
    database.run("CREATE TABLE heap (value)")
    database.checkpoint()
    database.close()
    return path


def put(path: Path, value: bytes) -> None:
    database = Database(str(path))
    with database.writing(durable=True):
        database.run("INSERT INTO heap VALUES (?)", (value,))
    database.close()


def wal_bytes(path: Path) -> int:
    wal = Path(f"{path}-wal")
    return wal.stat().st_size if wal.exists() else 0


def held(path: Path) -> list[bytes]:
    """What the file itself says, without its WAL."""
    connection = apsw.Connection(f"file:{path}?immutable=1", flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
    try:
        return [value for (value,) in connection.execute("SELECT value FROM heap")]
    finally:
        connection.close()


def known(path: Path) -> list[bytes]:
    """What a reader is told."""
    database = Database(str(path))
    try:
        return [value for (value,) in database.run("SELECT value FROM heap")]
    finally:
        database.close()


def test_a_small_write_stays_in_the_wal(path: Path) -> None:
    """Everyday commands do not pay for bringing it into the file."""
    put(path, b"small")
    assert wal_bytes(path) > 0
    assert held(path) == []
    assert known(path) == [b"small"]


def test_a_large_one_is_brought_into_the_file(path: Path) -> None:
    """And the WAL is empty."""
    put(path, LARGE)
    assert wal_bytes(path) == 0
    assert held(path) == [LARGE]


def test_many_small_ones_are_as_well(path: Path) -> None:
    """By the one that makes the WAL long."""
    for _ in range(12):
        put(path, LARGE[: len(LARGE) // 12])
    assert 0 < len(held(path)) < 12
    assert wal_bytes(path) < len(LARGE)
    assert len(known(path)) == 12


def test_whoever_reads_or_writes_meanwhile_is_not_waited_for(path: Path) -> None:
    """The WAL stays as it is, and nothing of it is lost."""
    reader = Database(str(path))
    with reader.savepoint():
        assert reader.run("SELECT count(*) FROM heap").get == 0
        put(path, LARGE)
        assert reader.run("SELECT count(*) FROM heap").get == 0
    assert wal_bytes(path) > len(LARGE)
    with FileLock(f"{path}.lock").held(0):
        reader.close()
        reader.close()
    assert wal_bytes(path) > len(LARGE)
    assert known(path) == [LARGE]
    assert wal_bytes(path) == 0


def test_a_disk_that_is_full_fails_nobody_who_only_closes(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was acknowledged is in the WAL."""
    database = Database(str(path))
    with database.writing(durable=True):
        database.run("INSERT INTO heap VALUES (?)", (LARGE,))

    def full(_statement: str) -> None:
        raise apsw.FullError

    monkeypatch.setattr(database, "run", full)
    database.close()
    assert known(path) == [LARGE]
