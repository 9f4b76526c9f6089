"""What erases owe: remembered for each database while somebody reads it, and paid once nobody does."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw
import pytest

from clan_learnings.harvest.candidate_table import CandidateTable
from mesh.core.draft import NewRecord
from mesh.core.statement import Erase, sign
from mesh.store.erasure import finish, unfinished
from mesh.store.home import Home, create_home

SECRET = "correcthorsebatterystaple"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return create_home(str(tmp_path / "home"), "own")


@contextmanager
def reading(home: Home, name: str) -> Iterator[None]:
    """Somebody who is in the middle of reading a database."""
    connection = apsw.Connection(home.file(name), flags=apsw.SQLITE_OPEN_READONLY)
    connection.execute("BEGIN")
    connection.execute("SELECT count(*) FROM sqlite_schema").fetchall()
    try:
        yield
    finally:
        connection.close()


def remains(home: Home) -> list[str]:
    """The files that still have the text."""
    files = [path for path in Path(home.path).rglob("*") if path.is_file()]
    return [path.name for path in files if SECRET.encode() in path.read_bytes()]


def erased(home: Home, *, private: bool) -> None:
    """Write a record and erase it, as far as readers allow."""
    author = home.author(private=private)
    (tag,) = author.append([NewRecord("notes", {"text": SECRET})]).tags
    fact = Erase(home.node, author.store.clock(), (tag,), "leaked")
    author.merge_statements([sign(author.store.mesh, home.identity(), fact).encode()])
    author.store.close()


@pytest.mark.parametrize("private", [False, True])
def test_records_are_owed_until_the_reader_lets_go(home: Home, *, private: bool) -> None:
    """Shared ones and private ones alike."""
    name = "private.db" if private else "mesh.db"
    home.store(private=private).close()
    with reading(home, name):
        erased(home, private=private)
        assert unfinished(home.path) == finish(home.path) == [name]
        assert remains(home)
    assert finish(home.path) == []
    assert remains(home) == []


def test_a_candidate_is_owed_until_the_reader_lets_go(home: Home) -> None:
    """Whoever opens its database next pays, too."""
    name = os.path.join("capture", "candidates.db")
    with CandidateTable(home.path) as kept:
        with kept.writing():
            kept.put({"id": "one", "text": SECRET}, "rule", "noticed", "")
        with reading(home, name):
            with kept.writing():
                kept.remove("one")
            assert not kept.rewrite()
            assert unfinished(home.path) == finish(home.path) == [name]
            assert remains(home)
    CandidateTable(home.path).close()
    assert unfinished(home.path) == []
    assert remains(home) == []


def test_a_home_without_debts_pays_nothing(home: Home) -> None:
    """Databases that were never made are not made for it."""
    assert finish(home.path) == []
    assert not os.path.exists(home.file("private.db"))
    assert not os.path.exists(home.file("capture"))


def test_the_index_of_words_is_dropped_with_the_erase_and_not_at_each_try(home: Home) -> None:
    """It would have to be made anew every second for as long as somebody reads."""
    words = Path(home.file("recall")) / "words"
    words.mkdir(parents=True)
    (words / "segment").write_text(SECRET)
    with reading(home, "mesh.db"):
        erased(home, private=False)
        assert not words.exists()
        words.mkdir()
        (words / "segment").write_text("made anew")
        assert finish(home.path) == ["mesh.db"]
        assert (words / "segment").exists()
    assert finish(home.path) == []
