"""The peer of live replication: pycrdt-websocket, a room that keeps its updates in SQLite, and clients of it.

One entry of one array a record. Plain WebSockets of aiohttp on loopback: no TLS, no certificates, no signatures. Run in
processes of their own; nothing of ours is in them.
"""

import asyncio
import importlib.util
import json
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from typing import Any

from bench.machine import resident_bytes
from bench.notes import notes
from bench.processes import Measures, side, side_command, started

_FIELD = "records"
_TRANSACTION = 1000  # entries a transaction while a document is made to be served


def missing() -> str:
    """Why this peer cannot be measured; empty if it can."""
    names = ("pycrdt", "pycrdt.websocket", "pycrdt.store")
    try:
        lacking = [name for name in names if importlib.util.find_spec(name) is None]
    except ModuleNotFoundError:
        lacking = ["pycrdt"]
    return (
        f"{', '.join(lacking)} not installed, so this peer was not measured; next: pip install -e '.[bench]'"
        if lacking
        else ""
    )


class Room:
    """A server that runs, as seen from outside."""

    def __init__(self, port: int) -> None:
        self.port = port

    def facts(self, what: str = "counts") -> Measures:
        """What it has seen and stored so far: `counts`, or the `times` of each update."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/{what}", timeout=60) as answer:
            measures: Measures = json.load(answer)
        return measures

    def wait(self, what: str, updates: int, seconds: float) -> Measures:
        """Until it has `seen` or `stored` so many updates, or the time is over; its counts then."""
        deadline = time.perf_counter() + seconds
        while (counts := self.facts())[what] < updates and time.perf_counter() < deadline:
            time.sleep(0.05)
        return counts


@contextmanager
def serving(database: str, *, entries: int = 0) -> Iterator[Room]:
    """A room in a process of its own, that has so many entries from the start. Without a database it stores nothing."""
    with started(side_command(serve, database=database, entries=entries), stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        line = process.stdout.readline()  # its process ends if it fails, and the line is empty
        if not line:
            raise RuntimeError("the pycrdt-websocket server did not start")
        yield Room(json.loads(line))


def write(port: int, count: int, *, batch: int = 1, pause: float = 0.0, seed: int = 1) -> Measures:
    """Add entries through a client in a process of its own; see `write_entries`."""
    return side(write_entries, port=port, count=count, batch=batch, pause=pause, seed=seed)


# In their own processes


def serve(database: str, entries: int) -> Measures:
    asyncio.run(_serve(database, entries))
    return {}


async def _serve(database: str, entries: int) -> None:
    from aiohttp import web
    from pycrdt import Array, Doc, TransactionEvent
    from pycrdt.store import SQLiteYStore
    from pycrdt.websocket import YRoom

    seen: list[float] = []
    stored: list[float] = []

    class Store(SQLiteYStore):
        db_path = database

        async def write(self, data: bytes) -> None:
            await super().write(data)
            stored.append(time.perf_counter())

    def note(_event: TransactionEvent) -> None:
        seen.append(time.perf_counter())

    document: Doc[Any] = Doc()
    array: Array[Any] = document.get(_FIELD, type=Array)
    source = notes(entries)
    while part := list(islice(source, _TRANSACTION)):
        array.extend(part)
    document.observe(note)

    async def talk(request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse(max_msg_size=0, compress=False)
        await socket.prepare(request)
        await room.serve(_channel(socket))
        return socket

    async def counts(_request: web.Request) -> web.Response:
        found = {"entries": len(array), "seen": len(seen), "stored": len(stored), "rss": resident_bytes()}
        last = {"last_seen": seen[-1] if seen else 0, "last_stored": stored[-1] if stored else 0}
        return web.json_response(found | last)

    async def times(_request: web.Request) -> web.Response:
        return web.json_response({"seen": seen, "stored": stored})

    async with YRoom(ydoc=document, ystore=Store("room") if database else None) as room:
        app = web.Application()
        app.add_routes([web.get("/room", talk), web.get("/counts", counts), web.get("/times", times)])
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        print(runner.addresses[0][1], flush=True)
        await asyncio.Event().wait()  # until its process is ended


def write_entries(port: int, count: int, batch: int, pause: float, seed: int) -> Measures:
    """Entries one by one, or in transactions of `batch`; when each was begun. Ends when all were sent."""
    return asyncio.run(_write(port, count, batch, pause, seed))


async def _write(port: int, count: int, batch: int, pause: float, seed: int) -> Measures:
    given = list(notes(count, seed=seed))
    called = []
    async with _client(port) as (array, provider):
        await provider.synced.wait()
        for first in range(0, count, batch):
            called.append(time.perf_counter())
            array.extend(given[first : first + batch])
            await asyncio.sleep(pause)
        rss = resident_bytes()
    return {"called": called, "end": time.perf_counter(), "rss": rss}


def fetch_entries(port: int, count: int) -> Measures:
    """A newcomer: seconds from dialling until all entries are in its document, which is in memory only."""
    return asyncio.run(_fetch(port, count))


async def _fetch(port: int, count: int) -> Measures:
    begin = time.perf_counter()
    async with _client(port) as (array, provider):
        await provider.synced.wait()
        seconds = time.perf_counter() - begin
        if len(array) != count:
            raise RuntimeError(f"{len(array)} of {count} entries came")
        return {"seconds": seconds, "rss": resident_bytes()}


def _client(port: int) -> Any:
    from contextlib import asynccontextmanager

    from aiohttp import ClientSession
    from pycrdt import Array, Doc, Provider

    @asynccontextmanager
    async def connected() -> Any:
        document: Doc[Any] = Doc()
        array: Array[Any] = document.get(_FIELD, type=Array)
        url = f"http://127.0.0.1:{port}/room"
        async with (
            ClientSession() as session,
            session.ws_connect(url, max_msg_size=0) as socket,
            Provider(document, _channel(socket)) as provider,
        ):
            yield array, provider

    return connected()


def _channel(socket: Any) -> Any:
    """A WebSocket of aiohttp as pycrdt wants it."""
    from aiohttp import WSMsgType
    from pycrdt import Channel

    class AiohttpChannel(Channel):
        path = "room"

        async def send(self, message: bytes) -> None:
            with suppress(ConnectionError):  # a client that has gone must not end the room: ASGI servers do the same
                await socket.send_bytes(message)

        async def recv(self) -> bytes:
            message = await socket.receive()
            if message.type is not WSMsgType.BINARY:
                raise StopAsyncIteration
            return bytes(message.data)

    return AiohttpChannel()
