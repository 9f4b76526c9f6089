"""Ranges: authentic whole, from wherever they start, or nothing."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.core.errors import Forged, Malformed, RemoteError
from mesh.core.feed import (
    ENVELOPE_WEIGHT,
    Link,
    Range,
    chain,
    decode_feed,
    decode_range,
    encode_range,
    link_hash,
    range_weight,
    require_order,
    require_seq,
    sign_range,
    weight,
)
from mesh.core.ids import Feed, digest, first_prev
from mesh.core.limits import HLC_MAX, OPERATION_BYTES, RANGE_BYTES, RANGE_OPERATIONS, SALT_BYTES, SEQ_MAX
from mesh.core.operation import Add
from mesh.core.strict_msgpack import pack, unpack
from tests.worlds import Chain, Clan

CLAN, OTHER = Clan(), Clan(1)
ANN, BEN = CLAN.node(0), CLAN.node(1)


def diary(length: int = 5) -> Chain:
    made = Chain(CLAN, ANN)
    for number in range(length):
        made.add(Add(made.next_hlc(), "diary", {"text": f"day {number}"}))
    return made


def signed(links: list[Link], first: int = 1, prev: bytes | None = None) -> bytes:
    """A range of whatever links, properly chained and signed by Ann."""
    feed = Feed(ANN.public, 7)
    return encode_range(sign_range(CLAN.mesh, ANN, feed, first, prev or first_prev(CLAN.mesh, feed), links))


def link(hlc: int, body: bytes = bytes(SALT_BYTES), kind: int = 1) -> Link:
    return Link(hlc, kind, body, digest(body))


def test_a_range_is_read_back_from_wherever_it_starts() -> None:
    """Every start and every end of a feed: operations, hashes, head and signature."""
    made = diary()
    for first in range(1, 6):
        for last in range(first, 6):
            item = decode_range(CLAN.mesh, made.encoded(first, last))
            assert item == made.range(first, last)
            assert (item.first, item.last, item.head) == (first, last, made.hash_at(last))
            assert [item.hash_at(seq) for seq in range(first - 1, last + 1)] == [
                made.hash_at(seq) for seq in range(first - 1, last + 1)
            ]


def test_a_relay_may_leave_out_the_beginning_of_a_range_and_nothing_else() -> None:
    """The author's one signature is over the end: a later start is authentic, an earlier end is not."""
    made = diary()
    whole = made.range()
    later = Range(made.feed, 3, made.hash_at(2), made.links[2:], made.hashes[2:], whole.signature)
    assert decode_range(CLAN.mesh, encode_range(later)).head == made.head
    shorter = whole._replace(links=made.links[:4], hashes=made.hashes[:4])
    with pytest.raises(Forged):
        decode_range(CLAN.mesh, encode_range(shorter))


def test_a_relay_cannot_alter_a_range() -> None:
    """Every bit of an encoded range matters: flip any and it is malformed or forged."""
    data = diary(2).encoded()
    for position in range(len(data)):
        for bit in range(8):
            altered = bytearray(data)
            altered[position] ^= 1 << bit
            with pytest.raises((Malformed, Forged)):
                decode_range(CLAN.mesh, bytes(altered))


def test_a_relay_cannot_reorder_leave_out_or_repeat_operations() -> None:
    """The chain commits to the order, the signature to its end."""
    made = diary()
    whole = made.range()
    for order in ([1, 0, 2, 3, 4], [0, 1, 2, 4], [0, 1, 2, 3, 4, 4], [4, 3, 2, 1, 0], [1, 2, 3, 4]):
        altered = whole._replace(links=[made.links[index] for index in order])
        with pytest.raises(RemoteError):
            decode_range(CLAN.mesh, encode_range(altered))


def test_a_range_cannot_be_moved() -> None:
    """Not to another place of its feed, nor to another epoch, node or mesh."""
    whole = diary().range()
    for moved in (
        whole._replace(first=2),
        whole._replace(feed=Feed(ANN.public, 8)),
        whole._replace(feed=Feed(BEN.public, 7)),
        whole._replace(prev=bytes(32)),
    ):
        with pytest.raises(Forged):
            decode_range(CLAN.mesh, encode_range(moved))
    with pytest.raises(Forged):
        decode_range(OTHER.mesh, encode_range(whole))


