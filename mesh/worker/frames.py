"""What a node and its worker process say to each other: msgpack values over a socket pair, each behind its length.

Neither trusts the other's bytes: a frame is bounded, and one that makes no sense ends the conversation. A conversation that has
ended, for whatever reason, is begun anew with another process.
"""

import select
import socket
import threading
from contextlib import suppress
from time import monotonic
from typing import Any

from mesh.core.errors import Malformed
from mesh.core.strict_msgpack import pack, unpack

FRAME_BYTES = 16 * 1024 * 1024  # more than what is harvested at once, or compared
_HEAD_BYTES = 4
_PIECE_BYTES = 1 << 16


class WorkerLinkEnded(Exception):
    """The other side is gone, or does not read, or said something that makes no sense."""


class FrameLink:
    """One end. Any thread may send; one receives."""

    def __init__(self, end: socket.socket, send_seconds: float | None = None) -> None:
        """`send_seconds`: how long a frame may take to be sent; None: for as long as the other side likes."""
        self._end = end
        self._send_seconds = send_seconds
        self._sending = threading.Lock()
        self._got = bytearray()
        end.setblocking(False)

    def send(self, *parts: Any) -> None:
        """One frame."""
        data = pack(parts)
        if len(data) > FRAME_BYTES:
            raise ValueError("this is more than can be said at once")
        with self._sending:
            self._send(len(data).to_bytes(_HEAD_BYTES, "big") + data)

    def send_at_once(self, *parts: Any) -> bool:
        """A small frame, if nobody else is sending: for who cannot wait."""
        if not self._sending.acquire(blocking=False):
            return False
        try:
            data = pack(parts)
            self._send(len(data).to_bytes(_HEAD_BYTES, "big") + data)
        finally:
            self._sending.release()
        return True

    def receive(self, seconds: float | None) -> list[Any] | None:
        """The next frame; None if there is none for so long."""
        deadline = None if seconds is None else monotonic() + seconds
        while True:
            frame = self._next()
            if frame is not None:
                return frame
            left = None if deadline is None else deadline - monotonic()
            if not _ready(self._end, select.POLLIN, left):
                return None
            try:
                piece = self._end.recv(_PIECE_BYTES)
            except BlockingIOError:
                continue
            except OSError as error:
                raise WorkerLinkEnded(error.strerror) from error
            if not piece:
                raise WorkerLinkEnded("it ended")
            self._got += piece

    def close(self) -> None:
        """No more. Who waits for a frame is told."""
        with suppress(OSError):
            self._end.shutdown(socket.SHUT_RDWR)
        self._end.close()

    def _next(self) -> list[Any] | None:
        if len(self._got) < _HEAD_BYTES:
            return None
        size = int.from_bytes(self._got[:_HEAD_BYTES], "big")
        if size > FRAME_BYTES:
            raise WorkerLinkEnded("it said something that cannot be so long")
        if len(self._got) < _HEAD_BYTES + size:
            return None
        data = bytes(memoryview(self._got)[_HEAD_BYTES : _HEAD_BYTES + size])
        del self._got[: _HEAD_BYTES + size]
        try:
            frame = unpack(data)
        except Malformed as error:
            raise WorkerLinkEnded("it said something that cannot be read") from error
        if not isinstance(frame, list) or not frame or not isinstance(frame[0], str):
            raise WorkerLinkEnded("it said something that makes no sense")
        return frame

    def _send(self, data: bytes) -> None:
        left = memoryview(data)
        deadline = None if self._send_seconds is None else monotonic() + self._send_seconds
        while left:
            try:
                left = left[self._end.send(left) :]
            except BlockingIOError:
                wait = None if deadline is None else deadline - monotonic()
                if wait is not None and wait <= 0:  # half a frame may have gone: nothing more can be said
                    self._end.shutdown(socket.SHUT_RDWR)
                    raise WorkerLinkEnded("it does not listen") from None
                _ready(self._end, select.POLLOUT, wait)
            except OSError as error:
                raise WorkerLinkEnded(error.strerror) from error


def _ready(end: socket.socket, what: int, seconds: float | None) -> bool:
    poll = select.poll()  # not `select`, which knows 1,024 files
    try:
        poll.register(end, what)
    except (OSError, ValueError) as error:  # closed by another thread
        raise WorkerLinkEnded("closed") from error
    return bool(poll.poll(None if seconds is None else max(0.0, seconds) * 1000))
