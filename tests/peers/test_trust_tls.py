"""TLS with our certificates on loopback: who can connect to whom, and who is at the other end."""

import os
import socket
import ssl
import stat
import threading
from pathlib import Path

import pytest

from mesh.core.errors import Forged
from mesh.core.identity import Identity
from mesh.core.ids import text_id
from peers.trust.tls import Credentials, join_client_context, peer_node
from peers.trust.x509_certificates import authority, issue
from tests.worlds import NOW_MS, Clan

CLAN, OTHER = Clan(), Clan(3)
ADMIN, ANN = CLAN.node(0), CLAN.node(1)


def credentials(
    clan: Clan, node: Identity, *, by_admin: bool = False, now_ms: int = NOW_MS, days: int = 365
) -> Credentials:
    """A node's, from its mesh's root or through an admin."""
    root = authority(clan.root, clan.mesh, NOW_MS)
    if not by_admin:
        made = issue(clan.root, root, node.public, "node", now_ms, may_issue=True, days=days)
        return Credentials(node.seed, [made, root], [root])
    admin = clan.node(0)
    office = issue(clan.root, root, admin.public, "office", now_ms, may_issue=True)
    made = issue(admin, office, node.public, "node", now_ms, may_issue=False, days=days)
    return Credentials(node.seed, [made, office, root], [root])


def meet(server: ssl.SSLContext, client: ssl.SSLContext | None, name: str | None) -> tuple[bytes | None, bytes | None]:
    """Connect and exchange a byte; the node each side sees, or the error of either."""
    seen: list[bytes | None] = []
    errors: list[Exception] = []
    ours, theirs = socket.socketpair()

    def serve() -> None:
        try:
            with ours, server.wrap_socket(ours, server_side=True) as connection:
                seen.append(peer_node(connection) if server.verify_mode else None)
                connection.sendall(b"x")
                connection.recv(1)
        except OSError as error:
            errors.append(error)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        with theirs:
            if client is None:
                theirs.sendall(b"GET / HTTP/1.1\r\n\r\n")
                theirs.recv(10)
                return None, None
            with client.wrap_socket(theirs, server_hostname=name) as connection:
                assert connection.version() == "TLSv1.3"
                assert connection.recv(1) == b"x"
                connection.sendall(b"y")
                return seen[0], peer_node(connection)
    finally:
        thread.join()
        if errors:
            raise errors[0]


@pytest.mark.parametrize("by_admin", [False, True])
def test_two_members_know_each_other_by_their_keys(tmp_path: Path, *, by_admin: bool) -> None:
    """Both through the root, and one through an admin."""
    server = credentials(CLAN, ADMIN).server_context(os.fspath(tmp_path / "one.pem"))
    client = credentials(CLAN, ANN, by_admin=by_admin).client_context(os.fspath(tmp_path / "two.pem"))
    assert meet(server, client, text_id(ADMIN.public)) == (ANN.public, ADMIN.public)


def test_a_node_that_is_not_the_one_we_dialled_is_refused(tmp_path: Path) -> None:
    """A member of the same mesh at the wrong address."""
    server = credentials(CLAN, ADMIN).server_context(os.fspath(tmp_path / "one.pem"))
    client = credentials(CLAN, ANN).client_context(os.fspath(tmp_path / "two.pem"))
    with pytest.raises(ssl.SSLError):
        meet(server, client, text_id(CLAN.node(5).public))


def test_a_client_without_a_certificate_is_refused(tmp_path: Path) -> None:
    """The mesh port knows no strangers."""
    server = credentials(CLAN, ADMIN).server_context(os.fspath(tmp_path / "one.pem"))
    with pytest.raises(ssl.SSLError):
        meet(server, join_client_context(), None)


def test_a_client_that_speaks_no_tls_is_refused(tmp_path: Path) -> None:
    """Plain text gets no answer in plain text."""
    server = credentials(CLAN, ADMIN).server_context(os.fspath(tmp_path / "one.pem"))
    with pytest.raises(ssl.SSLError):
        meet(server, None, None)


