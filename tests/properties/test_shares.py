"""What one member costs all others is bounded, and what counts of it is the same in any order of arrival: one root, the oracle's.

Members with more feeds, bytes and erases than they may have, beside honest ones; certificates that come late, quotas raised,
admins revoked. In real sizes: nothing is made smaller for the test.
"""

import random
import tempfile
from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mesh.core.clock import pack
from mesh.core.identity import Identity
from mesh.core.limits import OPERATION_BYTES
from mesh.core.member_limits import DAY_MS, share_weight
from mesh.core.operation import Add
from mesh.core.statement import EPHEMERAL, MEMBER, READER, Erase, Fork, Member, Statement, fork_between, read_statement
from mesh.core.trust import Founders
from mesh.core.version_vector import Head
from mesh.store.store import Store
from mesh.store.verification import verify_store
from peers.simulate.memory_notebook import MemoryNotebook
from peers.simulate.verification_cache import VerificationCache
from tests.oracle import Oracle
from tests.worlds import NOW_MS, Chain, Clan, open_store, views

CLAN = Clan(3)
FOUNDERS = Founders(CLAN.root.public, CLAN.recovery.public)
EXAMPLES = 400 if settings.get_current_profile_name() == "soak" else 8
UPHEAVALS = 400 if settings.get_current_profile_name() == "soak" else 4  # a second each, of two real stores


class Crowd:
    """A mesh in which some take more than their share, drawn from one seed."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.chains: list[Chain] = []
        self.admin = CLAN.node(0)
        self.statements: list[Statement] = [CLAN.admin(self.admin)]
        honest, crowding, heavy, reader = (CLAN.node(index) for index in range(1, 5))
        for node, role in ((honest, MEMBER), (crowding, MEMBER), (heavy, EPHEMERAL), (reader, READER)):
            for _ in range(rng.choice((1, 1, 2))):
                at = NOW_MS - rng.randint(0, 4 * DAY_MS)
                self.statements.append(CLAN.member(node, role=role, signer=rng.choice((CLAN.root, self.admin)), at=at))
        self._write(honest, 3, size=200)
        self._write(reader, 1, size=200)
        for epoch in range(1, rng.randint(60, 76)):
            self._write(crowding, rng.randint(1, 2), epoch, size=10)
        for epoch in range(1, rng.randint(1, 3) + 1):
            self._write(heavy, rng.randint(20, 50), epoch, size=60_000)
        if rng.random() < 0.3:
            self.statements.append(CLAN.quota(heavy, rng.randint(4, 8) * 2**20, rng.choice((CLAN.root, self.admin))))
        if rng.random() < 0.3:
            kept = rng.sample(self.statements, len(self.statements) // 2)
            self.statements.append(CLAN.revoke(self.admin, (), kept))
        if rng.random() < 0.3:
            heads = [(one.feed.epoch, 1, one.hash_at(1)) for one in self.chains if one.author == crowding]
            self.statements.append(CLAN.revoke(crowding, heads[: rng.randint(1, len(heads))]))
        self._erase(honest, crowding, heavy)

    def _write(self, author: Identity, count: int, epoch: int = 1, *, size: int) -> None:
        chain = Chain(CLAN, author, epoch)
        stamp = pack(NOW_MS - self.rng.randint(0, 5 * DAY_MS))
        for _ in range(count):
            stamp += self.rng.randint(1, 2**28)
            if stamp >> 16 > NOW_MS:
                break
            chain.add(Add(1, "notes", {"text": "x" * size, "n": self.rng.random()}), stamp)
        if chain.links:
            self.chains.append(chain)

    def _erase(self, *authors: Identity) -> None:
        """Of their own, of others', of nothing; the same several times."""
        rng = self.rng
        tags = [
            [
                chain.tag_at(seq)
                for chain in self.chains
                if chain.author == author
                for seq in range(1, len(chain.links) + 1)
            ]
            for author in authors
        ]
        everything = [tag for some in tags for tag in some] + [rng.randbytes(32) for _ in range(3)]
        for author, own in zip(authors, tags, strict=True):
            for _ in range(rng.randint(0, 4)):
                some = rng.sample(own if own and rng.random() < 0.6 else everything, 1)
                self.statements.append(CLAN.erase(author, *some, *rng.sample(everything, 1), at=rng.randint(3, 6)))

    def parcels(self) -> list[tuple[str, bytes]]:
        """Everything, in any order, in ranges of any length."""
        found = [("statement", item.encode()) for item in self.statements]
        for chain in self.chains:
            first = 1
            while first <= len(chain.links):
                last = min(len(chain.links), first + self.rng.randint(0, 3))
                found.append(("range", chain.encoded(first, last)))
                first = last + 1
        self.rng.shuffle(found)
        return found


