"""Events of a home, as far as threads are concerned. What they say is tested where a real sidecar tells them."""

import asyncio
import threading
from pathlib import Path

import apsw
import pytest

from mesh.node import event_stream
from mesh.node.event_stream import EventStream
from mesh.store.home import create_home
from mesh.store.reader import Reader


def test_who_stops_listening_while_a_thread_looks_leaves_nothing_open_and_raises_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sidecar that stops cancels its listeners at any moment; a connection in use cannot be closed."""
    home = create_home(str(tmp_path / "home"), "alpha").path
    is_looking, may_end = threading.Event(), threading.Event()
    readers: list[Reader] = []

    def looking(reader: Reader, _seen: int) -> list[tuple[int, str]]:
        def wait(*_: object) -> bool:
            is_looking.set()
            return may_end.wait(300)

        readers.append(reader)
        reader.connection.create_scalar_function("wait", wait, 0)
        reader.connection.execute("SELECT wait()").fetchall()
        return []

    async def listen() -> None:
        async for _ in EventStream(home)._events(""):
            pass

    async def cancelled() -> None:
        task = asyncio.create_task(listen())
        assert await asyncio.to_thread(is_looking.wait, 60)
        task.cancel()
        asyncio.get_running_loop().call_soon(may_end.set)
        with pytest.raises(asyncio.CancelledError):
            await task

    monkeypatch.setattr(event_stream, "_look", looking)
    try:
        asyncio.run(cancelled())
    finally:
        may_end.set()
    with pytest.raises(apsw.ConnectionClosedError):
        readers[0].last_arrived()
