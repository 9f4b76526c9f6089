"""Nodes with throw-away keys and certificates, and one way to start either transport. Knows nothing of peers.trust."""

import asyncio
import datetime as dt
import os
import ssl
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any, Protocol, TypeVar

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from mesh.core.ids import parse_id, text_id
from peers.transport.address import format_address
from peers.transport.link import LinkConfig, PeerLink, Transport
from peers.transport.link_listener import ConnectionPolicy
from peers.transport.memory_transport import MemoryNetwork, MemoryTransport
from peers.transport.websocket import WebSocketTransport

Result = TypeVar("Result")
PATIENCE = 300  # seconds until a test that waits for a condition has failed
# Most tests leave with nobody receiving on the other side, so goodbyes run into this.
BRISK = LinkConfig(close_seconds=0.1)
_START = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)
_END = dt.datetime(2120, 1, 1, tzinfo=dt.UTC)


class Authority:
    """A certificate authority of one test."""

    def __init__(self) -> None:
        self._key = Ed25519PrivateKey.generate()
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "mesh")])
        self.certificate = self._signed(self._key, self._name, x509.BasicConstraints(ca=True, path_length=0))

    def _signed(self, key: Ed25519PrivateKey, name: x509.Name, *extensions: x509.ExtensionType) -> x509.Certificate:
        builder = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(_START)
            .not_valid_after(_END)
        )
        for extension in extensions:
            builder = builder.add_extension(extension, critical=isinstance(extension, x509.BasicConstraints))
        return builder.sign(self._key, None)

    def node(self, key: Ed25519PrivateKey | None = None, names: Iterable[str] = ()) -> "Node":
        """A node with a certificate of this authority, under its node id unless it is to be under other names."""
        key = key or Ed25519PrivateKey.generate()
        public = key.public_key().public_bytes_raw()
        certificate = self._signed(
            key,
            x509.Name([]),
            x509.SubjectAlternativeName([x509.DNSName(name) for name in names or [text_id(public)]]),
            x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]),
            x509.BasicConstraints(ca=False, path_length=None),
        )
        return Node(public, self.certificate, certificate, key)

    def renewed(self, node: "Node") -> "Node":
        """The same node with a new certificate."""
        return self.node(node.key)


@dataclass(frozen=True)
class Node:
    """Who a node is."""

    id: bytes
    authority: x509.Certificate
    certificate: x509.Certificate
    key: Ed25519PrivateKey = field(repr=False)

    def context(self, purpose: int) -> ssl.SSLContext:
        """Mutual TLS 1.3 as this node."""
        context = ssl.SSLContext(purpose)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.verify_mode = ssl.CERT_REQUIRED
        if purpose == ssl.PROTOCOL_TLS_SERVER:
            context.num_tickets = 0
        pem = serialization.Encoding.PEM
        context.load_verify_locations(cadata=self.authority.public_bytes(pem).decode())
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "node.pem")
            with open(path, "wb") as file:
                file.write(self.key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()))
                file.write(self.certificate.public_bytes(pem))
            context.load_cert_chain(path)
        return context

    def server(self) -> ssl.SSLContext:
        return self.context(ssl.PROTOCOL_TLS_SERVER)

    def client(self) -> ssl.SSLContext:
        return self.context(ssl.PROTOCOL_TLS_CLIENT)

    def believing(self, authority: Authority) -> "Node":
        """The same node, trusting another authority than its own."""
        return replace(self, authority=authority.certificate)

    def anonymous(self) -> ssl.SSLContext:
        """A client that knows the authority and shows no certificate."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.load_verify_locations(cadata=self.authority.public_bytes(serialization.Encoding.PEM).decode())
        return context


def peer_of(proof: ssl.SSLObject) -> bytes:
    """The node id of the other side's certificate."""
    certificate: Any = proof.getpeercert()
    ((kind, name),) = certificate["subjectAltName"]
    assert kind == "DNS"
    return parse_id(name)


def anyone(_node: bytes) -> bool:
    return True


def nobody_expired(_proof: ssl.SSLObject) -> bool:
    return False


@dataclass
class Started:
    """A running transport, the links it accepted, and where it is."""

    node: Node
    transport: Transport
    accepted: "asyncio.Queue[PeerLink]"
    address: str

    async def next_link(self) -> PeerLink:
        return await soon(self.accepted.get())


