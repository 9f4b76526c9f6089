"""The transport of real nodes: WebSockets over mutual TLS. Knows neither messages nor how trust is decided.

TLS itself checks that a dialled address leads to the node that was meant: its name there is its node id.
"""

import asyncio
import ssl
from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import Self

import aiohttp
from yarl import URL

from mesh.core.errors import UsageError
from mesh.core.ids import text_id
from peers.transport.address import parse_address
from peers.transport.link import LinkConfig, NoWay, PeerLink, first_link, reason_of
from peers.transport.link_listener import PATH, ConnectionPolicy, LinkListener
from peers.transport.websocket_link import ClientSocket, WebSocketLink

_LEAVING = "the node is leaving"


class WebSocketTransport:
    """Listens and dials while it is entered."""

    def __init__(
        self,
        node: bytes,
        accepted: Callable[[PeerLink], None],
        *,
        server_context: Callable[[], ssl.SSLContext],
        client_context: Callable[[], ssl.SSLContext],
        admission: ConnectionPolicy,
        listen: Iterable[tuple[str, int]] = (),
        config: LinkConfig | None = None,
    ) -> None:
        self.node = node
        self._accepted = accepted
        self._server_context = server_context
        self._client_context = client_context
        self._admission = admission
        self._listen = list(listen)
        self._config = config or LinkConfig()
        self._links: set[WebSocketLink] = set()

    @property
    def links(self) -> frozenset[PeerLink]:
        """See Transport."""
        return frozenset(self._links)

    @property
    def bound(self) -> list[tuple[str, int]]:
        """Host and real port of every address listened on, in the order given."""
        return self._gate.bound

    async def __aenter__(self) -> Self:
        """Listen. Raises ListenFailed."""
        self._gate = LinkListener(
            self._listen, self._server_context(), self._admission, self._config, self._linked, self._links.discard
        )
        self._dialing = self._client_context()
        await self._gate.__aenter__()
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, use_dns_cache=False, force_close=True),
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=None),  # every attempt has its own
            trust_env=False,  # a proxy would be a stranger in the middle
            ws_response_class=ClientSocket,
            middlewares=(_no_detour,),
            skip_auto_headers=("User-Agent",),
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close every link, stop listening. Takes a second at most, however slow the others are."""
        try:
            await asyncio.gather(*(link.close(_LEAVING) for link in self._links))
        finally:
            try:
                await self._gate.__aexit__(kind, error, trace)
            finally:
                await self._session.close()

    def renew(self) -> None:
        """Take new certificates into use. Links that are open keep what they were opened with."""
        self._gate.context = self._server_context()
        self._dialing = self._client_context()

    async def dial(self, node: bytes, addresses: Sequence[str]) -> PeerLink:
        """See Transport."""
        return await first_link(
            node, addresses, lambda address: self._attempt(node, address), self._config.next_address_seconds
        )

    def _linked(self, link: WebSocketLink) -> None:
        self._links.add(link)
        self._accepted(link)

    async def _attempt(self, node: bytes, address: str) -> WebSocketLink:
        if node == self.node:
            raise NoWay("that is this node itself")
        if not self._admission.allows(node):
            raise NoWay("the node is no member")
        try:
            host, port = parse_address(address)
            async with asyncio.timeout(self._config.dial_seconds):
                socket = await self._session.ws_connect(
                    URL.build(scheme="wss", host=host, port=port, path=PATH),
                    ssl=self._dialing,
                    server_hostname=text_id(node),
                    timeout=aiohttp.ClientWSTimeout(ws_close=self._config.close_seconds),
                    **ClientSocket.options,
                )
        except (OSError, aiohttp.ClientError, UsageError, ValueError) as error:
            raise NoWay(self._why(error)) from error
        assert isinstance(socket, ClientSocket)
        return self._met(socket, node, address)

    def _met(self, socket: ClientSocket, node: bytes, address: str) -> WebSocketLink:
        socket.close_seconds = self._config.close_seconds
        try:
            proof = socket.wire.transport.get_extra_info("ssl_object")
            peer = self._admission.peer_of(proof)
            expired = self._admission.is_expired(proof)
        except Exception as error:
            socket.finish()
            raise NoWay(f"its certificate cannot be read: {error}") from error
        if peer != node:  # TLS has checked the name already; this is what counts as identity here
            socket.finish()
            raise NoWay("another node answers there")
        link = WebSocketLink(
            socket,
            peer,
            address,
            expired=expired,
            send_seconds=self._config.send_seconds,
            ended=self._links.discard,
        )
        self._links.add(link)
        return link

    def _why(self, error: Exception) -> str:
        match error:
            case UsageError():
                return "that is not an address"
            case aiohttp.ClientConnectorCertificateError():
                inner = error.certificate_error
                said = getattr(inner, "verify_message", "") or str(inner)
                return f"another node answers there, or its certificate is not of this mesh ({said})"
            case aiohttp.ClientConnectorDNSError():
                return "no such host"
            case aiohttp.ClientConnectorSSLError():
                return f"what answers there does not speak TLS as a node does: {reason_of(error.os_error)}"
            case aiohttp.ClientConnectorError():
                return reason_of(error.os_error) or str(error.os_error)
            case TimeoutError():
                return f"no answer within {self._config.dial_seconds:g} seconds"
            case aiohttp.ClientConnectionError() | OSError():
                return "it closed the connection without an answer: it may not count this node as a member"
            case _:
                return "what answers there is not a node of a mesh"


async def _no_detour(request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
    """Refuse everything but the upgrade. A redirect above all, which aiohttp would follow: it leads past TLS's check."""
    response = await handler(request)
    if response.status != 101:
        response.close()
        raise aiohttp.WSServerHandshakeError(
            response.request_info, response.history, status=response.status, message="no upgrade"
        )
    return response
