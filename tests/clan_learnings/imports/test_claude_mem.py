"""The database of claude-mem, of old and new versions."""

import sqlite3
from pathlib import Path

import pytest

from clan_learnings.imports.claude_mem_table import read_claude_mem
from mesh.core.errors import UsageError

OBSERVATIONS = [
    ("discovery", "WAL mode is lost on NFS", "SQLite falls back to a journal", "A long story."),
    ("feature", "Added a button", "it is blue", "What was done."),
    ("bugfix", "Uploads are repeated in storms", None, "Backoff was missing. There is more."),
]


def database(folder: Path, columns: str = "subtitle TEXT, narrative TEXT,") -> Path:
    """One with three observations and two directives, as it is laid out there."""
    path = folder / "claude-mem.db"
    connection = sqlite3.connect(path)
    connection.executescript(
        f"CREATE TABLE observations(id INTEGER PRIMARY KEY, project TEXT, type TEXT, title TEXT, {columns}"
        " created_at_epoch INTEGER);"
        "CREATE TABLE directives(id INTEGER PRIMARY KEY, content TEXT, status TEXT);"
        "INSERT INTO directives(content, status) VALUES('Never push to main without a review', 'active'),"
        " ('Old orders count no more', 'retired');"
    )
    if columns:
        for kind, title, subtitle, narrative in OBSERVATIONS:
            row = ("api", kind, title, subtitle, narrative, 1_760_000_000_000)
            connection.execute(
                "INSERT INTO observations(project, type, title, subtitle, narrative, created_at_epoch) VALUES(?,?,?,?,?,?)",
                row,
            )
    else:
        connection.execute("INSERT INTO observations(type, title) VALUES('decision', 'Ports are chosen by the host')")
    connection.commit()
    connection.close()
    return path


def test_what_was_learned_is_found_and_what_was_done_is_not(tmp_path: Path) -> None:
    path = database(tmp_path)
    before = path.read_bytes()
    imported = read_claude_mem(str(tmp_path))
    assert [finding.text for finding in imported.found] == [
        "Uploads are repeated in storms: Backoff was missing.",
        "WAL mode is lost on NFS: SQLite falls back to a journal",
        "Never push to main without a review",
    ]
    assert imported.found[0].place == "claude-mem, project api, bugfix 3"
    assert imported.found[0].at_ms == 1_760_000_000_000
    assert imported.skipped == {"reports of what was done (git has that)": 1}
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == [path.name]  # no journal beside it


def test_columns_that_a_version_lacks_are_not_missed(tmp_path: Path) -> None:
    assert read_claude_mem(str(database(tmp_path, ""))).found[0].text == "Ports are chosen by the host"


@pytest.mark.parametrize("content", [b"", b"no database at all" * 300, b"SQLite format 3\0" + b"\xff" * 5000])
def test_what_is_no_such_database_is_said(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.db"
    path.write_bytes(content)
    with pytest.raises(UsageError):
        read_claude_mem(str(path))


def test_another_programs_database_is_said(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE observations(x)")
    connection.close()
    with pytest.raises(UsageError, match="no observations with a type"):
        read_claude_mem(str(path))
