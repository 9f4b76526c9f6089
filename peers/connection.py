"""A TLS connection that can be dropped at any moment. Nothing here reads or writes it."""

import asyncio
import os
import socket
import ssl
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


def reason_of(error: OSError) -> str:
    """Asyncio tells the address in place of the reason, and keeps only its number. Empty if nothing was said."""
    if isinstance(error, ssl.SSLError | socket.gaierror):  # their numbers are not the system's
        return error.strerror or ""
    return os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror or ""
