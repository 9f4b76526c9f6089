"""Writing to our own feed: epoch, stamps, totals, signature, receipt. Only this module signs operations.

Append before gossip: when a receipt is given the operations are on disk, and no peer has seen them before.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from mesh.core import clock
from mesh.core.draft import Draft
from mesh.core.errors import UsageError
from mesh.core.feed import Link, batches, sign_range
from mesh.core.identity import Identity, new_epoch
from mesh.core.ids import Feed, signed_prefix, tag_of
from mesh.core.operation import PAGE
from mesh.core.trust import Trust
from mesh.core.tuples import NamedTuple
from mesh.store.database import Run
from mesh.store.doorbell import ANYTHING, OWN_FEED
from mesh.store.feeds import FeedRow
from mesh.store.marker import Marker
from mesh.store.outcome import Outcome
from mesh.store.pen import Pen
from mesh.store.republish import Losses, own_total
from mesh.store.store import Store

TYPE_CHECKING = False  # see `mesh`
if TYPE_CHECKING:
    from typing import Any


class Receipt(NamedTuple):
    """What an append has made durable."""

    feed: Feed
    first: int
    tags: tuple[bytes, ...]  # one a draft
    counts: bool  # False while this node has no certificate: kept, but counting nowhere yet
    new_epoch: str = ""  # why a new feed was opened, if one was


class Author:
    """The one who may extend this node's feeds."""

    def __init__(
        self, store: Store, identity: Identity, marker: Marker, tell: Callable[[bytes], None] = lambda _: None
    ) -> None:
        """`tell`: called after each commit of ours, for whoever passes it on."""
        self.store = store
        self._tell = tell
        self._identity = identity
        self._marker = marker
        self._upcoming: int | None = None  # the epoch of a feed that is promised and not opened yet
        self._left: int | None = None  # the epoch of a feed that we do not go on in
        self._run: Run = store.database.connection.execute
        self._losses = Losses(store.database.connection, store.mesh, store.feeds, store.quarantine)

    def append(self, drafts: Sequence[Draft]) -> Receipt:
        """Write one batch: all of it or nothing, on disk when this returns."""
        (result,) = self.append_each([drafts])
        if isinstance(result, UsageError):
            raise result
        return result

    def append_each(self, batches: Sequence[Sequence[Draft]]) -> list[Receipt | UsageError]:
        """Several writers' batches in one transaction with one sync and one signature.

        One that cannot be written spoils no other.
        """
        descriptor = self._marker.open()
        try:
            with self.store.database.locked():
                with self.store.database.transaction(durable=True):
                    self._pay_republication()
                    results = self._append_each(batches)
                self._mark(descriptor)
        finally:
            os.close(descriptor)
        self._tell(OWN_FEED)
        return results

    def place(self) -> tuple[Feed, int]:
        """Where our next operation would stand: the feed, and its last operation. For who has to know before writing.

        Another process may open another feed first: what was built for this place is refused then.
        """
        epoch = self._get("epoch")
        if epoch is not None:
            row = self.store.feeds.find(Feed(self._identity.public, int.from_bytes(epoch, "big")))
            if row is not None and not self._doubt(row, self.store.trust()):
                return row.feed, row.held.seq
        if self._upcoming is None:
            self._upcoming = new_epoch(os.urandom(32))
        return Feed(self._identity.public, self._upcoming), 0

    def leave(self, epoch: int) -> None:
        """Do not go on in this feed, but in a new one: what it says of some page can't be continued."""
        self._left = epoch

    def merge_ranges(self, encoded: Sequence[bytes]) -> list[Outcome]:
        """Merge ranges, and write again what they show we lost."""
        outcomes = self.store.merge_ranges(encoded)
        self.republish()
        self._tell(ANYTHING)
        return outcomes

    def merge_statements(self, encoded: Sequence[bytes]) -> list[Outcome]:
        """Merge statements, and write again what they show we lost."""
        outcomes = self.store.merge_statements(encoded)
        self.republish()
        self._tell(ANYTHING)
        return outcomes

    def republish(self) -> None:
        """Write again, in a new epoch, what a fork of our own feed took out of both its branches."""
        if self._run("SELECT 1 FROM meta WHERE key='republish'").get is not None:
            self.append_each([])

    def _append_each(self, batches: Sequence[Sequence[Draft]]) -> list[Receipt | UsageError]:
        if not batches:
            return []
        trust = self.store.trust()
        if self._identity.public in trust.revoked:
            raise UsageError(
                "this node was revoked: what it writes counts nowhere",
                "join anew with another home: mesh init --home DIR",
            )
        row, why = self._own_feed(trust)
        pen = Pen(self, row)
        places: list[tuple[int, int] | UsageError] = []
        for drafts in batches:
            before = len(pen.links)
            try:
                pen.write(drafts)
                places.append((before, len(pen.links)))
            except UsageError as error:
                places.append(error)
        first = row.held.seq + 1
        row = self._commit(row, pen.links, trust)
        tags = [tag_of(row.feed.node, link.body_hash) for link in pen.links]
        counts = row.accepted.seq == row.held.seq
        return [
            place
            if isinstance(place, UsageError)
            else Receipt(row.feed, first + place[0], tuple(tags[slice(*place)]), counts, why)
            for place in places
        ]

    def _commit(self, row: FeedRow, links: list[Link], trust: Trust) -> FeedRow:
        store = self.store
        for batch in batches(links):
            signed = sign_range(store.mesh, self._identity, row.feed, row.held.seq + 1, row.held.hash, batch)
            behind = row.accepted.seq == row.held.seq
            row, fresh = store.feeds.extend(row, signed, trust)
            row, _ = store.acceptance().settle(row, fresh if behind else None, unsaved=True)
        self._put("own_seq", row.held.seq)
        return row

    def _own_feed(self, trust: Trust) -> tuple[FeedRow, str]:
        """The feed to go on in, or a new one if this home may have lost part of the old."""
        epoch = self._get("epoch")
        why = ""
        if epoch is not None:
            row = self.store.feeds.open(Feed(self._identity.public, int.from_bytes(epoch, "big")))
            why = self._doubt(row, trust)
            if not why:
                return row, ""
        upcoming, self._upcoming = self._upcoming, None
        feed = Feed(self._identity.public, new_epoch(os.urandom(32)) if upcoming is None else upcoming)
        self._put("epoch", feed.epoch.to_bytes(8, "big"))
        return self.store.feeds.open(feed), why

    def _doubt(self, row: FeedRow, trust: Trust) -> str:
        """Why it is not safe to write on in a feed, if so."""
        if row.feed.epoch == self._left:
            return "what was written to a page there builds on what no longer counts"
        marker = self._marker.read()
        if marker is None:
            return "this home was not written on this machine before"
        if marker[0] != row.feed.epoch or marker[1] > row.held.seq:
            return "this home is older than it was"
        if row.held.seq != self._get("own_seq") or self.store.quarantine.strays(row):
            return "another copy of this node has written too"
        if row.feed in trust.forks:
            return "another copy of this node wrote to the same feed"
        return ""

    def last_stamp(self, row: FeedRow) -> int:
        """The greatest stamp seen, by which ours must be greater."""
        return max(row.held_hlc, int(self._run("SELECT coalesce(max(hlc), 0) FROM feeds").get))

    def total(self, row: FeedRow, key: str) -> int:
        """Our feed's running total for a key."""
        if row.accepted.seq == row.held.seq:
            found = self._run("SELECT total FROM counters WHERE key=? AND slot=?", (key, row.feed.encode())).get
            return int(found or 0)
        return own_total(self.store.database.connection, row, key, row.held.seq)

    def has_written(self, row: FeedRow, page: bytes, after: int) -> bool:
        """Whether a feed of ours has an update of a page behind an operation."""
        found = self._run(
            "SELECT 1 FROM ops WHERE feed=? AND seq>? AND kind=? AND key=? LIMIT 1",
            (row.number, after, PAGE, signed_prefix(page)),
        ).get
        return found is not None

    def _pay_republication(self) -> None:
        if self._get("republish") is None:
            return
        lost = self._losses.collect(self.store.trust(), self._identity.public)
        # What a copy with a fast clock wrote keeps its time, so it can stand in no operation before that time comes.
        now = clock.horizon(self.store.clock())
        due = [draft for draft in lost if draft.at <= now]
        if due:
            self._append_each([due])
        if len(due) == len(lost):
            self._run("DELETE FROM meta WHERE key='republish'")

    def _mark(self, descriptor: int) -> None:
        epoch, seq = self._get("epoch"), self._get("own_seq")
        if epoch is not None and seq is not None:
            self._marker.write(descriptor, int.from_bytes(epoch, "big"), seq)

    def _get(self, key: str) -> Any:
        return self._run("SELECT value FROM meta WHERE key=?", (key,)).get

    def _put(self, key: str, value: bytes | int) -> None:
        self._run("INSERT OR REPLACE INTO meta VALUES(?,?)", (key, value))
