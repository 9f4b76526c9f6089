"""Stores that each heard a part of what was signed, and bring each other bundles until nothing changes."""

import io
import random
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from mesh.core import clock
from mesh.core.feed import Link, decode_range, encode_range, sign_range
from mesh.core.ids import digest
from mesh.core.operation import Add
from mesh.core.statement import fork_between
from mesh.store.author import Author
from mesh.store.bundles import ImportReport, export_bundle, import_bundle
from mesh.store.store import Store
from mesh.store.verification import verify_store
from tests.oracle import Oracle
from tests.properties.test_convergence import CLAN, Universe
from tests.worlds import NOW_MS, Chain, open_author, open_store, views

MINUTE_MS = 60_000
EXAMPLES = 1000 if settings.get_current_profile_name() == "soak" else 25
Parcel = tuple[str, bytes]


class Skewed(Universe):
    """A universe in which some clocks are wrong: part of what was written lies ahead of now."""

    def _grow(self, chain: Chain, count: int) -> None:
        super()._grow(chain, count)
        if self.rng.random() < 0.3:
            ahead = clock.pack(NOW_MS + self.rng.randint(1, 30) * MINUTE_MS)
            self.tags.append(chain.add(Add(1, "one", {"text": "from the future"}), max(ahead, chain.next_hlc())))
            super()._grow(chain, self.rng.randint(0, 2))


def parcels_of(universe: Universe) -> list[Parcel]:
    """Every statement and every operation, in parcels of some size."""
    rng = universe.rng
    parcels: list[Parcel] = [("statement", item.encode()) for item in universe.statements]
    for chain in universe.chains:
        first = 1
        while first <= len(chain.links):
            last = rng.randint(first, len(chain.links))
            parcels.append(("range", chain.encoded(rng.choice((first, first, rng.randint(1, first))), last)))
            first = last + 1
    rng.shuffle(parcels)
    return parcels


def hand_over(store: Store, parcels: Sequence[Parcel]) -> None:
    for kind, data in parcels:
        if kind == "statement":
            store.merge_statements([data])
        else:
            store.merge(data)


def bring(giver: Author, taker: Author, *, whole: bool) -> ImportReport:
    """One bundle: everything, or what the taker's vector lacks."""
    out = io.BytesIO()
    export_bundle(giver.store, out, None if whole else taker.store.feeds.vector())
    out.seek(0)
    report = ImportReport()
    import_bundle(taker, out, report)
    assert report.complete
    return report


def meet_until_nothing_changes(nodes: Sequence[Author], rng: random.Random) -> None:
    """Pairs in random order; finite work must come to an end."""
    for _ in range(12):
        before = [node.store.root() for node in nodes]
        pairs = [(giver, taker) for giver in nodes for taker in nodes if giver is not taker]
        rng.shuffle(pairs)
        for giver, taker in pairs:
            bring(giver, taker, whole=rng.random() < 0.5)
        if [node.store.root() for node in nodes] == before:
            return
    raise AssertionError("the stores keep changing each other")


class Liar:
    """A certified author that signs whatever it likes: clocks that go back, made-up hashes, forks of forks."""

    def __init__(self, rng: random.Random, index: int) -> None:
        self._rng = rng
        self._identity = CLAN.node(40 + index)
        self.certificate = CLAN.member(self._identity, "liar")
        self._chains = [Chain(CLAN, self._identity, epoch) for epoch in (1, 2)]

    def parcels(self) -> list[Parcel]:
        """Ranges and fork proofs of its two feeds."""
        rng = self._rng
        made: list[Parcel] = []
        for _ in range(rng.randint(3, 14)):
            chain = rng.choice(self._chains)
            if rng.random() < 0.3:
                chain = chain.fork(rng.randint(0, len(chain.links)))
                self._chains.append(chain)
            before = len(chain.links)
            for _ in range(rng.randint(1, 3)):
                stamp = chain.next_hlc() if rng.random() < 0.8 else rng.randint(1, chain.next_hlc())
                chain.add(Add(1, "one", {"lie": rng.random()}), stamp)
            made.append(("range", chain.encoded(rng.randint(1, before + 1))))
            if rng.random() < 0.2:  # the same operations again, on a hash that nobody has seen
                seq = rng.randint(1, before + 1)
                links = chain.links[seq - 1 :]
                prev = rng.randbytes(32)
                made.append(
                    ("range", encode_range(sign_range(CLAN.mesh, self._identity, chain.feed, seq, prev, links)))
                )
            if rng.random() < 0.2:
                made.append(("statement", self._made_up_fork(chain)))
        return made

    def _made_up_fork(self, chain: Chain) -> bytes:
        """A proof that is valid, of two histories on a hash that need not be in any chain."""
        rng = self._rng
        first = rng.randint(2, 4)
        prev = rng.choice((rng.randbytes(32), chain.hash_at(min(first - 1, len(chain.links)))))
        sides = []
        for number in range(2):
            body = rng.randbytes(20) + bytes([number])
            links = [Link(rng.randint(1, 2**60), 1, body, digest(body))]
            sides.append(sign_range(CLAN.mesh, self._identity, chain.feed, first, prev, links))
        return fork_between(sides[0], sides[1], first).encode()


