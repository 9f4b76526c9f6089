"""What node and worker say to each other: whole frames, however they arrive, and no more than can be believed."""

import socket
import threading
from collections.abc import Iterator

import pytest

from mesh.core.strict_msgpack import pack
from mesh.worker.frames import FRAME_BYTES, FrameLink, WorkerLinkEnded

PATIENCE_SECONDS = 30.0
Pair = tuple[socket.socket, socket.socket]


@pytest.fixture
def pair() -> Iterator[Pair]:
    """Both ends of a conversation."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


def framed(*parts: object) -> bytes:
    data = pack(parts)
    return len(data).to_bytes(4, "big") + data


def test_frames_arrive_whole_however_they_are_cut(pair: Pair) -> None:
    """Byte by byte, and several at once."""
    ours, theirs = pair
    link = FrameLink(ours)
    data = framed("near", 1, "text") + framed("ping")
    for at in range(len(data)):
        theirs.send(data[at : at + 1])
        if at + 1 < len(framed("near", 1, "text")):
            assert link.receive(0.0) is None
    assert link.receive(PATIENCE_SECONDS) == ["near", 1, "text"]
    assert link.receive(PATIENCE_SECONDS) == ["ping"]
    assert link.receive(0.0) is None


def test_a_large_frame_goes_through_while_the_other_side_reads(pair: Pair) -> None:
    """More than any buffer of the system holds."""
    ours, theirs = pair
    sender, receiver = FrameLink(ours), FrameLink(theirs)
    thread = threading.Thread(target=sender.send, args=("cosines", [bytes(32)] * 100_000))
    thread.start()
    frame = receiver.receive(PATIENCE_SECONDS)
    thread.join()
    assert frame == ["cosines", [bytes(32)] * 100_000]


@pytest.mark.parametrize(
    "data",
    [
        (FRAME_BYTES + 1).to_bytes(4, "big"),
        (1).to_bytes(4, "big") + b"\xc1",
        framed(7),
        (1).to_bytes(4, "big") + pack("word")[:1],
        (len(pack([]))).to_bytes(4, "big") + pack([]),
    ],
)
def test_what_makes_no_sense_ends_the_conversation(pair: Pair, data: bytes) -> None:
    """Nothing is guessed, and nothing is waited for that is too long."""
    ours, theirs = pair
    theirs.send(data)
    with pytest.raises(WorkerLinkEnded):
        FrameLink(ours).receive(0.0)


def test_who_does_not_read_is_noticed(pair: Pair) -> None:
    """Nobody waits for ever."""
    ours, _ = pair
    deaf = FrameLink(ours, send_seconds=0.05)
    with pytest.raises(WorkerLinkEnded):
        deaf.send("cosines", [bytes(32)] * 100_000)


def test_who_is_gone_is_noticed(pair: Pair) -> None:
    """By who waits, and by who sends."""
    ours, theirs = pair
    theirs.close()
    with pytest.raises(WorkerLinkEnded):
        FrameLink(ours).receive(None)
    with pytest.raises(WorkerLinkEnded):
        FrameLink(ours).send("ping")
