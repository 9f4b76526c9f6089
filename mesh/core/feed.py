"""A feed's hash chain, the ranges it travels in, and the points its author signs. Pure.

A range may start anywhere: it carries the hash before its first operation. Its one signature is over
its last hash, which commits to everything before it, so a range is known to be authentic even when
what comes before it is still missing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

from mesh.core.errors import Forged, Malformed
from mesh.core.identity import SIGNATURE_BYTES, Identity, point_message, require_point
from mesh.core.ids import HASH_BYTES, KEY_BYTES, Feed, first_prev
from mesh.core.limits import (
    EPOCH_MAX,
    HLC_MAX,
    OPERATION_BYTES,
    RANGE_BYTES,
    RANGE_OPERATIONS,
    SALT_BYTES,
    SEQ_MAX,
)
from mesh.core.strict_msgpack import pack, unpack

_FEED_BYTES = KEY_BYTES + 8
ENVELOPE_WEIGHT = 200  # no less than what a range costs beside its operations


class Link(NamedTuple):
    """One operation in its chain. `body` is None once erased; its hash keeps the chain whole."""

    hlc: int
    kind: int
    body: bytes | None
    body_hash: bytes


class Range(NamedTuple):
    """Consecutive operations of one feed, authentic up to the last. `hashes[i]` is the hash of `links[i]`."""

    feed: Feed
    first: int
    prev: bytes
    links: Sequence[Link]
    hashes: Sequence[bytes]
    signature: bytes

    @property
    def last(self) -> int:
        """The sequence number of the last operation."""
        return self.first + len(self.links) - 1

    @property
    def head(self) -> bytes:
        """The signed hash."""
        return self.hashes[-1]

    def hash_at(self, seq: int) -> bytes:
        """The chain's hash after operation `seq`, which is in this range or just before it."""
        return self.prev if seq == self.first - 1 else self.hashes[seq - self.first]


def link_hash(prev: bytes, hlc: int, kind: int, body_hash: bytes) -> bytes:
    """The next hash of a chain."""
    return blake2b(prev + hlc.to_bytes(8, "big") + kind.to_bytes(1, "big") + body_hash, digest_size=HASH_BYTES).digest()


def chain(prev: bytes, links: Sequence[Link]) -> list[bytes]:
    """The hash after each link."""
    hashes = []
    for link in links:
        prev = link_hash(prev, link.hlc, link.kind, link.body_hash)
        hashes.append(prev)
    return hashes


def sign_range(mesh: bytes, identity: Identity, feed: Feed, first: int, prev: bytes, links: Sequence[Link]) -> Range:
    """Chain and sign a batch of our own."""
    hashes = chain(prev, links)
    message = point_message(mesh, feed, first + len(links) - 1, hashes[-1])
    return Range(feed, first, prev, links, hashes, identity.sign(message))


def require_order(last_hlc: int, links: Sequence[Link]) -> None:
    """Refuse operations whose clock does not increase after `last_hlc`: a frozen rule of the protocol."""
    for link in links:
        if link.hlc <= last_hlc:
            raise Malformed("an operation's clock does not increase")
        last_hlc = link.hlc


def weight(body: bytes | None) -> int:
    """What an operation counts against the limit of a range: at least its encoding, and no less than once erased.

    A hash is longer than the shortest body, so ranges measured in plain bytes could outgrow their limit by an erase.
    """
    return 20 + (HASH_BYTES if body is None else max(len(body), HASH_BYTES))


def range_weight(links: Sequence[Link]) -> int:
    """The weight of a whole range."""
    return ENVELOPE_WEIGHT + sum(weight(link.body) for link in links)


def batches(links: Sequence[Link]) -> Iterator[list[Link]]:
    """Parts that each fit one range, so that every part ends at a signed point."""
    batch: list[Link] = []
    heavy = ENVELOPE_WEIGHT
    for link in links:
        heavy += weight(link.body)
        if batch and (heavy > RANGE_BYTES or len(batch) == RANGE_OPERATIONS):
            yield batch
            batch, heavy = [], ENVELOPE_WEIGHT + weight(link.body)
        batch.append(link)
    if batch:
        yield batch


def encode_range(item: Range) -> bytes:
    """Feed, first, prev, signature, then hlc, kind and body of each operation in one flat array.

    An erased body travels as an array holding its hash.
    """
    flat: list[Any] = []
    for link in item.links:
        flat += (link.hlc, link.kind, [link.body_hash] if link.body is None else link.body)
    return pack_range(item.feed, item.first, item.prev, item.signature, flat)


