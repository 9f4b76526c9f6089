"""WebSockets over mutual TLS among strangers: each gets nothing but a closed connection, and honest links go on."""

import asyncio
import base64
import hashlib
import logging
import socket
import ssl
import struct
import tracemalloc
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from mesh.core.ids import text_id
from peers.proto.gossip_config import FRAME_BYTES
from peers.transport.address import parse_address
from peers.transport.link import Connection, DialFailed, LinkClosed, LinkConfig, ListenFailed, PeerLink
from peers.transport.websocket import WebSocketTransport
from peers.transport.websocket_link import WebSocketLink
from tests.peers.links import BRISK, Authority, Node, Started, WebSocketWorld, joined, passes, peer_of, soon, standstill

Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]
UPGRADE = (
    b"GET /mesh/1 HTTP/1.1\r\nHost: mesh\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: " + base64.b64encode(b"k" * 16) + b"\r\n\r\n"
)
BINARY, TEXT, CONTINUATION, PING = 2, 1, 0, 9
# Soon tired of the silent, but not so soon that an honest handshake on a busy machine comes too late.
IMPATIENT = LinkConfig(handshake_seconds=2.0, close_seconds=0.1)


@asynccontextmanager
async def connected(to: Started, context: ssl.SSLContext | None = None) -> AsyncIterator[Stream]:
    """A bare connection to a transport, with or without TLS."""
    host, port = parse_address(to.address)
    name = text_id(to.node.id) if context else None
    plain = socket.socket()
    plain.setblocking(False)
    plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)  # one that does not read is soon full
    await soon(asyncio.get_running_loop().sock_connect(plain, (host, port)))
    reader, writer = await soon(asyncio.open_connection(sock=plain, ssl=context, server_hostname=name))
    try:
        yield reader, writer
    finally:
        writer.transport.abort()


async def everything(stream: Stream) -> bytes:
    """All that still comes, until the other side ends it. A test that gets no end fails."""
    received = b""
    try:
        while data := await soon(stream[0].read(65536)):
            received += data
    except (ConnectionError, ssl.SSLError):
        pass
    return received


def frame(opcode: int, payload: bytes, *, final: bool = True, claimed: int | None = None) -> bytes:
    """A masked WebSocket frame (mask zero), that may lie about its length."""
    length = len(payload) if claimed is None else claimed
    return struct.pack("!BBQ4x", opcode | (0x80 if final else 0), 0xFF, length) + payload


@asynccontextmanager
async def upgraded(to: Started, node: Node) -> AsyncIterator[tuple[Stream, PeerLink]]:
    """A bare WebSocket of a member, and the link that the transport made of it."""
    async with connected(to, node.client()) as stream:
        stream[1].write(UPGRADE)
        assert (await soon(stream[0].readuntil(b"\r\n\r\n"))).startswith(b"HTTP/1.1 101 ")
        yield stream, await to.next_link()


async def stuck_sends(stream: Stream, link: PeerLink) -> list[asyncio.Future[None]]:
    """Sends that cannot end: the other side reads nothing, and there is no room on the way."""
    stream[0]._transport.pause_reading()  # type: ignore[attr-defined]
    assert isinstance(link, WebSocketLink)
    link._socket.wire.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    sending: list[asyncio.Future[None]] = [asyncio.ensure_future(link.send(bytes(FRAME_BYTES))) for _ in range(4)]
    await standstill(lambda: link.bytes_out)
    assert link.bytes_out <= 2 * FRAME_BYTES  # one for TLS, one for the socket below it
    return sending


@pytest.fixture
def world() -> WebSocketWorld:
    return WebSocketWorld()


async def test_who_cannot_be_reached_is_said_with_the_systems_reason(world: WebSocketWorld) -> None:
    """Not with the address once more, as asyncio has it."""
    async with world.start() as one:
        with pytest.raises(DialFailed) as failed:
            await one.transport.dial(b"n" * 32, [world.nowhere()])
        assert failed.value.failures == {world.nowhere(): "Connection refused"}


