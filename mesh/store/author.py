"""Writing to our own feed: epoch, stamps, totals, signature, receipt. Only this module signs operations.

Append before gossip: when a receipt is given the operations are on disk, and no peer has seen them before.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from mesh.core import clock
from mesh.core.draft import Draft, Request
from mesh.core.errors import ClockInDoubt, MayNotWrite, TooManyFeeds, UsageError
from mesh.core.feed import batches, sign_range
from mesh.core.identity import Identity, new_epoch
from mesh.core.ids import Feed, signed_prefix, tag_of
from mesh.core.limits import HLC_MAX, TAGS_PER_BODY
from mesh.core.member_limits import feed_limit
from mesh.core.operation import ADD, PAGE
from mesh.core.statement import Erase, sign
from mesh.core.trust import Trust
from mesh.store import republication
from mesh.store.acceptance import TOO_MANY_FEEDS
from mesh.store.database import Run
from mesh.store.feed_encoder import Allowance, FeedEncoder
from mesh.store.feed_progress import FeedProgress
from mesh.store.feeds import FeedRow
from mesh.store.merge_outcome import Merged, Outcome
from mesh.store.receipts import Receipt, Receipts
from mesh.store.republication import Losses, Restamped, own_total, replacements, with_counterparts
from mesh.store.store import BEHIND, RIGHT, Store
from mesh.store.wake_signal import ANYTHING, OWN_FEED


class Author:
    """The one who may extend this node's feeds."""

    def __init__(
        self, store: Store, identity: Identity, progress: FeedProgress, tell: Callable[[bytes], None] = lambda _: None
    ) -> None:
        """`tell`: called after each commit of ours, to pass it on."""
        self.store = store
        self._tell = tell
        self._identity = identity
        self._progress = progress
        self._upcoming: int | None = None  # the epoch of a feed that is promised and not opened yet
        self._left: int | None = None  # the epoch of a feed that we do not go on in
        self._run: Run = store.database.connection.execute
        self._losses = Losses(store.database.connection, store.mesh, store.feeds, store.quarantine)
        self._receipts = Receipts(store.database.connection, store.clock)

    def earlier(self, request: Request) -> Receipt | None:
        """What a request has written already, if it has. An error if that was something else."""
        return self._receipts.find(request)

    @property
    def may_write(self) -> bool:
        """Whether what we write may ever count: for who works in the background, and need not try."""
        return self._refusal(self.store.trust()) is None

    def require_may_write(self) -> None:
        """Raises MayNotWrite if nothing of ours ever counts: for who has much to do before it writes."""
        refusal = self._refusal(self.store.trust())
        if refusal is not None:
            raise refusal

    def append(self, drafts: Sequence[Draft], request: Request | None = None, *, is_bulk: bool = False) -> Receipt:
        """Write one batch: all of it or nothing, on disk when this returns. What the request has written before is not written again.

        `is_bulk`: one of many that a machine writes, a harvest or an import. Those leave half the quota to what is written live.
        """
        (result,) = self.append_each([drafts], [request], is_bulk=is_bulk)
        if isinstance(result, UsageError):
            raise result
        return result

    def append_each(
        self,
        batches: Sequence[Sequence[Draft]],
        requests: Sequence[Request | None] = (),
        *,
        is_bulk: bool = False,
    ) -> list[Receipt | UsageError]:
        """Several writers' batches in one transaction with one sync and one signature.

        One that cannot be written spoils no other. `requests`: one a batch, or none at all. `is_bulk`: see `append`.
        """
        write = partial(self._append_each, is_bulk=is_bulk)
        descriptor = self._progress.open()
        try:
            with self.store.database.locked():
                with self.store.database.transaction(durable=True):
                    self._pay_republication()
                    results = self._receipts.once(batches, requests or [None] * len(batches), write)
                self._mark(descriptor)
        except ClockInDoubt:
            self._tell(ANYTHING)  # a sidecar may know by now which is right, and put it in order
            raise
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
        if any(isinstance(outcome, Merged) for outcome in outcomes):
            self._erase_counterparts()
        self.republish()
        self._tell(ANYTHING)
        return outcomes

    def republish(self) -> None:
        """Write again, in a new epoch, what a fork of our own feed took out of both its branches."""
        if self._run("SELECT 1 FROM meta WHERE key='republish'").get is not None:
            self.append_each([])

    def restamp(self) -> Restamped | None:
        """Write again, with the time it is, what we wrote while our clock was ahead. None if there is nothing of that sort.

        For who knows that the clock is right now. What others wrote ahead of it is theirs to mend.
        """
        descriptor = self._progress.open()
        try:
            with self.store.database.locked():
                with self.store.database.transaction(durable=True):
                    done = self._restamp()
                self._mark(descriptor)
        finally:
            os.close(descriptor)
        if done is not None:
            self._tell(ANYTHING)
        return done

    def _restamp(self) -> Restamped | None:

        store, node, now = self.store, self._identity.public, self.store.clock()
        horizon = clock.horizon(now)
        last = republication.stamp_ahead(store)
        if last and now < clock.EARLIEST_MS:
            raise republication.refusal(store, last)
        ahead = republication.feeds_ahead(store, node, horizon)
        if not ahead or node in store.trust().revoked:
            return None
        if republication.mended_today(store):
            raise republication.refusal(store, last)
        proofs = [republication.ending(store, self._identity, item) for item in ahead]
        if not all(map(store.trust().entitled, proofs)):
            raise republication.not_admitted(store, last)
        store.take(proofs)
        trust, ended = store.trust(), [item.row.feed for item in ahead]
        lost = self._losses.collect(trust, node, ended)
        known, _ = self._known_feed(trust)
        stamp = self._last_stamp(known, clock_is_right=True)
        row = known or self._open_feed()
        encoder = FeedEncoder(self, row, stamp, None)  # what it replaces counts no more
        names, left = republication.write_again(encoder, lost, ended, horizon)
        for old, new in names.items():  # a file of a page stays the file of the same page
            self._run("UPDATE page_files SET page=? WHERE page=?", (new, old))
        self._commit(row, encoder, trust)
        self._put("restamped_ms", now)
        return republication.Restamped(len(lost) - left, len(ahead), left)

    def _erase_counterparts(self) -> None:
        """What was written again is one record under two tags: erased under one of them, it goes under both."""
        store, node = self.store, self._identity.public
        names = replacements(store.database.connection, node)
        if not names:
            return
        trust = store.trust()
        gone = {tag for pair in names.items() for tag in pair if trust.is_erased(tag, node, ADD)}
        due = sorted(with_counterparts(store.database.connection, dict.fromkeys(gone, node)).keys() - gone)
        for start in range(0, len(due), TAGS_PER_BODY):
            tags = tuple(due[start : start + TAGS_PER_BODY])
            fact = Erase(node, store.clock(), tags, "it was written under another id too, which was erased")
            store.merge_statements([sign(store.mesh, self._identity, fact).encode()])

    def _refusal(self, trust: Trust) -> MayNotWrite | None:
        """Why nothing that we write would ever count, if so. Of a node that is not admitted yet it may."""
        node = self._identity.public
        if node in trust.revoked:
            return MayNotWrite(
                "this node was revoked: what it writes counts nowhere",
                "join anew with another home: mesh init --home DIR",
            )
        if trust.certified(node) and not trust.may_write(node):
            return MayNotWrite(
                "this node was invited as a reader: what it writes counts nowhere",
                "keep it here alone, with --private where the command has it; or join anew, with another home and a token that is"
                " made on an admin's node: mesh invite --role writer",
            )
        return None

    def _append_each(self, batches: Sequence[Sequence[Draft]], *, is_bulk: bool = False) -> list[Receipt | UsageError]:
        if not batches:
            return []
        self.require_may_write()
        trust = self.store.trust()
        known, why = self._known_feed(trust)
        stamp = self._last_stamp(known)  # may refuse, so before a feed is opened
        row = known or self._open_feed()
        self._require_room(row)
        encoder = FeedEncoder(self, row, stamp, self._allowance(trust, is_bulk=is_bulk))
        places: list[tuple[int, int] | UsageError] = []
        for drafts in batches:
            before = len(encoder.links)
            try:
                encoder.write(drafts)
                places.append((before, len(encoder.links)))
            except UsageError as error:
                places.append(error)
        first = row.held.seq + 1
        row = self._commit(row, encoder, trust)
        tags = [tag_of(row.feed.node, link.body_hash) for link in encoder.links]
        counts = row.accepted.seq == row.held.seq
        return [
            place
            if isinstance(place, UsageError)
            else Receipt(row.feed, first + place[0], tuple(tags[slice(*place)]), counts, why)
            for place in places
        ]

    def _commit(self, row: FeedRow, encoder: FeedEncoder, trust: Trust) -> FeedRow:
        store, done = self.store, 0
        for batch in batches(encoder.links):
            signed = sign_range(store.mesh, self._identity, row.feed, row.held.seq + 1, row.held.hash, batch)
            behind = row.accepted.seq == row.held.seq
            row, fresh = store.feeds.extend(row, signed, trust, encoder.parsed[done : done + len(batch)])
            done += len(batch)
            row, _ = store.acceptance().settle(row, fresh if behind else None, unsaved=True)
        store.weigh_erases()
        self._put("own_seq", row.held.seq)
        return row

    def _known_feed(self, trust: Trust) -> tuple[FeedRow | None, str]:
        """The feed to go on in. None if there is none yet, or if this home may have lost part of it: then, why."""
        epoch = self._get("epoch")
        row = (
            None if epoch is None else self.store.feeds.find(Feed(self._identity.public, int.from_bytes(epoch, "big")))
        )
        if row is None:
            return None, ""
        why = self._doubt(row, trust)
        return (None if why else row), why

    def _allowance(self, trust: Trust, *, is_bulk: bool) -> Allowance | None:
        """How much more this node may write by now; None if nobody counts it."""
        if not trust.is_limited:
            return None
        store, node = self.store, self._identity.public
        now = store.clock()
        quota, free = trust.quota(node), trust.allowance(node, now) - store.feeds.held_weight(node)
        return Allowance(free, trust.next_allowance_ms(node, now), quota, quota // 2 if is_bulk else 0)

    def _require_room(self, row: FeedRow) -> None:
        """Refuse to write on in a feed that is beyond what its node may have: copies of this home have opened earlier ones."""
        if self.store.acceptance().allowed(row)[1] == TOO_MANY_FEEDS:
            raise TooManyFeeds(self._feed_limit())

    def _feed_limit(self) -> int:
        return feed_limit(self.store.clock(), self.store.trust().certified_ms(self._identity.public))

    def _open_feed(self) -> FeedRow:
        trust, node = self.store.trust(), self._identity.public
        if trust.is_limited and self.store.feeds.count_of(node) >= (most := self._feed_limit()):
            raise TooManyFeeds(most)
        upcoming, self._upcoming = self._upcoming, None
        feed = Feed(self._identity.public, new_epoch(os.urandom(32)) if upcoming is None else upcoming)
        self._put("epoch", feed.epoch.to_bytes(8, "big"))
        return self.store.feeds.open(feed)

    def _doubt(self, row: FeedRow, trust: Trust) -> str:
        """Why it is not safe to write on in a feed, if so."""
        if row.feed.epoch == self._left:
            return "what was written to a page there builds on what no longer counts"
        progress = self._progress.read()
        if progress is None:
            return "this home was not written on this machine before"
        if progress[0] != row.feed.epoch or progress[1] > row.held.seq:
            return "this home is older than it was"
        if row.held.seq != self._get("own_seq") or self.store.quarantine.strays(row):
            return "another copy of this node has written too"
        if row.feed in trust.forks:
            return "another copy of this node wrote to the same feed"
        return ""

    def _last_stamp(self, row: FeedRow | None, *, clock_is_right: bool = False) -> int:
        """The greatest stamp seen, by which ours must be greater. Refuses while it is ahead of a clock that may be wrong."""
        now = self.store.clock()
        horizon = clock.horizon(now)
        held = 0 if row is None else row.held_hlc
        last = max(held, self.store.feeds.greatest_stamp(HLC_MAX))
        if last <= horizon:
            return last

        verdict = self.store.peers_on_clock()
        if not clock_is_right:
            if verdict == BEHIND:
                return last  # a peer's clock is where the stamps are: others let in what goes on from there
            if verdict != RIGHT or republication.feeds_ahead(self.store, self._identity.public, horizon):
                raise republication.refusal(self.store, last)
        return max(held, self.store.feeds.greatest_stamp(horizon))  # what is ahead is somebody else's, and wrong

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
        try:
            if due and any(isinstance(result, UsageError) for result in self._append_each([due])):
                return  # beyond the quota: still owed
        except (ClockInDoubt, TooManyFeeds, MayNotWrite):
            return  # still owed; merging goes on meanwhile
        if len(due) == len(lost) and not self._losses.is_waiting:
            self._run("DELETE FROM meta WHERE key='republish'")

    def _mark(self, descriptor: int) -> None:
        epoch, seq = self._get("epoch"), self._get("own_seq")
        if epoch is not None and seq is not None:
            self._progress.write(descriptor, int.from_bytes(epoch, "big"), seq)

    def _get(self, key: str) -> Any:
        return self._run("SELECT value FROM meta WHERE key=?", (key,)).get

    def _put(self, key: str, value: bytes | int) -> None:
        self._run("INSERT OR REPLACE INTO meta VALUES(?,?)", (key, value))
