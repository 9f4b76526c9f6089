"""`mesh setup` and `mesh service` with real processes: what a person has afterwards, once, twice, and when something is in the way."""

import json
import os
import pty
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mesh.cli.command_list import COMMANDS
from mesh.node.service_files import Service
from tests.end_to_end.commands import MESH, PATIENCE_SECONDS, asked, complaint, texts, wait_until
from tests.end_to_end.fleet import Sidecar, settled_address, sidecars
from tests.end_to_end.person import Person, person
from tests.end_to_end.stand_in_systemctl import calls


@pytest.fixture
def ada(tmp_path: Path) -> Iterator[Person]:
    """Someone with two agents, at a machine without a service manager."""
    with person(tmp_path / "ada") as made:
        (made.user / ".claude").mkdir()
        (made.user / ".claude" / "settings.json").write_text('{\n  // mine\n  "model": "opus"\n}\n')
        (made.user / ".codex").mkdir()
        yield made


@pytest.fixture
def bob(tmp_path: Path) -> Iterator[Person]:
    """Someone with a service manager, and no agents."""
    with person(tmp_path / "bob", manager=True) as made:
        yield made


def sidecar_of(someone: Person, *words: str) -> int | None:
    process: int | None = someone.asked("status", *words)["sidecar"]
    return process


def steps(answer: Any, name: str) -> str:
    """What one step said."""
    return "\n".join(step["says"] for step in answer["steps"] if step["step"] == name)


# A first time, a second time


def test_one_command_makes_a_mesh_puts_it_into_agents_and_runs_it(ada: Person) -> None:
    """And ends in what the doctor says."""
    done = ada.mesh("setup", "--name", "laptop")
    assert done.returncode == 0, done.stderr
    assert "node: made laptop·" in done.stdout
    settings = (ada.user / ".claude" / "settings.json").read_text()
    assert "// mine" in settings
    assert f"{MESH} hook SessionStart" in settings
    assert "hook" in (ada.user / ".codex" / "hooks.json").read_text()
    assert f"runs as process {sidecar_of(ada)}," in done.stdout
    assert "/hooks" in done.stdout  # what a person still has to do in Codex
    assert "no systemd user manager can be reached (Failed to connect to bus: No medium found)" in done.stdout
    assert "hook at the start of an agent's session starts it" in done.stdout
    assert "recovery key here" in done.stdout.partition("doctor:\n")[2]
    assert "Take the recovery key offline now" in done.stderr


def test_a_second_time_changes_nothing(ada: Person) -> None:
    """Neither the node, nor its process, nor a byte of anyone's settings."""
    ada.done("setup", "--name", "laptop", "--listen", "127.0.0.1:0")
    before, process = ada.settings(), sidecar_of(ada)
    node = ada.asked("status")["node"]
    again = ada.mesh("setup", "--name", "other", "--listen", "127.0.0.1:0")
    assert again.returncode == 0
    assert "node: kept laptop·" in again.stdout
    assert "claude-code is as it was" in again.stdout
    assert f"runs already, as process {process}" in again.stdout
    assert ada.settings() == before
    assert (ada.asked("status")["node"], sidecar_of(ada)) == (node, process)


def test_a_sidecar_that_listens_nowhere_is_started_anew_to_listen(ada: Person) -> None:
    """The only reason to end one that runs."""
    ada.done("setup", "--no-agents")
    first = sidecar_of(ada)
    address = settled_address()
    ada.done("setup", "--no-agents", "--listen", address)
    second = sidecar_of(ada)
    assert second not in (first, None)
    assert ada.asked("peers")["addresses"] == [address]
    ada.done("setup", "--no-agents", "--listen", address)
    assert sidecar_of(ada) == second


def test_what_was_asked_to_be_left_out_is_left_out(ada: Person) -> None:
    """No agent's settings are touched, no service is asked for."""
    before = ada.settings()
    answer = ada.asked("setup", "--no-agents", "--no-service")
    assert ada.settings() == before
    assert steps(answer, "agents") == "left alone, as asked"
    assert "as asked" in steps(answer, "sidecar")
    assert answer["failed"] == []


# Tokens


