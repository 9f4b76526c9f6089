"""msgpack from an enemy: one shot, one value, nothing but Malformed."""

import tracemalloc
from typing import Any

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.core.errors import Malformed
from mesh.core.limits import VALUE_DEPTH
from mesh.core.strict_msgpack import is_value, pack, unpack

MEGABYTE = 1024 * 1024

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False)
    | st.text(st.characters(exclude_categories=["Cs"]))
    | st.binary(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner, max_size=4)
    ),
    max_leaves=12,
)

BAD = {
    "nothing at all": b"",
    "the byte msgpack never uses": b"\xc1",
    "an array of 4 billion elements": b"\xdd\xff\xff\xff\xff",
    "a map of 4 billion entries": b"\xdf\xff\xff\xff\xff",
    "a text of 4 GB": b"\xdb\xff\xff\xff\xff",
    "bytes of 4 GB": b"\xc6\xff\xff\xff\xff",
    "an extension of 4 GB": b"\xc9\xff\xff\xff\xff\x01",
    "an array that ends early": b"\x93\x01\x02",
    "a map without its last value": b"\x82\xa1a\x01\xa1b",
    "an integer cut short": b"\xcf\x00\x00",
    "a float cut short": b"\xcb\x00",
    "a second value behind the first": b"\x01\x02",
    "one byte behind an array": b"\x91\x01\x00",
    "an extension": b"\xd4\x01\x00",
    "an empty extension": b"\xc7\x00\x05",
    "an extension inside an array": b"\x91\xd4\x01\x00",
    "an array as a key": b"\x81\x90\x01",
    "a map as a key": b"\x81\x80\x01",
    "a number as a key": b"\x81\x01\x01",
    "nil as a key": b"\x81\xc0\x01",
    "a lone surrogate": b"\xa3\xed\xa0\x80",
    "a lone surrogate as a key": b"\x81\xa3\xed\xa0\x80\x01",
    "an overlong slash": b"\xa2\xc0\xaf",
    "half a character": b"\xa1\xc3",
    "a continuation byte": b"\xa1\x80",
    "arrays nested ten thousand deep": b"\x91" * 10_000 + b"\xc0",
    "arrays nested and never closed": b"\x91" * 200_000,
    "maps nested ten thousand deep": b"\x81\xa0" * 10_000 + b"\xc0",
    "a timestamp of a wrong length": b"\xc7\x03\xff\x00\x00\x00",
    "a timestamp of the year zero and beyond": b"\xc7\x0c\xff" + b"\xff" * 12,
}


@pytest.mark.parametrize("data", BAD.values(), ids=BAD.keys())
def test_what_is_not_one_value_is_malformed(data: bytes) -> None:
    """Nothing else is raised, whatever msgpack itself raises."""
    with pytest.raises(Malformed, match="not a msgpack value"):
        unpack(data)


@pytest.mark.parametrize(
    "data",
    [b"\xd6\xff\x00\x00\x00\x00", b"\xd7\xff" + bytes(8), b"\xc7\x0c\xff" + bytes(12), b"\x91\xd6\xff\x00\x00\x00\x00"],
    ids=["32 bits", "64 bits", "96 bits", "inside an array"],
)
def test_a_timestamp_is_no_value(data: bytes) -> None:
    """One extension type is built into msgpack, whose hook is never asked about it; no reader takes its type."""
    assert not is_value(unpack(data))


def test_a_small_message_cannot_ask_for_much_memory() -> None:
    """A thousand nested arrays that each claim all the rest allocate no multiple of it all."""
    claim = b"\xdd" + (250_000).to_bytes(4, "big")
    hostile = [claim, claim * 50, b"\xdf" + (60_000).to_bytes(4, "big"), b"\xc6" + (2**32 - 1).to_bytes(4, "big")]
    for data in hostile:
        tracemalloc.start()
        try:
            with pytest.raises(Malformed):
                unpack(data)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert peak < MEGABYTE


@given(st.binary(max_size=300))
def test_any_bytes_give_a_value_or_malformed(data: bytes) -> None:
    """Total over bytes: no other exception, and a value that can be asked whether it may live in a record."""
    try:
        value = unpack(data)
    except Malformed:
        return
    assert is_value(value) in (True, False)


@given(VALUES, st.data())
def test_a_value_altered_anywhere_gives_a_value_or_malformed(value: Any, data: st.DataObject) -> None:
    """Bytes close to valid ones reach deeper into the decoder than random ones."""
    raw = bytearray(pack(value))
    for _ in range(data.draw(st.integers(1, 3))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    try:
        is_value(unpack(bytes(raw)))
    except Malformed:
        return


@given(VALUES)
def test_values_round_trip(value: Any) -> None:
    """What is packed is read back, and packed again gives the same bytes."""
    data = pack(value)
    assert unpack(data) == value
    assert pack(unpack(data)) == data


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_numbers_that_json_lacks_may_not_live_in_a_record(number: float) -> None:
    """They decode, and are no value at any depth."""
    for wrapped in (number, [number], {"a": number}, {"a": [{"b": number}]}):
        assert not is_value(unpack(pack(wrapped)))


def test_keys_are_text() -> None:
    """Bytes as a key decode, because msgpack allows them, and are no value."""
    decoded = unpack(b"\x81\xc4\x01a\x01")
    assert decoded == {b"a": 1}
    assert not is_value(decoded)
    assert not is_value([decoded])
    assert is_value({"a": 1})


def test_of_a_key_given_twice_the_last_value_counts_everywhere() -> None:
    """A map with the same key twice is read the same way on every node, and is one entry."""
    decoded = unpack(b"\x82\xa1a\x01\xa1a\x02")
    assert decoded == {"a": 2}
    assert is_value(decoded)


def test_values_are_shallow() -> None:
    """The frozen depth is allowed, one more is not, for arrays and maps."""
    for wrap in (lambda inner: [inner], lambda inner: {"k": inner}):
        value: Any = 1
        for _ in range(VALUE_DEPTH):
            value = wrap(value)
        assert is_value(value)
        assert not is_value(wrap(value))


def test_objects_that_msgpack_does_not_make_are_no_values() -> None:
    """Whatever is not one of JSON's types or bytes is turned down by type, subclasses included."""
    for value in (msgpack.Timestamp(0), object(), (1,), {1, 2}, bytearray(b"x"), 1j):
        assert not is_value(value)


def test_every_integer_of_the_wire_is_kept_exactly() -> None:
    """The ends of the widths msgpack knows."""
    for number in (0, 127, 128, 255, 256, 2**16, 2**32, 2**53 + 1, 2**64 - 1, -1, -32, -33, -(2**31), -(2**63)):
        assert unpack(pack(number)) == number
    with pytest.raises(OverflowError):
        pack(2**64)
