"""The engine: one entry, events in, effects out. It dispatches; the work is done in its parts.

It keeps no clock, draws no randomness of its own and touches nothing outside: the same events give the same effects.
"""

from collections.abc import Callable, Iterable
from typing import assert_never

from mesh.core.errors import Malformed, RemoteError
from peers.proto.anti_entropy import AntiEntropy
from peers.proto.broadcast import Broadcast
from peers.proto.cards import Card, Contact, ReadCertificate, Sign
from peers.proto.engine_context import EngineContext, RandomSource
from peers.proto.engine_events import (
    AddressesChanged,
    CardIssued,
    CommonFound,
    DialFailure,
    Effect,
    Event,
    Flushed,
    Lagged,
    Leaving,
    LinkDown,
    LinkUp,
    MergeDone,
    NotebookChanged,
    ReadDone,
    Received,
    StatementsRead,
    Tick,
    Woke,
)
from peers.proto.gossip_config import Config
from peers.proto.link_lifecycle import Handshake, Heartbeat
from peers.proto.membership import STOPPING, Membership, PeerView, member_views
from peers.proto.message_codec import UnknownKind, UnknownVersion, decode
from peers.proto.messages import (
    CARDS,
    Busy,
    Bye,
    Compare,
    Fetch,
    Give,
    Have,
    Hello,
    Message,
    Ping,
    Pong,
    Pull,
    Push,
    Ranges,
    Rumour,
)
from peers.proto.neighbour import Neighbour
from peers.proto.neighbour_choice import NeighbourChoice
from peers.proto.notebook_summary import NotebookSummary
from peers.proto.replica import Changes
from peers.proto.transfer import Fetching, Serving

_BEAT_SECONDS = 1.0


