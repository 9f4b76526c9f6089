"""Cards: what nodes say about how to reach them (contacts), and the certificates that were issued to them.

Cards are kept in step like statements but stand outside the root: they steer whom we talk to, never what is true.
Of one kind and subject the newest counts.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from mesh.core.errors import Forged, Malformed
from mesh.core.identity import SIGNATURE_BYTES, verify
from mesh.core.ids import KEY_BYTES, digest
from mesh.core.strict_msgpack import pack, unpack

CONTACT, CERTIFICATE = 1, 2
CARD_BYTES = 4096
ADDRESSES = 16
_ADDRESS_CHARS = 300
_VERSION_CHARS = 40
_CONTACT = b"clan-mesh contact 1"


class Card(NamedTuple):
    """One card as it is kept and sent."""

    kind: int
    subject: bytes
    at: int  # milliseconds; of two the later counts, of equals the one with the greater bytes
    data: bytes

    @property
    def key(self) -> bytes:
        """What the card is about."""
        return bytes([self.kind]) + self.subject

    def replaces(self, other: "Card | None") -> bool:
        """Whether this one counts rather than the other."""
        return other is None or (self.at, self.data) > (other.at, other.data)


class Contact(NamedTuple):
    """What a node says about itself. Without addresses it dials out only."""

    node: bytes
    at: int
    addresses: tuple[str, ...]
    version: str
    ephemeral: bool = False
    left: bool = False


Sign = Callable[[bytes], bytes]
ReadCertificate = Callable[[bytes], Card | None]  # RemoteError unless it is of this mesh; None while that can't be told


def write_contact(mesh: bytes, contact: Contact, sign: Sign) -> Card:
    """A contact of our own, signed."""
    payload = pack(
        [contact.node, contact.at, list(contact.addresses), contact.version, contact.ephemeral, contact.left]
    )
    data = pack([CONTACT, payload, sign(_CONTACT + mesh + payload)])
    return Card(CONTACT, contact.node, contact.at, data)


def read_contact(mesh: bytes, data: bytes) -> tuple[Card, Contact]:
    """A contact, checked: shape, limits, and the signature of the node it is about."""
    payload, signature = _signed(data)
    contact = _contact(unpack(payload))
    if not verify(contact.node, _CONTACT + mesh + payload, signature):
        raise Forged("the signature of a contact does not hold")
    return Card(CONTACT, contact.node, contact.at, data), contact


def parse_contact(data: bytes) -> Contact:
    """A contact that was checked before it was kept."""
    return _contact(unpack(_signed(data)[0]))


def wrap_certificate(certificate: bytes) -> bytes:
    """A certificate as it travels among the cards."""
    return pack([CERTIFICATE, certificate])


def card_kind(data: bytes) -> tuple[int, bytes]:
    """The kind of a card; of a certificate also its own bytes."""
    value = unpack(data) if len(data) <= CARD_BYTES else None
    if type(value) is not list or not value or type(value[0]) is not int:
        raise Malformed("a card begins with its kind")
    if value[0] == CERTIFICATE:
        if len(value) != 2 or type(value[1]) is not bytes or pack(value) != data:
            raise Malformed("a certificate card holds one certificate")
        return CERTIFICATE, value[1]
    return value[0], b""


class CardBook:
    """The newest card of each kind and subject, in 256 buckets. Digests are kept until their cards change."""

    def __init__(self) -> None:
        self._buckets: list[dict[bytes, Card]] = [{} for _ in range(256)]
        self._digests = [digest(b"")] * 256
        self._stale: set[int] = set()  # buckets whose digest must be recomputed
        self._whole: bytes | None = None
        self._count = 0
        self._names: dict[bytes, bytes] = {}  # the digest of each card's bytes, by its key
        self._copies: set[bytes] = set()  # the same digests

    def put(self, card: Card) -> bool:
        """Keep a card if it is newer. Says whether it was."""
        number, key = card.subject[0], card.key
        bucket = self._buckets[number]
        known = bucket.get(key)
        if not card.replaces(known):
            return False
        if known is None:
            self._count += 1
        else:
            self._copies.discard(self._names[key])
        bucket[key] = card
        name = self._names[key] = digest(card.data)
        self._copies.add(name)
        self._stale.add(number)
        self._whole = None
        return True

    def has_copy(self, data: bytes) -> bool:
        """Whether these very bytes are a card that is kept: checked once, it need not be again."""
        return digest(data) in self._copies

    def get(self, kind: int, subject: bytes) -> Card | None:
        """The card of a kind about a subject."""
        return self.by_key(bytes([kind]) + subject)

    def by_key(self, key: bytes) -> Card | None:
        """The card with this key."""
        return self._buckets[key[1]].get(key)

    def name(self, card: Card) -> bytes:
        """The digest of a card that is kept."""
        return self._names[card.key]

    def of_kind(self, kind: int) -> list[Card]:
        """All cards of a kind."""
        return [card for card in self if card.kind == kind]

    def bucket(self, number: int) -> Sequence[Card]:
        """The cards of one bucket."""
        return list(self._buckets[number].values())

    def bucket_digest(self, number: int) -> bytes:
        """What names one bucket's cards."""
        if number in self._stale:
            names = self._names
            parts = sorted([key + names[key] for key in self._buckets[number]])
            self._digests[number] = digest(b"".join(parts))
            self._stale.discard(number)
        return self._digests[number]

    def digests(self) -> list[bytes]:
        """What names the cards of each bucket. Not to be changed."""
        for number in list(self._stale):
            self.bucket_digest(number)
        return self._digests

    def digest(self) -> bytes:
        """What names all cards."""
        if self._whole is None:
            self._whole = digest(b"".join(self.digests()))
        return self._whole

    def __iter__(self) -> Iterator[Card]:
        return (card for bucket in self._buckets for card in bucket.values())

    def __len__(self) -> int:
        return self._count


def _signed(data: bytes) -> tuple[bytes, bytes]:
    value = unpack(data) if len(data) <= CARD_BYTES else None
    if type(value) is not list or len(value) != 3 or value[0] != CONTACT or type(value[1]) is not bytes:
        raise Malformed("a contact is a payload and its signature")
    if type(value[2]) is not bytes or len(value[2]) != SIGNATURE_BYTES:
        raise Malformed("a signature is 64 bytes")
    if pack(value) != data:
        raise Malformed("a contact is not in its one encoding")
    return value[1], value[2]


def _contact(value: object) -> Contact:
    if type(value) is not list or len(value) != 6:
        raise Malformed("a contact has six fields")
    node, at, addresses, version, ephemeral, left = value
    if type(node) is not bytes or len(node) != KEY_BYTES or type(at) is not int or not 0 <= at < 2**47:
        raise Malformed("a contact names a node and a time")
    if type(addresses) is not list or len(addresses) > ADDRESSES or not all(map(_is_address, addresses)):
        raise Malformed("a contact's addresses are short texts")
    if (
        type(version) is not str
        or len(version) > _VERSION_CHARS
        or type(ephemeral) is not bool
        or type(left) is not bool
    ):
        raise Malformed("a contact has a version and two flags")
    return Contact(node, at, tuple(addresses), version, ephemeral, left)


def _is_address(value: object) -> bool:
    return type(value) is str and 0 < len(value) <= _ADDRESS_CHARS and value.isprintable()
