"""How much a notebook in memory may keep waiting: the bound that keeps strangers from filling it. Only counts bytes."""

from collections.abc import Iterable
from typing import NamedTuple

from mesh.core.statement import Fork, Statement
from peers.simulate.feed_chain import Chain
from peers.simulate.verified import Known

KEEPING_BYTES = 400  # as in the store: what keeping anything costs beside its bytes


class RoomBytes(NamedTuple):
    """The bounds, as the store has them."""

    total: int = 64 * 1024 * 1024
    stranger: int = 4 * 1024 * 1024  # of one key without a certificate
    author: int = 8 * 1024 * 1024  # of one member
    aside: int = 256 * 1024  # of one signer's erases that name nothing
    unbegun: int = 16  # feeds of one node of which only ranges came that begin too late


class Room:
    """How much more may be kept, within one merge: counted once, then kept up to date."""

    def __init__(self, bounds: RoomBytes, chains: Iterable[Chain], statements: Iterable[Known]) -> None:
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
