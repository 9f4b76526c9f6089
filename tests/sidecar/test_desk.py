"""What commands, MCP and API share, where a write has to take another way."""

import json
from pathlib import Path

import pytest

from mesh.core.errors import HomePermissions
from mesh.sidecar.desk import Desk
from mesh.store.home import Home, create_home


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    monkeypatch.setenv("MESH_SPOOL", str(tmp_path / "queue"))
    return create_home(str(tmp_path / "home"), "alpha")


def sandboxed(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> None:
        raise HomePermissions("it cannot be written", "mend it")

    monkeypatch.setattr(Desk, "_author", refused)


def queued_session(answer: dict[str, str]) -> str:
    assert answer["state"] == "queued"
    session: str = json.loads(Path(answer["queued_in"]).read_text())["arguments"]["session"]
    return session


def test_a_queued_write_counts_as_the_session_it_would_have_been(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A shell without a session of its own is one session a day, whether its writes got through or had to wait."""
    desk = Desk(home.path, {}, str(tmp_path))
    session = desk.show(desk.discover("written directly")["id"])["record"]["session"]
    sandboxed(monkeypatch)
    assert queued_session(desk.discover("had to wait")) == session


def test_a_home_that_cannot_even_be_read_gets_a_session_all_the_same(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whose node it is cannot be told then; the machine stands for it."""
    sandboxed(monkeypatch)
    Path(home.path, "home.json").rename(tmp_path / "away")
    assert queued_session(Desk(home.path, {}, str(tmp_path)).discover("had to wait")).startswith("shell:day-")


def test_a_private_correction_is_never_said_to_be_hot(home: Home, tmp_path: Path) -> None:
    """Nobody else sees it, so "HOT on every node" would frighten whoever wanted to keep it."""
    desk = Desk(home.path, {}, str(tmp_path))
    told = [desk.correct("used npm", "use pnpm", session=f"s{number}", private=True) for number in range(4)]
    assert {answer["tier"] for answer in told} == {"PRIVATE"}
    assert not [answer["says"] for answer in told if "every node" in answer["says"]]
    assert desk.hot()["hot"] == []
