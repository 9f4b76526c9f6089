"""Statements: signed by whom they name, in one form only, each limit checked."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.core.errors import Forged, Malformed, RemoteError
from mesh.core.identity import statement_message
from mesh.core.ids import Feed, digest
from mesh.core.limits import (
    HEADS_PER_REVOKE,
    HLC_MAX,
    RANGE_OPERATIONS,
    STATEMENT_BYTES,
    STATEMENTS_PER_REVOKE,
    TAGS_PER_BODY,
    TEXT_CHARS,
)
from mesh.core.operation import Add
from mesh.core.statement import (
    ADMIN,
    MEMBER,
    Erase,
    Fork,
    Member,
    Recover,
    Revoke,
    Signed,
    Statement,
    decode_statement,
    fork_between,
    fork_order,
    read_statement,
    sign,
)
from mesh.core.strict_msgpack import pack, unpack
from tests.worlds import Chain, Clan

CLAN, OTHER = Clan(), Clan(1)
ROOT, ANN, BEN = CLAN.root, CLAN.node(0), CLAN.node(1)


def hashes(count: int) -> tuple[bytes, ...]:
    return tuple(sorted(digest(b"%d" % number) for number in range(count)))


def branches(common: int = 2, one: int = 2, other: int = 3) -> tuple[Chain, Chain]:
    left = Chain(CLAN, ANN)
    for number in range(common):
        left.add(Add(left.next_hlc(), "one", {"n": number}))
    right = left.fork(common)
    for number in range(one):
        left.add(Add(left.next_hlc(), "one", {"left": number}))
    for number in range(other):
        right.add(Add(right.next_hlc(), "one", {"right": number}))
    return left, right


def fork() -> Statement:
    left, right = branches()
    return fork_between(left.range(), right.range(), 3)


FACTS: list[Signed] = [
    Member(ROOT.public, 0, ANN.public, "ann"),
    Member(ROOT.public, 2**47 - 1, ANN.public, "", ADMIN),
    Member(ROOT.public, 5, ANN.public, "ä" * TEXT_CHARS, MEMBER),
    Revoke(ROOT.public, 1, ANN.public, (), (), ""),
    Revoke(ROOT.public, 1, ANN.public, ((1, 5, bytes(32)), (2**64 - 1, 2**40, bytes(32))), hashes(3), "lost"),
    Erase(ROOT.public, 1, hashes(1), "secret"),
    Recover(ROOT.public, 1, ANN.public, (), ""),
    Recover(ROOT.public, 1, ANN.public, hashes(3), "stolen"),
    Erase(ROOT.public, 1, hashes(TAGS_PER_BODY), "r" * TEXT_CHARS),
]


def raw(payload: Any, signer: Any = ROOT) -> bytes:
    """A statement of whatever payload, properly signed."""
    data = payload if isinstance(payload, bytes) else pack(payload)
    return pack([data, signer.sign(statement_message(CLAN.mesh, data))])


@pytest.mark.parametrize("fact", FACTS, ids=lambda fact: type(fact).__name__)
def test_every_sort_is_read_back_as_it_was_signed(fact: Signed) -> None:
    """Through the bytes that travel, with signatures checked and without."""
    statement = sign(CLAN.mesh, ROOT, fact)
    assert decode_statement(CLAN.mesh, statement.encode()) == statement
    assert read_statement(statement.encode()).fact == fact
    assert read_statement(statement.encode()).id == statement.id


def test_a_fork_proof_is_read_back_as_it_was_made() -> None:
    """It has no signer of its own: the two signatures of the author are in it."""
    proof = fork()
    assert decode_statement(CLAN.mesh, proof.encode()) == proof
    assert isinstance(proof.fact, Fork)
    assert (proof.fact.first, proof.fact.prev) == (3, branches()[0].hash_at(2))
    assert proof.signature == b""


def test_a_fork_proof_is_the_same_from_either_side() -> None:
    """Two nodes that hold the two branches the other way round make one statement."""
    left, right = branches()
    assert fork_between(left.range(), right.range(), 3) == fork_between(right.range(), left.range(), 3)
    assert fork_between(left.range(3), right.range(2), 3) == fork_between(left.range(), right.range(), 3)


def test_a_fork_proof_without_any_common_operation_holds() -> None:
    """Two first operations of one feed."""
    left, right = branches(common=0)
    proof = fork_between(left.range(), right.range(), 1)
    assert decode_statement(CLAN.mesh, proof.encode()) == proof


def test_the_largest_fork_proof_fits_a_statement() -> None:
    """Two full ranges of the longest headers."""
    left, right = Chain(CLAN, ANN), Chain(CLAN, ANN)
    for number in range(RANGE_OPERATIONS):
        left.add((255, b"l" * 16), HLC_MAX - RANGE_OPERATIONS + number)
        right.add((255, b"r" * 16), HLC_MAX - RANGE_OPERATIONS + number)
    proof = fork_between(left.range(), right.range(), 1)
    assert len(proof.encode()) <= STATEMENT_BYTES
    assert decode_statement(CLAN.mesh, proof.encode()) == proof


def test_the_largest_recovery_fits_a_statement() -> None:
    """As many statements of earlier roots as it may keep."""
    fact = Recover(ROOT.public, 2**47 - 1, ANN.public, hashes(STATEMENTS_PER_REVOKE), "r" * TEXT_CHARS)
    statement = sign(CLAN.mesh, ROOT, fact)
    assert decode_statement(CLAN.mesh, statement.encode()).fact == fact


def test_the_lowest_fork_comes_first() -> None:
    """Then the smallest id, so that everyone keeps the same one."""
    _, right = branches()
    low = fork_between(_other(1).range(), right.range(), 2)
    assert fork_order(low) < fork_order(fork())
    assert fork_order(fork()) == (3, fork().id)


def _other(common: int) -> Chain:
    """A third branch, that leaves earlier."""
    left, _ = branches()
    third = left.fork(common)
    third.add(Add(third.next_hlc(), "one", {"third": 1}))
    return third


def test_the_id_does_not_depend_on_the_signature() -> None:
    """Who signs again says the same thing again."""
    statement = sign(CLAN.mesh, ROOT, FACTS[0])
    assert statement._replace(signature=bytes(64)).id == statement.id
    assert len({sign(CLAN.mesh, ROOT, fact).id for fact in FACTS}) == len(FACTS)


def test_only_the_signer_named_can_sign() -> None:
    """Not another key, not for another mesh, not a point's words."""
    with pytest.raises(ValueError, match="signer it names"):
        sign(CLAN.mesh, ANN, FACTS[0])
    payload = sign(CLAN.mesh, ROOT, FACTS[0]).payload
    for wrong in (
        pack([payload, ANN.sign(statement_message(CLAN.mesh, payload))]),
        pack([payload, ROOT.sign(statement_message(OTHER.mesh, payload))]),
        pack([payload, ROOT.sign(payload)]),
        pack([payload, bytes(64)]),
        pack([payload, b""]),
        pack([payload, ROOT.sign(statement_message(CLAN.mesh, payload)) + b"\x00"]),
    ):
        with pytest.raises(Forged):
            decode_statement(CLAN.mesh, wrong)


