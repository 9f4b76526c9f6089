"""A simulated mesh: nodes under one virtual clock, and what can happen to them. The same seed gives the same run, byte for byte.

What is checked about a world is `checks`; which faults happen when is `faults`.
"""

from collections.abc import Iterable, Sequence

from mesh.core.identity import Identity
from mesh.core.ids import digest, mesh_id
from mesh.core.statement import Member, Revoke, Statement, sign
from mesh.core.trust import Founders
from peers.proto.cards import Card, Contact, write_contact
from peers.proto.gossip_config import Config
from peers.simulate.invariants import Checker
from peers.simulate.memory_notebook import Snapshot
from peers.simulate.network import Network
from peers.simulate.simulated_node import START_MS, SimNode
from peers.simulate.traffic_meter import Meter
from peers.simulate.verification_cache import VerificationCache
from peers.simulate.virtual_time import Schedule, chance
from peers.simulate.world_context import StepTimes, WorldContext
from peers.transport.network_conditions import Conditions

_WARM_SECONDS = 0.5  # within which the nodes of a world start


class World:
    """Everything in one simulation."""

    def __init__(
        self,
        seed: int,
        nodes: int,
        *,
        conditions: Conditions | None = None,
        config: Config | None = None,
        times: StepTimes | None = None,
        checker: Checker | None = None,
    ) -> None:
        self.seed = seed
        self.random = chance(seed)
        self.schedule = Schedule()
        self.meter = Meter()
        self.checker = checker or Checker()
        self.root = Identity(self._seed(b"root"))
        recovery = Identity(self._seed(b"recovery"))
        self.mesh = mesh_id(self.root.public, recovery.public)
        times = times or StepTimes()
        self.wire = Network(self.schedule, chance(seed + 1), conditions or Conditions(), times.flush_seconds)
        verified = VerificationCache(self.mesh, Founders(self.root.public, recovery.public))
        self._around = WorldContext(
            self.schedule, self.wire, self.meter, verified, config or Config(), times, self.find, self.checker
        )
        self.nodes: list[SimNode] = []
        self._by_key: dict[bytes, SimNode] = {}
        for _ in range(nodes):
            self.add_node()
        self.checker.world = self

    @property
    def now(self) -> float:
        """Seconds since the beginning."""
        return self.schedule.now

    @property
    def config(self) -> Config:
        """What the engines go by."""
        return self._around.config

    def add_node(self) -> SimNode:
        """One more machine: it has a key, and nothing else."""
        index = len(self.nodes)
        identity = Identity(self._seed(b"node %d" % index))
        node = SimNode(self._around, index, identity, chance(self.random.getrandbits(64)))
        self.nodes.append(node)
        self._by_key[identity.public] = node
        return node

    # The beginning

    def member(self, node: SimNode) -> Statement:
        """The certificate of a node."""
        fact = Member(self.root.public, START_MS, node.identity.public, f"node{node.index}", node.role)
        return sign(self.mesh, self.root, fact)

    def start_connected(self) -> None:
        """All nodes know all members and how to reach them, as after a week together; then all start at once.

        Only choosing neighbours is left to do. The first write belongs some seconds later.
        """
        statements = [self.member(node).encode() for node in self.nodes]
        cards = [self._card(node) for node in self.nodes]
        self.nodes[0].notebook.merge(statements, ())
        kept = {card.key: card for card in cards}
        backup = self.nodes[0].notebook.snapshot()  # all share one set of statements: a thousand copies take seconds
        for node in self.nodes:
            node.notebook.restore(backup, noticed=True)
            node.cards = dict(kept)
            self.schedule.after(self.random.uniform(0.0, _WARM_SECONDS), node.start)

    def join(self, node: SimNode, through: SimNode) -> None:
        """A newcomer starts: it has the founding keys, its certificate, and one member's contact and certificate."""
        own = self.member(node).encode()
        through.learn([own])
        node.notebook.merge([own, self.member(through).encode()], ())
        card = self._card(through)
        node.cards = {card.key: card}
        node.start()

    def _card(self, node: SimNode) -> Card:
        addresses = (f"sim:{node.index}",) if node.listens else ()
        at = START_MS + node.skew_ms - 3_600_000
        return write_contact(self.mesh, Contact(node.identity.public, at, addresses, ""), node.identity.sign)

    # The course of things

    def run(self, seconds: float) -> None:
        """Let time pass."""
        self.schedule.run_until(self.schedule.now + seconds)

    def agreed(self) -> bool:
        """Whether all honest nodes that are up have one root."""
        return len({node.notebook.root() for node in self.honest()}) <= 1

    def honest(self) -> list[SimNode]:
        """The nodes that are up and keep to the protocol, and have not been revoked."""
        return [node for node in self.nodes if node.is_up and self.checker.is_trusted(node)]

    def restore(self, node: SimNode, backup: Snapshot, *, noticed: bool) -> None:
        """The machine crashes and comes back with the disk of an earlier day."""
        node.stop(silently=False)
        node.notebook.restore(backup, noticed=noticed)
        self.checker.lost_disk(node)
        node.start()

    def revoke(self, node: SimNode, by: SimNode) -> None:
        """The root key ends a member's feeds where one node sees them, and tells that node."""
        heads = sorted(
            (chain.feed.epoch, chain.accepted, chain.hashes[chain.accepted])
            for chain in by.notebook.chains()
            if chain.feed.node == node.identity.public and chain.accepted
        )
        at = START_MS + int(self.now * 1000)
        fact = Revoke(self.root.public, at, node.identity.public, tuple(heads), (), "left the company")
        self.checker.revoked(node, heads)
        by.learn([sign(self.mesh, self.root, fact).encode()])

    def partition(self, *groups: Iterable[SimNode]) -> None:
        """Split the network: only nodes of one group reach each other."""
        self.wire.partition([[node.index for node in group] for group in groups])

    def heal(self) -> None:
        """End the partition."""
        self.wire.heal()

    def write(self, node: SimNode, text: str | bytes = "note", *, records: int = 1) -> list[bytes]:
        """A node writes records of its own."""
        batch: Sequence[dict[str, object]] = [{"text": text, "n": number} for number in range(records)]
        return node.write(list(batch))

    def change_setting(self, admin: SimNode, field: str, value: object) -> None:
        """An admin changes a setting of the whole mesh."""
        self.checker.setting_changed(field, admin.change_setting(field, value))

    def find(self, node: bytes) -> SimNode | None:
        """The node with a key."""
        return self._by_key.get(node)

    def _seed(self, name: bytes) -> bytes:
        return digest(b"simulated %d " % self.seed + name)
