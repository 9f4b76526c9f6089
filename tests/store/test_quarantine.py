"""What waits: bounded, stored once, kept as long as it may still come to count, and gone when erased."""

import itertools
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from mesh.core import clock
from mesh.core.feed import Range, encode_range, sign_range
from mesh.core.identity import Identity
from mesh.core.ids import digest
from mesh.core.limits import FEEDS
from mesh.core.operation import Add
from mesh.store import quarantine
from mesh.store.database import Database
from mesh.store.merge_outcome import AlreadyKnown, Clipped, Gap, Merged, Refused, Waiting
from mesh.store.store import Store
from mesh.store.verification import verify_store
from tests.worlds import NOW_MS, Chain, Clan, open_store, views

CLAN = Clan()
ANN, BEN, CAT = (CLAN.node(index) for index in range(3))


@pytest.fixture(name="store")
def _store(tmp_path: Path) -> Iterator[Store]:
    """A store that knows Ann and nobody else."""
    with open_store(tmp_path, CLAN) as store:
        store.merge_statements([CLAN.member(ANN).encode()])
        yield store
        assert verify_store(store).problems == []


def diary(author: Identity = ANN, length: int = 6, epoch: int = 7, text: str = "day") -> Chain:
    made = Chain(CLAN, author, epoch)
    for number in range(length):
        made.add(Add(made.next_hlc(), "diary", {"text": f"{text} {number}"}))
    return made


def without_bodies(item: Range, *numbers: int) -> bytes:
    """A range as a relay sends it that leaves some bodies out."""
    links = [link._replace(body=None) if seq in numbers else link for seq, link in enumerate(item.links, item.first)]
    return encode_range(item._replace(links=links))


def accepted(store: Store, chain: Chain) -> int:
    row = store.feeds.find(chain.feed)
    return 0 if row is None else row.accepted.seq


def strays(store: Store) -> list[tuple[int, int]]:
    return [(stray.first, stray.last) for stray in store.quarantine.everything()]


def room(monkeypatch: pytest.MonkeyPatch, *, total: int = 10**9, stranger: int = 10**9) -> None:
    monkeypatch.setattr(quarantine, "TOTAL_BYTES", total)
    monkeypatch.setattr(quarantine, "STRANGER_BYTES", stranger)
    monkeypatch.setattr(quarantine, "KEEPING_BYTES", 0)


# The bounds


def test_the_bounds_are_those_of_the_design() -> None:
    """64 MB in all, 4 MB of one key without a certificate."""
    assert quarantine.TOTAL_BYTES == 64 * 1024 * 1024
    assert quarantine.STRANGER_BYTES == 4 * 1024 * 1024


