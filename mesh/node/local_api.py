"""The local API: HTTP over a Unix socket in the home, for commands, agents and a metrics collector on this machine.

Only the home's owner can connect. It answers questions and passes orders on; it decides nothing.
"""

import asyncio
import json
import logging
import os
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any, Protocol

import orjson
from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from clan_learnings.repository.remote_name import named_repo
from clan_learnings.search.indexes import SearchIndexes
from mesh import __version__
from mesh.app.application import Application
from mesh.core.errors import MeshError, UsageError
from mesh.core.ids import text_id
from mesh.core.statement import INVITED
from mesh.node.join_port import JoinPort
from mesh.node.node_store import NodeStore
from mesh.node.openapi import BOUND, ENDPOINTS, Endpoint, Parameter, document
from mesh.node.socket_files import free, owner_only
from mesh.store.home import Home
from mesh.store.wake_signal import OWN_FEED, socket_file
from peers.proto.engine import Engine

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
    path, bell_path = free(socket_file(home, "sidecar.sock")), free(socket_file(home, "bell.sock"))
    bell = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    loop = asyncio.get_running_loop()
    try:
        with owner_only():
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


_TEXT_CHARS = 16_000


def record_routes(home: str, recall: SearchIndexes, store: NodeStore) -> dict[str, Answer]:
    """Method and path to the function that answers. Who asks, and where it is, must be said: our own surroundings mean nothing."""
    application = Application(home, {}, "/", recall=recall, store=store)
    asked: dict[str, Callable[[Application, dict[str, Any]], dict[str, Any]]] = {
        "POST /discover": lambda application, given: application.discover(given.pop("text"), **given),
        "POST /correct": lambda application, given: application.correct(
            given.pop("wrong"), given.pop("right"), **given
        ),
        "GET /search": lambda application, given: application.search(given.pop("query"), **_scoped(given)),
        "GET /recent": lambda application, given: application.recent(**_scoped(given)),
        "GET /hot": lambda application, given: application.hot(**_scoped(given)),
        "GET /context": lambda application, given: application.context(**({"repo": ""} | given)),
        "GET /index": lambda application, _given: application.index(),
        "GET /show": lambda application, given: application.show(given["id"]),
        "GET /why": lambda application, given: application.why(given["id"]),
    }
    return {route: _answer(application, ENDPOINTS[route], function) for route, function in asked.items()}


def _answer(
    application: Application, call: Endpoint, function: Callable[[Application, dict[str, Any]], dict[str, Any]]
) -> Answer:
    def asked(given: dict[str, Any]) -> dict[str, Any]:
        bound = given.pop(BOUND, None)
        return function(application if bound is None else application.bound_to(named_repo(bound)), given)

    async def answer(given: dict[str, Any]) -> Any:
        return await asyncio.to_thread(asked, checked(call, given))

    return answer


def _scoped(given: dict[str, Any]) -> dict[str, Any]:
    return {"repo": ""} | given if not given.get("everywhere") else given


def checked(call: Endpoint, given: Mapping[str, Any]) -> dict[str, Any]:
    """What was said, each thing of its sort. Queries have only texts, so numbers and truths are read from them."""
    unknown = sorted(set(given) - set(call.fields))
    if unknown:
        raise UsageError(f"there is no field {unknown[0]!r} here", f"one of: {', '.join(call.fields) or 'none'}")
    for name, field in call.fields.items():
        if field.required and not given.get(name):
            raise UsageError(f"{name} is missing: {field.sentence}", "see GET /openapi.json")
    return {name: _value(name, call.fields[name], value) for name, value in given.items()}