class Upheaval(Crowd):
    """The same with everything at once: forks, another root, quotas by every signer, revoked authors, a certificate that comes late."""

    def __init__(self, rng: random.Random) -> None:
        super().__init__(rng)
        honest, crowding, heavy, late = (CLAN.node(index) for index in (1, 2, 3, 5))
        for epoch in range(1, rng.randint(2, 5)):
            self._write(late, rng.randint(1, 4), epoch, size=500)
        for author, most in ((crowding, 3), (heavy, 1), (late, 2)):
            theirs = [chain for chain in self.chains if chain.author == author]
            for chain in rng.sample(theirs, min(len(theirs), rng.randint(0, most))):
                self._fork(chain)
        roots = [CLAN.root, CLAN.node(80)]
        signers = [*roots, self.admin, heavy]
        self.statements += [
            CLAN.member(late, signer=rng.choice(signers[:3]), at=NOW_MS - rng.randint(0, 2 * DAY_MS)),
            *(CLAN.quota(heavy, rng.randint(1, 8) * 2**20, rng.choice(signers)) for _ in range(rng.randint(1, 3))),
        ]
        for author in rng.sample((honest, crowding, heavy, late), rng.randint(0, 2)):
            heads = [
                (one.feed.epoch, seq := rng.randint(1, len(one.links)), one.hash_at(seq))
                for one in {chain.feed: chain for chain in self.chains if chain.author == author}.values()
                if rng.random() < 0.8
            ]
            self.statements.append(CLAN.revoke(author, heads, (), rng.choice(signers[:3])))
        self.statements += [CLAN.admin(self.admin, roots[1]) for _ in range(rng.randint(0, 1))]
        self.statements += [CLAN.member(node, signer=roots[1]) for node in (heavy, late) if rng.random() < 0.3]
        kept = [item for item in self.statements if rng.random() < 0.8]
        self.statements.append(CLAN.recover(roots[1], kept))

    def _fork(self, chain: Chain) -> None:
        start = self.rng.randint(0, len(chain.links) - 1)
        other = chain.fork(start)
        stamp = chain.links[start].hlc
        for _ in range(self.rng.randint(1, 2)):
            stamp += 1
            other.add(Add(1, "notes", {"text": "another story", "n": self.rng.random()}), stamp)
        self.chains.append(other)


def heads_of(store: Store) -> dict[object, tuple[int, bytes]]:
    return {row.feed: (row.accepted.seq, row.accepted.hash) for row in store.feeds.all() if row.accepted.seq}


def heads_in(notebook: MemoryNotebook) -> dict[object, Head]:
    return {chain.feed: chain.head(chain.accepted) for chain in notebook.chains() if chain.accepted}


def deliver(store: Store, parcels: list[tuple[str, bytes]]) -> None:
    for kind, data in parcels:
        if kind == "statement":
            store.merge_statements([data])
        else:
            store.merge(data)


@pytest.mark.timeout(60 * EXAMPLES)
@given(st.integers(0, 2**32))
@settings(max_examples=EXAMPLES)
def test_who_takes_more_than_its_share_counts_for_its_share_on_every_node(number: int) -> None:
    """Two stores and the simulator's notebook, each in an order of its own: heads, views, erases and root are the oracle's."""
    crowd = Crowd(random.Random(number))
    oracle = Oracle(CLAN, crowd.chains, crowd.statements)
    notebook = MemoryNotebook(VerificationCache(CLAN.mesh, FOUNDERS), CLAN.node(90), random.Random(1), lambda: NOW_MS)
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        stores = [stack.enter_context(open_store(Path(folder) / str(index), CLAN)) for index in range(2)]
        for _ in range(4):  # what was left out, or had no room, under an earlier set of statements is offered again
            for store in stores:
                deliver(store, crowd.parcels())
                store.settle()  # as nodes do all the time: an erase may have made room in its author's quota
            for kind, data in crowd.parcels():
                notebook.merge([data] if kind == "statement" else [], [data] if kind == "range" else [])
            notebook.settle()
        for store in stores:
            assert heads_of(store) == oracle.heads
            assert views(store) == oracle.views()
            assert verify_store(store).problems == []
            erases = {item.id for item in store.statements.erases()}
            assert erases == oracle.statement_ids()
            held = [row.feed for row in store.feeds.of_node(CLAN.node(2).public)]
            ends = [store.trust().cut(feed) for feed in held]
            # What a revocation leaves nothing of stays where it came before: an admin who is revoked later gives it back.
            may_write = store.trust().may_write(CLAN.node(2).public)
            assert sum(1 for cut in ends if cut is None or cut.seq) <= (64 + 2 * 5 if may_write else 2 * 64)
        assert stores[0].root() == stores[1].root() == notebook.root()
        assert heads_in(notebook) == {feed: Head(*head) for feed, head in oracle.heads.items()}


