"""What whoever connects to a real sidecar gets: strangers nothing, members that misbehave a closed link. The table is what is tested.

None of it ends the process, and an honest neighbour stays linked throughout. The engine's table is in tests/peers/test_bad_inputs.py.
"""

import asyncio
import os
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from mesh.app.client import ask_text
from mesh.core.ids import parse_id
from mesh.node.certificates import Certificates
from mesh.store.home import Home, open_home
from mesh.store.join_table import Cards
from mesh.store.store import wall_clock
from peers.proto.cards import CONTACT, Card, Contact, write_contact
from peers.proto.gossip_config import FRAME_BYTES
from peers.proto.message_codec import decode, encode
from peers.proto.messages import Bye, Hello
from peers.transport.link import LinkClosed, PeerLink
from peers.transport.link_listener import ConnectionPolicy
from peers.transport.websocket import WebSocketTransport
from peers.trust.tls import Credentials, peer_node
from peers.trust.x509_certificates import authority, issue
from tests.end_to_end.commands import PATIENCE_SECONDS, done, wait_until
from tests.end_to_end.fleet import Sidecar, mesh_of, wait_until_in_step, wait_until_linked
from tests.end_to_end.prometheus import parse
from tests.worlds import Clan

TABLE = """
who connects, with what                  | what they get                      | noticed as
---------------------------------------- | ---------------------------------- | ----------
anybody, bytes that are no TLS           | nothing, closed                    | nothing
anybody, plain HTTP                      | nothing, closed                    | nothing
anybody, TLS 1.2                         | nothing, closed                    | nothing
anybody, TLS without a certificate       | nothing, closed                    | nothing
a certificate of another mesh            | nothing, closed                    | nothing
a certificate that signs itself          | nothing, closed                    | nothing
a revoked node's certificate             | nothing, closed                    | nothing
a member's certificate, no upgrade       | nothing, closed                    | nothing
a member, a malformed frame              | a goodbye, closed                  | shunned
a member, a frame that is too large      | closed                             | nothing
a member, text instead of bytes          | closed                             | nothing
a member, a greeting of another mesh     | a goodbye, closed                  | shunned
"""

ROWS = {
    cells[0]: cells[1:]
    for cells in ([cell.strip() for cell in line.split("|")] for line in TABLE.strip().splitlines()[2:])
}
REQUEST = b"GET /mesh/1 HTTP/1.1\r\nHost: mesh\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"


class Scene(NamedTuple):
    """A mesh under attack."""

    victim: Sidecar
    honest: Sidecar
    members: list[str]  # homes of members whose sidecars do not run: one for each deed that gets its doer shunned
    revoked: str
    folder: Path


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """Two honest nodes with a link, some members, and one that is none any more."""
    folder = tmp_path_factory.mktemp("scene")
    with mesh_of(2, folder) as (victim, honest):
        token = victim.invite("--uses", "9")
        homes = [Sidecar(folder / f"member{number}") for number in range(4)]
        for number, home in enumerate(homes):
            home.join_quickly(token, f"member{number}")
        revoked = Sidecar(folder / "revoked")
        revoked.join_quickly(token, "revoked")
        done(victim.home, "revoke", revoked.node)
        wait_until(lambda: victim.state_of(revoked) == "revoked")
        wait_until_linked([victim, honest])
        wait_until_in_step([victim, honest])
        yield Scene(victim, honest, [home.home for home in homes], revoked.home, folder)


def credentials_of(home: Home) -> Credentials:
    store = home.store()
    try:
        cards = [Card(*card) for card in Cards(store.database).all()]
        found = Certificates(home, cards, store.trust, wall_clock).credentials()
    finally:
        store.close()
    assert found is not None
    return found


# Strangers: blocking sockets are enough


def connect(scene: Scene) -> socket.socket:
    host, _, port = scene.victim.addresses[0].rpartition(":")
    return socket.create_connection((host, int(port)), PATIENCE_SECONDS)