class World(Protocol):
    """Starts transports of one kind that can reach each other."""

    def start(
        self, *, allows: Callable[[bytes], bool] = anyone, config: LinkConfig = BRISK, node: Node | None = None
    ) -> AbstractAsyncContextManager[Started]: ...

    def nowhere(self) -> str: ...


class MemoryWorld:
    """Transports in one memory network."""

    def __init__(self) -> None:
        self.authority = Authority()
        self.network = MemoryNetwork(Random(7))
        self._count = 0

    def nowhere(self) -> str:
        """An address nobody listens on."""
        return "memory:65535"

    @asynccontextmanager
    async def start(
        self, *, allows: Callable[[bytes], bool] = anyone, config: LinkConfig = BRISK, node: Node | None = None
    ) -> AsyncIterator[Started]:
        self._count += 1
        node = node or self.authority.node()
        accepted: asyncio.Queue[PeerLink] = asyncio.Queue()
        address = f"memory:{self._count}"
        async with MemoryTransport(
            self.network, node.id, address, accepted.put_nowait, allows=allows, config=config
        ) as transport:
            yield Started(node, transport, accepted, address)


class WebSocketWorld:
    """Transports on the loopback interface."""

    def __init__(self, host: str = "127.0.0.1") -> None:
        self.authority = Authority()
        self._host = host

    def admission(self) -> ConnectionPolicy:
        """Everybody with a certificate is welcome."""
        return ConnectionPolicy(peer_of, anyone, nobody_expired)

    def nowhere(self) -> str:
        """An address nobody listens on: the discard port, which takes a privilege to use."""
        return format_address(self._host, 9)

    @asynccontextmanager
    async def start(
        self,
        *,
        allows: Callable[[bytes], bool] = anyone,
        config: LinkConfig = BRISK,
        node: Node | None = None,
        is_expired: Callable[[ssl.SSLObject], bool] = nobody_expired,
    ) -> AsyncIterator[Started]:
        node = node or self.authority.node()
        accepted: asyncio.Queue[PeerLink] = asyncio.Queue()
        async with WebSocketTransport(
            node.id,
            accepted.put_nowait,
            server_context=node.server,
            client_context=node.client,
            admission=ConnectionPolicy(peer_of, allows, is_expired),
            listen=[(self._host, 0)],
            config=config,
        ) as transport:
            ((host, port),) = transport.bound
            yield Started(node, transport, accepted, format_address(host, port))


async def soon(waited: Awaitable[Result]) -> Result:
    """What is awaited, or a failure instead of a test that hangs."""
    async with asyncio.timeout(PATIENCE):
        return await waited


async def until(holds: Callable[[], bool]) -> None:
    """Let the others run until something is so."""
    async with asyncio.timeout(PATIENCE):
        while not holds():  # noqa: ASYNC110  # nobody announces it
            await asyncio.sleep(0)


async def standstill(count: Callable[[], int]) -> None:
    """Let the others run until a hundred turns of the loop bring no progress."""
    before = -1
    while count() > before:
        before = count()
        for _ in range(100):
            await asyncio.sleep(0)


async def joined(one: Started, other: Started) -> tuple[PeerLink, PeerLink]:
    """A link from one to the other: both its ends."""
    near = await soon(one.transport.dial(other.node.id, [other.address]))
    return near, await other.next_link()


async def passes(near: PeerLink, far: PeerLink, frames: Iterable[bytes] = (b"still here",)) -> None:
    """Frames arrive whole, from `near` to `far` and back."""
    for frame in frames:
        await soon(near.send(frame))
        assert await soon(far.receive()) == frame
        await soon(far.send(frame))
        assert await soon(near.receive()) == frame


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop that never waits: its clock jumps to the next timer."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self._waiting = self._selector.select  # type: ignore[attr-defined]
        self._selector.select = self._jump  # type: ignore[attr-defined]

    def time(self) -> float:
        return self.now

    def _jump(self, timeout: float | None) -> Any:
        assert timeout is not None, "everybody waits, and no timer is set"
        self.now += max(timeout, 0.0)
        return self._waiting(0)


def virtually(work: Awaitable[Result]) -> Result:
    """Run under virtual time."""

    async def run() -> Result:
        return await work

    loop = VirtualLoop()
    try:
        return loop.run_until_complete(run())
    finally:
        loop.close()