@pytest.mark.timeout(60 * EXAMPLES)
@given(st.integers(0, 2**32))
@settings(max_examples=UPHEAVALS)
def test_whatever_happens_at_once_ends_in_one_root_and_in_what_the_oracle_says(number: int) -> None:
    """Forks, recovery, raised quotas, revoked authors, many feeds of one author and late certificates in one world, in any order."""
    world = Upheaval(random.Random(number))
    oracle = Oracle(CLAN, world.chains, world.statements)
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        stores = [stack.enter_context(open_store(Path(folder) / str(index), CLAN)) for index in range(2)]
        for _ in range(4):
            for store in stores:
                deliver(store, world.parcels())
                store.settle()
            proofs = [item.encode() for store in stores for item in store.all_statements()]
            for store in stores:  # of several proofs of one fork, all keep the same
                store.merge_statements(proofs)
        for store in stores:
            assert heads_of(store) == oracle.heads
            assert views(store) == oracle.views()
            assert {item.id for item in store.statements.erases()} == oracle.statement_ids()
            assert verify_store(store).problems == []
        assert stores[0].root() == stores[1].root()


def test_what_is_beyond_the_quota_counts_when_its_day_has_come(tmp_path: Path) -> None:
    """It waits, counts nowhere, and needs nobody to send it again."""
    heavy = CLAN.node(3)
    chain = Chain(CLAN, heavy)
    for _ in range(80):
        chain.add(Add(1, "notes", {"text": "x" * 60_000}))
    with open_store(tmp_path, CLAN) as store:
        now = NOW_MS
        store.clock = lambda: now
        store.merge_statements([CLAN.member(heavy, role=EPHEMERAL, at=NOW_MS).encode()])
        for first in range(1, 81, 4):
            store.merge(chain.encoded(first, first + 3))
        (row,) = store.feeds.all()
        counted = 4 * 2**20 // (60_000 + 20)
        assert row.accepted.seq <= counted < row.held.seq
        now += 31 * DAY_MS
        store.settle()
        (row,) = store.feeds.all()
        assert row.accepted.seq == row.held.seq
        assert verify_store(store).problems == []


def test_a_clock_that_is_set_back_takes_nothing_back(tmp_path: Path) -> None:
    """What counted on a later day goes on counting."""
    heavy, other = CLAN.node(3), CLAN.node(1)
    chain, later = Chain(CLAN, heavy), Chain(CLAN, other)
    for _ in range(80):
        chain.add(Add(1, "notes", {"text": "x" * 60_000}))
    later.add(Add(1, "notes", {"text": "tomorrow"}), pack(NOW_MS + 31 * DAY_MS))
    with open_store(tmp_path, CLAN) as store:
        now = NOW_MS + 31 * DAY_MS
        store.clock = lambda: now
        store.merge_statements([CLAN.member(heavy, role=EPHEMERAL, at=NOW_MS).encode(), CLAN.member(other).encode()])
        store.merge(later.encoded())
        for first in range(1, 81, 4):
            store.merge(chain.encoded(first, first + 3))
        before = heads_of(store)
        assert before[chain.feed][0] == 80
        now = NOW_MS
        store.merge_statements([CLAN.member(CLAN.node(5)).encode()])
        assert heads_of(store) == before


