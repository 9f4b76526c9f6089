"""What gossip needs to know of a notebook, and what it asks of one. Types only: no storage here.

Two notebooks stand behind this seam: the sidecar's SQLite store, and the simulator's in memory.
"""

from collections.abc import Collection, Mapping, Sequence
from enum import Enum
from typing import NamedTuple, Protocol

from mesh.core.ids import Feed
from mesh.core.version_vector import Head


class FeedState(NamedTuple):
    """A feed as a notebook has it: what counts, and all that is held, which may be more."""

    feed: Feed
    accepted: Head
    held: Head


class Parcel(NamedTuple):
    """A range as it travels, with what it is: operations `first` to `last` of a feed."""

    feed: Feed
    first: int
    last: int
    data: bytes


class Roster(NamedTuple):
    """Who belongs, by the statements."""

    names: Mapping[bytes, str]
    revoked: frozenset[bytes] = frozenset()

    def knows(self, node: bytes) -> bool:
        """Whether a node is or was a member."""
        return node in self.names or node in self.revoked

    def allows(self, node: bytes) -> bool:
        """Whether a node may have links with us."""
        return node in self.names and node not in self.revoked


class Changes(NamedTuple):
    """What became different in a notebook. Everything it has, when it is opened."""

    feeds: Sequence[FeedState] = ()
    statements: Sequence[tuple[bytes, bytes]] = ()  # id and encoding of those that joined the set
    gone: Sequence[bytes] = ()  # ids of statements that others made needless
    roster: Roster | None = None  # where it changed
    fresh: Sequence[
        Parcel
    ] = ()  # small new operations that no link has brought: to be pushed; large ones are announced


class MergeVerdict(Enum):
    """What became of a range or statement that a peer sent."""

    NEW = "new"
    KNOWN = "known"
    GAP = "gap"
    WAITS = "waits"
    CLIPPED = "clipped"
    FORKED = "forked"
    FULL = "full"  # authentic, but there is no room to keep it waiting
    REFUSED = "refused"  # the only one that counts against the sender


class Merge(NamedTuple):
    """What became of one merge, item by item, and what it changed."""

    statements: Sequence[MergeVerdict]
    ranges: Sequence[MergeVerdict]
    changes: Changes
    reasons: Sequence[str] = ()  # of what was refused
    full: Collection[Feed] = ()  # the feeds of which there is no room to keep more


class Chunk(NamedTuple):
    """Ranges of one feed that follow a head, as far as the room reached; `end` is where they end."""

    feed: Feed
    end: Head
    more: bool  # there are further ones
    ranges: Sequence[bytes]
    points: Sequence[Head] = ()  # only where the head asked for is not on our chain: heads that are, latest first
    erases: Sequence[bytes] = ()  # that explain bodies missing in the ranges, and that no comparison would bring


class Replica(Protocol):
    """A notebook, as gossip uses it. Called from one thread at a time, never from the event loop."""

    def everything(self) -> Changes:
        """The state as it is; no fresh parcels."""
        ...

    def refresh(self) -> Changes:
        """What others (commands, other threads) have changed since the last call of any method here."""
        ...

    def merge(self, statements: Sequence[bytes], ranges: Sequence[bytes]) -> Merge:
        """Take in what peers sent, statements first; verified, durable enough, folded."""
        ...

    def read(self, wants: Sequence[tuple[Feed, Head]], room: int) -> list[Chunk]:
        """The ranges that follow each head, as many as `room` bytes hold, at least one if there is any."""
        ...

    def read_statements(self, ids: Sequence[bytes], room: int) -> list[bytes]:
        """The statements with these ids, as many as `room` bytes hold."""
        ...

    def common(self, feed: Feed, points: Sequence[Head]) -> Head:
        """The latest of these points that is on our chain, or the beginning of the feed."""
        ...
