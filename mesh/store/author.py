"""Writing to our own feed: epoch, stamps, totals, signature, receipt. Only this module signs operations.

Append before gossip: when a receipt is given the operations are on disk, and no peer has seen them before.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from mesh.core import clock, operation
from mesh.core.draft import Assignment, Draft, Increment, NewRecord, Removal, Republished
from mesh.core.errors import UsageError
from mesh.core.feed import Link, batches, sign_range
from mesh.core.identity import Identity, new_epoch
from mesh.core.ids import Feed, digest, tag_of
from mesh.core.limits import (
    OPERATION_BYTES,
    SALT_BYTES,
    TAGS_PER_BODY,
    TEXT_CHARS,
    TOTAL_MAX,
)
from mesh.core.operation import Add, Body, Count, Ignored, Remove, Set, encode, kind_of, parse
from mesh.core.trust import Trust
from mesh.core.tuples import NamedTuple
from mesh.store.database import Run
from mesh.store.doorbell import ANYTHING, OWN_FEED
from mesh.store.feeds import FeedRow
from mesh.store.marker import Marker
from mesh.store.outcome import Outcome
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
        pen = _Pen(self, row)
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
        feed = Feed(self._identity.public, new_epoch(os.urandom(32)))
        self._put("epoch", feed.epoch.to_bytes(8, "big"))
        return self.store.feeds.open(feed), why

    def _doubt(self, row: FeedRow, trust: Trust) -> str:
        """Why it is not safe to write on in a feed, if so."""
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


class _Pen:
    """Turns drafts into links of one feed, one after the other: stamps and totals go on from draft to draft."""

    def __init__(self, author: Author, row: FeedRow) -> None:
        self._author = author
        self._row = row
        self._now = author.store.clock()
        self._stamp = author.last_stamp(row)
        self._totals: dict[str, int] = {}
        self.links: list[Link] = []

    def write(self, drafts: Sequence[Draft]) -> None:
        """All drafts of a batch, or none if one cannot be written."""
        if not drafts:
            raise UsageError("nothing to write", "give at least one record")
        links, totals, stamp = [], dict(self._totals), self._stamp
        for draft in drafts:
            written = draft.at if isinstance(draft, Republished) else 0
            stamp = clock.tick(max(stamp, written - 1), self._now)
            kind, body = self._body(draft, stamp, totals)
            links.append(Link(stamp, kind, body, digest(body)))
        self._totals, self._stamp = totals, stamp
        self.links += links

    def _body(self, draft: Draft, stamp: int, totals: dict[str, int]) -> tuple[int, bytes]:
        body: Body
        match draft:
            case Republished(kind=kind, body=raw):
                return kind, raw
            case NewRecord(log=log, record=record):
                body = Add(stamp, log, record)
            case Removal(tags=tags, reason=reason):
                body = Remove(sorted(set(tags)), reason)
            case Assignment(target=target, field=field, value=value):
                body = Set(stamp, target, field, value)
            case Increment(key=key, amount=amount):
                _require_increment(key, amount)
                if key not in totals:
                    totals[key] = self._author.total(self._row, key)
                totals[key] += amount
                body = Count(key, totals[key])
        return kind_of(body), _checked(body, stamp)


def _require_increment(key: str, amount: int) -> None:
    """Before the total is looked up under it: a key must be a text that can be written at all."""
    if not operation.is_text(key) or not key:
        raise UsageError("this cannot be written: not a key", _HINTS["not a key"])
    if type(amount) is not int or amount < 1:
        raise UsageError("a counter only grows", "count by 1 or more")
    try:
        key.encode()
    except UnicodeError as error:
        raise UsageError(f"this cannot be written: {error}") from error


def _checked(body: Body, stamp: int) -> bytes:
    """Encode a body of ours and read it back as any peer will: what they would ignore is not written."""
    if isinstance(body, Count) and body.total > TOTAL_MAX:
        raise UsageError(f"the counter {body.key!r} cannot grow beyond {TOTAL_MAX}", "count under another key")
    if isinstance(body, Remove) and len(body.tags) > TAGS_PER_BODY:
        raise UsageError(f"at most {TAGS_PER_BODY} records can be removed at once", "repeat the command with fewer")
    try:
        raw = encode(body, os.urandom(SALT_BYTES))
    except (TypeError, ValueError, OverflowError, UnicodeError) as error:
        raise UsageError(
            f"this cannot be written: {error}", "use whole characters, and numbers of at most 64 bits"
        ) from error
    if len(raw) > OPERATION_BYTES:
        raise UsageError(
            f"this is {len(raw)} bytes; one operation holds at most {OPERATION_BYTES}",
            "split the text, or keep it in a file and record where it is",
        )
    parsed = parse(operation.kind_of(body), stamp, raw)
    if isinstance(parsed, Ignored):
        raise UsageError(f"this cannot be written: {parsed.reason}", _HINTS.get(parsed.reason, ""))
    return raw


_SHORT = f"it is a text of 1 to {TEXT_CHARS} characters"
_HINTS = {
    "not a log name": "a log is named by up to 64 of a-z 0-9 . _ -",
    "not a record": "a record holds texts, finite numbers, true, false, null, and lists or objects of them, eight deep at most",
    "not a value": "a value is a text, a finite number, true, false, null, or a list or object of them, eight deep at most",
    "not a key": _SHORT,
    "not a field": _SHORT,
    "not a target": _SHORT,
    "not a reason": f"a reason has at most {TEXT_CHARS} characters",
    "not a list of tags": "name at least one record",
    "not a total": f"counters go up to {TOTAL_MAX}",
}
