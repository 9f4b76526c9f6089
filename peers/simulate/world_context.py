"""What all nodes of a simulated world share, and the interfaces through which observers and hostile nodes take part. Types only."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from mesh.core.ids import Feed
from peers.proto.engine_events import Send
from peers.proto.gossip_config import Config
from peers.proto.replica import Changes
from peers.simulate.network import Network
from peers.simulate.traffic_meter import Meter
from peers.simulate.verification_cache import VerificationCache
from peers.simulate.virtual_time import Schedule

if TYPE_CHECKING:
    from peers.simulate.simulated_node import SimNode


class FrameFilter(Protocol):
    """What a hostile node does to what its engine wants to send."""

    def outgoing(self, send: Send) -> Sequence[tuple[bytes, str]]:
        """The frames that leave instead, each with the kind it is counted under."""


class Watcher(Protocol):
    """An observer that is called after every event."""

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
class StepTimes:
    """How long each step takes on a simulated machine."""

    dial_seconds: float = 3.0  # until a dial that nobody answers fails
    merge_seconds: float = 0.001
    read_seconds: float = 0.0005
    flush_seconds: float = 0.1  # how often a link reports what has left


@dataclass(frozen=True, slots=True)
class WorldContext:
    """What all nodes of a world share."""

    schedule: Schedule
    wire: Network
    meter: Meter
    verified: VerificationCache
    config: Config
    times: StepTimes
    find: Callable[[bytes], "SimNode | None"]
    watcher: Watcher
