"""Links in memory, over a network that can be slow, lossy, narrow or cut. For tests: nothing here opens a socket.

Frames travel by the event loop's own timers, so a loop with virtual time runs hours of network in no time.
"""

import asyncio
import heapq
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import count
from random import Random
from types import TracebackType
from typing import Self

from peers.proto.gossip_config import FRAME_BYTES
from peers.transport.link import LinkClosed, LinkConfig, NoWay, PeerLink, first_link, short_reason, too_large
from peers.transport.network_conditions import Conditions, Lane

WINDOW_BYTES = 262_144  # sent and not yet received, for one direction of a link; then `send` waits
_FRAME_OVERHEAD = 128  # what any frame counts beside its bytes: a window full of empty ones is full too


def _anyone(_node: bytes) -> bool:
    return True


class MemoryNetwork:
    """Joins transports by their addresses. Every ordered pair of addresses has its own lane."""

    def __init__(self, random: Random, conditions: Conditions | None = None) -> None:
        self._random = random
        self._conditions = conditions or Conditions()
        self._lanes: dict[tuple[str, str], Lane] = {}
        self._flying: dict[tuple[str, str], list[tuple[float, int, Callable[[], None]]]] = {}
        self._numbers = count()
        self.transports: dict[str, MemoryTransport] = {}

    def lane(self, source: str, target: str) -> Lane:
        """The direction from one address to another."""
        return self._lanes.setdefault((source, target), Lane(self._conditions))

    def set_conditions(self, source: str, target: str, conditions: Conditions) -> None:
        """Change one direction, from now on."""
        self.lane(source, target).conditions = conditions

    def cut(self, one: str, other: str, *, one_way: bool = False) -> None:
        """What either sends the other vanishes; `one_way`: only what `one` sends."""
        self._switch(one, other, one_way=one_way, cut=True)

    def heal(self, one: str, other: str, *, one_way: bool = False) -> None:
        """Undo `cut`."""
        self._switch(one, other, one_way=one_way, cut=False)

    def _switch(self, one: str, other: str, *, one_way: bool, cut: bool) -> None:
        for source, target in [(one, other)] if one_way else [(one, other), (other, one)]:
            lane = self.lane(source, target)
            lane.conditions = replace(lane.conditions, cut=cut)

    def carry_frame(self, source: str, target: str, size: int, deliver: Callable[[bool], None]) -> bool:
        """Call `deliver` for each copy that arrives, True for the first. False if none will."""
        now = asyncio.get_running_loop().time()
        times = self.lane(source, target).deliveries(size, now, self._random)
        for number, when in enumerate(times):
            self._at(source, target, when, partial(deliver, number == 0))
        return bool(times)

    def carry_word(self, source: str, target: str, deliver: Callable[[], None]) -> None:
        """Carry what TCP itself says (open, refuse, close): repeated until it arrives, so only a cut stops it."""
        when = self.lane(source, target).arrival(0, asyncio.get_running_loop().time(), self._random)
        if when is not None:
            self._at(source, target, when, deliver)

    def _at(self, source: str, target: str, when: float, deliver: Callable[[], None]) -> None:
        # The loop does not promise an order among timers of the same moment; the heap with its numbers does.
        flying = self._flying.setdefault((source, target), [])
        heapq.heappush(flying, (when, next(self._numbers), deliver))
        asyncio.get_running_loop().call_at(when, _land, flying)


def _land(flying: list[tuple[float, int, Callable[[], None]]]) -> None:
    _, _, deliver = heapq.heappop(flying)
    deliver()


