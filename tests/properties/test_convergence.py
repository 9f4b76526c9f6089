"""Any order, duplication and batching of what was signed ends in the same state, and in the oracle's."""

import random
import tempfile
from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mesh.core.operation import Add, Count, Remove, Set
from mesh.core.statement import EPHEMERAL, MEMBER, Statement
from mesh.store.store import Store
from mesh.store.verification import verify_store
from tests.oracle import Oracle
from tests.worlds import Chain, Clan, open_store, views

CLAN = Clan()
RULES: list[tuple[str, object]] = [
    ("moderation", "guarded"),
    ("moderation", "guarded"),
    ("moderation", "open"),
    ("moderation", 1),
]
EXAMPLES = 5000 if settings.get_current_profile_name() == "soak" else 120


class Universe:
    """Everything that was ever signed, drawn from one seed: chains with branches, and statements."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.nodes = [CLAN.node(i) for i in range(rng.randint(2, 6))]
        self.is_guarded = rng.random() < 0.4  # by an admin, unless that one is revoked
        self.tags: list[bytes] = []
        self.chains: list[Chain] = []
        for node in self.nodes:
            for epoch in range(1, rng.choice((1, 1, 2)) + 1):
                chain = Chain(CLAN, node, epoch)
                if not self.chains and self.is_guarded:
                    chain.add(Set(4, "settings", "moderation", "guarded"))
                self._grow(chain, rng.randint(1, 8))
                self.chains.append(chain)
                while rng.random() < 0.25:
                    branch = rng.choice(self.chains[-2:])
                    branch = branch if branch.feed == chain.feed else chain
                    side = branch.fork(rng.randint(0, len(branch.links) - 1))
                    self._grow(side, rng.randint(1, 5))
                    self.chains.append(side)
        self.statements = self._state()

    def _grow(self, chain: Chain, count: int) -> None:
        rng = self.rng
        totals: dict[str, int] = {}
        for _ in range(count):
            at = chain.next_hlc()
            keys = ("red", "blue")
            some = [rng.choice(self.tags)] if self.tags else [bytes(32)]
            key = rng.choice(keys)
            choice = rng.random()
            if choice < 0.45:
                body: object = Add(at, rng.choice(("one", "two", "pages")), {"text": f"note {rng.random()}"})
            elif choice < 0.6:
                body = Remove(some, "because")
            elif choice < 0.75:
                targets: list[bytes | str] = [*keys, *some, *some, *some]
                body = Set(rng.randint(1, 3), rng.choice(targets), "field", rng.randint(0, 2))
                if rng.random() < 0.25:
                    field, value = rng.choice((*RULES, ("hot_at", rng.randint(0, 2))))
                    body = Set(rng.randint(1, 3), "settings", field, value)
            elif choice < 0.9:
                totals[key] = totals.get(key, 0) + rng.randint(1, 5)
                body = Count(key, totals[key], rng.choice((None, None, bytes([rng.randint(0, 2)] * 32))))
            elif choice < 0.95:
                body = (rng.choice((1, 2, 3, 4, 77)), rng.randbytes(rng.randint(16, 40)))
            elif chain.links and rng.random() < 0.9:
                link = rng.choice(chain.links)  # the same bytes again: a re-publication, or a hostile repeat
                body = (link.kind, link.body)
            else:
                body = Add(at + 1, "one", {"text": "stamped after its operation"})
            self.tags.append(chain.add(body))  # type: ignore[arg-type]
        if rng.random() < 0.3:  # the other epochs of this node may repeat it too
            for other in self.chains:
                if other.author.public == chain.author.public and other is not chain and other.links:
                    link = rng.choice(other.links)
                    assert link.body is not None
                    chain.add((link.kind, link.body))

    def _state(self) -> list[Statement]:
        rng = self.rng
        statements = []
        admins = [node for node in self.nodes if rng.random() < 0.3 or (self.is_guarded and node is self.nodes[0])]
        statements += [CLAN.admin(node) for node in admins]
        signers = [CLAN.root, *admins, *self.nodes[:1]]
        for index, node in enumerate(self.nodes):
            if rng.random() < 0.9:
                role = rng.choice((MEMBER, MEMBER, EPHEMERAL))
                statements.append(CLAN.member(node, f"n{index}", role, signer=rng.choice(signers)))
            while rng.random() < 0.2:
                heads = {}
                for chain in self.chains:
                    if chain.author.public == node.public and rng.random() < 0.8:
                        seq = rng.randint(1, len(chain.links))
                        heads[chain.feed.epoch] = (chain.feed.epoch, seq, chain.hash_at(seq))
                kept = [item for item in statements if rng.random() < 0.5]
                statements.append(CLAN.revoke(node, list(heads.values()), kept, rng.choice(signers)))
        roots = [CLAN.root]
        while rng.random() < 0.25:  # the root was lost or stolen: another, and some of what the earlier ones had said
            roots.append(rng.choice([CLAN.node(100 + len(roots)), *roots]))
            statements += [CLAN.admin(node, roots[-1]) for node in self.nodes if rng.random() < 0.2]
            statements += [CLAN.member(node, "again", signer=roots[-1]) for node in self.nodes if rng.random() < 0.3]
            kept = [item for item in statements if rng.random() < 0.7]
            signer = CLAN.recovery if rng.random() < 0.9 else rng.choice(signers)
            statements.append(CLAN.recover(roots[-1], kept, rng.randint(5, 7), signer))
        for _ in range(rng.randint(0, 3)):
            count = min(len(self.tags), rng.randint(1, 3))
            statements.append(CLAN.erase(rng.choice([*roots, *self.nodes]), *rng.sample(self.tags, count)))
        return statements

    def deliver(self, store: Store) -> None:
        """Every statement and every operation at least once: batched, shuffled, repeated, overlapping."""
        rng = self.rng
        parcels: list[tuple[str, bytes]] = [("statement", item.encode()) for item in self.statements]
        for chain in self.chains:
            first = 1
            while first <= len(chain.links):
                last = rng.randint(first, len(chain.links))
                start = first if rng.random() < 0.7 else rng.randint(1, first)
                parcels.append(("range", chain.encoded(start, last)))
                first = last + 1
        parcels += rng.choices(parcels, k=rng.randint(0, 4))
        rng.shuffle(parcels)
        for kind, data in parcels:
            if kind == "statement":
                store.merge_statements([data])
            else:
                store.merge(data)


def exchange(stores: list[Store]) -> None:
    """Statements travel between nodes: of several proofs of one fork, all keep the same."""
    for _ in range(2):
        everything = [item.encode() for store in stores for item in store.all_statements()]
        for store in stores:
            store.merge_statements(everything)


@pytest.mark.timeout(8 * EXAMPLES)  # seconds of nothing but work, and a busy machine makes minutes of them
@given(st.integers(0, 2**32))
@settings(max_examples=EXAMPLES)
def test_any_delivery_ends_in_the_oracles_state(number: int) -> None:
    """Chains, forks, revocations and erasures in any order: one root, one view, the oracle's."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        stores = [stack.enter_context(open_store(Path(folder) / str(i), CLAN)) for i in range(2)]
        universe = Universe(random.Random(number))
        for store in stores:
            universe.deliver(store)
        exchange(stores)
        oracle = Oracle(CLAN, universe.chains, universe.statements)
        for store in stores:
            heads = {row.feed: tuple(row.accepted) for row in store.feeds.all() if row.accepted.seq}
            assert heads == oracle.heads
            assert views(store) == oracle.views()
            assert verify_store(store).problems == []
        assert stores[0].root() == stores[1].root()
