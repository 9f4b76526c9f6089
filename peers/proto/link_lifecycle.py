"""A link from its greeting to its end: both sides say who they are, the dialling side pings, silent and superfluous links are closed."""

from collections.abc import Callable

from mesh.core.errors import Malformed
from peers.proto.anti_entropy import AntiEntropy
from peers.proto.cards import parse_contact, read_contact
from peers.proto.engine_context import EngineContext
from peers.proto.engine_events import Correct, LinkUp
from peers.proto.membership import Membership, median_offset
from peers.proto.message_codec import PREFIX_BYTES
from peers.proto.messages import Hello, Ping, Pong
from peers.proto.neighbour import Neighbour
from peers.proto.neighbour_choice import NeighbourChoice

_PASSING_SECONDS = 20.0
_OFFSET_STEP_MS = 20  # corrections of the clock smaller than this are not worth telling
_PINGS_OPEN = 8


class Heartbeat:
    """Signs of life, both ways."""

    def __init__(
        self, context: EngineContext, membership: Membership, repair: AntiEntropy, wall_ms: Callable[[float], int]
    ) -> None:
        self._context = context
        self._membership = membership
        self._repair = repair
        self._wall_ms = wall_ms
        self._offset_ms = 0
        self._looking = False  # a quick look at the neighbours' roots is due

    def ping(self, neighbour: Neighbour) -> None:
        """Tell a neighbour the name of our state, and ask for its."""
        context, config = self._context, self._context.config
        nonce = context.random.getrandbits(32)
        if len(neighbour.pings) >= _PINGS_OPEN:
            del neighbour.pings[next(iter(neighbour.pings))]
        neighbour.pings[nonce] = (context.now, self._wall_ms(context.now))
        context.send(neighbour, Ping(*self._signs(nonce)))
        behind = neighbour.root != context.summary.root and not self._repair.is_settled(neighbour)
        neighbour.next_ping = context.now + context.spread(config.behind_seconds if behind else config.ping_seconds)

    def pinged(self, neighbour: Neighbour, message: Ping) -> None:
        """Answer, unless they ask without reading the answers. Their clock is worth knowing, to within one way's time."""
        context = self._context
        neighbour.offset_ms = message.clock_ms - self._wall_ms(context.now) + int((neighbour.round_trip or 0.0) * 500)
        self._repair.heard(neighbour, message)
        if neighbour.queued <= context.config.link_bytes:
            context.send(neighbour, Pong(*self._signs(message.nonce)))

    def ponged(self, neighbour: Neighbour, message: Pong) -> None:
        """An answer; one to no question of ours says nothing."""
        sent = neighbour.pings.pop(message.nonce, None)
        if sent is None:
            return
        neighbour.answered(sent, self._context.now, message.clock_ms)
        self._repair.heard(neighbour, message)
        in_step = neighbour.root == self._context.summary.root
        if neighbour.passing and neighbour.dialed and in_step and not neighbour.pulls:
            self._context.close(neighbour, "compared")

    def look_soon(self) -> None:
        """Our state changed: when the fast path has had its time, compare roots with neighbours that seem behind."""
        if not self._looking:
            self._looking = True
            self._context.at(self._context.now + self._context.spread(self._context.config.quick_seconds), self._look)

    def beat(self) -> None:
        """Once a second: let go of who is silent, ping who is due."""
        context = self._context
        for neighbour in context.ready():
            if self._is_silent(neighbour):
                context.observe("silent", neighbour.node)
                context.close(neighbour, "silent for too long")
                self._membership.suspect(neighbour.node)
            elif neighbour.passing and context.now - neighbour.since > _PASSING_SECONDS and not neighbour.pulls:
                context.close(neighbour, "compared")
            elif neighbour.dialed and neighbour.next_ping <= context.now:
                self.ping(neighbour)
        self._repair.tell_authors()
        self._correct()

    def _is_silent(self, neighbour: Neighbour) -> bool:
        """Whether a neighbour has not been heard for too long."""
        context, config = self._context, self._context.config
        usual = config.ping_seconds, config.pause_seconds
        if not neighbour.arrivals.is_quiet(context.now, *usual):
            return False
        if neighbour.pulls or neighbour.late_until > context.now:
            return False  # a large answer may hold everything up
        return neighbour.arrivals.phi(context.now, *usual) > config.phi_dead

    def _look(self) -> None:
        self._looking = False
        for neighbour in self._context.ready():
            if neighbour.root != self._context.summary.root and not neighbour.pulls:
                self.ping(neighbour)

    def _signs(self, nonce: int) -> tuple[int, bytes, bytes, bytes, int]:
        summary = self._context.summary
        cards = summary.cards.digest()[:PREFIX_BYTES]
        return nonce, summary.root, summary.statements_digest[:PREFIX_BYTES], cards, self._wall_ms(self._context.now)

    def _correct(self) -> None:
        offset = median_offset(item.offset_ms for item in self._context.ready() if item.offset_ms is not None)
        if abs(offset - self._offset_ms) > _OFFSET_STEP_MS:
            self._offset_ms = offset
            self._context.effects.append(Correct(offset))


