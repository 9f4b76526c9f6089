"""An erase while others read: the text leaves every file of the home soon after they let go, and nobody has to start anything again."""

import http.client
import json
import os
import select
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Self

import pytest

from tests.end_to_end.claude_sessions import clone_of, corrected
from tests.end_to_end.commands import MESH, PATIENCE_SECONDS, anywhere, asked, done, mesh, quickly, start, wait_until
from tests.end_to_end.fleet import Sidecar, sidecars

SECRET = "zebra482913fleischmann"
REPO = "github.com/acme/web"
LONG_SECONDS = 300.0
DATABASES = ("mesh.db", "private.db", "capture/candidates.db", "capture/catalogue.db")

_HOLD = """
import sys
import apsw
kept = []
for path in sys.argv[1:]:
    connection = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
    connection.execute("BEGIN")
    connection.execute("SELECT count(*) FROM sqlite_schema").fetchall()
    kept.append(connection)
print("reading", flush=True)
sys.stdin.read()
"""


@contextmanager
def held(home: Path, *names: str) -> Iterator["subprocess.Popen[str]"]:
    """A process that reads these databases, in one transaction each, until the block ends. It is killed: it cleans nothing up."""
    paths = [str(home / name) for name in names]
    process = subprocess.Popen(
        [sys.executable, "-c", _HOLD, *paths], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "reading\n"
        yield process
    finally:
        process.kill()
        process.communicate()


@contextmanager
def looped(home: Path, *words: str) -> Iterator[None]:
    """A command that is run again and again."""
    ended = threading.Event()

    def run() -> None:
        while not ended.is_set():
            mesh(home, *words)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


@contextmanager
def streamed(home: Path) -> Iterator[http.client.HTTPResponse]:
    """A listener at the local API that never reads on."""
    connection = http.client.HTTPConnection("sidecar")
    connection.sock = socket.socket(socket.AF_UNIX)
    try:
        connection.sock.connect(os.path.relpath(home / "sidecar.sock"))
        connection.request("GET", "/events", headers={"Last-Event-ID": "0"})
        yield connection.getresponse()
    finally:
        connection.close()


class McpSession:
    """An agent's MCP server, which is asked again and again and then stays open."""

    def __init__(self, home: Path) -> None:
        self._process = subprocess.Popen(
            [MESH, "mcp", "--home", str(home)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        about = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
        self._number = 0
        self._ask("initialize", about)
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()

    def call(self, tool: str, **arguments: Any) -> str:
        """What a tool answers."""
        return json.dumps(self._ask("tools/call", {"name": tool, "arguments": arguments}))

    def _ask(self, method: str, params: dict[str, Any]) -> Any:
        self._number += 1
        self._send({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params})
        assert self._process.stdout is not None
        return json.loads(self._process.stdout.readline())

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Sidecar]:
    """A home with some records, not started."""
    made = Sidecar(tmp_path / "home", listen=None)
    with sidecars(made):
        made.init()
        for number in range(20):
            made.write(f"something else, {number}")
        yield made


@pytest.mark.timeout(900)
def test_erased_text_leaves_every_file_soon_after_the_last_reader_lets_go(node: Sidecar, tmp_path: Path) -> None:
    """Shared, private and harvested text, with commands, a stream, an MCP server and a stranger reading; the sidecar runs on."""
    home = Path(node.home)
    clone, sessions = clone_of(REPO, tmp_path / "clone"), tmp_path / "sessions"
    corrected("one", clone, f"use pnpm install with {SECRET}, we never use npm").save(sessions)
    done(home, "share", REPO)
    assert asked(home, "harvest", str(sessions))["recorded"]
    found = [json.loads(line) for line in done(home, "op", "list", "--json").splitlines()]
    ids = [each["id"] for each in found if SECRET in json.dumps(each)]
    ids.append(asked(home, "discover", f"the door code is {SECRET}")["id"])
    ids.append(asked(home, "discover", f"my own code is {SECRET} too", "--private")["id"])
    node.up()
    process = node.process.pid
    assert len(ids) > 2
    with ExitStack() as stack:
        server = stack.enter_context(McpSession(home))
        assert SECRET in server.call("search", query="door code")
        stack.enter_context(streamed(home))
        for words in (["tail"], ["search", "door code"], ["hot"], ["context"]):
            stack.enter_context(looped(home, *words))
        wait_until(lambda: bool(anywhere(home / "rendered", SECRET)), LONG_SECONDS)
        with held(home, *DATABASES):
            for identity in ids:
                mesh(home, "erase", identity, "--reason", "a code got in")
            mesh(home, "capture", "--forget", "claude-code:one")
            assert set(asked(home, "status")["unfinished_erases"]) == set(DATABASES)
            assert SECRET not in server.call("search", query="door code")
        wait_until(lambda: anywhere(home, SECRET) == [], LONG_SECONDS)
        wait_until(lambda: asked(home, "status")["unfinished_erases"] == [], LONG_SECONDS)
    assert node.is_up
    assert node.process.pid == process


@pytest.mark.timeout(900)
def test_doctor_and_the_erase_name_the_process_that_reads_on(node: Sidecar) -> None:
    """So that somebody can end it; and say who finishes the erase then."""
    home = Path(node.home)
    identity = asked(home, "discover", f"the door code is {SECRET}")["id"]
    with held(home, "mesh.db") as reader:
        said = mesh(home, "erase", identity, "--reason", "a code got in")
        assert said.returncode == 3
        assert f"erased text may still be in mesh.db: process {reader.pid} (" in said.stderr
        assert "mesh up --detach, or any command that writes" in said.stderr
        (finding,) = [
            each for each in json.loads(mesh(home, "doctor", "--json").stdout) if each["sort"] == "unfinished erase"
        ]
        assert f"process {reader.pid} (" in finding["sentence"]
        assert "erased text may still be in mesh.db" in done(home, "status")
        node.up()
        said = mesh(home, "erase", identity, "--reason", "a code got in")
        assert "the sidecar tries again every second" in said.stderr
    wait_until(lambda: anywhere(home, SECRET) == [], LONG_SECONDS)


@pytest.mark.timeout(900)
def test_without_a_sidecar_the_erase_waits_for_a_reader_that_is_about_to_end(node: Sidecar) -> None:
    """The command itself finishes it; nobody has to come back."""
    home = Path(node.home)
    identity = asked(home, "discover", f"the door code is {SECRET}")["id"]
    with held(home, "mesh.db"):
        erasing = start(home, "erase", identity, "--reason", "a code got in")
        wait_until(lambda: bool(asked(home, "status")["unfinished_erases"]))
    _, said = erasing.communicate(timeout=PATIENCE_SECONDS)
    assert (erasing.returncode, said) == (0, "")
    assert anywhere(home, SECRET) == []


@pytest.mark.timeout(900)
@pytest.mark.parametrize("words", [["tail", "-n", "9999", "--json"], ["op", "list", "--json"], ["export", "-"]])
def test_whoever_does_not_read_what_a_command_prints_holds_up_no_erase(node: Sidecar, words: list[str]) -> None:
    """A pager that waits for a key keeps the command waiting, and the command nobody else."""
    home = Path(node.home)
    for number in range(40):
        quickly(home, "op", "add", "facts", f"{number} " + "x" * 7000)  # far more than a pipe holds
    identity = asked(home, "discover", f"the door code is {SECRET}")["id"]
    printing = subprocess.Popen([MESH, *words, "--home", str(home)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        assert printing.stdout is not None
        select.select([printing.stdout], [], [], PATIENCE_SECONDS)
        assert printing.poll() is None
        erased = asked(home, "erase", identity, "--reason", "a code got in")
        assert erased["finished"]
        assert printing.poll() is None
    finally:
        printing.kill()
        printing.communicate()
    assert anywhere(home, SECRET) == []
