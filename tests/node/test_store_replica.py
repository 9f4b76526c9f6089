"""The store behind gossip's seam: every change is told once, and what follows a head is what a peer needs."""

from pathlib import Path

import pytest

from mesh.core.draft import NewRecord
from mesh.core.feed import decode_range
from mesh.core.ids import first_prev
from mesh.core.operation import Add
from mesh.core.version_vector import Head
from mesh.node.store_replica import StoreReplica
from mesh.store.author import Author
from mesh.store.home import create_home
from peers.proto.replica import MergeVerdict
from tests.worlds import NOW_MS, Chain, Clan, open_author


@pytest.fixture
def clan() -> Clan:
    """A mesh with two nodes."""
    return Clan(5)


def library_of(author: Author, clan: Clan) -> StoreReplica:
    author.merge_statements([clan.member(clan.node(0)).encode(), clan.member(clan.node(1)).encode()])
    replica = StoreReplica(author)
    replica.everything()
    return replica


def test_a_write_of_a_command_is_told_once_with_what_to_push(tmp_path: Path) -> None:
    """Another process writes; the sidecar's replica says so, and says it once."""
    home = create_home(str(tmp_path / "home"), "laptop")
    ours, theirs = home.author(is_sidecar=True), home.author()
    replica = StoreReplica(ours)
    replica.everything()
    receipt = theirs.append([NewRecord("discoveries", {"text": "found"})])
    changes = replica.refresh()
    (state,) = changes.feeds
    (parcel,) = changes.fresh
    assert (state.feed, state.accepted.seq) == (receipt.feed, 1)
    assert (parcel.feed, parcel.first, parcel.last) == (receipt.feed, 1, 1)
    assert decode_range(home.mesh, parcel.data).head == state.accepted.hash
    assert not any(replica.refresh())


def test_a_large_write_is_told_without_its_bytes(tmp_path: Path) -> None:
    """What is too large to push is announced: others pull it."""
    home = create_home(str(tmp_path / "home"), "laptop")
    author = home.author()
    replica = StoreReplica(author)
    replica.everything()
    author.append([NewRecord("discoveries", {"text": "x" * 5000})])
    changes = replica.refresh()
    assert [state.accepted.seq for state in changes.feeds] == [1]
    assert changes.fresh == []


def test_a_merge_says_what_became_of_each_item_and_what_changed(tmp_path: Path, clan: Clan) -> None:
    """New, known, gap and refused, each in its place; the changed heads come with it and not again."""
    chain = Chain(clan, clan.node(1))
    for number in range(4):
        chain.add(Add(chain.next_hlc(), "discoveries", {"text": str(number)}))
    with open_author(tmp_path, clan, clan.node(0), NOW_MS) as author:
        replica = library_of(author, clan)
        result = replica.merge([], [chain.encoded(1, 2), chain.encoded(1, 2), chain.encoded(4, 4), b"nonsense"])
        assert result.ranges == [MergeVerdict.NEW, MergeVerdict.KNOWN, MergeVerdict.GAP, MergeVerdict.REFUSED]
        assert len(result.reasons) == 1
        assert [(state.feed, state.held) for state in result.changes.feeds] == [(chain.feed, Head(2, chain.hash_at(2)))]
        assert result.changes.fresh == []
        assert not any(replica.refresh())


def test_a_member_statement_changes_the_roster_and_lets_waiting_operations_count(tmp_path: Path, clan: Clan) -> None:
    """A stranger's operations wait; its certificate arrives, and the feed's head is told."""
    chain = Chain(clan, clan.node(2))
    chain.add(Add(chain.next_hlc(), "discoveries", {"text": "early"}))
    with open_author(tmp_path, clan, clan.node(0), NOW_MS) as author:
        replica = library_of(author, clan)
        assert replica.merge([], [chain.encoded()]).ranges == [MergeVerdict.WAITS]
        result = replica.merge([clan.member(clan.node(2), "late").encode()], [])
        assert result.statements == [MergeVerdict.NEW]
        assert result.changes.roster is not None
        assert result.changes.roster.allows(clan.node(2).public)
        assert [state.accepted.seq for state in result.changes.feeds] == [1]


def test_what_follows_a_head_is_read_within_the_room_and_from_anywhere(tmp_path: Path, clan: Clan) -> None:
    """At least one range however small the room; then as many as fit, and whether there is more."""
    chain = Chain(clan, clan.node(1))
    for number in range(600):
        chain.add(Add(chain.next_hlc(), "discoveries", {"text": "y" * 1000 + str(number)}))
    with open_author(tmp_path, clan, clan.node(0), NOW_MS) as author:
        replica = library_of(author, clan)
        replica.merge([], [chain.encoded(first, first + 99) for first in range(1, 600, 100)])
        start = Head(0, first_prev(clan.mesh, chain.feed))
        (small,) = replica.read([(chain.feed, start)], 10)
        assert len(small.ranges) == 1
        assert small.more
        (large,) = replica.read([(chain.feed, small.end)], 10_000_000)
        assert large.end == Head(600, chain.head)
        assert not large.more
        ranges = [decode_range(clan.mesh, data) for data in (*small.ranges, *large.ranges)]
        assert [item.first for item in ranges] == [1, *(item.last + 1 for item in ranges[:-1])]
        (nothing,) = replica.read([(chain.feed, Head(600, chain.head))], 1000)
        assert (nothing.ranges, nothing.more) == ([], False)


def test_a_head_of_another_branch_is_answered_with_points_that_lead_to_the_common_one(
    tmp_path: Path, clan: Clan
) -> None:
    """Who has another history is told ours in steps, and finds where the two parted."""
    chain = Chain(clan, clan.node(1))
    for number in range(20):
        chain.add(Add(chain.next_hlc(), "discoveries", {"text": str(number)}))
    other = chain.fork(10)
    other.add(Add(other.next_hlc(), "discoveries", {"text": "other"}))
    with open_author(tmp_path, clan, clan.node(0), NOW_MS) as author:
        replica = library_of(author, clan)
        replica.merge([], [chain.encoded(number, number) for number in range(1, 21)])
        (chunk,) = replica.read([(chain.feed, Head(11, other.head))], 1000)
        assert chunk.ranges == ()
        assert all(point.hash == chain.hash_at(point.seq) for point in chunk.points)
        assert chunk.points[-1].seq == 0
        assert replica.common(chain.feed, [Head(11, other.head), Head(10, chain.hash_at(10))]).seq == 10
        assert replica.common(chain.feed, [Head(11, other.head)]).seq == 0
