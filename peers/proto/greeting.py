"""How a link begins: both sides say who they are; a link that is one too many ends at once."""

from mesh.core.errors import Malformed
from peers.proto.cards import parse_contact, read_contact
from peers.proto.events import LinkUp
from peers.proto.membership import Membership
from peers.proto.messages import Hello
from peers.proto.neighbour import Neighbour
from peers.proto.neighbourhood import Neighbourhood
from peers.proto.pulse import Pulse
from peers.proto.repair import Repair
from peers.proto.station import Station

_TAKEOVER_SECONDS = 10.0  # a second link within this is a dial from both sides at once; later, the first one is stale


class Greeting:
    """From the transport's link to a neighbour."""

    def __init__(
        self, station: Station, membership: Membership, neighbourhood: Neighbourhood, repair: Repair, pulse: Pulse
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
