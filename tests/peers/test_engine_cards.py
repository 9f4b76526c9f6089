"""Cards: authentic or refused, the newest of each counts, and their order of arrival does not matter."""

import itertools
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.core.errors import Forged, Malformed, RemoteError
from mesh.core.strict_msgpack import pack, unpack
from peers.proto.cards import (
    CERTIFICATE,
    CONTACT,
    Card,
    CardBook,
    Contact,
    card_kind,
    parse_contact,
    read_contact,
    wrap_certificate,
    write_contact,
)
from peers.proto.engine_events import KeepCard
from peers.proto.messages import CARDS, Give, Hello
from tests.peers.engines import CLAN, MEMBERS, Desk, contact_of, node
from tests.worlds import NOW_MS, Clan

contacts = st.builds(
    Contact,
    st.just(node(1)),
    st.integers(0, 2**47 - 1),
    st.lists(st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=30), max_size=16).map(tuple),
    st.text(max_size=40),
    st.booleans(),
    st.booleans(),
)


@given(contacts)
def test_a_contact_survives_the_way(contact: Contact) -> None:
    """Card and contact agree about subject and time."""
    card = write_contact(CLAN.mesh, contact, CLAN.node(1).sign)
    assert read_contact(CLAN.mesh, card.data) == (card, contact)
    assert parse_contact(card.data) == contact
    assert (card.kind, card.subject, card.at) == (CONTACT, contact.node, contact.at)


def test_a_contact_is_signed_by_the_node_it_is_about_for_its_mesh() -> None:
    """Someone else's signature, another mesh's, and one bit anywhere."""
    someone = write_contact(CLAN.mesh, Contact(node(1), 1, (), ""), CLAN.node(2).sign)
    elsewhere = write_contact(Clan(4).mesh, Contact(node(1), 1, (), ""), CLAN.node(1).sign)
    for card in (someone, elsewhere):
        with pytest.raises(Forged):
            read_contact(CLAN.mesh, card.data)
    real = contact_of(1).data
    for at, bit in itertools.product(range(len(real)), range(8)):
        bent = bytearray(real)
        bent[at] ^= 1 << bit
        with pytest.raises(RemoteError):
            read_contact(CLAN.mesh, bytes(bent))


def signed(payload: object) -> bytes:
    """Anything, with a signature that holds."""
    data = pack(payload)
    return pack([CONTACT, data, CLAN.node(1).sign(b"clan-mesh contact 1" + CLAN.mesh + data)])


GOOD = [node(1), 1, ["host:1"], "1.0", False, False]
WRONG = {
    "a field too few": GOOD[:5],
    "a field too many": [*GOOD, 1],
    "a short node": [bytes(31), *GOOD[1:]],
    "a negative time": [GOOD[0], -1, *GOOD[2:]],
    "a time after the end of time": [GOOD[0], 2**47, *GOOD[2:]],
    "true as a time": [GOOD[0], True, *GOOD[2:]],
    "too many addresses": [*GOOD[:2], ["host:1"] * 17, *GOOD[3:]],
    "a long address": [*GOOD[:2], ["h" * 301], *GOOD[3:]],
    "an empty address": [*GOOD[:2], [""], *GOOD[3:]],
    "an address that moves the cursor": [*GOOD[:2], ["host\x1b[2J:1"], *GOOD[3:]],
    "an address that is bytes": [*GOOD[:2], [b"host:1"], *GOOD[3:]],
    "a long version": [*GOOD[:3], "v" * 41, False, False],
    "a number for a flag": [*GOOD[:4], 0, False],
    "a map": {"node": node(1)},
}


@pytest.mark.parametrize("payload", WRONG.values(), ids=WRONG.keys())
def test_a_contact_outside_its_limits_is_malformed_also_when_signed(payload: object) -> None:
    """A certified node can sign what it likes."""
    assert read_contact(CLAN.mesh, signed(GOOD))[1].addresses == ("host:1",)
    with pytest.raises(Malformed):
        read_contact(CLAN.mesh, signed(payload))


def test_a_card_has_one_encoding() -> None:
    """Longer ways to write the same are refused: their digests would differ for ever."""
    kind, payload, signature = unpack(contact_of(1).data)
    longer = b"\xdc\x00\x03" + pack(kind) + pack(payload) + pack(signature)
    assert unpack(longer) == [kind, payload, signature]
    with pytest.raises(Malformed):
        read_contact(CLAN.mesh, longer)
    wrapped = wrap_certificate(b"certificate")
    assert card_kind(wrapped) == (CERTIFICATE, b"certificate")
    with pytest.raises(Malformed):
        card_kind(b"\xdc\x00\x02" + wrapped[1:])
    with pytest.raises(Malformed):
        card_kind(wrap_certificate(bytes(4097)))


