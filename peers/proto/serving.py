"""Answering others: ranges, statements and cards, within a budget a link. Asks nothing itself."""

from collections.abc import Sequence

from peers.proto.config import ANSWER_BYTES, KEYS_PER_FETCH
from peers.proto.events import ReadDone, ReadStatements, ReadThis
from peers.proto.messages import CARDS, FEEDS, STATEMENTS, Busy, Ending, Fetch, Give, Pull, Ranges
from peers.proto.neighbour import Neighbour
from peers.proto.station import Station

_BUSY_MILLISECONDS = 200


class Serving:
    """What we send because someone asked."""

    def __init__(self, station: Station) -> None:
        self._station = station
        self._reading: dict[int, int] = {}  # link: questions of theirs that the notebook is answering

    def pull(self, neighbour: Neighbour, message: Pull) -> None:
        """Read and send ranges, unless that link has enough to carry."""
        station = self._station
        overloaded = neighbour.queued > station.config.link_bytes or self._reading.get(neighbour.link, 0) > 1
        if overloaded or not neighbour.may_ask(station.now):
            station.send(neighbour, Busy(_BUSY_MILLISECONDS, message.pull))
            station.observe("busy", neighbour.node)
            return
        self._reading[neighbour.link] = self._reading.get(neighbour.link, 0) + 1

        def answer(read: ReadDone) -> None:
            if self._finished(neighbour):
                endings = [Ending(item.feed, item.end, item.more, item.points) for item in read.chunks]
                for ending in endings:
                    if not ending.points:
                        neighbour.learn_has(ending.feed, ending.end.seq, station.mirror.size(FEEDS))
                erases = dict.fromkeys(data for item in read.chunks for data in item.erases)
                self._give(neighbour, STATEMENTS, list(erases)[:KEYS_PER_FETCH])  # before what they explain
                station.send(neighbour, Ranges(message.pull, endings, read.blob))

        job = station.job(answer)
        station.effects.append(ReadThis(job, message.wants, min(message.room, ANSWER_BYTES)))

    def fetch(self, neighbour: Neighbour, message: Fetch) -> None:
        """Send statements or cards."""
        station = self._station
        overloaded = neighbour.queued > station.config.link_bytes or self._reading.get(neighbour.link, 0) > 1
        if overloaded or not neighbour.may_ask(station.now):
            station.observe("busy", neighbour.node)
            return  # they compare again after a while
        if message.kind == CARDS:
            found = [card for key in message.keys if (card := station.mirror.cards.by_key(key)) is not None]
            self._give(neighbour, CARDS, [card.data for card in found])
            return
        self._reading[neighbour.link] = self._reading.get(neighbour.link, 0) + 1

        def answer(statements: Sequence[bytes]) -> None:
            if self._finished(neighbour):
                self._give(neighbour, STATEMENTS, statements)

        station.effects.append(ReadStatements(station.job(answer), list(dict.fromkeys(message.keys)), ANSWER_BYTES))

    def lost(self, neighbour: Neighbour) -> None:
        """A link is gone."""
        self._reading.pop(neighbour.link, None)

    def _finished(self, neighbour: Neighbour) -> bool:
        """One answer is ready. False if nobody waits for it any more."""
        if neighbour.link not in self._station.links:
            return False
        self._reading[neighbour.link] -= 1
        return True

    def _give(self, neighbour: Neighbour, kind: int, items: Sequence[bytes]) -> None:
        part: list[bytes] = []
        size = 0
        for data in items:
            if part and size + len(data) > ANSWER_BYTES:
                self._station.send(neighbour, Give(kind, part))
                part, size = [], 0
            part.append(data)
            size += len(data)
        if part:
            self._station.send(neighbour, Give(kind, part))
