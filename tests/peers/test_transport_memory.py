"""Links in memory over bad networks, under virtual time."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from random import Random

import pytest

from peers.transport.link import DialFailed, LinkClosed, LinkConfig, PeerLink
from peers.transport.memory_transport import MemoryNetwork, MemoryTransport
from peers.transport.network_conditions import Conditions
from tests.peers.links import virtually

ONE, TWO = b"1" * 32, b"2" * 32
Scene = Callable[[MemoryNetwork, MemoryTransport, list[PeerLink]], Awaitable[None]]


def play(scene: Scene, conditions: Conditions | None = None, config: LinkConfig | None = None) -> None:
    """Node one at `one` plays a scene; node two at `two` puts its links in the list."""

    async def run() -> None:
        network = MemoryNetwork(Random(1), conditions)
        accepted: list[PeerLink] = []
        async with AsyncExitStack() as stack:
            one = MemoryTransport(network, ONE, "one:1", accepted.append, config=config)
            two = MemoryTransport(network, TWO, "two:2", accepted.append, config=config)
            for transport in (one, two):
                await stack.enter_async_context(transport)
            await scene(network, one, accepted)

    virtually(run())


def now() -> float:
    return asyncio.get_running_loop().time()


async def arrived(link: PeerLink, seconds: float = 60) -> list[bytes]:
    """All frames that arrive before this much time has passed."""
    frames = []
    try:
        async with asyncio.timeout(seconds):
            while True:
                frames.append(await link.receive())
    except TimeoutError:
        return frames


def test_a_dial_takes_a_round_trip_and_a_frame_half_of_one() -> None:
    """Each direction has its own latency."""

    async def scene(network: MemoryNetwork, one: MemoryTransport, accepted: list[PeerLink]) -> None:
        network.set_conditions("one:1", "two:2", Conditions(latency_seconds=(2, 2)))
        network.set_conditions("two:2", "one:1", Conditions(latency_seconds=(5, 5)))
        near = await one.dial(TWO, ["two:2"])
        assert now() == pytest.approx(7)
        await near.send(b"there")
        assert await accepted[0].receive() == b"there"
        assert now() == pytest.approx(9)
        await accepted[0].send(b"back")
        assert await near.receive() == b"back"
        assert now() == pytest.approx(14)

    play(scene)


def test_frames_of_one_moment_keep_their_order() -> None:
    """A thousand frames over a wire without latency, which the loop's timers alone would mix up."""

    async def scene(network: MemoryNetwork, one: MemoryTransport, accepted: list[PeerLink]) -> None:
        near = await one.dial(TWO, ["two:2"])
        frames = [n.to_bytes(2, "big") for n in range(1000)]
        for frame in frames:
            await near.send(frame)
        assert await arrived(accepted[0]) == frames

    play(scene)


def test_what_is_sent_over_a_cut_vanishes_and_the_link_stays() -> None:
    """No error on either side; after healing later frames arrive, the earlier ones never."""

    async def scene(network: MemoryNetwork, one: MemoryTransport, accepted: list[PeerLink]) -> None:
        near = await one.dial(TWO, ["two:2"])
        far = accepted[0]
        network.cut("one:1", "two:2")
        for _ in range(100):
            await near.send(b"x" * 1_000_000)  # no window fills up
        await far.send(b"lost")
        assert await arrived(far) == await arrived(near) == []
        network.heal("one:1", "two:2")
        await near.send(b"found")
        assert await arrived(far) == [b"found"]

    play(scene, Conditions(latency_seconds=(0.1, 0.1)))


def test_a_cut_can_be_one_way() -> None:
    """The other direction goes on."""

    async def scene(network: MemoryNetwork, one: MemoryTransport, accepted: list[PeerLink]) -> None:
        near = await one.dial(TWO, ["two:2"])
        network.cut("one:1", "two:2", one_way=True)
        await near.send(b"lost")
        await accepted[0].send(b"heard")
        assert await arrived(near) == [b"heard"]
        assert await arrived(accepted[0]) == []

    play(scene)


