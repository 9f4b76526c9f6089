"""Text ids: a prefix is an id a person can type, and a wrong character is told."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.core.errors import UsageError
from mesh.core.ids import (
    ID_CHARS,
    Feed,
    digest,
    display_name,
    first_prev,
    mesh_id,
    named_digest,
    parse_id,
    prefix_bounds,
    private_mesh_id,
    short,
    signed_prefix,
    tag_of,
    text_id,
)

HASHES = st.binary(min_size=32, max_size=32)


@given(HASHES)
def test_a_text_id_is_read_back_and_is_plain_base32(data: bytes) -> None:
    """52 characters, lower case, no padding: what any base32 decoder reads."""
    text = text_id(data)
    assert len(text) == ID_CHARS
    assert parse_id(text) == data
    assert base64.b32decode(text.upper() + "====") == data


@given(HASHES, st.integers(1, ID_CHARS))
def test_a_prefix_bounds_exactly_the_ids_that_begin_with_it(data: bytes, chars: int) -> None:
    """The number of the id lies between the bounds of every prefix of it."""
    lowest, highest = prefix_bounds(text_id(data)[:chars])
    number = int.from_bytes(data, "big") << 4
    assert lowest <= number <= highest
    assert highest - lowest == 32 ** (ID_CHARS - chars) - 1


@given(HASHES, HASHES, st.integers(1, ID_CHARS))
def test_bounds_stand_in_the_order_of_their_texts(one: bytes, other: bytes, chars: int) -> None:
    """Two prefixes of one length either are equal or their bounds do not touch, ordered by value."""
    low, high = sorted([one, other])
    first, second = (prefix_bounds(text_id(data)[:chars]) for data in (low, high))
    assert first == second or first[1] < second[0]


@given(HASHES, st.integers(1, ID_CHARS - 1))
def test_a_longer_prefix_lies_within_a_shorter_one(data: bytes, chars: int) -> None:
    """One more character only narrows."""
    outer, inner = (prefix_bounds(text_id(data)[:count]) for count in (chars, chars + 1))
    assert outer[0] <= inner[0] <= inner[1] <= outer[1]


@pytest.mark.parametrize("text", ["", "a b", "A", "0", "1", "8", "9", "é", "a-", "-a", "a" * 53, "\x00", "a\n"])
def test_wrong_characters_are_told(text: str) -> None:
    """The message quotes what was typed and says what ids are made of."""
    with pytest.raises(UsageError, match="a-z and 2-7") as told:
        prefix_bounds(text, "record id")
    assert repr(text) in str(told.value)
    assert "record id" in str(told.value)


def test_a_prefix_is_not_a_whole_id() -> None:
    """Where 32 bytes are needed, 51 characters are too few."""
    with pytest.raises(UsageError, match="not a whole node id"):
        parse_id("a" * 51, "node id")


def test_an_id_with_bits_in_its_padding_is_not_one() -> None:
    """The last character carries one bit; any other is a typing error."""
    assert parse_id("a" * 51 + "q") == bytes(31) + b"\x01"
    with pytest.raises(UsageError, match="last character is wrong"):
        parse_id("a" * 51 + "b")


def test_short_ids_and_names_are_what_people_see() -> None:
    """Five characters of the key behind the name; a node without a name is still shown."""
    assert short(bytes(32)) == "aaaaa"
    assert short(b"\xff" * 32, 3) == "777"
    assert display_name("ann", bytes(32)) == "ann·aaaaa"
    assert display_name("", bytes(32)) == "node·aaaaa"


def test_a_feed_is_forty_bytes_and_reads_as_key_and_epoch() -> None:
    """The epoch is big-endian, so feeds of one node sort by epoch."""
    feed = Feed(bytes(32), 0x0102)
    assert feed.encode() == bytes(32) + bytes(6) + b"\x01\x02"
    assert str(feed) == "aaaaa/0000000000000102"


@given(HASHES)
def test_a_signed_prefix_fits_sqlites_integer(data: bytes) -> None:
    """Eight bytes, read back unchanged."""
    number = signed_prefix(data)
    assert -(2**63) <= number < 2**63
    assert number.to_bytes(8, "big", signed=True) == data[:8]


def test_hashes_of_different_purposes_never_coincide() -> None:
    """The same bytes give another name as mesh, private mesh, feed, tag and plain digest."""
    one, other = bytes(32), b"\x01" * 32
    names = {
        digest(one + other),
        named_digest(b"clan-mesh x", one + other),
        mesh_id(one, other),
        tag_of(one, other),
        private_mesh_id(one + other),
        first_prev(one, Feed(other, 1)),
        first_prev(one, Feed(other, 2)),
        first_prev(other, Feed(one, 1)),
        mesh_id(other, one),
        tag_of(other, one),
    }
    assert len(names) == 10