@given(st.binary(max_size=200))
def test_random_bytes_are_a_card_or_malformed(data: bytes) -> None:
    """Whichever way they are read."""
    for read in (card_kind, parse_contact, lambda data: read_contact(CLAN.mesh, data)):
        with suppress(RemoteError):
            read(data)


# The book


def test_of_two_cards_the_newer_counts_and_of_equals_the_greater() -> None:
    """In any order of arrival."""
    cards = [Card(CONTACT, node(1), at, data) for at, data in ((1, b"b"), (2, b"a"), (2, b"c"), (1, b"z"))]
    for order in itertools.permutations(cards):
        book = CardBook()
        for card in order:
            book.put(card)
        assert book.get(CONTACT, node(1)) == cards[2]
        assert len(book) == 1
        assert not book.put(cards[2]), "again is not newer"


def test_kinds_stand_beside_each_other() -> None:
    """A node's contact and its certificate are two cards."""
    book = CardBook()
    for kind in (CONTACT, CERTIFICATE):
        assert book.put(Card(kind, node(1), 1, bytes([kind])))
    assert [card.data for card in book.of_kind(CERTIFICATE)] == [b"\x02"]
    assert book.by_key(bytes([CONTACT]) + node(1)) == Card(CONTACT, node(1), 1, b"\x01")


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3), st.binary(max_size=2)), max_size=20))
def test_the_digest_names_the_cards_not_their_history(drawn: list[tuple[int, int, bytes]]) -> None:
    """Two books with the same cards have the same digests, bucket by bucket."""
    cards = [Card(CONTACT, node(index), at, data) for index, at, data in drawn]
    one, other = CardBook(), CardBook()
    for card in cards:
        one.put(card)
        one.digest()  # computed at every step, so that a stale one would show
    for card in sorted(cards, key=repr, reverse=True):
        other.put(card)
    assert one.digest() == other.digest()
    assert [one.bucket_digest(number) for number in range(256)] == [
        other.bucket_digest(number) for number in range(256)
    ]
    if cards:
        other.put(Card(CONTACT, cards[0].subject, 99, b"another"))
        assert one.digest() != other.digest()


# In the engine


def test_a_newer_contact_is_kept_and_passed_on_once() -> None:
    """To everyone but who brought it and whom it is about; a copy is not news."""
    desk = Desk()
    for link in (1, 2, 3):
        desk.link(link, link)
    desk.forget()
    card = contact_of(2, 50)
    for _ in range(3):
        desk.receive(1, Give(CARDS, [card.data]))
    assert [len(desk.sent(link, Give)) for link in (1, 2, 3)] == [0, 0, 1]
    assert desk.all_of(KeepCard) == [KeepCard(card)]


def test_an_older_contact_changes_nothing() -> None:
    """A replay of what was said before."""
    desk = Desk(cards=[contact_of(5, 100)])
    desk.link(1, 1)
    desk.forget()
    desk.receive(1, Give(CARDS, [contact_of(5, 99, ["elsewhere:1"]).data]))
    assert not desk.effects
    assert desk.engine.cards(CONTACT).count(contact_of(5, 100)) == 1


def test_a_contact_of_who_is_no_member_is_not_kept() -> None:
    """Nor held against who brought it: the statement may be on its way."""
    desk = Desk()
    desk.link(1, 1)
    desk.forget()
    desk.receive(1, Give(CARDS, [contact_of(MEMBERS + 1).data]))
    assert not desk.effects


def test_a_later_contact_of_our_own_earlier_life_is_overtaken() -> None:
    """Our state was lost, others remember more: we sign one that is later still, with what is so now."""
    desk = Desk(addresses=("now:1",))
    desk.link(1, 1)
    desk.forget()
    desk.receive(1, Give(CARDS, [contact_of(0, NOW_MS + 500, ["before:1"]).data]))
    (given,) = desk.sent(1, Give)
    contact = read_contact(CLAN.mesh, given.items[0])[1]
    assert contact.at > NOW_MS + 500
    assert contact.addresses == ("now:1",)


def test_a_greeting_brings_the_contact_of_who_greets() -> None:
    """Kept, and told to the neighbours."""
    desk = Desk()
    desk.link(1, 1)
    desk.forget()
    desk.link(2, 2)
    assert desk.all_of(KeepCard) == [KeepCard(contact_of(2))]
    assert [given.items for given in desk.sent(1, Give)] == [[contact_of(2).data]]
    assert [hello.node for hello in desk.sent(2, Hello)] == [node(0)]