def test_forks_without_end_void_their_author_and_no_more_than_one_too_many_is_kept(tmp_path: Path) -> None:
    """Proofs about made-up feeds cost their author everything, and others a bounded number of statements."""
    liar, honest = CLAN.node(2), CLAN.node(1)
    rng = random.Random(5)
    proofs: list[bytes] = []
    ours = Chain(CLAN, honest)
    ours.add(Add(1, "notes", {"text": "mine"}))
    true = Chain(CLAN, liar, 10_000)
    true.add(Add(1, "notes", {"text": "theirs"}))
    with open_store(tmp_path / "prover", CLAN) as prover:
        prover.merge_statements([CLAN.member(liar).encode()])
        for epoch in range(1, 80):
            one = Chain(CLAN, liar, epoch)
            other = one.fork(0)
            one.add(Add(1, "notes", {"text": "one"}), pack(NOW_MS - rng.randint(1, 10**6)))
            other.add(Add(1, "notes", {"text": "other"}), pack(NOW_MS - rng.randint(1, 10**6)))
            prover.merge(one.encoded())
            prover.merge(other.encoded())
            proofs += [item.encode() for item in prover.all_statements() if isinstance(item.fact, Fork)]
    proofs = list(dict.fromkeys(proofs))
    assert len(proofs) > 70
    roots = set()
    for order in range(3):
        rng.shuffle(proofs)
        with open_store(tmp_path / str(order), CLAN) as store:
            statements = [CLAN.member(liar, at=NOW_MS).encode(), CLAN.member(honest, at=NOW_MS).encode()]
            store.merge_statements(statements[:order])
            store.merge_ranges([ours.encoded(), true.encoded()])
            for proof in proofs:
                store.merge_statements([proof])
            store.merge_statements(statements)
            assert sum(isinstance(item.fact, Fork) for item in store.all_statements()) == 65
            assert heads_of(store) == {ours.feed: (1, ours.head)}
            roots.add(store.root())
    assert len(roots) == 1


@pytest.mark.parametrize("ended", ["void", "revoked"])
def test_of_whom_nothing_counts_no_more_feeds_are_kept_than_of_others(tmp_path: Path, ended: str) -> None:
    """Whether it forked too often or was revoked: its feeds wait for nothing, and fill no disk."""
    liar = CLAN.node(2)
    with open_store(tmp_path, CLAN) as store:
        store.merge_statements([CLAN.member(liar, at=NOW_MS).encode()])
        if ended == "revoked":
            store.merge_statements([CLAN.revoke(liar).encode()])
        for epoch in range(1, 66 if ended == "void" else 1):
            one = Chain(CLAN, liar, epoch)
            other = one.fork(0)
            one.add(Add(1, "notes", {"text": "one"}))
            other.add(Add(1, "notes", {"text": "other"}))
            store.merge_statements([fork_between(one.range(), other.range(), 1).encode()])
        for epoch in range(1000, 1300):
            feed = Chain(CLAN, liar, epoch)
            feed.add(Add(1, "notes", {"text": "one feed more"}), pack(NOW_MS - epoch))
            store.merge(feed.encoded())
        assert store.feeds.count_of(liar.public) == 64
        assert heads_of(store) == {}
        assert verify_store(store).problems == []


@pytest.mark.parametrize("role", [READER, None])
def test_of_whom_nothing_counts_yet_a_bounded_number_of_feeds_is_kept(tmp_path: Path, role: str | None) -> None:
    """Of a reader and of a stranger, also if each feed begins before all others. Once it may write, the earliest count."""
    quiet = CLAN.node(2)
    chains = [Chain(CLAN, quiet, epoch) for epoch in range(1, 301)]
    for number, chain in enumerate(chains):
        chain.add(Add(1, "notes", {"text": "nobody asked"}), pack(NOW_MS - number))
    with open_store(tmp_path, CLAN) as store:
        if role is not None:
            store.merge_statements([CLAN.member(quiet, role=role, at=NOW_MS).encode()])
        for chain in chains:
            store.merge(chain.encoded())
        assert 64 <= store.feeds.count_of(quiet.public) <= 128
        assert heads_of(store) == {}
        store.merge_statements([CLAN.member(quiet, at=NOW_MS + 1).encode()])
        for chain in chains:  # what there was no room for is offered again
            store.merge(chain.encoded())
        assert heads_of(store).keys() == {chain.feed for chain in chains[-64:]}
        assert store.feeds.count_of(quiet.public) == 64
        assert verify_store(store).problems == []


