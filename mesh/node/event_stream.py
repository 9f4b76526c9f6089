"""New records as server-sent events: those of this node and of others, in the order in which they came to count here.

Looks only while somebody listens. An event's id is the place of its record in this home: who was cut off goes on from there.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from functools import partial
from threading import Lock
from typing import TypeVar

from aiohttp import web

from clan_learnings.records.memory import Memory
from mesh.app.record_json import shown
from mesh.store.reader import Reader, open_reading

T = TypeVar("T")
_LOOK_SECONDS = 0.1
_BATCH = 100
_ALIVE_SECONDS = 15.0  # a comment now and then, so that both sides notice when the other is gone
_LISTENERS = 32


class EventStream:
    """One home's events. Each listener has a connection of its own to the database."""

    def __init__(self, home: str) -> None:
        self._home = home
        self._listeners = 0

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answer `GET /events`, until the listener goes away."""
        if self._listeners >= _LISTENERS:
            return web.json_response({"error": f"{_LISTENERS} listen already", "next": ""}, status=503)
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-store"})
        await response.prepare(request)
        self._listeners += 1
        try:
            with suppress(ConnectionError):
                async for text in self._events(request.headers.get("Last-Event-ID", "")):
                    await response.write(text.encode())
        finally:
            self._listeners -= 1
        return response

    async def _events(self, last: str) -> AsyncIterator[str]:
        reader = await asyncio.to_thread(open_reading, self._home)
        in_use = Lock()  # who is cancelled while a thread looks must not close the connection under it
        try:
            seen = await asyncio.to_thread(_alone, in_use, reader.last_arrived)
            if last.isascii() and last.isdigit() and len(last) < 19:
                seen = min(seen, int(last))
            yield ": new records follow\n\n"
            loop = asyncio.get_running_loop()
            said = loop.time()
            while True:
                events = await asyncio.to_thread(_alone, in_use, partial(_look, reader, seen))
                for place, text in events:
                    seen = place
                    yield f"id: {place}\nevent: record\ndata: {text}\n\n"
                if events:
                    said = loop.time()
                elif loop.time() - said > _ALIVE_SECONDS:
                    said = loop.time()
                    yield ": still there\n\n"
                if len(events) < _BATCH:
                    await asyncio.sleep(_LOOK_SECONDS)
        finally:
            await asyncio.to_thread(_alone, in_use, reader.connection.close)


def _alone(in_use: Lock, function: Callable[[], T]) -> T:
    with in_use:
        return function()


def _look(reader: Reader, seen: int) -> list[tuple[int, str]]:
    """What has come since, as JSON."""
    events: list[tuple[int, str]] = []
    with reader.connection:  # one snapshot
        found = reader.arrived(seen, _BATCH)
        memory = Memory(reader) if found else None
        for place, entry in found:
            assert memory is not None
            events.append((place, json.dumps(shown(memory, memory.read(entry)), ensure_ascii=False)))
    return events
