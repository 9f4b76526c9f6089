"""The sidecar as a process: it starts, answers, and stops without leaving anything behind, however often it is told to."""

import json
import os
import re
import signal
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mesh.app.client import ask_text
from mesh.store.wake_signal import socket_file
from tests.end_to_end.commands import PATIENCE_SECONDS, asked, complaint, done, mesh, quickly, texts, wait_until
from tests.end_to_end.fleet import LOOPBACK, Sidecar, mesh_of, sidecars, wait_until_in_step, wait_until_linked
from tests.end_to_end.prometheus import parse

SOCKETS = ("sidecar.sock", "bell.sock", "commands.sock")
LOG_LINE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z (DEBUG|INFO|WARNING|ERROR) [a-z.]+ .+")


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Sidecar]:
    """A mesh of one, not started."""
    made = Sidecar(tmp_path / "home")
    with sidecars(made):
        yield made.init()


def is_taken(address: str) -> bool:
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port)), PATIENCE_SECONDS).close()
    except ConnectionRefusedError:
        return False
    return True


def exists(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.fixture
def detached(node: Sidecar) -> Iterator[Any]:
    """What `mesh up --detach --json` said. Whatever runs of it at the end is ended."""
    said = asked(node.home, "up", "--detach", "--listen", LOOPBACK)
    try:
        yield said
    finally:
        running = asked(node.home, "status")["sidecar"]
        if running is not None:
            os.kill(running, signal.SIGKILL)


# Starting and stopping


def test_a_sidecar_that_is_told_to_stop_leaves_nothing_behind(tmp_path: Path) -> None:
    """Exit code 0; no socket, no port, no child process; the neighbour is told, and sees no failure."""
    with mesh_of(2, tmp_path) as (first, second):
        wait_until_linked([first, second])
        second.process.send_signal(signal.SIGTERM)
        assert second.process.wait(PATIENCE_SECONDS) == 0
        assert [name for name in SOCKETS if os.path.exists(os.path.join(second.home, name))] == []
        assert not is_taken(second.addresses[0])
        with pytest.raises(ProcessLookupError):
            os.killpg(second.process.pid, 0)  # it led a group of its own: nobody is left in it
        assert asked(second.home, "status")["sidecar"] is None
        assert second.log.read_text().splitlines()[-1].endswith("mesh.node stopped")
        wait_until(lambda: first.peers()["links"] == 0)
        wait_until(lambda: first.has_logged("goodbye peer=node1"))
        warnings = [line for line in first.log.read_text().splitlines() if " WARNING " in line]
        # On a machine that holds a process up for a second, its neighbours' clocks seem to be off.
        assert [line for line in warnings if "clock is off" not in line] == []


def test_a_sidecar_with_an_open_invitation_and_a_half_open_connection_stops_all_the_same(node: Sidecar) -> None:
    """Strangers that say nothing hold nobody up, on either port."""
    node.up()
    invited = asked(node.home, "invite")
    doors = [*node.addresses, *invited["addresses"]]
    strangers = [
        socket.create_connection(("127.0.0.1", int(door.rpartition(":")[2])), PATIENCE_SECONDS) for door in doors
    ]
    try:
        assert node.stop() == 0
    finally:
        for stranger in strangers:
            stranger.close()
    assert [door for door in doors if is_taken(door)] == []


def test_a_home_has_one_sidecar(node: Sidecar) -> None:
    """A second one is refused, says why, and leaves the first and its sockets alone."""
    node.up()
    for words in (["up"], ["up", "--detach"]):
        sentence, step = complaint(mesh(node.home, *words))
        assert f"process {node.process.pid}" in sentence
        assert "mesh status" in step
    assert node.peers()["links"] == 0
    node.write("the first still runs")
    assert node.stop() == 0


def test_a_killed_sidecar_leaves_sockets_that_the_next_one_replaces(node: Sidecar) -> None:
    """The files are there, nobody listens: commands say so and work, and a new sidecar starts."""
    node.up().kill()
    assert all(os.path.exists(os.path.join(node.home, name)) for name in SOCKETS)
    node.write("written while nobody listened")
    sentence, step = complaint(mesh(node.home, "invite"))
    assert "no sidecar is running" in sentence
    assert "mesh up" in step
    node.up()
    assert node.peers()["links"] == 0
    assert node.texts() == {"written while nobody listened"}
    assert node.stop() == 0


def test_a_sidecar_can_be_killed_and_started_many_times(node: Sidecar) -> None:
    """Each life answers, and finds what the earlier ones were told."""
    for life in range(3):
        node.up()
        node.write(f"life {life}")
        node.kill()
    assert node.texts() == {f"life {life}" for life in range(3)}
    done(node.home, "verify")


def test_a_detached_sidecar_runs_until_mesh_down(node: Sidecar, detached: Any) -> None:
    """It answers at once, logs to the home, has a session of its own, and is gone when `mesh down` returns."""
    process = detached["pid"]
    assert asked(node.home, "status")["sidecar"] == process
    assert os.getsid(process) == process != os.getsid(0)
    assert node.peers()["addresses"] == detached["addresses"]
    assert "mesh.node up" in Path(node.home, "sidecar.log").read_text()
    assert asked(node.home, "down") == {"stopped": process}
    assert asked(node.home, "status")["sidecar"] is None
    assert not is_taken(detached["addresses"][0])
    wait_until(lambda: not exists(process))


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0)])
def test_three_nodes_in_the_background_are_all_stopped_by_mesh_down(tmp_path: Path, order: tuple[int, ...]) -> None:
    """Whoever dialled whom, and whoever goes first: each is gone, and no neighbour that stays calls it alive."""
    fleet = [Sidecar(tmp_path / name) for name in ("laptop", "builder", "tester")]
    running: dict[Sidecar, int] = {}
    try:
        for node in fleet:
            if running:
                node.join_quickly(fleet[0].invite(), "another")
            else:
                node.init()
            running[node] = asked(node.home, "up", "--detach", "--listen", LOOPBACK)["pid"]
        wait_until_linked(fleet)
        wait_until_in_step(fleet)
        for index in order:
            node = fleet[index]
            assert asked(node.home, "down") == {"stopped": running[node]}
            wait_until(lambda process=running[node]: not exists(process))  # type: ignore[misc]
            del running[node]
            for other in running:
                wait_until(lambda node=node, other=other: other.state_of(node) != "alive")  # type: ignore[misc]
                (seen,) = [peer for peer in other.peers()["peers"] if peer["node"] == node.node]
                assert (seen["linked"], seen["in_step"]) == (False, None)
    finally:
        for process in running.values():
            os.kill(process, signal.SIGKILL)


