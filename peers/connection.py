"""A TLS connection that can be dropped at any moment. Nothing here reads or writes it."""

import asyncio
import socket
from contextlib import suppress


class Connection:
    """A transport of asyncio, and its socket. Make it while the transport is open."""

    __slots__ = ("_socket", "transport")

    def __init__(self, transport: asyncio.Transport) -> None:
        self.transport = transport
        self._socket = transport.get_extra_info("socket")

    def abort(self) -> None:
        """End it at once, whatever was done to it before. Again is harmless.

        asyncio's TLS transport forgets what it rests on when it is closed a second time, and the first close is TLS's own
        if the other side said goodbye. From then on its `abort` does nothing, or raises, as in Python 3.11.2.
        """
        with suppress(AttributeError):
            self.transport.abort()
        with suppress(OSError):  # closed already
            self._socket.shutdown(socket.SHUT_RDWR)
