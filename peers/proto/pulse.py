"""Pings, and what a regular beat looks after: the silent, the passing, the clock. The side that dialled pings."""

from collections.abc import Callable

from peers.proto.codec import PREFIX_BYTES
from peers.proto.events import Correct
from peers.proto.membership import Membership, median_offset
from peers.proto.messages import Ping, Pong
from peers.proto.neighbour import Neighbour
from peers.proto.repair import Repair
from peers.proto.station import Station

_PASSING_SECONDS = 20.0
_OFFSET_STEP_MS = 20  # corrections of the clock smaller than this are not worth telling
_PINGS_OPEN = 8


class Pulse:
    """Signs of life, both ways."""

    def __init__(
        self, station: Station, membership: Membership, repair: Repair, wall_ms: Callable[[float], int]
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