def what_comes(connection: socket.socket, *said: bytes) -> bytes:
    """Say something, and read to the end. Being cut off is an end like any other."""
    heard = b""
    try:
        for data in said:
            connection.sendall(data)
        while data := connection.recv(65536):
            heard += data
    except (OSError, ssl.SSLError):
        pass
    return heard


def over_tls(scene: Scene, context: ssl.SSLContext) -> bytes:
    """What a real request brings over TLS."""
    context.check_hostname = False
    with connect(scene) as plain:
        try:
            with context.wrap_socket(plain) as connection:
                return what_comes(connection, REQUEST)
        except (OSError, ssl.SSLError):
            return b""


def anybody() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def shown(scene: Scene, credentials: Credentials) -> ssl.SSLContext:
    """A client that shows a certificate and looks at nothing."""
    context = credentials.client_context(os.fspath(scene.folder / "shown.pem"))
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def no_tls(scene: Scene) -> bytes:
    with connect(scene) as connection:
        return what_comes(connection, os.urandom(3000))


def plain_http(scene: Scene) -> bytes:
    with connect(scene) as connection:
        return what_comes(connection, REQUEST)


def old_tls(scene: Scene) -> bytes:
    context = anybody()
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    return over_tls(scene, context)


def no_certificate(scene: Scene) -> bytes:
    return over_tls(scene, anybody())


def other_mesh(scene: Scene) -> bytes:
    """Issued by the root of another mesh, to a key that is a member here."""
    clan, home = Clan(8), open_home(scene.members[0])
    root = authority(clan.root, clan.mesh, wall_clock())
    leaf = issue(clan.root, root, home.node, "node", wall_clock(), may_issue=False)
    return over_tls(scene, shown(scene, Credentials(home.identity().seed, [leaf, root], [root])))


def signs_itself(scene: Scene) -> bytes:
    home = open_home(scene.members[0])
    own = authority(home.identity(), home.mesh, wall_clock())
    return over_tls(scene, shown(scene, Credentials(home.identity().seed, [own], [own])))


def revoked(scene: Scene) -> bytes:
    return over_tls(scene, shown(scene, credentials_of(open_home(scene.revoked))))


def no_upgrade(scene: Scene) -> bytes:
    with connect(scene) as plain:
        try:
            with shown(scene, credentials_of(open_home(scene.members[0]))).wrap_socket(plain) as connection:
                return what_comes(connection, b"GET /metrics HTTP/1.1\r\nHost: mesh\r\n\r\n")
        except (OSError, ssl.SSLError):
            return b""


STRANGERS: dict[str, Callable[[Scene], bytes]] = {
    "anybody, bytes that are no TLS": no_tls,
    "anybody, plain HTTP": plain_http,
    "anybody, TLS 1.2": old_tls,
    "anybody, TLS without a certificate": no_certificate,
    "a certificate of another mesh": other_mesh,
    "a certificate that signs itself": signs_itself,
    "a revoked node's certificate": revoked,
    "a member's certificate, no upgrade": no_upgrade,
}


@pytest.mark.parametrize("name", STRANGERS)
def test_a_stranger_gets_nothing_and_is_cut_off(scene: Scene, name: str) -> None:
    """Not one byte of application data, whatever it shows and says."""
    before = shunned(scene)
    assert ROWS[name] == ["nothing, closed", "nothing"]
    assert STRANGERS[name](scene) == b""
    assert shunned(scene) == before
    assert_honest_neighbour_notices_nothing(scene)


# Members: a real link, without an engine behind it


@asynccontextmanager
async def link_of(scene: Scene, home: Home) -> AsyncIterator[PeerLink]:
    """A link with the victim, as a member's sidecar would have it."""
    credentials = credentials_of(home)
    victim = parse_id(scene.victim.node)
    pem = os.fspath(scene.folder / "member.pem")
    transport = WebSocketTransport(
        home.node,
        lambda _link: None,
        server_context=lambda: credentials.server_context(pem),
        client_context=lambda: credentials.client_context(pem),
        admission=ConnectionPolicy(peer_node, lambda _node: True, lambda _proof: False),
    )
    async with transport:
        yield await transport.dial(victim, scene.victim.addresses)


