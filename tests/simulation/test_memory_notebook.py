"""The simulator's notebook says what the store says, delivery by delivery, and writes as an author does."""

import random
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mesh.core.errors import Forged
from mesh.core.feed import decode_range
from mesh.core.ids import Feed
from mesh.core.moderation import SETTINGS
from mesh.core.trust import Founders
from mesh.core.version_vector import Head
from mesh.store.merge_outcome import AlreadyKnown, Clipped, Forked, Gap, Merged, Outcome, Refused, Waiting
from mesh.store.store import Store
from peers.proto.replica import MergeVerdict
from peers.simulate.memory_notebook import MemoryNotebook
from peers.simulate.verification_cache import VerificationCache
from tests.properties.test_convergence import CLAN
from tests.properties.test_exchange import MINUTE_MS, Liar, Skewed, parcels_of
from tests.worlds import NOW_MS, Chain, open_store

EXAMPLES = 2000 if settings.get_current_profile_name() == "soak" else 60
FOUNDERS = Founders(CLAN.root.public, CLAN.recovery.public)


class Standing:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now_ms = NOW_MS

    def __call__(self) -> int:
        return self.now_ms


def make_notebook(
    index: int = 0, clock: Standing | None = None, shared: VerificationCache | None = None
) -> MemoryNotebook:
    shared = shared or VerificationCache(CLAN.mesh, FOUNDERS)
    return MemoryNotebook(shared, CLAN.node(index), random.Random(index), clock or Standing())


def verdict_of(outcome: Outcome) -> MergeVerdict:
    match outcome:
        case Merged():
            return MergeVerdict.NEW
        case AlreadyKnown():
            return MergeVerdict.KNOWN
        case Gap():
            return MergeVerdict.GAP
        case Waiting():
            return MergeVerdict.WAITS
        case Clipped():
            return MergeVerdict.CLIPPED
        case Forked():
            return MergeVerdict.FORKED
        case Refused(reason=reason):
            return MergeVerdict.FULL if "quarantine is full" in reason else MergeVerdict.REFUSED


def heads_of(store: Store) -> dict[Feed, tuple[Head, Head]]:
    return {row.feed: (row.accepted, row.held) for row in store.feeds.all()}


def settings_of(store: Store) -> dict[str, tuple[int, bytes]]:
    rows = store.database.run("SELECT field, at, tag FROM registers WHERE target=?", (SETTINGS,))
    return {field: (at, tag) for field, at, tag in rows}


def heads_in(notebook: MemoryNotebook) -> dict[Feed, tuple[Head, Head]]:
    return {chain.feed: (chain.head(chain.accepted), chain.head(chain.held)) for chain in notebook.chains()}


