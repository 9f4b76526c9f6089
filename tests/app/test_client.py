"""A write that a running sidecar makes for a command: what is sent, what is made of the answer, and when nobody answers."""

import json
import os
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mesh.app import client
from mesh.app.application import Application
from mesh.app.caller import Caller, CallerSide
from mesh.app.client import ask, hand_over, request_answer
from mesh.core.errors import HomePermissions, MeshError, UsageError
from mesh.store.home import create_home

ABOUT: dict[str, Any] = {
    "topic": "",
    "tags": [],
    "category": "",
    "repo": None,
    "is_global": True,
    "session": "codex:1",
    "confidence": 0.5,
}
Serve = Callable[[bytes], None]


@pytest.fixture
def home(tmp_path: Path) -> str:
    return create_home(os.fspath(tmp_path / "home"), "node").path


@pytest.fixture
def asked() -> list[bytes]:
    return []


@pytest.fixture
def answering(home: str, asked: list[bytes]) -> Serve:
    """Serve one request with these bytes."""

    def serve(answer: bytes) -> None:
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(os.path.join(home, "sidecar.sock"))
        listener.listen()

        def work() -> None:
            connection, _ = listener.accept()
            with connection, listener:
                data = b""
                while b"\r\n\r\n" not in data or not data.endswith(b"}"):
                    data += connection.recv(65536)
                asked.append(data)
                connection.sendall(answer)

        threading.Thread(target=work, daemon=True).start()

    return serve


def reply(value: Any, status: int = 200) -> bytes:
    return f"HTTP/1.0 {status} X\r\nContent-Type: application/json\r\n\r\n{json.dumps(value)}".encode()


def request_write(home: str, kind: str, words: dict[str, Any], about: dict[str, Any]) -> dict[str, Any] | None:
    return client.request_write(Caller(home, CallerSide(os.environ)), kind, words, about)


def test_what_is_said_is_sent_whole_and_answered(home: str, answering: Serve, asked: list[bytes]) -> None:
    answering(reply({"state": "recorded", "id": "abc", "redacted": ""}))
    words = {"wrong": 'npm "install"', "right": "pnpm ünstall \U0001f600"}
    assert request_write(home, "correct", words, ABOUT) == {"state": "recorded", "id": "abc", "redacted": ""}
    head, _, body = asked[0].partition(b"\r\n\r\n")
    assert head.startswith(b"POST /correct HTTP/1.0\r\n")
    sent = json.loads(body)
    assert sent["wrong"] == words["wrong"]
    assert sent["right"] == words["right"]
    assert (sent["repo"], sent["is_global"], sent["session"], sent["confidence"]) == ("", True, "codex:1", 0.5)
    assert sent["agent"]  # found out here: where the sidecar runs says nothing of who calls


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"garbage",
        b"HTTP/1.0 200 OK\r\n\r\nnot json",
        reply([]),
        reply({"error": "wrong is missing", "next": "see GET /openapi.json"}, 400),
        reply({}, 404),
        reply({}, 500),
    ],
)
def test_without_a_good_answer_the_command_writes_by_itself(home: str, answering: Serve, answer: bytes) -> None:
    answering(answer)
    assert request_write(home, "correct", {"wrong": "a", "right": "b"}, ABOUT) is None


OLDER = reply({"error": "there is no field 'request_id' here", "next": "one of: text, anyway, topic"}, 400)


def test_a_sidecar_that_knows_no_request_ids_is_done_without(home: str, answering: Serve) -> None:
    """It has refused the whole request, so the command writes by itself, once."""
    answering(OLDER)
    assert request_write(home, "discover", {"text": "a", "request_id": "request-1"}, ABOUT) is None


