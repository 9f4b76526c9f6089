"""What commands, MCP and API share, where a write has to take another way."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mesh.app.application import Application
from mesh.app.record_store import OpenedStore
from mesh.core.errors import HomePermissions, UsageError
from mesh.core.ids import parse_id
from mesh.store.erase_requests import erase
from mesh.store.home import Home, create_home
from tests.interrupting import interrupted_author


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    monkeypatch.setenv("MESH_SPOOL", str(tmp_path / "queue"))
    return create_home(str(tmp_path / "home"), "alpha")


def sandboxed(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> None:
        raise HomePermissions("it cannot be written", "mend it")

    monkeypatch.setattr(Application, "record_store", refused)


def queued_session(answer: dict[str, str]) -> str:
    assert answer["state"] == "queued"
    session: str = json.loads(Path(answer["queued_in"]).read_text())["arguments"]["session"]
    return session


def test_a_queued_write_counts_as_the_session_it_would_have_been(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A shell without a session of its own is one session a day, whether its writes got through or had to wait."""
    application = Application(home.path, {}, str(tmp_path))
    session = application.show(application.discover("written directly")["id"])["record"]["session"]
    sandboxed(monkeypatch)
    assert queued_session(application.discover("had to wait")) == session


def test_a_home_that_cannot_even_be_read_gets_a_session_all_the_same(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whose node it is cannot be told then; the machine stands for it."""
    sandboxed(monkeypatch)
    Path(home.path, "home.json").rename(tmp_path / "away")
    assert queued_session(Application(home.path, {}, str(tmp_path)).discover("had to wait")).startswith("shell:day-")


def test_a_private_correction_is_never_said_to_be_hot(home: Home, tmp_path: Path) -> None:
    """Nobody else sees it, so "HOT on every node" would frighten whoever wanted to keep it."""
    application = Application(home.path, {}, str(tmp_path))
    told = [application.correct("used npm", "use pnpm", session=f"s{number}", private=True) for number in range(4)]
    assert {answer["tier"] for answer in told} == {"PRIVATE"}
    assert not [answer["says"] for answer in told if "every node" in answer["says"]]
    assert application.hot()["hot"] == []


TELLS: dict[str, Callable[[Application, str], dict[str, Any]]] = {
    "discover": lambda application, _: application.discover("the gateway answers 405 on push"),
    "correct": lambda application, _: application.correct("push over http", "push over ssh"),
    "move": lambda application, record: application.move(record, "ssh-not-http"),
    "edit": lambda application, record: application.edit(record, {"severity": "high"}),
    "retract": lambda application, record: application.retract(record, "test"),
    "change": lambda application, record: application.change(
        record, lambda memory, note, _: ([], {"tier": memory.tier_of(note)})
    ),
}


@pytest.mark.parametrize("tell", TELLS)
def test_what_is_erased_while_somebody_writes_is_only_not_there(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tell: str
) -> None:
    """Whatever a question to the database has found, another process may erase before the next one."""
    monkeypatch.setattr("mesh.store.store.scrub", lambda _: False)  # takes long, and is owed anyway
    application = Application(home.path, {}, str(tmp_path))
    asked: list[str] = []
    due, record = "", ""

    def erase_record() -> None:
        author = home.author()
        erase(home, author, {parse_id(record): home.node}, "test")
        author.store.close()

    def told() -> None:
        nonlocal asked, record
        if tell == "discover":
            found = application.discover("the gateway answers 405 on a push", anyway=True)
        else:
            found = application.correct("push with http", "push with ssh", pattern="ssh")
        record = application.show(found["id"])["whole_id"]
        author = home.author()
        asked = interrupted_author(author, due, erase_record)
        TELLS[tell](Application(home.path, {}, str(tmp_path), store=OpenedStore(home.path, author)), found["id"])

    told()
    questions, refusals = asked, []
    assert len(questions) > 3
    for due in questions:
        try:
            told()
        except UsageError as error:
            refusals.append(str(error))
        assert due in asked
    assert all("is not live any more" in refusal for refusal in refusals)
