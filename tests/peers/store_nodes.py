"""Nodes with real stores and real engines in one process, under virtual time, and a member without an engine that says what it likes.

Every frame is encoded and decoded, everything merged is on disk; only the network and the clock are made up. No test lives here.
"""

import random
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from mesh.core.draft import Draft, NewRecord
from mesh.core.identity import Identity
from mesh.core.ids import Feed, first_prev
from mesh.core.statement import MEMBER, Revoke, sign
from mesh.core.version_vector import Head
from mesh.node.store_replica import StoreReplica
from mesh.store.reader import Reader
from peers.proto.cards import Card, Contact, write_contact
from peers.proto.engine import Engine
from peers.proto.engine_events import (
    Close,
    CommonFound,
    Correct,
    Dial,
    DialFailure,
    Effect,
    Event,
    FindCommon,
    Flushed,
    KeepCard,
    LinkDown,
    LinkUp,
    MergeDone,
    MergeThis,
    NotebookChanged,
    Observe,
    ReadDone,
    ReadStatements,
    ReadThis,
    Received,
    Send,
    StatementsRead,
    Tick,
)
from peers.proto.message_codec import decode, encode
from peers.proto.messages import Bye, Ending, Hello, Message, Ping, Pong, Pull, Ranges, pack_ranges, unpack_ranges
from peers.proto.replica import Changes, Merge
from tests.worlds import NOW_MS, Clan, open_author

CLAN = Clan(6)
BEFORE_MS = NOW_MS - 1000  # when everyone was certified: what may be added in a day is what may be added at all
_DELAY_SECONDS = 0.001
_STEP_SECONDS = 0.05


class StoreNode:
    """One honest node: a home's database, the library over it, an engine."""

    def __init__(self, network: "Network", folder: Path, index: int, stack: ExitStack) -> None:
        self.identity = CLAN.node(index)
        self.network = network
        self.author = stack.enter_context(open_author(folder, CLAN, self.identity))
        self.store = self.author.store
        self.store.clock = network.clock
        self.library = StoreReplica(self.author)
        self.observed: list[Observe] = []
        self.ends: dict[int, Party] = {}  # by link, who is at the other end
        self.engine: Engine | None = None
        self._merging: list[MergeThis] = []

    @property
    def public(self) -> bytes:
        """Its id."""
        return self.identity.public

    def start(self, cards: Sequence[Card]) -> None:
        """Begin to gossip."""
        network = self.network
        self.engine = Engine(
            CLAN.mesh,
            self.public,
            self.library.everything(),
            cards,
            sign=self.identity.sign,
            random=random.Random(self.public),
            wall_ms=lambda now: NOW_MS + int(now * 1000),
            now=network.now,
            addresses=("here:1",),
        )
        self.handle(Tick())

    def handle(self, event: Event) -> None:
        """Give the engine an event and do what it answers."""
        assert self.engine is not None
        for effect in self.engine.handle(event, self.network.now):
            self._perform(effect)

    def write(self, text: str) -> None:
        """Write a record, as a command beside the sidecar would."""
        self.append(NewRecord("notes", {"text": text}))

    def append(self, *drafts: Draft) -> None:
        """Write anything."""
        self.author.append(drafts)
        self.tell(self.library.refresh_own())

    def learn(self, *statements: bytes) -> None:
        """Statements made here, as a command beside the sidecar would."""
        self.author.merge_statements(statements)
        self.tell(self.library.refresh())

    def tell(self, changes: Changes) -> None:
        """The notebook has changed."""
        self.network.later(lambda: self.handle(NotebookChanged(changes)))

    def texts(self) -> set[str]:
        """Every live record, from the database."""
        return {str(entry.record.get("text")) for entry in Reader(self.store.database.connection).tail(2**31)}

    def count(self, query: str, *values: object) -> int:
        """One number from the database."""
        return int(self.store.database.run(query, values).get or 0)

    def shunned(self) -> set[bytes]:
        """Whom the engine would have nothing to do with."""
        return {item.node for item in self.observed if item.what == "shunned"}

    # The other side of a link

    def link_up(self, link: int, other: "Party", *, dialed: bool) -> None:
        """See Party."""
        self.ends[link] = other
        self.handle(LinkUp(link, other.public, dialed, "there:1" if dialed else ""))

    def link_down(self, link: int, reason: str) -> None:
        """See Party."""
        if self.ends.pop(link, None) is not None:
            self.handle(LinkDown(link, reason))

    def receive(self, link: int, frame: bytes) -> None:
        """See Party."""
        if link in self.ends:
            self.handle(Received(link, frame))

    def _merge(self) -> None:
        """Everything that came meanwhile, in one commit, as a sidecar does; one answer each."""
        jobs, self._merging = self._merging, []
        ranges = [unpack_ranges(job.blob) if job.blob else list(job.ranges) for job in jobs]
        statements = [data for job in jobs for data in job.statements]
        result = self.library.merge(statements, [data for part in ranges for data in part])
        said, came, changes = iter(result.statements), iter(result.ranges), result.changes
        for job, part in zip(jobs, ranges, strict=True):
            verdicts = [next(said) for _ in job.statements], [next(came) for _ in part]
            self.handle(MergeDone(job.job, Merge(*verdicts, changes, result.reasons, result.full)))
            changes = Changes()

    def _perform(self, effect: Effect) -> None:
        later, library = self.network.later, self.library
        match effect:
            case Send(link=link, frame=frame):
                party = self.ends.get(link)
                if party is not None:
                    receive = party.receive
                    later(lambda: receive(link, frame))
                    later(lambda: self.handle(Flushed(link, len(frame))))
            case Close(link=link, reason=reason):
                other = self.ends.pop(link, None)
                self.network.closed.append((self.public, b"" if other is None else other.public, reason))
                if other is not None:
                    later(lambda: other.link_down(link, reason))
            case Dial(node=node):
                target = self.network.find(node)
                if target is None:
                    later(lambda: self.handle(DialFailure(node, "nobody there")))
                else:
                    later(lambda: self.network.connect(self, target))
            case MergeThis():
                if not self._merging:
                    later(self._merge)
                self._merging.append(effect)
            case ReadThis(job=job, wants=wants, room=room):
                chunks = library.read(wants, room)
                packed = pack_ranges([data for chunk in chunks for data in chunk.ranges])
                later(lambda: self.handle(ReadDone(job, chunks, packed)))
            case ReadStatements(job=job, ids=ids, room=room):
                found = library.read_statements(ids, room)
                later(lambda: self.handle(StatementsRead(job, found)))
            case FindCommon(job=job, feed=feed, points=points):
                head = library.common(feed, points)
                later(lambda: self.handle(CommonFound(job, head)))
            case Observe():
                self.observed.append(effect)
            case KeepCard() | Correct():
                pass