async def test_what_speaks_no_tls_is_said_to(world: WebSocketWorld) -> None:
    """OpenSSL's numbers are not the system's: it is no question of permission."""

    async def greet(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"SSH-2.0-OpenSSH_9.2\r\n")
        await writer.drain()
        writer.close()

    async with world.start() as one, await asyncio.start_server(greet, "127.0.0.1", 0) as server:
        host, port = server.sockets[0].getsockname()[:2]
        with pytest.raises(DialFailed) as failed:
            await one.transport.dial(b"n" * 32, [f"{host}:{port}"])
    (said,) = failed.value.failures.values()
    assert said.startswith("what answers there does not speak TLS as a node does: ")
    assert "wrong version number" in said.lower()


async def test_strangers_get_nothing_but_a_closed_connection(world: WebSocketWorld) -> None:
    """Plain TCP, HTTP, garbage; TLS without a certificate, of another authority, of another name, of no member."""
    outsider, nameless = world.authority.node(), world.authority.node(names=["node.example"])
    async with (
        world.start() as honest,
        world.start(allows=lambda node: node != outsider.id, config=IMPATIENT) as gate,
    ):
        near, far = await joined(honest, gate)
        for opening in (
            b"",
            b"GET /mesh/1 HTTP/1.1\r\nHost: mesh\r\n\r\n",
            b"\x16\x03\x01" + b"\xff" * 3000,
            b"\0" * 100_000,
        ):
            async with connected(gate) as stream:
                stream[1].write(opening)
                assert await everything(stream) == b""
        foreign = Authority().node()
        contexts = {
            "no certificate": gate.node.anonymous(),
            "another authority": foreign.believing(world.authority).client(),
            "no node id": nameless.client(),
            "no member": outsider.client(),
        }
        for who, context in contexts.items():
            async with connected(gate, context) as stream:
                try:
                    stream[1].write(UPGRADE)
                    await soon(stream[1].drain())
                except ConnectionError:
                    pass
                assert await everything(stream) == b"", who
        assert gate.accepted.empty()
        await passes(near, far)


@pytest.mark.parametrize(
    "request_bytes",
    [
        UPGRADE.replace(b"/mesh/1", b"/"),
        UPGRADE.replace(b"/mesh/1", b"/mesh/1?x=1"),
        UPGRADE.replace(b"/mesh/1", b"/mesh/2"),
        UPGRADE.replace(b"GET", b"POST"),
        UPGRADE.replace(b"Upgrade: websocket\r\n", b""),
        UPGRADE.replace(b"Version: 13", b"Version: 99"),
        UPGRADE.replace(b"Host: mesh", b"Sec-WebSocket-Protocol: chat"),
        UPGRADE.replace(b"Host: mesh", b"Host: " + b"m" * 100_000),
        UPGRADE.replace(b"Host: mesh", b"Expect: 100-continue\r\nContent-Length: 5"),
        b"GET /mesh/1 HTTP/1.1\r\nHost: mesh\r\n\r\n" * 50,
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"\x00\xff" * 10_000,
        UPGRADE[:-2],
        b"",
    ],
    ids=[
        "root path",
        "query",
        "other path",
        "post",
        "no upgrade",
        "version",
        "subprotocol",
        "long header",
        "expect",
        "pipelined",
        "http2",
        "garbage",
        "unfinished",
        "silence",
    ],
)
async def test_a_member_that_asks_for_anything_else_gets_no_answer(world: WebSocketWorld, request_bytes: bytes) -> None:
    """Other paths and methods, half a request, none, too much of one: no byte of HTTP comes back."""
    member = world.authority.node()
    async with (
        world.start() as honest,
        world.start(config=IMPATIENT) as gate,
    ):
        near, far = await joined(honest, gate)
        async with connected(gate, member.client()) as stream:
            stream[1].write(request_bytes)
            assert await everything(stream) == b""
        assert gate.accepted.empty()
        await passes(near, far)


