"""Where a range belongs in a notebook in memory: behind the feed it extends, aside, or on the other branch of a fork."""

from mesh.core.clock import horizon
from mesh.core.errors import Malformed
from mesh.core.feed import Range, range_weight, require_order
from mesh.core.ids import Feed
from mesh.core.statement import fork_between
from peers.proto.replica import MergeVerdict
from peers.simulate.memory_feed import MemoryDetachedRange, MemoryFeed
from peers.simulate.memory_statements import MemoryStatements
from peers.simulate.notebook_state import NotebookSpace
from peers.simulate.verification_cache import known


class MemoryPlacement(MemoryStatements):
    """A notebook's state with all its rules."""

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
