"""Messages as bytes: every message survives the way, and nothing else gets through."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from mesh.core.errors import Malformed
from mesh.core.ids import Feed
from mesh.core.limits import SEQ_MAX
from mesh.core.strict_msgpack import pack
from mesh.core.version_vector import Head
from peers.proto.gossip_config import ANSWER_BYTES, EAGER_BYTES, FRAME_BYTES, HAVE_ENTRIES, KEYS_PER_FETCH, PULL_FEEDS
from peers.proto.message_codec import FRAME_KINDS, UnknownKind, UnknownVersion, decode, encode
from peers.proto.messages import (
    CARDS,
    FEEDS,
    STATEMENTS,
    Busy,
    Bye,
    CardEntry,
    Compare,
    Ending,
    FeedEntry,
    Fetch,
    Give,
    Have,
    Hello,
    Message,
    Ping,
    Pong,
    Pull,
    Push,
    Ranges,
    Rumour,
)

hashes = st.binary(min_size=32, max_size=32)
prefixes = st.binary(min_size=8, max_size=8)
times = st.integers(0, 2**47 - 1)
numbers = st.integers(0, 2**32 - 1)
feeds = st.builds(Feed, hashes, st.integers(1, 2**64 - 1))
heads = st.builds(Head, st.integers(0, SEQ_MAX), hashes)
covers = st.none() | st.sets(st.integers(0, 255)).map(lambda numbers: bytes(sorted(numbers)))
one_head = st.tuples(feeds, heads).map(lambda pair: FeedEntry(pair[0], pair[1], pair[1]))
feed_entries = st.builds(FeedEntry, feeds, heads, heads) | one_head
card_entries = st.builds(CardEntry, st.integers(0, 255), hashes, times, prefixes)
endings = st.builds(Ending, feeds, heads, st.booleans(), st.lists(heads, max_size=64))
keys = st.binary(min_size=33, max_size=33)

MESSAGES: dict[type[Message], SearchStrategy[Message]] = {
    Hello: st.builds(Hello, hashes, hashes, st.binary(min_size=1, max_size=4096), st.booleans()),
    Ping: st.builds(Ping, numbers, hashes, prefixes, prefixes, times),
    Pong: st.builds(Pong, numbers, hashes, prefixes, prefixes, times),
    Push: st.builds(Push, st.lists(st.binary(min_size=1, max_size=500), min_size=1, max_size=8)),
    Give: st.builds(Give, st.sampled_from((STATEMENTS, CARDS)), st.lists(st.binary(min_size=1, max_size=99))),
    Have: st.one_of(
        st.builds(Have, st.just(STATEMENTS), covers, st.booleans(), st.lists(hashes, max_size=9)),
        st.builds(Have, st.just(FEEDS), covers, st.booleans(), st.lists(feed_entries, max_size=9)),
        st.builds(Have, st.just(CARDS), covers, st.booleans(), st.lists(card_entries, max_size=9)),
    ),
    Compare: st.builds(
        Compare, st.sampled_from((STATEMENTS, FEEDS, CARDS)), st.integers(0, 255).map(lambda byte: bytes([byte]) * 2048)
    ),
    Pull: st.builds(Pull, numbers, st.integers(0, ANSWER_BYTES), st.lists(st.tuples(feeds, heads), min_size=1)),
    Ranges: st.builds(Ranges, numbers, st.lists(endings, max_size=5), st.binary()),
    Fetch: st.one_of(
        st.builds(Fetch, st.just(STATEMENTS), st.lists(hashes)), st.builds(Fetch, st.just(CARDS), st.lists(keys))
    ),
    Busy: st.builds(Busy, st.integers(0, 600_000), numbers),
    Rumour: st.builds(Rumour, hashes, times),
    Bye: st.builds(Bye, st.text(max_size=200)),
}
messages = st.one_of(*MESSAGES.values())


def test_every_kind_of_message_is_tried() -> None:
    """And has a name by which its bytes are counted, found in its third byte."""
    assert {kind.__name__.lower() for kind in MESSAGES} == set(FRAME_KINDS.values())


@pytest.mark.parametrize("kind", MESSAGES, ids=lambda kind: kind.__name__)
@given(data=st.data())
def test_a_message_survives_the_way(kind: type[Message], data: st.DataObject) -> None:
    """The same value comes out, of the same type, and encodes to the same bytes."""
    message = data.draw(MESSAGES[kind])
    frame = encode(message)
    assert decode(frame) == message
    assert type(decode(frame)) is kind
    assert encode(decode(frame)) == frame
    assert FRAME_KINDS[frame[2:3]] == kind.__name__.lower()


@given(messages, st.data())
def test_a_bent_frame_is_a_message_or_malformed(message: Message, data: st.DataObject) -> None:
    """Bytes changed, cut, put in: nothing but Malformed escapes, and what is a message has one encoding."""
    frame = bytearray(encode(message))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(frame)))
        match data.draw(st.sampled_from(("flip", "cut", "insert"))):
            case "flip" if at < len(frame):
                frame[at] ^= 1 << data.draw(st.integers(0, 7))
            case "cut":
                del frame[at : at + data.draw(st.integers(1, 9))]
            case _:
                frame[at:at] = data.draw(st.binary(min_size=1, max_size=9))
    assert_total(bytes(frame))


@given(st.binary(max_size=300))
def test_random_bytes_are_a_message_or_malformed(frame: bytes) -> None:
    """Also with the beginning of a real message before them."""
    assert_total(frame)
    for kind in range(15):
        assert_total(bytes([0x90 + len(frame) % 16, 1, kind]) + frame)


_leaves = st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats() | st.text() | st.binary() | hashes
_values = st.recursive(
    _leaves, lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(), inner), max_leaves=20
)


@given(st.integers(0, 14), st.lists(_values, max_size=6))
def test_values_of_any_type_are_a_message_or_malformed(kind: int, fields: list[object]) -> None:
    """Well-formed msgpack in which every field may be anything."""
    assert_total(pack([1, kind, *fields]))


def assert_total(frame: bytes) -> None:
    try:
        message = decode(frame)
    except Malformed:
        return
    assert decode(encode(message)) == message


H, F = bytes(32), bytes(31) + b"\x01" + bytes(7) + b"\x01"
WRONG: dict[str, list[object]] = {
    "no fields": [2, 2],
    "a field too many": [2, 13, "bye", 1],
    "true as a number": [2, 11, True, 0],
    "true as a kind of things given": [2, 5, True, []],
    "true as a kind of things fetched": [2, 10, True, []],
    "a float as a kind": [2, 5, 1.0, []],
    "feeds given whole": [2, 5, FEEDS, []],
    "feeds fetched by key": [2, 10, FEEDS, []],
    "an unknown set": [2, 7, 4, bytes(2048)],
    "a set that is a list": [2, 6, [1], None, False, []],
    "a number that is negative": [2, 11, -1, 0],
    "a pause that is too long": [2, 11, 600_001, 0],
    "a nonce that is too large": [2, 2, 2**32, H, bytes(8), bytes(8), 0],
    "a short hash": [2, 2, 1, bytes(31), bytes(8), bytes(8), 0],
    "a short prefix": [2, 2, 1, H, bytes(7), bytes(8), 0],
    "a clock after the end of time": [2, 2, 1, H, bytes(8), bytes(8), 2**47],
    "text for bytes": [2, 1, H, H, "contact", False],
    "a number for a flag": [2, 1, H, H, b"contact", 0],
    "an empty contact": [2, 1, H, H, b"", False],
    "a contact that is too large": [2, 1, H, H, bytes(4097), False],
    "an empty push": [2, 4, []],
    "a push of nothing": [2, 4, [b""]],
    "a push that is too large": [2, 4, [bytes(EAGER_BYTES), b"x"]],
    "digests that are cut short": [2, 7, 2, bytes(2047)],
    "buckets out of order": [2, 6, 2, b"\x02\x01", False, []],
    "a bucket twice": [2, 6, 2, b"\x01\x01", False, []],
    "a feed with three heads": [2, 6, 2, None, False, [[F, 1, H, 1, H, 1]]],
    "a feed with half a head": [2, 6, 2, None, False, [[F, 1, H, 1]]],
    "a feed of epoch zero": [2, 6, 2, None, False, [[bytes(40), 1, H]]],
    "a number beyond all feeds": [2, 6, 2, None, False, [[F, SEQ_MAX + 1, H]]],
    "a card without a time": [2, 6, 3, None, False, [[1, H]]],
    "a card with half a digest": [2, 6, 3, None, False, [[1, H, 1, bytes(4)]]],
    "a pull of nothing": [2, 8, 1, 1, []],
    "a pull for more than an answer holds": [2, 8, 1, ANSWER_BYTES + 1, [[F, 0, H]]],
    "a pull of too many feeds": [2, 8, 1, 1, [[F, 0, H]] * (PULL_FEEDS + 1)],
    "an ending without an end": [2, 9, 1, [[F]], b""],
    "an ending with too many points": [2, 9, 1, [[F, 1, H, False, [[1, H]] * 65]], b""],
    "a point that is none": [2, 9, 1, [[F, 1, H, False, [[1]]]], b""],
    "a key of the wrong size": [2, 10, 3, [H]],
    "too many keys": [2, 10, 1, [H] * (KEYS_PER_FETCH + 1)],
    "too many entries": [2, 6, 1, None, False, [H] * (HAVE_ENTRIES + 1)],
    "a rumour without a time": [2, 12, H, None],
    "a long goodbye": [2, 13, "x" * 201],
    "bytes as a goodbye": [2, 13, b"bye"],
}


@pytest.mark.parametrize("value", WRONG.values(), ids=WRONG.keys())
def test_what_breaks_a_limit_is_malformed(value: list[object]) -> None:
    """Every field has its type and is inside its limits."""
    with pytest.raises(Malformed):
        decode(pack(value))


def test_later_versions_and_kinds_are_told_apart() -> None:
    """One ends the link, the other is counted and left alone."""
    with pytest.raises(UnknownVersion, match="speaks protocol 3, this is 2: upgrade clan-mesh here"):
        decode(pack([3, 1]))
    with pytest.raises(UnknownVersion, match="speaks protocol 1, this is 2: upgrade clan-mesh there"):
        decode(pack([1, 1]))
    with pytest.raises(UnknownKind):
        decode(pack([2, 14, "whatever", 1, 2]))
    for nonsense in ([], [2], ["2", 1], [2, "1"], {"version": 1}, 1, None, [True, 2]):
        with pytest.raises(Malformed):
            decode(pack(nonsense))


def test_a_frame_above_the_limit_is_not_even_looked_at() -> None:
    """The largest that is allowed is."""
    head = len(pack([2, 9, 1, [], bytes(70_000)])) - 70_000
    assert isinstance(decode(pack([2, 9, 1, [], bytes(FRAME_BYTES - head)])), Ranges)
    with pytest.raises(Malformed, match="above the limit"):
        decode(pack([2, 9, 1, [], bytes(FRAME_BYTES - head + 1)]))


@pytest.mark.parametrize("depth", [100, 10_000, 500_000])
def test_deep_nesting_is_malformed(depth: int) -> None:
    """However deep, nothing but Malformed comes of it."""
    with pytest.raises(Malformed):
        decode(b"\x91" * depth)
    with pytest.raises(Malformed):
        decode(b"\x93\x02\x04" + b"\x91" * depth + b"\x01")


def test_a_short_frame_that_claims_gigabytes_is_malformed() -> None:
    """Lengths are checked against what is there."""
    for claim in (b"\xdd\xff\xff\xff\xff", b"\xc6\xff\xff\xff\xff", b"\xdb\xff\xff\xff\xff", b"\xdf\xff\xff\xff\xff"):
        with pytest.raises(Malformed):
            decode(b"\x93\x02\x04" + claim)
