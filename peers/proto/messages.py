"""What nodes say to each other. Values only; how they look as bytes is `codec`.

Data moves in two ways only: small things are pushed, everything else is pulled by who lacks it.
"""

from collections.abc import Sequence
from typing import NamedTuple

from mesh.core.ids import Feed
from mesh.core.vector import Head

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
