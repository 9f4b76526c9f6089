"""`mesh mcp` and a node: who answers what, what holds for a session, and nodes that go, hang, or are of another version."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from mesh.cli import caller_answers, command_server, mcp_client
from mesh.cli.command_frames import END, OUT, REFUSED
from mesh.cli.command_server import ClientTerminal, CommandServer
from mesh.cli.mcp_answers import answer_client
from mesh.cli.mcp_client import Options, simple_options
from mesh.store.home import Home
from tests.cli.test_command_server import answer, home, server, works

__all__ = ["home", "server"]  # fixtures

LEAST_CODE = "from mesh.cli.client import main; main()"
# Tells who answers: what runs in the client's own process reads this.
OWN = "import mesh.cli.mcp_client as c; c.Options.words = lambda *_: ['no command']; from mesh.cli.client import main; main()"


def message(method: str, number: Any = 1, **params: Any) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params})


def call(name: str, number: Any = 1, **arguments: Any) -> str:
    return message("tools/call", number, name=name, arguments=arguments)


class Agent:
    """Has started `mesh mcp`, and talks to it."""

    def __init__(self, home: str, *options: str, code: str = LEAST_CODE, folder: str = "/") -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", code, "mcp", "--home", home, *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=folder,
        )

    def send(self, *lines: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("".join(f"{line}\n" for line in lines))
        self.process.stdin.flush()

    def hear(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        said: dict[str, Any] = json.loads(self.process.stdout.readline())
        return said

    def ask(self, line: str) -> dict[str, Any]:
        self.send(line)
        return self.hear()

    def leave(self) -> list[dict[str, Any]]:
        """Close its end; returns what is answered until the end."""
        out, err = self.process.communicate(timeout=300)
        assert (self.process.returncode, err) == (0, "")
        return [json.loads(line) for line in out.splitlines()]


@contextmanager
def agent(home: str, *options: str, **how: str) -> Iterator[Agent]:
    made = Agent(home, *options, **how)
    try:
        yield made
    finally:
        made.process.kill()
        made.process.communicate()


@contextmanager
def deaf_node(home: Home) -> Iterator[socket.socket]:
    """A socket that takes everything and answers nothing."""
    with closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) as listener:
        listener.bind(os.path.join(home.path, command_server.SOCKET))
        listener.listen(64)
        yield listener


def texts(home: Home) -> list[str]:
    store = home.store()
    try:
        rows = store.database.run("SELECT record FROM record").fetchall()
    finally:
        store.close()
    return [str(row) for row in rows]


def told(server: CommandServer, line: str, *options: str) -> dict[str, Any]:
    """What the node answers to a message, on its socket."""
    found = answer(
        server, "mcp", f"--home={server.home}", *options, event=line, says=partial(caller_answers.answer, "/")
    )
    assert found[-1] == (END, b"0")
    said: dict[str, Any] = json.loads(b"".join(body for kind, body in found if kind == OUT))
    return said


def names(said: dict[str, Any]) -> list[str]:
    return [tool["name"] for tool in said["result"]["tools"]]


def test_the_node_answers_and_the_client_adds_nothing(server: CommandServer, home: Home) -> None:
    with agent(home.path) as one:
        for line in (
            message("initialize", protocolVersion="2025-06-18"),
            message("tools/list", "list"),
            call("hot", 7),
        ):
            assert one.ask(line) == told(server, line)
        one.send('{"jsonrpc":"2.0","method":"notifications/initialized"}')
        assert one.ask(message("ping", "p")) == {"jsonrpc": "2.0", "id": "p", "result": {}}
        assert one.leave() == []


@pytest.mark.parametrize("options", [(), ("--read-only",), ("--repo", "github.com/acme/api"), ("--agent=x",)])
def test_with_and_without_a_node_the_same_is_announced(home: Home, options: tuple[str, ...]) -> None:
    lines = [message("initialize", protocolVersion="2025-06-18"), message("tools/list"), message("prompts/list")]
    with CommandServer(home.path, None, None), agent(home.path, *options) as one:
        with_node = [one.ask(line) for line in lines]
    with agent(home.path, *options) as one:
        assert [one.ask(line) for line in lines] == with_node


def test_a_session_goes_on_while_its_node_goes_and_comes(home: Home) -> None:
    with agent(home.path) as one:
        for number in range(3):
            with CommandServer(home.path, None, None):
                assert one.ask(call("recent", number, count=1))["id"] == number
            said = one.ask(call("recent", f"without {number}", count=1))
            assert said["id"] == f"without {number}"
            assert said["result"]["isError"] is False
        assert one.leave() == []


def test_what_a_session_was_started_with_holds_in_the_node(server: CommandServer) -> None:
    assert [name for name in names(told(server, message("tools/list"))) if name.startswith("record_")]
    assert not [name for name in names(told(server, message("tools/list"), "--read-only")) if "record_" in name]
    for options in (("--read-only",), ("--read-only", "--repo=github.com/acme/api")):
        said = told(server, call("record_discovery", text="written by a reader"), *options)["result"]
        assert said["isError"] is True
        assert "there is no tool record_discovery" in said["content"][0]["text"]
    for arguments in ({"repo": "github.com/acme/other"}, {"is_global": True}):
        said = told(server, call("record_discovery", text="from elsewhere", **arguments), "--repo=github.com/acme/api")
        assert said["result"]["isError"] is True
        assert "bound to github.com/acme/api" in said["result"]["content"][0]["text"]
    said = told(server, call("search", query="written reader elsewhere", everywhere=True))["result"]
    assert said["structuredContent"]["records"] == []


def test_a_call_that_may_be_about_another_home_is_left_to_the_client(server: CommandServer) -> None:
    """Where the user has a list of homes, the client names none, and a repository decides."""
    line = call("hot", repo="github.com/acme/api")
    assert answer(server, "mcp", event=line) == [(REFUSED, b"")]
    assert told(server, line, f"--home={server.home}")["result"]["isError"] is False


@pytest.mark.parametrize("words", [("--nonsense",), ("--home",), ("--repo", "no repository"), ("--agent", "-x")])
def test_options_that_need_a_closer_look_are_none_of_the_nodes(server: CommandServer, words: tuple[str, ...]) -> None:
    assert simple_options(["mcp", *words]) is None
    assert answer(server, "mcp", *words, event=message("ping")) == [(REFUSED, b"")]


def test_options_reach_the_node_as_they_were_given() -> None:
    given = Options("/a b", "codex", "codex:1", "github.com/acme/api", read_only=True)
    read = simple_options(given.words("/h"))
    assert read is not None
    assert vars(read) == vars(given) | {"home": "/h"}


@pytest.mark.parametrize(
    "line", ["", "garbage", "[]", "{", '{"jsonrpc":"2.0","id":{},"method":"ping"}', "\udcff\udcfe", "[" * 100_000]
)
def test_garbage_is_answered_as_such_and_ends_nothing(server: CommandServer, line: str) -> None:
    said = told(server, line)
    assert said["error"]["code"] in (-32700, -32600)
    assert said["id"] is None
    assert works(server)


def test_a_message_that_is_too_long_is_refused_and_the_next_one_answered(server: CommandServer, home: Home) -> None:
    code = f"import mesh.cli.mcp_client as c; c.LINE_BYTES = 1000; {LEAST_CODE}"
    with agent(home.path, code=code) as one:
        one.send(call("search", query="x" * 200_000), message("ping", 2))
        heard = sorted((one.hear(), one.hear()), key=lambda said: "error" not in said)
        assert "at most" in heard[0]["error"]["message"]
        assert heard[1]["id"] == 2


def test_another_version_of_the_node_leaves_it_to_the_client(server: CommandServer, home: Home) -> None:
    code = f"import mesh.cli.mcp_client as c; c.__version__ = '0.0.0'; {LEAST_CODE}"
    with agent(home.path, code=code) as one:
        assert len(names(one.ask(message("tools/list")))) == 6
        assert one.ask(call("recent", 2))["result"]["isError"] is False


def test_a_node_that_hangs_keeps_nobody_waiting(home: Home) -> None:
    code = f"import mesh.cli.mcp_client as c; c._SECONDS = c._BRIEF_SECONDS = 0.2; {LEAST_CODE}"
    with deaf_node(home) as node, agent(home.path, code=code) as one:
        assert len(names(one.ask(message("tools/list")))) == 6
        assert one.ask(call("recent", 2))["result"]["isError"] is False
        node.settimeout(0)
        node.accept()[0].close()
        with pytest.raises(BlockingIOError):  # what has not answered once is not asked again for a while
            node.accept()


def test_what_nobody_waits_for_any_more_is_not_begun(server: CommandServer) -> None:
    """A node that was asleep finds messages that their sessions have answered by themselves."""
    line = call("record_discovery", text="note of a session that has gone on", is_global=True)

    def found() -> list[Any]:
        said = told(server, call("search", query="session gone"))["result"]["structuredContent"]
        return list(said["records"])

    ours, theirs = socket.socketpair()
    theirs.close()
    with closing(ours):
        terminal = ClientTerminal(ours, ["r", "", "", "0", line, "0", "mcp", f"--home={server.home}"], server)
        answer_client(terminal.argv, terminal)
    assert found() == []
    told(server, line)
    assert len(found()) == 1


def test_what_the_node_wrote_before_it_went_is_not_written_again(server: CommandServer, home: Home) -> None:
    """The same words of the same session, within a minute: once in the node, whose answer was lost, and once here."""
    line = call("record_discovery", text="the cache is cold on Mondays")
    options = ("--session=codex:1", "--agent=codex")
    assert told(server, line, *options)["result"]["structuredContent"]["state"] == "recorded"
    with agent(home.path, *options, code=OWN) as one:
        assert one.ask(line)["result"]["structuredContent"]["state"] == "recorded"
    found = told(server, call("search", query="cache cold Mondays"))["result"]["structuredContent"]["records"]
    assert len(found) == 1


def test_what_is_cancelled_is_not_answered_and_the_node_hears_of_it(home: Home) -> None:
    cancel = json.dumps({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "slow"}})
    with deaf_node(home) as node, agent(home.path) as one:
        one.send(call("search", "other", query="notifications/cancelled"), call("search", "slow", query="a"))
        kept, given_up = node.accept()[0], node.accept()[0]
        one.send(cancel)
        given_up.settimeout(300)
        while given_up.recv(65536):
            pass  # until it hangs up
        kept.close()
        assert one.hear()["id"] == "other"  # answered by the client's own process
        assert one.leave() == []
        given_up.close()


def test_an_agent_that_never_reads_holds_neither_the_node_nor_other_sessions_up(
    server: CommandServer, home: Home
) -> None:
    """It asks and asks; what it does not read fills its pipe, and then nothing more is read from it."""
    with agent(home.path) as silent, agent(home.path) as other:
        os.set_blocking(silent.process.stdin.fileno(), False)  # type: ignore[union-attr]
        asked = message("tools/list") + "\n"
        taken = 0
        while taken < 64 * mcp_client.AT_ONCE * len(asked):
            try:
                taken += os.write(silent.process.stdin.fileno(), asked.encode() * 100)  # type: ignore[union-attr]
            except BlockingIOError:
                if taken > 65536:
                    break
        for number in range(20):
            assert other.ask(call("recent", number))["id"] == number
            assert works(server)
        silent.process.send_signal(signal.SIGKILL)
        silent.process.wait()
        assert works(server)


def test_a_session_killed_in_the_middle_of_a_call_ends_only_itself(server: CommandServer, home: Home) -> None:
    for _ in range(command_server.AT_ONCE + 2):
        with agent(home.path) as one:
            one.send(call("search", query="note"), call("recent", 2, count=20))
    assert works(server)


def test_the_categories_of_the_folders_repository_are_announced(
    server: CommandServer, home: Home, tmp_path: Path
) -> None:
    """The node asks the client where it is: its own folder is not the session's."""
    for folder in ("objects", "refs"):
        (tmp_path / "project" / ".git" / folder).mkdir(parents=True)
    (tmp_path / "project" / ".git" / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
    (tmp_path / "project" / ".clan-mesh.toml").write_text('categories = ["weird-hardware"]\n', encoding="utf-8")
    for options in (("--tools", "all"), ("--tools=all", "--read-only")):
        with agent(home.path, *options, folder=str(tmp_path / "project")) as one:
            said = one.ask(message("tools/list"))
        [search] = [tool for tool in said["result"]["tools"] if tool["name"] == "search_memory"]
        assert "weird-hardware" in search["inputSchema"]["properties"]["category"]["enum"]
