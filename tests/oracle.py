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
from mesh.core.statement import ADMIN, EPHEMERAL, Erase, Member, Quota, Recover, Revoke, Statement
from tests.worlds import NOW_MS, Chain, Clan

_MODERATION = ["settings", "moderation"]


class Oracle:
    """The state that follows from some chains (branches included) and statements."""

    def __init__(
        self, clan: Clan, chains: Sequence[Chain], statements: Sequence[Statement], now_ms: int = NOW_MS
    ) -> None:
        self._statements = list(statements)
        self._now_ms = now_ms
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
        longest = {feed: max(sides, key=lambda side: len(side.links)) for feed, sides in branches.items()}
        lengths = {feed: self._length(feed, sides) for feed, sides in branches.items()}
        for node in {feed.node for feed in lengths}:
            for feed in self._too_many_feeds(node, lengths, longest):
                lengths[feed] = 0
            self._share(node, lengths, longest)
        for feed, length in lengths.items():
            if length:
                self.accepted[feed] = longest[feed].links[:length]
                self.heads[feed] = (length, longest[feed].hash_at(length))

    def statement_ids(self) -> set[bytes]:
        """Which erases are in the set; forks are made by whoever sees one, so they are left out here."""
        counting = {
            tag_of(feed.node, link.body_hash)
            for feed, links in self.accepted.items()
            for link in links
            if link.kind not in (2, 4)
        }
        erases = [(item.fact.at, item.id, item.fact) for item in self._statements if isinstance(item.fact, Erase)]
        found: set[bytes] = set()
        named = {item.fact.node for item in self._statements if isinstance(item.fact, Member)}
        first: set[tuple[bytes, bytes]] = set()
        for _, identity, fact in sorted(erases):
            if fact.signer in self._roots | self._ever_admins:
                found.add(identity)
            elif fact.signer in named:
                own = {tag for tag in fact.tags if tag in counting and self._wrote(fact.signer, tag)}
                if {(fact.signer, tag) for tag in own} - first:
                    found.add(identity)
                first |= {(fact.signer, tag) for tag in fact.tags}
        return found

    def _wrote(self, node: bytes, tag: bytes) -> bool:
        return any(
            tag_of(node, link.body_hash) == tag
            for feed, links in self.accepted.items()
            if feed.node == node
            for link in links
        )

    def _since(self, node: bytes) -> int:
        times = [item.fact.at for item in self._certificates(node)]  # type: ignore[union-attr]
        return min(times)

    def _role(self, node: bytes) -> str:
        if node in self._admins:
            return ADMIN
        return max((item.fact.at, item.id, item.fact.role) for item in self._certificates(node))[2]  # type: ignore[union-attr]

    def _too_many_feeds(self, node: bytes, lengths: dict[Feed, int], longest: dict[Feed, Chain]) -> list[Feed]:
        """The earliest feeds count: 64, and two more for each whole day between the certificate and their beginning."""
        theirs = sorted((longest[feed].links[0].hlc, feed) for feed in lengths if feed.node == node and lengths[feed])
        left, counted = [], 0
        for stamp, feed in theirs:
            days = max(0, (stamp >> 16) - self._since(node)) // 86_400_000
            if counted < min(4096, 64 + 2 * days):
                counted += 1
            else:
                left.append(feed)
        return left

    def _share(self, node: bytes, lengths: dict[Feed, int], longest: dict[Feed, Chain]) -> None:
        """The earliest operations count, as far as the quota reaches by now."""
        theirs = [feed for feed in lengths if feed.node == node and lengths[feed]]
        if not theirs:
            return
        steps = sorted(
            (link.hlc, feed.encode(), seq, self._weight(feed, link), feed)
            for feed in theirs
            for seq, link in enumerate(longest[feed].links[: lengths[feed]], 1)
        )
        is_throw_away = self._role(node).startswith("ephemeral")
        raised = [
            item.fact.bytes_a_day
            for item in self._statements
            if isinstance(item.fact, Quota) and item.fact.node == node and self._counts(item, item.fact.signer)
        ]
        quota = max([(4 if is_throw_away else 64) * 2**20, *raised])
        days = max(0, self._now_ms - self._since(node)) // 86_400_000
        left = quota * ((days // 30 if is_throw_away else days) + 1)
        for feed in theirs:
            lengths[feed] = 0
        for _, _, seq, weight, feed in steps:
            left -= weight
            if left < 0:
                break
            lengths[feed] = seq

    def _weight(self, feed: Feed, link: Link) -> int:
        assert link.body is not None
        is_gone = link.kind not in (2, 4) and self._erased(tag_of(feed.node, link.body_hash), feed.node)
        return 4096 if is_gone else 20 + max(32, len(link.body))

    def views(self) -> dict[str, object]:
        """In the shape of `worlds.views`."""
        elements: ORSet[bytes] = ORSet()
        described: dict[bytes, tuple[str, int]] = {}
        removed: set[bytes] = set()
        registers: dict[tuple[bytes | str, str], LWWRegister[bytes]] = defaultdict(LWWRegister)
        said: dict[tuple[bytes | str, str, bytes], LWWRegister[bytes]] = defaultdict(LWWRegister)
        values: dict[bytes, object] = {}
        owners: dict[bytes, bytes] = {}
        removers: dict[bytes, set[bytes]] = defaultdict(set)
        counters: dict[str, GCounter[bytes]] = defaultdict(GCounter)
        for feed, links in self.accepted.items():
            for link in links:
                tag = tag_of(feed.node, link.body_hash)
                assert link.body is not None
                body = parse(link.kind, link.hlc, link.body)
                if isinstance(body, Remove):
                    removed |= set(body.tags)
                    for gone in body.tags:
                        removers[gone].add(feed.node)
                elif isinstance(body, Count):
                    slot = feed.encode() if body.origin is None else feed.node + body.origin
                    counters[body.key] = counters[body.key].merge(GCounter({slot: body.total}))
                elif self._erased(tag, feed.node):
                    continue
                elif isinstance(body, Add):
                    elements = elements.add(tag, tag)
                    described[tag] = (body.log, body.at)
                    if body.log != "pages":
                        owners[tag] = feed.node
                elif isinstance(body, Set):
                    key = (body.target, body.field, feed.node)
                    said[key] = said[key].set(tag, body.at, tag)
                    values[tag] = body.value
        ruling = [item for (*key, node), item in said.items() if key == _MODERATION and self._is_admin(node)]
        last = max(ruling, key=lambda item: (item.stamp, item.writer), default=None)
        guarded = last is not None and values[last.writer] == "guarded"
        for (target, field, node), item in said.items():
            others = [(one, other) for (*key, one), other in said.items() if key == [target, field] and one != node]
            alone = not guarded or target not in owners or node == owners[target] or self._is_admin(node)
            if target == "settings":
                alone = self._is_admin(node)
            later = [
                other
                for one, other in others
                if values[other.writer] == values[item.writer]
                and (other.stamp, other.writer) > (item.stamp, item.writer)
                and not self._is_passing(one)
                and not self._is_admin(one)
                and one != owners.get(target)  # type: ignore[arg-type]
            ]
            if alone or (target != "settings" and later and not self._is_passing(node)):
                registers[target, field] = registers[target, field].merge(item)
        effective = {
            tag
            for tag in removed
            if not guarded
            or tag not in owners
            or any(node == owners[tag] or self._is_admin(node) for node in removers[tag])
            or len([node for node in removers[tag] if not self._is_passing(node)]) > 1
        }
        elements = elements.merge(ORSet(removed=frozenset(effective)))
        return {
            "elements": {tag: described[tag] for tag in elements},
            "removed": removed,
            "registers": {key: (item.stamp, item.value) for key, item in registers.items()},
            "said": {key: (item.stamp, item.value) for key, item in said.items()},
            "counters": {(key, slot): n for key, item in counters.items() for slot, n in item.slots.items()},
        }

    def _is_admin(self, node: bytes) -> bool:
        return node in self._admins and not self._revocations(node)

    def _is_passing(self, node: bytes) -> bool:
        """Whether a node was let in for a short time only, by the last that was said of it."""
        named = [
            (item.fact.at, item.id, item.fact.role)
            for item in self._statements
            if isinstance(item.fact, Member)
            and item.fact.node == node
            and self._counts(item, item.fact.signer)
            and (item.fact.role != ADMIN or item.fact.signer in self._roots)
        ]
        return node not in self._admins and bool(named) and max(named)[2] == EPHEMERAL

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
        assert isinstance(item.fact, Member | Revoke | Quota)
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

    def _certificates(self, node: bytes) -> list[Statement]:
        return [
            item
            for item in self._statements
            if isinstance(item.fact, Member)
            and item.fact.node == node
            and (item.fact.role != ADMIN or item.fact.signer in self._roots)
            and self._counts(item, item.fact.signer)
        ]

    def _certified(self, node: bytes) -> bool:
        return bool(self._certificates(node)) and not self._role(node).endswith("reader")

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
