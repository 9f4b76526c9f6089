"""The join port: conversations with newcomers over TLS, few at a time and each bounded. What is said is `join_admission`.

Open it only while an invitation is outstanding.
"""

import asyncio
import logging
import os
import socket
import ssl
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import ip_address
from types import TracebackType
from typing import Protocol, Self

from mesh.core.errors import RemoteError
from mesh.core.identity import Identity
from peers.transport.link import Connection
from peers.trust.join_admission import Admission, Invitation, JoinConversation, MeshStanding
from peers.trust.join_protocol import HEAD_BYTES, NONCE_BYTES, REQUEST_BYTES, JoinRefusal, JoinRequest, encode

log = logging.getLogger("mesh.peers")
_MINUTE = 60.0
_ADDRESSES = 4096  # remembered at most; beyond that the one that failed longest ago is forgotten
_CLOSING_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class JoinLimits:
    """What strangers may cost us."""

    conversations: int = 16  # at once, in all; more are closed unheard
    failures: int = 10  # a minute and address; then it is closed unheard until a minute is over
    seconds: float = 30.0  # for one conversation, handshake and a welcome of megabytes included


class Registrar(Protocol):
    """What the listener needs of the node behind it."""

    async def standing(self) -> MeshStanding:
        """What is known now."""
        ...

    async def invitation(self, invite: bytes) -> Invitation | None:
        """What an invitation says, also one that is used up or has expired; None if there is none."""
        ...

    async def use(self, invite: bytes, node: bytes) -> JoinRefusal | None:
        """Record a use. On disk before this returns; the same node again is the same use."""
        ...

    async def publish(self, admission: Admission) -> None:
        """Keep statement and certificate, and let gossip have them. On disk before this returns."""
        ...


