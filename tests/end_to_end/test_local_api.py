"""The local API as a program beside the sidecar uses it: JSON over the socket, a description of all of it, and a stream of new records."""

import json
import os
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from mesh.app.client import ask
from mesh.core.errors import UsageError
from mesh.node.openapi import ENDPOINTS, STREAMS
from mesh.store.wake_signal import socket_file
from tests.end_to_end.commands import PATIENCE_SECONDS, complaint, done, mesh, quickly, sidecar
from tests.end_to_end.fleet import Sidecar, mesh_of, sidecars, wait_until_in_step


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Sidecar]:
    """One sidecar, for who writes beside it or stops it."""
    made = Sidecar(tmp_path / "node", listen=None).init()
    with sidecars(made):
        yield made.up()


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sidecar]:
    """One sidecar for all who only ask it: everything that is written goes through its own process."""
    made = Sidecar(tmp_path_factory.mktemp("asked") / "node", listen=None).init()
    with sidecars(made):
        yield made.up()


class Events:
    """A listener on `GET /events`."""

    def __init__(self, connection: socket.socket) -> None:
        self._file = connection.makefile("r", encoding="utf-8", newline="\n")

    def next(self) -> tuple[str, Any]:
        """The next event: its id and what it says."""
        fields: dict[str, str] = {}
        for line in self._file:
            name, _, value = line.rstrip("\n").partition(": ")
            if name in ("id", "data"):
                fields[name] = value
            elif not line.strip() and "data" in fields:
                return fields["id"], json.loads(fields["data"])
        raise AssertionError("the stream has ended")


