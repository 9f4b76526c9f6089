"""Pulling what we lack, and answering pulls: which feed from which neighbour, several at once, going on where an answer ended.

A feed is asked of one neighbour at a time; a newcomer with many feeds asks all its neighbours for different ones. What
an answer claims about where it ends only steers the next question: the notebook checks every range.
"""

from collections.abc import Callable, Iterable, Sequence

from mesh.core.ids import Feed
from mesh.core.version_vector import Head
from peers.proto.engine_context import EngineContext
from peers.proto.engine_events import FindCommon, MergeThis, ReadDone, ReadStatements, ReadThis
from peers.proto.gossip_config import ANSWER_BYTES, KEYS_PER_FETCH, PULL_FEEDS
from peers.proto.messages import CARDS, FEEDS, STATEMENTS, Busy, Ending, Fetch, Give, Pull, Ranges
from peers.proto.neighbour import Neighbour
from peers.proto.replica import Merge, MergeVerdict

_TRIES = 3  # for one want before the repair path has to find it again
_SHARE = 8  # feeds that are not worth dividing among neighbours
_EXPANSION = 4  # about what zstd makes of records
_LEFT_OUT, _LEFT_OUT_SECONDS = 4096, 10.0
_LATE_SECONDS = 60.0  # a large answer on a slow link may take so long; until then its silence is not held against it


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
    """All wants and all questions under way. Branches have wants of their own, in nobody's way."""

    def __init__(self, context: EngineContext) -> None:
        self._context = context
        self.pulled: Callable[[Sequence[Feed], Neighbour], None] = lambda _feeds, _source: None  # who passes it on
        self._wants: dict[Feed, Want] = {}
        self._branches: dict[Feed, Want] = {}
        self._asked: dict[int, tuple[Neighbour, list[Want]]] = {}
        self._late: dict[int, Neighbour] = {}  # questions given up: a late answer is still welcome
        self._left_out: dict[Feed, float] = {}  # until when, in the order they were refused
        self._number = 0
        self._stirred = False  # there may be something to ask

    def __len__(self) -> int:
        return len(self._wants) + len(self._branches)

    def want(self, feed: Feed, seq: int, neighbour: Neighbour) -> None:
        """A neighbour has a feed up to `seq`, and we do not."""
        if neighbour.learn_has(feed, seq, self._context.summary.size(FEEDS)):
            self._add(feed, seq)

    def want_from_others(self, feed: Feed, neighbour: Neighbour) -> None:
        """What this neighbour sent was bad; someone else may have it."""
        others = [item.has.get(feed, 0) for item in self._context.ready() if item is not neighbour]
        self._add(feed, max(others, default=0))

    def want_branch(self, feed: Feed, head: Head, neighbour: Neighbour) -> None:
        """A neighbour has another history of a feed: get it, so that the fork can be proved."""
        if feed in self._branches:
            return
        neighbour.learn_has(feed, head.seq, self._context.summary.size(FEEDS))
        want = self._branches[feed] = Want(feed, head.seq, Head(head.seq, bytes(32)))
        want.holder = neighbour
        self._ask(neighbour, [want])  # no chain has this hash, so the answer will list points

    def _add(self, feed: Feed, seq: int) -> None:
        if self._left_out.get(feed, 0.0) > self._context.now:
            return
        held = self._context.summary.held(feed)
        want = self._wants.get(feed)
        if want is not None:
            want.target = max(want.target, seq)
        elif seq > held.seq:
            self._wants[feed] = Want(feed, seq, held)
        self._stirred = True

    def stir(self) -> None:
        """At the end of an event: ask for what it showed to be lacking, all at once."""
        if self._stirred:
            self.pump()

    def pump(self) -> None:
        """Ask every neighbour that is free for some of what it has."""
        context = self._context
        self._stirred = False
        if not len(self) or context.merging_bytes > context.config.merge_bytes:
            return
        free = [item for item in context.ready() if not item.pulls and item.busy_until <= context.now]
        context.random.shuffle(free)
        free.sort(key=lambda item: item.misses)  # who did not answer lately is asked last
        for position, neighbour in enumerate(free):
            has = neighbour.has
            idle = [
                want
                for want in (*self._wants.values(), *self._branches.values())
                if want.is_idle and has.get(want.feed, 0) > want.after.seq and want.holder in (None, neighbour)
            ]
            if idle:
                share = max(_SHARE, -(-len(idle) // (len(free) - position)))
                self._ask(neighbour, idle[: min(share, PULL_FEEDS)])

    def _ask(self, neighbour: Neighbour, wants: list[Want]) -> None:
        context = self._context
        self._number += 1
        number = self._number
        for want in wants:
            want.asked = neighbour
        neighbour.pulls.add(number)
        self._asked[number] = (neighbour, wants)
        context.send(neighbour, Pull(number, neighbour.room, [(want.feed, want.after) for want in wants]))
        context.at(context.now + neighbour.patience(context.config.answer_seconds), lambda: self._give_up(number))

    # Answers

    def answered(self, neighbour: Neighbour, message: Ranges) -> None:
        """Ranges came for a question of ours."""
        asked, wants = self._asked.get(message.pull, (None, []))
        if asked is not neighbour:
            if self._late.get(message.pull) is neighbour:
                del self._late[message.pull]
                neighbour.late_until = 0.0
                self._merge(neighbour, [], message.blob)
            else:
                self._context.blame(neighbour, 5, "ranges came that nobody asked for")
            return
        del self._asked[message.pull]
        neighbour.pulls.discard(message.pull)
        neighbour.late_until = 0.0
        neighbour.grow()
        self._free(wants)
        by_feed = {want.feed: want for want in wants if self._is_current(want)}
        claims: list[tuple[Want, int]] = []
        for ending in message.endings:
            want = by_feed.pop(ending.feed, None)
            if want is not None and self._reached(neighbour, want, ending, brings=bool(message.blob)):
                claims.append((want, ending.end.seq))
        self._merge(neighbour, claims, message.blob)
        self._stirred = True

    def _reached(self, neighbour: Neighbour, want: Want, ending: Ending, *, brings: bool) -> bool:
        """Go on behind the end of an answer. Says whether it claims to have brought something."""
        if ending.points:
            self._find_common(neighbour, want, ending.points)
            return False
        if ending.end.seq <= want.after.seq or not brings:
            neighbour.has[want.feed] = min(
                neighbour.has.get(want.feed, 0), want.after.seq
            )  # it has no more, whatever it says
            self._prune(want)
            return False
        if not ending.more and ending.end.seq < want.target:
            neighbour.has[want.feed] = ending.end.seq  # it has less than it said, or than we thought
        want.after = ending.end
        return True

    def _find_common(self, neighbour: Neighbour, want: Want, points: Sequence[Head]) -> None:
        want.tries += 1
        if want.tries > _TRIES:
            self._forget(want)
            return
        want.asked = neighbour  # nobody else until we know where to begin

        def found(head: Head) -> None:
            if self._is_current(want):
                want.asked = None
                want.after = head
                want.holder = neighbour
                want.target = max(want.target, points[0].seq)
                self._stirred = True

        job = self._context.job(found)
        self._context.effects.append(FindCommon(job, want.feed, points))

    def _merge(self, neighbour: Neighbour, claims: list[tuple[Want, int]], blob: bytes) -> None:
        if not blob:
            return
        for want, _ in claims:
            want.merging += 1
        size = min(_EXPANSION * len(blob), ANSWER_BYTES)
        job = self._context.job(lambda result: self._merged(neighbour, claims, result), size, neighbour)
        self._context.effects.append(MergeThis(job, (), (), blob))

    def _merged(self, neighbour: Neighbour, claims: list[tuple[Want, int]], result: Merge) -> None:
        """The notebook has judged. Where an answer brought less than it said, we begin again where we really are."""
        bad = sum(verdict is MergeVerdict.REFUSED for verdict in result.ranges)
        full = MergeVerdict.FULL in result.ranges
        for want, claimed in claims:
            want.merging -= 1
            held = self._context.summary.held(want.feed)
            if want.holder is None and held.seq < claimed:
                neighbour.has.pop(want.feed, None)
                want.after = held
                if want.feed in result.full:
                    self._leave_out(want.feed)
                    self._forget(want)
                elif full:  # what came with it, or everything: the disk may be full
                    self._forget(want)
                else:
                    bad += 1
            self._conclude(want)
        if bad:
            why = " ".join(result.reasons[:1]) or "it brought less than it said"
            self._context.blame(neighbour, 2, f"pulled ranges were refused: {why}")
        self.pulled([state.feed for state in result.changes.feeds], neighbour)
        self._stirred = True

    def _leave_out(self, feed: Feed) -> None:
        """There was no room for more of a feed, or it is one too many of its author's: not asked for again for a while."""
        self._left_out.pop(feed, None)
        self._left_out[feed] = self._context.now + _LEFT_OUT_SECONDS
        while len(self._left_out) > _LEFT_OUT:
            del self._left_out[next(iter(self._left_out))]

    def _conclude(self, want: Want) -> None:
        """Forget a want that is done."""
        if not want.merging and want.asked is None and want.after.seq >= want.target:
            self._forget(want)
        else:
            self._prune(want)

    def _prune(self, want: Want) -> None:
        """Forget a want that nobody can serve: the repair path will hear of it again."""
        if want.merging or want.asked is not None:
            return
        holders = self._context.ready() if want.holder is None else [want.holder]
        if not any(item.has.get(want.feed, 0) > want.after.seq for item in holders):
            self._forget(want)

    def _forget(self, want: Want) -> None:
        for wants in (self._wants, self._branches):
            if wants.get(want.feed) is want:
                del wants[want.feed]

    def _is_current(self, want: Want) -> bool:
        return self._wants.get(want.feed) is want or self._branches.get(want.feed) is want

    # Questions that end otherwise

    def busy(self, neighbour: Neighbour, message: Busy) -> None:
        """They cannot answer now. The next beat asks again, or someone else."""
        asked, wants = self._asked.get(message.pull, (None, []))
        if asked is neighbour:
            del self._asked[message.pull]
            neighbour.pulls.discard(message.pull)
            self._drop(wants)

    def lost(self, neighbour: Neighbour) -> None:
        """A link is gone."""
        for number in neighbour.pulls:
            _, wants = self._asked.pop(number, (None, []))
            self._free(wants)
        self._late = {number: other for number, other in self._late.items() if other is not neighbour}
        for want in [*self._wants.values(), *self._branches.values()]:
            if want.asked is neighbour:
                want.asked = None
            if want.holder is neighbour:
                self._forget(want)
            else:
                self._prune(want)
        self._stirred = True

    def _give_up(self, number: int) -> None:
        asked, wants = self._asked.pop(number, (None, []))
        if asked is None:
            return
        asked.pulls.discard(number)
        asked.shrink()
        asked.late_until = self._context.now + _LATE_SECONDS
        self._late[number] = asked
        self._drop(wants)
        self._context.observe("unanswered", asked.node)
        self._stirred = True

    def _drop(self, wants: Iterable[Want]) -> None:
        """A question was not answered. Others can be asked, but not for a branch: who wants it has to ask again."""
        self._free(wants)
        for want in wants:
            if want.holder is not None:
                self._forget(want)

    def _free(self, wants: Iterable[Want]) -> None:
        """A question is over."""
        for want in wants:
            want.asked = None


_BUSY_MILLISECONDS = 200


class Serving:
    """What we send because someone asked."""

    def __init__(self, context: EngineContext) -> None:
        self._context = context
        self._reading: dict[int, int] = {}  # link: questions of theirs that the notebook is answering

    def pull(self, neighbour: Neighbour, message: Pull) -> None:
        """Read and send ranges, unless that link has enough to carry."""
        context = self._context
        overloaded = neighbour.queued > context.config.link_bytes or self._reading.get(neighbour.link, 0) > 1
        if overloaded or not neighbour.may_ask(context.now):
            context.send(neighbour, Busy(_BUSY_MILLISECONDS, message.pull))
            context.observe("busy", neighbour.node)
            return
        self._reading[neighbour.link] = self._reading.get(neighbour.link, 0) + 1

        def answer(read: ReadDone) -> None:
            if self._finished(neighbour):
                endings = [Ending(item.feed, item.end, item.more, item.points) for item in read.chunks]
                for ending in endings:
                    if not ending.points:
                        neighbour.learn_has(ending.feed, ending.end.seq, context.summary.size(FEEDS))
                erases = dict.fromkeys(data for item in read.chunks for data in item.erases)
                self._give(neighbour, STATEMENTS, list(erases)[:KEYS_PER_FETCH])  # before what they explain
                context.send(neighbour, Ranges(message.pull, endings, read.blob))

        job = context.job(answer)
        context.effects.append(ReadThis(job, message.wants, min(message.room, ANSWER_BYTES)))

    def fetch(self, neighbour: Neighbour, message: Fetch) -> None:
        """Send statements or cards."""
        context = self._context
        overloaded = neighbour.queued > context.config.link_bytes or self._reading.get(neighbour.link, 0) > 1
        if overloaded or not neighbour.may_ask(context.now):
            context.observe("busy", neighbour.node)
            return  # they compare again after a while
        if message.kind == CARDS:
            found = [card for key in message.keys if (card := context.summary.cards.by_key(key)) is not None]
            self._give(neighbour, CARDS, [card.data for card in found])
            return
        self._reading[neighbour.link] = self._reading.get(neighbour.link, 0) + 1

        def answer(statements: Sequence[bytes]) -> None:
            if self._finished(neighbour):
                self._give(neighbour, STATEMENTS, statements)

        context.effects.append(ReadStatements(context.job(answer), list(dict.fromkeys(message.keys)), ANSWER_BYTES))

    def lost(self, neighbour: Neighbour) -> None:
        """A link is gone."""
        self._reading.pop(neighbour.link, None)

    def _finished(self, neighbour: Neighbour) -> bool:
        """One answer is ready. False if nobody waits for it any more."""
        if neighbour.link not in self._context.links:
            return False
        self._reading[neighbour.link] -= 1
        return True

    def _give(self, neighbour: Neighbour, kind: int, items: Sequence[bytes]) -> None:
        part: list[bytes] = []
        size = 0
        for data in items:
            if part and size + len(data) > ANSWER_BYTES:
                self._context.send(neighbour, Give(kind, part))
                part, size = [], 0
            part.append(data)
            size += len(data)
        if part:
            self._context.send(neighbour, Give(kind, part))
