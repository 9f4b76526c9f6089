"""Events that go into the engine, and effects that come out. Both sets are closed: who runs an engine handles every effect."""

from collections.abc import Sequence
from typing import NamedTuple

from mesh.core.ids import Feed
from mesh.core.version_vector import Head
from peers.proto.cards import Card
from peers.proto.replica import Changes, Chunk, Merge

# Events


class LinkUp(NamedTuple):
    """A link exists; the transport has authenticated the other side. `link` is a number never used before."""

    link: int
    node: bytes
    dialed: bool
    address: str


class LinkDown(NamedTuple):
    """A link is gone, whoever closed it."""

    link: int
    reason: str


class DialFailure(NamedTuple):
    """A node could not be reached."""

    node: bytes
    reason: str


class Received(NamedTuple):
    """A frame came in, as it is."""

    link: int
    frame: bytes


class Flushed(NamedTuple):
    """So many bytes of those sent over a link have left us."""

    link: int
    size: int


class MergeDone(NamedTuple):
    """The answer to `MergeThis`."""

    job: int
    result: Merge


class ReadDone(NamedTuple):
    """The answer to `ReadThis`: chunks, and their ranges as one blob."""

    job: int
    chunks: Sequence[Chunk]
    blob: bytes


class StatementsRead(NamedTuple):
    """The answer to `ReadStatements`."""

    job: int
    statements: Sequence[bytes]


class CommonFound(NamedTuple):
    """The answer to `FindCommon`."""

    job: int
    head: Head


class NotebookChanged(NamedTuple):
    """Something was written here, by us or by a command beside us."""

    changes: Changes


class CardIssued(NamedTuple):
    """A card was made here: a certificate that we signed."""

    card: Card


class AddressesChanged(NamedTuple):
    """We can be reached at these, from now on."""

    addresses: tuple[str, ...]


class Leaving(NamedTuple):
    """We are about to stop, for good (`left`) or to come back."""

    left: bool


class Woke(NamedTuple):
    """The machine slept: every link is doubtful."""


class Lagged(NamedTuple):
    """Our own event loop was late by so many seconds: silence may be our own fault."""

    seconds: float


class Tick(NamedTuple):
    """Time has passed."""


Event = (
    LinkUp
    | LinkDown
    | DialFailure
    | Received
    | Flushed
    | MergeDone
    | ReadDone
    | StatementsRead
    | CommonFound
    | NotebookChanged
    | CardIssued
    | AddressesChanged
    | Leaving
    | Woke
    | Lagged
    | Tick
)

# Effects


class Send(NamedTuple):
    """Send a frame. `kind` is the name of its message, for who counts bytes."""

    link: int
    frame: bytes
    kind: str


class Close(NamedTuple):
    """Close a link."""

    link: int
    reason: str


class Dial(NamedTuple):
    """Try to reach a node; answered by `LinkUp` or `DialFailure`."""

    node: bytes
    addresses: tuple[str, ...]


class MergeThis(NamedTuple):
    """Take these in; answered by `MergeDone`. `blob`, if not empty, holds the ranges instead."""

    job: int
    statements: Sequence[bytes]
    ranges: Sequence[bytes]
    blob: bytes


class ReadThis(NamedTuple):
    """Read what follows these heads; answered by `ReadDone`."""

    job: int
    wants: Sequence[tuple[Feed, Head]]
    room: int


class ReadStatements(NamedTuple):
    """Read statements; answered by `StatementsRead`."""

    job: int
    ids: Sequence[bytes]
    room: int


class FindCommon(NamedTuple):
    """Find the latest of these points on our chain; answered by `CommonFound`."""

    job: int
    feed: Feed
    points: Sequence[Head]


class KeepCard(NamedTuple):
    """Keep a card for the next start."""

    card: Card


class Correct(NamedTuple):
    """Our clock is off by so many milliseconds, by the median of our peers."""

    offset_ms: int


class Observe(NamedTuple):
    """Something worth counting or logging happened: a name, the node it is about, a number and a few words."""

    what: str
    node: bytes = b""
    amount: int = 1
    detail: str = ""


Effect = Send | Close | Dial | MergeThis | ReadThis | ReadStatements | FindCommon | KeepCard | Correct | Observe