def test_stopping_what_does_not_run_is_no_error(node: Sidecar, detached: Any) -> None:
    """The second `mesh down` has nothing to do and says so."""
    assert "stopped process" in done(node.home, "down")
    assert done(node.home, "down") == "no sidecar was running\n"
    assert asked(node.home, "down") == {"stopped": None}


def test_a_detached_sidecar_that_cannot_start_says_why(node: Sidecar) -> None:
    """The reason is that of the process in the background, with its next step; nothing is left running."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        sentence, step = complaint(mesh(node.home, "up", "--detach", "--listen", address))
    assert address in sentence
    assert "another address" in step
    assert asked(node.home, "status")["sidecar"] is None


def test_a_node_that_was_not_admitted_runs_but_does_not_listen(tmp_path: Path) -> None:
    """It is told to join; without --listen it serves its own agents."""
    first = tmp_path / "first"
    quickly(first, "init", "--name", "first")
    lone = Sidecar(tmp_path / "lone", listen=None)
    quickly(lone.home, "init", "--name", "lone", "--mesh", asked(first, "status")["mesh"])
    sentence, step = complaint(mesh(lone.home, "up", "--detach", "--listen", LOOPBACK))
    assert "no certificate" in sentence
    assert "mesh join" in step
    with sidecars(lone):
        lone.up()
        lone.write("for later")
        assert lone.peers()["addresses"] == []
        assert lone.stop() == 0


# What it tells


def test_metrics_are_prometheus_text_with_all_that_matters(tmp_path: Path) -> None:
    """Links, bytes by kind both ways, verdicts, queues, and the lag of each peer, by name."""
    with mesh_of(2, tmp_path) as (first, second):
        wait_until_linked([first, second])
        second.write("a record")
        wait_until_in_step([first, second])
        # That both have the same is one thing; that each has heard so from the other, and has no more to say, another.
        wait_until(lambda: [(peer["in_step"], peer["queued_bytes"]) for peer in first.peers()["peers"]] == [(True, 0)])
        families = parse(ask_text(first.home, "/metrics"))
        assert families["mesh_links"].samples == {frozenset(): 1}
        assert families["mesh_members"].by("state") == {"alive": 1}
        for way in ("in", "out"):
            sizes = families[f"mesh_bytes_{way}_total"].by("kind")
            counts = families[f"mesh_messages_{way}_total"].by("kind")
            assert sizes.keys() == counts.keys()
            assert sizes["hello"] > counts["hello"] == 1
        assert families["mesh_merged_total"].by("verdict")["new"] >= 1
        for queue in ("jobs", "feeds", "merging_bytes"):
            assert list(families[f"mesh_queue_{queue}"].samples) == [frozenset()]
        (name,) = families["mesh_lag_seconds"].by("peer")
        assert name.startswith("node1·")
        for family in ("mesh_queue_link_bytes", "mesh_peer_lacks_operations", "mesh_we_lack_operations"):
            assert families[family].by("peer") == {name: 0}
        counters = {name for name, family in families.items() if family.kind == "counter"}
        assert counters == {name for name in families if name.endswith("_total")}


PEER_FIELDS = {
    "node": str,
    "name": str,
    "state": str,
    "addresses": list,
    "linked": bool,
    "dialed": bool,
    "address": str,
    "in_step": bool,
    "they_lack": int,
    "we_lack": int,
    "holds_back": int,
    "queued_bytes": int,
    "bytes": int,
    "bytes_per_second": int,
}


def test_mesh_peers_says_who_is_in_step(tmp_path: Path) -> None:
    """For machines every field with its type; for people a table and one sentence."""
    with mesh_of(2, tmp_path) as (first, second):
        wait_until_linked([first, second])
        # A neighbour may have said that it is in step before it has answered our first ping.
        wait_until(lambda: all(peer["in_step"] and peer["round_trip_ms"] for peer in second.peers()["peers"]))
        report = asked(second.home, "peers")
        assert report["root"] == second.root()
        assert (report["links"], report["in_step"], report["behind"]) == (1, 1, 0)
        (peer,) = report["peers"]
        assert {name: type(peer[name]) for name in PEER_FIELDS} == PEER_FIELDS
        assert peer["state"] == "alive"
        assert peer["addresses"] == first.addresses == [peer["address"]]
        assert peer["round_trip_ms"] > 0  # it dialled, so it pings
        heading, row, sentence = done(second.home, "peers").splitlines()
        assert "round trip" in heading
        assert row.startswith("node0·")
        assert sentence == "1 of 1 neighbours in step, 1 other members"
        first.kill()
        wait_until(lambda: second.peers()["links"] == 0)
        wait_until(lambda: second.state_of(first) == "suspect")


def test_mesh_peers_without_a_sidecar_says_who_belongs(tmp_path: Path) -> None:
    """Nobody was asked, and that is said where people read and machines do not."""
    with mesh_of(2, tmp_path) as (first, second):
        wait_until_in_step([first, second])
        first.stop()
        finished = mesh(first.home, "peers", "--json")
        assert finished.returncode == 0
        report = json.loads(finished.stdout)
        assert "no sidecar is running" in finished.stderr
        assert [(peer["state"], peer["linked"], peer["in_step"]) for peer in report["peers"]] == [
            ("unseen", False, None)
        ]
        assert "node1·" in done(first.home, "peers")


def test_log_lines_are_structured(tmp_path: Path) -> None:
    """Time, level, logger, then what happened with its keys: one event, one line."""
    with mesh_of(2, tmp_path) as (first, second):
        wait_until_linked([first, second])
        first.stop()
        lines = first.log.read_text().splitlines()
        assert lines
        assert [line for line in lines if not LOG_LINE.fullmatch(line)] == []
        assert first.has_logged("mesh.node up node=node0·")
        assert first.has_logged(f"listen={first.addresses[0]}")
        assert first.has_logged("mesh.gossip link up peer=node1·")


# Where it answers


@pytest.fixture
def runtime_folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A short path, as a system gives to its users."""
    with tempfile.TemporaryDirectory(prefix="run-") as folder:
        monkeypatch.setenv("XDG_RUNTIME_DIR", folder)
        yield Path(folder)


