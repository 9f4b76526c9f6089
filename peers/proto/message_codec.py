"""Messages as bytes and back: msgpack arrays `[version, kind, fields...]`. Every byte that comes in may be an attacker's.

Decoding ends in a message whose every field has its type and is inside its limits, or in Malformed.
"""

from collections.abc import Callable
from typing import Any

from mesh.core.errors import Malformed
from mesh.core.feed import decode_feed, require_hash, require_seq
from mesh.core.ids import HASH_BYTES, KEY_BYTES
from mesh.core.limits import PROTOCOL_VERSION, STATEMENT_BYTES
from mesh.core.strict_msgpack import pack, unpack
from mesh.core.version_vector import BUCKETS, Head
from peers.proto.cards import CARD_BYTES
from peers.proto.gossip_config import ANSWER_BYTES, EAGER_BYTES, FRAME_BYTES, HAVE_ENTRIES, KEYS_PER_FETCH, PULL_FEEDS
from peers.proto.messages import (
    CARDS,
    FEEDS,
    SETS,
    STATEMENTS,
    Busy,
    Bye,
    CardEntry,
    Compare,
    Ending,
    Entry,
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

PREFIX_BYTES = 8  # of digests on the wire
_POINTS = 64  # of an ending: enough to find any common point in steps that double
_CODES: dict[type[Message], int] = {
    Hello: 1,
    Ping: 2,
    Pong: 3,
    Push: 4,
    Give: 5,
    Have: 6,
    Compare: 7,
    Pull: 8,
    Ranges: 9,
    Fetch: 10,
    Busy: 11,
    Rumour: 12,
    Bye: 13,
}
KIND_NAMES = {type_: type_.__name__.lower() for type_ in _CODES}
FRAME_KINDS = {bytes([code]): KIND_NAMES[type_] for type_, code in _CODES.items()}  # by a frame's third byte


class UnknownVersion(Malformed):
    """The other side speaks a protocol we do not know."""

    def __init__(self, version: int) -> None:
        side = "there" if version < PROTOCOL_VERSION else "here"
        super().__init__(f"it speaks protocol {version}, this is {PROTOCOL_VERSION}: upgrade clan-mesh {side}")
        self.version = version


class UnknownKind(Malformed):
    """A message of a later minor version: it is counted and left alone."""


def encode(message: Message) -> bytes:
    """The bytes of a message."""
    return pack([PROTOCOL_VERSION, _CODES[type(message)], *_fields(message)])


def encode_bye(version: int, reason: str) -> bytes:
    """A goodbye for who speaks an older version, in that version: it has been the same in all."""
    return pack([version, _CODES[Bye], reason])


def decode(frame: bytes) -> Message:
    """The message in a frame, or Malformed."""
    if len(frame) > FRAME_BYTES:
        raise Malformed(f"a frame of {len(frame)} bytes is above the limit of {FRAME_BYTES}")
    value = unpack(frame)
    if type(value) is not list or len(value) < 2 or type(value[0]) is not int or type(value[1]) is not int:
        raise Malformed("a message is an array of version, kind and fields")
    if value[0] != PROTOCOL_VERSION:
        raise UnknownVersion(value[0])
    reader = _READERS.get(value[1])
    if reader is None:
        raise UnknownKind(f"messages of kind {value[1]} are unknown here")
    try:
        return reader(*value[2:])
    except TypeError as error:  # the number of fields
        raise Malformed(f"a message of kind {value[1]} has other fields") from error


def _fields(message: Message) -> list[Any]:
    match message:
        case Have(kind=kind, covers=covers, answer=answer, entries=entries):
            return [kind, covers, answer, [_entry_fields(entry) for entry in entries]]
        case Pull(pull=pull, room=room, wants=wants):
            return [pull, room, [[feed.encode(), *head] for feed, head in wants]]
        case Ranges(pull=pull, endings=endings, blob=blob):
            return [pull, [_ending_fields(ending) for ending in endings], blob]
        case _:
            return list(message)


def _entry_fields(entry: Entry) -> Any:
    match entry:
        case FeedEntry(feed=feed, accepted=accepted, held=held):
            return [feed.encode(), *accepted] if held == accepted else [feed.encode(), *accepted, *held]
        case CardEntry():
            return list(entry)
        case _:
            return entry


def _ending_fields(ending: Ending) -> list[Any]:
    head = [ending.feed.encode(), *ending.end, ending.more]
    return [*head, [list(point) for point in ending.points]] if ending.points else head


def _read_hello(mesh: Any, node: Any, contact: Any, passing: Any) -> Hello:
    return Hello(require_hash(mesh), require_hash(node), _bytes(contact, 1, CARD_BYTES), _flag(passing))


def _read_ping(nonce: Any, root: Any, statements: Any, cards: Any, clock_ms: Any) -> Ping:
    return Ping(*_signs(nonce, root, statements, cards, clock_ms))


def _read_pong(nonce: Any, root: Any, statements: Any, cards: Any, clock_ms: Any) -> Pong:
    return Pong(*_signs(nonce, root, statements, cards, clock_ms))


def _signs(nonce: Any, root: Any, statements: Any, cards: Any, clock_ms: Any) -> tuple[int, bytes, bytes, bytes, int]:
    return (
        _integer(nonce, 2**32),
        require_hash(root),
        _bytes(statements, PREFIX_BYTES, PREFIX_BYTES),
        _bytes(cards, PREFIX_BYTES, PREFIX_BYTES),
        _integer(clock_ms, 2**47),
    )


def _read_push(ranges: Any) -> Push:
    items = [_bytes(item, 1, EAGER_BYTES) for item in _list(ranges, PULL_FEEDS)]
    if not items or sum(map(len, items)) > EAGER_BYTES:
        raise Malformed(f"a push carries 1 to {EAGER_BYTES} bytes of ranges")
    return Push(items)


def _read_give(kind: Any, items: Any) -> Give:
    if _kind(kind) == FEEDS:
        raise Malformed("only statements and cards are given whole")
    most = STATEMENT_BYTES if kind == STATEMENTS else CARD_BYTES
    return Give(kind, [_bytes(item, 1, most) for item in _list(items, KEYS_PER_FETCH)])


def _read_have(kind: Any, covers: Any, answer: Any, entries: Any) -> Have:
    reader = _ENTRY_READERS.get(_kind(kind))
    assert reader is not None
    if covers is not None:
        _bytes(covers, 0, BUCKETS)
        if list(covers) != sorted(set(covers)):
            raise Malformed("buckets are listed once, in order")
    return Have(kind, covers, _flag(answer), [reader(entry) for entry in _list(entries, HAVE_ENTRIES)])


def _read_feed_entry(value: Any) -> FeedEntry:
    fields = _list(value, 5)
    if len(fields) not in (3, 5):
        raise Malformed("a feed is listed with one head or two")
    accepted = _head(*fields[1:3])
    return FeedEntry(decode_feed(fields[0]), accepted, accepted if len(fields) == 3 else _head(*fields[3:]))


def _read_card_entry(value: Any) -> CardEntry:
    fields = _list(value, 4)
    if len(fields) != 4:
        raise Malformed("a card is listed by kind, subject, time and hash")
    kind, subject = _integer(fields[0], 256), _bytes(fields[1], KEY_BYTES, KEY_BYTES)
    return CardEntry(kind, subject, _integer(fields[2], 2**47), _bytes(fields[3], PREFIX_BYTES, PREFIX_BYTES))


_ENTRY_READERS: dict[int, Callable[[Any], Entry]] = {
    STATEMENTS: require_hash,
    FEEDS: _read_feed_entry,
    CARDS: _read_card_entry,
}


def _read_compare(kind: Any, digests: Any) -> Compare:
    return Compare(_kind(kind), _bytes(digests, BUCKETS * PREFIX_BYTES, BUCKETS * PREFIX_BYTES))


def _read_pull(pull: Any, room: Any, wants: Any) -> Pull:
    heads = []
    for want in _list(wants, PULL_FEEDS):
        fields = _list(want, 3)
        if len(fields) != 3:
            raise Malformed("a wanted feed has a number and a hash")
        heads.append((decode_feed(fields[0]), _head(*fields[1:])))
    if not heads:
        raise Malformed("a pull wants at least one feed")
    return Pull(_integer(pull, 2**32), _integer(room, ANSWER_BYTES + 1), heads)


def _read_ranges(pull: Any, endings: Any, blob: Any) -> Ranges:
    return Ranges(
        _integer(pull, 2**32), [_ending(item) for item in _list(endings, PULL_FEEDS)], _bytes(blob, 0, FRAME_BYTES)
    )


def _ending(value: Any) -> Ending:
    fields = _list(value, 5)
    if len(fields) not in (4, 5):
        raise Malformed("an ending has a feed, a head, and whether there is more")
    points = [] if len(fields) == 4 else [_head(*_pair(point)) for point in _list(fields[4], _POINTS)]
    return Ending(decode_feed(fields[0]), _head(*fields[1:3]), _flag(fields[3]), points)


def _read_fetch(kind: Any, keys: Any) -> Fetch:
    if _kind(kind) == FEEDS:
        raise Malformed("only statements and cards are fetched by key")
    size = HASH_BYTES if kind == STATEMENTS else KEY_BYTES + 1
    return Fetch(kind, [_bytes(key, size, size) for key in _list(keys, KEYS_PER_FETCH)])


def _read_busy(milliseconds: Any, pull: Any) -> Busy:
    return Busy(_integer(milliseconds, 600_001), _integer(pull, 2**32))


def _read_rumour(node: Any, at: Any) -> Rumour:
    return Rumour(require_hash(node), _integer(at, 2**47))


def _read_bye(reason: Any) -> Bye:
    if type(reason) is not str or len(reason) > 200:
        raise Malformed("a reason is a short text")
    return Bye(reason)


_READERS: dict[int, Callable[..., Message]] = {
    1: _read_hello,
    2: _read_ping,
    3: _read_pong,
    4: _read_push,
    5: _read_give,
    6: _read_have,
    7: _read_compare,
    8: _read_pull,
    9: _read_ranges,
    10: _read_fetch,
    11: _read_busy,
    12: _read_rumour,
    13: _read_bye,
}


def _head(seq: Any, value: Any) -> Head:
    return Head(require_seq(seq, 0), require_hash(value))


def _pair(value: Any) -> list[Any]:
    fields = _list(value, 2)
    if len(fields) != 2:
        raise Malformed("a point is a number and a hash")
    return fields


def _kind(value: Any) -> int:
    if type(value) is not int or value not in SETS:
        raise Malformed("an unknown set")
    return value


def _integer(value: Any, below: int) -> int:
    if type(value) is not int or not 0 <= value < below:
        raise Malformed("a number is out of range")
    return value


def _flag(value: Any) -> bool:
    if type(value) is not bool:
        raise Malformed("a flag is true or false")
    return value


def _bytes(value: Any, least: int, most: int) -> bytes:
    if type(value) is not bytes or not least <= len(value) <= most:
        raise Malformed("a byte string has the wrong length")
    return value


def _list(value: Any, most: int) -> list[Any]:
    if type(value) is not list or len(value) > most:
        raise Malformed("an array is too long")
    return value