def test_a_feed_begins_in_its_own_mesh() -> None:
    """Also its own author cannot begin one on a hash of another mesh, or on a made-up one."""
    feed = Feed(ANN.public, 7)
    for start in (first_prev(OTHER.mesh, feed), first_prev(CLAN.mesh, Feed(ANN.public, 8)), bytes(32)):
        with pytest.raises(Forged, match="does not begin in this mesh"):
            decode_range(CLAN.mesh, signed([link(1)], prev=start))


def test_only_the_holder_of_the_key_extends_a_feed() -> None:
    """A range signed by another key under the victim's name is forged."""
    made = diary()
    forged = sign_range(CLAN.mesh, BEN, made.feed, 6, made.head, [link(HLC_MAX)])
    with pytest.raises(Forged):
        decode_range(CLAN.mesh, encode_range(forged))


def test_an_erased_body_keeps_the_chain() -> None:
    """Its hash travels in its place, the hashes and the signature hold, and it is read back as gone."""
    made = diary()
    for gone in ({1}, {5}, {2, 4}, {1, 2, 3, 4, 5}):
        links = [each._replace(body=None) if seq in gone else each for seq, each in enumerate(made.links, 1)]
        item = decode_range(CLAN.mesh, encode_range(made.range()._replace(links=links)))
        assert item.hashes == made.hashes
        assert [seq for seq, each in enumerate(item.links, 1) if each.body is None] == sorted(gone)
        assert [each.body_hash for each in item.links] == [each.body_hash for each in made.links]


@pytest.mark.parametrize(
    ("links", "what"),
    [
        ([link(0)], "clock"),
        ([link(5), link(5)], "clock"),
        ([link(5), link(4)], "clock"),
        ([link(1, bytes(SALT_BYTES - 1))], "a body of 15 bytes"),
        ([link(1, b"")], "a body of 0 bytes"),
        ([link(1, bytes(OPERATION_BYTES + 1))], "a body of 65537 bytes"),
    ],
)
def test_a_signed_violation_of_a_frozen_rule_is_refused_whole(links: list[Link], what: str) -> None:
    """Signing it properly does not help its author."""
    with pytest.raises(Malformed, match=what):
        decode_range(CLAN.mesh, signed(links))


def test_what_is_exactly_at_a_limit_is_inside() -> None:
    """The largest body, the latest stamp, the greatest kind, the most operations."""
    links = [link(1, bytes(OPERATION_BYTES), 255), link(HLC_MAX, kind=0)]
    assert decode_range(CLAN.mesh, signed(links)).links == links
    many = [link(hlc) for hlc in range(1, RANGE_OPERATIONS + 1)]
    assert len(decode_range(CLAN.mesh, signed(many)).links) == RANGE_OPERATIONS
    with pytest.raises(Malformed, match="1 to 4096 operations"):
        decode_range(CLAN.mesh, signed([*many, link(RANGE_OPERATIONS + 1)]))


def test_a_range_above_its_size_is_not_even_decoded() -> None:
    """The limit is on the bytes that came."""
    links = [link(hlc, bytes(OPERATION_BYTES)) for hlc in range(1, 5)]
    data = signed(links)
    assert len(data) > RANGE_BYTES
    with pytest.raises(Malformed, match="above the limit"):
        decode_range(CLAN.mesh, data)


HEX = digest(b"x")
KEYS: list[Any] = [b"", bytes(39), bytes(41), ANN.public + bytes(8), "text", None, 7, [ANN.public, 7]]
NUMBERS: list[Any] = [0, -1, True, 1.0, "1", None, SEQ_MAX + 1, 2**64 - 1]
PREVS: list[Any] = [b"", HEX[:31], HEX + b"0", None, "x" * 32, [HEX]]
SIGNATURES: list[Any] = [b"", bytes(63), bytes(65), None, "x" * 64]
ARRAYS: list[Any] = [[], None, {}, b"", [1], [1, 1], [1, 1, HEX, 2], [[1, 1, HEX]], "abc"]
STAMPS: list[Any] = [0, -1, True, 1.0, None, b"1", HLC_MAX + 1, 2**64 - 1, []]
KINDS: list[Any] = [-1, 256, True, 1.0, None, b"1", 2**64 - 1, []]
BODIES: list[Any] = [None, 7, "x" * 32, [], [HEX[:31]], [HEX, HEX], [[HEX]], {}, [None], HEX[:15]]
FIELDS: list[tuple[int, Any]] = [
    *[(0, value) for value in KEYS],
    *[(1, value) for value in NUMBERS],
    *[(2, value) for value in PREVS],
    *[(3, value) for value in SIGNATURES],
    *[(4, value) for value in ARRAYS],
    *[(4, [hlc, 1, HEX]) for hlc in STAMPS],
    *[(4, [1, kind, HEX]) for kind in KINDS],
    *[(4, [1, 1, body]) for body in BODIES],
]


