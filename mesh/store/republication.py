"""Writing again what this node wrote while its clock was ahead, and what a fork cut off.

Everyone else holds such operations back until their time comes, and all that follows them in the feed. So the feed ends
before the first of them, by a fork that its author makes on purpose: an end that every node knows and that never goes
away. What was behind it is written again in a new feed with the time it is, each with a counter whose name says which
operation replaces which: a counter can be neither taken back nor erased. Nothing is signed into a feed here: that is `author`.
"""

from __future__ import annotations

import os
from collections.abc import Container, Iterator, Sequence
from time import gmtime, strftime
from typing import Any, NamedTuple

import apsw

from mesh.core import clock
from mesh.core.clock import EARLIEST_MS, milliseconds
from mesh.core.draft import Assignment, Draft, Increment, NewRecord, Removal, Republished
from mesh.core.errors import ClockInDoubt, UsageError
from mesh.core.feed import Link, chain, decode_range, sign_range
from mesh.core.identity import Identity
from mesh.core.ids import KEY_BYTES, Feed, digest, parse_id, tag_of, text_id
from mesh.core.limits import SALT_BYTES
from mesh.core.operation import ADD, COUNT, Add, Count, Remove, Set, counter_key, encode, parse
from mesh.core.statement import Fork, Statement, fork_between
from mesh.core.trust import Trust
from mesh.store.database import Run
from mesh.store.feed_encoder import FeedEncoder
from mesh.store.feeds import FeedRow, Feeds
from mesh.store.quarantine import Quarantine
from mesh.store.store import Store

PREFIX, _AFTER = "restamped/", "restamped0"  # names of counters: PREFIX old/new (hashes of bodies), PREFIX feed/ID
DAY_MS = 86_400_000  # a feed that is ended costs every node a statement for ever: one a day at most
_NO_KIND = 0  # the fold passes over it


class Restamped(NamedTuple):
    """What was written again."""

    operations: int
    feeds: int  # that were ended for it
    left: int  # that could not be written again: they count once their time comes


class Ahead(NamedTuple):
    """A feed of ours that goes on beyond the clock, and where it begins to."""

    row: FeedRow
    first: int


def feeds_ahead(store: Store, node: bytes, horizon: int) -> list[Ahead]:
    """The feeds of a node that count, or would, beyond a stamp."""
    run = store.database.run
    found = []
    for row in store.feeds.of_node(node):
        if row.held_hlc <= horizon:
            continue
        cut = store.trust().cut(row.feed)
        last = row.held.seq if cut is None else min(cut.seq, row.held.seq)
        if _stamp_of(run, row, last) > horizon:  # stamps increase along a feed
            first = run("SELECT min(seq) FROM ops WHERE feed=? AND hlc>?", (row.number, horizon)).get
            found.append(Ahead(row, first))
    return found


def stamp_ahead(store: Store) -> int:
    """The greatest stamp here, if it is more than five minutes ahead of the clock; else 0."""
    horizon = clock.horizon(store.clock())
    greatest = int(store.database.run("SELECT coalesce(max(hlc), 0) FROM feeds").get)
    own = [] if store.own is None else feeds_ahead(store, store.own, horizon)
    last = max([greatest, *(item.row.held_hlc for item in own)])
    return last if last > horizon else 0


def ending(store: Store, identity: Identity, ahead: Ahead) -> Statement:
    """The proof that ends a feed: we have signed a second operation for the place of the first that is ahead."""
    row, first = ahead
    prev = store.feeds.hash_at(row, first - 1)
    body = os.urandom(SALT_BYTES)
    link = Link(_stamp_of(store.database.run, row, first - 1) + 1, _NO_KIND, body, digest(body))
    second = sign_range(store.mesh, identity, row.feed, first, prev, [link])
    return fork_between(store.feeds.next_range(row, first - 1, prev, shortest=True), second, first)


def is_of_a_clock(fork: Fork) -> bool:
    """Whether a feed was ended because a clock had been ahead: its author writes again what came after."""
    return any(side.links[0][1] == _NO_KIND for side in (fork.one, fork.other))


def write_again(
    encoder: FeedEncoder, lost: Sequence[Republished], ended: Sequence[Feed], horizon: int
) -> tuple[dict[bytes, bytes], int]:
    """Write what was lost through the encoder, with the encoder's stamps where its own are ahead, and which replaces which.

    Returns the new tag of each old one, and how many could not be written. Records come first: edits and removals name them.
    """
    node = ended[0].node
    names: dict[bytes, bytes] = {}
    ids: dict[str, str] = {}  # the same as texts, as records name each other
    left = 0
    encoder.write([Increment(f"{PREFIX}feed/{feed.encode().hex()}") for feed in ended])
    for draft in sorted(lost, key=lambda item: item.kind != ADD):
        renewed = _renewed(draft, horizon, names, ids)
        try:
            encoder.write([renewed])
        except UsageError:  # by rules that were others when it was written
            left += 1
            continue
        if renewed is not draft:
            old, new = digest(draft.body), encoder.links[-1].body_hash
            before, after = tag_of(node, old), tag_of(node, new)
            names[before], ids[text_id(before)] = after, text_id(after)
            encoder.write([Increment(f"{PREFIX}{text_id(old)}/{text_id(new)}")])
    return names, left


