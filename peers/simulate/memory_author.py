"""Writing to one's own feed in memory: epochs, stamps, progress, and writing again what a fork cut off.

As `mesh.store.author` does it, for records and settings only. Only this module signs operations.
"""

from collections.abc import Iterator, Sequence
from random import Random
from typing import Any, NamedTuple

from mesh.core import clock
from mesh.core.feed import Link, batches, chain, encode_range, sign_range
from mesh.core.identity import Identity, new_epoch
from mesh.core.ids import Feed, digest, tag_of
from mesh.core.limits import SALT_BYTES
from mesh.core.moderation import SETTINGS
from mesh.core.operation import ADD, SET, Add, Set, encode, parse
from mesh.core.statement import Fork
from peers.proto.replica import Parcel
from peers.simulate.memory_feed import MemoryFeed
from peers.simulate.notebook_state import NotebookState

LOG = "notes"


class MemoryProgress(NamedTuple):
    """How far this node's own feed had come: kept outside its home, so that no backup brings it back."""

    epoch: int
    seq: int


class _Lost(NamedTuple):
    """A body of ours behind a fork. `at`: when it was first written."""

    kind: int
    body: bytes
    at: int


class MemoryAuthor:
    """The one who may extend a node's feeds."""

    def __init__(self, state: NotebookState, identity: Identity, random: Random) -> None:
        self._state = state
        self._identity = identity
        self._random = random
        self.epoch: int | None = None
        self.own_seq = 0
        self.progress: MemoryProgress | None = None

    def write(self, records: Sequence[dict[str, Any]]) -> list[bytes]:
        """Write records as one batch; their tags are the receipt. Nothing is written by a node that was revoked."""
        if self._identity.public in self._state.trust.revoked:
            return []
        feed, stamp = self._own_feed(), self._last_stamp()
        now = self._state.clock()
        links = []
        for record in records:
            stamp = clock.tick(stamp, now)
            body = encode(Add(stamp, LOG, record), self._random.randbytes(SALT_BYTES))
            links.append(Link(stamp, ADD, body, digest(body)))
        self._append(feed, links)
        return [tag_of(feed.node, link.body_hash) for link in links]

    def change_setting(self, field: str, value: Any) -> bytes:
        """Write one change of a setting; its tag is the receipt."""
        feed, stamp = self._own_feed(), clock.tick(self._last_stamp(), self._state.clock())
        body = encode(Set(stamp, SETTINGS, field, value), self._random.randbytes(SALT_BYTES))
        link = Link(stamp, SET, body, digest(body))
        self._append(feed, [link])
        return tag_of(feed.node, link.body_hash)

    def pay_republication(self) -> None:
        """Write again, in a new epoch, what a fork of our own feed took out of both its branches."""
        state = self._state
        if not state.owes_republication or self._identity.public in state.trust.revoked:
            return
        lost = self._lost()
        # What a copy with a fast clock wrote keeps its time, so it can stand in no operation before that time comes.
        due = [item for item in lost if item.at <= clock.horizon(state.clock())]
        if due:
            feed, stamp, links = self._own_feed(), self._last_stamp(), []
            for item in due:
                stamp = clock.tick(max(stamp, item.at - 1), state.clock())
                links.append(Link(stamp, item.kind, item.body, digest(item.body)))
            self._append(feed, links)
        state.owes_republication = len(due) < len(lost)

    def _append(self, feed: Feed, links: list[Link]) -> None:
        state, held = self._state, self._state.chain(feed)
        for batch in batches(links):
            signed = sign_range(state.verified.mesh, self._identity, feed, held.held + 1, held.hashes[-1], batch)
            held.extend(signed, lambda link: state.is_erased(feed, link))
            state.settle(held)
            state.fresh.append(Parcel(feed, signed.first, signed.last, encode_range(signed)))
        self.own_seq = held.held
        self.progress = MemoryProgress(feed.epoch, self.own_seq)

    def _own_feed(self) -> Feed:
        """The feed to go on in, or a new one if part of the old may have been lost."""
        if self.epoch is not None:
            feed = Feed(self._identity.public, self.epoch)
            if not self._doubt(self._state.chain(feed)):
                return feed
        self.epoch = new_epoch(self._random.randbytes(32))
        self.own_seq = 0
        return Feed(self._identity.public, self.epoch)

    def _doubt(self, own: MemoryFeed) -> bool:
        progress = self.progress
        return (
            progress is None
            or progress.epoch != own.feed.epoch
            or progress.seq > own.held
            or own.held != self.own_seq  # another copy of us has written too
            or bool(own.strays)
            or own.feed in self._state.trust.forks
        )

    def _last_stamp(self) -> int:
        chains = self._state.chains.values()
        return max(
            (item.hlc_at(item.held if item.feed.node == self._identity.public else item.accepted) for item in chains),
            default=0,
        )

    def _lost(self) -> list[_Lost]:
        """Everything of ours behind a fork that counts nowhere yet."""
        node, state = self._identity.public, self._state
        found: dict[bytes, _Lost] = {}
        for feed, fork in state.trust.forks.items():
            own = state.chains.get(feed)
            if feed.node == node and own is not None:
                for link in _behind(own, fork):
                    if link.body is not None:
                        parsed = parse(link.kind, link.hlc, link.body)
                        at = parsed.at if isinstance(parsed, Add | Set) else 0
                        found[tag_of(node, link.body_hash)] = _Lost(link.kind, link.body, at)
        counting = {
            tag_of(node, link.body_hash)
            for own in state.chains.values()
            if own.feed.node == node
            for link in own.links[: own.accepted]
        }
        return [item for tag, item in found.items() if tag not in counting]


def _behind(own: MemoryFeed, fork: Fork) -> Iterator[Link]:
    """The operations of both branches, in the order of their numbers."""
    steps: dict[bytes, tuple[int, Link]] = {}
    if own.hashes[min(fork.first - 1, own.held)] == fork.prev:
        for seq in range(fork.first, own.held + 1):
            steps[own.hashes[seq]] = (seq, own.links[seq - 1])
    for stray in own.strays:
        links = stray.item.links
        for offset, (link, after) in enumerate(zip(links, chain(stray.item.prev, links), strict=True)):
            steps.setdefault(after, (stray.item.first + offset, link))
    for after in sorted(steps, key=lambda after: (steps[after][0], after)):
        seq, link = steps[after]
        if seq >= fork.first:
            yield link
