"""What one notebook in memory holds, and which of it counts: feeds, statements, and the room for what waits.

The simulator has the rules of the store's acceptance, statements and placement a second time, over lists and dictionaries,
because a merge of the real store costs twenty times as much (docs/adr/0023). A test holds the two against each other.
"""

from collections.abc import Callable, Collection, Iterable
from typing import NamedTuple

from mesh.core.clock import horizon, milliseconds
from mesh.core.feed import Link, Range, weight
from mesh.core.ids import Feed, tag_of
from mesh.core.limits import FEEDS
from mesh.core.member_limits import share_weight
from mesh.core.operation import LASTING
from mesh.core.statement import Fork, Statement
from mesh.core.trust import Trust
from mesh.core.version_vector import Vector
from peers.proto.replica import Changes, FeedState, Parcel
from peers.simulate.memory_feed import MemoryFeed
from peers.simulate.verification_cache import KnownStatement, StatementSet, VerificationCache

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

    def feed_state(self, chain: MemoryFeed) -> FeedState:
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
        feeds = [
            self.feed_state(self.chains.get(feed) or MemoryFeed(self.verified.mesh, feed)) for feed in self._before
        ]
        feeds = [state for state in feeds if state != self._before[state.feed]]
        fresh, self.fresh = self.fresh, []
        self._before, self._told = {}, new
        return Changes(feeds, joined, gone, None if new.roster == old.roster else new.roster, fresh)

    def chain(self, feed: Feed) -> MemoryFeed:
        """The chain of a feed, created if it is new. For callers that change it."""
        found = self.chains.get(feed)
        if found is None:
            found = MemoryFeed(self.verified.mesh, feed)
            self.put(found)
        if feed not in self._before:
            self._before[feed] = self.feed_state(found)
        return found

    def put(self, chain: MemoryFeed) -> None:
        """Have a feed from now on."""
        self.chains[chain.feed] = chain
        self._by_node.setdefault(chain.feed.node, {})[chain.feed] = chain

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