def test_with_a_token_one_is_a_member_and_in_step(ada: Person, tmp_path: Path) -> None:
    """The token is used once, however often the command is repeated."""
    first = Sidecar(tmp_path / "first")
    with sidecars(first):
        token = first.init().up().invite()
        first.write("what the mesh knew before")
        done = ada.mesh("setup", token, "--name", "builder", "--no-agents")
        assert done.returncode == 0, done.stderr
        assert "has joined the mesh, with 1 others" in done.stdout
        wait_until(lambda: texts(ada.home) == ["what the mesh knew before"])
        again = ada.done("setup", token, "--no-agents")
        assert "it is a member already, so the token was not used" in again


def test_a_node_that_waits_for_admission_joins_with_its_token(ada: Person, tmp_path: Path) -> None:
    """Its home is kept, also if its sidecar runs."""
    first = Sidecar(tmp_path / "first")
    with sidecars(first):
        token = first.init().up().invite()
        mesh = json.loads(ada.done("init", "--mesh", asked(first.home, "status")["mesh"], "--json"))["mesh"]
        ada.done("setup", "--no-agents")
        node = ada.asked("status")["node"]
        answer = ada.asked("setup", token, "--no-agents")
        assert "it has joined the mesh" in steps(answer, "node")
        assert (ada.asked("status")["node"], ada.asked("status")["mesh"]) == (node, mesh)
        assert ada.asked("status")["certified"] is True


def test_a_token_of_another_mesh_stops_before_anything_is_touched(ada: Person, tmp_path: Path) -> None:
    """The next step is a home of its own for the other mesh."""
    ada.done("init")
    before = ada.settings()
    first = Sidecar(tmp_path / "first")
    with sidecars(first):
        done = ada.mesh("setup", first.init().up().invite())
    assert done.returncode == 1
    assert "node: the node in" in done.stderr
    assert "mesh setup TOKEN --home DIR" in done.stderr
    assert ada.settings() == before
    assert sidecar_of(ada) is None


@pytest.mark.parametrize("words", [["no-token"], ["--listen", "nowhere"]])
def test_what_makes_no_sense_is_said_before_anything_is_done(ada: Person, words: list[str]) -> None:
    """Not even a home is made."""
    complaint(ada.mesh("setup", *words))
    assert not ada.home.exists()


# Something in the way


def test_settings_that_are_broken_are_left_alone_and_the_rest_is_done(ada: Person) -> None:
    """The step is named, with the next command, and the exit code says that not all is well."""
    (ada.user / ".claude" / "settings.json").write_text("{ broken")
    done = ada.mesh("setup")
    assert done.returncode == 1
    assert (ada.user / ".claude" / "settings.json").read_text() == "{ broken"
    assert "agents: " in done.stderr
    assert "mesh install claude-code" in done.stderr
    assert "not done: agents" in done.stderr
    assert (ada.user / ".codex" / "hooks.json").exists()
    assert sidecar_of(ada) is not None
    assert "doctor:" in done.stdout
    (ada.user / ".claude" / "settings.json").write_text("{}")
    assert ada.mesh("setup").returncode == 0


def test_an_address_that_is_taken_fails_the_sidecar_only(ada: Person) -> None:
    """Agents are installed, and the doctor still says what is missing."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        done = ada.mesh("setup", "--listen", f"127.0.0.1:{taken.getsockname()[1]}")
    assert done.returncode == 1
    assert "mesh: sidecar: " in done.stderr
    assert (ada.user / ".codex" / "hooks.json").exists()
    assert "no sidecar" in done.stdout.partition("doctor:\n")[2]


@pytest.mark.parametrize(("said", "is_installed"), [("n\n", False), ("\n", True), ("yes\n", True), ("\x04", False)])
def test_a_person_at_a_terminal_is_asked_before_settings_are_touched(
    ada: Person, said: str, *, is_installed: bool
) -> None:
    """The answer holds, and the rest is done either way; end of input is no yes."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [MESH, "setup"], stdin=theirs, stderr=theirs, stdout=subprocess.PIPE, cwd=ada.user, env=ada.environ
    )
    try:
        os.close(theirs)
        seen = b""
        while b"Go on?" not in seen:
            seen += os.read(ours, 1024)
        assert b".codex/hooks.json" in seen
        assert not (ada.user / ".codex" / "hooks.json").exists()
        os.write(ours, said.encode())
        printed, _ = process.communicate(timeout=PATIENCE_SECONDS)
    finally:
        process.kill()
        process.wait()
        os.close(ours)
    assert process.returncode == 0
    assert (ada.user / ".codex" / "hooks.json").exists() is is_installed
    assert ("as you said" in printed.decode()) is not is_installed
    assert sidecar_of(ada) is not None


