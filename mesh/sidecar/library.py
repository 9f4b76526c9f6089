"""The store as gossip uses it: what changed, what follows a head, what a merge made of what peers sent.

Called from one thread at a time. It remembers what it last told, so that each change is told once.
"""

from collections.abc import Iterable, Sequence

from mesh.core.ids import Feed, first_prev
from mesh.core.trust import Trust
from mesh.core.vector import Head
from mesh.store.author import Author
from mesh.store.feeds import FeedRow
from mesh.store.outcome import AlreadyKnown, Clipped, Forked, Gap, Merged, Outcome, Refused, Waiting
from peers.proto.config import EAGER_BYTES
from peers.proto.parcels import peek
from peers.proto.replica import Changes, Chunk, FeedState, Merge, Parcel, Replica, Roster, Verdict

_PUSHED_OPERATIONS = EAGER_BYTES // 40  # no operation is encoded in fewer bytes

_VERDICTS: dict[type[Outcome], Verdict] = {
    Merged: Verdict.NEW,
    AlreadyKnown: Verdict.KNOWN,
    Gap: Verdict.GAP,
    Waiting: Verdict.WAITS,
    Clipped: Verdict.CLIPPED,
    Forked: Verdict.FORKED,
}


class Library(Replica):
    """One node's store behind the seam of `peers.proto.replica`."""

    def __init__(self, author: Author) -> None:
        self._author = author
        self._store = author.store
        self._told: dict[Feed, FeedState] = {}
        self._trust: Trust | None = None
        self._ids: set[bytes] = set()

    def everything(self) -> Changes:
        """The state as it is."""
        self._told, self._trust, self._ids = {}, None, set()
        return self._changes(None, ())._replace(fresh=())

    def refresh(self) -> Changes:
        """What commands, or the clock, have changed since we last looked."""
        return self._changes(None, ())

    def refresh_own(self) -> Changes:
        """The same, for who knows that only our own feeds have grown."""
        return self._changes([row.feed for row in self._store.feeds.of_node(self._own)], ())

    def merge(self, statements: Sequence[bytes], ranges: Sequence[bytes]) -> Merge:
        """Take in what peers sent, statements first; ranges with one commit."""
        said = self._author.merge_statements(statements) if statements else []
        came = self._author.merge_ranges(ranges) if ranges else []
        touched = {
            peek(data).feed for data, outcome in zip(ranges, came, strict=True) if not isinstance(outcome, Refused)
        }
        forked = any(isinstance(outcome, Forked) for outcome in came)
        changes = self._changes(None if statements or forked else touched, touched)
        reasons = [outcome.reason for outcome in (*said, *came) if isinstance(outcome, Refused)]
        return Merge([_verdict(item) for item in said], [_verdict(item) for item in came], changes, reasons)

    def read(self, wants: Sequence[tuple[Feed, Head]], room: int) -> list[Chunk]:
        """The ranges that follow each head, feed by feed, until the room is used up."""
        chunks: list[Chunk] = []
        with self._store.database.savepoint():
            for feed, head in wants:
                chunk = self._chunk(feed, head, room, first=not chunks)
                chunks.append(chunk)
                room -= sum(map(len, chunk.ranges))
                if room <= 0:
                    break
        return chunks

    def read_statements(self, ids: Sequence[bytes], room: int) -> list[bytes]:
        """The statements with these ids."""
        found: list[bytes] = []
        for identity in ids:
            data = self._store.database.run("SELECT data FROM statements WHERE id=?", (identity,)).get
            if data is not None:
                room -= len(data)
                if found and room < 0:
                    break
                found.append(data)
        return found

    def common(self, feed: Feed, points: Sequence[Head]) -> Head:
        """The latest of these points that is on our chain."""
        row = self._store.feeds.find(feed)
        for point in points:
            if (
                row is not None
                and point.seq <= row.held.seq
                and self._store.feeds.hash_at(row, point.seq) == point.hash
            ):
                return point
        return Head(0, first_prev(self._store.mesh, feed))

    @property
    def trust(self) -> Trust:
        """What the statements amount to, as last told."""
        assert self._trust is not None
        return self._trust

    @property
    def _own(self) -> bytes:
        assert self._store.own is not None
        return self._store.own

    def _chunk(self, feed: Feed, head: Head, room: int, *, first: bool) -> Chunk:
        feeds = self._store.feeds
        row = feeds.find(feed)
        if row is None or head.seq > row.held.seq:
            return Chunk(feed, head, more=False, ranges=())
        if feeds.hash_at(row, head.seq) != head.hash:
            return Chunk(feed, head, more=False, ranges=(), points=self._points(row, head.seq))
        ranges: list[bytes] = []
        end = head
        while end.seq < row.held.seq:
            data, reached = feeds.encoded_after(row, end, room)
            if len(data) > room and not (first and not ranges):
                break
            ranges.append(data)
            room -= len(data)
            end = reached
        return Chunk(feed, end, end.seq < row.held.seq, ranges)

    def _points(self, row: FeedRow, before: int) -> list[Head]:
        """Heads of our chain, latest first, ever further apart; the beginning of the feed is the last."""
        kept = [Head(seq, value) for seq, value, _ in self._store.feeds.points(row.number) if seq <= before]
        kept.reverse()
        points, step = [], 1
        index = 0
        while index < len(kept):
            points.append(kept[index])
            index += step
            step *= 2
        return [*points, Head(0, first_prev(self._store.mesh, row.feed))]

    def _changes(self, feeds: Iterable[Feed] | None, brought: Iterable[Feed]) -> Changes:
        """What is different from what was told before. `feeds`: where to look, None for everywhere."""
        store = self._store
        with store.database.savepoint():
            trust = store.trust()
            statements: list[tuple[bytes, bytes]] = []
            gone: list[bytes] = []
            roster = None
            if trust is not self._trust:
                feeds = None  # a statement may move the end of any feed
                statements = [(item.id, item.encode()) for item in trust.statements() if item.id not in self._ids]
                known = set(trust.ids())
                gone = sorted(self._ids - known)
                self._ids, self._trust = known, trust
                roster = roster_of(trust)
            rows = store.feeds.all() if feeds is None else [store.feeds.find(feed) for feed in feeds]
            changed: list[FeedState] = []
            fresh: list[Parcel] = []
            for row in rows:
                if row is None:
                    continue
                before, state = self._told.get(row.feed), FeedState(row.feed, row.accepted, row.held)
                if state == before:
                    continue
                self._told[row.feed] = state
                changed.append(state)
                if before is not None and row.feed not in brought and state.held.seq > before.held.seq:
                    fresh += self._parcel(row, before.held)
                elif before is None and row.feed.node == store.own:
                    fresh += self._parcel(row, Head(0, first_prev(store.mesh, row.feed)))
        return Changes(changed, statements, gone, roster, fresh)

    def _parcel(self, row: FeedRow, after: Head) -> list[Parcel]:
        """What was written behind a head, if it is small enough to push."""
        if row.held.seq - after.seq > _PUSHED_OPERATIONS:
            return []
        data, end = self._store.feeds.encoded_after(row, after)
        small = end.seq == row.held.seq and len(data) <= EAGER_BYTES
        return [Parcel(row.feed, after.seq + 1, end.seq, data)] if small else []


def roster_of(trust: Trust) -> Roster:
    """Who belongs, by the statements."""
    return Roster(
        {node: member.name for node, member in trust.members.items()},
        frozenset(trust.revoked),
    )


def _verdict(outcome: Outcome) -> Verdict:
    if isinstance(outcome, Refused):
        return Verdict.FULL if outcome.reason.startswith("quarantine is full") else Verdict.REFUSED
    return _VERDICTS[type(outcome)]