@pytest.mark.parametrize(
    ("sent", "reason"),
    [
        (frame(TEXT, b"hello"), "something else than a frame"),
        (frame(PING, b"").replace(b"\xff" + b"\0" * 8, b"\x80"), "something else than a frame"),
        (frame(BINARY, b"x" * 100, claimed=FRAME_BYTES + 1), "too large"),
        (frame(BINARY, b"x" * 100, claimed=2**30), "too large"),
        (frame(BINARY, b"x" * 100, claimed=2**63), "too large"),
        (frame(BINARY, b"x" * FRAME_BYTES, final=False) + frame(CONTINUATION, b"y"), "too large"),
        (frame(CONTINUATION, b"x"), "malformed"),
        (b"\x70\x00" * 10, "malformed"),
    ],
    ids=["text", "ping", "cap and one", "a gigabyte", "2**63", "fragments", "no beginning", "reserved bits"],
)
async def test_what_is_not_a_frame_closes_that_link_only(world: WebSocketWorld, sent: bytes, reason: str) -> None:
    """Text, ping, a frame above the cap whole or in pieces, broken framing."""
    async with world.start() as honest, world.start() as gate:
        near, far = await joined(honest, gate)
        async with upgraded(gate, world.authority.node()) as (stream, link):
            stream[1].write(sent)
            with pytest.raises(LinkClosed, match=reason):
                await soon(link.receive())
            ending = await everything(stream)
        assert ending[:1] in (b"", b"\x88")  # a close frame, if it got there before the end
        if "large" in reason:
            assert ending[2:4] in (b"", (1009).to_bytes(2, "big"))
        assert link not in gate.transport.links
        await passes(near, far)


@pytest.mark.parametrize("receiving", [True, False])
@pytest.mark.parametrize("in_pieces", [True, False])
async def test_a_flood_is_cut_off_and_not_kept(world: WebSocketWorld, *, in_pieces: bool, receiving: bool) -> None:
    """64 MB of one frame, or of fragments: the connection ends early and memory stays small, whoever is receiving."""
    piece = bytes(65536)
    async with world.start() as gate, upgraded(gate, world.authority.node()) as (stream, link):
        waiting = asyncio.ensure_future(link.receive()) if receiving else None
        tracemalloc.start()
        sent = 0
        try:
            if not in_pieces:
                stream[1].write(frame(BINARY, b"", claimed=2**30))
            for number in range(1024):
                stream[1].write(frame(0 if number else BINARY, piece, final=False) if in_pieces else piece)
                await soon(stream[1].drain())
                sent += len(piece)
                if stream[1].is_closing():
                    break
        except ConnectionError:
            pass
        finally:
            _, peak = tracemalloc.get_traced_memory()
            tracemalloc.stop()
        await everything(stream)
        assert peak < 16 * 2**20
        if receiving:
            assert sent < 64 * 2**20
        with pytest.raises(LinkClosed):
            await soon(waiting or link.receive())


@pytest.mark.parametrize("how", ["reset", "half-closed", "in the middle of a frame"])
async def test_a_connection_that_breaks_closes_its_link(world: WebSocketWorld, how: str) -> None:
    """RST, FIN without TLS's goodbye, half a frame: LinkClosed on receive and then on send."""
    async with world.start() as honest, world.start() as gate:
        near, far = await joined(honest, gate)
        async with upgraded(gate, world.authority.node()) as (stream, link):
            stream[1].write(frame(BINARY, b"whole"))
            assert await soon(link.receive()) == b"whole"
            raw = stream[1].get_extra_info("socket")
            if how == "reset":
                raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                stream[1].transport.abort()
            elif how == "half-closed":
                raw.shutdown(socket.SHUT_WR)
            else:
                stream[1].write(frame(BINARY, b"half", claimed=1000))
                await soon(stream[1].drain())
                raw.shutdown(socket.SHUT_WR)
            with pytest.raises(LinkClosed, match="lost"):
                await soon(link.receive())
            with pytest.raises(LinkClosed):
                await soon(link.send(b"x"))
        await passes(near, far)


async def test_half_open_connections_do_not_keep_honest_nodes_out(world: WebSocketWorld) -> None:
    """Every place is taken by somebody silent; the oldest has to leave."""
    config = LinkConfig(half_open=4, handshake_seconds=60, close_seconds=0.1)
    async with (
        world.start() as honest,
        world.start(config=config) as gate,
        connected(gate) as oldest,
        connected(gate),
        connected(gate),
        connected(gate),
    ):
        for _ in range(3):
            await passes(*await joined(honest, gate))
        assert await everything(oldest) == b""


