"""What the node does for clients, and does not: bounds, clients that go or never read, bytes that are no request, one write once."""

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from mesh import __version__
from mesh.cli import caller_answers, command_server
from mesh.cli.command_frames import ANSWER, END, ERR, OUT, QUESTION, REFUSED, REQUEST, pack, pack_bytes, take, unpack
from mesh.cli.command_server import CommandServer
from mesh.core.draft import NewRecord
from mesh.store import interruption
from mesh.store.home import Home, create_home
from tests.end_to_end.commands import MESH, wait_until

SECRET = "canary-9d41f6"
CLIENT = [sys.executable, "-c", "from mesh.cli.client import main; main()"]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = create_home(str(tmp_path / "home"), "laptop")
    author = made.author()
    author.append([NewRecord("discoveries", {"text": f"note {number}", "repo": ""}) for number in range(50)])
    author.store.close()
    return made


@pytest.fixture
def server(home: Home) -> Iterator[CommandServer]:
    with CommandServer(home.path, None, None) as running:
        yield running


def connected(server: CommandServer) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.connect(
        os.path.join(server.home, command_server.SOCKET)
    )  # first: with a timeout it does not wait for a place in the queue
    connection.settimeout(60)
    return connection


def request(*argv: str, version: str = __version__, request_id: str = "r", event: str = "") -> bytes:
    return pack(REQUEST, version, request_id, "", "", "0", event, "0", *argv)


Says = Callable[[list[str]], list[str]]


def frames(connection: socket.socket, says: Says | None = None) -> list[tuple[bytes, bytes]]:
    """All that comes until the node hangs up. `says`: what it is answered, if it asks."""
    found, data = [], b""
    with suppress(ConnectionResetError):  # it hung up before it had read all
        while part := connection.recv(65536):
            data += part
            frame, data = take(data)
            while frame is not None:
                found.append(frame)
                if frame[0] == QUESTION and says is not None:
                    connection.sendall(pack(ANSWER, *says(unpack(frame[1]))))
                frame, data = take(data)
    return found


def answer(server: CommandServer, *argv: str, says: Says | None = None, **asked: Any) -> list[tuple[bytes, bytes]]:
    with closing(connected(server)) as connection:
        connection.sendall(request(*argv, **asked))
        return frames(connection, says)


def works(server: CommandServer) -> bool:
    found = answer(server, "tail", "-n", "1")
    return found[-1] == (END, b"0") and b"note" in found[0][1]


def test_a_command_is_run_and_ends_with_its_exit_code(server: CommandServer) -> None:
    assert works(server)
    wrong = answer(server, "show", "there-is-no-such-record")
    assert wrong[-1] == (END, b"1")
    assert [kind for kind, _ in wrong[:-1]] == [ERR]


@pytest.mark.parametrize(
    "words",
    [
        ("verify",),
        ("up",),
        ("erase", "x"),
        ("export", "-"),
        ("install",),
        ("invite",),
        ("settings",),
        ("nonsense",),
        (),
    ],
    ids=" ".join,
)
def test_what_is_not_about_records_is_left_to_the_client(server: CommandServer, words: tuple[str, ...]) -> None:
    assert answer(server, *words) == [(REFUSED, b"")]


def test_another_version_is_told_to_run_it_itself(server: CommandServer) -> None:
    assert answer(server, "tail", version="0.0.0") == [(REFUSED, b"")]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"R",
        b"GET / HTTP/1.1\r\n\r\n",
        b"R\xff\xff\xff\xff",
        pack(REQUEST),
        pack(REQUEST, __version__),
        pack(REQUEST, __version__, "r", "", "", "wide", "", "0", "tail"),
        pack(REQUEST, __version__, "r", "", "", "0", "", "many", "tail"),
        pack(REQUEST, __version__, "r", "", "", "0", "", "-5", "tail"),
        pack_bytes(REQUEST, b"\xff\xfe no end"),
        pack(OUT, "tail"),
    ],
)
def test_bytes_that_are_no_request_end_nothing_but_their_connection(server: CommandServer, data: bytes) -> None:
    with closing(connected(server)) as connection:
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        assert {kind for kind, _ in frames(connection)} <= {REFUSED, ERR, OUT, END}
    assert works(server)