class Intruder:
    """A certified member without an engine. It greets, answers pings, serves what it put into `served`; the test says the rest."""

    def __init__(self, network: "Network", index: int, role: str = MEMBER) -> None:
        self.identity = CLAN.node(index)
        self.role = role
        self.served: dict[
            Feed, Callable[[int, int], list[bytes]]
        ] = {}  # the ranges behind an operation, for so many bytes
        self.heard: list[Message] = []
        self.network = network
        self._links: dict[int, StoreNode] = {}

    @property
    def public(self) -> bytes:
        """Its id."""
        return self.identity.public

    @property
    def is_linked(self) -> bool:
        """Whether anyone still listens."""
        return bool(self._links)

    def dial(self, target: StoreNode) -> None:
        """Link with a node, and greet."""
        self.network.connect(self, target)

    def say(self, *frames: bytes, to: StoreNode | None = None) -> None:
        """To one node, or to everyone it has a link with. Without any it tries to get one with each in turn."""
        if not self._links:
            nodes = self.network.nodes
            self.dial(nodes[int(self.network.now) % len(nodes)])
        for link, node in self._links.items():
            for frame in frames if to in (None, node) else ():
                self.network.later(lambda link=link, node=node, frame=frame: node.receive(link, frame))  # type: ignore[misc]

    def link_up(self, link: int, other: "Party", *, dialed: bool) -> None:
        """See Party."""
        assert isinstance(other, StoreNode)
        assert dialed
        self._links[link] = other
        card = write_contact(CLAN.mesh, Contact(self.public, 1, (), ""), self.identity.sign)
        self._answer(link, Hello(CLAN.mesh, self.public, card.data, passing=False))

    def link_down(self, link: int, reason: str) -> None:
        """See Party."""
        self._links.pop(link, None)

    def receive(self, link: int, frame: bytes) -> None:
        """See Party."""
        message = decode(frame)
        if isinstance(message, Ping):
            self._answer(link, Pong(message.nonce, bytes(32), bytes(8), bytes(8), self.network.clock()))
        elif isinstance(message, Pull):
            self._answer(link, self._serve(message))
        elif isinstance(message, Bye):
            self.heard.append(message)

    def _serve(self, message: Pull) -> Ranges:
        endings, blobs = [], []
        for feed, after in message.wants:
            found = self.served[feed](after.seq, message.room) if feed in self.served else []
            blobs += found
            end = Head(after.seq + len(found), bytes(32)) if found else Head(0, first_prev(CLAN.mesh, feed))
            endings.append(Ending(feed, end, False, []))
        return Ranges(message.pull, endings, pack_ranges(blobs))

    def _answer(self, link: int, message: Message) -> None:
        node = self._links.get(link)
        if node is not None:
            self.network.later(lambda: node.receive(link, encode(message)))


