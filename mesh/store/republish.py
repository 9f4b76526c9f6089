"""What of our own was lost to a fork, as drafts to write again in a new epoch.

A fork of our own feed means that two copies of this node went on from one backup. Both branches are honest.
Records, edits and removals go out again byte for byte: their tags are the same, so twice is once. A count
goes out as what its operation had added, in a slot named by that operation's hash: also once.
"""

from __future__ import annotations

from collections.abc import Container, Iterator

import apsw

from mesh.core.draft import Republished
from mesh.core.feed import Link, chain, decode_range
from mesh.core.ids import Feed, digest, tag_of
from mesh.core.limits import SALT_BYTES
from mesh.core.operation import COUNT, Add, Count, Set, counter_key, encode, parse
from mesh.core.statement import Fork
from mesh.core.trust import Trust
from mesh.core.tuples import NamedTuple
from mesh.store.database import Run
from mesh.store.feeds import FeedRow, Feeds
from mesh.store.quarantine import Quarantine


class _Step(NamedTuple):
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
        from mesh.store.restamping import ended_feeds, is_of_a_clock, replacements

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

    def _steps(self, row: FeedRow, fork: Fork) -> dict[bytes, _Step]:
        """Both branches, as far as they are here: hash after an operation to the operation."""
        steps: dict[bytes, _Step] = {}
        if self._feeds.hash_at(row, min(fork.first - 1, row.held.seq)) == fork.prev:
            links = [self._feeds.link(op) for op in self._feeds.rows(row.number, fork.first, row.held.seq)]
            _add_steps(steps, fork.first, fork.prev, links)
        for stray in self._quarantine.strays(row):
            item = decode_range(self._mesh, stray.data)
            _add_steps(steps, item.first, item.prev, list(item.links))
        return steps

    def _added(self, row: FeedRow, fork: Fork, steps: dict[bytes, _Step], step: _Step, count: Count) -> int | None:
        """How much one count operation added: its total less the one before it in its own chain."""
        at: _Step | None = step
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


def _add_steps(steps: dict[bytes, _Step], first: int, prev: bytes, links: list[Link]) -> None:
    for offset, (link, after) in enumerate(zip(links, chain(prev, links), strict=True)):
        steps.setdefault(after, _Step(first + offset, prev, link))
        prev = after