@pytest.mark.parametrize("index", range(len(FACTS) - 1))
def test_no_bit_of_a_statement_can_be_altered(index: int) -> None:
    """Every bit of every sort: malformed or forged."""
    data = sign(CLAN.mesh, ROOT, FACTS[index]).encode()
    for position in range(0, len(data), max(1, len(data) // 200)):
        for bit in range(8):
            altered = bytearray(data)
            altered[position] ^= 1 << bit
            with pytest.raises(RemoteError):
                decode_statement(CLAN.mesh, bytes(altered))


def test_no_bit_of_a_fork_proof_can_be_altered() -> None:
    """Nobody but the author can make one, nor a second one out of one."""
    data = fork().encode()
    for position in range(len(data)):
        for bit in range(8):
            altered = bytearray(data)
            altered[position] ^= 1 << bit
            with pytest.raises(RemoteError):
                decode_statement(CLAN.mesh, bytes(altered))


def test_a_fork_proof_cannot_be_bent() -> None:
    """Sides exchanged, the same side twice, a side cut short, another place, another feed, a signature of its own."""
    sort, feed, first, prev, one, other = unpack(fork().payload)
    bent: list[list[Any]] = [
        [sort, feed, first, prev, other, one],
        [sort, feed, first, prev, one, one],
        [sort, feed, first, prev, [one[0][:3], one[1]], other],
        [sort, feed, first, prev, [[], one[1]], other],
        [sort, feed, first, prev, [one[0][:-1], one[1]], other],
        [sort, feed, first, prev, [one[0], other[1]], [other[0], one[1]]],
        [sort, feed, first + 1, prev, one, other],
        [sort, feed, 0, prev, one, other],
        [sort, feed, first, bytes(32), one, other],
        [sort, BEN.public + feed[32:], first, prev, one, other],
        [sort, feed[:32] + (8).to_bytes(8, "big"), first, prev, one, other],
        [sort, feed, first, prev, one],
        [sort, feed, first, prev, one, other, one],
        [sort, feed, first, prev, [one[0] * 5000, one[1]], other],
        [sort, feed, first, prev, [[0, *one[0][1:]], one[1]], other],
        [sort, feed, first, prev, [[one[0][0], 256, *one[0][2:]], one[1]], other],
        [sort, feed, first, prev, [[one[0][0], one[0][1], b"", *one[0][3:]], one[1]], other],
    ]
    for payload in bent:
        with pytest.raises(RemoteError):
            decode_statement(CLAN.mesh, pack([pack(payload), b""]))
    with pytest.raises(Malformed, match="no signature of its own"):
        decode_statement(CLAN.mesh, pack([fork().payload, bytes(64)]))
    with pytest.raises(Forged):
        decode_statement(OTHER.mesh, fork().encode())


def test_two_honest_points_of_one_chain_prove_no_fork() -> None:
    """An author that signed its chain twice, further on, has not forked."""
    made, _ = branches()
    sort, feed = "fork", made.feed.encode()
    for one, other in ((3, 4), (4, 3), (3, 3)):
        sides = [
            [
                [part for each in made.links[2:last] for part in (each.hlc, each.kind, each.body_hash)],
                made.range(3, last).signature,
            ]
            for last in (one, other)
        ]
        with pytest.raises(Malformed, match="differ at their first operation"):
            decode_statement(CLAN.mesh, pack([pack([sort, feed, 3, made.hash_at(2), *sides]), b""]))


def test_there_is_one_encoding_of_a_statement() -> None:
    """Longer forms of the same numbers and strings are refused, though their signature holds."""
    payload = sign(CLAN.mesh, ROOT, FACTS[0]).payload
    longer_array = b"\xdc\x00\x06" + payload[1:]
    longer_text = payload.replace(b"\xa6member", b"\xd9\x06member", 1)
    longer_number = payload.replace(ROOT.public + b"\x00", ROOT.public + b"\xcc\x00", 1)
    longer_bytes = payload.replace(b"\xc4\x20", b"\xc5\x00\x20", 1)
    for other in (longer_array, longer_text, longer_number, longer_bytes):
        assert other != payload
        assert unpack(other) == unpack(payload)
        with pytest.raises(Malformed, match="canonical"):
            decode_statement(CLAN.mesh, raw(other))


def test_there_is_one_envelope_of_a_statement() -> None:
    """The pair of payload and signature has one encoding too."""
    data = sign(CLAN.mesh, ROOT, FACTS[0]).encode()
    assert data[0] == 0x92
    with pytest.raises(Malformed, match="canonical"):
        decode_statement(CLAN.mesh, b"\xdc\x00\x02" + data[1:])
    with pytest.raises(Malformed):
        decode_statement(CLAN.mesh, data + b"\x00")


KEY, NODE, HASH = ROOT.public, ANN.public, bytes(32)
MALFORMED: list[Any] = [
    None,
    [],
    {},
    "member",
    [7],
    [b"member", KEY, 1, NODE, "n", "member"],
    ["president", KEY, 1, NODE],
    ["x" * 100_000],
    ["member", KEY, 1, NODE, "n"],
    ["member", KEY, 1, NODE, "n", "member", 1],
    ["member", KEY[:31], 1, NODE, "n", "member"],
    ["member", None, 1, NODE, "n", "member"],
    ["member", KEY, -1, NODE, "n", "member"],
    ["member", KEY, 2**47, NODE, "n", "member"],
    ["member", KEY, True, NODE, "n", "member"],
    ["member", KEY, 1.0, NODE, "n", "member"],
    ["member", KEY, 1, NODE + b"x", "n", "member"],
    ["member", KEY, 1, NODE, "n" * (TEXT_CHARS + 1), "member"],
    ["member", KEY, 1, NODE, b"n", "member"],
    ["member", KEY, 1, NODE, "n", "root"],
    ["member", KEY, 1, NODE, "n", []],
    ["member", KEY, 1, NODE, "n", None],
    ["revoke", KEY, 1, NODE, [], []],
    ["revoke", KEY, 1, NODE, {}, [], "r"],
    ["revoke", KEY, 1, NODE, [[0, 1, HASH]], [], "r"],
    ["revoke", KEY, 1, NODE, [[-1, 1, HASH]], [], "r"],
    ["revoke", KEY, 1, NODE, [[True, 1, HASH]], [], "r"],
    ["revoke", KEY, 1, NODE, [[1, 0, HASH]], [], "r"],
    ["revoke", KEY, 1, NODE, [[1, 2**40 + 1, HASH]], [], "r"],
    ["revoke", KEY, 1, NODE, [[1, 1, HASH[:31]]], [], "r"],
    ["revoke", KEY, 1, NODE, [[1, 1]], [], "r"],
    ["revoke", KEY, 1, NODE, [1], [], "r"],
    ["revoke", KEY, 1, NODE, [[2, 1, HASH], [1, 1, HASH]], [], "r"],
    ["revoke", KEY, 1, NODE, [[1, 1, HASH], [1, 2, HASH]], [], "r"],
    ["revoke", KEY, 1, NODE, [[n + 1, 1, HASH] for n in range(HEADS_PER_REVOKE + 1)], [], "r"],
    ["revoke", KEY, 1, NODE, [], [HASH, HASH], "r"],
    ["revoke", KEY, 1, NODE, [], list(reversed(hashes(2))), "r"],
    ["revoke", KEY, 1, NODE, [], list(hashes(STATEMENTS_PER_REVOKE + 1)), "r"],
    ["revoke", KEY, 1, NODE, [], ["x" * 32], "r"],
    ["revoke", KEY, 1, NODE, [], [], None],
    ["erase", KEY, 1, [], "r"],
    ["erase", KEY, 1, [HASH, HASH], "r"],
    ["erase", KEY, 1, list(reversed(hashes(2))), "r"],
    ["erase", KEY, 1, list(hashes(TAGS_PER_BODY + 1)), "r"],
    ["erase", KEY, 1, [HASH[:31]], "r"],
    ["erase", KEY, 1, HASH, "r"],
    ["erase", KEY, 1, [HASH], "r" * (TEXT_CHARS + 1)],
    ["erase", KEY, 1, [HASH]],
    ["recover", KEY, 1, NODE, []],
    ["recover", KEY, 1, NODE, [], "r", 1],
    ["recover", KEY[:31], 1, NODE, [], "r"],
    ["recover", KEY, -1, NODE, [], "r"],
    ["recover", KEY, 1, NODE[:31], [], "r"],
    ["recover", KEY, 1, None, [], "r"],
    ["recover", KEY, 1, NODE, [HASH, HASH], "r"],
    ["recover", KEY, 1, NODE, list(reversed(hashes(2))), "r"],
    ["recover", KEY, 1, NODE, list(hashes(STATEMENTS_PER_REVOKE + 1)), "r"],
    ["recover", KEY, 1, NODE, [], "r" * (TEXT_CHARS + 1)],
    ["fork"],
    ["fork", bytes(40), 1, HASH, [[1, 1, HASH], bytes(64)], [[1, 1, HASH], bytes(64)]],
]


@pytest.mark.parametrize("payload", MALFORMED, ids=lambda payload: repr(payload)[:40])
def test_a_payload_of_another_shape_is_malformed(payload: Any) -> None:
    """Signed properly by the root itself, and refused by everyone alike."""
    with pytest.raises(Malformed):
        decode_statement(CLAN.mesh, raw(payload))


@pytest.mark.parametrize("value", [None, 1, [], [b""], [b"", b"", b""], ["", b""], [b"", None], {}, b"", [[], []]])
def test_what_is_not_payload_and_signature_is_no_statement(value: Any) -> None:
    """Whatever else msgpack can say."""
    with pytest.raises(Malformed):
        decode_statement(CLAN.mesh, pack(value))


def test_a_statement_above_its_size_is_not_even_decoded() -> None:
    """The limit is on the bytes that came."""
    with pytest.raises(Malformed, match="above the limit"):
        decode_statement(CLAN.mesh, bytes(STATEMENT_BYTES + 1))


@given(st.binary(max_size=300))
def test_any_bytes_give_a_remote_error(data: bytes) -> None:
    """Alone, and as a payload that was signed."""
    with pytest.raises(RemoteError):
        decode_statement(CLAN.mesh, data)
    with pytest.raises(RemoteError):
        decode_statement(CLAN.mesh, raw(data))


def test_a_statement_says_nothing_about_another_feed_of_its_node() -> None:
    """A fork proof names one epoch."""
    proof = fork()
    assert isinstance(proof.fact, Fork)
    assert proof.fact.feed == Feed(ANN.public, 7)
