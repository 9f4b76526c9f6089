"""Chains, strays and statements of one notebook in memory, and the rules by which operations come to count.

The same rules as the store's placement, acceptance and quarantine, written a second time over lists and dictionaries:
a test holds the two against each other. Our own writing is `author`.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import NamedTuple

from mesh.core.clock import horizon, milliseconds
from mesh.core.errors import Malformed
from mesh.core.feed import Link, Range, range_weight, require_order, weight
from mesh.core.ids import Feed, tag_of
from mesh.core.limits import FEEDS
from mesh.core.member_limits import share_weight
from mesh.core.operation import LASTING
from mesh.core.statement import ADMIN, Erase, Fact, Fork, Member, Recover, Statement, fork_between
from mesh.core.trust import Trust
from mesh.core.version_vector import Vector
from peers.proto.replica import Changes, FeedState, MergeVerdict, Parcel
from peers.simulate.memory_feed import MemoryDetachedRange, MemoryFeed
from peers.simulate.verification_cache import KnownStatement, StatementSet, VerificationCache, known

KEEPING_BYTES = 400  # as in the store: what keeping anything costs beside its bytes


class SpaceLimits(NamedTuple):
    """The bounds, as the store has them."""

    total: int = 64 * 1024 * 1024
    stranger: int = 4 * 1024 * 1024  # of one key without a certificate
    author: int = 8 * 1024 * 1024  # of one member
    aside: int = 256 * 1024  # of one signer's erases that name nothing
    unbegun: int = 16  # feeds of one node of which only ranges came that begin too late


class NotebookSpace:
    """How much more may be kept, within one merge: counted once, then kept up to date."""

    def __init__(self, bounds: SpaceLimits, chains: Iterable[MemoryFeed], statements: Iterable[KnownStatement]) -> None:
        self._bounds = bounds
        self._chains = chains
        self._statements = statements
        self._total: int | None = None
        self._nodes: dict[bytes, int] = {}

    def refusal(self, node: bytes, size: int, *, certified: bool) -> str:
        """Take room for `size` more bytes of a node, or say why not."""
        size += KEEPING_BYTES
        if self._total is None:
            self._total = self.waiting(None)
        if self._total + size > self._bounds.total:
            return "quarantine is full"
        if node not in self._nodes:
            self._nodes[node] = self.waiting(node)
        if self._nodes[node] + size > (self._bounds.author if certified else self._bounds.stranger):
            return f"quarantine is full for {'this node' if certified else 'a node without a certificate'}"
        self._nodes[node] += size
        self._total += size
        return ""

    def waiting(self, node: bytes | None) -> int:
        """What waits already, of one node or of all."""
        chains = [chain for chain in self._chains if node in (None, chain.feed.node)]
        sizes = [chain.waiting_bytes for chain in chains if chain.waiting_bytes]
        sizes += [stray.size for chain in chains for stray in chain.strays]
        sizes += [len(item.data) for item in self._statements if node in (None, speaker(item.statement))]
        return sum(sizes) + len(sizes) * KEEPING_BYTES


def speaker(statement: Statement) -> bytes:
    """The key that answers for a statement: its signer, or the author a fork proof convicts."""
    fact = statement.fact
    return fact.feed.node if isinstance(fact, Fork) else fact.signer


class NotebookState:
    """Everything one notebook has, and what changed in it since someone asked."""

    def __init__(self, verified: VerificationCache, own: bytes, clock: Callable[[], int], room: SpaceLimits) -> None:
        self.verified = verified
        self.own = own
        self.clock = clock
        self.room_bytes = room
        self.chains: dict[Feed, MemoryFeed] = {}
        self._by_node: dict[bytes, dict[Feed, MemoryFeed]] = {}
        self.statements: StatementSet = verified.nothing
        self.held_statements: dict[bytes, KnownStatement] = {}  # also erases that name nothing that counts
        self._aside: dict[tuple[bytes, bytes], int] = {}  # by tag and signer: how many of those name it
        self.vector = Vector()
        self.owes_republication = False
        self.fresh: list[Parcel] = []
        self._before: dict[Feed, FeedState] = {}
        self._told: StatementSet = verified.nothing
        self._root: bytes | None = None

    @property
    def trust(self) -> Trust:
        """What the statements amount to."""
        return self.statements.trust

    def root(self) -> bytes:
        """The name of the whole state."""
        if self._root is None:
            self._root = self.vector.root_with(self.statements.digest)
        return self._root

    def state(self, chain: MemoryFeed) -> FeedState:
        """A feed as others are told of it."""
        return FeedState(chain.feed, chain.head(chain.accepted), chain.head(chain.held))

    def drain(self) -> Changes:
        """What changed since the last call."""
        old, new = self._told, self.statements
        joined: list[tuple[bytes, bytes]] = []
        gone: list[bytes] = []
        if new is not old:
            joined = [(item.id, item.data) for item in new.known.values() if item.id not in old.known]
            gone = [identity for identity in old.known if identity not in new.known]
        feeds = [self.state(self.chains.get(feed) or MemoryFeed(self.verified.mesh, feed)) for feed in self._before]
        feeds = [state for state in feeds if state != self._before[state.feed]]
        fresh, self.fresh = self.fresh, []
        self._before, self._told = {}, new
        return Changes(feeds, joined, gone, None if new.roster == old.roster else new.roster, fresh)

    def chain(self, feed: Feed) -> MemoryFeed:
        """The chain of a feed, opened if need be; whoever asks is about to change it."""
        found = self.chains.get(feed)
        if found is None:
            found = MemoryFeed(self.verified.mesh, feed)
            self.put(found)
        if feed not in self._before:
            self._before[feed] = self.state(found)
        return found

    def put(self, chain: MemoryFeed) -> None:
        """Have a feed from now on."""
        self.chains[chain.feed] = chain
        self._by_node.setdefault(chain.feed.node, {})[chain.feed] = chain

    # Statements

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

    def is_erased(self, feed: Feed, link: Link) -> bool:
        """Whether the body of an operation is to be gone."""
        if self.statements.is_erased(feed, link):
            return True
        if not self._aside or link.kind in LASTING:
            return False
        return (tag_of(feed.node, link.body_hash), feed.node) in self._aside

    def _lacks(self, item: Range, first: int) -> bool:
        """Whether a body of a range, from operation `first` on, is missing without an erase to explain it."""
        return any(
            link.body is None and not self.is_erased(item.feed, link) for link in item.links[first - item.first :]
        )

    def _without_erased(self, item: Range) -> Range:
        """A range less the bodies that are to be gone."""
        links = [link._replace(body=None) if self.is_erased(item.feed, link) else link for link in item.links]
        return item._replace(links=links) if links != list(item.links) else item

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

    # Ranges

    def place(self, data: bytes, room: NotebookSpace) -> tuple[MergeVerdict, str]:
        """Verify a range, put it where it belongs, and whatever had been waiting for it behind it."""
        item = self.verified.range(data)
        if isinstance(item, str):
            return MergeVerdict.REFUSED, item
        found = self.chains.get(item.feed)
        before = 0 if found is None else found.held
        answer = self._place(item, found, room)
        chain = self.chains.get(item.feed)
        if chain is not None and chain.strays:
            self._attach_strays(item.feed, before)
        return answer

    def _place(self, item: Range, chain: MemoryFeed | None, room: NotebookSpace | None) -> tuple[MergeVerdict, str]:
        """Without `room` it has been waiting here as a stray, so it has its room already."""
        held = 0 if chain is None else chain.held
        if chain is not None and item.last <= held and chain.hashes[item.last] == item.head:
            return MergeVerdict.KNOWN, ""
        if item.first > held + 1 or (chain is not None and chain.hashes[item.first - 1] != item.prev):
            # Something before it is missing: operations, or the place where another branch left ours.
            return self._keep(item, MergeVerdict.GAP, room)
        if chain is not None and item.first <= held:
            both = min(held, item.last)
            if chain.hashes[both] != item.hash_at(both):
                return self._fork(chain, item, room)
        return self._extend(item, held, room)

    def _extend(self, item: Range, held: int, room: NotebookSpace | None) -> tuple[MergeVerdict, str]:
        new = item.links[held + 1 - item.first :]
        known_chain = self.chains.get(item.feed)
        try:
            require_order(0 if known_chain is None else known_chain.held_hlc, new[:1])
        except Malformed as error:
            return MergeVerdict.REFUSED, str(error)
        if self._lacks(item, held + 1):
            return self._keep(item, MergeVerdict.GAP, room)
        if room is not None and not self._counts_at_once(item, held):
            full = self._full(item.feed.node, range_weight(new), room)
            if full:
                return MergeVerdict.FULL, full
        if not held and item.feed.node != self.own and not self._may_begin(item.feed, item.links[0].hlc):
            return MergeVerdict.FULL, "quarantine is full: this node has opened as many feeds as it may"
        chain = self.chain(item.feed)
        chain.extend(item, lambda link: self.is_erased(item.feed, link))
        if not held:
            self._drop_excess(item.feed.node)
        why = self.settle(chain)
        if chain.feed.node == self.own and chain.feed in self.trust.forks:
            self.owes_republication = True
        if chain.accepted == chain.held:
            return MergeVerdict.NEW, ""
        return (MergeVerdict.CLIPPED if why in ("fork", "revoked") else MergeVerdict.WAITS), why

    def _fork(self, chain: MemoryFeed, item: Range, room: NotebookSpace | None) -> tuple[MergeVerdict, str]:
        """The author signed two histories. Prove it, end the feed there, and keep the other side too."""
        first = next(seq for seq in range(item.first, item.last + 1) if chain.hashes[seq] != item.hash_at(seq))
        if item.links[first - item.first].hlc <= chain.hlc_at(first - 1):
            return MergeVerdict.REFUSED, "an operation's clock does not increase"
        verdict, why = self._keep(item, MergeVerdict.CLIPPED, room)
        fork = self.trust.forks.get(item.feed)
        if fork is not None and fork.first <= first:
            return verdict, why
        proof = known(fork_between(chain.next_range(first - 1, shortest=True), item, first))
        if not self.trust.entitled(proof.statement) and (
            verdict is MergeVerdict.FULL or (room is not None and self._full(item.feed.node, len(proof.data), room))
        ):
            return verdict, why
        self.take([proof])
        return MergeVerdict.FORKED, ""

    def _keep(self, item: Range, verdict: MergeVerdict, room: NotebookSpace | None) -> tuple[MergeVerdict, str]:
        """Keep a range that does not extend our chain, once, without erased bodies, if there is room."""
        item = self._without_erased(item)
        lacks = self._lacks(item, item.first)
        found = self.chains.get(item.feed)
        for stray in () if found is None else found.strays:
            covers = stray.item.head == item.head and stray.item.first <= item.first
            if covers and (lacks or not self._lacks(stray.item, stray.item.first)):
                return verdict, ""
        full = "" if room is None else self._full(item.feed.node, range_weight(item.links), room)
        if not full and found is None and item.feed.node != self.own:
            unbegun = sum(not chain.held for chain in self._by_node.get(item.feed.node, {}).values())
            full = "quarantine is full of feeds that were not begun" if unbegun >= self.room_bytes.unbegun else ""
        if full:
            return MergeVerdict.FULL, full
        chain = self.chain(item.feed)
        chain.strays = [
            stray
            for stray in chain.strays
            if stray.item.head != item.head
            or stray.item.first < item.first
            or (lacks and not self._lacks(stray.item, stray.item.first))
        ]
        chain.strays.append(MemoryDetachedRange(item, len(self.verified.encoded(item))))
        chain.strays.sort(key=lambda stray: (stray.item.first, stray.item.last, stray.item.head))
        if item.feed.node == self.own:
            self.owes_republication = True
        return verdict, ""

    def _attach_strays(self, feed: Feed, before: int) -> None:
        """What waited for the chain to grow past `before` is merged as if it came now."""
        chain = self.chain(feed)
        while chain.held > before:
            reached = chain.held
            for stray in list(chain.strays):
                item = stray.item
                if item.last <= before or item.first - 1 > reached or chain.hashes[item.first - 1] != item.prev:
                    continue  # looked at before, not reached yet, or of another branch and kept for that
                verdict, _ = self._place(item, chain, None)
                absorbed = chain.held >= item.last and chain.hashes[item.last] == item.head
                if absorbed or verdict is MergeVerdict.REFUSED:
                    chain.strays = [other for other in chain.strays if other.item is not item]
            before = reached

    # What counts

    def settle_all(self) -> None:
        """Bring every accepted head to where it belongs."""
        for node, theirs in list(self._by_node.items()):
            if len(theirs) > FEEDS:
                self._drop_excess(node)
        for node, theirs in list(self._by_node.items()):
            counted = self._counted(node)
            chains = list(theirs.values())
            if not self._fits_quota(node, 0):  # one brings all of them to where their quota ends
                chains = [chain for chain in chains if self._ripe(chain, counted)[0]][:1] or chains
            for chain in chains:
                self.settle(chain, counted)

    def settle(self, chain: MemoryFeed, counted: Collection[Feed] | None = None) -> str:
        """Bring one accepted head to where it belongs; says why anything is left out. `counted`: if it is at hand."""
        counted = self._counted(chain.feed.node) if counted is None else counted
        target, why = self._ripe(chain, counted)
        if not target or self._fits_quota(chain.feed.node, 0):
            self._move(chain, target)
            return why
        theirs = self._of_node(chain.feed.node)
        ripe = {other.feed: self._ripe(other, counted)[0] for other in theirs}
        steps = sorted(
            (link.hlc, other.feed.encode(), seq, share_weight(link.body), other)
            for other in theirs
            for seq, link in enumerate(other.links[: ripe[other.feed]], 1)
        )
        left = self.trust.allowance(chain.feed.node, self._shared_now())
        reached = dict.fromkeys(ripe, 0)
        for _, _, seq, share, other in steps:
            left -= share
            if left < 0:
                break
            reached[other.feed] = seq
        for other in theirs:
            self._move(other, reached[other.feed])
        return "over the quota of its author" if reached[chain.feed] < target else why

    def _move(self, chain: MemoryFeed, target: int) -> None:
        if target == chain.accepted:
            return
        self.chain(chain.feed)  # notes that it changes
        if target > chain.accepted:
            behind = sum(weight(link.body) for link in chain.links[target:])
            chain.waiting_bytes = min(chain.waiting_bytes, behind)
        chain.accepted = target
        self.vector.put(chain.feed, chain.head(target))
        self._root = None

    def _ripe(self, chain: MemoryFeed, counted: Collection[Feed]) -> tuple[int, str]:
        """How far a feed may count if its author's quota is large enough."""
        target, why = self._decreed(chain)
        if target and chain.feed not in counted:
            return 0, "one feed too many"
        latest = horizon(self.clock())
        if target > chain.accepted and chain.feed.node != self.own and chain.held_hlc > latest:
            ripe = chain.accepted
            while ripe < target and chain.links[ripe].hlc <= latest:
                ripe += 1
            target, why = (ripe, "ahead of the clock") if ripe < target else (target, why)
        return target, why

    def _decreed(self, chain: MemoryFeed) -> tuple[int, str]:
        """How far a feed may count by the statements alone, and what ends it there."""
        if not self.trust.may_write(chain.feed.node):
            return 0, "no certificate"
        cut = self.trust.cut(chain.feed)
        if cut is None or chain.held < cut.seq:
            return chain.held, ""
        if cut.seq and chain.hashes[cut.seq] != cut.hash:
            return 0, "fork"  # another history than the one decreed
        return cut.seq, cut.why if chain.held > cut.seq else ""

    def _of_node(self, node: bytes) -> list[MemoryFeed]:
        return [chain for chain in self._by_node.get(node, {}).values() if chain.held]

    def _fits_quota(self, node: bytes, more: int) -> bool:
        weighs = sum(chain.held_share for chain in self._of_node(node)) + more
        return weighs <= self.trust.quota(node) or weighs <= self.trust.allowance(node, self._shared_now())

    def _shared_now(self) -> int:
        stamps = [chain.hlc_at(chain.accepted) for chain in self.chains.values()]
        return max(self.clock(), milliseconds(max(stamps, default=0)))

    def _candidates(self, node: bytes) -> list[tuple[int, Feed]]:
        """The feeds among which the first ones count: of which anything would, by the statements. Of strangers all."""
        may_write = self.trust.may_write(node)
        return [
            (chain.links[0].hlc, chain.feed)
            for chain in self._of_node(node)
            if not may_write or self._decreed(chain)[0]
        ]

    def _may_begin(self, feed: Feed, first_hlc: int) -> bool:
        if len(self._of_node(feed.node)) < FEEDS:
            return True
        if len(self._of_node(feed.node)) >= 2 * FEEDS and not self.trust.may_write(feed.node):
            return False
        cut = self.trust.cut(feed)
        if cut is not None and not cut.seq and self.trust.may_write(feed.node):
            return False
        return feed in self.trust.within_limit(feed.node, [*self._candidates(feed.node), (first_hlc, feed)])

    def _counted(self, node: bytes) -> Collection[Feed]:
        """The feeds of a node that are within its limit."""
        theirs = self._by_node.get(node, {})
        if len(theirs) <= FEEDS:
            return theirs
        return frozenset(self.trust.within_limit(node, self._candidates(node)))

    def _drop_excess(self, node: bytes) -> None:
        """Forget the feeds of a node that are beyond its limit. Our own are kept, and count nowhere."""
        if len(self._of_node(node)) <= FEEDS:
            return
        counted = set(self.trust.within_limit(node, self._candidates(node)))
        for chain in self._of_node(node):
            if chain.feed not in counted and self._decreed(chain)[0]:
                self._move(chain, 0)
                if node != self.own:
                    self._forget(chain)

    def _forget(self, chain: MemoryFeed) -> None:
        self.chain(chain.feed)  # notes that it changes
        del self.chains[chain.feed]
        del self._by_node[chain.feed.node][chain.feed]

    def _counts_at_once(self, item: Range, held: int) -> bool:
        cut = self.trust.cut(item.feed)
        return (
            self.trust.may_write(item.feed.node)
            and item.links[-1].hlc <= horizon(self.clock())
            and (cut is None or held < cut.seq)
            and self._fits_quota(item.feed.node, range_weight(item.links))
        )

    def _full(self, node: bytes, size: int, room: NotebookSpace) -> str:
        """Why there is no room to keep `size` more of a feed waiting, if so. Our own always has."""
        if node == self.own:
            return ""
        return room.refusal(node, size, certified=self.trust.certified(node) and node not in self.trust.revoked)


def _gives_authority(fact: Fact) -> bool:
    """Whether a fact makes somebody's earlier word count for more than it did."""
    return isinstance(fact, Recover) or (isinstance(fact, Member) and fact.role == ADMIN)
