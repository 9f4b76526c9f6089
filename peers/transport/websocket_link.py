"""A link over one WebSocket of aiohttp, whichever side opened it. No TLS and no listening here."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any, ClassVar

from aiohttp import ClientError, ClientResponse, ClientWebSocketResponse, WebSocketError, WSCloseCode, WSMsgType, web

from peers.proto.gossip_config import FRAME_BYTES
from peers.transport.link import Connection, LinkClosed, short_reason, too_large

# aiohttp refuses what is as large as its limit, as soon as it has read the length.
_MAX_MESSAGE_BYTES = FRAME_BYTES + 1
_LOST = "the connection was lost"
log = logging.getLogger("mesh.peers")


class ServerSocket(web.WebSocketResponse):
    """The accepting side of a WebSocket. Its `close`, which aiohttp also calls on its own, never takes long."""

    def __init__(self, wire: Connection, close_seconds: float) -> None:
        super().__init__(timeout=close_seconds, autoping=False, compress=False, max_msg_size=_MAX_MESSAGE_BYTES)
        self.wire = wire
        self.close_seconds = close_seconds

    async def close(self, *, code: int = WSCloseCode.OK, message: bytes = b"", drain: bool = True) -> bool:
        """Say goodbye, or drop the connection: a peer that reads nothing would let aiohttp wait for ever."""
        try:
            async with asyncio.timeout(self.close_seconds):
                return await super().close(code=code, message=message, drain=drain)
        except TimeoutError:
            self.wire.abort()
            return True

    def finish(self) -> None:
        """Let the last bytes out; TLS itself gives up after `close_seconds`."""
        self.wire.transport.close()


class ClientSocket(ClientWebSocketResponse):
    """The dialling side of a WebSocket. Its `close`, which aiohttp also calls on its own, never takes long."""

    close_seconds = 0.5  # aiohttp makes the instance; the dialling side sets its own
    options: ClassVar[dict[str, Any]] = {
        "autoping": False,
        "heartbeat": None,
        "compress": 0,
        "max_msg_size": _MAX_MESSAGE_BYTES,
    }

    def __init__(self, reader: Any, writer: Any, protocol: Any, response: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(reader, writer, protocol, response, *args, **kwargs)
        self.wire = Connection(writer.transport)
        self._answer: ClientResponse = response

    async def close(self, *, code: int = WSCloseCode.OK, message: bytes = b"") -> bool:
        """Say goodbye, or drop the connection: one that goes on sending would let aiohttp wait for ever."""
        try:
            async with asyncio.timeout(self.close_seconds):
                return await super().close(code=code, message=message)
        except TimeoutError:
            self.finish()
            return True

    def finish(self) -> None:
        """End the connection at once, and give it back to aiohttp: goodbyes were said, or there was time enough for them."""
        try:
            self.wire.abort()
        finally:
            self._answer.close()


class WebSocketLink:
    """Frames over a WebSocket. At most one frame above the connection's own buffers waits here, either way."""

    def __init__(
        self,
        socket: ServerSocket | ClientSocket,
        peer: bytes,
        address: str,
        *,
        expired: bool,
        send_seconds: float,
        ended: Callable[["WebSocketLink"], None],
    ) -> None:
        self.peer = peer
        self.address = address
        self.dialed = isinstance(socket, ClientSocket)
        self.expired = expired
        self.bytes_in = 0
        self.bytes_out = 0
        self.gone = asyncio.Event()
        self._socket = socket
        self._send_seconds = send_seconds
        self._ended = ended
        self._reason: str | None = None
        # One sender at a time: the others wait here with their frames instead of in the buffers.
        self._sending = asyncio.Lock()

    async def send(self, frame: bytes) -> None:
        """See Link."""
        if len(frame) > FRAME_BYTES:
            await self._end(WSCloseCode.MESSAGE_TOO_BIG, too_large(len(frame)))
        async with self._sending:
            if self._reason is not None:
                raise LinkClosed(self._reason)
            try:
                async with asyncio.timeout(self._send_seconds):
                    await self._socket.send_bytes(frame)
            except TimeoutError:
                await self._end(WSCloseCode.POLICY_VIOLATION, "the other side took nothing in")
            except (ConnectionError, ClientError) as error:
                # Frames that had arrived before can still be received; `receive` ends the link after them.
                raise LinkClosed(self._reason or _LOST) from error
        if self._reason is not None:
            raise LinkClosed(self._reason)
        self.bytes_out += len(frame)

    async def receive(self) -> bytes:
        """See Link."""
        if self._reason is not None:
            raise LinkClosed(self._reason)
        message = await self._socket.receive()
        if message.type is WSMsgType.BINARY:
            frame: bytes = message.data
            self.bytes_in += len(frame)
            return frame
        code, reason = WSCloseCode.OK, _LOST
        match message.type:
            case WSMsgType.CLOSE:
                reason = short_reason(str(message.extra or "")) or _said(message.data)
            case WSMsgType.ERROR if isinstance(message.data, WebSocketError):
                reason = "the other side sent a frame that is too large or malformed"
            case WSMsgType.TEXT | WSMsgType.PING | WSMsgType.PONG:
                code, reason = WSCloseCode.UNSUPPORTED_DATA, "the other side sent something else than a frame"
            case _:
                pass
        await self._end(code, reason)
        raise LinkClosed(self._reason or reason)

    async def close(self, reason: str = "") -> None:
        """See Link."""
        await self._end(WSCloseCode.OK, reason or "this side closed it", said=reason)

    async def _end(self, code: int, reason: str, said: str | None = None) -> None:
        """End once: the first reason is the reason. Returns when the connection is given up, at once or soon."""
        if self._reason is not None:
            await self.gone.wait()
            return
        self._reason = reason
        try:
            try:
                await self._socket.close(code=code, message=short_reason(reason if said is None else said).encode())
            finally:
                self._socket.finish()
        except Exception:  # the link is at its end all the same, and nobody may wait for it any longer
            log.exception("the connection with %s did not end as it should", self.address)
        finally:
            self.gone.set()
            self._ended(self)


def _said(code: object) -> str:
    match code:
        case WSCloseCode.MESSAGE_TOO_BIG:
            return f"we sent a frame larger than {FRAME_BYTES} bytes, the other side says"
        case WSCloseCode.UNSUPPORTED_DATA | WSCloseCode.PROTOCOL_ERROR:
            return "we sent something else than a frame, the other side says"
        case _:
            return "the other side closed it"
