"""Anti-entropy: compare the names of states first, then what differs, bucket by bucket. Convergence is guaranteed by this alone.

Whoever hears in a pong that names differ begins: statements before feeds, because they decide what counts. Both sides
learn what the other has, and each pulls what it lacks.
"""

from collections.abc import Iterable, Sequence

from mesh.core.ids import Feed
from mesh.core.version_vector import Head, bucket_of
from peers.proto.engine_context import EngineContext
from peers.proto.engine_events import FindCommon
from peers.proto.gossip_config import HAVE_ENTRIES, KEYS_PER_FETCH, WHOLE_ENTRIES
from peers.proto.messages import CARDS, FEEDS, STATEMENTS, CardEntry, Compare, Entry, FeedEntry, Fetch, Have, Ping, Pong
from peers.proto.neighbour import Comparison, Neighbour
from peers.proto.replica import FeedState
from peers.proto.transfer import Fetching

_RECALL_SECONDS = 120.0
_TELL_SECONDS = 1800.0


class AntiEntropy:
    """Comparisons with every link."""

    def __init__(self, context: EngineContext, fetching: Fetching) -> None:
        self._context = context
        self._fetching = fetching
        self._clipped: dict[Feed, float] = {}  # feeds that hold more than counts: since when that is known
        self._untold: set[bytes] = set()  # nodes of whose feeds we hold more than counts, as they may not know

    def heard(self, neighbour: Neighbour, message: Ping | Pong) -> None:
        """Note what the other side's state is called. A pong that differs from ours begins a comparison."""
        neighbour.root, neighbour.statements, neighbour.cards = message.root, message.statements, message.cards
        self.note_step(neighbour)
        if isinstance(message, Pong):
            self.consider(neighbour)

    def note_step(self, neighbour: Neighbour) -> None:
        """Keep since when a neighbour's state is another than ours."""
        summary = self._context.summary
        if neighbour.root != summary.root:
            if neighbour.differs_since is None:
                neighbour.differs_since = self._context.now
        elif neighbour.differs_since is not None or not neighbour.has:
            neighbour.differs_since = None
            neighbour.holds = {}
            neighbour.has = {state.feed: state.held.seq for state in summary.feeds()}

    def consider(self, neighbour: Neighbour) -> None:
        """Compare what differs, if anything does."""
        summary = self._context.summary
        if neighbour.cards != summary.name(CARDS):
            self._begin(neighbour, CARDS, neighbour.cards)
        if neighbour.statements != summary.name(STATEMENTS):
            # First the statements alone, because they decide what counts. If they still differ after that, feeds too:
            # an erase is in the set only where what it names has come.
            is_first = STATEMENTS not in neighbour.comparing
            self._begin(neighbour, STATEMENTS, neighbour.statements)
            if is_first:
                return
        if neighbour.root != summary.root:
            self._begin(neighbour, FEEDS, neighbour.root)

    def is_settled(self, neighbour: Neighbour) -> bool:
        """Whether the same difference was looked at several times in vain: a clock that is ahead, for one."""
        known = neighbour.comparing.get(FEEDS)
        both = (self._context.summary.root, neighbour.root)
        return known is not None and known.names == both and known.step > 2 * self._context.config.behind_seconds

    def _begin(self, neighbour: Neighbour, kind: int, theirs: bytes) -> None:
        """Compare, unless that is under way, or was just done with the same names: then ever more seldom."""
        context = self._context
        names = (context.summary.name(kind), theirs)
        step = neighbour.patience(context.config.answer_seconds)
        known = neighbour.comparing.get(kind)
        if known is not None and known.names == names:
            if known.again_at > context.now:
                return
            step = min(2 * known.step, context.config.settled_seconds)
        if kind == FEEDS and neighbour.pulls:
            return
        neighbour.comparing[kind] = Comparison(names, context.now + step, step)
        if context.summary.size(kind) <= WHOLE_ENTRIES:
            self._tell(neighbour, kind, None, answer=True)
        else:
            context.send(neighbour, Compare(kind, context.summary.digests(kind)))

    def compared(self, neighbour: Neighbour, message: Compare) -> None:
        """Answer digests with our entries where they differ, and ask for theirs."""
        if self._has_room(neighbour) and neighbour.may_ask(self._context.now):
            covers = self._context.summary.differing(message.kind, message.digests)
            self._tell(neighbour, message.kind, covers, answer=True)

    def told(self, neighbour: Neighbour, message: Have) -> None:
        """Learn what the other side has: pull what we lack, and answer if it asks for the same."""
        if not neighbour.may_ask(self._context.now):
            self._context.blame(neighbour, 0.2, "more entries than anyone needs")
            return
        if message.kind == STATEMENTS:
            self._learn_statements(neighbour, message.entries)
        elif message.kind == CARDS:
            self._learn_cards(neighbour, message.entries)
        else:
            self._learn_feeds(neighbour, message)
        if message.answer and self._has_room(neighbour):
            self._tell(neighbour, message.kind, message.covers, answer=False)

    def _has_room(self, neighbour: Neighbour) -> bool:
        """Whether more can be queued to who may be asking without reading the answers."""
        return neighbour.queued <= self._context.config.link_bytes

    def tell_own_feeds(self, neighbour: Neighbour) -> None:
        """Tell a node what we hold of its own feeds: one that comes back from a backup gets its history back."""
        own: list[Entry] = [
            FeedEntry(*state) for state in self._context.summary.feeds() if state.feed.node == neighbour.node
        ]
        if own:
            self._context.send(neighbour, Have(FEEDS, b"", answer=False, entries=own[:HAVE_ENTRIES]))

    def note_clipped(self, states: Iterable[FeedState]) -> None:
        """Remember which feeds hold more than counts: perhaps two copies of a node wrote, and it should have both."""
        for state in states:
            if state.held.seq > state.accepted.seq:
                self._clipped.setdefault(state.feed, self._context.now)
                self._untold.add(state.feed.node)

    def tell_authors(self) -> None:
        """Tell neighbours which of their own operations we hold and do not count. Once a beat: they may write many."""
        for neighbour in self._context.ready():
            if neighbour.node in self._untold:
                self.tell_own_feeds(neighbour)
        self._untold.clear()

    def authors_to_tell(self) -> list[bytes]:
        """Nodes that may lack, of their own, what we hold: only they can write it again so that it counts."""
        since = self._context.now - _TELL_SECONDS
        nodes = {feed.node for feed, known in self._clipped.items() if known > since}
        return sorted(node for node in nodes if node != self._context.node)

    def recall_own(self) -> None:
        """Ask one neighbour what it holds of such feeds of ours, for a while."""
        since, own = self._context.now - _RECALL_SECONDS, self._context.node
        feeds = [feed for feed, known in self._clipped.items() if known > since and feed.node == own]
        ready = self._context.ready()
        if feeds and ready:
            self._tell(
                self._context.random.choice(ready), FEEDS, bytes(sorted(set(map(bucket_of, feeds)))), answer=True
            )

    def _tell(self, neighbour: Neighbour, kind: int, covers: bytes | None, *, answer: bool) -> None:
        covered, entries = self._context.summary.entries(kind, covers, HAVE_ENTRIES)
        self._context.send(neighbour, Have(kind, covered, answer, entries))

    def _learn_statements(self, neighbour: Neighbour, entries: Sequence[Entry]) -> None:
        summary = self._context.summary
        lacking = [item for item in entries if isinstance(item, bytes) and not summary.knows_statement(item)]
        if lacking:
            self._context.send(neighbour, Fetch(STATEMENTS, lacking[:KEYS_PER_FETCH]))

    def _learn_cards(self, neighbour: Neighbour, entries: Sequence[Entry]) -> None:
        summary = self._context.summary
        newer = []
        for item in entries:
            if isinstance(item, CardEntry):
                known = summary.cards.get(item.kind, item.subject)
                if known is None or known.at < item.at or (known.at == item.at and summary.card_entry(known) != item):
                    newer.append(bytes([item.kind]) + item.subject)
        if newer:
            self._context.send(neighbour, Fetch(CARDS, newer[:KEYS_PER_FETCH]))

    def _learn_feeds(self, neighbour: Neighbour, message: Have) -> None:
        summary = self._context.summary
        listed: set[Feed] = set()
        for entry in message.entries:
            if not isinstance(entry, FeedEntry) or entry.feed in listed:
                continue
            listed.add(entry.feed)
            if not summary.roster.knows(entry.feed.node):
                continue  # of nobody we have heard of: its statement has to come first
            neighbour.has.pop(entry.feed, None)
            if not neighbour.learn_has(entry.feed, max(entry.accepted.seq, entry.held.seq), summary.size(FEEDS)):
                continue
            held, accepted = summary.held(entry.feed), summary.accepted(entry.feed)
            mine = entry.feed.node == self._context.node
            if mine and held.seq:
                neighbour.holds[entry.feed] = entry.accepted.seq, entry.held.seq
            theirs = entry.held if mine else entry.accepted  # of our own we want also what no longer counts
            if theirs.seq > held.seq:
                self._fetching.want(entry.feed, theirs.seq, neighbour)
            elif theirs.seq and (
                theirs.seq > accepted.seq or (theirs.seq == accepted.seq and theirs.hash != accepted.hash) or mine
            ):
                self._look_for_branch(neighbour, entry, theirs, held)
        if message.covers is None or message.covers:
            for feed in summary.unlisted(message.covers, listed):
                neighbour.has.pop(feed, None)

    def _look_for_branch(self, neighbour: Neighbour, entry: FeedEntry, theirs: Head, held: Head) -> None:
        """They have operations that we hold too, but do not count: waiting here, or another history?"""
        if theirs == held or entry.feed in neighbour.looking:
            return
        neighbour.looking.add(entry.feed)

        def found(head: Head) -> None:
            neighbour.looking.discard(entry.feed)
            if head != theirs and neighbour.link in self._context.links:
                self._fetching.want_branch(entry.feed, theirs, neighbour)

        self._context.effects.append(FindCommon(self._context.job(found), entry.feed, [theirs]))
