"""What the engine knows of its notebook, in memory: heads, statement ids, cards, roster, and the digests of these sets.

It changes only by what the notebook reports, so that gossip never claims what is not on disk.
"""

from collections.abc import Iterable, Iterator, Sequence

from mesh.core.ids import Feed, digest, first_prev
from mesh.core.version_vector import BUCKETS, Head, Vector, bucket_of, statements_digest
from peers.proto.cards import Card, CardBook
from peers.proto.message_codec import PREFIX_BYTES
from peers.proto.messages import CARDS, FEEDS, STATEMENTS, CardEntry, Entry, FeedEntry
from peers.proto.replica import Changes, FeedState, Roster


class NotebookSummary:
    """The three sets that are kept in step with others."""

    def __init__(self, mesh: bytes, notebook: Changes, cards: Iterable[Card]) -> None:
        self._mesh = mesh
        self._feeds: dict[Feed, FeedState] = {}
        self._accepted = Vector()
        self._statements: list[set[bytes]] = [set() for _ in range(BUCKETS)]
        self._statement_digests: list[bytes | None] = [digest(b"")] * BUCKETS
        self._statement_digest: bytes | None = None
        self._statement_count = 0
        self._turn = 0
        self._root: bytes | None = None
        self._shortened: dict[int, tuple[bytes, bytes]] = {}  # by set: its whole name, and the digests that go with it
        self.cards = CardBook()
        self.roster = Roster({})
        self.learn(notebook)
        for card in cards:
            self.cards.put(card)

    def learn(self, changes: Changes) -> bool:
        """Take over what the notebook reports. Says whether the root may have changed."""
        for state in changes.feeds:
            if state.held.seq:
                self._feeds[state.feed] = state
            else:
                self._feeds.pop(state.feed, None)  # one too many of its author's
            self._accepted.put(state.feed, state.accepted)
        for identity, _ in changes.statements:
            self._put_statement(identity, there=True)
        for identity in changes.gone:
            self._put_statement(identity, there=False)
        if changes.roster is not None:
            self.roster = changes.roster
        if not (changes.feeds or changes.statements or changes.gone):
            return False
        self._root = None
        return True

    @property
    def root(self) -> bytes:
        """The name of the whole state, as `mesh.core` has it."""
        if self._root is None:
            self._root = self._accepted.root_with(self.statements_digest)
        return self._root

    @property
    def statements_digest(self) -> bytes:
        """The name of the statements alone."""
        if self._statement_digest is None:
            self._statement_digest = statements_digest(identity for bucket in self._statements for identity in bucket)
        return self._statement_digest

    def held(self, feed: Feed) -> Head:
        """How far we hold a feed."""
        state = self._feeds.get(feed)
        return Head(0, first_prev(self._mesh, feed)) if state is None else state.held

    def accepted(self, feed: Feed) -> Head:
        """How far a feed counts here."""
        state = self._feeds.get(feed)
        return Head(0, first_prev(self._mesh, feed)) if state is None else state.accepted

    def feeds(self) -> Iterator[FeedState]:
        """Every feed."""
        return iter(self._feeds.values())

    def knows_statement(self, identity: bytes) -> bool:
        """Whether a statement is in the set."""
        return identity in self._statements[identity[0]]

    # Comparing, the same way for all three sets

    def name(self, kind: int) -> bytes:
        """What names a set as a whole, as far as a comparison of it goes."""
        whole = self._whole(kind)
        return whole if kind == FEEDS else whole[:PREFIX_BYTES]

    def size(self, kind: int) -> int:
        """How many entries a set has."""
        if kind == STATEMENTS:
            return self._statement_count
        return len(self.cards) if kind == CARDS else len(self._feeds)

    def digests(self, kind: int) -> bytes:
        """The digests of all buckets, shortened."""
        whole = self._whole(kind)
        known = self._shortened.get(kind)
        if known is None or known[0] != whole:
            joined = b"".join([self._digest(kind, number)[:PREFIX_BYTES] for number in range(BUCKETS)])
            known = self._shortened[kind] = (whole, joined)
        return known[1]

    def differing(self, kind: int, digests: bytes) -> bytes:
        """The buckets whose digest is another than theirs."""
        ours = self.digests(kind)
        return bytes(
            [
                start // PREFIX_BYTES
                for start in range(0, BUCKETS * PREFIX_BYTES, PREFIX_BYTES)
                if ours[start : start + PREFIX_BYTES] != digests[start : start + PREFIX_BYTES]
            ]
        )

    def entries(self, kind: int, covers: bytes | None, most: int) -> tuple[bytes | None, list[Entry]]:
        """The entries of whole buckets, as many as fit, and which buckets these are."""
        if covers is None and self.size(kind) <= most:
            return None, self._everything(kind)
        found: list[Entry] = []
        for index, number in enumerate(range(BUCKETS) if covers is None else covers):
            bucket = self._entries(kind, number)
            if len(found) + len(bucket) > most:
                if found:
                    return bytes(range(number)) if covers is None else covers[:index], found
                return b"", self._part(bucket, most)
            found += bucket
        return covers, found

    def card_entry(self, card: Card) -> CardEntry:
        """A card that is kept, as it is listed."""
        return CardEntry(card.kind, card.subject, card.at, self.cards.name(card)[:PREFIX_BYTES])

    def _part(self, bucket: Sequence[Entry], most: int) -> list[Entry]:
        """Of a bucket too large for one message, another part each time: it claims to be complete for nothing."""
        start = self._turn % len(bucket)
        self._turn += most
        return [*bucket[start : start + most], *bucket[: max(0, start + most - len(bucket))]][:most]

    def _everything(self, kind: int) -> list[Entry]:
        if kind == STATEMENTS:
            return [identity for bucket in self._statements for identity in sorted(bucket)]
        if kind == CARDS:
            return [self.card_entry(card) for card in self.cards]
        return [FeedEntry(*state) for state in self._feeds.values() if state.accepted.seq]

    def _entries(self, kind: int, number: int) -> Sequence[Entry]:
        if kind == STATEMENTS:
            return sorted(self._statements[number])
        if kind == CARDS:
            return [self.card_entry(card) for card in self.cards.bucket(number)]
        return [FeedEntry(*self._feeds[feed]) for feed in self._accepted.bucket(number)]

    def _whole(self, kind: int) -> bytes:
        if kind == FEEDS:
            return self.root
        return self.cards.digest() if kind == CARDS else self.statements_digest

    def _digest(self, kind: int, number: int) -> bytes:
        if kind == FEEDS:
            return self._accepted.bucket_digest(number)
        if kind == CARDS:
            return self.cards.bucket_digest(number)
        known = self._statement_digests[number]
        if known is None:
            known = self._statement_digests[number] = digest(b"".join(sorted(self._statements[number])))
        return known

    def _put_statement(self, identity: bytes, *, there: bool) -> None:
        bucket = self._statements[identity[0]]
        before = len(bucket)
        if there:
            bucket.add(identity)
        else:
            bucket.discard(identity)
        self._statement_count += len(bucket) - before
        self._statement_digests[identity[0]] = self._statement_digest = None

    def unlisted(self, covers: bytes | None, listed: set[Feed]) -> Iterator[Feed]:
        """The feeds of covered buckets that the other side did not list: it has nothing of them."""
        numbers = None if covers is None else frozenset(covers)
        for feed in self._feeds:
            if feed not in listed and (numbers is None or bucket_of(feed) in numbers):
                yield feed