def test_sockets_of_a_home_with_a_very_long_path_move_to_the_runtime_folder(
    tmp_path: Path, runtime_folder: Path
) -> None:
    """Longer than the system takes; everything works, and nothing is left there."""
    node = Sidecar(tmp_path / ("a" * 60) / ("b" * 60) / "home")
    Path(node.home).parent.mkdir(parents=True)
    with sidecars(node):
        node.init().up()
        assert [name for name in SOCKETS if os.path.exists(os.path.join(node.home, name))] == []
        assert len(list(runtime_folder.iterdir())) == len(SOCKETS)
        assert Path(socket_file(node.home, SOCKETS[0])).is_relative_to(runtime_folder)
        node.write("and the bell rings")
        wait_until(lambda: node.peers()["root"] == node.root())
        assert node.invite()
        assert node.stop() == 0
    assert list(runtime_folder.iterdir()) == []


def test_only_the_owner_can_talk_to_a_sidecar(node: Sidecar) -> None:
    """Sockets have no rights for anybody else."""
    node.up()
    for name in SOCKETS:
        assert os.stat(os.path.join(node.home, name)).st_mode & 0o077 == 0


REQUESTS = {
    "an unknown path": (b"GET /nothing HTTP/1.0\r\n\r\n", b" 404 "),
    "the wrong method": (b"GET /invite HTTP/1.0\r\n\r\n", b" 405 "),
    "no JSON": (b"POST /invite HTTP/1.0\r\nContent-Length: 3\r\n\r\n{{{", b" 400 "),
    "an array": (b"POST /invite HTTP/1.0\r\nContent-Length: 2\r\n\r\n[]", b" 400 "),
    "too many uses": (b'POST /invite HTTP/1.0\r\nContent-Length: 15\r\n\r\n{"uses": 99999}', b" 400 "),
    "uses in words": (b'POST /invite HTTP/1.0\r\nContent-Length: 15\r\n\r\n{"uses": "one"}', b" 400 "),
    "no HTTP": (b"\x00\xff\r\n\r\n", b" 400 "),
}


def test_odd_requests_to_the_local_socket_are_refused_and_harm_nothing(node: Sidecar) -> None:
    """Each gets its status, and the next question is answered as before."""
    node.up()
    for name, (request, status) in REQUESTS.items():
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(PATIENCE_SECONDS)
            connection.connect(socket_file(node.home, "sidecar.sock"))
            connection.sendall(request)
            answer = connection.recv(65536)
        assert status in answer.split(b"\r\n")[0] + b" ", f"{name}: {answer!r}"
    assert node.peers()["links"] == 0
    assert node.stop() == 0


def test_a_command_that_rings_the_bell_is_heard_by_the_engine(node: Sidecar) -> None:
    """What a command wrote is in what gossip would tell others, without the command waiting for it."""
    node.up()
    node.write("heard")
    wait_until(lambda: node.peers()["root"] == node.root())
    assert texts(node.home) == ["heard"]
