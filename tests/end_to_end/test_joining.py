"""How nodes become members and cease to be, with real sidecars: tokens, throw-away nodes, goodbyes, revocation, admins, recovery."""

import contextlib
import json
import os
import shutil
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mesh.store.home import open_home
from mesh.store.join_table import Cards
from peers.proto.cards import CERTIFICATE, card_kind
from peers.trust.join_token import parse
from peers.trust.x509_certificates import read
from tests.end_to_end.commands import PATIENCE_SECONDS, asked, bytes_of, complaint, done, mesh, quickly, wait_until
from tests.end_to_end.fleet import Sidecar, mesh_of, sidecars, wait_until_in_step, wait_until_linked


@pytest.fixture
def first(tmp_path: Path) -> Iterator[Sidecar]:
    """A mesh of one that is up and may invite."""
    made = Sidecar(tmp_path / "first")
    with sidecars(made):
        yield made.init().up()


def refused(token: str, home: Path, *options: str, is_answered: bool = True) -> tuple[str, str]:
    """What `mesh join` says when it does not work; a home that was made for it is gone again, unless nothing was answered."""
    existed = home.exists()
    said = complaint(mesh(home, "join", token, *options))
    assert home.exists() == (existed or not is_answered)
    return said


def certificate_of(home: Path | str) -> bytes:
    """The certificate a home has for its own node."""
    opened = open_home(os.fspath(home))
    store = opened.store()
    try:
        (card,) = (
            card for card in Cards(store.database).all() if card.kind == CERTIFICATE and card.subject == opened.node
        )
        return card.data
    finally:
        store.close()


def counts_of(sidecar: Sidecar) -> Any:
    return asked(sidecar.home, "status")["counts"]


# Tokens


class Gate:
    """A way to a join port on which the answer to the first request is lost."""

    def __init__(self, address: str, is_admitted: Callable[[], bool]) -> None:
        host, _, port = address.rpartition(":")
        self._target = host, int(port)
        self._is_admitted = is_admitted
        self.has_cut = False
        self._server = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._server.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        self._server.close()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._server.accept()
                with near, socket.create_connection(self._target) as far:
                    back = threading.Thread(target=self._pump, args=(far, near, True))
                    back.start()
                    self._pump(near, far, False)
                    back.join()

    def _pump(self, source: socket.socket, target: socket.socket, is_answer: bool) -> None:  # noqa: FBT001
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if is_answer and not self.has_cut and self._is_admitted():
                    self.has_cut = True
                    break
                target.sendall(data)
        for end in (source, target):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


def test_a_join_whose_answer_was_lost_is_repeated(first: Sidecar, tmp_path: Path) -> None:
    """The token is used up by then, but by this very key: the home is there for it."""
    token = parse(first.invite())
    gate = Gate(token.addresses[0], lambda: first.has_logged("joined node"))
    try:
        text = token._replace(addresses=(gate.address,)).encode()
        sentence, step = refused(text, tmp_path / "second", is_answered=False)
        assert gate.has_cut
        assert "its answer was lost" in sentence
        assert "repeat" in step
        done(tmp_path / "second", "join", text)
    finally:
        gate.close()
    assert counts_of(first)["members"] == 2


def test_a_node_that_may_not_invite_says_who_may(tmp_path: Path) -> None:
    """By name, and with the command to run there."""
    with mesh_of(2, tmp_path) as (first, second):
        sentence, step = complaint(mesh(second.home, "invite"))
        assert "may not invite" in sentence
        assert asked(first.home, "status")["name"] in step
        assert "mesh invite" in step


def test_a_node_that_nobody_can_reach_does_not_invite(tmp_path: Path) -> None:
    """It says how to be reached."""
    quiet = Sidecar(tmp_path / "quiet", listen=None)
    with sidecars(quiet):
        quiet.init().up()
        sentence, step = complaint(mesh(quiet.home, "invite"))
        assert "listens nowhere" in sentence
        assert "--listen" in step
        assert asked(quiet.home, "invite", "--list") == []