async def test_leaving_does_not_wait_for_the_silent(world: WebSocketWorld) -> None:
    """A stranger before TLS, one after it, and a link whose other side reads nothing: all end with the transport."""
    member = world.authority.node()
    async with (
        world.start(config=LinkConfig(handshake_seconds=60)) as gate,
        connected(gate) as plain,
        connected(gate, member.client()) as secure,
        upgraded(gate, member) as (stuck, link),
    ):
        sending = await stuck_sends(stuck, link)
        await soon(gate.transport.__aexit__(None, None, None))
        outcomes = await soon(asyncio.gather(*sending, return_exceptions=True))
        assert isinstance(outcomes[-1], LinkClosed)
        assert gate.transport.links == frozenset()
        assert await everything(plain) == b""
        assert await everything(secure) == b""
        await gate.transport.__aenter__()  # for the fixture, and it can be entered again


async def test_an_oversized_frame_of_one_that_does_not_read_ends_the_link_too(world: WebSocketWorld) -> None:
    """The goodbye cannot get through to it; nobody waits for that."""
    async with world.start() as gate, upgraded(gate, world.authority.node()) as (stuck, link):
        sending = await stuck_sends(stuck, link)
        stuck[1].write(frame(BINARY, b"", claimed=2**30))
        with pytest.raises(LinkClosed):
            await soon(link.receive())
        outcomes = await soon(asyncio.gather(*sending, return_exceptions=True))
        assert isinstance(outcomes[-1], LinkClosed)


class Unending(Connection):
    """A connection that cannot be ended: whatever is tried fails."""

    __slots__ = ()

    def __init__(self, real: Connection) -> None:
        super().__init__(real.transport)
        self.transport = self  # type: ignore[assignment]  # of a transport, no more than `close` is wanted

    def abort(self) -> None:
        raise RuntimeError("it does not end")

    def close(self) -> None:
        raise RuntimeError("it does not close")