@pytest.mark.parametrize("one_way", [("one:1", "two:2"), ("two:2", "one:1")])
def test_a_dial_over_a_cut_gets_no_answer(one_way: tuple[str, str]) -> None:
    """Whichever direction is cut; when only the answer was lost, healing does not bring a link."""

    async def scene(network: MemoryNetwork, one: MemoryTransport, accepted: list[PeerLink]) -> None:
        network.cut(*one_way, one_way=True)
        with pytest.raises(DialFailed, match="no answer within 10 seconds"):
            await one.dial(TWO, ["two:2"])
        assert now() == pytest.approx(10)
        assert one.links == frozenset()

    play(scene)


def test_a_close_over_a_cut_is_not_heard() -> None:
    """The other side keeps a link that leads nowhere, as after a power failure."""

    async def scene(network: MemoryNetwork, one: MemoryTransport, accepted: list[PeerLink]) -> None:
        near = await one.dial(TWO, ["two:2"])
        network.cut("one:1", "two:2")
        await near.close("gone")
        assert await arrived(accepted[0]) == []
        await accepted[0].send(b"into the void")

    play(scene)


def test_a_close_survives_loss() -> None:
    """TCP repeats it; frames are lost one by one, which is harsher than TCP and what repair is for."""

    async def scene(network: MemoryNetwork, one: MemoryTransport, accepted: list[PeerLink]) -> None:
        near = await one.dial(TWO, ["two:2"])
        for n in range(100):
            await near.send(bytes([n]))
        await near.close("done")
        got: list[bytes] = []

        async def receive_all() -> None:
            while True:
                got.append(await accepted[0].receive())

        with pytest.raises(LinkClosed, match="done"):
            await receive_all()
        assert 0 < len(got) < 100
        assert got == sorted(got)

    play(scene, Conditions(loss=0.5, latency_seconds=(0.1, 0.1)))


def test_a_narrow_network_brings_frames_one_after_the_other() -> None:
    """A thousand bytes a second, shared by all links between two addresses."""

    async def scene(network: MemoryNetwork, one: MemoryTransport, accepted: list[PeerLink]) -> None:
        first = await one.dial(TWO, ["two:2"])
        second = await one.dial(TWO, ["two:2"])
        await first.send(b"x" * 3000)
        await second.send(b"y" * 1000)
        await accepted[1].receive()
        assert now() == pytest.approx(4)

    play(scene, Conditions(bandwidth_bytes_per_second=1000))


def test_duplicates_and_disorder_reach_the_receiver() -> None:
    """Each copy is a frame; all of them arrive, not in the order sent."""

    async def scene(network: MemoryNetwork, one: MemoryTransport, accepted: list[PeerLink]) -> None:
        near = await one.dial(TWO, ["two:2"])
        frames = [bytes([n]) for n in range(200)]
        for frame in frames:
            await near.send(frame)
        got = await arrived(accepted[0])
        assert set(got) == set(frames)
        assert len(got) > 220
        assert got != sorted(got)

    play(scene, Conditions(duplicate=0.2, reorder=0.2, latency_seconds=(0.1, 0.1)))


def test_the_second_address_is_tried_while_the_first_is_silent() -> None:
    """After next_address_seconds, not after dial_seconds."""

    async def scene(network: MemoryNetwork, one: MemoryTransport, accepted: list[PeerLink]) -> None:
        network.cut("one:1", "hole:1")
        near = await one.dial(TWO, ["hole:1", "two:2"])
        assert now() == pytest.approx(0.3)
        assert one.links == {near}

    play(scene)


def test_of_two_addresses_that_both_answer_one_link_is_kept() -> None:
    """The slower one's link is undone on both sides."""

    async def scene(network: MemoryNetwork, one: MemoryTransport, accepted: list[PeerLink]) -> None:
        elsewhere: list[PeerLink] = []
        async with MemoryTransport(network, TWO, "three:3", elsewhere.append) as again:
            network.set_conditions("three:3", "one:1", Conditions(latency_seconds=(9, 9)))
            near = await one.dial(TWO, ["three:3", "two:2"])
            assert near.address == "two:2"
            with pytest.raises(LinkClosed):
                await elsewhere[0].receive()
            assert one.links == {near}
            assert again.links == frozenset()

    play(scene)
