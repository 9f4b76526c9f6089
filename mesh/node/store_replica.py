"""The store as gossip uses it: what changed, what follows a head, the result of merging what peers sent.

Called from one thread at a time. It remembers what it last told, so that each change is told once.
"""

from collections.abc import Iterable, Sequence

from mesh.core.ids import Feed, first_prev
from mesh.core.trust import Trust
from mesh.core.version_vector import Head
from mesh.store.author import Author
from mesh.store.feeds import FeedRow
from mesh.store.merge_outcome import AlreadyKnown, Clipped, Forked, Gap, Merged, Outcome, Refused, Waiting
from mesh.store.quarantine import PushOutRate
from peers.proto.gossip_config import EAGER_BYTES
from peers.proto.messages import peek
from peers.proto.replica import Changes, Chunk, FeedState, Merge, MergeVerdict, Parcel, Replica, Roster

_PUSHED_OPERATIONS = EAGER_BYTES // 40  # no operation is encoded in fewer bytes

_VERDICTS: dict[type[Outcome], MergeVerdict] = {
    Merged: MergeVerdict.NEW,
    AlreadyKnown: MergeVerdict.KNOWN,
    Gap: MergeVerdict.GAP,
    Waiting: MergeVerdict.WAITS,
    Clipped: MergeVerdict.CLIPPED,
    Forked: MergeVerdict.FORKED,
}


class StoreReplica(Replica):
    """One node's store behind the seam of `peers.proto.replica`."""

    def __init__(self, author: Author) -> None:
        self._author = author
        self._store = author.store
        self._store.pace = PushOutRate()
        self._told: dict[bytes, dict[Feed, FeedState]] = {}  # by node
        self._trust: Trust | None = None
        self._statements: tuple[object, ...] | None = None  # which set was told
        self._ids: set[bytes] = set()

    def everything(self) -> Changes:
        """The state as it is."""
        self._told, self._trust, self._statements, self._ids = {}, None, None, set()
        return self._changes(None, ())._replace(fresh=())

    def refresh(self) -> Changes:
        """What commands, or the clock, have changed since we last looked."""
        return self._changes(None, ())

    def refresh_own(self) -> Changes:
        """The same, for who knows that only our own feeds have grown."""
        return self._changes([self._own], ())

    def merge(self, statements: Sequence[bytes], ranges: Sequence[bytes]) -> Merge:
        """Take in what peers sent, statements first; ranges with one commit."""
        said = self._author.merge_statements(statements) if statements else []
        came = self._author.merge_ranges(ranges) if ranges else []
        touched = {
            peek(data).feed for data, outcome in zip(ranges, came, strict=True) if not isinstance(outcome, Refused)
        }
        forked = any(isinstance(outcome, Forked) for outcome in came)
        # Of one author's feeds one may push another out, or take the place of its operations.
        changes = self._changes(None if statements or forked else {feed.node for feed in touched}, touched)
        reasons = [outcome.reason for outcome in (*said, *came) if isinstance(outcome, Refused)]
        placed = [_verdict(item) for item in came]
        full = {peek(data).feed for data, verdict in zip(ranges, placed, strict=True) if verdict is MergeVerdict.FULL}
        full |= {feed for feed in touched if self._store.feeds.find(feed) is None}  # another pushed it out at once
        return Merge([_verdict(item) for item in said], placed, changes, reasons, full)

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
        erases = self._store.aside_erases(row, head.seq + 1, end.seq)
        return Chunk(feed, end, end.seq < row.held.seq, ranges, erases=erases)

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

    def _changes(self, nodes: Iterable[bytes] | None, brought: Iterable[Feed]) -> Changes:
        """What is different from what was told before. `nodes`: of whose feeds, None for everyone's."""
        store = self._store
        with store.database.savepoint():
            trust = store.trust()
            statements: list[tuple[bytes, bytes]] = []
            gone: list[bytes] = []
            roster = None
            if trust is not self._trust:
                nodes = None  # a statement may move the end of any feed
                self._trust, roster = trust, roster_of(trust)
            if store.statements.stamp() != self._statements:
                self._statements, known = store.statements.stamp(), set(store.statements.ids())
                statements, gone = store.statements.encoded(known - self._ids), sorted(self._ids - known)
                self._ids = known
            rows: dict[bytes, list[FeedRow]] = {node: [] for node in (self._told if nodes is None else nodes)}
            if nodes is None:
                for row in store.feeds.all():
                    rows.setdefault(row.feed.node, []).append(row)
            else:
                rows = {node: store.feeds.of_node(node) for node in nodes}
            changed: list[FeedState] = []
            fresh: list[Parcel] = []
            for node, found in rows.items():
                told = self._told.setdefault(node, {})
                for feed in told.keys() - {row.feed for row in found}:  # one too many of its author's
                    del told[feed]
                    nothing = Head(0, first_prev(store.mesh, feed))
                    changed.append(FeedState(feed, nothing, nothing))
                for row in found:
                    before, state = told.get(row.feed), FeedState(row.feed, row.accepted, row.held)
                    if state == before:
                        continue
                    told[row.feed] = state
                    changed.append(state)
                    if before is not None and row.feed not in brought and state.held.seq > before.held.seq:
                        fresh += self._parcel(row, before.held)
                    elif before is None and node == store.own:
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


def _verdict(outcome: Outcome) -> MergeVerdict:
    if isinstance(outcome, Refused):
        return MergeVerdict.FULL if outcome.reason.startswith("quarantine is full") else MergeVerdict.REFUSED
    return _VERDICTS[type(outcome)]
