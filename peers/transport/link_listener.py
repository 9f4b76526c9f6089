"""The listening side: connections in, links of known nodes out. Unknown nodes get a closed connection.

Until TLS has proved a key and the membership check has passed, nothing but TLS's own handshake is said: no HTTP.
"""

import asyncio
import logging
import socket
import ssl
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Any, NoReturn, Self

from aiohttp import web

from peers.transport.address import format_address
from peers.transport.link import Connection, LinkConfig, ListenFailed
from peers.transport.websocket_link import ServerSocket, WebSocketLink

PATH = "/mesh/1"
_RETRY_SECONDS = 0.1  # after a failed accept: out of descriptors, as a rule

log = logging.getLogger("mesh.peers")


@dataclass(frozen=True, slots=True)
class ConnectionPolicy:
    """How a node tells who is on the other side of a TLS connection. It comes from trust; nothing here decides."""

    peer_of: Callable[[ssl.SSLObject], bytes]  # the node id in the certificate; raises on nonsense
    allows: Callable[[bytes], bool]  # whether that node is a member now
    is_expired: Callable[[ssl.SSLObject], bool]


class LinkListener:
    """Listens while it is entered. `context` is what new connections get: replace it to renew the certificate."""

    def __init__(
        self,
        listen: Iterable[tuple[str, int]],
        context: ssl.SSLContext,
        admission: ConnectionPolicy,
        config: LinkConfig,
        linked: Callable[[WebSocketLink], None],
        ended: Callable[[WebSocketLink], None],
    ) -> None:
        self.context = context
        self.admission = admission
        self.visits: set[_Visit] = set()
        self._listen = list(listen)
        self._config = config
        self._linked = linked
        self._ended = ended
        self._listeners: list[socket.socket] = []
        # Half-open connections, oldest first. Overflow: the oldest goes, since a flood would hold every place
        # for handshake_seconds, while an honest handshake needs its place for milliseconds.
        self._greetings: dict[asyncio.Task[None], None] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def bound(self) -> list[tuple[str, int]]:
        """Where it listens, with the real ports."""
        return [listener.getsockname()[:2] for listener in self._listeners]

    async def __aenter__(self) -> Self:
        """Listen on every address, or on none. Raises ListenFailed."""
        self._server = web.Server(self._upgrade)
        try:
            for host, port in self._listen:
                await self._open(host, port)
        except ListenFailed:
            self._close_listeners()
            raise
        self._tasks = {asyncio.create_task(self._accept(listener)) for listener in self._listeners}
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop. Links should have been closed by then; what is left of them is dropped."""
        for task in self._tasks:
            task.cancel()
        outcomes = await asyncio.gather(*self._tasks, return_exceptions=True)
        self._close_listeners()
        for visit in self.visits:
            visit.abort()
        with suppress(TimeoutError):
            async with asyncio.timeout(self._config.close_seconds):
                await asyncio.gather(*(visit.gone for visit in self.visits))
        await self._server.shutdown(self._config.close_seconds)
        for outcome in outcomes:
            if isinstance(outcome, Exception):
                raise outcome

    def _close_listeners(self) -> None:
        for listener in self._listeners:
            listener.close()
        self._listeners.clear()

    async def _open(self, host: str, port: int) -> None:
        try:
            found = await asyncio.get_running_loop().getaddrinfo(
                host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
            )
            for family, _, _, _, place in found[:1]:
                listener = socket.create_server(place, family=family, backlog=128)  # an IPv6 one leaves IPv4 alone
                listener.setblocking(False)
                self._listeners.append(listener)
        except OSError as error:
            raise ListenFailed(
                f"{format_address(host, port)} cannot be listened on: {error.strerror or error}",
                "stop what uses the port, or choose another address",
            ) from error

    async def _accept(self, listener: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                connection, _ = await loop.sock_accept(listener)
            except OSError as error:
                log.warning("a connection could not be accepted: %s", error)
                await asyncio.sleep(_RETRY_SECONDS)
                continue
            if len(self._greetings) >= self._config.half_open:
                oldest = next(iter(self._greetings))
                del self._greetings[oldest]
                oldest.cancel()
            greeting = asyncio.create_task(self._greet(connection))
            self._greetings[greeting] = None
            self._tasks.add(greeting)
            greeting.add_done_callback(self._greeted)

    def _greeted(self, greeting: asyncio.Task[None]) -> None:
        self._greetings.pop(greeting, None)
        self._tasks.discard(greeting)
        if not greeting.cancelled() and (error := greeting.exception()) is not None:
            log.error("a greeting failed", exc_info=error)

    async def _greet(self, connection: socket.socket) -> None:
        """From a connection to a link, or to nothing."""
        visit = _Visit(self, self._server)
        seconds = self._config.handshake_seconds
        try:
            async with asyncio.timeout(seconds):
                await asyncio.get_running_loop().connect_accepted_socket(
                    lambda: visit,
                    connection,
                    ssl=self.context,
                    ssl_handshake_timeout=seconds,
                    ssl_shutdown_timeout=self._config.close_seconds,
                )
                await visit.settled.wait()
        except OSError as error:  # TLS errors, resets, timeouts: a stranger, or an honest node with bad luck
            log.debug("no link came of a connection: %s", error)
        finally:
            if not visit.linked:
                visit.abort()

    async def _upgrade(self, request: web.BaseRequest) -> web.StreamResponse:
        visit = request.protocol
        assert isinstance(visit, _Visit)
        assert visit.wire is not None
        answer = ServerSocket(visit.wire, self._config.close_seconds)
        if (
            request.method != "GET"
            or request.raw_path != PATH
            or "Sec-WebSocket-Protocol" in request.headers
            or not answer.can_prepare(request)
        ):
            raise _NotOurs
        await answer.prepare(request)
        link = WebSocketLink(
            answer,
            visit.peer,
            visit.address,
            expired=visit.expired,
            send_seconds=self._config.send_seconds,
            ended=self._ended,
        )
        visit.linked = True
        visit.settled.set()
        try:
            self._linked(link)
            await link.gone.wait()
        finally:
            await link.close()
        return answer


class _NotOurs(Exception):
    """A request that no node makes."""


class _Visit(web.RequestHandler):
    """One accepted connection: aiohttp's HTTP, silent towards everybody but a node that upgrades."""

    __slots__ = ("_gate", "address", "expired", "gone", "linked", "peer", "settled", "wire")

    def __init__(self, gate: LinkListener, server: web.Server) -> None:
        super().__init__(
            server,
            loop=asyncio.get_running_loop(),
            access_log=None,  # type: ignore[arg-type]  # aiohttp's way to say: none
            max_line_size=256,
            max_field_size=1024,
            max_headers=32,
            lingering_time=0,
        )
        self._gate = gate
        self.wire: Connection | None = None
        self.peer = b""
        self.address = ""
        self.expired = False
        self.linked = False
        self.settled = asyncio.Event()  # there is a link, or there will be none
        self.gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """TLS is through: the key is proved. Now whether it is a member's."""
        assert isinstance(transport, asyncio.Transport)
        self.wire = Connection(transport)
        self._gate.visits.add(self)
        self.address = format_address(*(transport.get_extra_info("peername") or ("?", 0))[:2])
        admission, proof = self._gate.admission, transport.get_extra_info("ssl_object")
        try:
            self.peer = admission.peer_of(proof)
            allowed = admission.allows(self.peer)
            self.expired = allowed and admission.is_expired(proof)
        except Exception as error:  # noqa: BLE001  # whatever is wrong with a certificate, its bearer stays out
            log.debug("%s has a certificate that cannot be read: %s", self.address, error)
            allowed = False
        if allowed:
            super().connection_made(transport)
        else:
            self.abort()

    def connection_lost(self, exc: BaseException | None) -> None:
        """Nothing more comes or goes."""
        super().connection_lost(exc)
        self._gate.visits.discard(self)
        self.settled.set()
        if not self.gone.done():
            self.gone.set_result(None)

    def close(self) -> None:
        """Called by aiohttp on a broken or oversized frame. Its reader may never look, so the end comes by itself."""
        super().close()
        if self.wire is not None:
            asyncio.get_running_loop().call_later(self._gate._config.close_seconds, self.wire.abort)  # noqa: SLF001

    def abort(self) -> None:
        """Drop the connection without a word."""
        if self.wire is not None:
            self.wire.abort()
        self.force_close()  # what is on its way in is not looked at

    def handle_error(self, *args: Any, **_kwargs: Any) -> NoReturn:
        """No answer to what is not a node's request: nobody learns what listens here."""
        error = next((arg for arg in args if isinstance(arg, Exception)), None)
        if self.linked:
            log.error("a link with %s could not be taken over", self.address, exc_info=error)
        else:
            log.debug("%s was not answered: %r", self.address, error)
        self.abort()
        raise ConnectionResetError