def test_a_stranger_has_room_of_its_own_and_no_more(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its newest is refused with a reason, its older ones are kept, and another stranger still has room."""
    chain, other = diary(BEN), diary(CAT)
    room(monkeypatch, stranger=len(chain.encoded(1, 3)) + 100)
    assert store.merge(chain.encoded(1, 3)) == Waiting("no certificate")
    assert store.merge(chain.encoded(4, 6)) == Refused("quarantine is full for a node without a certificate")
    assert store.merge(other.encoded(1, 3)) == Waiting("no certificate")
    store.merge_statements([CLAN.member(BEN).encode()])
    assert accepted(store, chain) == 3
    assert store.merge(chain.encoded(4, 6)) == Merged(3)


def test_new_epochs_give_a_stranger_no_more_room(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bound is on the key."""
    room(monkeypatch, stranger=1000)
    outcomes = [store.merge(diary(BEN, epoch=epoch).encoded()) for epoch in range(1, 20)]
    assert Refused("quarantine is full for a node without a certificate") in outcomes
    assert store.quarantine.total_bytes() <= 1000


def test_strays_waiting_operations_and_statements_of_a_stranger_share_its_room(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever way it is filled, the rest is refused."""
    room(monkeypatch, stranger=1200)
    chain = diary(BEN)
    store.merge(chain.encoded(1, 2))
    store.merge(chain.encoded(4, 5))
    for number in range(20):
        (outcome,) = store.merge_statements([CLAN.erase(BEN, digest(b"%d" % number)).encode()])
    assert outcome == Refused("quarantine is full for a node without a certificate")
    assert store.quarantine.total_bytes() <= 1200 + 100  # the envelope of the last statement is not counted before
    assert store.merge(chain.encoded(6)) == Refused("quarantine is full for a node without a certificate")


def test_all_that_waits_has_one_bound(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many strangers together fill no disk; what counts at once is not held back by them."""
    room(monkeypatch, total=2000)
    outcomes = [store.merge(diary(CLAN.node(index), 2).encoded()) for index in range(10, 40)]
    assert Waiting("no certificate") in outcomes
    assert outcomes[-1] == Refused("quarantine is full")
    assert store.quarantine.total_bytes() <= 2000
    assert store.merge(diary().encoded()) == Merged(6)


def test_a_member_too_is_refused_when_there_is_no_room_to_wait(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Behind a gap, and ahead of the clock; the older strays stay."""
    chain = diary()
    store.merge(chain.encoded(5, 6))
    room(monkeypatch)
    room(monkeypatch, total=store.quarantine.total_bytes() + 10)
    assert store.merge(chain.encoded(3, 4)) == Refused("quarantine is full")
    ahead = Chain(CLAN, ANN, 8)
    ahead.add(Add(1, "diary", {}), clock.horizon(NOW_MS) + 1)
    assert store.merge(ahead.encoded()) == Refused("quarantine is full")
    assert store.feeds.find(ahead.feed) is None
    assert strays(store) == [(5, 6)]
    assert store.merge(chain.encoded(1, 4)) == Merged(6)
    assert accepted(store, chain) == 6


def test_a_member_that_signs_ranges_on_made_up_hashes_is_bounded_too(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They start inside its feed, belong to no branch anyone has seen, and wait like any other stray."""
    chain = diary()
    store.merge(chain.encoded())
    room(monkeypatch, total=2000)
    outcomes = []
    for number in range(30):
        made_up = sign_range(CLAN.mesh, ANN, chain.feed, 3, digest(b"%d" % number), chain.links[2:])
        outcomes.append(store.merge(encode_range(made_up)))
    assert outcomes[-1] == Refused("quarantine is full")
    assert store.quarantine.total_bytes() <= 2000


def test_many_statements_in_one_call_have_no_more_room_than_one_by_one(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is counted before the next is let in."""
    room(monkeypatch, stranger=2000)
    outcomes = store.merge_statements([CLAN.erase(BEN, digest(b"%d" % number)).encode() for number in range(100)])
    assert Refused("quarantine is full for a node without a certificate") in outcomes
    assert store.quarantine.total_bytes() <= 2000 + 200


def test_operations_without_bodies_take_room_too(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A revoked node that erased one body cannot repeat that operation for ever at no cost."""
    chain = Chain(CLAN, ANN)
    tag = chain.add((77, bytes(16)))
    store.merge_statements([CLAN.revoke(ANN).encode(), CLAN.erase(ANN, tag).encode()])
    for _ in range(999):
        chain.add((77, bytes(16)))
    room(monkeypatch, total=20_000)
    outcomes = [
        store.merge(without_bodies(chain.range(first, first + 99), *range(1, 1001))) for first in range(1, 1000, 100)
    ]
    assert Refused("quarantine is full") in outcomes


def test_a_range_that_is_not_kept_leaves_no_trace(store: Store) -> None:
    """A stranger that sends ranges without bodies, each in a feed of its own, does not fill the table of feeds."""
    for epoch in range(1, 30):
        store.merge(without_bodies(diary(BEN, 1, epoch).range(), 1))
    assert len(store.feeds.all()) == 0 or store.quarantine.total_bytes() > 0


# Stored once


def test_what_waits_is_stored_once(store: Store) -> None:
    """Sending it again changes nothing and adds no byte."""
    stranger, gap = diary(BEN), diary()
    statement = CLAN.erase(BEN, bytes(32)).encode()
    store.merge_ranges([stranger.encoded(), gap.encoded(3, 6)])
    store.merge_statements([statement])
    before = store.quarantine.total_bytes()
    for _ in range(3):
        assert store.merge(stranger.encoded()) == AlreadyKnown()
        assert store.merge(gap.encoded(3, 6)) == Gap(gap.feed, 1, 2)
        assert isinstance(store.merge_statements([statement])[0], Waiting)
    assert store.quarantine.total_bytes() == before
    assert strays(store) == [(3, 6)]
    assert len(store.statements.held()) == 1


def test_parts_of_a_stray_are_not_stored_beside_it(store: Store) -> None:
    """A relay can cut a signed range anywhere; the parts are the same operations again."""
    chain = diary(length=30)
    whole = chain.range()
    store.merge(chain.encoded(2))
    before = store.quarantine.total_bytes()
    for first in range(3, 31):
        part = Range(
            chain.feed, first, chain.hash_at(first - 1), chain.links[first - 1 :], chain.hashes, whole.signature
        )
        store.merge(encode_range(part))
    assert store.quarantine.total_bytes() <= 2 * before


def test_what_is_kept_already_is_not_called_refused_when_there_is_no_more_room(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Refused means not kept; a peer told so would send it again for ever."""
    gap = diary()
    statement = CLAN.erase(BEN, bytes(32)).encode()
    store.merge(gap.encoded(3, 6))
    store.merge_statements([statement])
    room(monkeypatch, total=store.quarantine.total_bytes())
    assert store.merge(gap.encoded(3, 6)) == Gap(gap.feed, 1, 2)
    assert isinstance(store.merge_statements([statement])[0], Waiting)


# Gaps


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))))
def test_ranges_attach_in_any_order(store: Store, order: tuple[int, ...]) -> None:
    """When the gap closes everything counts, nothing is left waiting."""
    chain = diary()
    ranges = [chain.encoded(1, 2), chain.encoded(3, 3), chain.encoded(3, 5), chain.encoded(5, 6)]
    for index in order:
        store.merge(ranges[index])
    assert accepted(store, chain) == 6
    assert strays(store) == []
    assert store.quarantine.total_bytes() == 0


def test_a_stray_of_another_branch_becomes_a_fork_when_its_beginning_comes(store: Store) -> None:
    """Until then it waits, for nobody can tell where it left."""
    chain = diary()
    other = chain.fork(2)
    for _ in range(4):
        other.add(Add(1, "diary", {"text": "another day"}))
    assert store.merge(other.encoded(5, 6)) == Gap(chain.feed, 1, 4)
    assert store.merge(chain.encoded()) == Merged(6)
    assert strays(store) == [(5, 6)]
    store.merge(other.encoded(2, 4))
    assert accepted(store, chain) == 2


def test_a_stray_that_breaks_the_clock_at_its_seam_is_dropped_when_the_gap_closes(store: Store) -> None:
    """Every node refuses it, in whichever order it came."""
    chain = diary(length=2)
    chain.add(Add(1, "diary", {}), 5)
    assert store.merge(chain.encoded(3)) == Gap(chain.feed, 1, 2)
    store.merge(chain.encoded(1, 2))
    assert accepted(store, chain) == 2
    assert strays(store) == []


# The clock


def test_operations_ahead_of_the_clock_count_once_it_has_caught_up(tmp_path: Path) -> None:
    """Millisecond by millisecond: a prefix of the feed is ripe, the rest goes on waiting."""
    now = NOW_MS
    store = Store(Database(os.fspath(tmp_path / "mesh.db"), create=True), CLAN.mesh, clock=lambda: now)
    try:
        store.learn_founders(CLAN.root.public, CLAN.recovery.public)
        store.merge_statements([CLAN.member(ANN).encode()])
        chain = diary(length=1)
        for number in range(1, 4):
            chain.add(Add(1, "diary", {"text": f"later {number}"}), clock.horizon(NOW_MS + number))
        assert store.merge(chain.encoded()) == Waiting("ahead of the clock", 1)
        assert store.settle() == 0
        assert store.quarantine.total_bytes() > 0
        root = store.root()
        for number in range(1, 4):
            now = NOW_MS + number
            assert store.settle() == 1
            assert accepted(store, chain) == 1 + number
            assert store.root() != root
        assert store.settle() == 0
        assert store.quarantine.total_bytes() == 0
        now = NOW_MS - 10**9
        assert store.settle() == 0
        assert accepted(store, chain) == 4
        assert verify_store(store).problems == []
    finally:
        store.close()


def test_our_own_operations_never_wait_for_our_clock(tmp_path: Path) -> None:
    """A node whose clock was set back goes on reading what it wrote."""
    chain = diary(length=1)
    chain.add(Add(1, "diary", {}), clock.horizon(NOW_MS) + 1)
    with open_store(tmp_path, CLAN, own=ANN) as store:
        store.merge_statements([CLAN.member(ANN).encode()])
        assert store.merge(chain.encoded()) == Merged(2)


# Certificates and revocations


def test_what_waited_for_a_certificate_counts_with_it(store: Store) -> None:
    """Every epoch of the node, strays included once their gap closes; the room is free again."""
    one, other = diary(BEN, epoch=1), diary(BEN, epoch=2)
    store.merge_ranges([one.encoded(), other.encoded(3)])
    root = store.root()
    assert store.merge(other.encoded(1, 2)) == Waiting("no certificate")
    assert store.root() == root
    store.merge_statements([CLAN.member(BEN).encode()])
    assert (accepted(store, one), accepted(store, other)) == (6, 6)
    assert len(views(store)["elements"]) == 12  # type: ignore[arg-type]
    assert store.quarantine.total_bytes() == 0


def test_what_is_clipped_by_a_revocation_is_kept(store: Store) -> None:
    """It counts nowhere, stays in the chain, and counts again if the revocation loses its force."""
    admin = CLAN.node(5)
    chain = diary()
    store.merge(chain.encoded(1, 5))
    before = views(store)
    revoke = CLAN.revoke(ANN, [(7, 2, chain.hash_at(2))], signer=admin)
    store.merge_statements([CLAN.admin(admin).encode(), revoke.encode()])
    row = store.feeds.find(chain.feed)
    assert row is not None
    assert (row.accepted.seq, row.held.seq) == (2, 5)
    assert store.quarantine.total_bytes() == 0  # it came while it counted
    assert store.merge(chain.encoded(6)) == Clipped("revoked")
    assert store.quarantine.total_bytes() > 0
    store.merge_statements([CLAN.revoke(admin).encode()])
    assert accepted(store, chain) == 6
    assert views(store) != before
    assert store.quarantine.total_bytes() == 0


# Erasing


def secret_left(store: Store, word: bytes) -> bool:
    """Whether the bytes are anywhere in the tables that keep bodies."""
    run = store.database.run
    return any(
        data is not None and word in data
        for (data,) in [*run("SELECT data FROM strays").fetchall(), *run("SELECT body FROM ops").fetchall()]
    )


def test_an_erase_reaches_what_waits(store: Store) -> None:
    """Bodies in strays, of strangers, of clipped operations and of the other branch of a fork."""
    gap, stranger, clipped, forked = diary(), diary(BEN), diary(ANN, epoch=8), diary(ANN, epoch=9)
    other = forked.fork(3)
    tags = [chain.add(Add(1, "diary", {"text": "hunter2"})) for chain in (gap, stranger, clipped, forked)]
    tags.append(other.add(Add(1, "diary", {"text": "hunter2 again"})))
    store.merge_ranges([gap.encoded(3), stranger.encoded(), clipped.encoded(), forked.encoded(), other.encoded()])
    assert secret_left(store, b"hunter2")
    store.merge_statements([CLAN.revoke(ANN, [(8, 1, clipped.hash_at(1))]).encode()])
    store.merge_statements([CLAN.erase(CLAN.root, *tags).encode()])
    assert not secret_left(store, b"hunter2")
    assert store.merge(gap.encoded(1, 2)) != Refused("")
    store.merge_statements([CLAN.member(BEN).encode()])
    assert accepted(store, stranger) == 7


def test_a_body_erased_before_it_came_is_not_kept_in_a_stray(store: Store) -> None:
    """Late joiners get it from someone who has not heard of the erase, behind a gap."""
    chain = diary()
    tag = chain.add(Add(1, "diary", {"text": "hunter2"}))
    store.merge_statements([CLAN.erase(ANN, tag).encode()])
    store.merge(chain.encoded(3))
    assert not secret_left(store, b"hunter2")
    store.merge(chain.encoded(1, 2))
    assert accepted(store, chain) == 7
    assert not secret_left(store, b"hunter2")


def test_a_body_erased_before_it_came_is_not_kept_in_the_branch_of_a_fork(store: Store) -> None:
    """The other branch of a fork is kept for ever, its erased bodies are not."""
    chain = diary()
    other = chain.fork(2)
    tag = other.add(Add(1, "diary", {"text": "hunter2"}))
    store.merge_statements([CLAN.erase(ANN, tag).encode()])
    store.merge_ranges([chain.encoded(), other.encoded()])
    assert not secret_left(store, b"hunter2")


def test_an_erased_body_takes_no_room(store: Store) -> None:
    """What waits is measured by what is there."""
    chain = Chain(CLAN, BEN)
    tags = [chain.add(Add(1, "diary", {"text": "x" * 2000})) for _ in range(4)]
    store.merge(chain.encoded())
    before = store.quarantine.total_bytes()
    store.merge_statements([CLAN.erase(CLAN.root, *tags).encode()])
    assert store.quarantine.total_bytes() < before / 4


def test_a_missing_body_without_an_erase_is_a_gap(store: Store) -> None:
    """Nobody can make a node forget a body by leaving it out."""
    chain = diary()
    assert store.merge(without_bodies(chain.range(), 4)) == Gap(chain.feed, 4, 4)
    assert store.merge(chain.encoded()) == Merged(6)
    assert store.merge(without_bodies(chain.range(), 4)) == AlreadyKnown()
    assert len(views(store)["elements"]) == 6  # type: ignore[arg-type]


def test_a_range_without_bodies_is_let_go_when_the_whole_one_has_come(store: Store) -> None:
    """Nothing waits any more for what is in the chain: no room is taken, nothing of it is sent on."""
    chain = diary()
    store.merge(without_bodies(chain.range(1, 3), 2))
    store.merge(chain.encoded(1, 3))
    store.merge(without_bodies(chain.range(4), 5))
    store.merge(chain.encoded(4))
    assert accepted(store, chain) == 6
    assert strays(store) == []


def test_a_stray_without_a_body_attaches_when_the_signer_of_its_erase_becomes_an_admin(store: Store) -> None:
    """The erase was there all along and counts from then: same parcels, other order, same state."""
    chain = diary()
    tag = chain.add(Add(1, "diary", {"text": "hunter2"}))
    store.merge_statements([CLAN.member(BEN).encode(), CLAN.erase(BEN, tag).encode()])
    store.merge(without_bodies(chain.range(), 7))
    store.merge_statements([CLAN.admin(BEN).encode()])
    assert accepted(store, chain) == 7


def test_the_body_of_a_remove_or_count_may_never_be_missing(store: Store) -> None:
    """An erase does not reach them, so it excuses nothing."""
    chain = Chain(CLAN, ANN)
    tag = chain.add((4, bytes(16) + b"\x92\xa1k\x01"))
    store.merge_statements([CLAN.erase(ANN, tag).encode()])
    assert store.merge(without_bodies(chain.range(), 1)) == Gap(chain.feed, 1, 1)
    assert store.merge(chain.encoded()) == Merged(1)


def test_a_range_without_bodies_does_not_keep_out_the_same_range_with_them(store: Store) -> None:
    """A relay that strips a stray must not win over one that does not: same parcels, other order, same state."""
    chain = diary()
    for data in (without_bodies(chain.range(3, 6), 4, 5), chain.encoded(3, 6), chain.encoded(1, 2)):
        store.merge(data)
    assert accepted(store, chain) == 6
    assert strays(store) == []


def test_a_stray_without_a_body_attaches_when_the_erase_comes_last(store: Store) -> None:
    """Range, gap closed, then the erase that excuses the missing body; the stray does not stay behind for ever."""
    chain = diary()
    tag = chain.add(Add(1, "diary", {"text": "hunter2"}))
    store.merge(without_bodies(chain.range(3), 7))
    store.merge(chain.encoded(1, 2))
    store.merge_statements([CLAN.erase(ANN, tag).encode()])
    store.merge(chain.encoded(3))
    assert accepted(store, chain) == 7
    assert strays(store) == []


def full_of_short_bodies(chain: Chain) -> list[bytes]:
    """A range near its limit, most of it operations shorter than the hash that stands for an erased one."""
    for _ in range(3):
        chain.add((77, os.urandom(65_000)))
    return [chain.add((77, os.urandom(16))) for _ in range(1200)]


def erases(tags: list[bytes]) -> list[bytes]:
    return [CLAN.erase(ANN, *tags[first : first + 1000]).encode() for first in range(0, len(tags), 1000)]


def test_erasing_short_bodies_in_a_stray_does_not_make_it_unreadable(store: Store) -> None:
    """A hash is longer than the shortest body: a full range of them grows when they are erased."""
    chain = diary(length=1)
    tags = full_of_short_bodies(chain)
    store.merge(chain.encoded(2))
    store.merge_statements(erases(tags))
    store.merge_statements([CLAN.erase(ANN, bytes(32)).encode()])
    assert store.merge(chain.encoded(1, 1)) == Merged(1204)


def test_erasing_short_bodies_leaves_a_feed_that_can_be_sent(store: Store) -> None:
    """Every range of it still fits its limit and is accepted elsewhere."""
    chain = Chain(CLAN, ANN)
    tags = full_of_short_bodies(chain)
    assert store.merge(chain.encoded()) == Merged(1203)
    store.merge_statements(erases(tags))
    row = store.feeds.find(chain.feed)
    assert row is not None
    assert sum(len(item.links) for item in store.feeds.ranges(row, 0)) == 1203


def test_a_range_too_heavy_to_be_sent_on_is_refused(store: Store) -> None:
    """Small stamps make its bytes fit where its weight does not; once held it would have stopped every export."""
    chain = Chain(CLAN, BEN)
    for number in range(4096):
        chain.add((77, os.urandom(46)), number + 1)
    assert len(chain.encoded()) < 256 * 1024
    assert isinstance(store.merge(chain.encoded()), Refused)
    assert store.feeds.find(chain.feed) is None


def test_every_range_that_is_accepted_can_be_sent_on(store: Store) -> None:
    """A stranger's range that is legal by its bytes, with 4096 small operations, stops no export and no merge."""
    chain = Chain(CLAN, BEN)
    for number in range(4096):
        chain.add((77, os.urandom(16)), number + 1)
    fork = chain.fork(0)
    fork.add(Add(1, "diary", {}))
    assert store.merge(chain.encoded()) == Waiting("no certificate")
    row = store.feeds.find(chain.feed)
    assert row is not None
    assert sum(len(item.links) for item in store.feeds.ranges(row, 0)) == 4096
    assert store.merge(fork.encoded()) is not None


def test_many_small_feeds_of_a_stranger_cost_what_they_cost(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A feed of one small operation takes hundreds of bytes on disk, and is counted so."""
    monkeypatch.setattr(quarantine, "STRANGER_BYTES", 10 * quarantine.KEEPING_BYTES)
    outcomes = store.merge_ranges([diary(BEN, 1, epoch).encoded() for epoch in range(1, 30)])
    assert sum(outcome == Waiting("no certificate") for outcome in outcomes) < 10
    assert Refused("quarantine is full for a node without a certificate") in outcomes


def test_a_stray_takes_no_second_room_when_its_gap_closes(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is kept is not thrown away for lack of the room that it has."""
    chain = diary(BEN, 12)
    store.merge(chain.encoded(4))
    room(monkeypatch)
    room(monkeypatch, stranger=store.quarantine.total_bytes() + 600)
    assert store.merge(chain.encoded(1, 3)) == Waiting("no certificate")
    assert strays(store) == []
    store.merge_statements([CLAN.member(BEN).encode()])
    assert accepted(store, chain) == 12


def test_feeds_that_push_each_other_out_do_so_at_a_limited_pace_if_peers_bring_them(tmp_path: Path) -> None:
    """Of many, each earlier than the last, some 64 a minute; what came too fast is taken when it comes again. A bundle is not slowed down."""
    author = CLAN.node(1)
    now = NOW_MS
    ranges = []
    for epoch in range(1, 301):
        chain = Chain(CLAN, author, epoch)
        chain.add(Add(1, "notes", {"text": "one feed more"}), clock.pack(NOW_MS - epoch))
        ranges.append(chain.encoded())

    def earliest(store: Store) -> list[int]:
        return sorted(row.feed.epoch for row in store.feeds.all() if row.accepted.seq)

    with open_store(tmp_path / "peer", CLAN) as store, open_store(tmp_path / "bundle", CLAN) as whole:
        for each in (store, whole):
            each.merge_statements([CLAN.member(author, at=NOW_MS).encode()])
        store.clock, store.pace = lambda: now, quarantine.PushOutRate()
        outcomes = store.merge_ranges(ranges)
        assert sum(isinstance(item, Refused) for item in outcomes) == 300 - FEEDS - quarantine.PUSHED_OUT_A_MINUTE
        assert len(earliest(store)) == FEEDS
        now += 60_000
        store.merge_ranges(ranges[-FEEDS:])
        whole.merge_ranges(ranges)
        assert earliest(store) == earliest(whole) == list(range(301 - FEEDS, 301))
        assert store.root() == whole.root()