def test_a_second_home_does_not_take_the_hooks_from_the_first(ada: Person) -> None:
    """It says how to give it repositories; from then on the hooks serve both."""
    ada.done("setup")
    before = ada.settings()
    second = str(ada.user / "acme")
    done = ada.mesh("setup", "--home", second)
    assert done.returncode == 0, done.stderr
    assert ada.settings() == before
    assert f"mesh homes add 'github.com/OWNER/*' {second}" in done.stdout
    ada.done("homes", "add", "github.com/acme/*", second)
    assert "mesh homes add" not in ada.done("setup", "--home", second)
    assert ada.asked("status", at=ada.clone("app", "https://github.com/acme/app"))["home"] == second


def test_hooks_that_name_another_home_are_not_turned_silently(ada: Person) -> None:
    """They were made when there was no list; with both homes in the list they go by it."""
    first, second = str(ada.user / "zeta"), str(ada.user / "acme")
    ada.done("setup", "--home", first)
    assert f"--home {first}" in (ada.user / ".claude" / "settings.json").read_text()
    before = ada.settings()
    done = ada.mesh("setup", "--home", second)
    assert done.returncode == 1
    assert f"serve {first}" in done.stderr
    assert ada.settings() == before
    assert f"name {first}" in ada.mesh("homes", "add", "github.com/acme/*", second).stderr
    ada.done("homes", "add", "**", first)
    assert ada.mesh("setup", "--home", second).returncode == 0
    assert "--home" not in (ada.user / ".claude" / "settings.json").read_text()


# Services


def test_without_a_manager_no_service_is_left_behind(ada: Person) -> None:
    """It says what is missing, and what happens instead."""
    ada.done("init")
    before = ada.settings()
    sentence, step = complaint(ada.mesh("service", "install"))
    assert "Failed to connect to bus" in sentence
    assert "mesh up --detach" in step
    assert ada.settings() == before
    status = ada.mesh("service", "status")
    assert status.returncode == 3
    assert "no service is installed" in status.stdout


def test_setup_has_the_system_keep_the_sidecar(bob: Person) -> None:
    """As a unit with the whole command in it; the second time nothing happens."""
    done = bob.mesh("setup", "--listen", "127.0.0.1:0")
    assert done.returncode == 0, done.stderr
    unit = Path(Service(str(bob.home), bob.environ, "linux").path)
    assert f'"{MESH}" "up" "--home" "{bob.home}" "--listen" "127.0.0.1:0"' in unit.read_text()
    assert "loginctl enable-linger" in done.stdout
    status = bob.asked("service", "status")
    assert (status["kept"], status["listen"]) == (True, ["127.0.0.1:0"])
    assert calls(bob.folder) == ["daemon-reload", "enable clan-mesh.service", "restart clan-mesh.service"]
    before = bob.settings()
    again = bob.done("setup")
    assert "clan-mesh.service is as it was" in again
    assert bob.settings() == before
    assert bob.asked("service", "status")["sidecar"] == status["sidecar"]


def test_a_service_takes_over_from_a_sidecar_started_by_hand(bob: Person) -> None:
    """There is one at a time, and the records it had are still there."""
    bob.done("up", "--init", "--detach")
    by_hand = sidecar_of(bob)
    bob.done("op", "add", "facts", "written before")
    answer = bob.asked("service", "install")
    assert answer["replaced"] == by_hand
    assert sidecar_of(bob) == answer["sidecar"] != by_hand
    assert texts(bob.home) == ["written before"]
    assert bob.mesh("service", "status").returncode == 0


def test_a_service_that_was_stopped_is_started_by_installing_it_again(bob: Person) -> None:
    """`mesh down` ends it for now; its addresses are remembered."""
    bob.done("init")
    first = bob.asked("service", "install", "--listen", "127.0.0.1:0")
    bob.done("down")
    assert bob.mesh("service", "status").returncode == 3
    second = bob.asked("service", "install")
    assert second["listen"] == ["127.0.0.1:0"]
    assert second["sidecar"] not in (None, first["sidecar"])
    assert len(bob.asked("peers")["addresses"]) == 1


