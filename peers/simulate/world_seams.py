"""What all nodes of a simulated world share, and the seams through which others look on or interfere. Types only."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from mesh.core.ids import Feed
from peers.proto.config import Config
from peers.proto.events import Send
from peers.proto.replica import Changes
from peers.simulate.meter import Meter
from peers.simulate.verified import Verified
from peers.simulate.virtual_time import Schedule
from peers.simulate.wire import Wire

if TYPE_CHECKING:
    from peers.simulate.node import SimNode


class Twist(Protocol):
    """What a hostile node does to what its engine wants to send."""

    def outgoing(self, send: Send) -> Sequence[tuple[bytes, str]]:
        """The frames that leave instead, each with the kind it is counted under."""


class Watcher(Protocol):
    """Whoever looks on after every event."""

    def wrote(self, node: "SimNode", tags: Sequence[bytes]) -> None:
        """A write was acknowledged."""

    def signed(self, feed: Feed, seq: int, head: bytes) -> None:
        """An honest author has signed a chain up to here."""

    def handled(self, node: "SimNode") -> None:
        """A node has handled an event."""

    def changed(self, node: "SimNode", changes: Changes) -> None:
        """A node's notebook is another, and its engine has been told."""

    def shunned(self, node: "SimNode", other: bytes, why: str) -> None:
        """A node will have nothing to do with another for a while."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How long things take in a simulated machine."""

    dial_seconds: float = 3.0  # until a dial that nobody answers fails
    merge_seconds: float = 0.001
    read_seconds: float = 0.0005
    flush_seconds: float = 0.1  # how often a link reports what has left


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What all nodes of a world share."""

    schedule: Schedule
    wire: Wire
    meter: Meter
    verified: Verified
    config: Config
    pace: Pace
    find: Callable[[bytes], "SimNode | None"]
    watcher: Watcher
