"""Pulling what we lack: which feed from which neighbour, several at once, going on where an answer ended.

A feed is asked of one neighbour at a time; a newcomer with many feeds asks all its neighbours for different ones. What
an answer claims about where it ends only steers the next question: the notebook checks every range.
"""

from collections.abc import Callable, Iterable, Sequence

from mesh.core.ids import Feed
from mesh.core.vector import Head
from peers.proto.config import ANSWER_BYTES, PULL_FEEDS
from peers.proto.events import FindCommon, MergeThis
from peers.proto.messages import Busy, Ending, Pull, Ranges
from peers.proto.neighbour import Neighbour
from peers.proto.replica import Merge, Verdict
from peers.proto.station import Station

_TRIES = 3  # for one want before the repair path has to find it again
_SHARE = 8  # feeds that are not worth dividing among neighbours
_EXPANSION = 4  # about what zstd makes of records


class Want:
    """A feed that some neighbour has more of."""

    __slots__ = ("after", "asked", "feed", "holder", "merging", "target", "tries")

    def __init__(self, feed: Feed, target: int, after: Head) -> None:
        self.feed = feed
        self.target = target
        self.after = after  # where the next question begins
        self.asked: Neighbour | None = None
        self.merging = 0  # answers that are being merged
        self.holder: Neighbour | None = None  # of another branch than ours, which only who has it can give
        self.tries = 0

    @property
    def is_idle(self) -> bool:
        """Whether there is something to ask, and it is not being asked."""
        return self.asked is None and self.after.seq < self.target