@pytest.mark.parametrize(("index", "value"), FIELDS)
def test_a_field_of_another_shape_is_malformed(index: int, value: Any) -> None:
    """Each field by itself, before any hash or signature is worked out."""
    fields = unpack(diary(1).encoded())
    fields[index] = value
    with pytest.raises(Malformed):
        decode_range(CLAN.mesh, pack(fields))


@pytest.mark.parametrize("value", [None, 1, "range", {}, [], [1] * 4, [1] * 6, b"", {"a": 1}])
def test_what_has_not_five_fields_is_no_range(value: Any) -> None:
    """Whatever else msgpack can say."""
    with pytest.raises(Malformed, match="five fields"):
        decode_range(CLAN.mesh, pack(value))


@given(st.binary(max_size=400))
def test_any_bytes_give_a_remote_error(data: bytes) -> None:
    """Nobody finds a range by chance, and nothing else is raised."""
    with pytest.raises(RemoteError):
        decode_range(CLAN.mesh, data)


@given(st.data())
def test_a_range_cut_short_or_spliced_is_refused(data: st.DataObject) -> None:
    """Truncation, insertion and deletion of a stretch of bytes, wherever."""
    raw = diary(3).encoded()
    start = data.draw(st.integers(0, len(raw)))
    end = data.draw(st.integers(start, len(raw)))
    altered = raw[:start] + data.draw(st.binary(max_size=40)) + raw[end:]
    if altered != raw:
        with pytest.raises(RemoteError):
            decode_range(CLAN.mesh, altered)


@given(st.lists(st.integers(0, 300) | st.sampled_from([65000, OPERATION_BYTES - SALT_BYTES]), min_size=1, max_size=40))
def test_the_size_of_a_range_is_never_underestimated(sizes: list[int]) -> None:
    """What is cut to fit by `weight` does fit, and no less once bodies are erased."""
    links = [link(HLC_MAX - 50 + number, bytes(SALT_BYTES + size), 255) for number, size in enumerate(sizes)]
    for made in (links, [each._replace(body=None) for each in links]):
        bound = ENVELOPE_WEIGHT + sum(weight(each.body) for each in made)
        assert len(signed(made, SEQ_MAX, HEX)) <= bound <= range_weight(links)


def test_a_chain_is_the_hash_of_all_before() -> None:
    """Each hash depends on the one before, the stamp, the kind and the body's hash."""
    links = [link(1), link(2, b"x" * 20, 3)]
    first = link_hash(HEX, 1, 1, links[0].body_hash)
    assert chain(HEX, links) == [first, link_hash(first, 2, 3, links[1].body_hash)]
    assert len({link_hash(HEX, 1, 1, HEX), link_hash(HEX, 2, 1, HEX), link_hash(HEX, 1, 2, HEX)}) == 3
    assert chain(HEX, []) == []


def test_the_order_at_a_seam_is_checked_against_what_is_held() -> None:
    """Stamps go on after the last one known."""
    require_order(4, [link(5), link(6)])
    for wrong in ([link(4)], [link(3)], [link(6), link(6)]):
        with pytest.raises(Malformed, match="does not increase"):
            require_order(4, wrong)


def test_feed_ids_and_numbers_are_bounded() -> None:
    """Epoch zero is none; the greatest is one; numbers start at one."""
    assert decode_feed(ANN.public + b"\xff" * 8) == Feed(ANN.public, 2**64 - 1)
    with pytest.raises(Malformed, match="not zero"):
        decode_feed(ANN.public + bytes(8))
    assert require_seq(SEQ_MAX) == SEQ_MAX
    assert require_seq(0, lowest=0) == 0
    with pytest.raises(Malformed):
        require_seq(0)