@pytest.mark.parametrize("side", ["dialled", "accepted"])
@pytest.mark.parametrize("end", ["close", "receive", "send"])
async def test_a_connection_that_cannot_be_ended_ends_its_link_all_the_same(
    world: WebSocketWorld, side: str, end: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Closed here, closed there or by a frame too large: whoever waits is told, and the transport knows it no more."""
    async with world.start() as one, world.start() as two:
        near, far = await joined(one, two)
        link, other = (near, far) if side == "dialled" else (far, near)
        assert isinstance(link, WebSocketLink)
        link._socket.wire = Unending(link._socket.wire)
        waiting = [asyncio.ensure_future(each.receive()) for each in (link, other)]
        ways: dict[str, Callable[[], Awaitable[None]]] = {
            "close": lambda: link.close("bye"),
            "receive": lambda: other.close("bye"),
            "send": lambda: link.send(bytes(FRAME_BYTES + 1)),
        }
        await soon(asyncio.gather(ways[end](), link.close(), return_exceptions=True))
        for outcome in await soon(asyncio.gather(*waiting, return_exceptions=True)):
            assert isinstance(outcome, LinkClosed)
        assert link.gone.is_set()
        assert one.transport.links == two.transport.links == frozenset()
    assert "did not end as it should" in caplog.text


class Watcher(asyncio.Protocol):
    """Knows its transport, and when the connection has ended."""

    def __init__(self) -> None:
        self.made: asyncio.Future[asyncio.Transport] = asyncio.get_running_loop().create_future()
        self.lost = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.made.set_result(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost.set()


@pytest.mark.parametrize("closed", [0, 1, 2, 3])
async def test_a_tls_connection_is_aborted_however_often_it_was_closed(world: WebSocketWorld, closed: int) -> None:
    """The other side reads nothing, and TLS would wait for its goodbye for an hour."""
    loop = asyncio.get_running_loop()
    node, server_end, client_end = world.authority.node(), Watcher(), Watcher()
    server = await loop.create_server(
        lambda: server_end, "127.0.0.1", 0, ssl=node.server(), ssl_shutdown_timeout=3600, start_serving=True
    )
    async with server:
        port = server.sockets[0].getsockname()[1]
        silent, _ = await loop.create_connection(
            lambda: client_end, "127.0.0.1", port, ssl=node.client(), server_hostname=text_id(node.id)
        )
        connection = Connection(await soon(server_end.made))
        silent.pause_reading()
        for _ in range(closed):
            connection.transport.close()
        connection.abort()
        connection.abort()
        await soon(server_end.lost.wait())
        silent.abort()
        await soon(client_end.lost.wait())


async def test_a_server_that_talks_on_after_the_goodbye_is_dropped(world: WebSocketWorld) -> None:
    """It answers a dial as a node does, then sends frame after frame and never hears the close."""
    talker = world.authority.node()
    left = asyncio.Event()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        key = head.partition(b"Sec-WebSocket-Key: ")[2].partition(b"\r\n")[0]
        proof = base64.b64encode(hashlib.sha1(key + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest())
        writer.write(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n")
        writer.write(b"Sec-WebSocket-Accept: " + proof + b"\r\n\r\n")
        try:
            while not writer.is_closing():
                writer.write(struct.pack("!BBH", 0x80 | BINARY, 126, 1000) + bytes(1000))
                await writer.drain()
                await asyncio.sleep(0)
        except ConnectionError:
            pass
        finally:
            writer.transport.abort()
            left.set()

    server = await asyncio.start_server(talk, "127.0.0.1", 0, ssl=talker.server())
    async with server, world.start() as one:
        link = await soon(one.transport.dial(talker.id, [f"127.0.0.1:{server.sockets[0].getsockname()[1]}"]))
        assert await soon(link.receive()) == bytes(1000)
        await soon(link.close("enough"))
        await soon(left.wait())
        assert one.transport.links == frozenset()


async def test_a_renewed_certificate_is_used_from_then_on(world: WebSocketWorld) -> None:
    """`renew` changes what new connections see, dialled or accepted; the open link goes on."""
    first = world.authority.node()
    second = world.authority.renewed(first)
    servers, clients = iter([first.server(), second.server()]), iter([first.client(), second.client()])
    accepted: asyncio.Queue[PeerLink] = asyncio.Queue()
    async with (
        world.start() as honest,
        WebSocketTransport(
            first.id,
            accepted.put_nowait,
            server_context=lambda: next(servers),
            client_context=lambda: next(clients),
            admission=world.admission(),
            listen=[("127.0.0.1", 0)],
            config=BRISK,
        ) as transport,
    ):
        there = Started(first, transport, accepted, f"127.0.0.1:{transport.bound[0][1]}")
        near, far = await joined(honest, there)
        transport.renew()
        async with connected(there, honest.node.client()) as (_, writer):
            proof = writer.get_extra_info("ssl_object")
            assert int(proof.getpeercert()["serialNumber"], 16) == second.certificate.serial_number
            assert peer_of(proof) == first.id
        await passes(*await joined(there, honest))
        await passes(near, far)


async def test_an_expired_certificate_is_told_to_both_sides(world: WebSocketWorld) -> None:
    """Whether to talk on is decided above; the link only says so."""
    async with world.start(is_expired=lambda _proof: True) as one, world.start() as two:
        near, far = await joined(one, two)
        assert near.expired
        assert not far.expired
        back, forth = await joined(two, one)
        assert not back.expired
        assert forth.expired


async def test_a_redirect_is_not_followed(world: WebSocketWorld) -> None:
    """A node that answers a dial with a 302 to elsewhere is not reached, and elsewhere is not asked."""
    asked = []
    liar = world.authority.node()

    async def redirect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append((await reader.readuntil(b"\r\n")).split()[1])
        port = writer.get_extra_info("sockname")[1]
        writer.write(f"HTTP/1.1 302 Found\r\nLocation: https://127.0.0.1:{port}/else\r\n\r\n".encode())
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(redirect, "127.0.0.1", 0, ssl=liar.server())
    async with server, world.start() as one:
        address = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        with pytest.raises(DialFailed, match="not a node"):
            await soon(one.transport.dial(liar.id, [address]))
        assert asked == [b"/mesh/1"]


async def test_a_server_that_never_answers_is_given_up(world: WebSocketWorld) -> None:
    """It accepts the connection and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        async with world.start(config=LinkConfig(dial_seconds=0.05)) as one:
            address = f"127.0.0.1:{silent.getsockname()[1]}"
            with pytest.raises(DialFailed, match="no answer within"):
                await soon(one.transport.dial(b"n" * 32, [address]))


async def test_a_silent_address_does_not_hold_up_the_next(world: WebSocketWorld) -> None:
    """The second address gets its try while the first one is still being waited for."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        config = LinkConfig(dial_seconds=3600, next_address_seconds=0.01, close_seconds=0.1)
        async with world.start(config=config) as one, world.start() as two:
            addresses = [f"127.0.0.1:{silent.getsockname()[1]}", two.address]
            near = await soon(one.transport.dial(two.node.id, addresses))
            await passes(near, await two.next_link())


@pytest.mark.parametrize(
    "address", ["", "here", "127.0.0.1", ":7", "127.0.0.1:0", "a b:7", "::1:7", "[x]:7", "h:\uff17", "u@h:7"]
)
async def test_what_is_no_address_is_not_dialled(world: WebSocketWorld, address: str) -> None:
    """Addresses come from other nodes; an odd one is a failure like any other."""
    async with world.start() as one:
        with pytest.raises(DialFailed, match="not an address"):
            await soon(one.transport.dial(b"n" * 32, [address]))


async def test_proxies_of_the_environment_are_not_used(world: WebSocketWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """Links go from node to node."""
    for name in ("HTTPS_PROXY", "https_proxy", "WSS_PROXY", "wss_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    async with world.start() as one, world.start() as two:
        await passes(*await joined(one, two))


async def test_a_node_does_not_dial_itself_nor_one_that_is_no_member(world: WebSocketWorld) -> None:
    """Refused before anything leaves the machine."""
    outsider = world.authority.node()
    async with world.start(allows=lambda node: node != outsider.id) as one, world.start(node=outsider) as two:
        with pytest.raises(DialFailed, match="itself"):
            await soon(one.transport.dial(one.node.id, [one.address]))
        with pytest.raises(DialFailed, match="no member"):
            await soon(one.transport.dial(two.node.id, [two.address]))


async def test_a_port_in_use_is_said_with_a_next_step(world: WebSocketWorld) -> None:
    """Starting fails as a whole, and leaves no other address behind."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        node = world.authority.node()
        transport = WebSocketTransport(
            node.id,
            lambda _link: None,
            server_context=node.server,
            client_context=node.client,
            admission=world.admission(),
            listen=[("127.0.0.1", 0), taken.getsockname()],
        )
        with pytest.raises(ListenFailed, match="cannot be listened on") as failed:
            await transport.__aenter__()
        assert failed.value.next_step
        assert transport.bound == []


async def test_an_owner_that_fails_to_take_a_link_loses_only_that_link(
    world: WebSocketWorld, caplog: pytest.LogCaptureFixture
) -> None:
    """The callback raises once: logged once, that link ends, the next is fine."""
    accepted: list[PeerLink] = []

    def take(link: PeerLink) -> None:
        accepted.append(link)
        if len(accepted) == 1:
            raise RuntimeError("a bug of the owner")

    node = world.authority.node()
    async with (
        world.start() as honest,
        WebSocketTransport(
            node.id,
            take,
            server_context=node.server,
            client_context=node.client,
            admission=world.admission(),
            listen=[("127.0.0.1", 0)],
            config=BRISK,
        ) as transport,
    ):
        address = f"127.0.0.1:{transport.bound[0][1]}"
        near = await soon(honest.transport.dial(node.id, [address]))
        with pytest.raises(LinkClosed):
            await soon(near.receive())
        near = await soon(honest.transport.dial(node.id, [address]))
        await passes(near, accepted[1])
        assert transport.links == {accepted[1]}
    assert [record.message for record in caplog.records if record.levelno >= logging.ERROR] == [
        f"a link with {accepted[0].address} could not be taken over"
    ]


async def test_a_dial_that_is_cancelled_leaves_nothing_behind(world: WebSocketWorld) -> None:
    """At any of its first turns of the loop."""
    async with world.start() as one, world.start() as two:
        for turns in range(0, 40, 2):
            dialling = asyncio.ensure_future(one.transport.dial(two.node.id, [two.address]))
            for _ in range(turns):
                await asyncio.sleep(0)
            dialling.cancel()
            outcome = (await soon(asyncio.gather(dialling, return_exceptions=True)))[0]
            if not isinstance(outcome, BaseException):
                await outcome.close()
            assert one.transport.links == frozenset()
        near = await soon(one.transport.dial(two.node.id, [two.address]))
        await soon(near.send(b"after all"))
        while True:
            try:
                assert await soon((await two.next_link()).receive()) == b"after all"
                break
            except LinkClosed:
                continue