@contextmanager
def listening(home: str, last: str = "") -> Iterator[Events]:
    """Somebody who wants to hear of new records; inside the block they are heard."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(PATIENCE_SECONDS)
        connection.connect(socket_file(home, "sidecar.sock"))
        resume = f"Last-Event-ID: {last}\r\n" if last else ""
        connection.sendall(f"GET /events HTTP/1.0\r\nHost: mesh\r\n{resume}\r\n".encode())
        events = Events(connection)
        for line in events._file:
            if line.startswith(": "):  # the answer has begun
                break
        yield events


def test_a_discovery_and_a_correction_go_in_and_come_out_again(asked: Sidecar) -> None:
    """What is written over the socket is found by every question, and by commands."""
    told = ask(asked.home, "POST", "/discover", {"text": "HTTP 405 on push means branch protection", "tags": ["git"]})
    assert told["state"] == "recorded"
    for number in range(3):
        fields = {
            "wrong": "ran npm install",
            "right": "use pnpm install",
            "session": f"codex:{number}",
            "source": "human",
        }
        counted = ask(asked.home, "POST", "/correct", fields)
    assert counted["tier"] == "HOT"
    (found,) = ask(asked.home, "GET", "/search?query=405+push")["results"]
    assert found["id"] == told["id"]
    assert ask(asked.home, "GET", "/hot")["hot"][0]["sessions"] == 3
    assert ask(asked.home, "GET", "/recent?count=1&topic=git")["records"][0]["id"] == told["id"]
    assert ask(asked.home, "GET", f"/show?id={told['id']}")["record"]["tags"] == ["git"]
    assert ask(asked.home, "GET", f"/why?id={told['id']}")["signature_holds"]
    context = ask(asked.home, "GET", "/context?max_chars=3000")
    assert "pnpm" in context["text"]
    assert context["text"] == done(asked.home, "context", "--repo", "", "--max-chars", "3000").rstrip("\n")


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/discover", {}),
        ("POST", "/discover", {"text": ""}),
        ("POST", "/discover", {"text": 5}),
        ("POST", "/discover", {"text": "x", "severity": "terrible"}),
        ("POST", "/discover", {"text": "x", "nonsense": 1}),
        ("POST", "/discover", {"text": "x" * 20_000}),
        ("POST", "/correct", {"wrong": "x"}),
        ("POST", "/correct", {"wrong": "x", "right": "y", "tags": "no list, but read as one", "confidence": 7}),
        ("POST", "/correct", {"wrong": "x", "right": "y", "session": "two words"}),
        ("GET", "/search", None),
        ("GET", "/search?query=x&limit=many", None),
        ("GET", "/show?id=zzzzzzzz", None),
        ("GET", "/why?id=1", None),
    ],
)
def test_a_wrong_request_changes_nothing_and_says_what_is_wrong(
    asked: Sidecar, method: str, path: str, body: Any
) -> None:
    """An error with a sentence; the sidecar runs on, and nothing was written."""
    root = ask(asked.home, "GET", "/node")["root"]
    with pytest.raises(UsageError) as caught:
        ask(asked.home, method, path, body)
    assert str(caught.value)
    assert ask(asked.home, "GET", "/node")["root"] == root


def test_secrets_do_not_get_in_and_the_answer_says_what_was_taken_out(asked: Sidecar) -> None:
    """Redaction is no matter of which door one comes through."""
    told = ask(asked.home, "POST", "/discover", {"text": "deploys fail with ghp_" + "a1B2c3D4e5F6" * 3})
    assert "ghp_a1B2" not in json.dumps(ask(asked.home, "GET", f"/show?id={told['id']}"))
    assert told["redacted"]


def test_the_description_has_every_route_and_nothing_else(asked: Sidecar) -> None:
    """What is served is what is described."""
    described = ask(asked.home, "GET", "/openapi.json")
    assert described["openapi"].startswith("3.")
    routes = {f"{method.upper()} {path}" for path, methods in described["paths"].items() for method in methods}
    assert routes == {*ENDPOINTS, *STREAMS, "GET /openapi.json"}
    for route in ENDPOINTS:
        method, path = route.split(" ")
        if method == "GET":
            try:
                ask(asked.home, method, path)
            except UsageError as error:
                assert "does not know" not in str(error)  # noqa: PT017 (a required field may be missing)


def test_the_socket_is_for_its_owner_only(asked: Sidecar) -> None:
    """Nobody else on the machine can ask or tell."""
    assert stat.S_IMODE(os.stat(socket_file(asked.home, "sidecar.sock")).st_mode) == 0o600


def test_new_records_come_as_events_also_those_of_other_nodes(tmp_path: Path) -> None:
    """A listener hears what is written here by a command, and there by another node."""
    with mesh_of(2, tmp_path) as fleet:
        wait_until_in_step(fleet)
        with listening(fleet[0].home) as events:
            done(fleet[0].home, "discover", "redis listens on port 6380")
            assert events.next()[1]["text"] == "redis listens on port 6380"
            done(fleet[1].home, "discover", "nightly builds start at three")
            assert events.next()[1]["text"] == "nightly builds start at three"


def test_a_listener_that_was_cut_off_goes_on_where_it_was(node: Sidecar) -> None:
    """Nothing is missed between two connections."""
    with listening(node.home) as events:
        done(node.home, "discover", "the first thing that happened")
        last, _ = events.next()
    done(node.home, "discover", "meanwhile the second one")
    with listening(node.home, last) as events:
        assert events.next()[1]["text"] == "meanwhile the second one"


def test_a_sidecar_with_a_listener_still_stops(node: Sidecar) -> None:
    """Nobody who listens can keep a node up."""
    with listening(node.home):
        assert node.stop() == 0


@pytest.mark.parametrize(
    "words",
    [
        ["correct", "--wrong", "", "--right", ""],
        ["correct", "--wrong", "npm install", "--right", ""],
        ["discover", ""],
        ["discover", " "],
        ["discover", "a text", "--severity", "grave"],
        ["discover", "a text", "--tags", ",".join(f"tag{number}" for number in range(200))],
        ["search", ""],
        ["search", "a text", "--tier", "lukewarm"],
    ],
    ids=" ".join,
)
def test_a_person_reads_the_same_sentence_with_and_without_a_sidecar(tmp_path: Path, words: list[str]) -> None:
    """Whatever the local API says of a request: it speaks to programs, of fields and of GET."""
    home = tmp_path / "home"
    quickly(home, "init")
    alone = mesh(home, *words)
    with sidecar(home):
        helped = mesh(home, *words)
    assert (helped.returncode, helped.stdout, helped.stderr) == (alone.returncode, alone.stdout, alone.stderr)
    _, step = complaint(helped)
    assert "GET" not in step