@given(st.integers(0, 2**32))
@settings(max_examples=EXAMPLES)
def test_stores_agree_also_about_authors_that_lie(number: int) -> None:
    """Whatever certified authors sign, and in whichever order it is heard, bundles bring everyone to one state."""
    rng = random.Random(number)
    liars = [Liar(rng, index) for index in range(2)]
    parcels: list[Parcel] = [("statement", liar.certificate.encode()) for liar in liars]
    parcels += [parcel for liar in liars for parcel in liar.parcels()]
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        nodes = [
            stack.enter_context(open_author(Path(folder) / str(index), CLAN, CLAN.node(50 + index)))
            for index in range(3)
        ]
        rng.shuffle(parcels)
        for parcel in parcels:
            for node in rng.sample(nodes, rng.choice((1, 1, 2, 3))):
                hand_over(node.store, [parcel])
        meet_until_nothing_changes(nodes, rng)
        for node in nodes:
            assert verify_store(node.store).problems == []
            assert views(node.store) == views(nodes[0].store)
        assert len({node.store.root() for node in nodes}) == 1


def eventually_the_oracles(store: Store, universe: Universe) -> None:
    oracle = Oracle(CLAN, universe.chains, universe.statements)
    heads = {row.feed: tuple(row.accepted) for row in store.feeds.all() if row.accepted.seq}
    assert heads == oracle.heads
    assert views(store) == oracle.views()
    assert verify_store(store).problems == []


@given(st.integers(0, 2**32))
@settings(max_examples=EXAMPLES)
def test_three_stores_that_bring_each_other_bundles_end_in_the_oracles_state(number: int) -> None:
    """Each began with a part, erased bodies travel without their bytes, clocks differ until the end."""
    universe = Skewed(random.Random(number))
    rng = universe.rng
    parcels = parcels_of(universe)
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        nodes = [
            stack.enter_context(open_author(Path(folder) / str(index), CLAN, CLAN.node(50 + index)))
            for index in range(3)
        ]
        clocks = [NOW_MS + rng.choice((0, 0, 2, 15)) * MINUTE_MS for _ in nodes]
        for node, now in zip(nodes, clocks, strict=True):
            node.store.clock = lambda now=now: now  # type: ignore[misc]
        for parcel in parcels:
            for node in rng.sample(nodes, rng.choice((1, 1, 2))):
                hand_over(node.store, [parcel])
            if rng.random() < 0.1:
                giver, taker = rng.sample(nodes, 2)
                assert bring(giver, taker, whole=rng.random() < 0.5).refused == 0
        meet_until_nothing_changes(nodes, rng)
        for node in nodes:
            assert verify_store(node.store).problems == []
            node.store.clock = lambda: NOW_MS + 60 * MINUTE_MS
            node.store.settle()
        meet_until_nothing_changes(nodes, rng)
        for node in nodes:
            eventually_the_oracles(node.store, universe)
        assert len({node.store.root() for node in nodes}) == 1


@given(st.integers(0, 2**32))
@settings(max_examples=EXAMPLES)
def test_the_clock_only_delays(number: int) -> None:
    """Delivered while part of it was in the future, settled step by step: the state of who heard it all later."""
    universe = Skewed(random.Random(number))
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        early, late = (stack.enter_context(open_store(Path(folder) / name, CLAN)) for name in ("early", "late"))
        now = NOW_MS
        early.clock = lambda: now
        late.clock = lambda: NOW_MS + 60 * MINUTE_MS
        parcels = parcels_of(universe)
        for parcel in parcels:
            hand_over(early, [parcel])
            now += universe.rng.choice((0, 0, 3 * MINUTE_MS))
            if universe.rng.random() < 0.3:
                early.settle()
        now = NOW_MS + 60 * MINUTE_MS
        early.settle()
        hand_over(late, parcels)
        eventually_the_oracles(early, universe)
        eventually_the_oracles(late, universe)
        assert early.root() == late.root()


@given(st.integers(0, 2**32))
@settings(max_examples=EXAMPLES)
def test_stripped_copies_are_never_in_the_way(number: int) -> None:
    """A relay may send any range without some of its bodies, before or after the whole one: the state is the same."""
    universe = Universe(random.Random(number))
    rng = universe.rng
    parcels = parcels_of(universe)
    for kind, data in list(parcels):
        if kind == "range" and rng.random() < 0.5:
            item = decode_range(CLAN.mesh, data)
            links = [link._replace(body=None) if rng.random() < 0.7 else link for link in item.links]
            parcels.append(("range", encode_range(item._replace(links=links))))
    rng.shuffle(parcels)
    with tempfile.TemporaryDirectory() as folder, open_store(Path(folder), CLAN) as store:
        hand_over(store, parcels)
        eventually_the_oracles(store, universe)