def greeting(home: Home, mesh: bytes | None = None) -> bytes:
    card = write_contact(home.mesh, Contact(home.node, 1, (), ""), home.identity().sign)
    assert card.kind == CONTACT
    return encode(Hello(mesh or home.mesh, home.node, card.data, passing=False))


async def malformed(link: PeerLink, home: Home) -> None:
    await link.send(greeting(home))
    await link.send(b"\xc1 this is no message")


async def too_large(link: PeerLink, home: Home) -> None:
    """Past our own side's check, as somebody else's program would."""
    await link.send(greeting(home))
    await link._socket.send_bytes(bytes(FRAME_BYTES + 1))  # type: ignore[attr-defined]


async def text(link: PeerLink, home: Home) -> None:
    await link.send(greeting(home))
    await link._socket.send_str("hello")  # type: ignore[attr-defined]


async def greets_from_elsewhere(link: PeerLink, home: Home) -> None:
    await link.send(greeting(home, bytes(32)))


async def goodbyes(link: PeerLink) -> list[str]:
    """What the other side says about why, until the link is closed."""
    reasons = []
    try:
        while True:
            message = decode(await link.receive())
            if isinstance(message, Bye):
                reasons.append(message.reason)
    except LinkClosed:
        return reasons


MEMBERS = {
    "a member, a malformed frame": malformed,
    "a member, a frame that is too large": too_large,
    "a member, text instead of bytes": text,
    "a member, a greeting of another mesh": greets_from_elsewhere,
}


@pytest.mark.parametrize("name", MEMBERS)
async def test_a_member_that_misbehaves_loses_its_link(scene: Scene, name: str) -> None:
    """With a word of why where it can still be said; who broke the protocol is left alone for a while."""
    fate, noticed = ROWS[name]
    home = open_home(scene.members[list(MEMBERS).index(name)])
    before = shunned(scene)
    async with asyncio.timeout(PATIENCE_SECONDS), link_of(scene, home) as link:
        await MEMBERS[name](link, home)
        reasons = await goodbyes(link)
    assert bool(reasons) == ("goodbye" in fate), reasons
    wait_until(lambda: shunned(scene) - before == (noticed == "shunned"))
    assert_honest_neighbour_notices_nothing(scene)


@pytest.mark.soak
def test_who_says_nothing_is_cut_off_after_a_while(scene: Scene) -> None:
    """As long as a handshake may take: longer than other tests want to wait."""
    with connect(scene) as connection:
        assert what_comes(connection) == b""
    assert_honest_neighbour_notices_nothing(scene)


def test_every_row_of_the_table_is_tried() -> None:
    """And nothing is tried that is not in it."""
    assert set(ROWS) == {*STRANGERS, *MEMBERS}


def test_a_flood_of_connections_keeps_no_member_out(scene: Scene) -> None:
    """More than may be half open at once: the oldest give way, and a member's link comes about all the same."""
    flood = [connect(scene) for _ in range(100)]
    try:
        scene.honest.stop()
        scene.honest.up()
        wait_until_linked([scene.victim, scene.honest])
        scene.honest.write("in spite of the flood")
        wait_until_in_step([scene.victim, scene.honest])
    finally:
        for connection in flood:
            connection.close()
    assert "in spite of the flood" in scene.victim.texts()


def shunned(scene: Scene) -> int:
    events = parse(ask_text(scene.victim.home, "/metrics"))["mesh_events_total"].by("event")
    return int(events.get("shunned", 0))


def assert_honest_neighbour_notices_nothing(scene: Scene) -> None:
    """Same process, same link, still in step; nobody else was blamed."""
    assert scene.victim.is_up
    assert scene.honest.is_up
    (peer,) = (peer for peer in scene.victim.peers()["peers"] if peer["node"] == scene.honest.node)
    assert peer["linked"]
    assert not scene.honest.has_logged("silent")
    assert not scene.honest.has_logged("fault")
    assert not scene.victim.has_logged("Traceback"), scene.victim.log.read_text()
