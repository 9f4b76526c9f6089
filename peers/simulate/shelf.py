"""Chains, strays and statements of one notebook in memory, and the rules by which operations come to count.

The same rules as the store's placement, acceptance and quarantine, written a second time over lists and dictionaries:
a test holds the two against each other. Our own writing is `author`.
"""

from collections.abc import Callable, Iterable, Sequence

from mesh.core.clock import horizon
from mesh.core.errors import Malformed
from mesh.core.feed import Range, range_weight, require_order, weight
from mesh.core.ids import Feed
from mesh.core.statement import ADMIN, Erase, Fact, Fork, Member, Recover, fork_between
from mesh.core.trust import Trust
from mesh.core.vector import Vector
from peers.proto.replica import Changes, FeedState, Parcel, Verdict
from peers.simulate.chain import Chain, Stray
from peers.simulate.room import Room, RoomBytes
from peers.simulate.verified import Known, StatementSet, Verified, known


class Shelf:
    """Everything one notebook has, and what changed in it since someone asked."""

    def __init__(self, verified: Verified, own: bytes, clock: Callable[[], int], room: RoomBytes) -> None:
        self.verified = verified
        self.own = own
        self.clock = clock
        self.room_bytes = room
        self.chains: dict[Feed, Chain] = {}
        self.statements: StatementSet = verified.nothing
        self.held_statements: dict[bytes, Known] = {}
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

    def state(self, chain: Chain) -> FeedState:
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
        feeds = [self.state(self.chains[feed]) for feed in self._before]
        feeds = [state for state in feeds if state != self._before[state.feed]]
        fresh, self.fresh = self.fresh, []
        self._before, self._told = {}, new
        return Changes(feeds, joined, gone, None if new.roster == old.roster else new.roster, fresh)

    def chain(self, feed: Feed) -> Chain:
        """The chain of a feed, opened if need be; whoever asks is about to change it."""
        found = self.chains.get(feed)
        if found is None:
            found = self.chains[feed] = Chain(self.verified.mesh, feed)
        if feed not in self._before:
            self._before[feed] = self.state(found)
        return found

    # Statements

    def take(self, arrived: Iterable[Known]) -> None:
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
        self.settle_all()
        if erasing:
            for chain in [chain for chain in self.chains.values() if chain.strays]:
                self._attach_strays(chain.feed, -1)

    def _join(self, arrived: Sequence[Known]) -> list[Known]:
        pending = {item.id: item for item in arrived}
        if any(isinstance(item.statement.fact, Member | Recover) for item in arrived):
            pending |= self.held_statements
        joined: list[Known] = []
        moving = True
        while moving and pending:
            group: list[Known] = []
            gone: list[bytes] = []
            trust = self.trust
            for identity, item in list(pending.items()):
                needless = trust.knows(identity) or trust.superseded_by(item.statement) is not None
                if not needless and not trust.entitled(item.statement):
                    continue
                self.held_statements.pop(identity, None)
                del pending[identity]
                if not needless:
                    group.append(item)
                    if isinstance(item.statement.fact, Fork):
                        higher = trust.fork_statement(item.statement.fact.feed)
                        gone += [] if higher is None else [higher.id]
                        break  # of two proofs about one feed only the lower stays: look again
            if group:
                self.statements = self.verified.with_statements(self.statements, group, gone)
                joined += group
            moving = bool(group)
        self.held_statements |= pending
        return joined

    def _erase(self) -> None:
        """Bodies that are to be gone, wherever they lie."""
        for chain in self.chains.values():
            for index, link in enumerate(chain.links):
                if link.body is not None and self.statements.is_erased(chain.feed, link):
                    if index >= chain.accepted:
                        chain.waiting_bytes = max(0, chain.waiting_bytes - weight(link.body) + weight(None))
                    chain.links[index] = link._replace(body=None)
            for index, stray in enumerate(chain.strays):
                item = self.statements.without_erased(stray.item)
                if item.links != stray.item.links:
                    chain.strays[index] = Stray(item, len(self.verified.encoded(item)))

    # Ranges

    def place(self, data: bytes, room: Room) -> tuple[Verdict, str]:
        """Verify a range, put it where it belongs, and whatever had been waiting for it behind it."""
        item = self.verified.range(data)
        if isinstance(item, str):
            return Verdict.REFUSED, item
        found = self.chains.get(item.feed)
        before = 0 if found is None else found.held
        answer = self._place(item, found, room)
        chain = self.chains.get(item.feed)
        if chain is not None and chain.strays:
            self._attach_strays(item.feed, before)
        return answer

    def _place(self, item: Range, chain: Chain | None, room: Room | None) -> tuple[Verdict, str]:
        """Without `room` it has been waiting here as a stray, so it has its room already."""
        held = 0 if chain is None else chain.held
        if chain is not None and item.last <= held and chain.hashes[item.last] == item.head:
            return Verdict.KNOWN, ""
        if item.first > held + 1 or (chain is not None and chain.hashes[item.first - 1] != item.prev):
            # Something before it is missing: operations, or the place where another branch left ours.
            return self._keep(item, Verdict.GAP, room)
        if chain is not None and item.first <= held:
            both = min(held, item.last)
            if chain.hashes[both] != item.hash_at(both):
                return self._fork(chain, item, room)
        return self._extend(item, held, room)

    def _extend(self, item: Range, held: int, room: Room | None) -> tuple[Verdict, str]:
        new = item.links[held + 1 - item.first :]
        known_chain = self.chains.get(item.feed)
        try:
            require_order(0 if known_chain is None else known_chain.held_hlc, new[:1])
        except Malformed as error:
            return Verdict.REFUSED, str(error)
        if self.statements.lacks(item, held + 1):
            return self._keep(item, Verdict.GAP, room)
        if room is not None and not self._counts_at_once(item, held):
            full = self._full(item.feed.node, range_weight(new), room)
            if full:
                return Verdict.FULL, full
        chain = self.chain(item.feed)
        chain.extend(item, lambda link: self.statements.is_erased(item.feed, link))
        why = self.settle(chain)
        if chain.feed.node == self.own and chain.feed in self.trust.forks:
            self.owes_republication = True
        if chain.accepted == chain.held:
            return Verdict.NEW, ""
        return (Verdict.CLIPPED if why in ("fork", "revoked") else Verdict.WAITS), why

    def _fork(self, chain: Chain, item: Range, room: Room | None) -> tuple[Verdict, str]:
        """The author signed two histories. Prove it, end the feed there, and keep the other side too."""
        first = next(seq for seq in range(item.first, item.last + 1) if chain.hashes[seq] != item.hash_at(seq))
        if item.links[first - item.first].hlc <= chain.hlc_at(first - 1):
            return Verdict.REFUSED, "an operation's clock does not increase"
        verdict, why = self._keep(item, Verdict.CLIPPED, room)
        fork = self.trust.forks.get(item.feed)
        if fork is not None and fork.first <= first:
            return verdict, why
        proof = known(fork_between(chain.next_range(first - 1, shortest=True), item, first))
        if not self.trust.entitled(proof.statement) and (
            verdict is Verdict.FULL or (room is not None and self._full(item.feed.node, len(proof.data), room))
        ):
            return verdict, why
        self.take([proof])
        return Verdict.FORKED, ""

    def _keep(self, item: Range, verdict: Verdict, room: Room | None) -> tuple[Verdict, str]:
        """Keep a range that does not extend our chain, once, without erased bodies, if there is room."""
        item = self.statements.without_erased(item)
        lacks = self.statements.lacks(item, item.first)
        found = self.chains.get(item.feed)
        for stray in () if found is None else found.strays:
            covers = stray.item.head == item.head and stray.item.first <= item.first
            if covers and (lacks or not self.statements.lacks(stray.item, stray.item.first)):
                return verdict, ""
        full = "" if room is None else self._full(item.feed.node, range_weight(item.links), room)
        if full:
            return Verdict.FULL, full
        chain = self.chain(item.feed)
        chain.strays = [
            stray
            for stray in chain.strays
            if stray.item.head != item.head
            or stray.item.first < item.first
            or (lacks and not self.statements.lacks(stray.item, stray.item.first))
        ]
        chain.strays.append(Stray(item, len(self.verified.encoded(item))))
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
                if absorbed or verdict is Verdict.REFUSED:
                    chain.strays = [other for other in chain.strays if other.item is not item]
            before = reached

    # What counts

    def settle_all(self) -> None:
        """Bring every accepted head to where it belongs."""
        for chain in self.chains.values():
            self.settle(chain)

    def settle(self, chain: Chain) -> str:
        """Bring one accepted head to where it belongs; says why anything is left out."""
        target, why = self._allowed(chain)
        if target > chain.accepted and chain.feed.node != self.own:
            latest = horizon(self.clock())
            if chain.held_hlc > latest:
                ripe = chain.accepted
                while ripe < target and chain.links[ripe].hlc <= latest:
                    ripe += 1
                target, why = (ripe, "ahead of the clock") if ripe < target else (target, why)
        if target != chain.accepted:
            self.chain(chain.feed)  # notes that it changes
            if target > chain.accepted:
                behind = sum(weight(link.body) for link in chain.links[target:])
                chain.waiting_bytes = min(chain.waiting_bytes, behind)
            chain.accepted = target
            self.vector.put(chain.feed, chain.head(target))
            self._root = None
        return why

    def _allowed(self, chain: Chain) -> tuple[int, str]:
        if not self.trust.certified(chain.feed.node):
            return 0, "no certificate"
        cut = self.trust.cut(chain.feed)
        if cut is None or chain.held < cut.seq:
            return chain.held, ""
        if cut.seq and chain.hashes[cut.seq] != cut.hash:
            return 0, "fork"  # another history than the one decreed
        return cut.seq, cut.why if chain.held > cut.seq else ""

    def _counts_at_once(self, item: Range, held: int) -> bool:
        cut = self.trust.cut(item.feed)
        return (
            self.trust.certified(item.feed.node)
            and item.links[-1].hlc <= horizon(self.clock())
            and (cut is None or held < cut.seq)
        )

    def _full(self, node: bytes, size: int, room: Room) -> str:
        """Why there is no room to keep `size` more of a feed waiting, if so. Our own always has."""
        if node == self.own:
            return ""
        return room.refusal(node, size, certified=self.trust.certified(node) and node not in self.trust.revoked)


def _gives_authority(fact: Fact) -> bool:
    """Whether a fact makes somebody's earlier word count for more than it did."""
    return isinstance(fact, Recover) or (isinstance(fact, Member) and fact.role == ADMIN)
