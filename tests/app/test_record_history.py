"""The history of a record, and what goes with it, while others write. What it says is tested where commands are."""

from pathlib import Path

import pytest

from clan_learnings.records.record import LEARNINGS
from mesh.app import record_history
from mesh.app.application import Application
from mesh.cli.erase import _documents
from mesh.core.draft import NewRecord
from mesh.core.ids import parse_id, text_id
from mesh.store.erase_requests import erase
from mesh.store.home import Home, create_home
from mesh.store.store import Store
from tests.interrupting import interrupted


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    monkeypatch.setattr("mesh.store.store.scrub", lambda _: False)  # takes long, and is owed anyway
    return create_home(str(tmp_path / "home"), "alpha")


def corrected(home: Home) -> str:
    """The whole id of a correction."""
    application = Application(home.path, {}, "/")
    found: str = application.show(application.correct("push with http", "push with ssh", pattern="ssh")["id"])[
        "whole_id"
    ]
    return found


def erased(home: Home, record: str) -> None:
    author = home.author()
    erase(home, author, {parse_id(record): home.node}, "test")
    author.store.close()


def test_a_record_that_is_erased_while_its_history_is_told_is_told_as_it_was(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever a question to the database has found, another process may erase before the next one."""
    asked: list[str] = []
    due, record, locate = "", "", record_history.locate

    def located(of: Home, text: str, bound: str | None = None) -> tuple[Store, bytes]:
        nonlocal asked
        store, tag = locate(of, text, bound)
        asked = interrupted(store.database.connection, due, lambda: erased(home, record))
        return store, tag

    monkeypatch.setattr(record_history, "locate", located)
    record = corrected(home)
    assert record_history.history(home.path, record)["state"] == "live"
    questions = asked
    for due in questions:
        record = corrected(home)
        told = record_history.history(home.path, record)
        is_first = due == questions[0]
        assert told["state"] == ("erased" if is_first else "live")
        assert told["counts_for"] is None if is_first else told["counts_for"]["pattern"] == "ssh"
    assert len(questions) > 3


def test_a_learning_that_is_erased_while_those_beside_a_record_are_looked_for_is_none(home: Home) -> None:
    """Two may erase at once: a record, and a learning that is not even of that record."""
    for due in ("", *beside(home, "")):
        assert due in ("", *beside(home, due))


def beside(home: Home, before: str) -> list[str]:
    """Look for the learnings beside a record, while another is erased before a question; returns the questions."""
    record, author = corrected(home), home.author()
    (learning,) = author.append([NewRecord(LEARNINGS, {"title": "of nobody"})]).tags
    author.store.close()
    store = home.store()
    asked = interrupted(store.database.connection, before, lambda: erased(home, text_id(learning)))
    assert _documents(store, parse_id(record)) == []
    store.close()
    return asked