Party = StoreNode | Intruder


class Network:
    """Everyone, and the time."""

    def __init__(self) -> None:
        self.now = 0.0
        self.nodes: list[StoreNode] = []
        self.closed: list[tuple[bytes, bytes, str]] = []  # links that an honest node has closed: who, with whom, why
        self.settings = 0  # of the mesh, as many as its admins have set
        self._queue: deque[Callable[[], None]] = deque()
        self._number = 0

    def clock(self) -> int:
        """The wall clock of everyone."""
        return NOW_MS + int(self.now * 1000)

    def find(self, node: bytes) -> StoreNode | None:
        """Whoever listens under this id."""
        return next((item for item in self.nodes if item.public == node), None)

    def later(self, action: Callable[[], None]) -> None:
        """In this moment, after what is under way."""
        self._queue.append(action)

    def connect(self, source: Party, target: StoreNode) -> None:
        """A link between two."""
        self._number += 1
        number = self._number
        target.ends[number] = source
        source.link_up(number, target, dialed=True)
        target.link_up(number, source, dialed=False)

    def run(self, seconds: float) -> None:
        """Time passes, and everything that is under way arrives."""
        until = self.now + seconds
        while True:
            while self._queue:
                self._queue.popleft()()
            if self.now >= until:
                return
            due = min((node.engine.wake_at for node in self.nodes if node.engine), default=until)
            self.now = min(until, max(self.now + _DELAY_SECONDS, due))
            for node in self.nodes:
                if node.engine is not None and node.engine.wake_at <= self.now:
                    node.handle(Tick())

    def run_until(self, holds: Callable[[], bool], seconds: float = 120.0) -> bool:
        """Let time pass until something holds; whether it came to hold."""
        until = self.now + seconds
        while not holds():
            if self.now >= until:
                return False
            self.run(_STEP_SECONDS)
        return True

    def agree(self) -> bool:
        """Whether all honest nodes have one root, on disk and in their engines."""
        roots = {node.store.root() for node in self.nodes}
        return len(roots) == 1 and {node.engine.root for node in self.nodes if node.engine} == roots

    def revocation(self, node: bytes, by: StoreNode) -> bytes:
        """The statement with which the root key ends a member where one node sees its feeds, as `mesh revoke` signs it."""
        rows = by.store.feeds.of_node(node)
        heads = sorted((row.feed.epoch, row.accepted.seq, row.accepted.hash) for row in rows if row.accepted.seq)
        fact = Revoke(CLAN.root.public, self.clock(), node, tuple(heads), (), "it took too much")
        return sign(CLAN.mesh, CLAN.root, fact).encode()


@contextmanager
def mesh_with_intruder(folder: Path, count: int = 3, *, role: str = MEMBER) -> Iterator[tuple[Network, Intruder]]:
    """So many honest nodes, linked and in step, and a member that has a link with the first."""
    with ExitStack() as stack:
        network = Network()
        for index in range(count):
            network.nodes.append(StoreNode(network, folder / str(index), index, stack))
        intruder = Intruder(network, count, role)
        certificates = [CLAN.member(node.identity, f"node{n}", at=BEFORE_MS) for n, node in enumerate(network.nodes)]
        certificates.append(CLAN.member(intruder.identity, "intruder", role, at=BEFORE_MS))
        cards = [_card(node.identity) for node in network.nodes]
        for node in network.nodes:
            node.store.merge_statements([item.encode() for item in certificates])
            node.start(cards)
        assert network.run_until(lambda: network.agree() and all(len(node.ends) >= count - 1 for node in network.nodes))
        intruder.dial(network.nodes[0])
        network.run(1.0)
        network.closed.clear()
        for node in network.nodes:
            node.observed.clear()
        yield network, intruder


def _card(identity: Identity) -> Card:
    return write_contact(CLAN.mesh, Contact(identity.public, 1, ("here:1",), ""), identity.sign)