def restamped(connection: apsw.Connection) -> Iterator[tuple[bytes, bytes, bytes]]:
    """Author, old tag and new tag of everything that was written again. Hashes of bodies: nobody can name another's records."""
    for node, names in _counted(connection):
        try:
            old, new = map(parse_id, names)
        except (UsageError, ValueError):
            continue  # of a feed, or somebody's joke
        yield node, tag_of(node, old), tag_of(node, new)


def ended_feeds(connection: apsw.Connection, node: bytes) -> set[str]:
    """The feeds, in hexadecimal, of which a node says that it has written again what was behind their end."""
    return {names[1] for author, names in _counted(connection) if author == node and names[0] == "feed"}


def _counted(connection: apsw.Connection) -> Iterator[tuple[bytes, tuple[str, str]]]:
    """Of each counter of ours its author and the two words of its name."""
    run: Run = connection.execute
    for key, slot in run("SELECT key, slot FROM counters WHERE key>? AND key<?", (PREFIX, _AFTER)):
        first, _, second = key.removeprefix(PREFIX).partition("/")
        yield slot[:KEY_BYTES], (first, second)


def replacements(connection: apsw.Connection, node: bytes) -> dict[bytes, bytes]:
    """Old tag to new tag of what one node has written again."""
    return {old: new for author, old, new in restamped(connection) if author == node}


def with_counterparts(connection: apsw.Connection, authors: dict[bytes, bytes]) -> dict[bytes, bytes]:
    """Tags and their authors, and with each tag the one it was written again as, or replaces."""
    found = dict(authors)
    beside: dict[bytes, list[bytes]] = {}
    known: dict[bytes, bytes] = {}
    for node, old, new in restamped(connection):
        beside.setdefault(old, []).append(new)
        beside.setdefault(new, []).append(old)
        known[old] = known[new] = node
    due = list(authors)
    while due:
        for tag in beside.get(due.pop(), ()):
            if tag not in found:
                found[tag] = known[tag]
                due.append(tag)
    return found


def refusal(store: Store, last: int) -> ClockInDoubt:
    """Why nothing is written, and what helps."""
    now_ms = store.clock()
    times = f"the last operation here is stamped {shown(milliseconds(last))}, but the clock says {shown(now_ms)}"
    if now_ms < EARLIEST_MS:
        return ClockInDoubt(
            f"{times}, so it was never set; nothing was written",
            "set the clock, or wait until the network has set it, and repeat the command",
        )
    before = mended_today(store)
    if before:
        return ClockInDoubt(
            f"{times}. That was mended once today already, at {shown(before)}, and is done once a day at most; nothing was written",
            f"keep the clock right (a time service does); writing goes on after {shown(before + DAY_MS)}",
        )
    return ClockInDoubt(
        f"{times}: one of them is wrong, so nothing was written",
        "set the clock if it is wrong. If it is right, a node that runs (mesh up) settles it by a linked peer's clock, or you do: mesh repair --clock",
    )


def mended_today(store: Store) -> int:
    """When the clock's doings were last put in order, if that is less than a day ago; else 0."""
    before = store.database.run("SELECT value FROM meta WHERE key='restamped_ms'").get
    return before if before is not None and abs(store.clock() - before) < DAY_MS else 0


def not_admitted(store: Store, last: int) -> ClockInDoubt:
    """Why nothing is written again yet: the word of who is no member ends no feed."""
    return ClockInDoubt(
        f"{refusal(store, last)}; and this node is not admitted yet, so it cannot mend that",
        "join the mesh first: mesh join TOKEN",
    )


