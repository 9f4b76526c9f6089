"""What becomes of a conversation when its link misbehaves. The engine is a stand-in: what it says is tested elsewhere."""

import asyncio
from typing import Any, cast
from unittest.mock import MagicMock

import pytest

from mesh.node.gossip_loop import GossipLoop
from peers.proto.engine_events import LinkDown, LinkUp, Send
from peers.transport.link import LinkClosed
from tests.peers.links import soon, until


class StandInEngine:
    """Sends one frame over every new link, and remembers what it was told."""

    merging_bytes = 0
    wake_at = 2.0**31

    def __init__(self) -> None:
        self.told: list[Any] = []

    def handle(self, event: Any, _now: float) -> list[Any]:
        self.told.append(event)
        return [Send(event.link, b"hello", "hello")] if isinstance(event, LinkUp) else []


class FailingLink:
    """A link on which one thing goes wrong that nobody foresaw."""

    peer, address, dialed, expired = b"p" * 32, "127.0.0.1:1", True, False
    bytes_in = bytes_out = 0

    def __init__(self, failing: str) -> None:
        self._failing = failing
        self.closed = asyncio.Event()

    async def send(self, frame: bytes) -> None:
        if self._failing == "send":
            raise AttributeError("no such thing")

    async def receive(self) -> bytes:
        if self._failing == "receive":
            raise AttributeError("no such thing")
        await self.closed.wait()
        raise LinkClosed("closed")

    async def close(self, reason: str = "") -> None:
        self.closed.set()
        if self._failing == "close":
            raise AttributeError("no such thing")


@pytest.mark.parametrize("failing", ["send", "receive", "close"])
async def test_a_link_that_fails_in_any_way_is_closed_and_the_engine_is_told(failing: str) -> None:
    """Else the node would show a dead link as alive, and wait for it when it stops."""
    engine, stand_in, link = StandInEngine(), MagicMock(), FailingLink(failing)
    gossip = GossipLoop(cast("Any", engine), stand_in, stand_in, stand_in)
    gossip.start(None)
    gossip.accept(link)
    if failing == "close":
        link.closed.set()
    await until(lambda: any(isinstance(event, LinkDown) for event in engine.told))
    assert link.closed.is_set()
    await soon(gossip.stop())