_TAKEOVER_SECONDS = 10.0  # a second link within this is a dial from both sides at once; later, the first one is stale


class Handshake:
    """From the transport's link to a neighbour."""

    def __init__(
        self,
        context: EngineContext,
        membership: Membership,
        neighbourhood: NeighbourChoice,
        repair: AntiEntropy,
        pulse: Heartbeat,
    ) -> None:
        self._context = context
        self._membership = membership
        self._neighbourhood = neighbourhood
        self._repair = repair
        self._pulse = pulse

    def link_up(self, event: LinkUp) -> None:
        """Greet the node at the other end, if it is a member."""
        context = self._context
        neighbour = Neighbour(event.link, event.node, event.address, context.now, dialed=event.dialed)
        context.links[event.link] = neighbour
        if event.dialed:
            self._neighbourhood.dialed(neighbour)
        if event.node == context.node or not context.summary.roster.allows(event.node):
            context.close(neighbour, "not a member")
        elif context.shunned.get(event.node, 0.0) > context.now:
            lately = "spoke another protocol" if event.node in context.other_versions else "broke the protocol"
            context.close(neighbour, f"{lately} lately")
        else:
            context.send(neighbour, Hello(context.mesh, context.node, self._membership.own_card, neighbour.passing))
            context.at(context.now + context.config.hello_seconds, lambda: self._require_greeting(neighbour))

    def greeted(self, neighbour: Neighbour, message: Hello) -> None:
        """The other side says who it is. The transport knows already: a difference is a lie."""
        context = self._context
        if message.mesh != context.mesh or message.node != neighbour.node:
            raise Malformed("the greeting is from another mesh, or from someone else")
        if neighbour.greeted:
            raise Malformed("a second greeting")
        if not self._membership.is_known(message.contact):
            read_contact(context.mesh, message.contact)  # a forged one is no way to begin
        if parse_contact(message.contact).node != neighbour.node:
            raise Malformed("the greeting brings someone else's contact")
        neighbour.passing = neighbour.passing or message.passing
        if self._is_needless(neighbour):
            return
        neighbour.greeted = True
        context.other_versions.pop(neighbour.node, None)
        context.observe("link up", neighbour.node, detail=neighbour.address)
        self._membership.card_given(neighbour, message.contact)
        self._membership.appeared(neighbour)
        self._repair.tell_own_feeds(neighbour)
        if neighbour.dialed:
            self._pulse.ping(neighbour)

    def _require_greeting(self, neighbour: Neighbour) -> None:
        if not neighbour.greeted:
            self._context.close(neighbour, "no greeting")

    def _is_needless(self, neighbour: Neighbour) -> bool:
        """Close one of two links with the same node, or one beyond what we can serve."""
        context = self._context
        for other in context.ready():
            if other.node == neighbour.node:
                both_at_once = context.now - other.since < _TAKEOVER_SECONDS and other.dialed != neighbour.dialed
                lower_is_ours = context.node < neighbour.node  # the link that the lower id dialled stays
                if both_at_once and other.dialed == lower_is_ours:
                    context.close(neighbour, "one link is enough")
                    return True
                context.close(other, "one link is enough")
        links = sum(not item.passing for item in context.ready())
        if not neighbour.passing and not neighbour.dialed and links >= self._neighbourhood.most_neighbours():
            context.close(neighbour, "enough neighbours")
            return True
        return False
