"""What every transport does, tried on each of them."""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import AsyncExitStack

import pytest

from mesh.core.ids import short
from peers.proto.gossip_config import FRAME_BYTES
from peers.transport.link import DialFailed, LinkClosed, LinkConfig, PeerLink
from tests.peers.links import MemoryWorld, WebSocketWorld, World, joined, passes, soon, standstill


def _has_ipv6() -> bool:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return True


@pytest.fixture(
    params=[
        "memory",
        "websocket",
        pytest.param("websocket6", marks=pytest.mark.skipif(not _has_ipv6(), reason="this machine has no ::1")),
    ]
)
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    match request.param:
        case "memory":
            yield MemoryWorld()
        case "websocket":
            yield WebSocketWorld()
        case _:
            yield WebSocketWorld("::1")


async def test_frames_arrive_whole_and_in_order_both_ways(world: World) -> None:
    """Two hundred frames of all sizes each way at once, byte for byte."""
    frames = [bytes([n]) * (n * n) for n in range(200)]
    async with world.start() as one, world.start() as two:
        near, far = await joined(one, two)

        async def send(link: PeerLink) -> None:
            for frame in frames:
                await link.send(frame)

        async def receive(link: PeerLink) -> list[bytes]:
            return [await link.receive() for _ in frames]

        _, _, there, back = await soon(asyncio.gather(send(near), send(far), receive(far), receive(near)))
        assert there == back == frames
        assert near.bytes_out == far.bytes_in == near.bytes_in == sum(map(len, frames))


async def test_an_empty_frame_and_the_largest_pass(world: World) -> None:
    """The cap itself is allowed."""
    async with world.start() as one, world.start() as two:
        near, far = await joined(one, two)
        await passes(near, far, [b"", b"x" * FRAME_BYTES, b""])


async def test_one_byte_above_the_cap_closes_the_link_and_only_that_link(world: World) -> None:
    """Sender and receiver both learn it; a second link between the same nodes goes on."""
    async with world.start() as one, world.start() as two:
        near, far = await joined(one, two)
        other = await joined(one, two)
        waiting = asyncio.ensure_future(far.receive())
        with pytest.raises(LinkClosed, match="larger than"):
            await soon(near.send(b"x" * (FRAME_BYTES + 1)))
        with pytest.raises(LinkClosed, match="larger than"):
            await waiting
        await passes(*other)


async def test_both_sides_know_who_the_other_is(world: World) -> None:
    """Node id, direction and address of the two ends."""
    async with world.start() as one, world.start() as two:
        near, far = await joined(one, two)
        assert (near.peer, far.peer) == (two.node.id, one.node.id)
        assert (near.dialed, far.dialed) == (True, False)
        assert near.address == two.address
        assert far.address
        assert not near.expired
        assert not far.expired
        assert one.transport.links == {near}
        assert two.transport.links == {far}


async def test_dialling_another_node_than_meant_fails(world: World) -> None:
    """An address at which somebody else answers is no way to a node."""
    async with world.start() as one, world.start() as two, world.start() as three:
        with pytest.raises(DialFailed, match="another node"):
            await soon(one.transport.dial(three.node.id, [two.address]))
        assert one.transport.links == two.transport.links == frozenset()
        await passes(*await joined(one, two))


async def test_dialling_nobody_fails_with_a_sentence(world: World) -> None:
    """The message names the node, the address and the reason; there is a next step."""
    async with world.start() as one:
        stranger = b"n" * 32
        with pytest.raises(DialFailed) as failed:
            await soon(one.transport.dial(stranger, [world.nowhere()]))
        assert str(failed.value).startswith(f"{short(stranger)} cannot be reached: {world.nowhere()}: ")
        assert failed.value.failures[world.nowhere()]
        assert "mesh up" in failed.value.next_step
        with pytest.raises(DialFailed, match="no address"):
            await one.transport.dial(stranger, [])


async def test_dialling_goes_on_to_the_next_address(world: World) -> None:
    """A dead address and one of another node come first."""
    async with world.start() as one, world.start() as two, world.start() as three:
        near = await soon(one.transport.dial(two.node.id, [world.nowhere(), three.address, two.address]))
        assert near.address == two.address
        await passes(near, await two.next_link())


async def test_of_addresses_that_all_work_one_link_is_left(world: World) -> None:
    """Attempts started at once: the first in the list wins, what the others gave is closed on both sides."""
    config = LinkConfig(next_address_seconds=0.0, close_seconds=0.1)
    async with world.start(config=config) as one, world.start() as two:
        near = await soon(one.transport.dial(two.node.id, [two.address, world.nowhere()]))
        await passes(near, await two.next_link())
        assert one.transport.links == {near}


async def test_a_node_that_is_not_allowed_gets_no_link(world: World) -> None:
    """The dialler fails; the other side never hears of it; a member still gets in."""
    async with (
        world.start() as one,
        world.start() as outsider,
        world.start(allows=lambda node: node != outsider.node.id) as two,
    ):
        with pytest.raises(DialFailed, match="without an answer"):
            await soon(outsider.transport.dial(two.node.id, [two.address]))
        assert two.accepted.empty()
        await passes(*await joined(one, two))


async def test_a_close_is_seen_by_the_other_side_after_the_last_frame(world: World) -> None:
    """First what was sent, then LinkClosed with the reason given."""
    async with world.start(config=LinkConfig()) as one, world.start(config=LinkConfig()) as two:
        for dialler_closes in (True, False):
            near, far = await joined(one, two)
            if not dialler_closes:
                near, far = far, near
            for number in range(10):
                await soon(near.send(bytes([number]) * 1000))
            closing = asyncio.ensure_future(near.close("enough\nfor today"))
            for number in range(10):
                assert await soon(far.receive()) == bytes([number]) * 1000
            with pytest.raises(LinkClosed) as closed:
                await soon(far.receive())
            assert closed.value.reason == "enough?for today"
            await soon(closing)
            assert near not in one.transport.links | two.transport.links


