"""The feeds table and its chains: heads, hashes, points, and the ranges that are sent.

Of each feed one contiguous chain is held, 1 to `held`; the accepted part, 1 to `accepted`, is what
vector and fold know. What counts is decided elsewhere (`acceptance`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import repeat
from typing import Any, NamedTuple

import apsw

from mesh.core.errors import HomeDamaged
from mesh.core.feed import ENVELOPE_WEIGHT, Link, Range, chain, link_hash, pack_range, weight
from mesh.core.ids import Feed, digest, first_prev, signed_prefix, tag_of
from mesh.core.limits import ERASED_WEIGHT, HLC_MAX, RANGE_BYTES, RANGE_OPERATIONS
from mesh.core.operation import ADD, Add, Parsed, fold_key, parse
from mesh.core.trust import Trust
from mesh.core.version_vector import Head, Vector
from mesh.store.database import Run
from mesh.store.fold import FoldRow

POINT_SPACING = 64  # operations between kept points: 2 bytes of signature an operation, little to re-hash

# What an operation counts towards its author's quota: `mesh.core.member_limits.share_weight`, as SQL.
SHARE_WEIGHT = f"iif(body IS NULL, {ERASED_WEIGHT}, 20 + max(length(body), 32))"

_COLUMNS = (
    "feed, node, epoch, held_seq, held_hash, held_hlc, seq, hash, hlc, waiting_bytes, first_hlc, weight, held_weight"
)


class FeedRow(NamedTuple):
    """One feed as it stands: all it holds, and how much of that is accepted."""

    number: int
    feed: Feed
    held: Head
    held_hlc: int
    accepted: Head
    accepted_hlc: int
    waiting_bytes: int
    first_hlc: int  # 0 while nothing is held
    weight: int  # of what is accepted, towards the author's quota
    held_weight: int


class OpRow(NamedTuple):
    """One held operation. `body` is None once erased."""

    op: int
    feed: int
    seq: int
    hlc: int
    kind: int
    body: bytes | None


class Feeds:
    """Reads and writes within whatever transaction the connection is in."""

    def __init__(self, connection: apsw.Connection, mesh: bytes) -> None:
        self._run: Run = connection.execute
        self._many: Run = connection.executemany
        self._mesh = mesh

    def find(self, feed: Feed) -> FeedRow | None:
        """The row of a feed, if anything of it was ever held."""
        row = self._run(
            f"SELECT {_COLUMNS} FROM feeds WHERE node=? AND epoch=?", (feed.node, feed.epoch.to_bytes(8, "big"))
        ).fetchone()
        return None if row is None else _feed_row(row)

    def open(self, feed: Feed) -> FeedRow:
        """The row of a feed, made if there is none."""
        known = self.find(feed)
        if known is not None:
            return known
        start = first_prev(self._mesh, feed)
        self._run(
            "INSERT INTO feeds(node, epoch, held_seq, held_hash, held_hlc, seq, hash, hlc) VALUES(?,?,0,?,0,0,?,0)",
            (feed.node, feed.epoch.to_bytes(8, "big"), start, start),
        )
        made = self.find(feed)
        assert made is not None
        return made

    def numbered(self, number: int) -> FeedRow:
        """The row of a feed by its number in this database."""
        row = self._run(f"SELECT {_COLUMNS} FROM feeds WHERE feed=?", (number,)).fetchone()
        assert row is not None
        return _feed_row(row)

    def all(self) -> list[FeedRow]:
        """Every feed, in the order of their ids."""
        return [_feed_row(row) for row in self._run(f"SELECT {_COLUMNS} FROM feeds ORDER BY node, epoch")]

    def of_node(self, node: bytes) -> list[FeedRow]:
        """Every feed of one node."""
        rows = self._run(f"SELECT {_COLUMNS} FROM feeds WHERE node=? ORDER BY epoch", (node,))
        return [_feed_row(row) for row in rows]

    def save(self, row: FeedRow) -> None:
        """Write a changed row back."""
        self._run(
            "UPDATE feeds SET held_seq=?, held_hash=?, held_hlc=?, seq=?, hash=?, hlc=?, waiting_bytes=?,"
            " first_hlc=?, weight=?, held_weight=? WHERE feed=?",
            (*row.held, row.held_hlc, *row.accepted, row.accepted_hlc, *row[-4:], row.number),
        )

    def extend(
        self, row: FeedRow, item: Range, trust: Trust, known: Sequence[Parsed | None] = ()
    ) -> tuple[FeedRow, list[FoldRow]]:
        """Hold what a range has behind our head. Returns the feed, to be saved, and the operations as the fold takes them.

        `known`: what the operations of the range say, for who has just read them. This is the loop every operation passes: plain
        tuples, three `executemany`, nothing else.
        """
        number, node, seq = row.number, row.feed.node, row.held.seq
        op = self._run("SELECT coalesce(max(op), 0) FROM ops").get
        ops: list[tuple[object, ...]] = []
        gone, fresh, size, share = [], [], 0, 0
        is_erasing = self._run("SELECT 1 FROM erase_tags LIMIT 1").get is not None
        new = item.links[seq + 1 - item.first :]
        for (hlc, kind, body, body_hash), read in zip(new, known or repeat(None, len(new)), strict=True):
            op += 1
            seq += 1
            tag = tag_of(node, body_hash)
            prefix = signed_prefix(tag)
            if body is None or (is_erasing and trust.is_erased(tag, node, kind)):
                size += weight(None)
                share += ERASED_WEIGHT - weight(None)
                gone.append((op, body_hash))
                is_add = kind == ADD
                ops.append((op, number, seq, hlc, kind, prefix if is_add else None, None if is_add else prefix, None))
                continue
            parsed = read or parse(kind, hlc, body)
            if type(parsed) is Add:
                ops.append((op, number, seq, hlc, kind, prefix, None, body))
                fresh.append(FoldRow(op, seq, tag, parsed))
            else:
                key = fold_key(parsed, tag)
                ops.append((op, number, seq, hlc, kind, key, prefix, body))
                fresh.append(FoldRow(op, seq, tag, parsed))
            size += weight(body)
        self._many("INSERT INTO ops VALUES(?,?,?,?,?,?,?,?)", ops)
        self._many("INSERT INTO erased_bodies VALUES(?,?)", gone)
        self.add_point(number, seq, item.head, item.signature)
        row = row._replace(
            held=Head(seq, item.head),
            held_hlc=item.links[-1].hlc,
            waiting_bytes=row.waiting_bytes + size,
            first_hlc=row.first_hlc or item.links[0].hlc,  # only a range that begins the feed comes first
            held_weight=row.held_weight + size + share,
        )
        return row, fresh

    def drop(self, row: FeedRow) -> None:
        """Forget a feed of which nothing counts: it is one too many of its author's."""
        self._run("DELETE FROM erased_bodies WHERE op IN (SELECT op FROM ops WHERE feed=?)", (row.number,))
        for table in ("ops", "points", "strays", "feeds"):
            self._run(f"DELETE FROM {table} WHERE feed=?", (row.number,))

    def accepted_operations(self) -> int:
        """How many operations count."""
        return int(self._run("SELECT coalesce(sum(seq), 0) FROM feeds").get)

    def held_weight(self, node: bytes) -> int:
        """What all feeds of a node weigh, as far as they are held."""
        return int(self._run("SELECT coalesce(sum(held_weight), 0) FROM feeds WHERE node=?", (node,)).get)

    def count_of(self, node: bytes) -> int:
        """How many feeds of a node are held."""
        return int(self._run("SELECT count(*) FROM feeds WHERE node=? AND held_seq>0", (node,)).get)

    def unbegun_of(self, node: bytes) -> int:
        """Of how many feeds of a node nothing is held but ranges that begin too late."""
        return int(self._run("SELECT count(*) FROM feeds WHERE node=? AND held_seq=0", (node,)).get)

    def share_of(self, number: int, first: int, last: int) -> int:
        """What some held operations of a feed count towards their author's quota."""
        total = f"SELECT coalesce(sum({SHARE_WEIGHT}), 0) FROM ops WHERE feed=? AND seq BETWEEN ? AND ?"
        return int(self._run(total, (number, first, last)).get)

    def step(self, number: int, seq: int) -> tuple[int, int]:
        """Stamp of a held operation, and what it counts towards the quota."""
        hlc, share = self._run(f"SELECT hlc, {SHARE_WEIGHT} FROM ops WHERE feed=? AND seq=?", (number, seq)).get
        return hlc, share

    def greatest_stamp(self, most: int = HLC_MAX) -> int:
        """The greatest stamp that counts, of those up to `most`."""
        return int(self._run("SELECT coalesce(max(hlc), 0) FROM feeds WHERE hlc<=?", (most,)).get)

    def by_tag(self, tag: bytes) -> list[tuple[FeedRow, OpRow]]:
        """Every held operation with this tag, accepted or not. Erased ones are found too."""
        prefix = signed_prefix(tag)
        found = self._run(
            "SELECT op, feed, seq, hlc, kind, body FROM ops WHERE key=?1 AND kind=1"
            " UNION ALL SELECT op, feed, seq, hlc, kind, body FROM ops WHERE tag=?1",
            (prefix,),
        ).fetchall()
        matches = []
        for row in map(OpRow._make, found):
            feed = self.numbered(row.feed)
            if tag_of(feed.feed.node, self.link(row).body_hash) == tag:
                matches.append((feed, row))
        return matches

    def is_accepted(self, tag: bytes) -> bool:
        """Whether some operation with this tag counts, and is not ignored by the fold."""
        return any(
            row.seq <= feed.accepted.seq and self._run("SELECT 1 FROM ignored WHERE op=?", (row.op,)).get is None
            for feed, row in self.by_tag(tag)
        )

    def vector(self) -> Vector:
        """The accepted head of every feed."""
        return Vector((row.feed, row.accepted) for row in self.all())

    def rows(self, number: int, first: int, last: int) -> Iterator[OpRow]:
        """The held operations of a feed, in order."""
        found = self._run(
            "SELECT op, feed, seq, hlc, kind, body FROM ops WHERE feed=? AND seq BETWEEN ? AND ? ORDER BY seq",
            (number, first, last),
        )
        return map(OpRow._make, found)

    def link(self, row: OpRow) -> Link:
        """An operation as the chain sees it."""
        if row.body is not None:
            return Link(row.hlc, row.kind, row.body, digest(row.body))
        return Link(row.hlc, row.kind, None, self.erased_hash(row.op))

    def erased_hash(self, op: int) -> bytes:
        """What is left of an erased body."""
        value = self._run("SELECT body_hash FROM erased_bodies WHERE op=?", (op,)).get
        assert isinstance(value, bytes)
        return value

    def hash_at(self, row: FeedRow, seq: int) -> bytes:
        """The chain's hash after operation `seq`: from the nearest point before it, hashing on."""
        for head in (row.held, row.accepted):
            if seq == head.seq:
                return head.hash
        start, value = self._point_before(row, seq)
        for op in self.rows(row.number, start + 1, seq):
            link = self.link(op)
            value = link_hash(value, link.hlc, link.kind, link.body_hash)
        return value

    def accepted_until(self, row: FeedRow, hlc: int) -> Head:
        """The last accepted operation that is stamped no later."""
        found = self._run(
            "SELECT coalesce(max(seq), 0) FROM ops WHERE feed=? AND seq<=? AND hlc<=?",
            (row.number, row.accepted.seq, hlc),
        ).get
        return Head(found, self.hash_at(row, found))

    def add_point(self, number: int, seq: int, head: bytes, signature: bytes) -> None:
        """Keep a signed point, and drop the one before it if that leaves points close enough together.

        Without this, single writes would keep 106 bytes of point beside every operation.
        """
        before = self._run(
            "SELECT seq FROM points WHERE feed=? AND seq<? ORDER BY seq DESC LIMIT 2", (number, seq)
        ).fetchall()
        earlier = before[1][0] if len(before) > 1 else 0
        if before and seq - earlier <= POINT_SPACING and self._fits(number, earlier + 1, seq):
            self._run("DELETE FROM points WHERE feed=? AND seq=?", (number, before[0][0]))
        self._run("INSERT OR IGNORE INTO points VALUES(?,?,?,?)", (number, seq, head, signature))

    def points(self, number: int) -> list[tuple[int, bytes, bytes]]:
        """Every kept point of a feed: seq, hash, signature."""
        return list(self._run("SELECT seq, hash, signature FROM points WHERE feed=? ORDER BY seq", (number,)))

    def ranges(self, row: FeedRow, after: int) -> Iterator[Range]:
        """All held operations behind `after`, in ranges as large as allowed that end at signed points."""
        prev = self.hash_at(row, after)
        while after < row.held.seq:
            item = self.next_range(row, after, prev)
            yield item
            after, prev = item.last, item.head

    def next_range(self, row: FeedRow, after: int, prev: bytes, *, shortest: bool = False) -> Range:
        """The range from `after` to the furthest point it can reach (or to the nearest one)."""
        points = {
            seq: (head, signature) for seq, head, signature in self._points_behind(row.number, after, nearest=shortest)
        }
        if not points:
            raise _no_point(row, after)
        links: list[Link] = []
        best, heavy = 0, ENVELOPE_WEIGHT
        for op in self.rows(row.number, after + 1, min(max(points), after + RANGE_OPERATIONS)):
            heavy += weight(op.body)
            if heavy > RANGE_BYTES:
                break
            links.append(self.link(op))
            if op.seq in points:
                best = len(links)
        assert best, "consecutive points are never further apart than one range"
        del links[best:]
        signature = points[after + best][1]
        return Range(row.feed, after + 1, prev, links, chain(prev, links), signature)

    def encoded_after(self, row: FeedRow, after: Head, room: int = RANGE_BYTES) -> tuple[bytes, Head]:
        """The same range as `next_range`, as it travels, and where it ends; to the nearest point if `room` is less.

        Nothing is hashed: the point says its hash.
        """
        points = {seq: (head, sign) for seq, head, sign in self._points_behind(row.number, after.seq, nearest=False)}
        if not points:
            raise _no_point(row, after.seq)
        flat: list[object] = []
        best, heavy = 0, ENVELOPE_WEIGHT
        for op in self.rows(row.number, after.seq + 1, min(max(points), after.seq + RANGE_OPERATIONS)):
            heavy += weight(op.body)
            if heavy > RANGE_BYTES or (best and heavy > room):
                break
            flat += (op.hlc, op.kind, [self.erased_hash(op.op)] if op.body is None else op.body)
            if op.seq in points:
                best = op.seq
        assert best, "consecutive points are never further apart than one range"
        head, signature = points[best]
        del flat[3 * (best - after.seq) :]
        return pack_range(row.feed, after.seq + 1, after.hash, signature, flat), Head(best, head)

    def _points_behind(self, number: int, after: int, *, nearest: bool) -> list[tuple[int, bytes, bytes]]:
        return list(
            self._run(
                "SELECT seq, hash, signature FROM points WHERE feed=? AND seq>? AND seq<=? ORDER BY seq LIMIT ?",
                (number, after, after + RANGE_OPERATIONS, 1 if nearest else -1),
            )
        )

    def _point_before(self, row: FeedRow, seq: int) -> tuple[int, bytes]:
        found = self._run(
            "SELECT seq, hash FROM points WHERE feed=? AND seq<=? ORDER BY seq DESC LIMIT 1", (row.number, seq)
        ).fetchone()
        return (0, first_prev(self._mesh, row.feed)) if found is None else (found[0], found[1])

    def _fits(self, number: int, first: int, last: int) -> bool:
        """Whether these operations go into one range, by their `weight`."""
        heavy = self._run(
            "SELECT sum(20 + max(coalesce(length(body), 32), 32)) FROM ops WHERE feed=? AND seq BETWEEN ? AND ?",
            (number, first, last),
        ).get
        return int(heavy or 0) + ENVELOPE_WEIGHT <= RANGE_BYTES


def _no_point(row: FeedRow, after: int) -> HomeDamaged:
    return HomeDamaged(
        f"feed {row.feed} has no signature behind operation {after}", "keep a copy of the folder, then run: mesh repair"
    )


def _feed_row(row: tuple[Any, ...]) -> FeedRow:
    number, node, epoch, held_seq, held_hash, held_hlc, seq, head, hlc, *rest = row
    return FeedRow(
        number,
        Feed(node, int.from_bytes(epoch, "big")),
        Head(held_seq, held_hash),
        held_hlc,
        Head(seq, head),
        hlc,
        *rest,
    )