def pack_range(feed: Feed, first: int, prev: bytes, signature: bytes, flat: list[Any]) -> bytes:
    """The bytes of a range whose operations are laid out already, three values each."""
    return pack([feed.encode(), first, prev, signature, flat])


def decode_range(mesh: bytes, data: bytes) -> Range:
    """Decode and verify: shape, limits, chain, and the signature over its end.

    A signed range that breaks a frozen rule is refused whole, by every node alike: its feed ends at the
    last point before it. What stays to be checked against a store: that `prev` is the hash known
    there, and the order of the clock at the seam.
    """
    if len(data) > RANGE_BYTES:
        raise Malformed(f"a range of {len(data)} bytes is above the limit of {RANGE_BYTES}")
    feed, first, prev, signature, flat = _range_fields(unpack(data))
    links: list[Link] = []
    hashes: list[bytes] = []
    head, last_hlc = prev, 0
    make, hasher = Link, blake2b  # the loop below runs for every operation ever received
    for index in range(0, len(flat), 3):
        hlc, kind, body = flat[index : index + 3]
        if type(hlc) is not int or not last_hlc < hlc <= HLC_MAX:
            raise Malformed("an operation's clock is out of range or does not increase")
        last_hlc = hlc
        if type(kind) is not int or not 0 <= kind <= 255:
            raise Malformed("an operation's kind is out of range")
        if type(body) is bytes:
            if not SALT_BYTES <= len(body) <= OPERATION_BYTES:
                raise Malformed(f"a body of {len(body)} bytes is outside {SALT_BYTES} to {OPERATION_BYTES}")
            body_hash = hasher(body, digest_size=HASH_BYTES).digest()
        else:
            body, body_hash = None, _erased_hash(body)
        head = hasher(b"%b%b%c%b" % (head, hlc.to_bytes(8, "big"), kind, body_hash), digest_size=HASH_BYTES).digest()
        links.append(make(hlc, kind, body, body_hash))
        hashes.append(head)
    if range_weight(links) > RANGE_BYTES:
        raise Malformed(f"a range weighs more than {RANGE_BYTES}")
    require_point(mesh, feed, first + len(links) - 1, head, signature)
    if first == 1 and prev != first_prev(mesh, feed):
        raise Forged(f"{feed} does not begin in this mesh")
    return Range(feed, first, prev, links, hashes, signature)


def decode_feed(data: object) -> Feed:
    """A feed from its 40 bytes."""
    if type(data) is not bytes or len(data) != _FEED_BYTES:
        raise Malformed("a feed id is 40 bytes")
    epoch = int.from_bytes(data[KEY_BYTES:], "big")
    if not 0 < epoch <= EPOCH_MAX:
        raise Malformed("an epoch is not zero")
    return Feed(data[:KEY_BYTES], epoch)


def require_hash(value: object) -> bytes:
    """A 32-byte string, or Malformed."""
    if type(value) is not bytes or len(value) != HASH_BYTES:
        raise Malformed("a hash is 32 bytes")
    return value


def require_seq(value: object, lowest: int = 1) -> int:
    """A sequence number, or Malformed."""
    if type(value) is not int or not lowest <= value <= SEQ_MAX:
        raise Malformed("a sequence number is out of range")
    return value


def require_signature(value: object) -> bytes:
    """A 64-byte string, or Malformed."""
    if type(value) is not bytes or len(value) != SIGNATURE_BYTES:
        raise Malformed("a signature is 64 bytes")
    return value


def _range_fields(value: Any) -> tuple[Feed, int, bytes, bytes, list[Any]]:
    if type(value) is not list or len(value) != 5:
        raise Malformed("a range has five fields")
    feed, first, prev, signature, flat = value
    if type(flat) is not list or not flat or len(flat) % 3 or len(flat) > 3 * RANGE_OPERATIONS:
        raise Malformed(f"a range has 1 to {RANGE_OPERATIONS} operations of three fields")
    return decode_feed(feed), require_seq(first), require_hash(prev), require_signature(signature), flat


def _erased_hash(value: object) -> bytes:
    if type(value) is not list or len(value) != 1:
        raise Malformed("a body is bytes, or an array of its hash")
    return require_hash(value[0])