def _value(name: str, field: Parameter, value: Any) -> Any:
    if isinstance(value, list) and field.sort != "array":
        raise UsageError(f"{name} takes one value, not {len(value)}", "see GET /openapi.json")
    if isinstance(value, str) and field.sort != "string":
        value = _read(field.sort, value)
    good = {
        "string": isinstance(value, str) and len(value) <= _TEXT_CHARS,
        "integer": type(value) is int and abs(value) <= 10**9,
        "number": type(value) in (int, float),
        "boolean": type(value) is bool,
        "array": type(value) is list and len(value) <= 100 and all(isinstance(one, str) for one in value),
    }[field.sort]
    if not good:
        raise UsageError(f"{name} is no {field.sort}, or too long", "see GET /openapi.json")
    if field.is_filter and not any(part.strip() for part in value):
        raise UsageError(f"{name} is empty, so it would filter nothing", f"leave it out, or say {name}")
    if field.least is not None and field.most is not None and not field.least <= value <= field.most:
        raise UsageError(f"{name} is {value}", f"from {field.least} to {field.most}")
    return value


def _read(sort: str, text: str) -> Any:
    try:
        if sort == "integer":
            return int(text[:20])
        if sort == "number":
            return float(text[:40])
    except ValueError:
        return None
    if sort == "boolean":
        return {"true": True, "1": True, "false": False, "0": False, "": True}.get(text.lower())
    return [word.strip() for word in text.split(",") if word.strip()]


_MOST_USES = 10_000
_MOST_SECONDS = 30 * 86_400


class ServedNode(Protocol):
    """The node, as far as the API asks it."""

    home: Home
    recall: SearchIndexes
    records: NodeStore
    addresses: tuple[str, ...]

    @property
    def engine(self) -> Engine:
        """Gossip's engine."""
        ...

    def peers(self) -> dict[str, Any]:
        """Every member."""
        ...

    async def leave(self) -> bool:
        """Say goodbye for good."""
        ...


def routes(node: ServedNode, join_port: JoinPort) -> dict[str, Callable[[dict[str, Any]], Awaitable[Any]]]:
    """Method and path to the function that answers."""

    async def peers(_given: dict[str, Any]) -> Any:
        return node.peers()

    async def about(_given: dict[str, Any]) -> Any:
        root = node.engine.root.hex()
        return {"pid": os.getpid(), "root": root, "addresses": list(node.addresses), "version": __version__}

    async def invite(given: dict[str, Any]) -> Any:
        uses, seconds = given.get("uses", 1), given.get("seconds", 3600)
        if type(uses) is not int or not 0 < uses <= _MOST_USES:
            raise UsageError(f"an invitation is good for 1 to {_MOST_USES} nodes", "mesh invite --uses 5")
        if type(seconds) is not int or not 0 < seconds <= _MOST_SECONDS:
            raise UsageError("an invitation lasts a second to thirty days", "mesh invite --expires 2h")
        named = given.get("role", "writer"), given.get("ephemeral", False)
        if type(named[0]) is not str or type(named[1]) is not bool or named not in INVITED:
            raise UsageError("an invitation is for a writer or a reader", "mesh invite --role reader --ephemeral")
        role = INVITED[named]
        token = await join_port.invite(uses, seconds, role)
        return {
            "token": token.encode(),
            "id": token.invite_id.hex(),
            "expires_ms": token.expires_ms,
            "uses": uses,
            "role": role,
            "addresses": list(token.addresses),
        }

    async def invites(_given: dict[str, Any]) -> Any:
        return [
            {
                "id": item.id.hex(),
                "expires_ms": item.expires_ms,
                "uses": item.uses,
                "uses_left": left,
                "role": item.role,
            }
            for item, left in await join_port.outstanding()
        ]

    async def withdraw(given: dict[str, Any]) -> Any:
        try:
            invitation = bytes.fromhex(str(given.get("id", "")))
        except ValueError:
            invitation = b""
        if not await join_port.withdraw(invitation):
            raise UsageError("there is no such invitation", "see those that are outstanding: mesh invite --list")
        return {"withdrawn": True}

    async def leave(_given: dict[str, Any]) -> Any:
        return {"node": text_id(node.home.node), "told": await node.leave()}

    async def described(_given: dict[str, Any]) -> Any:
        return document(__version__)

    return record_routes(node.home.path, node.recall, node.records) | {
        "GET /openapi.json": described,
        "GET /peers": peers,
        "GET /node": about,
        "POST /invite": invite,
        "GET /invites": invites,
        "POST /withdraw": withdraw,
        "POST /leave": leave,
    }
