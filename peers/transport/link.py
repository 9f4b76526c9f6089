"""What a link and a transport are, how long they wait, how they fail; dialling several addresses; and the connection below a link.

LinkError                    a MeshError: this one conversation failed, nothing else did
├── LinkClosed               no more frames on this link; `reason` says why
├── DialFailed               a node could not be reached; `failures` says why, address by address
└── ListenFailed             an address of ours cannot be listened on
"""

import asyncio
import os
import socket
import ssl
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, Self, TypeVar

from mesh.core.errors import MeshError
from mesh.core.ids import short
from peers.proto.gossip_config import FRAME_BYTES

REASON_BYTES = 120  # what fits a WebSocket close frame beside its code


@dataclass(frozen=True, slots=True)
class LinkConfig:
    """How patient a transport is. Longer forgives slow networks, shorter frees what the silent hold."""

    handshake_seconds: float = 10.0  # from an accepted connection to its link: TLS and upgrade together
    half_open: int = 64  # connections in that state at once; one more ends the oldest, so a flood can't keep others out
    dial_seconds: float = 10.0  # for one address
    next_address_seconds: float = 0.3  # the head start of an address over the next; RFC 8305 advises 0.25
    send_seconds: float = 60.0  # how long a full buffer may stand still; then the other side counts as gone
    close_seconds: float = 0.5  # for saying goodbye; then the connection is dropped


class LinkError(MeshError):
    """A conversation with another node failed."""


class LinkClosed(LinkError):
    """The link carries no more frames."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"the link is closed: {reason}")
        self.reason = reason


class DialFailed(LinkError):
    """No address of the node led to it."""

    def __init__(self, node: bytes, failures: Mapping[str, str]) -> None:
        tried = "; ".join(f"{address}: {why}" for address, why in failures.items())
        super().__init__(
            f"{short(node)} cannot be reached: {tried or 'no address of it is known'}",
            "check that `mesh up` runs there and that its address and port are open from here",
        )
        self.node = node
        self.failures = dict(failures)


class ListenFailed(LinkError):
    """An address of ours cannot be listened on."""


class PeerLink(Protocol):
    """Frames to and from one authenticated node.

    Whoever is handed a link calls `receive` until it raises LinkClosed, or closes the link: nobody else empties it.
    """

    @property
    def peer(self) -> bytes:
        """The node id of the other side, proved by its key."""

    @property
    def address(self) -> str:
        """Where the other side is, as people read it: `host:port` or `[v6]:port`."""

    @property
    def dialed(self) -> bool:
        """Whether this side dialled."""

    @property
    def expired(self) -> bool:
        """Whether the other side's certificate is out of date."""

    @property
    def bytes_in(self) -> int:
        """Bytes of all frames received."""

    @property
    def bytes_out(self) -> int:
        """Bytes of all frames sent."""

    async def send(self, frame: bytes) -> None:
        """Hand over a frame; waits while the other side is slow. Raises LinkClosed; a frame too large closes the link."""

    async def receive(self) -> bytes:
        """The next frame, in the order sent. Raises LinkClosed when there will be none."""

    async def close(self, reason: str = "") -> None:
        """End the link and tell the other side why. Again is harmless."""


class Transport(Protocol):
    """Where links come from: dialled ones from `dial`, accepted ones by the callback given at construction."""

    @property
    def links(self) -> frozenset[PeerLink]:
        """Every link that is open."""

    async def dial(self, node: bytes, addresses: Sequence[str]) -> PeerLink:
        """A link to this node and no other, by the first of its addresses that works. Raises DialFailed."""

    async def __aenter__(self) -> Self:
        """Listen."""

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop listening, close every link."""


def short_reason(reason: str) -> str:
    """A reason cut to what a close frame carries. It may come from elsewhere: nothing in it may move a cursor."""
    shown = "".join(char if char.isprintable() else "?" for char in reason)
    return shown.encode("utf-8", "replace")[:REASON_BYTES].decode("utf-8", "ignore")


def too_large(size: int) -> str:
    """Why a link ends that was to carry a frame of this size."""
    return f"a frame of {size} bytes is larger than {FRAME_BYTES}"


ADDRESSES = 16  # of one node; more are not tried: the list comes from elsewhere

AnyLink = TypeVar("AnyLink", bound=PeerLink)


class NoWay(Exception):
    """One address did not lead to the node; the text says why."""


async def first_link(
    node: bytes,
    addresses: Sequence[str],
    attempt: Callable[[str], Awaitable[AnyLink]],
    next_address_seconds: float,
) -> AnyLink:
    """The first link an attempt gives; the attempts that came too late are undone. Raises DialFailed."""
    failures: dict[str, str] = {}
    untried = list(dict.fromkeys(addresses))[:ADDRESSES]
    running: dict[asyncio.Task[AnyLink], str] = {}
    chosen: AnyLink | None = None
    try:
        while chosen is None and (untried or running):
            if untried:
                address = untried.pop(0)
                running[asyncio.ensure_future(_run(attempt, address))] = address
            done, _ = await asyncio.wait(
                running, timeout=next_address_seconds if untried else None, return_when=asyncio.FIRST_COMPLETED
            )
            for task in sorted(done, key=list(running).index):  # of two at once the earlier address counts
                if isinstance(task.exception(), NoWay):
                    failures[running.pop(task)] = str(task.exception())
                elif chosen is None:
                    chosen = task.result()
                    del running[task]
    finally:
        try:
            await _undo(running)
        except asyncio.CancelledError:
            if chosen is not None:
                await chosen.close("no longer wanted")
            raise
    if chosen is None:
        raise DialFailed(node, failures)
    return chosen


async def _run(attempt: Callable[[str], Awaitable[AnyLink]], address: str) -> AnyLink:
    return await attempt(address)


async def _undo(running: dict[asyncio.Task[AnyLink], str]) -> None:
    for task in running:
        task.cancel()
    for outcome in await asyncio.gather(*running, return_exceptions=True):
        if not isinstance(outcome, BaseException):
            await outcome.close("another address was faster")


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
