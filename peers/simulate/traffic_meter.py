"""Counts in a simulated world: bytes by kind of message, copies, and when writes arrived. Judges nothing."""

from collections import Counter
from functools import lru_cache

from mesh.core.errors import RemoteError
from mesh.core.ids import Feed
from peers.proto.message_codec import decode
from peers.proto.messages import Push, peek
from peers.proto.replica import FeedState

PAYLOAD = ("push", "ranges")  # messages that carry operations


class Write:
    """One acknowledged batch on its way to everyone."""

    __slots__ = ("arrivals", "at", "author", "feed", "seq", "size")

    def __init__(self, author: int, feed: Feed, seq: int, at: float, size: int) -> None:
        self.author = author
        self.feed = feed
        self.seq = seq  # of its last operation
        self.at = at
        self.size = size  # bytes of its range
        self.arrivals: dict[int, float] = {author: at}


class Meter:
    """Everything that is counted in a run."""

    def __init__(self) -> None:
        self.sent: Counter[tuple[int, str]] = Counter()
        self.received: Counter[tuple[int, str]] = Counter()
        self.messages: Counter[str] = Counter()
        self.observed: Counter[str] = Counter()
        self.copies = 0  # of pushed ranges that came in
        self.handled = 0
        self.writes: list[Write] = []
        self._pending: dict[Feed, list[Write]] = {}

    def write(self, write: Write) -> None:
        """A write begins to spread."""
        self.writes.append(write)
        self._pending.setdefault(write.feed, []).append(write)

    def send(self, node: int, kind: str, size: int) -> None:
        """A frame leaves a node."""
        self.sent[node, kind] += size
        self.messages[kind] += 1

    def receive(self, node: int, kind: str, frame: bytes) -> None:
        """A frame reaches a node."""
        self.received[node, kind] += len(frame)
        if kind == "push" and self._pending:
            self.copies += _copies(frame)

    def accepted(self, node: int, state: FeedState, now: float) -> None:
        """A feed counts up to here on a node."""
        for write in self._pending.get(state.feed, ()):
            if write.seq <= state.accepted.seq:
                write.arrivals.setdefault(node, now)

    def totals(self) -> tuple[dict[str, int], dict[str, int]]:
        """Bytes sent and received by kind, over all nodes."""
        sent: Counter[str] = Counter()
        received: Counter[str] = Counter()
        for source, target in ((self.sent, sent), (self.received, received)):
            for (_, kind), size in source.items():
                target[kind] += size
        return dict(sorted(sent.items())), dict(sorted(received.items()))

    def forget_traffic(self) -> None:
        """Count bytes and messages from here on."""
        for counter in (self.sent, self.received, self.messages):
            counter.clear()
        self.copies = 0


@lru_cache(256)  # one frame goes to many
def _copies(frame: bytes) -> int:
    """How many ranges a push brings; of bytes that are none, none."""
    try:
        message = decode(frame)
        return sum(peek(data).last > 0 for data in message.ranges) if isinstance(message, Push) else 0
    except RemoteError:
        return 0
