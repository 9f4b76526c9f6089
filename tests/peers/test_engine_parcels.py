"""Ranges on their way: what one says it is, and blobs that want to be more than they are."""

import struct
import tracemalloc
from collections.abc import Callable
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from zstandard import ZstdCompressor

from mesh.core.errors import Malformed
from mesh.core.limits import RANGE_BYTES
from mesh.core.strict_msgpack import pack, unpack
from peers.proto.gossip_config import ANSWER_BYTES
from peers.proto.messages import pack_ranges, peek, unpack_ranges
from tests.peers.engines import chain_of

MAGIC = b"\x28\xb5\x2f\xfd"
MEMORY_BYTES = 16 * 1024 * 1024  # more than this for one blob would let a peer decide how much we need


def squeezed(value: object) -> bytes:
    return ZstdCompressor(19).compress(pack(value))


def claiming(size: int) -> bytes:
    """A frame that says it holds so many bytes, and holds one."""
    return MAGIC + b"\xe0" + struct.pack("<Q", size) + b"\x09\x00\x00\x90"


def zeros(size: int) -> bytes:
    """A frame that says it holds so many bytes, and does."""
    compressor, part = ZstdCompressor().compressobj(size=size), bytes(1 << 20)
    return b"".join([*(compressor.compress(part) for _ in range(size // len(part))), compressor.flush()])


BOMBS: dict[str, Callable[[], bytes]] = {  # made when they are tried: every process that looks for tests loads this
    "a gigabyte of zeros": lambda: zeros(1 << 30),
    "a frame that claims 2**63 bytes": lambda: claiming(2**63),
    "a frame that claims a little too much": lambda: claiming(ANSWER_BYTES + RANGE_BYTES + 1),
    "a frame that claims more than it holds": lambda: claiming(1000),
    "a frame that does not say its size": lambda: ZstdCompressor(write_content_size=False).compress(pack([b"x"])),
    "a blob in a blob": lambda: squeezed([squeezed([bytes(RANGE_BYTES)] * 4)] * 4096)[:-1],
    "arrays in arrays": lambda: ZstdCompressor(19).compress(b"\x91" * ANSWER_BYTES),
    "an array that claims four billion": lambda: ZstdCompressor().compress(b"\xdd\xff\xff\xff\xff"),
    "a range that is too large": lambda: squeezed([bytes(RANGE_BYTES + 1)]),
    "an empty range": lambda: squeezed([b""]),
    "texts": lambda: squeezed(["text"]),
    "a map": lambda: squeezed({"a": b"b"}),
    "two frames": lambda: pack_ranges([b"x"]) + pack_ranges([b"y"]),
    "a frame cut short": lambda: pack_ranges([bytes(1000)])[:-3],
    "a skippable frame": lambda: b"\x50\x2a\x4d\x18\x04\x00\x00\x00abcd",
    "no zstd": lambda: b"no zstd",
    "one byte": lambda: b"\x28",
}


@pytest.mark.parametrize("make", BOMBS.values(), ids=BOMBS.keys())
def test_a_bomb_is_malformed_before_it_goes_off(make: Callable[[], bytes]) -> None:
    """Nothing but Malformed, and little memory."""
    blob = make()
    tracemalloc.start()
    try:
        with pytest.raises(Malformed):
            unpack_ranges(blob)
        assert tracemalloc.get_traced_memory()[1] < MEMORY_BYTES
    finally:
        tracemalloc.stop()


@given(st.lists(st.binary(min_size=1, max_size=2000), max_size=20))
def test_ranges_survive_the_way(ranges: list[bytes]) -> None:
    """None give no bytes at all."""
    assert unpack_ranges(pack_ranges(ranges)) == ranges
    assert bool(pack_ranges(ranges)) == bool(ranges)


@given(st.binary(max_size=200), st.integers(0, 200))
def test_a_bent_blob_is_ranges_or_malformed(noise: bytes, at: int) -> None:
    """Whatever the bytes, alone or behind the beginning of a real blob."""
    for blob in (noise, MAGIC + noise, pack_ranges([bytes(range(100))])[:at] + noise):
        with suppress(Malformed):
            assert all(type(data) is bytes for data in unpack_ranges(blob))


def test_peeking_tells_feed_and_numbers() -> None:
    """As the author signed them."""
    chain = chain_of(1, 9)
    data = chain.encoded(4, 7)
    assert peek(data) == (chain.feed, 4, 7, data)


@pytest.mark.parametrize("change", range(5))
def test_peeking_at_something_else_is_malformed(change: int) -> None:
    """A field of another type, and fields too many or too few."""
    fields = unpack(chain_of(1, 3).encoded())
    others: list[object] = [[*fields, 1], fields[:4], {}, [], 7]
    for value in others:
        with pytest.raises(Malformed):
            peek(pack(value))
    if change in (0, 1, 4):  # the others are the store's to check
        fields[change] = "something else"
        with pytest.raises(Malformed):
            peek(pack(fields))
