"""The SDK's client beside our server, in one process: what the client sends goes to the server as a line, and its answer back."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import anyio.to_thread
from mcp import Client
from mcp.client._transport import TransportStreams
from mcp.shared.memory import create_client_server_memory_streams
from mcp.shared.message import SessionMessage
from mcp.types import jsonrpc_message_adapter

from mesh.mcp.server import Server


@asynccontextmanager
async def transport(server: Server) -> AsyncIterator[TransportStreams]:
    """Each message in a thread of its own, as a node or a client's own process has it."""
    async with create_client_server_memory_streams() as (ours, (received, sent)), anyio.create_task_group() as group:

        async def answer(line: bytes) -> None:
            said = await anyio.to_thread.run_sync(server.answer, line)
            if said:
                assert said.endswith(b"\n")
                assert said.count(b"\n") == 1
                await sent.send(SessionMessage(jsonrpc_message_adapter.validate_json(said)))

        async def serve() -> None:
            async for each in received:
                assert isinstance(each, SessionMessage)
                group.start_soon(answer, each.message.model_dump_json(by_alias=True, exclude_none=True).encode())

        group.start_soon(serve)
        yield ours
        group.cancel_scope.cancel()


@asynccontextmanager
async def client_with(server: Server, mode: str = "legacy") -> AsyncIterator[Client]:
    """A client that has shaken hands. `mode`: `auto` tries the newest protocol first."""
    async with Client(transport(server), mode=mode) as client:
        yield client