def test_a_token_is_good_for_as_many_nodes_as_it_says(first: Sidecar, tmp_path: Path) -> None:
    """The one after that is turned away by the mesh itself, and nobody has become a member."""
    token = first.invite("--uses", "2")
    for name in ("second", "third"):
        Sidecar(tmp_path / name).join(token, name)
    sentence, step = refused(token, tmp_path / "fourth")
    assert "used already" in sentence
    assert "mesh invite" in step
    assert counts_of(first)["members"] == 3
    assert asked(first.home, "invite", "--list") == []


def test_an_expired_token_is_refused(first: Sidecar, tmp_path: Path) -> None:
    """Also while the door is open for another one."""
    first.invite()
    token = first.invite("--expires", "1s")
    wait_until(lambda: len(asked(first.home, "invite", "--list")) == 1)
    sentence, step = refused(token, tmp_path / "second")
    assert "expired" in sentence
    assert "mesh invite" in step
    assert counts_of(first)["members"] == 1


def test_a_token_that_was_taken_back_is_refused(first: Sidecar, tmp_path: Path) -> None:
    """The door stays open for the other one."""
    first.invite()
    made = asked(first.home, "invite")
    done(first.home, "invite", "--withdraw", made["id"])
    sentence, _ = refused(made["token"], tmp_path / "second", is_answered=False)
    assert "withdrawn" in sentence
    assert counts_of(first)["members"] == 1


def test_an_altered_token_is_refused(first: Sidecar, tmp_path: Path) -> None:
    """By its sum, before anybody is asked; and if the sum was altered too, by the mesh, without a word."""
    token = first.invite()
    middle = len(token) // 2
    other = "b" if token[middle] == "a" else "a"
    sentence, step = refused(token[:middle] + other + token[middle + 1 :], tmp_path / "second")
    assert "damaged" in sentence
    assert "copy it again" in step
    refused(token[:-7], tmp_path / "second")
    refused("clan1-", tmp_path / "second")
    guessed = parse(token)._replace(secret=bytes(32)).encode()
    sentence, _ = refused(guessed, tmp_path / "second", is_answered=False)
    assert "does not take this invitation" in sentence
    Sidecar(tmp_path / "second").join(token, "second")


def test_a_server_of_another_mesh_learns_nothing_and_gives_nothing(first: Sidecar, tmp_path: Path) -> None:
    """A token of ours that leads to a stranger's door: the newcomer leaves before it has said who it is."""
    lure = Sidecar(tmp_path / "lure")
    with sidecars(lure):
        lure.init("lure").up()
        doors = parse(lure.invite()).addresses
        token = parse(first.invite())._replace(addresses=doors)
        sentence, step = refused(token.encode(), tmp_path / "second")
        assert "is not who gave out this invitation" in sentence
        assert "mesh invite" in step
        assert counts_of(lure)["members"] == 1
        assert len(asked(lure.home, "invite", "--list")) == 1
        real = token._replace(addresses=(*doors, *parse(first.invite()).addresses))
        Sidecar(tmp_path / "second").join(real.encode(), "second")  # the next address is the right one
        assert counts_of(first)["members"] == 2


def test_a_node_that_cannot_be_reached_is_named(first: Sidecar, tmp_path: Path) -> None:
    """With its address; the token stays good."""
    token = first.invite()
    first.stop()
    sentence, step = refused(token, tmp_path / "second")
    assert parse(token).addresses[0] in sentence
    assert "reachable" in step


# Homes


def test_joining_twice_gives_the_same_certificate(first: Sidecar, tmp_path: Path) -> None:
    """An answer that was lost can be asked for again, with the same token; it is the same use."""
    second = Sidecar(tmp_path / "second")
    token = first.invite()
    one = second.join(token, "second")
    certificate = certificate_of(second.home)
    assert second.join(token, "second") == one
    assert certificate_of(second.home) == certificate
    assert counts_of(first)["members"] == 2


