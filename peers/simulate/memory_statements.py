"""Statements as a notebook in memory takes them: which join the set, which wait, and what follows for feeds and bodies."""

from collections.abc import Iterable, Sequence

from mesh.core.feed import weight
from mesh.core.ids import Feed, tag_of
from mesh.core.member_limits import share_weight
from mesh.core.operation import LASTING
from mesh.core.statement import ADMIN, Erase, Fact, Fork, Member, Recover
from peers.simulate.memory_feed import MemoryDetachedRange, MemoryFeed
from peers.simulate.notebook_state import KEEPING_BYTES, NotebookState
from peers.simulate.verification_cache import KnownStatement


class MemoryStatements(NotebookState):
    """A notebook's state, with the statements that make it count."""

    def take(self, arrived: Iterable[KnownStatement]) -> None:
        """Let statements join the set, or hold them; and do what follows from those that joined."""
        joined = self._join(list(arrived))
        if not joined:
            return
        self._root = None
        facts = [item.statement.fact for item in joined]
        erasing = any(isinstance(fact, Erase) or _gives_authority(fact) for fact in facts)
        if erasing:
            self._erase()
        if any(isinstance(fact, Fork) and fact.feed.node == self.own for fact in facts):
            self.owes_republication = True
        if not all(isinstance(fact, Erase) for fact in facts):
            self.settle_all()
        if erasing:
            for chain in [chain for chain in self.chains.values() if chain.strays]:
                self._attach_strays(chain.feed, -1)
        self.weigh_erases()

    def _join(self, arrived: Sequence[KnownStatement]) -> list[KnownStatement]:
        """Those that have an effect now. A member's erase lies aside until `weigh_erases` finds what it names."""
        pending = {item.id: item for item in arrived}
        if any(isinstance(item.statement.fact, Member | Recover) for item in arrived):
            pending |= self.held_statements
        joined: list[KnownStatement] = []
        moving = True
        while moving and pending:
            group: list[KnownStatement] = []
            gone: list[bytes] = []
            trust = self.trust
            for identity, item in list(pending.items()):
                fact = item.statement.fact
                needless = trust.knows(identity) or trust.is_needless(item.statement)
                if not needless and not trust.entitled(item.statement):
                    continue
                del pending[identity]
                if not needless and isinstance(fact, Erase) and not trust.needs_no_operation(fact):
                    joined += [item] if self._put_aside(item, fact) else []
                    continue
                self._unhold(identity)
                if not needless:
                    group.append(item)
                    if isinstance(fact, Fork):
                        higher = trust.fork_statement(fact.feed)
                        gone += [] if higher is None else [higher.id]
                        break  # of two proofs about one feed only the lower stays: look again
            if group:
                self.statements = self.verified.with_statements(self.statements, group, gone)
                joined += group
            moving = bool(group)
        self.held_statements |= pending
        if beyond := self.trust.needless_forks():
            self.statements = self.verified.with_statements(self.statements, (), beyond)
        return joined

    def _put_aside(self, item: KnownStatement, fact: Erase) -> bool:
        """Whether it lay there before decides whether it is new."""
        if item.id in self.held_statements and (fact.tags[0], fact.signer) in self._aside:
            return False
        self.held_statements[item.id] = item
        for tag in fact.tags:
            self._aside[tag, fact.signer] = self._aside.get((tag, fact.signer), 0) + 1
        return True

    def _unhold(self, identity: bytes) -> None:
        item = self.held_statements.pop(identity, None)
        fact = None if item is None else item.statement.fact
        if isinstance(fact, Erase):
            for tag in fact.tags:
                left = self._aside.get((tag, fact.signer), 1) - 1
                if left:
                    self._aside[tag, fact.signer] = left
                else:
                    self._aside.pop((tag, fact.signer), None)

    def weigh_erases(self) -> None:
        """Members' erases are in the set while they are the first of their signer's to name an operation of it that counts."""
        if not self._aside and not self.statements.erased:
            return
        trust = self.trust
        erases = {
            item.id: (item, item.statement.fact)
            for item in (*self.statements.known.values(), *self.held_statements.values())
            if isinstance(item.statement.fact, Erase) and trust.entitled(item.statement)
        }
        if not erases:
            return
        counting: dict[bytes, set[bytes]] = {}
        for signer in {fact.signer for _, fact in erases.values()}:
            counting[signer] = {
                tag
                for chain in self._of_node(signer)
                for tag, link in zip(chain.tags()[: chain.accepted], chain.links, strict=False)
                if link.kind not in LASTING
            }
        first: dict[tuple[bytes, bytes], tuple[int, bytes]] = {}
        for identity, (_, fact) in erases.items():
            for tag in fact.tags:
                key = (fact.signer, tag)
                first[key] = min(first.get(key, (fact.at, identity)), (fact.at, identity))
        wanted = {identity for (signer, tag), (_, identity) in first.items() if tag in counting[signer]}
        wanted |= {identity for identity, (_, fact) in erases.items() if trust.needs_no_operation(fact)}
        joined = [erases[identity][0] for identity in wanted if identity not in self.statements.known]
        gone = [identity for identity in erases if identity in self.statements.known and identity not in wanted]
        if joined or gone:
            left = [self.statements.known[identity] for identity in gone]
            self.statements = self.verified.with_statements(self.statements, joined, gone)
            self._root = None
            for item in joined:
                self._unhold(item.id)
            for item in left:
                self._put_aside(item, erases[item.id][1])
        needed = {identity for _, identity in first.values()}
        for identity in [identity for identity in erases if identity in self.held_statements]:
            if identity not in needed:
                self._unhold(identity)  # earlier ones say all it says, and will wherever it might count

    def hold(self, statements: Iterable[KnownStatement]) -> None:
        """Have these outside the set, as a backup had them."""
        for item in statements:
            fact = item.statement.fact
            if isinstance(fact, Erase) and self.trust.entitled(item.statement):
                self._put_aside(item, fact)
            else:
                self.held_statements[item.id] = item

    def aside_erases(self, chain: MemoryFeed, after: int, last: int) -> list[bytes]:
        """The erases outside the set that explain missing bodies of a feed."""
        if not self._aside:
            return []
        tags = {
            tag
            for tag, link in zip(chain.tags()[after:last], chain.links[after:last], strict=True)
            if link.body is None
        }
        return [
            item.data
            for item in self.held_statements.values()
            if isinstance(item.statement.fact, Erase)
            and item.statement.fact.signer == chain.feed.node
            and not tags.isdisjoint(item.statement.fact.tags)
        ]

    def names_something(self, fact: Erase) -> bool:
        """Whether an erase names an operation of its signer that is here, if only in a range that lies aside."""
        named = set(fact.tags)
        return any(
            not named.isdisjoint(chain.tags())
            or any(
                tag_of(chain.feed.node, link.body_hash) in named for stray in chain.strays for link in stray.item.links
            )
            for chain in self._by_node.get(fact.signer, {}).values()
        )

    def aside_bytes(self, signer: bytes) -> int:
        """What the erases of a signer that lie aside take up."""
        return sum(
            len(item.data) + KEEPING_BYTES
            for item in self.held_statements.values()
            if isinstance(item.statement.fact, Erase) and item.statement.fact.signer == signer
        )

    def _erase(self) -> None:
        """Bodies that are to be gone, wherever they lie."""
        for chain in self.chains.values():
            for index, link in enumerate(chain.links):
                if link.body is not None and self.is_erased(chain.feed, link):
                    if index >= chain.accepted:
                        chain.waiting_bytes = max(0, chain.waiting_bytes - weight(link.body) + weight(None))
                    chain.held_share -= share_weight(link.body) - share_weight(None)
                    chain.links[index] = link._replace(body=None)
            for index, stray in enumerate(chain.strays):
                item = self._without_erased(stray.item)
                if item.links != stray.item.links:
                    chain.strays[index] = MemoryDetachedRange(item, len(self.verified.encoded(item)))

    def _attach_strays(self, feed: Feed, before: int) -> None:
        """Merge what waited for a feed to grow past `before`. Ranges are `memory_placement`'s."""
        raise NotImplementedError


def _gives_authority(fact: Fact) -> bool:
    """Whether a fact makes somebody's earlier word count for more than it did."""
    return isinstance(fact, Recover) or (isinstance(fact, Member) and fact.role == ADMIN)