def test_what_an_older_sidecar_would_not_take_over_is_queued(
    home: str, answering: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A shell in a sandbox has no other way, and must not fail because of an upgrade."""
    monkeypatch.setenv("MESH_SPOOL", os.fspath(tmp_path / "queue"))
    answering(OLDER)
    trouble = HomePermissions("it cannot be written", "mend it")
    answer = hand_over(home, "discover", {"text": "a", "request_id": "request-1"}, trouble)
    assert answer["state"] == "queued"
    assert json.loads(Path(answer["queued_in"]).read_text())["arguments"]["request_id"] == "request-1"


def test_nobody_is_asked_where_the_answer_would_be_another_one(home: str, tmp_path: Path) -> None:
    """No sidecar, a socket of one that was killed, a category that only the repository knows, a text that is too long."""
    words = {"wrong": "a", "right": "b"}
    assert request_write(home, "correct", words, ABOUT) is None
    left = socket.socket(socket.AF_UNIX)
    left.bind(os.path.join(home, "sidecar.sock"))
    left.close()
    assert request_write(home, "correct", words, ABOUT) is None
    assert request_write(home, "correct", words, ABOUT | {"category": "our-own"}) is None
    assert request_write(home, "correct", words | {"wrong": "a" * 20_000}, ABOUT) is None
    assert request_write(os.fspath(tmp_path / "nothing"), "correct", words, ABOUT) is None


def test_an_application_has_the_node_write_what_has_a_request_id(
    home: str, answering: Serve, asked: list[bytes]
) -> None:
    """Too late an answer does no harm then: both ways are the same write."""
    answering(reply({"state": "recorded", "id": "abc"}))
    application = Application(home, {}, "/", asks_node=True)
    assert application.discover("the gateway listens on 8443", request_id="0f" * 16)["id"] == "abc"
    sent = json.loads(asked[0].partition(b"\r\n\r\n")[2])
    assert (sent["text"], sent["request_id"]) == ("the gateway listens on 8443", "0f" * 16)
    assert application.ask(lambda memory: {"heads": list(memory.reader.logs())}) == {"heads": []}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"asks_node": True}, {}),
        ({"asks_node": True}, {"request_id": "0f" * 16, "private": True}),
        ({"asks_node": True, "bound": "github.com/acme/api"}, {"request_id": "0f" * 16}),
        ({}, {"request_id": "0f" * 16}),
    ],
)
def test_any_other_write_is_made_here(
    home: str, answering: Serve, asked: list[bytes], options: dict[str, Any], said: dict[str, Any]
) -> None:
    """Without an id it might be made twice; a private one, or that of a bound caller, is nobody else's to make."""
    answering(reply({"state": "recorded", "id": "abc"}))
    application = Application(home, {}, "/", **options)
    assert application.discover("the gateway listens on 8443", **said)["state"] == "recorded"
    assert asked == []


# Questions


def test_a_question_is_asked_with_what_was_said_and_nothing_else(
    home: str, answering: Serve, asked: list[bytes]
) -> None:
    """An empty repository is said too: it means what holds everywhere."""
    answering(reply({"results": [], "by": "keywords"}))
    given = {
        "query": 'ünit "x"',
        "repo": "",
        "tags": ["a"],
        "category": "",
        "archived": False,
        "limit": 3,
        "author": None,
    }
    assert request_answer(home, "search", given) == {"results": [], "by": "keywords"}
    head, _, body = asked[0].partition(b"\r\n\r\n")
    assert head.startswith(b"GET /search HTTP/1.0\r\n")
    assert json.loads(body) == {"query": 'ünit "x"', "repo": "", "tags": ["a"], "limit": 3}


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"garbage",
        reply([]),
        reply({}, 500),
        reply({"results": [], "repo": ""}),  # of a sidecar of an earlier version
        reply({"error": "there is no field 'since' here", "next": "one of: query"}, 400),
    ],
)
def test_without_a_good_answer_the_application_looks_for_itself(home: str, answering: Serve, answer: bytes) -> None:
    """It finds what is there, and says itself what is wrong."""
    application = Application(home, {}, "/", asks_node=True)
    application.discover("the gateway listens on 8443")
    answering(answer)
    assert [found["kind"] for found in application.search("gateway", since="1d")["results"]] == ["discovery"]


def test_an_agents_server_asks_the_sidecar_first(home: str, answering: Serve, asked: list[bytes]) -> None:
    """It has vectors, and the server has none."""
    answering(reply({"repo": None, "results": [], "pages": [], "by": "keywords and vectors"}))
    assert Application(home, {}, "/", asks_node=True).search("gateway", everywhere=True)["by"] == "keywords and vectors"
    assert json.loads(asked[0].partition(b"\r\n\r\n")[2]) == {"query": "gateway", "everywhere": True}


def test_a_question_that_is_too_long_or_empty_is_not_sent(home: str, answering: Serve, asked: list[bytes]) -> None:
    """The API would refuse it; the database can be searched for any length, only not for nothing."""
    answering(reply({"by": "nobody"}))
    application = Application(home, {}, "/", asks_node=True)
    assert application.search("word " * 4_000)["by"] == "keywords"
    with pytest.raises(UsageError, match="nothing to search for"):
        application.search(" ")
    assert asked == []


def test_a_sidecar_that_stops_while_it_is_asked_is_not_running(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its socket goes between one look at it and the next."""
    socket = tmp_path / "sidecar.sock"
    socket.write_bytes(b"")
    monkeypatch.setenv("MESH_SOCKET", os.fspath(socket))
    exists = os.path.exists

    def stopped(path: str) -> bool:
        found = exists(path)
        socket.unlink(missing_ok=True)
        return found

    monkeypatch.setattr(os.path, "exists", stopped)
    with pytest.raises(MeshError, match="no sidecar is running") as raised:
        ask(os.fspath(tmp_path), "GET", "/peers")
    assert raised.value.next_step == "start it: mesh up --detach"
