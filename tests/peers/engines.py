"""One engine and its notebook in memory, driven event by event: what comes out is kept, and can be asked for.

Time stands still until a test moves it. The other sides of its links are the test itself. No test lives here.
"""

import random
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import TypeVar

from mesh.core.identity import Identity
from mesh.core.operation import Add
from mesh.core.trust import Founders
from mesh.core.version_vector import Head
from peers.proto.cards import Card, Contact, write_contact
from peers.proto.engine import Engine
from peers.proto.engine_events import (
    Close,
    CommonFound,
    Dial,
    Effect,
    Event,
    FindCommon,
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
from peers.proto.gossip_config import Config
from peers.proto.message_codec import decode, encode
from peers.proto.messages import (
    FEEDS,
    Ending,
    FeedEntry,
    Have,
    Hello,
    Message,
    Pull,
    Ranges,
    pack_ranges,
    unpack_ranges,
)
from peers.proto.replica import MergeVerdict
from peers.simulate.memory_notebook import MemoryNotebook
from peers.simulate.verification_cache import VerificationCache
from tests.worlds import NOW_MS, Chain, Clan

CLAN = Clan(3)
OWN = 0  # the number of the node whose engine is tested
MEMBERS = 40
_STEPS = 10_000  # timers that may run while a test moves the clock: more is a loop
_VERIFIED = VerificationCache(CLAN.mesh, Founders(CLAN.root.public, CLAN.recovery.public))
_CERTIFICATES = [CLAN.member(CLAN.node(index), f"node{index}").encode() for index in range(MEMBERS)]

M = TypeVar("M", bound=Message)
F = TypeVar("F", bound=Effect)
Question = MergeThis | ReadThis | ReadStatements | FindCommon


@cache
def node(index: int) -> bytes:
    """The id of one of the forty members; those with a greater number have no certificate."""
    return CLAN.node(index).public


def contact_of(index: int, at: int = 1, addresses: Sequence[str] | None = None, **flags: bool) -> Card:
    """The contact of a node, as it would sign it."""
    who = CLAN.node(index)
    places = (f"host{index}:1",) if addresses is None else tuple(addresses)
    return write_contact(CLAN.mesh, Contact(who.public, at, places, "", **flags), who.sign)


def chain_of(index: int, length: int, epoch: int = 7, *, ahead_ms: int = 0) -> Chain:
    """A feed of a node, signed by hand."""
    chain = Chain(CLAN, CLAN.node(index), epoch)
    for number in range(length):
        stamp = chain.next_hlc() + (ahead_ms << 16 if not number else 0)
        chain.add(Add(stamp, "facts", {"text": f"node {index} says {number}"}), stamp)
    return chain


class Desk:
    """An engine, its notebook, and everything the engine wanted done."""

    def __init__(
        self,
        *,
        config: Config | None = None,
        addresses: tuple[str, ...] = ("host0:1",),
        cards: Iterable[Card] = (),
        identity: Identity | None = None,
        members: int = MEMBERS,
        draw: int = 1,
    ) -> None:
        """`draw`: the seed of the engine's randomness."""
        self.identity = identity or CLAN.node(OWN)
        self.now = 0.0
        self.clock_ms = NOW_MS
        self.answers = True  # questions to the notebook are answered at once; else they stay in `questions`
        self.questions: list[Question] = []
        self.effects: list[Effect] = []
        self.verdicts: list[MergeVerdict] = []
        self.notebook = MemoryNotebook(_VERIFIED, self.identity, random.Random(2), lambda: self.clock_ms)
        self.notebook.merge(_CERTIFICATES[:members], [])
        self.engine = Engine(
            CLAN.mesh,
            self.identity.public,
            self.notebook.everything(),
            cards,
            sign=self.identity.sign,
            random=random.Random(draw),
            wall_ms=lambda now: NOW_MS + int(now * 1000),
            now=0.0,
            config=config,
            addresses=addresses,
        )

    # Events

    def handle(self, event: Event) -> list[Effect]:
        """Give the engine an event; returns what came of it, what came of its questions included."""
        before = len(self.effects)
        self._handle(event)
        return self.effects[before:]

    def receive(self, link: int, *messages: Message) -> list[Effect]:
        """Messages come in over a link."""
        return [effect for message in messages for effect in self.handle(Received(link, encode(message)))]

    def link(self, number: int, index: int, *, dialed: bool = False, passing: bool = False) -> list[Effect]:
        """A link with a member is up and both sides have greeted."""
        came = self.handle(LinkUp(number, node(index), dialed, f"host{index}:1"))
        return came + self.receive(number, Hello(CLAN.mesh, node(index), contact_of(index).data, passing))

    def write(self, *texts: str) -> None:
        """Write records here, as a command would."""
        self.notebook.write([{"text": text} for text in texts])
        self.handle(NotebookChanged(self.notebook.refresh()))

    def learn(self, *statements: bytes) -> None:
        """Statements made here, as a command would."""
        self.handle(NotebookChanged(self.notebook.merge(statements, ()).changes))

    def hold(self, *chains: Chain) -> None:
        """Chains that the notebook has from the beginning of the test."""
        for chain in chains:
            merge = self.notebook.merge((), [chain.encoded()])
            self.handle(NotebookChanged(merge.changes._replace(fresh=())))

    def wait(self, seconds: float) -> list[Effect]:
        """Time passes, timer by timer."""
        before, until = len(self.effects), self.now + seconds
        for _ in range(_STEPS):
            self.now = min(until, max(self.now, self.engine.wake_at))
            self._handle(Tick())
            if self.now >= until and self.engine.wake_at > until:
                return self.effects[before:]
        raise AssertionError("timers that never end")

    def answer(self) -> None:
        """Answer what the notebook was asked."""
        while self.questions:
            self._answer(self.questions.pop(0))

    # What came out

    def sent(self, link: int, kind: type[M]) -> list[M]:
        """The messages of a kind that were sent over a link, oldest first."""
        return list(_messages(self.effects, link, kind))

    def all_of(self, kind: type[F]) -> list[F]:
        """Every effect of a kind."""
        return [effect for effect in self.effects if isinstance(effect, kind)]

    def closed(self, link: int) -> str | None:
        """Why the engine closed a link, if it did."""
        return next((effect.reason for effect in self.all_of(Close) if effect.link == link), None)

    def noticed(self, what: str) -> int:
        """How often the engine told of something."""
        return sum(effect.what == what for effect in self.all_of(Observe))

    def dialed(self) -> list[bytes]:
        """Whom the engine wanted to reach, in order."""
        return [effect.node for effect in self.all_of(Dial)]

    def forget(self) -> None:
        """Look only at what comes from now on."""
        self.effects.clear()
        self.verdicts.clear()

    def _handle(self, event: Event) -> None:
        effects = self.engine.handle(event, self.now)
        self.effects += effects
        questions = [item for item in effects if isinstance(item, MergeThis | ReadThis | ReadStatements | FindCommon)]
        if not self.answers:
            self.questions += questions
            return
        for item in questions:
            self._answer(item)

    def _answer(self, item: Question) -> None:
        match item:
            case MergeThis():
                ranges = unpack_ranges(item.blob) if item.blob else item.ranges
                result = self.notebook.merge(item.statements, ranges)
                self.verdicts += [*result.statements, *result.ranges]
                self._handle(MergeDone(item.job, result))
            case ReadThis():
                chunks = self.notebook.read(item.wants, item.room)
                blob = pack_ranges([data for chunk in chunks for data in chunk.ranges])
                self._handle(ReadDone(item.job, chunks, blob))
            case ReadStatements():
                self._handle(StatementsRead(item.job, self.notebook.read_statements(item.ids, item.room)))
            case FindCommon():
                self._handle(CommonFound(item.job, self.notebook.common(item.feed, item.points)))


def _messages(effects: Iterable[Effect], link: int, kind: type[M]) -> Iterator[M]:
    for effect in effects:
        if isinstance(effect, Send) and effect.link == link:
            message = decode(effect.frame)
            if isinstance(message, kind):
                yield message


class Library:
    """What a neighbour has, and how an honest one answers."""

    def __init__(self, *chains: Chain) -> None:
        self.chains = list(chains)
        self.notebook = MemoryNotebook(_VERIFIED, CLAN.node(MEMBERS - 1), random.Random(3), lambda: NOW_MS)
        self.notebook.merge(_CERTIFICATES, [])
        for chain in chains:
            self.notebook.merge((), [chain.encoded()])

    def have(self) -> Have:
        """All its feeds, in one message."""
        heads = [(chain.feed, Head(len(chain.links), chain.head)) for chain in self.chains]
        return Have(FEEDS, None, answer=False, entries=[FeedEntry(feed, head, head) for feed, head in heads])

    def answer(self, pull: Pull) -> Ranges:
        """What was asked for."""
        chunks = self.notebook.read(pull.wants, pull.room)
        endings = [Ending(chunk.feed, chunk.end, chunk.more, chunk.points) for chunk in chunks]
        return Ranges(pull.pull, endings, pack_ranges([data for chunk in chunks for data in chunk.ranges]))


class Wires:
    """Links between two desks: what one sends, the other receives, once somebody says `carry`."""

    def __init__(self, one: Desk, other: Desk, links: Sequence[tuple[int, int]]) -> None:
        """`links`: the number of each on both sides."""
        self._desks = (one, other)
        self._links = (dict(links), {b: a for a, b in links})
        self._read = [0, 0]

    def carry(self) -> None:
        """Until nobody has more to say."""
        for _ in range(_STEPS):
            if not self._step(0) + self._step(1):
                return
        raise AssertionError("they never stop talking")

    def _step(self, side: int) -> int:
        desk, partner, links = self._desks[side], self._desks[1 - side], self._links[side]
        fresh = [effect for effect in desk.effects[self._read[side] :] if isinstance(effect, Send | Close)]
        self._read[side] = len(desk.effects)
        for effect in fresh:
            if effect.link in links:
                there = links[effect.link]
                came = Received(there, effect.frame) if isinstance(effect, Send) else LinkDown(there, effect.reason)
                partner.handle(came)
        return len(fresh)