class Fetching:
    """All wants and all questions under way."""

    def __init__(self, station: Station) -> None:
        self._station = station
        self.pulled: Callable[[Sequence[Feed], Neighbour], None] = lambda _feeds, _source: None  # who passes it on
        self._wants: dict[Feed, Want] = {}
        self._asked: dict[int, tuple[Neighbour, list[Feed]]] = {}
        self._late: dict[int, Neighbour] = {}  # questions given up: a late answer is still welcome
        self._number = 0

    def __len__(self) -> int:
        return len(self._wants)

    def want(self, feed: Feed, seq: int, neighbour: Neighbour) -> None:
        """A neighbour has a feed up to `seq`, and we do not."""
        neighbour.learn_has(feed, seq)
        self._add(feed, seq)

    def want_from_others(self, feed: Feed, seq: int, neighbour: Neighbour) -> None:
        """What this neighbour sent was bad; someone else may have it."""
        if any(other.has.get(feed, 0) >= seq for other in self._station.ready() if other is not neighbour):
            self._add(feed, seq)

    def want_branch(self, feed: Feed, head: Head, neighbour: Neighbour) -> None:
        """A neighbour has another history of a feed: get it, so that the fork can be proved."""
        if feed in self._wants:
            return
        neighbour.learn_has(feed, head.seq)
        want = self._wants[feed] = Want(feed, head.seq, Head(head.seq, bytes(32)))
        want.holder = neighbour
        self._ask(neighbour, [want])  # no chain has this hash, so the answer will list points

    def _add(self, feed: Feed, seq: int) -> None:
        held = self._station.mirror.held(feed)
        want = self._wants.get(feed)
        if want is None:
            if seq <= held.seq:
                return
            self._wants[feed] = Want(feed, seq, held)
        else:
            want.target = max(want.target, seq)
        self.pump()

    def pump(self) -> None:
        """Ask every neighbour that is free for some of what it has."""
        station = self._station
        if not self._wants or station.merging_bytes > station.config.merge_bytes:
            return
        free = [item for item in station.ready() if not item.pulls and item.busy_until <= station.now]
        station.random.shuffle(free)
        free.sort(key=lambda item: item.misses)  # who did not answer lately is asked last
        for position, neighbour in enumerate(free):
            has = neighbour.has
            idle = [
                want
                for want in self._wants.values()
                if want.is_idle and has.get(want.feed, 0) > want.after.seq and want.holder in (None, neighbour)
            ]
            if idle:
                share = max(_SHARE, -(-len(idle) // (len(free) - position)))
                self._ask(neighbour, idle[: min(share, PULL_FEEDS)])

    def _ask(self, neighbour: Neighbour, wants: list[Want]) -> None:
        station = self._station
        self._number += 1
        number = self._number
        for want in wants:
            want.asked = neighbour
        neighbour.pulls.add(number)
        self._asked[number] = (neighbour, [want.feed for want in wants])
        station.send(neighbour, Pull(number, neighbour.room, [(want.feed, want.after) for want in wants]))
        station.at(station.now + neighbour.patience(station.config.answer_seconds), lambda: self._give_up(number))

    # Answers

    def answered(self, neighbour: Neighbour, message: Ranges) -> None:
        """Ranges came for a question of ours."""
        asked, feeds = self._asked.get(message.pull, (None, []))
        if asked is not neighbour:
            if self._late.get(message.pull) is neighbour:
                del self._late[message.pull]
                self._merge(neighbour, [], message.blob)
            else:
                self._station.blame(neighbour, 5, "ranges came that nobody asked for")
            return
        del self._asked[message.pull]
        neighbour.pulls.discard(message.pull)
        neighbour.grow()
        self._free(feeds)
        reached = []
        for ending in message.endings:
            want = self._wants.get(ending.feed)
            if want is not None and ending.feed in feeds and self._reached(neighbour, want, ending):
                reached.append(want)
        self._merge(neighbour, reached, message.blob)
        for want in reached:
            self._conclude(want)
        self.pump()

    def _reached(self, neighbour: Neighbour, want: Want, ending: Ending) -> bool:
        """Go on behind the end of an answer. Says whether it brought something."""
        if ending.points:
            self._find_common(neighbour, want, ending.points)
            return False
        if not ending.more and ending.end.seq < want.target:
            neighbour.has[want.feed] = ending.end.seq  # it has less than it said, or than we thought
        if ending.end.seq <= want.after.seq:
            self._prune(want)
            return False
        want.after = ending.end
        return True

    def _find_common(self, neighbour: Neighbour, want: Want, points: Sequence[Head]) -> None:
        want.tries += 1
        if want.tries > _TRIES:
            del self._wants[want.feed]
            return
        want.asked = neighbour  # nobody else until we know where to begin

        def found(head: Head) -> None:
            if self._wants.get(want.feed) is want:
                want.asked = None
                want.after = head
                want.holder = neighbour
                want.target = max(want.target, points[0].seq)
                self.pump()

        job = self._station.job(found)
        self._station.effects.append(FindCommon(job, want.feed, points))

    def _merge(self, neighbour: Neighbour, wants: list[Want], blob: bytes) -> None:
        if not blob:
            return
        for want in wants:
            want.merging += 1
        size = min(_EXPANSION * len(blob), ANSWER_BYTES)
        job = self._station.job(lambda result: self._merged(neighbour, wants, result), size, neighbour)
        self._station.effects.append(MergeThis(job, (), (), blob))

    def _merged(self, neighbour: Neighbour, wants: list[Want], result: Merge) -> None:
        bad = sum(verdict is Verdict.REFUSED for verdict in result.ranges)
        for want in wants:
            want.merging -= 1
            if bad:
                neighbour.has.pop(want.feed, None)
                want.after = self._station.mirror.held(want.feed)
            self._conclude(want)
        if bad:
            self._station.blame(neighbour, 2 * bad, f"pulled ranges were refused: {' '.join(result.reasons[:1])}")
        self.pulled([state.feed for state in result.changes.feeds], neighbour)
        self.pump()

    def _conclude(self, want: Want) -> None:
        """Forget a want that is done; begin again where an answer had claimed more than it brought."""
        if want.merging or want.asked or self._wants.get(want.feed) is not want or want.after.seq < want.target:
            self._prune(want)
            return
        held = self._station.mirror.held(want.feed)
        want.tries += 1
        if want.holder is not None or held.seq >= want.target or want.tries > _TRIES:
            del self._wants[want.feed]
        else:
            want.after = held

    def _prune(self, want: Want) -> None:
        """Forget a want that nobody can serve: the repair path will hear of it again."""
        if want.merging or want.asked or self._wants.get(want.feed) is not want:
            return
        holders = self._station.ready() if want.holder is None else [want.holder]
        if not any(item.has.get(want.feed, 0) > want.after.seq for item in holders):
            del self._wants[want.feed]

    # Questions that end otherwise

    def busy(self, neighbour: Neighbour, message: Busy) -> None:
        """They cannot answer now."""
        asked, feeds = self._asked.get(message.pull, (None, []))
        if asked is neighbour:
            del self._asked[message.pull]
            neighbour.pulls.discard(message.pull)
            self._free(feeds)
        self._station.at(neighbour.busy_until, self.pump)

    def lost(self, neighbour: Neighbour) -> None:
        """A link is gone."""
        for number in neighbour.pulls:
            _, feeds = self._asked.pop(number, (None, []))
            self._free(feeds)
        self._late = {number: other for number, other in self._late.items() if other is not neighbour}
        for want in list(self._wants.values()):
            if want.holder is neighbour:
                del self._wants[want.feed]
                continue
            if want.asked is neighbour:
                want.asked = None
            self._prune(want)
        self.pump()

    def _give_up(self, number: int) -> None:
        asked, feeds = self._asked.pop(number, (None, []))
        if asked is None:
            return
        asked.pulls.discard(number)
        asked.shrink()
        self._late[number] = asked
        self._free(feeds)
        self._station.observe("unanswered", asked.node)
        self.pump()

    def _free(self, feeds: Iterable[Feed]) -> None:
        for feed in feeds:
            want = self._wants.get(feed)
            if want is not None:
                want.asked = None