@given(st.integers(0, 2**32))
@settings(max_examples=EXAMPLES)
def test_the_notebook_answers_every_delivery_as_the_store_does(number: int) -> None:
    """Forks, revocations, erasures, clocks ahead and authors that lie: verdict, heads and root are the same throughout."""
    universe = Skewed(random.Random(number))
    rng = universe.rng
    parcels = parcels_of(universe)
    for index in range(rng.randint(0, 2)):
        liar = Liar(rng, index)
        parcels += [("statement", liar.certificate.encode()), *liar.parcels()]
    parcels += rng.choices(parcels, k=len(parcels) // 3)
    parcels += [(kind, data[: rng.randrange(len(data))]) for kind, data in rng.sample(parcels, 3)]
    rng.shuffle(parcels)
    clock = Standing()
    notebook = make_notebook(90, clock)
    seen: dict[Feed, tuple[Head, Head]] = {}
    with tempfile.TemporaryDirectory() as folder, open_store(Path(folder), CLAN, CLAN.node(90)) as store:
        store.clock = clock
        for kind, data in parcels:
            if kind == "statement":
                theirs, merge = store.merge_statements([data]), notebook.merge([data], [])
                assert list(merge.statements) == [verdict_of(outcome) for outcome in theirs]
            else:
                theirs, merge = store.merge_ranges([data]), notebook.merge([], [data])
                assert list(merge.ranges) == [verdict_of(outcome) for outcome in theirs]
            if rng.random() < 0.1:
                clock.now_ms += rng.randint(0, 10) * MINUTE_MS
                store.settle()
                notebook.settle()
            seen |= {state.feed: (state.accepted, state.held) for state in merge.changes.feeds}
            seen |= {state.feed: (state.accepted, state.held) for state in notebook.refresh().feeds}
            assert heads_in(notebook) == heads_of(store)
            assert {feed: heads for feed, heads in heads_in(notebook).items() if heads[1].seq} == seen
            assert notebook.root() == store.root()
            assert notebook.settings() == settings_of(store)
        # What one serves, the other takes: every feed, whole, from the beginning.
        other = make_notebook(91, clock)
        other.merge(notebook.read_statements(list(notebook.statements.known), 2**30), [])
        for chain in list(notebook.chains()):
            (chunk,) = notebook.read([(chain.feed, chain.head(0))], 2**30)
            assert chunk.end == chain.head(chain.held)
            assert not chunk.more
            other.merge(chunk.erases, [])
            for data in chunk.ranges:
                assert store.merge(data) == AlreadyKnown()
            other.merge([], chunk.ranges)
        assert other.root() == notebook.root()


def test_bytes_from_another_mesh_are_refused() -> None:
    """What was verified is remembered by its bytes; a forgery stays one when it comes again."""
    notebook = make_notebook()
    chain = Chain(CLAN, CLAN.node(1))
    chain.add((1, b"x" * 20))
    data = bytearray(chain.encoded())
    data[-1] ^= 1
    with pytest.raises(Forged):
        decode_range(CLAN.mesh, bytes(data))
    for _ in range(2):
        assert notebook.merge([], [bytes(data)]).ranges == [MergeVerdict.REFUSED]


def served(giver: MemoryNotebook, taker: MemoryNotebook) -> None:
    """Everything one has, given to the other, as ranges from wherever the two agree."""
    wants = []
    for chain in giver.chains():
        own = taker.chain(chain.feed)
        at = chain.head(0) if own is None else own.head(own.held)
        (chunk,) = giver.read([(chain.feed, at)], 2**30)
        wants.append((chain.feed, taker.common(chain.feed, chunk.points) if chunk.points else at))
    chunks = giver.read(wants, 2**30)
    statements = giver.read_statements(list(giver.statements.known), 2**30)
    statements += [data for chunk in chunks for data in chunk.erases]
    taker.merge(statements, [data for chunk in chunks for data in chunk.ranges])


def certified(*indexes: int) -> list[MemoryNotebook]:
    shared = VerificationCache(CLAN.mesh, FOUNDERS)
    members = [CLAN.member(CLAN.node(index)).encode() for index in indexes]
    notebooks = [make_notebook(index, shared=shared) for index in indexes]
    for notebook in notebooks:
        notebook.merge(members, [])
    return notebooks


def test_a_restored_backup_that_is_noticed_goes_on_in_a_new_epoch() -> None:
    """Nothing forks, and the peers' copy of the old epoch comes back."""
    author, peer = certified(0, 1)
    first = author.write([{"n": 1}])
    backup = author.snapshot()
    second = author.write([{"n": 2}])
    served(author, peer)
    author.restore(backup, noticed=True)
    third = author.write([{"n": 3}])
    served(author, peer)
    served(peer, author)
    assert author.live_tags() == peer.live_tags() == {*first, *second, *third}
    assert not author.statements.trust.forks


def test_a_restored_backup_that_is_not_noticed_forks_and_is_published_again() -> None:
    """The author writes on in the same epoch; both branches come back in a new one."""
    author, peer = certified(0, 1)
    first = author.write([{"n": 1}])
    backup = author.snapshot()
    second = author.write([{"n": 2}])
    served(author, peer)
    author.restore(backup, noticed=False)
    third = author.write([{"n": 3}])
    served(author, peer)
    assert peer.statements.trust.forks
    served(peer, author)
    served(author, peer)
    assert author.root() == peer.root()
    assert author.live_tags() == peer.live_tags() == {*first, *second, *third}


def test_what_is_read_fits_its_room_and_says_that_there_is_more() -> None:
    """At least one range is given; what lies behind it follows from its end."""
    author, peer = certified(0, 1)
    for number in range(6):
        author.write([{"n": number, "text": "x" * 50_000}])
    (feed,) = (chain.feed for chain in author.chains())
    at, rounds, more = Head(0, bytes(32)), 0, True
    while more:
        (chunk,) = author.read([(feed, at)], 1)
        assert len(chunk.ranges) == 1
        peer.merge([], chunk.ranges)
        at, more, rounds = chunk.end, chunk.more, rounds + 1
    assert rounds == 2
    assert peer.live_tags() == author.live_tags()