async def test_closing_wakes_whoever_waits_for_a_frame(world: World) -> None:
    """Both ends wait in `receive` when one is closed; both raise, and closing again is harmless."""
    async with world.start(config=LinkConfig()) as one, world.start(config=LinkConfig()) as two:
        for dialler_closes in (True, False):
            near, far = await joined(one, two)
            waiting = [asyncio.ensure_future(link.receive()) for link in (near, far)]
            await asyncio.sleep(0)
            link = near if dialler_closes else far
            await soon(asyncio.gather(link.close("bye"), link.close("bye again")))
            for outcome in await soon(asyncio.gather(*waiting, return_exceptions=True)):
                assert isinstance(outcome, LinkClosed)
                assert outcome.reason == "bye"
            await soon(link.close())


async def test_sending_and_receiving_after_a_close_raise(world: World) -> None:
    """On the side that closed, and on the other once it has learnt of it."""
    async with world.start() as one, world.start() as two:
        near, far = await joined(one, two)
        waiting = asyncio.ensure_future(far.receive())
        await soon(near.close())
        for _ in range(7):  # aiohttp changes its answer after a few
            with pytest.raises(LinkClosed, match="this side closed it"):
                await soon(near.send(b"x"))
            with pytest.raises(LinkClosed, match="this side closed it"):
                await soon(near.receive())
        with pytest.raises(LinkClosed, match="the other side closed it"):
            await waiting
        with pytest.raises(LinkClosed):
            await soon(far.send(b"x"))


async def test_a_slow_reader_makes_the_sender_wait(world: World) -> None:
    """With nobody receiving, a sender of 64 MB stops early; once somebody does, everything arrives."""
    frame = b"x" * 1_000_000
    async with world.start() as one, world.start() as two:
        near, far = await joined(one, two)
        sent = 0

        async def pour() -> None:
            nonlocal sent
            for _ in range(64):
                await near.send(frame)
                sent += 1

        pouring = asyncio.ensure_future(pour())
        await standstill(lambda: sent)
        assert not pouring.done()
        assert sent < 32  # buffers of the two kernels included
        for _ in range(64):
            assert await soon(far.receive()) == frame
        await soon(pouring)


async def test_a_reader_that_never_reads_costs_the_link_in_the_end(world: World) -> None:
    """After send_seconds without any progress the sender gives the link up."""
    async with world.start(config=LinkConfig(send_seconds=0.05, close_seconds=0.1)) as one, world.start() as two:
        near, _ = await joined(one, two)
        sends = asyncio.gather(*(near.send(b"x" * 1_000_000) for _ in range(64)))
        with pytest.raises(LinkClosed, match="took nothing in"):
            await soon(sends)
        assert one.transport.links == frozenset()


async def test_many_links_at_once(world: World) -> None:
    """Forty links into one node, all of them in use."""
    async with AsyncExitStack() as stack:
        hub = await stack.enter_async_context(world.start())
        spokes = [await stack.enter_async_context(world.start()) for _ in range(8)]
        dials = [spoke.transport.dial(hub.node.id, [hub.address]) for spoke in spokes for _ in range(5)]
        near = await soon(asyncio.gather(*dials))
        far = [await hub.next_link() for _ in near]
        assert len(hub.transport.links) == 40
        for number, link in enumerate(near):
            await soon(link.send(number.to_bytes(2, "big")))
        received = [int.from_bytes(await soon(link.receive()), "big") for link in far]
        assert sorted(received) == list(range(40))


async def test_leaving_closes_every_link(world: World) -> None:
    """Also with readers waiting, with unread frames, and on dialled and accepted links alike."""
    async with world.start() as one:
        async with world.start() as two:
            near, far = await joined(one, two)
            mine, theirs = await joined(two, one)
            await soon(far.send(b"last words"))
            waiting = asyncio.ensure_future(theirs.receive())
        assert two.transport.links == frozenset()
        for link in (far, mine):
            with pytest.raises(LinkClosed):
                await soon(link.send(b"x"))
        with pytest.raises(LinkClosed, match="leaving"):
            await soon(waiting)
        assert await soon(near.receive()) == b"last words"
        with pytest.raises(LinkClosed, match="leaving"):
            await soon(near.receive())
        with pytest.raises(DialFailed):
            await soon(one.transport.dial(two.node.id, [two.address]))


async def test_nodes_that_dial_each_other_at_once_get_two_links(world: World) -> None:
    """Which one to keep is not the transport's matter."""
    async with world.start() as one, world.start() as two:
        near, mine = await soon(
            asyncio.gather(
                one.transport.dial(two.node.id, [two.address]), two.transport.dial(one.node.id, [one.address])
            )
        )
        await passes(near, await two.next_link())
        await passes(mine, await one.next_link())
        assert len(one.transport.links) == len(two.transport.links) == 2


async def test_a_cancelled_receive_loses_nothing(world: World) -> None:
    """Waiting with a deadline and then again gives the same frames in the same order."""
    async with world.start() as one, world.start() as two:
        near, far = await joined(one, two)
        for _ in range(3):
            for link in (near, far):
                waiting = asyncio.ensure_future(link.receive())
                await asyncio.sleep(0)
                waiting.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await waiting
        await passes(near, far, [b"a", b"b"])
