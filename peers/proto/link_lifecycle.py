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
        self, station: EngineContext, membership: Membership, repair: AntiEntropy, wall_ms: Callable[[float], int]
    ) -> None:
        self._station = station
        self._membership = membership
        self._repair = repair
        self._wall_ms = wall_ms
        self._offset_ms = 0
        self._looking = False  # a quick look at the neighbours' roots is due

    def ping(self, neighbour: Neighbour) -> None:
        """Tell a neighbour the name of our state, and ask for its."""
        station, config = self._station, self._station.config
        nonce = station.random.getrandbits(32)
        if len(neighbour.pings) >= _PINGS_OPEN:
            del neighbour.pings[next(iter(neighbour.pings))]
        neighbour.pings[nonce] = (station.now, self._wall_ms(station.now))
        station.send(neighbour, Ping(*self._signs(nonce)))
        behind = neighbour.root != station.mirror.root and not self._repair.is_settled(neighbour)
        neighbour.next_ping = station.now + station.spread(config.behind_seconds if behind else config.ping_seconds)

    def pinged(self, neighbour: Neighbour, message: Ping) -> None:
        """Answer, unless they ask without reading the answers. Their clock is worth knowing, to within one way's time."""
        station = self._station
        neighbour.offset_ms = message.clock_ms - self._wall_ms(station.now) + int((neighbour.round_trip or 0.0) * 500)
        self._repair.heard(neighbour, message)
        if neighbour.queued <= station.config.link_bytes:
            station.send(neighbour, Pong(*self._signs(message.nonce)))

    def ponged(self, neighbour: Neighbour, message: Pong) -> None:
        """An answer; one to no question of ours says nothing."""
        sent = neighbour.pings.pop(message.nonce, None)
        if sent is None:
            return
        neighbour.answered(sent, self._station.now, message.clock_ms)
        self._repair.heard(neighbour, message)
        in_step = neighbour.root == self._station.mirror.root
        if neighbour.passing and neighbour.dialed and in_step and not neighbour.pulls:
            self._station.close(neighbour, "compared")

    def look_soon(self) -> None:
        """Our state changed: when the fast path has had its time, compare roots with whoever seems behind."""
        if not self._looking:
            self._looking = True
            self._station.at(self._station.now + self._station.spread(self._station.config.quick_seconds), self._look)

    def beat(self) -> None:
        """Once a second: let go of who is silent, ping who is due."""
        station = self._station
        for neighbour in station.ready():
            if self._is_silent(neighbour):
                station.observe("silent", neighbour.node)
                station.close(neighbour, "silent for too long")
                self._membership.suspect(neighbour.node)
            elif neighbour.passing and station.now - neighbour.since > _PASSING_SECONDS and not neighbour.pulls:
                station.close(neighbour, "compared")
            elif neighbour.dialed and neighbour.next_ping <= station.now:
                self.ping(neighbour)
        self._repair.tell_authors()
        self._correct()

    def _is_silent(self, neighbour: Neighbour) -> bool:
        """Whether a neighbour has not been heard for too long."""
        station, config = self._station, self._station.config
        usual = config.ping_seconds, config.pause_seconds
        if not neighbour.arrivals.is_quiet(station.now, *usual):
            return False
        if neighbour.pulls or neighbour.late_until > station.now:
            return False  # a large answer may hold everything up
        return neighbour.arrivals.phi(station.now, *usual) > config.phi_dead

    def _look(self) -> None:
        self._looking = False
        for neighbour in self._station.ready():
            if neighbour.root != self._station.mirror.root and not neighbour.pulls:
                self.ping(neighbour)

    def _signs(self, nonce: int) -> tuple[int, bytes, bytes, bytes, int]:
        mirror = self._station.mirror
        cards = mirror.cards.digest()[:PREFIX_BYTES]
        return nonce, mirror.root, mirror.statements_digest[:PREFIX_BYTES], cards, self._wall_ms(self._station.now)

    def _correct(self) -> None:
        offset = median_offset(item.offset_ms for item in self._station.ready() if item.offset_ms is not None)
        if abs(offset - self._offset_ms) > _OFFSET_STEP_MS:
            self._offset_ms = offset
            self._station.effects.append(Correct(offset))


_TAKEOVER_SECONDS = 10.0  # a second link within this is a dial from both sides at once; later, the first one is stale


class Handshake:
    """From the transport's link to a neighbour."""

    def __init__(
        self,
        station: EngineContext,
        membership: Membership,
        neighbourhood: NeighbourChoice,
        repair: AntiEntropy,
        pulse: Heartbeat,
    ) -> None:
        self._station = station
        self._membership = membership
        self._neighbourhood = neighbourhood
        self._repair = repair
        self._pulse = pulse

    def link_up(self, event: LinkUp) -> None:
        """Greet whoever is there, if they belong."""
        station = self._station
        neighbour = Neighbour(event.link, event.node, event.address, station.now, dialed=event.dialed)
        station.links[event.link] = neighbour
        if event.dialed:
            self._neighbourhood.dialed(neighbour)
        if event.node == station.node or not station.mirror.roster.allows(event.node):
            station.close(neighbour, "not a member")
        elif station.shunned.get(event.node, 0.0) > station.now:
            lately = "spoke another protocol" if event.node in station.other_versions else "broke the protocol"
            station.close(neighbour, f"{lately} lately")
        else:
            station.send(neighbour, Hello(station.mesh, station.node, self._membership.own_card, neighbour.passing))
            station.at(station.now + station.config.hello_seconds, lambda: self._require_greeting(neighbour))

    def greeted(self, neighbour: Neighbour, message: Hello) -> None:
        """The other side says who it is. The transport knows already: a difference is a lie."""
        station = self._station
        if message.mesh != station.mesh or message.node != neighbour.node:
            raise Malformed("the greeting is from another mesh, or from someone else")
        if neighbour.greeted:
            raise Malformed("a second greeting")
        if not self._membership.is_known(message.contact):
            read_contact(station.mesh, message.contact)  # a forged one is no way to begin
        if parse_contact(message.contact).node != neighbour.node:
            raise Malformed("the greeting brings someone else's contact")
        neighbour.passing = neighbour.passing or message.passing
        if self._is_needless(neighbour):
            return
        neighbour.greeted = True
        station.other_versions.pop(neighbour.node, None)
        station.observe("link up", neighbour.node, detail=neighbour.address)
        self._membership.card_given(neighbour, message.contact)
        self._membership.appeared(neighbour)
        self._repair.tell_own_feeds(neighbour)
        if neighbour.dialed:
            self._pulse.ping(neighbour)

    def _require_greeting(self, neighbour: Neighbour) -> None:
        if not neighbour.greeted:
            self._station.close(neighbour, "no greeting")

    def _is_needless(self, neighbour: Neighbour) -> bool:
        """Close one of two links with the same node, or one beyond what we can serve."""
        station = self._station
        for other in station.ready():
            if other.node == neighbour.node:
                both_at_once = station.now - other.since < _TAKEOVER_SECONDS and other.dialed != neighbour.dialed
                lower_is_ours = station.node < neighbour.node  # the link that the lower id dialled stays
                if both_at_once and other.dialed == lower_is_ours:
                    station.close(neighbour, "one link is enough")
                    return True
                station.close(other, "one link is enough")
        links = sum(not item.passing for item in station.ready())
        if not neighbour.passing and not neighbour.dialed and links >= self._neighbourhood.most_neighbours():
            station.close(neighbour, "enough neighbours")
            return True
        return False