def test_a_home_that_belongs_already_keeps_what_it_has(first: Sidecar, tmp_path: Path) -> None:
    """Joining its own mesh anew, with another token, changes neither its key nor its records."""
    second = Sidecar(tmp_path / "second")
    node = second.join(first.invite(), "second")["node"]
    second.write("written before")
    certificate = certificate_of(second.home)
    assert second.join(first.invite(), "another name")["node"] == node
    assert certificate_of(second.home) == certificate
    with sidecars(second):
        second.up()
        wait_until_in_step([first, second])
        assert first.texts() == {"written before"}
        sentence, step = refused(first.invite(), Path(second.home))
        assert "running" in sentence
        assert "mesh down" in step


def test_a_node_made_for_a_mesh_joins_with_what_it_wrote_before(first: Sidecar, tmp_path: Path) -> None:
    """`mesh init --mesh`, writes that wait, then a token: from then on they count everywhere."""
    second = Sidecar(tmp_path / "second")
    quickly(second.home, "init", "--name", "second", "--mesh", asked(first.home, "status")["mesh"])
    second.write("from before")
    second.join(first.invite(), "second")
    with sidecars(second):
        second.up()
        wait_until_in_step([first, second])
        assert first.texts() == {"from before"}


def test_a_home_of_another_mesh_is_left_alone(first: Sidecar, tmp_path: Path) -> None:
    """Not a byte of it changes."""
    other = tmp_path / "other"
    quickly(other, "init", "--name", "other")
    done(other, "op", "add", "facts", "of another mesh")
    before = bytes_of(other)
    sentence, step = refused(first.invite(), other)
    assert "another mesh" in sentence
    assert "--home" in step
    assert bytes_of(other) == before


# Goodbye


@pytest.mark.parametrize(
    ("invited", "joined", "role"),
    [(("--ephemeral",), (), "ephemeral"), ((), ("--ephemeral",), "member")],
    ids=["by its invitation", "by its own wish"],
)
def test_a_throw_away_node_leaves_when_its_sidecar_stops(
    first: Sidecar, tmp_path: Path, invited: tuple[str, ...], joined: tuple[str, ...], role: str
) -> None:
    """What it wrote last stays with the others. One that only wishes it is an ordinary member all the same."""
    second = Sidecar(tmp_path / "second", listen=None)
    finished = mesh(second.home, "join", first.invite(*invited), "--name", "second", *joined, "--json")
    assert json.loads(finished.stdout)["role"] == role
    assert ("mesh invite --ephemeral" in finished.stderr) is bool(joined)
    with sidecars(second):
        second.up()
        wait_until_linked([first, second])
        assert [peer["role"] for peer in first.peers()["peers"]] == [role]
        second.write("its last words")
        wait_until(lambda: second.peers()["root"] == second.root())  # the bell was heard
        assert second.stop() == 0
        wait_until(lambda: first.state_of(second) == "left")
        wait_until(lambda: first.texts() == {"its last words"})  # it came before the goodbye, and is merged in its time


def test_a_reader_is_sent_everything_and_its_sidecar_is_quiet(first: Sidecar, tmp_path: Path) -> None:
    """It says what it is; what it would write is refused with the next step; what is private stays possible."""
    second = Sidecar(tmp_path / "second", listen=None)
    made = asked(first.home, "invite", "--role", "reader")
    assert made["role"] == "reader"
    assert [item["role"] for item in asked(first.home, "invite", "--list")] == ["reader"]
    assert second.join(made["token"], "second")["role"] == "reader"
    with sidecars(second):
        second.up()
        first.write("for all to read")
        wait_until(lambda: second.texts() == {"for all to read"})
        for words in (("op", "add", "facts", "mine"), ("discover", "mine", "--global")):
            sentence, step = complaint(mesh(second.home, *words))
            assert "reader" in sentence
            assert "--private" in step
        done(second.home, "discover", "only here", "--private", "--global")
        assert asked(second.home, "status")["role"] == "reader"
        assert first.texts() == second.texts() == {"for all to read"}
        assert second.stop() == 0
    assert "WARNING" not in second.log.read_text()