class MemoryLink:
    """One end of a link in memory."""

    expired = False

    def __init__(self, transport: "MemoryTransport", peer: bytes, address: str, *, dialed: bool) -> None:
        self.peer = peer
        self.address = address
        self.dialed = dialed
        self.bytes_in = 0
        self.bytes_out = 0
        self.other: MemoryLink  # set by the transport that makes the pair
        self._transport = transport
        self._inbox: deque[tuple[bytes, int]] = deque()  # bounded by the sender's window
        self._unread = 0  # of the window: sent by us, not yet received by the other side
        self._sending = asyncio.Lock()
        self._changed = asyncio.Event()
        self._reason: str | None = None

    async def send(self, frame: bytes) -> None:
        """See Link."""
        if len(frame) > FRAME_BYTES:
            await self.close(too_large(len(frame)))
            raise LinkClosed(too_large(len(frame)))
        async with self._sending:
            try:
                async with asyncio.timeout(self._transport.config.send_seconds):
                    await self._until(lambda: self._unread < WINDOW_BYTES)
            except TimeoutError:
                await self.close("the other side took nothing in")
            if self._reason is not None:
                raise LinkClosed(self._reason)
            self._post(bytes(frame))

    def _post(self, frame: bytes) -> None:
        room = len(frame) + _FRAME_OVERHEAD
        other = self.other
        self.bytes_out += len(frame)
        # Copies the network made take no room of the window: the sender does not know of them.
        if self._transport.network.carry_frame(
            self._transport.address,
            other.home,
            len(frame),
            lambda first: other.arrive(frame, room if first else 0),
        ):
            self._unread += room

    async def receive(self) -> bytes:
        """See Link."""
        await self._until(lambda: bool(self._inbox))
        if not self._inbox:
            raise LinkClosed(self._reason or "")
        frame, room = self._inbox.popleft()
        self.bytes_in += len(frame)
        self.other.release(room)
        return frame

    async def close(self, reason: str = "") -> None:
        """See Link."""
        if self._reason is None:
            other, said = self.other, short_reason(reason) or "the other side closed it"
            self._inbox.clear()
            self.end(reason or "this side closed it")
            self._transport.network.carry_word(self._transport.address, other.home, lambda: other.end(said))

    @property
    def home(self) -> str:
        """The address of the transport this end belongs to."""
        return self._transport.address

    def arrive(self, frame: bytes, room: int) -> None:
        """Take in a frame from the network."""
        if self._reason is None:
            self._inbox.append((frame, room))
            self._changed.set()

    def release(self, room: int) -> None:
        """Know that the other side has read so much."""
        self._unread -= room
        self._changed.set()

    def end(self, reason: str) -> None:
        """No more frames, either way; those that have arrived can still be received."""
        if self._reason is None:
            self._reason = reason
            self._changed.set()
            self._transport.forget(self)

    async def _until(self, holds: Callable[[], bool]) -> None:
        while not holds() and self._reason is None:
            self._changed.clear()
            await self._changed.wait()


class MemoryTransport:
    """A node's place in a memory network, at one address."""

    def __init__(
        self,
        network: MemoryNetwork,
        node: bytes,
        address: str,
        accepted: Callable[[PeerLink], None],
        *,
        allows: Callable[[bytes], bool] = _anyone,
        config: LinkConfig | None = None,
    ) -> None:
        self.network = network
        self.node = node
        self.address = address
        self.config = config or LinkConfig()
        self._accepted = accepted
        self._allows = allows
        self._links: set[MemoryLink] = set()

    @property
    def links(self) -> frozenset[PeerLink]:
        """See Transport."""
        return frozenset(self._links)

    async def __aenter__(self) -> Self:
        """Be reachable."""
        assert self.address not in self.network.transports, "one transport an address"
        self.network.transports[self.address] = self
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Be reachable no more."""
        del self.network.transports[self.address]
        for link in list(self._links):
            await link.close("the node is leaving")

    async def dial(self, node: bytes, addresses: Sequence[str]) -> PeerLink:
        """See Transport."""
        return await first_link(
            node, addresses, lambda address: self._attempt(node, address), self.config.next_address_seconds
        )

    async def _attempt(self, node: bytes, address: str) -> MemoryLink:
        answer: asyncio.Future[MemoryLink | str] = asyncio.get_running_loop().create_future()

        def answered(outcome: MemoryLink | str) -> None:
            if answer.done():
                undo(outcome)
                return
            answer.set_result(outcome)
            if isinstance(outcome, MemoryLink):
                self._links.add(outcome)

        def undo(outcome: MemoryLink | str) -> None:
            if isinstance(outcome, MemoryLink):
                outcome.end("no longer wanted")
                outcome.other.end("the other side had stopped waiting")

        def knocked() -> None:
            outcome = self._knock(node, address)
            self.network.carry_word(address, self.address, lambda: answered(outcome))

        self.network.carry_word(self.address, address, knocked)
        try:
            async with asyncio.timeout(self.config.dial_seconds):
                outcome = await answer
        except TimeoutError as error:
            raise NoWay(f"no answer within {self.config.dial_seconds:g} seconds") from error
        except asyncio.CancelledError:
            if not answer.cancelled() and answer.done():  # both came at once
                undo(answer.result())
            raise
        if isinstance(outcome, str):
            raise NoWay(outcome)
        return outcome

    def _knock(self, node: bytes, address: str) -> "MemoryLink | str":
        there = self.network.transports.get(address)
        if there is None:
            return "nobody listens there"
        if there.node != node:
            return "another node answers there"
        if not there._allows(self.node):  # noqa: SLF001
            return "it closed the connection without an answer"
        near = MemoryLink(self, node, address, dialed=True)
        far = MemoryLink(there, self.node, self.address, dialed=False)
        near.other, far.other = far, near
        there._links.add(far)  # noqa: SLF001
        there._accepted(far)  # noqa: SLF001
        return near

    def forget(self, link: MemoryLink) -> None:
        """A link of ours has ended."""
        self._links.discard(link)
