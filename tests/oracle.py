"""What a store must say, computed the slow and obvious way from everything that was ever signed.

Shares no code with `mesh.store`: histories are compared operation by operation, the fold uses the value
types of `mesh.core.crdt`, trust is worked out again.
"""

from collections import defaultdict
from collections.abc import Sequence

from mesh.core.crdt import GCounter, LWWRegister, ORSet
from mesh.core.feed import Link
from mesh.core.ids import Feed, tag_of
from mesh.core.operation import Add, Count, Remove, Set, parse
from mesh.core.statement import ADMIN, Erase, Member, Recover, Revoke, Statement
from tests.worlds import Chain, Clan


class Oracle:
    """The state that follows from some chains (branches included) and statements."""

    def __init__(self, clan: Clan, chains: Sequence[Chain], statements: Sequence[Statement]) -> None:
        self._statements = list(statements)
        changes = [
            (item.fact.at, item.id, item.fact)
            for item in statements
            if isinstance(item.fact, Recover) and item.fact.signer == clan.recovery.public
        ]
        self._roots = {clan.root.public} | {fact.root for _, _, fact in changes}
        self._root = clan.root.public
        self._kept: tuple[bytes, ...] = ()
        for _, _, change in sorted(changes):
            self._root, self._kept = change.root, change.statements
        named = [
            (item, item.fact)
            for item in statements
            if isinstance(item.fact, Member) and item.fact.signer in self._roots and item.fact.role == ADMIN
        ]
        self._ever_admins = {fact.node for _, fact in named}
        self._admins = {fact.node for item, fact in named if self._of_root(item)}
        branches: dict[Feed, list[Chain]] = defaultdict(list)
        for chain in chains:
            branches[chain.feed].append(chain)
        self.accepted: dict[Feed, list[Link]] = {}
        self.heads: dict[Feed, tuple[int, bytes]] = {}
        for feed, sides in branches.items():
            length = self._length(feed, sides)
            if length:
                longest = max(sides, key=lambda side: len(side.links))
                self.accepted[feed] = longest.links[:length]
                self.heads[feed] = (length, longest.hash_at(length))

    def views(self) -> dict[str, object]:
        """In the shape of `worlds.views`."""
        elements: ORSet[bytes] = ORSet()
        described: dict[bytes, tuple[str, int]] = {}
        removed: set[bytes] = set()
        registers: dict[tuple[bytes | str, str], LWWRegister[bytes]] = defaultdict(LWWRegister)
        counters: dict[str, GCounter[bytes]] = defaultdict(GCounter)
        for feed, links in self.accepted.items():
            for link in links:
                tag = tag_of(feed.node, link.body_hash)
                assert link.body is not None
                body = parse(link.kind, link.hlc, link.body)
                if isinstance(body, Remove):
                    removed |= set(body.tags)
                elif isinstance(body, Count):
                    slot = feed.encode() if body.origin is None else feed.node + body.origin
                    counters[body.key] = counters[body.key].merge(GCounter({slot: body.total}))
                elif self._erased(tag, feed.node):
                    continue
                elif isinstance(body, Add):
                    elements = elements.add(tag, tag)
                    described[tag] = (body.log, body.at)
                elif isinstance(body, Set):
                    key = (body.target, body.field)
                    registers[key] = registers[key].set(tag, body.at, tag)
        elements = elements.merge(ORSet(removed=frozenset(removed)))
        return {
            "elements": {tag: described[tag] for tag in elements},
            "removed": removed,
            "registers": {key: (item.stamp, item.value) for key, item in registers.items()},
            "counters": {(key, slot): n for key, item in counters.items() for slot, n in item.slots.items()},
        }

    def _length(self, feed: Feed, sides: Sequence[Chain]) -> int:
        if not self._certified(feed.node):
            return 0
        length = max(len(side.links) for side in sides)
        for one in sides:
            for other in sides:
                both = min(len(one.links), len(other.links))
                same = next((i for i in range(both) if one.hashes[i] != other.hashes[i]), None)
                length = length if same is None else min(length, same)
        sides = sorted(sides, key=lambda side: -len(side.links))
        for revoke in self._revocations(feed.node):
            named = {epoch: (seq, head) for epoch, seq, head in revoke.heads}
            seq, head = named.get(feed.epoch, (0, b""))
            if seq < length:
                length = seq if not seq or sides[0].hash_at(seq) == head else 0
        return length

    def _of_root(self, item: Statement) -> bool:
        """Whether a root signed this, and it was not lost with that root."""
        assert isinstance(item.fact, Member | Revoke)
        return item.fact.signer == self._root or (item.fact.signer in self._roots and item.id in self._kept)

    def _counts(self, statement: Statement, signer: bytes) -> bool:
        """Whether a member or revoke statement has an effect, given who signed it and what became of them."""
        if self._of_root(statement):
            return True
        blocks = [
            item.fact
            for item in self._statements
            if isinstance(item.fact, Revoke) and self._of_root(item) and item.fact.node == signer
        ]
        return signer in self._admins and all(statement.id in block.statements for block in blocks)

    def _certified(self, node: bytes) -> bool:
        return any(
            isinstance(item.fact, Member)
            and item.fact.node == node
            and (item.fact.role != ADMIN or item.fact.signer in self._roots)
            and self._counts(item, item.fact.signer)
            for item in self._statements
        )

    def _revocations(self, node: bytes) -> list[Revoke]:
        return [
            item.fact
            for item in self._statements
            if isinstance(item.fact, Revoke)
            and item.fact.node == node
            and self._counts(item, item.fact.signer)
            and (self._of_root(item) or node not in self._admins)
        ]

    def _erased(self, tag: bytes, author: bytes) -> bool:
        return any(
            isinstance(item.fact, Erase)
            and tag in item.fact.tags
            and (item.fact.signer == author or item.fact.signer in self._roots | self._ever_admins)
            for item in self._statements
        )