def test_a_node_leaves_and_can_come_back(first: Sidecar, tmp_path: Path) -> None:
    """With its sidecar running; what it wrote stays; it starts again only after joining again."""
    second = Sidecar(tmp_path / "second")
    token = first.invite()
    second.join(token, "second")
    with sidecars(second):
        second.up()
        wait_until_linked([first, second])
        second.write("it stays")
        wait_until_in_step([first, second])
        wait_until(lambda: any(peer["in_step"] for peer in second.peers()["peers"]))  # and it knows that
        assert asked(second.home, "leave") == {"left": True, "told": True}
        second.process.communicate(timeout=PATIENCE_SECONDS)
        assert second.process.returncode == 0
        wait_until(lambda: first.state_of(second) == "left")
        wait_until(lambda: first.texts() == second.texts() == {"it stays"})
        sentence, step = complaint(mesh(second.home, "up", "--detach"))
        assert "has left" in sentence
        assert "mesh join" in step
        second.join(first.invite(), "second")
        second.up()
        wait_until(lambda: first.state_of(second) == "alive")


def test_a_node_without_a_sidecar_leaves_too(first: Sidecar, tmp_path: Path) -> None:
    """It looks for someone to tell; what it had written meanwhile arrives with its goodbye."""
    second = Sidecar(tmp_path / "second")
    second.join(first.invite(), "second")
    second.write("written without a sidecar")
    assert asked(second.home, "leave") == {"left": True, "told": True}
    wait_until(lambda: first.state_of(second) == "left")
    wait_until(lambda: first.texts() == {"written without a sidecar"})


def test_the_home_with_the_root_key_does_not_leave(first: Sidecar) -> None:
    """Nobody could name admins any more."""
    sentence, step = complaint(mesh(first.home, "leave"))
    assert "root key" in sentence
    assert "mesh recover" in step
    assert first.is_up


# Trust


def test_a_revoked_node_is_cut_off_at_once_and_for_good(tmp_path: Path) -> None:
    """Links close on every node; the others go on; neither a restart nor a token brings it back."""
    with mesh_of(3, tmp_path) as (first, second, third):
        wait_until_linked([first, second, third])
        third.write("while it belonged")
        wait_until_in_step([first, second, third])
        done(first.home, "revoke", third.node, "--reason", "stolen")
        for other in (first, second):
            wait_until(lambda other=other: other.state_of(third) == "revoked")  # type: ignore[misc]
            wait_until(lambda other=other: other.peers()["links"] == 1)  # type: ignore[misc]
        wait_until(lambda: third.peers()["links"] == 0)
        third.stop()
        third.up()
        second.write("goes on without it")
        wait_until_in_step([first, second])
        assert first.texts() == second.texts() == {"while it belonged", "goes on without it"}
        assert third.peers()["links"] == 0
        assert third.texts() == {"while it belonged"}
        third.stop()
        sentence, _ = refused(first.invite(), Path(third.home))
        assert "revoked" in sentence


def test_what_a_node_wrote_after_its_revocation_reaches_nobody(tmp_path: Path) -> None:
    """It was away and does not know: it writes, comes back, knocks, and is not let in."""
    with mesh_of(3, tmp_path) as (first, second, third):
        wait_until_linked([first, second, third])
        third.write("while it belonged")
        wait_until_in_step([first, second, third])
        third.stop()
        done(first.home, "revoke", third.node, "--reason", "stolen")
        third.write("written by a thief")
        wait_until(lambda: second.state_of(third) == "revoked")
        third.up()
        wait_until(lambda: third.state_of(first) == "suspect")  # it has tried, and nobody took it
        second.write("goes on without it")
        wait_until_in_step([first, second])
        assert first.texts() == second.texts() == {"while it belonged", "goes on without it"}
        assert third.texts() == {"while it belonged", "written by a thief"}
        assert [sidecar.peers()["links"] for sidecar in (first, second, third)] == [1, 1, 0]