def test_a_full_member_adds_64_mib_a_day(tmp_path: Path) -> None:
    """In a real store and to the last operation that fits, through many feeds as through one; the next day as much again."""
    heavy = CLAN.node(1)
    size = OPERATION_BYTES - 1_000
    chains = [Chain(CLAN, heavy, epoch) for epoch in (1, 2)]
    day, stamp = 64 * 2**20, pack(NOW_MS)
    with open_store(tmp_path, CLAN) as store:
        now = NOW_MS
        store.clock = lambda: now
        store.merge_statements([CLAN.member(heavy, at=NOW_MS).encode()])
        weight = 0
        while weight <= day + 2**20:
            chain = chains[len(chains[0].links) > len(chains[1].links)]
            stamp += 1
            chain.add(Add(1, "notes", {"text": "x" * size}), stamp)
            weight += share_weight(chain.links[-1].body)
            store.merge(chain.encoded(len(chain.links)))
            chain.links[-1] = chain.links[-1]._replace(body=b"")  # what was signed need not be kept in memory
        assert day - OPERATION_BYTES < sum(row.weight for row in store.feeds.all()) <= day
        assert store.feeds.held_weight(heavy.public) > day
        now += DAY_MS
        store.settle()
        assert all(row.accepted.seq == row.held.seq for row in store.feeds.all())


def test_erases_that_name_nothing_are_kept_within_a_bound_and_out_of_the_root(tmp_path: Path) -> None:
    """And the honest erase beside them has its effect, also where it comes before what it names."""
    liar, honest = CLAN.node(2), CLAN.node(1)
    chain = Chain(CLAN, honest)
    tag = chain.add(Add(1, "notes", {"text": "a secret"}))
    rng = random.Random(7)
    with open_store(tmp_path, CLAN) as store:
        store.merge_statements([CLAN.member(liar).encode(), CLAN.member(honest).encode()])
        before = store.root()
        for _ in range(3000):
            store.merge_statements([CLAN.erase(liar, rng.randbytes(32)).encode()])
        assert store.root() == before
        assert len(store.statements.held()) < 600
        real = CLAN.erase(honest, tag)
        store.merge_statements([real.encode()])
        assert store.root() == before
        store.merge(chain.encoded())
        assert [item.id for item in store.statements.erases()] == [real.id]
        assert views(store)["elements"] == {}
        assert verify_store(store).problems == []


def test_one_operation_carries_one_erase_however_many_name_it(tmp_path: Path) -> None:
    """The first by time and id stands for all, whichever came first."""
    liar = CLAN.node(2)
    chain = Chain(CLAN, liar)
    tag = chain.add(Add(1, "notes", {"text": "bait"}))
    rng = random.Random(9)
    erases = [CLAN.erase(liar, tag, at=at) for at in rng.sample(range(100, 10_000), 200)]
    first = min(erases, key=lambda item: (item.fact.at, item.id))  # type: ignore[union-attr]
    with open_store(tmp_path, CLAN) as store:
        store.merge_statements([CLAN.member(liar).encode()])
        store.merge(chain.encoded())
        for erase in erases:
            store.merge_statements([erase.encode()])
            assert len(store.statements.erases()) == 1
            assert store.statements.held() == []
        assert [item.id for item in store.statements.erases()] == [first.id]
        assert store.database.run("SELECT count(*) FROM erase_tags").get == 1


def test_an_erase_leaves_the_root_with_what_it_names_and_comes_back_with_it(tmp_path: Path) -> None:
    """Exactly while its operations count."""
    admin, author = CLAN.node(0), CLAN.node(1)
    chain = Chain(CLAN, author)
    tag = chain.add(Add(1, "notes", {"text": "gone"}))
    with open_store(tmp_path, CLAN) as store:
        named = CLAN.member(author, signer=admin)
        store.merge_statements([CLAN.admin(admin).encode(), named.encode(), CLAN.erase(author, tag).encode()])
        store.merge(chain.encoded())
        assert len(store.statements.erases()) == 1
        store.merge_statements([CLAN.revoke(admin).encode()])  # and with it what it certified
        assert store.statements.erases() == []
        assert [type(item.fact) for item in store.statements.held()] == [Erase]
        store.merge_statements([CLAN.member(author).encode()])
        assert len(store.statements.erases()) == 1


def test_a_statement_of_a_member_with_an_unknown_role_is_refused() -> None:
    """Roles decide what counts: nobody guesses."""
    said = CLAN.member(CLAN.node(1), role="owner")
    with pytest.raises(Exception, match="role"):
        read_statement(said.encode())
    assert isinstance(read_statement(CLAN.member(CLAN.node(1), role=READER).encode()).fact, Member)