def shown(at_ms: int) -> str:
    """A time as it stands in messages."""
    return strftime("%Y-%m-%d %H:%M UTC", gmtime(at_ms // 1000))


def _renewed(draft: Republished, horizon: int, names: dict[bytes, bytes], ids: dict[str, str]) -> Draft:
    """A lost operation as it is written now; as it was, if its own time is not ahead and it names nothing that has a new name."""
    body = parse(draft.kind, max(draft.at, 1), draft.body)
    match body:
        case Add(log=log, record=record) if draft.at > horizon:
            return NewRecord(log, _renamed(record, ids))
        case Set(target=target, field=field, value=value) if draft.at > horizon:
            known = names.get(target, target) if isinstance(target, bytes) else target
            return Assignment(known, field, _renamed(value, ids))
        case Remove(tags=tags, reason=reason) if names.keys() & tags:
            return Removal(tuple(names.get(tag, tag) for tag in tags), reason)
        case _:
            return draft


def _renamed(value: Any, ids: dict[str, str]) -> Any:
    """A value in which records that are written again go by their new ids."""
    if isinstance(value, str):
        return ids.get(value, value)
    if isinstance(value, dict):
        return {key: _renamed(item, ids) for key, item in value.items()}
    if isinstance(value, list):
        return [_renamed(item, ids) for item in value]
    return value


def _stamp_of(run: Run, row: FeedRow, seq: int) -> int:
    return int(run("SELECT hlc FROM ops WHERE feed=? AND seq=?", (row.number, seq)).get or 0)


class _ForkedOperation(NamedTuple):
    """One operation of a forked feed, with the hashes before and after it."""

    seq: int
    before: bytes
    link: Link


class Losses:
    """Collects within whatever transaction the connection is in."""

    def __init__(self, connection: apsw.Connection, mesh: bytes, feeds: Feeds, quarantine: Quarantine) -> None:
        self._connection = connection
        self._mesh = mesh
        self._feeds = feeds
        self._quarantine = quarantine
        self.is_waiting = False  # for another copy of us to say what it has written again

    def collect(self, trust: Trust, node: bytes, only: Container[Feed] | None = None) -> list[Republished]:
        """Everything of ours behind a fork that counts nowhere yet. Nothing if we are revoked. `only`: of these feeds."""
        if node in trust.revoked:
            return []

        replaced = replacements(self._connection, node)
        told = ended_feeds(self._connection, node)
        self.is_waiting = False
        drafts: dict[bytes, Republished] = {}
        for feed, fork in trust.forks.items():
            row = self._feeds.find(feed)
            if feed.node != node or row is None or (only is not None and feed not in only):
                continue
            if only is None and is_of_a_clock(fork) and feed.encode().hex() not in told:
                self.is_waiting = True  # another copy of us has ended it, and what it has written again is on its way
            else:
                for draft in self._lost(row, fork):
                    drafts[tag_of(node, digest(draft.body))] = draft
        return [draft for tag, draft in drafts.items() if tag not in replaced and not self._feeds.is_accepted(tag)]

    def _lost(self, row: FeedRow, fork: Fork) -> Iterator[Republished]:
        steps = self._steps(row, fork)
        for after, step in sorted(steps.items(), key=lambda item: (item[1].seq, item[0])):
            body = step.link.body
            if step.seq < fork.first or body is None:
                continue
            parsed = parse(step.link.kind, step.link.hlc, body)
            if isinstance(parsed, Count) and parsed.origin is None:
                added = self._added(row, fork, steps, step, parsed)
                if added is not None:
                    again = Count(parsed.key, added, after)
                    # The salt is taken from the hash, so that every copy of us writes the same bytes.
                    yield Republished(COUNT, encode(again, after[:SALT_BYTES]), 0)
            else:
                yield Republished(step.link.kind, body, parsed.at if isinstance(parsed, Add | Set) else 0)

    def _steps(self, row: FeedRow, fork: Fork) -> dict[bytes, _ForkedOperation]:
        """Both branches, as far as they are here: hash after an operation to the operation."""
        steps: dict[bytes, _ForkedOperation] = {}
        if self._feeds.hash_at(row, min(fork.first - 1, row.held.seq)) == fork.prev:
            links = [self._feeds.link(op) for op in self._feeds.rows(row.number, fork.first, row.held.seq)]
            _add_steps(steps, fork.first, fork.prev, links)
        for stray in self._quarantine.strays(row):
            item = decode_range(self._mesh, stray.data)
            _add_steps(steps, item.first, item.prev, list(item.links))
        return steps

    def _added(
        self, row: FeedRow, fork: Fork, steps: dict[bytes, _ForkedOperation], step: _ForkedOperation, count: Count
    ) -> int | None:
        """How much one count operation added: its total less the one before it in its own chain."""
        at: _ForkedOperation | None = step
        while at is not None and at.before != fork.prev:
            at = steps.get(at.before)
            if at is not None and at.link.body is not None and at.link.kind == COUNT:
                earlier = parse(COUNT, at.link.hlc, at.link.body)
                if isinstance(earlier, Count) and earlier.key == count.key and earlier.origin is None:
                    return count.total - earlier.total or None
        if at is None:
            return None  # a part of that branch is missing here; another copy of us, or a later import, has it
        return count.total - own_total(self._connection, row, count.key, fork.first - 1) or None


def own_total(connection: apsw.Connection, row: FeedRow, key: str, last: int) -> int:
    """A feed's own running total for a key after operation `last`, read from its operations."""
    run: Run = connection.execute
    found = run(
        "SELECT hlc, body FROM ops WHERE key=? AND kind=? AND feed=? AND seq<=? ORDER BY op DESC",
        (counter_key(key), COUNT, row.number, last),
    )
    for hlc, body in found:
        parsed = parse(COUNT, hlc, body)
        if isinstance(parsed, Count) and parsed.key == key and parsed.origin is None:
            return parsed.total
    return 0


def _add_steps(steps: dict[bytes, _ForkedOperation], first: int, prev: bytes, links: list[Link]) -> None:
    for offset, (link, after) in enumerate(zip(links, chain(prev, links), strict=True)):
        steps.setdefault(after, _ForkedOperation(first + offset, prev, link))
        prev = after