def test_a_node_whose_certificate_is_renewed_lets_newcomers_in_as_before(tmp_path: Path) -> None:
    """Though its door was open all the time: it shows the new one."""
    with mesh_of(2, tmp_path) as (first, second):
        wait_until_linked([first, second])
        done(first.home, "admin", "add", second.node)
        wait_until(lambda: second.has_logged("new certificate"))
        token = second.invite("--uses", "2")
        third, fourth = Sidecar(tmp_path / "third"), Sidecar(tmp_path / "fourth")
        third.join(token, "third")
        usb = tmp_path / "recovery.key"
        shutil.move(os.path.join(first.home, "recovery.key"), usb)
        before = second.log.read_text().count("new certificate")
        done(first.home, "recover", "--key", os.fspath(usb), "--reason", "a drill")
        wait_until(lambda: second.log.read_text().count("new certificate") > before)
        wait_until(
            lambda: (
                read(card_kind(certificate_of(second.home))[1]).issuer == open_home(first.home).root_identity().public
            )
        )
        fourth.join(token, "fourth")


def test_an_admin_invites_while_the_first_node_is_down(tmp_path: Path) -> None:
    """Named by the root; it issues certificates that everyone takes."""
    with mesh_of(2, tmp_path) as (first, second):
        wait_until_linked([first, second])
        done(first.home, "admin", "add", second.node)
        wait_until_in_step([first, second])
        wait_until(lambda: mesh(second.home, "invite", "--list").returncode == 0)
        wait_until(lambda: second.has_logged("new certificate"))
        assert first.stop() == 0
        third = Sidecar(tmp_path / "third")
        with sidecars(third):
            assert third.join(second.invite(), "third")["admitted_by"] == second.node
            third.up()
            third.write("hello from the third")
            wait_until_in_step([second, third])
            first.up()
            wait_until_in_step([first, second, third])
            assert first.texts() == {"hello from the third"}
            wait_until(lambda: first.state_of(third) == "alive")


def recover(lost: Sidecar, saviour: Sidecar, usb: Path) -> None:
    """The recovery key makes a new root where the saviour is, and names it an admin; the lost node is revoked."""
    shutil.move(os.path.join(lost.home, "recovery.key"), usb)
    done(saviour.home, "recover", "--key", os.fspath(usb), "--reason", "the first was stolen")
    done(saviour.home, "admin", "add", saviour.node)


def test_a_mesh_goes_on_after_its_root_key_was_replaced(tmp_path: Path) -> None:
    """The old root key is worth nothing; the new one names admins, revokes, and lets newcomers in; nobody is to blame."""
    with mesh_of(3, tmp_path) as (first, second, third):
        wait_until_linked([first, second, third])
        recover(first, second, tmp_path / "recovery.key")
        wait_until_in_step([first, second, third])
        sentence, _ = complaint(mesh(first.home, "admin", "add", third.node))
        assert "root" in sentence
        done(second.home, "revoke", first.node, "--reason", "stolen")
        wait_until(lambda: third.state_of(first) == "revoked")
        fourth = Sidecar(tmp_path / "fourth")
        with sidecars(fourth):
            fourth.join(second.invite(), "fourth")
            fourth.up()
            fourth.write("under the new root")
            wait_until_in_step([second, third, fourth])
            assert third.texts() == {"under the new root"}
            wait_until(lambda: third.state_of(fourth) == "alive")
            for sidecar in (second, third, fourth):
                done(sidecar.home, "verify")
                assert not sidecar.has_logged("fault"), sidecar.log.read_text()


def test_a_node_that_was_away_while_the_root_was_replaced_comes_back(tmp_path: Path) -> None:
    """It knows only the old root, whose node is gone; those who are left have certificates of the new one."""
    with mesh_of(3, tmp_path) as (first, second, third):
        wait_until_linked([first, second, third])
        wait_until_in_step([first, second, third])
        third.stop()
        recover(first, second, tmp_path / "recovery.key")
        wait_until(lambda: second.has_logged(f"issued a certificate for=node1·{second.node[:5]}"))
        first.stop()
        second.write("under the new root")
        third.up()
        wait_until_in_step([second, third])
        assert third.texts() == {"under the new root"}