class Tries:
    """Failed tries by address, in the last minute."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._failed: dict[str, deque[float]] = {}

    def are_too_many(self, address: str, now: float) -> bool:
        """Whether an address is not to be heard now."""
        times = self._failed.get(address)
        while times and times[0] <= now - _MINUTE:
            times.popleft()
        return times is not None and len(times) >= self._most

    def note(self, address: str, now: float) -> None:
        """Count a failure."""
        times = self._failed.pop(address, None) or deque(maxlen=self._most)
        times.append(now)
        self._failed[address] = times  # last again: the first is the one that failed longest ago
        if len(self._failed) > _ADDRESSES:
            del self._failed[next(iter(self._failed))]


class JoinListener:
    """`async with JoinListener(...)`: open inside the block, closed with all its conversations after it."""

    def __init__(
        self,
        host: str,
        port: int,
        context: ssl.SSLContext,
        mesh: bytes,
        identity: Identity,
        registrar: Registrar,
        clock: Callable[[], int],
        limits: JoinLimits | None = None,
    ) -> None:
        self._address = (host, port)
        self._context = context
        self._mesh = mesh
        self._identity = identity
        self._registrar = registrar
        self._clock = clock
        self._limits = limits or JoinLimits()
        self._tries = Tries(self._limits.failures)
        self._busy = 0
        self._admitting = asyncio.Lock()  # two requests of one node at once must not make two certificates
        self._socket: socket.socket | None = None
        self._tasks = asyncio.TaskGroup()
        self._accepting: asyncio.Task[None] | None = None
        self._talking: dict[asyncio.Task[None], socket.socket] = {}

    async def __aenter__(self) -> Self:
        self._socket = _listen(*self._address)
        await self._tasks.__aenter__()
        self._accepting = self._tasks.create_task(self._accept(self._socket))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for task in (self._accepting, *self._talking):
            if task is not None:
                task.cancel()
        try:
            await self._tasks.__aexit__(kind, error, trace)
        finally:
            if self._socket is not None:
                self._socket.close()

    @property
    def port(self) -> int:
        """The port it listens on, also when any was asked for."""
        assert self._socket is not None
        return int(self._socket.getsockname()[1])

    @property
    def busy(self) -> int:
        """How many conversations are under way."""
        return self._busy

    async def _accept(self, listening: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                connection, peer = await loop.sock_accept(listening)
            except OSError:  # no descriptors left, say: others may give some back
                await asyncio.sleep(1)
                continue
            address = _who(peer[0])
            if self._busy >= self._limits.conversations or self._tries.are_too_many(address, loop.time()):
                connection.close()
                continue
            self._busy += 1
            task = self._tasks.create_task(self._receive(connection, address))
            self._talking[task] = connection
            task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._talking.pop(task).close()  # also if the task was cancelled before its first step
        self._busy -= 1

    async def _receive(self, connection: socket.socket, address: str) -> None:
        """One conversation. Whatever goes wrong in it ends it, and nothing else."""
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(limit=REQUEST_BYTES)
        protocol = asyncio.StreamReaderProtocol(reader)
        wire: Connection | None = None
        try:
            async with asyncio.timeout(self._limits.seconds):
                transport, _ = await loop.connect_accepted_socket(
                    lambda: protocol,
                    connection,
                    ssl=self._context,
                    ssl_handshake_timeout=self._limits.seconds,
                    ssl_shutdown_timeout=_CLOSING_SECONDS,
                )
                wire = Connection(transport)
                writer = asyncio.StreamWriter(transport, protocol, reader, loop)
                if not await self._converse(reader, writer):
                    self._tries.note(address, loop.time())
                    wire.abort()  # without a word
                writer.close()
                with suppress(OSError):  # it has its answer: how it hangs up is its own business
                    await writer.wait_closed()
        except (OSError, EOFError, RemoteError):  # TLS's errors and a timeout are an OSError
            self._tries.note(address, loop.time())
        except Exception:  # of our own, a full disk for one: nobody else's conversation ends by it
            log.exception("a newcomer could not be answered")
        finally:
            if wire is not None:
                wire.abort()

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Greet, hear, answer. False if the other side was not invited."""
        reception = JoinConversation(self._mesh, self._identity, os.urandom(NONCE_BYTES))
        await send(writer, reception.greet(await self._registrar.standing()))
        request = reception.hear(await receive(reader, REQUEST_BYTES))
        invitation = await self._registrar.invitation(request.invite)
        # An unknown invitation takes as long as a wrong secret, and is answered the same: not at all.
        secret = bytes(32) if invitation is None else invitation.secret
        if not reception.proves(request, secret) or invitation is None:
            return False
        async with self._admitting:
            answer = await self._answer(reception, request, invitation)
        await send(writer, answer)
        return True

    async def _answer(self, reception: JoinConversation, request: JoinRequest, invitation: Invitation) -> bytes:
        """The use is on disk before anything is signed, and what was signed before it leaves."""
        admission = reception.admit(await self._registrar.standing(), request, invitation.role, self._clock())
        if isinstance(admission, JoinRefusal):
            return encode(admission)
        refusal = await self._registrar.use(request.invite, request.node)
        if refusal is not None:
            return encode(refusal)
        await self._registrar.publish(admission)
        return reception.welcome(await self._registrar.standing(), request, invitation.secret)


async def send(writer: asyncio.StreamWriter, message: bytes) -> None:
    """One message, with its length before it."""
    writer.write(len(message).to_bytes(HEAD_BYTES, "big") + message)
    await writer.drain()


async def receive(reader: asyncio.StreamReader, most: int) -> bytes:
    """One message of at most so many bytes, or RemoteError before any of it is read."""
    length = int.from_bytes(await reader.readexactly(HEAD_BYTES), "big")
    if length > most:
        raise RemoteError(f"a message of {length} bytes is above the limit of {most}")
    return await reader.readexactly(length)


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.create_server((host, port), family=family, backlog=64)  # as the mesh port: IPv6 leaves IPv4 alone
    made.setblocking(False)
    return made


def _who(host: str) -> str:
    """Whom tries are counted for: an IPv4 address, or the network of an IPv6 one, which has more than it can use up."""
    with suppress(ValueError):
        address = ip_address(host.partition("%")[0])
        if address.version == 6 and address.ipv4_mapped is None:
            return address.exploded[:19]
    return host