def test_a_member_of_another_mesh_is_refused(tmp_path: Path) -> None:
    """In either direction, even with the same key in both."""
    ours = credentials(CLAN, ADMIN)
    theirs = credentials(OTHER, ADMIN)
    for server, client in ((ours, theirs), (theirs, ours)):
        with pytest.raises(ssl.SSLError):
            meet(
                server.server_context(os.fspath(tmp_path / "one.pem")),
                client.client_context(os.fspath(tmp_path / "two.pem")),
                text_id(ADMIN.public),
            )


def test_an_admins_certificate_is_no_anchor_by_itself(tmp_path: Path) -> None:
    """A chain has to reach the root: a part of it is not enough."""
    member = credentials(CLAN, ANN, by_admin=True)
    short = Credentials(ADMIN.seed, credentials(CLAN, ADMIN).chain, [member.chain[1]])
    server = short.server_context(os.fspath(tmp_path / "one.pem"))
    client = Credentials(ANN.seed, member.chain[:2], member.authorities).client_context(os.fspath(tmp_path / "two.pem"))
    with pytest.raises(ssl.SSLError):
        meet(server, client, text_id(ADMIN.public))


def test_an_old_version_of_tls_is_refused(tmp_path: Path) -> None:
    """TLS 1.3 and nothing below it."""
    server = credentials(CLAN, ADMIN).server_context(os.fspath(tmp_path / "one.pem"))
    client = credentials(CLAN, ANN).client_context(os.fspath(tmp_path / "two.pem"))
    client.minimum_version = ssl.TLSVersion.TLSv1_2
    client.maximum_version = ssl.TLSVersion.TLSv1_2
    with pytest.raises(ssl.SSLError):
        meet(server, client, text_id(ADMIN.public))


def test_an_expired_certificate_connects_so_that_it_can_be_told_and_renewed(tmp_path: Path) -> None:
    """Expiry is judged by our own code, after the handshake."""
    server = credentials(CLAN, ADMIN).server_context(os.fspath(tmp_path / "one.pem"))
    old = credentials(CLAN, ANN, now_ms=1_000_000_000_000, days=1)
    client = old.client_context(os.fspath(tmp_path / "two.pem"))
    assert meet(server, client, text_id(ADMIN.public)) == (ANN.public, ADMIN.public)


def test_a_newcomer_sees_whom_it_talks_to_and_shows_nothing(tmp_path: Path) -> None:
    """The join port asks for no certificate."""
    server = credentials(CLAN, ADMIN).join_server_context(os.fspath(tmp_path / "one.pem"))
    assert meet(server, join_client_context(), None) == (None, ADMIN.public)


def test_the_key_is_written_for_its_owner_only(tmp_path: Path) -> None:
    """Over an older one too, whole or not at all."""
    path = tmp_path / "one.pem"
    path.write_text("old")
    path.chmod(0o644)
    credentials(CLAN, ADMIN).server_context(os.fspath(path))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.read_text().startswith("-----BEGIN PRIVATE KEY-----")
    assert os.listdir(tmp_path) == ["one.pem"]


def test_servers_give_out_no_tickets(tmp_path: Path) -> None:
    """A revoked node must not come back without showing its certificate."""
    made = credentials(CLAN, ADMIN)
    assert made.server_context(os.fspath(tmp_path / "one.pem")).num_tickets == 0
    assert made.join_server_context(os.fspath(tmp_path / "one.pem")).num_tickets == 0


def test_without_a_certificate_there_is_no_node(tmp_path: Path) -> None:
    """Asked of a connection on which none was shown."""
    made = credentials(CLAN, ADMIN)
    server = made.join_server_context(os.fspath(tmp_path / "one.pem"))
    connection = server.wrap_bio(ssl.MemoryBIO(), ssl.MemoryBIO(), server_side=True)
    with pytest.raises((Forged, ValueError)):
        peer_node(connection)
