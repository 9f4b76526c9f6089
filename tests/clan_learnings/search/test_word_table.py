"""The keyword index made anew: the same answers after it, also for who searches meanwhile, and a kill leaves the one there was."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from clan_learnings.search.keywords import word_table as reindexing
from clan_learnings.search.keywords.search_table import WordSearch
from clan_learnings.search.keywords.word_table import reindex
from mesh.core.draft import Assignment, NewRecord, Removal
from mesh.store.author import Author
from mesh.store.reader import Reader
from mesh.store.verification import verify_store
from tests.clan_learnings.search.test_fts_table import content
from tests.worlds import Clan, open_author

CLAN = Clan()
OWN = CLAN.node(0)

# Makes the index anew in steps of 10 and is killed after the third, as if the machine went down.
KILLED = """
import os, signal, sys
from clan_learnings.search.keywords import word_table as reindex
from mesh.store.database import Database
reindex.STEP = 10
steps = []
def count(records):
    steps.append(records)
    if len(steps) == 3:
        os.kill(os.getpid(), signal.SIGKILL)
reindex.reindex(Database(sys.argv[1]), count)
"""


def write_some(author: Author, count: int = 60) -> list[bytes]:
    author.merge_statements([CLAN.admin(OWN).encode()])
    tags = list(author.append([NewRecord("notes", {"text": f"proxy number{at}"}) for at in range(count)]).tags)
    author.append([Assignment(tags[3], "text", "cache"), Removal((tags[5],), "wrong")])
    return tags


def answers(author: Author) -> list[tuple[bytes, float]]:
    hits = (
        Reader(author.store.database.connection)
        .part(WordSearch)
        .weighed({"proxy": 1.0, "cache": 1.0, "number7": 1.0}, 100)
    )
    return [(entry.tag, weight) for entry, weight in hits]


def test_a_new_index_gives_the_same_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Made in several steps, each of which is told; also from one that is damaged."""
    monkeypatch.setattr(reindexing, "STEP", 25)
    with open_author(tmp_path, CLAN, OWN) as author:
        write_some(author)
        before, kept = answers(author), content(author.store)
        steps: list[int] = []
        assert reindex(author.store.database, steps.append) == 59
        assert steps == [25, 25, 9]
        assert (answers(author), content(author.store)) == (before, kept)
        with author.store.database.writing(durable=False):
            author.store.database.run("INSERT INTO words(words) VALUES('delete-all')")
        assert answers(author) == []
        reindex(author.store.database)
        assert (answers(author), content(author.store)) == (before, kept)


def test_who_searches_meanwhile_finds_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However far it has come."""
    monkeypatch.setattr(reindexing, "STEP", 20)
    with open_author(tmp_path, CLAN, OWN) as author, open_author(tmp_path, CLAN, OWN) as other:
        write_some(author)
        before = answers(author)
        found: list[list[tuple[bytes, float]]] = []
        reindex(other.store.database, lambda _: found.append(answers(author)))
        assert found == [before] * 3
        assert answers(author) == before


def test_one_that_was_killed_leaves_the_index_that_was_there(tmp_path: Path) -> None:
    """Whole, and as good as before."""
    with open_author(tmp_path, CLAN, OWN) as author:
        write_some(author)
        before, kept = answers(author), content(author.store)
    done = subprocess.run([sys.executable, "-c", KILLED, os.fspath(tmp_path / "mesh.db")], check=False, timeout=300)
    assert done.returncode == -signal.SIGKILL
    with open_author(tmp_path, CLAN, OWN) as author:
        assert (answers(author), content(author.store)) == (before, kept)
        assert verify_store(author.store).problems == []