class Engine:
    """Gossip of one node."""

    def __init__(
        self,
        mesh: bytes,
        node: bytes,
        notebook: Changes,
        cards: Iterable[Card],
        *,
        sign: Sign,
        random: RandomSource,
        wall_ms: Callable[[float], int],
        now: float,
        config: Config | None = None,
        addresses: tuple[str, ...] = (),
        version: str = "",
        ephemeral: bool = False,
        read_certificate: ReadCertificate | None = None,
    ) -> None:
        """`wall_ms`: our wall clock, uncorrected, at a steady time."""
        self._wall_ms = wall_ms
        context = self._context = EngineContext(
            mesh, node, NotebookSummary(mesh, notebook, cards), config or Config(), random, now
        )
        contact = Contact(node, 0, addresses, version, ephemeral)
        self._membership = Membership(context, contact, sign, read_certificate)
        self._neighbourhood = NeighbourChoice(context, self._membership)
        self._fetching = Fetching(context)
        self._broadcast = Broadcast(context, self._fetching)
        self._repair = AntiEntropy(context, self._fetching)
        self._serving = Serving(context)
        self._pulse = Heartbeat(context, self._membership, self._repair, wall_ms)
        self._greeting = Handshake(context, self._membership, self._neighbourhood, self._repair, self._pulse)
        context.when_lost += [self._fetching.lost, self._serving.lost]
        self._membership.introduce(wall_ms(now))
        self._every(_BEAT_SECONDS, self._beat, first=random.uniform(0.0, 0.2))
        self._repair.note_clipped(notebook.feeds)
        self._every(context.config.ping_seconds, self._repair.recall_own)
        self._every(context.config.renew_seconds, self._neighbourhood.renew)
        self._every(context.config.stray_seconds, self._visit)
        self._every(context.config.contact_seconds, self._announce_self)

    @property
    def wake_at(self) -> float:
        """Call `handle(Tick(), ...)` no later than this."""
        return self._context.wake_at

    @property
    def root(self) -> bytes:
        """The name of our notebook's state."""
        return self._context.summary.root

    @property
    def merging_bytes(self) -> int:
        """How much is being merged: the reader of links should wait while this is large."""
        return self._context.merging_bytes

    @property
    def fetching(self) -> int:
        """How many feeds are being fetched."""
        return len(self._fetching)

    def peers(self) -> list[PeerView]:
        """Every other member, as far as we know."""
        return list(member_views(self._context, self._membership))

    def allows(self, node: bytes) -> bool:
        """Whether a node may have links with us."""
        return self._context.summary.roster.allows(node)

    def cards(self, kind: int) -> list[Card]:
        """All cards of a kind that are known."""
        return self._context.summary.cards.of_kind(kind)

    def name_of(self, node: bytes) -> str:
        """What a member is called."""
        return self._context.summary.roster.names.get(node, "")

    def handle(self, event: Event, now: float) -> list[Effect]:
        """Take one event; returns what is to be done about it, in order."""
        context = self._context
        context.now = max(now, context.now)
        self._dispatch(event)
        context.run_due()
        self._fetching.stir()
        effects, context.effects = context.effects, []
        return effects

    def _dispatch(self, event: Event) -> None:
        context = self._context
        match event:
            case Received(link=link, frame=frame):
                self._received(link, frame)
            case Flushed(link=link, size=size):
                if link in context.links:
                    context.links[link].queued -= size
            case MergeDone(job=job, result=result):
                self._learn(result.changes, context.source_of(job))
                context.finish(job, result)
            case ReadDone(job=job):
                context.finish(job, event)
            case StatementsRead(job=job, statements=statements):
                context.finish(job, statements)
            case CommonFound(job=job, head=head):
                context.finish(job, head)
            case NotebookChanged(changes=changes):
                self._learn(changes, None)
            case LinkUp():
                self._greeting.link_up(event)
            case LinkDown(link=link):
                neighbour = context.drop(link)
                if neighbour is not None:
                    self._membership.lost(neighbour)
            case DialFailure(node=node, reason=reason):
                context.observe("dial failed", node, detail=reason)
                self._neighbourhood.dial_failed(node)
            case CardIssued(card=card):
                self._membership.issue(card)
            case AddressesChanged(addresses=addresses):
                self._membership.announce_self(self._wall_ms(context.now), addresses=addresses)
            case Leaving(left=left):
                self._leave(left=left)
            case Woke():
                for neighbour in list(context.links.values()):
                    context.close(neighbour, "slept")
            case Lagged(seconds=seconds):
                for neighbour in context.links.values():
                    neighbour.arrivals.last += seconds
            case Tick():
                pass
            case _:
                assert_never(event)

    def _learn(self, changes: Changes, source: Neighbour | None) -> None:
        """Our notebook changed: tell others, close links with who no longer belongs."""
        context = self._context
        for state in changes.feeds:
            if not state.held.seq:  # pushed out by another of its author's: who has it no longer matters
                for neighbour in context.links.values():
                    neighbour.has.pop(state.feed, None)
        if context.summary.learn(changes):
            self._pulse.look_soon()
            self._repair.note_clipped(changes.feeds)
        if changes.statements:  # also to who is about to lose its links by them: it should know why
            self._broadcast.spread_statements(changes.statements, source)
        if changes.roster is not None:
            for neighbour in list(context.links.values()):
                if not changes.roster.allows(neighbour.node):
                    context.close(neighbour, "not a member")
        self._broadcast.spread(changes.fresh)
        if source is None:  # large writes come without parcels
            fresh = {parcel.feed for parcel in changes.fresh}
            self._broadcast.pulled([state.feed for state in changes.feeds if state.feed not in fresh], None)

    def _received(self, link: int, frame: bytes) -> None:
        context = self._context
        neighbour = context.links.get(link)
        if neighbour is None:
            return  # closed a moment ago
        try:
            message = decode(frame)
            if not neighbour.greeted and not isinstance(message, Hello | Bye):
                raise Malformed("a link begins with a greeting")
            neighbour.arrivals.heard(context.now)
            self._answer(neighbour, message)
        except UnknownKind as error:
            context.blame(neighbour, 0.2, str(error))
        except UnknownVersion as error:
            context.other_versions[neighbour.node] = error.version
            context.part(neighbour, error.version, str(error))
        except RemoteError as error:
            context.close(neighbour, str(error), shun=True)

    def _answer(self, neighbour: Neighbour, message: Message) -> None:
        match message:
            case Push():
                self._broadcast.pushed(neighbour, message)
            case Ping():
                self._pulse.pinged(neighbour, message)
            case Pong():
                self._pulse.ponged(neighbour, message)
            case Have():
                self._repair.told(neighbour, message)
            case Compare():
                self._repair.compared(neighbour, message)
            case Give(kind=kind, items=items):
                if kind == CARDS:
                    self._membership.cards_given(neighbour, items)
                else:
                    self._broadcast.given(neighbour, items)
            case Pull():
                self._serving.pull(neighbour, message)
            case Ranges():
                self._fetching.answered(neighbour, message)
            case Fetch():
                self._serving.fetch(neighbour, message)
            case Busy(milliseconds=milliseconds):
                neighbour.busy_until = self._context.now + milliseconds / 1000
                self._fetching.busy(neighbour, message)
            case Rumour():
                self._membership.rumour(neighbour, message)
            case Bye(reason=reason):
                neighbour.goodbye = reason or "goodbye"
                self._context.observe("goodbye", neighbour.node, detail=reason)
            case Hello():
                self._greeting.greeted(neighbour, message)
            case _:
                assert_never(message)

    def _leave(self, *, left: bool) -> None:
        if left:
            self._membership.announce_self(self._wall_ms(self._context.now), left=True)
        for neighbour in list(self._context.links.values()):
            self._context.close(neighbour, "leaving" if left else STOPPING)

    def _announce_self(self) -> None:
        self._membership.announce_self(self._wall_ms(self._context.now))

    def _visit(self) -> None:
        """A short link with who is no neighbour."""
        self._neighbourhood.visit(self._repair.authors_to_tell())

    def _beat(self) -> None:
        self._pulse.beat()
        self._neighbourhood.keep_neighbours()
        self._fetching.pump()

    def _every(self, seconds: float, action: Callable[[], None], first: float | None = None) -> None:
        context = self._context

        def run() -> None:
            context.at(context.now + context.spread(seconds), run)
            action()

        context.at(context.now + (context.spread(seconds) if first is None else first), run)