def test_other_addresses_start_the_service_anew(bob: Person) -> None:
    """The unit is written anew, and holds at once."""
    bob.done("init")
    first = bob.asked("service", "install")
    second = bob.asked("service", "install", "--listen", "127.0.0.1:0")
    assert second["did"] == "changed"
    assert second["sidecar"] not in (None, first["sidecar"])
    assert len(bob.asked("peers")["addresses"]) == 1


def test_uninstalling_leaves_nothing_of_the_service(bob: Person) -> None:
    """Its process ends, its files go; a second time there is nothing to do."""
    bob.done("init")
    before = bob.settings()
    bob.done("service", "install")
    said = bob.done("service", "uninstall")
    assert "hooks still start the sidecar" in said
    assert sidecar_of(bob) is None
    assert bob.settings() == before
    assert not (bob.user / ".config" / "systemd" / "user" / "default.target.wants" / "clan-mesh.service").is_symlink()
    assert calls(bob.folder)[-2:] == ["disable --now clan-mesh.service", "daemon-reload"]
    assert "no service was installed" in bob.done("service", "uninstall")


def test_a_service_can_be_removed_while_its_manager_is_away(bob: Person) -> None:
    """As over a connection without a session: the files go, and it says that a process may be left."""
    bob.done("init")
    before = bob.settings()
    process = bob.asked("service", "install")["sidecar"]
    away = bob.folder / "away"
    away.mkdir()
    (away / "systemctl").write_text("#!/bin/sh\necho away >&2\nexit 1\n")
    (away / "systemctl").chmod(0o755)
    done = bob.mesh("service", "uninstall", PATH=f"{away}:{bob.environ['PATH']}")
    assert done.returncode == 0
    assert "mesh down" in done.stderr
    assert bob.settings() == before
    assert not (bob.user / ".config" / "systemd" / "user" / "default.target.wants" / "clan-mesh.service").is_symlink()
    assert sidecar_of(bob) == process


def test_hooks_are_told_not_to_start_it_only_if_a_person_says_so(bob: Person) -> None:
    """And are allowed again by whoever installs the service."""
    bob.done("init")
    bob.done("service", "uninstall")
    assert not (bob.home / "no-autostart").exists()
    bob.done("service", "uninstall", "--no-autostart")
    assert (bob.home / "no-autostart").exists()
    assert "hooks do not start it" in bob.mesh("service", "status").stdout
    bob.done("service", "install")
    assert not (bob.home / "no-autostart").exists()


@pytest.mark.skipif("hook" not in COMMANDS, reason="there is no mesh hook yet")
def test_the_hook_of_a_session_starts_the_service_and_not_a_sidecar_beside_it(bob: Person) -> None:
    """So it listens where it always did."""
    bob.done("init")
    bob.done("service", "install", "--listen", "127.0.0.1:0")
    bob.done("down")
    event = {"hook_event_name": "SessionStart", "source": "startup", "session_id": "one", "cwd": str(bob.user)}
    bob.done("hook", "SessionStart", stdin=json.dumps(event), XDG_RUNTIME_DIR=str(bob.folder))
    wait_until(lambda: bob.asked("service", "status")["kept"])
    assert calls(bob.folder)[-1] == "start clan-mesh.service"


def test_two_homes_have_two_services(bob: Person) -> None:
    """One is stopped without the other, in paths with odd characters."""
    second = str(bob.user / "it's 100% acme $HOME")
    for home in (str(bob.home), second):
        bob.done("init", "--home", home)
        assert bob.asked("service", "install", "--home", home)["did"] == "installed"
    assert None not in {sidecar_of(bob), sidecar_of(bob, "--home", second)}
    bob.done("service", "uninstall")
    assert sidecar_of(bob) is None
    assert sidecar_of(bob, "--home", second) is not None
    bob.done("service", "uninstall", "--home", second)
    assert sidecar_of(bob, "--home", second) is None


def test_setup_runs_the_sidecar_itself_if_the_unit_is_not_ours(bob: Person) -> None:
    """The foreign file stays, the step has failed, the node runs."""
    unit = bob.user / ".config" / "systemd" / "user" / "clan-mesh.service"
    unit.parent.mkdir(parents=True)
    unit.write_text("[Service]\nExecStart=/bin/true\n")
    done = bob.mesh("setup")
    assert done.returncode == 1
    assert "service: " in done.stderr
    assert unit.read_text() == "[Service]\nExecStart=/bin/true\n"
    assert sidecar_of(bob) is not None
