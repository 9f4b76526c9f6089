"""A TCP proxy on loopback that counts what it carries, each way. Knows no protocol and changes no byte.

What is counted is what TCP carries: TLS, WebSocket frames and handshakes included, TCP's and IP's own headers not.
"""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_READ_BYTES = 256 * 1024
_START_SECONDS = 10.0


class Proxy:
    """Listens on `port`; `target` is the port it leads to, and may be set once that is known."""

    def __init__(self, target: int = 0) -> None:
        self.target = target
        self.port = 0
        self.forth = 0  # bytes from who connected to the target
        self.back = 0
        self._loop = asyncio.new_event_loop()
        self._stop = asyncio.Event()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, name="counting proxy", daemon=True)

    @property
    def address(self) -> str:
        """Where it listens."""
        return f"127.0.0.1:{self.port}"

    @property
    def total(self) -> int:
        """Bytes both ways so far."""
        return self.forth + self.back

    def start(self) -> None:
        """Listen."""
        self._thread.start()
        if not self._ready.wait(_START_SECONDS):
            raise RuntimeError("the counting proxy did not start")

    def stop(self) -> None:
        """Cut whatever is open, and end."""
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    def _run(self) -> None:
        self._loop.run_until_complete(self._serve())
        self._loop.close()

    async def _serve(self) -> None:
        server = await asyncio.start_server(self._carry, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stop.wait()
        server.close()
        rest = asyncio.all_tasks() - {asyncio.current_task()}
        for task in rest:
            task.cancel()
        await asyncio.gather(*rest, return_exceptions=True)

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self.target)
        except OSError:
            writer.close()
            return
        try:
            with suppress(OSError):
                await asyncio.gather(self._forth(reader, far_writer), self._back(far_reader, writer))
        finally:
            writer.close()
            far_writer.close()

    async def _forth(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(_READ_BYTES):
            self.forth += len(data)
            writer.write(data)
            await writer.drain()
        writer.write_eof()

    async def _back(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(_READ_BYTES):
            self.back += len(data)
            writer.write(data)
            await writer.drain()
        writer.write_eof()


@contextmanager
def counting(target: int = 0) -> Iterator[Proxy]:
    """A proxy that runs inside the block."""
    proxy = Proxy(target)
    proxy.start()
    try:
        yield proxy
    finally:
        proxy.stop()
