"""The local API: HTTP over a Unix socket in the home, for commands, agents and a metrics collector on this machine.

Only the home's owner can connect. It answers questions and passes orders on; it decides nothing.
"""

import asyncio
import json
import logging
import os
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any

import orjson
from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from mesh.core.errors import MeshError, UsageError
from mesh.store.doorbell import OWN_FEED, socket_file

Answer = Callable[[dict[str, Any]], Awaitable[Any]]
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
_MOST_BYTES = 256 * 1024  # of a body or a first line: 16,000 characters, of which each may take twelve


@asynccontextmanager
async def serving(
    home: str,
    routes: dict[str, Answer],
    streams: dict[str, Handler],
    metrics: Callable[[], str],
    rung: Callable[[bool], None],
) -> AsyncIterator[None]:
    """Answer on the home's socket inside the block. `routes`: "GET /peers" to a function of the request's JSON. `streams`: what
    answers by itself, and for as long as it likes.

    `rung`: called when a command has rung the doorbell, with whether more than our own feed may have changed.
    """
    app = web.Application(client_max_size=_MOST_BYTES)
    for route, answer in routes.items():
        method, path = route.split(" ")
        app.router.add_route(method, path, _handler(answer))

    async def tell(_request: web.Request) -> web.Response:
        return web.Response(text=metrics(), content_type="text/plain", charset="utf-8")

    app.router.add_get("/metrics", tell)
    for route, handler in streams.items():
        method, path = route.split(" ")
        app.router.add_route(method, path, handler)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.2, logger=_logger(), max_line_size=_MOST_BYTES)
    await runner.setup()
    path, bell_path = _free(socket_file(home, "sidecar.sock")), _free(socket_file(home, "bell.sock"))
    bell = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    loop = asyncio.get_running_loop()
    try:
        with _owner_only():
            await web.UnixSite(runner, path).start()
            bell.bind(bell_path)
        bell.setblocking(False)
        loop.add_reader(bell, _heard, bell, rung)
        yield
    finally:
        loop.remove_reader(bell)
        bell.close()
        await runner.cleanup()
        for name in (path, bell_path):
            with suppress(FileNotFoundError):
                os.unlink(name)


def _handler(answer: Answer) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def handle(request: web.Request) -> web.Response:
        try:
            given = await request.json() if request.can_read_body else {}
            if not isinstance(given, dict):
                raise UsageError("a request is a JSON object")
            return web.json_response(body=_json(await answer(given | _queried(request))))
        except web.HTTPRequestEntityTooLarge:
            return web.json_response({"error": "the request is too long", "next": "say it shorter"}, status=400)
        except ValueError:
            return web.json_response({"error": "the request is not JSON", "next": ""}, status=400)
        except MeshError as error:
            return web.json_response({"error": str(error), "next": error.next_step}, status=400)

    return handle


def _json(value: Any) -> bytes:
    """An answer as it is sent. What is no Unicode, which a question may have been, is sent as it was written."""
    try:
        return orjson.dumps(value)
    except TypeError:
        return json.dumps(value).encode()


def _queried(request: web.Request) -> dict[str, Any]:
    """What the address says; a name that is there several times has all its values."""
    said = {name: request.query.getall(name) for name in request.query}
    return {name: values[0] if len(values) == 1 else values for name, values in said.items()}


def _logger() -> logging.Logger:
    """Aiohttp writes to it what it could not read. That may be a question, which nobody wants in a log."""
    logger = logging.getLogger(__name__)
    logger.addFilter(_without_request)
    return logger


def _without_request(record: logging.LogRecord) -> bool:
    if record.exc_info and isinstance(record.exc_info[1], HttpProcessingError):
        record.msg, record.args, record.exc_info = "a request on the socket is no HTTP, or too long", (), None
    return True


def _heard(bell: socket.socket, rung: Callable[[bool], None]) -> None:
    news = set()
    with suppress(BlockingIOError):
        while True:
            news.add(bell.recv(16))
    rung(news != {OWN_FEED})


def _free(path: str) -> str:
    """A path to bind: what a killed sidecar has left there is removed. The sidecar lock says that it is ours."""
    folder = os.path.dirname(path)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    if os.stat(folder).st_uid != os.getuid():
        raise MeshError(f"the folder {folder} belongs to somebody else", "set XDG_RUNTIME_DIR to a folder of your own")
    with suppress(FileNotFoundError):
        os.unlink(path)
    return path


@contextmanager
def _owner_only() -> Iterator[None]:
    """Sockets are made for their owner only."""
    before = os.umask(0o177)
    try:
        yield
    finally:
        os.umask(before)
