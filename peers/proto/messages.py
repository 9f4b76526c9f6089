"""What nodes say to each other. Values only; how they look as bytes is `message_codec`.

Data moves in two ways only: small things are pushed, everything else is pulled by who lacks it.
"""

from collections.abc import Sequence
from typing import NamedTuple

from zstandard import ZstdCompressor, ZstdDecompressor, ZstdError, get_frame_parameters

from mesh.core.errors import Malformed
from mesh.core.feed import decode_feed, require_seq
from mesh.core.ids import Feed
from mesh.core.limits import RANGE_BYTES
from mesh.core.strict_msgpack import pack, unpack
from mesh.core.version_vector import Head
from peers.proto.gossip_config import ANSWER_BYTES
from peers.proto.replica import Parcel

STATEMENTS, FEEDS, CARDS = 1, 2, 3  # the three sets that are kept in step
SETS = (STATEMENTS, FEEDS, CARDS)


class Hello(NamedTuple):
    """The first message of both sides."""

    mesh: bytes
    node: bytes
    contact: bytes  # our own contact card
    passing: bool  # a link for one comparison only


class Ping(NamedTuple):
    """A sign of life, and the names of our state: the repair path begins here."""

    nonce: int
    root: bytes
    statements: bytes  # first 8 bytes of the digest of the statements alone
    cards: bytes
    clock_ms: int


class Pong(NamedTuple):
    """The answer to a ping, with the same about us."""

    nonce: int
    root: bytes
    statements: bytes
    cards: bytes
    clock_ms: int


class Push(NamedTuple):
    """Ranges that are new, whole."""

    ranges: Sequence[bytes]


class Give(NamedTuple):
    """Statements or cards, whole: new ones, or those that were asked for."""

    kind: int
    items: Sequence[bytes]


class FeedEntry(NamedTuple):
    """What a node has of a feed: the head that counts, and the one it holds if that is another."""

    feed: Feed
    accepted: Head
    held: Head


class CardEntry(NamedTuple):
    """Which card a node has: kind, subject, its time, and the first bytes of its hash: two may be of one time."""

    kind: int
    subject: bytes
    at: int
    digest: bytes


Entry = bytes | FeedEntry | CardEntry


class Have(NamedTuple):
    """Entries of a set. It is complete for the buckets in `covers` (None: all); with none it is an announcement."""

    kind: int
    covers: bytes | None
    answer: bool  # the same about you, please
    entries: Sequence[Entry]


class Compare(NamedTuple):
    """The digests of all 256 buckets of a set, eight bytes each."""

    kind: int
    digests: bytes


class Pull(NamedTuple):
    """Send what follows these heads. `pull` names the answer."""

    pull: int
    room: int
    wants: Sequence[tuple[Feed, Head]]


class Ending(NamedTuple):
    """How far an answer reaches in one feed. With points: the head asked for is unknown here, these are known."""

    feed: Feed
    end: Head
    more: bool
    points: Sequence[Head]


class Ranges(NamedTuple):
    """The answer to a pull: ranges, packed and compressed as `parcels` does."""

    pull: int
    endings: Sequence[Ending]
    blob: bytes


class Fetch(NamedTuple):
    """Send these statements (by id) or cards (by kind and subject)."""

    kind: int
    keys: Sequence[bytes]


class Busy(NamedTuple):
    """Push nothing and ask nothing for a while. For a pull that is not answered, its number; else 0."""

    milliseconds: int
    pull: int


class Rumour(NamedTuple):
    """A node is thought dead by someone; `at` is the time of the contact they know. A newer contact refutes it."""

    node: bytes
    at: int


class Bye(NamedTuple):
    """Why a link is being closed."""

    reason: str


Message = Hello | Ping | Pong | Push | Give | Have | Compare | Pull | Ranges | Fetch | Busy | Rumour | Bye


_LEVEL = 3  # zstd's own default: 5 would save 3 % of the bytes for twice the time
_BLOB_BYTES = ANSWER_BYTES + RANGE_BYTES


def peek(data: bytes) -> Parcel:
    """What a range says it is."""
    value = unpack(data)
    if type(value) is not list or len(value) != 5 or type(value[4]) is not list or not value[4] or len(value[4]) % 3:
        raise Malformed("a range has five fields, the last of operations")
    first = require_seq(value[1])
    return Parcel(decode_feed(value[0]), first, first + len(value[4]) // 3 - 1, data)


def pack_ranges(ranges: Sequence[bytes]) -> bytes:
    """Many ranges in one blob; nothing for none."""
    return ZstdCompressor(_LEVEL).compress(pack(list(ranges))) if ranges else b""


def unpack_ranges(blob: bytes) -> list[bytes]:
    """The ranges in a blob, or Malformed."""
    if not blob:
        return []
    try:
        # A frame that says its size is believed by the library, whatever limit it is given: so look first.
        size = get_frame_parameters(blob).content_size
        if size > _BLOB_BYTES:
            raise Malformed(f"a blob would unpack to {size} bytes")
        raw = ZstdDecompressor().decompress(blob, max_output_size=_BLOB_BYTES, allow_extra_data=False)
    except ZstdError as error:
        raise Malformed("a blob is not zstd") from error
    value = unpack(raw)
    if type(value) is not list or not all(type(item) is bytes and 0 < len(item) <= RANGE_BYTES for item in value):
        raise Malformed("a blob holds ranges")
    return value