def test_who_waits_is_not_taken_for_gone(server: CommandServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked at every step of the database."""
    monkeypatch.setattr(interruption, "_STEPS", 1)
    assert works(server)
    assert answer(server, "search", "--all", "note")[-1] == (END, b"0")


@pytest.fixture
def long_home(home: Home) -> Home:
    """Its newest records together are longer than what a socket takes at once."""
    author = home.author()
    author.append(
        [NewRecord("discoveries", {"text": f"a long note {'of words ' * 1500}{number}"}) for number in range(200)]
    )
    author.store.close()
    return home


def test_clients_that_never_read_hold_nobody_up(long_home: Home) -> None:
    """Nor those that connect and say nothing: more of them than commands that run at once."""
    with CommandServer(long_home.path, None, None) as server:
        silent = [connected(server) for _ in range(command_server.AT_ONCE + 4)]
        deaf = [connected(server) for _ in range(command_server.AT_ONCE * 2)]
        try:
            for connection in deaf:
                connection.sendall(request("tail", "-n", "500", "--json"))
            assert works(server)
        finally:
            for connection in (*silent, *deaf):
                connection.close()
        assert works(server)


def test_who_reads_slowly_gets_the_whole_answer(long_home: Home) -> None:
    """A person looks at the first page; the command has ended long before, and its turn is another's."""
    with CommandServer(long_home.path, None, None) as server, closing(connected(server)) as connection:
        connection.sendall(request("tail", "-n", "200", "--json"))
        wait_until(lambda: server.unsent > 1_000_000)
        assert works(server)
        found = frames(connection)
    assert found[-1] == (END, b"0")
    assert b"".join(data for kind, data in found if kind == OUT).count(b"a long note") == 200


def test_what_nobody_reads_is_bounded(long_home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of clients that are slow, those beyond the bound get no more; others are served."""
    monkeypatch.setattr(command_server, "_UNSENT_BYTES", 1_000_000)
    with CommandServer(long_home.path, None, None) as server, closing(connected(server)) as connection:
        connection.sendall(request("tail", "-n", "200", "--json"))
        assert works(server)  # so the first is being served, or was
        wait_until(lambda: all(thread.name != "mesh-command" for thread in threading.enumerate()))
        assert frames(connection)[-1][0] != END
        assert works(server)


def test_a_client_that_goes_in_the_middle_of_its_answer_ends_only_its_command(server: CommandServer) -> None:
    for _ in range(command_server.AT_ONCE * 3):
        with closing(connected(server)) as connection:
            connection.sendall(request("tail", "-n", "50"))
            connection.recv(1)
    assert works(server)


def test_many_clients_at_once_are_all_answered(server: CommandServer) -> None:
    found: list[bool] = []
    threads = [threading.Thread(target=lambda: found.append(works(server))) for _ in range(command_server.AT_ONCE * 4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert found == [True] * len(threads)


def test_an_answer_that_is_too_long_says_so(server: CommandServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command_server, "_ANSWER_BYTES", 400)
    found = answer(server, "tail", "-n", "50")
    assert found[-1] == (END, b"1")
    assert any(kind == ERR and b"ask for less" in text for kind, text in found)


def test_a_write_that_is_asked_for_twice_is_written_once(server: CommandServer, home: Home, tmp_path: Path) -> None:
    """The node has written it, and the client never heard: the client's own process finds the receipt."""
    words = ("discover", "the cache is cold on Mondays", "--global", "--session", "codex:1")
    with closing(connected(server)) as connection:
        connection.sendall(request(*words, request_id="0123456789abcdef0123456789abcdef"))
        script = (
            "import os, sys; os.urandom = lambda size: bytes.fromhex('0123456789abcdef0123456789abcdef')[:size]\n"
            "import mesh.cli.client as client; client.EVERYDAY = frozenset(); client.main()"
        )
        answered = [frame for frame in frames(connection, partial(caller_answers.answer, "/")) if frame[0] == END]
    assert answered == [(END, b"0")]
    subprocess.run(
        [sys.executable, "-c", script, *words, "--home", home.path], check=True, capture_output=True, cwd=tmp_path
    )
    told = subprocess.run(
        [MESH, "tail", "--json", "--home", home.path], check=True, capture_output=True, text=True
    ).stdout
    assert told.count("the cache is cold on Mondays") == 1


def test_an_answer_that_is_none_ends_the_command_alone(server: CommandServer) -> None:
    """The node asks where the client is; the client says nonsense."""
    for nonsense in (
        b"garbage",
        pack(b"A"),
        pack(b"A", "ok"),
        pack(b"A", "ok", "a", "b"),
        pack(b"A", "wrong", "no", "x"),
    ):
        with closing(connected(server)) as connection:
            connection.sendall(request("discover", "a note"))
            connection.sendall(nonsense)
            connection.shutdown(socket.SHUT_WR)
            assert (END, b"0") not in frames(connection)
    assert works(server)
    assert SECRET not in json.dumps([str(frame) for frame in answer(server, "tail", "-n", "100")])


def test_a_hook_whose_node_hangs_says_nothing_in_time(home: Home) -> None:
    """A socket that takes everything and answers nothing."""
    with closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) as listener:
        listener.bind(os.path.join(home.path, command_server.SOCKET))
        listener.listen(4)
        script = "import mesh.cli.client as client; client.HOOK_SECONDS = 0.2; client.main()"
        done = subprocess.run(
            [sys.executable, "-c", script, "hook", "SessionStart", "--home", home.path],
            input='{"hook_event_name": "SessionStart", "session_id": "s"}',
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
    assert (done.returncode, done.stdout) == (0, "{}\n")


def test_a_command_whose_node_hangs_runs_by_itself(home: Home) -> None:
    with closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) as listener:
        listener.bind(os.path.join(home.path, command_server.SOCKET))
        listener.listen(4)
        script = "import mesh.cli.client as client; client.SECONDS = 0.2; client.main()"
        done = subprocess.run(
            [sys.executable, "-c", script, "tail", "-n", "1", "--home", home.path],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
    assert done.returncode == 0
    assert "note 49" in done.stdout


def test_the_node_opens_no_path_that_a_client_names(server: CommandServer, home: Home, tmp_path: Path) -> None:
    """Whatever Python opens, lists, makes, moves or starts while commands run for a client is seen by an audit hook."""
    outside = tmp_path / "outside"
    outside.mkdir()
    secret = outside / "secret.txt"
    secret.write_text(SECRET, encoding="utf-8")
    touched: list[str] = []
    watching = True

    def audit(event: str, given: tuple[object, ...]) -> None:
        if watching and event.split(".", maxsplit=1)[0] in {
            "open",
            "os",
            "subprocess",
            "shutil",
            "glob",
            "pathlib",
            "socket",
        }:
            touched.extend(f"{event} {each}" for each in given if str(outside) in str(each))
            if event.startswith(("subprocess", "os.exec", "os.posix_spawn", "os.fork", "os.system")):
                touched.append(event)

    sys.addaudithook(audit)
    assert secret.read_text(encoding="utf-8") == SECRET
    assert touched  # the hook sees what is to be seen
    touched.clear()
    path = str(secret)
    folder = str(outside)
    event = {"hook_event_name": "Stop", "session_id": "s", "cwd": folder, "transcript_path": path}
    said: list[object] = []
    place = ["github.com/acme/api", folder, folder, "", "yes", "", "", ""]
    lies = {
        caller_answers.REPOSITORY: ["ok", *place],
        caller_answers.CLAIM: ["ok", "github.com/acme/api"],
        caller_answers.LOOK: ["ok", "codex", "codex:1", *place],
        caller_answers.HOOK_PLACE: ["ok", folder, "codex:1", "", *place, f"1 1 {path}"],
        caller_answers.STDIN: ["ok", path],
        caller_answers.EXPORT: ["ok"],
    }

    def lie(question: list[str]) -> list[str]:
        return lies[question[0]]

    try:
        for words in (
            ("discover", path, "--evidence", path, "--repo", folder),
            ("discover", f"@{path}"),
            ("discover", "--file", path),
            ("correct", "--wrong", f"@{path}", "--right", path, "--evidence", f"{path}:1"),
            ("search", f"@{path}", "--all"),
            ("search", "--repo", folder, "x"),
            ("context", "--task", f"@{path}", "--repo", folder),
            ("tail", "--home", folder),
            ("show", path),
            ("why", path),
            ("hot", "--repo", folder),
            ("edit", path, "--text", f"@{path}"),
            ("mute", path),
            ("pattern", "add", path, "--text", path),
            ("discover", "-"),
            ("status", "--home", folder),
            ("peers", "--home", path),
            ("tiers", "--repo", folder),
        ):
            said += answer(server, *words, says=lie)
        for tool, given in (
            ("record_discovery", {"text": f"@{path}", "evidence": path, "repo": folder}),
            ("record_correction", {"wrong": path, "right": f"@{path}", "pattern": path}),
            ("search", {"query": path, "repo": folder}),
            ("fetch", {"id": path}),
        ):
            call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": given}}
            said += answer(server, "mcp", "--home", folder, event=json.dumps(call), says=lie)
        for uri in (f"file://{path}", path, "mesh://context", "mesh://hot"):
            read = {"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": {"uri": uri}}
            said += answer(server, "mcp", "--repo", "github.com/acme/api", event=json.dumps(read), says=lie)
        for name in ("SessionStart", "UserPromptSubmit", "PostToolUseFailure", "Stop", "PreCompact", "SessionEnd"):
            told = json.dumps({**event, "hook_event_name": name, "prompt": path})
            said += answer(server, "hook", name, event=told, says=lie)
    finally:
        watching = False
    assert touched == []
    assert SECRET not in str(said)
    assert works(server)


def test_a_transcript_is_followed_only_where_agents_keep_theirs(
    server: CommandServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither elsewhere nor through a link that leads out: the client may read it by itself, if it can."""
    monkeypatch.setenv("HOME", str(tmp_path))
    secret = tmp_path / "secret.jsonl"
    secret.write_text(SECRET, encoding="utf-8")
    folder = tmp_path / ".claude" / "projects" / "p"
    folder.mkdir(parents=True)
    (folder / "link.jsonl").symlink_to(secret)
    for path in (secret, folder / "link.jsonl", folder / ".." / ".." / ".." / "secret.jsonl"):
        event = {"hook_event_name": "Stop", "session_id": "s", "cwd": "/", "transcript_path": str(path)}
        assert answer(server, "hook", "Stop", event=json.dumps(event)) == [(REFUSED, b"")]
