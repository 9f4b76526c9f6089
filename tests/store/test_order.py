"""Small cases in which the order of arrival once decided the end."""

import itertools
import shutil
from pathlib import Path

import pytest

from mesh.core.draft import NewRecord
from mesh.core.operation import Add
from mesh.store.reader import Reader
from mesh.store.store import Store
from tests.store.test_epochs import CERTIFICATES, copy_marker, send
from tests.worlds import NOW_MS, Chain, Clan, open_author, open_store

CLAN = Clan()
NODE, OWN, PEER = CLAN.node(5), CLAN.node(0), CLAN.node(1)


def end_of(folder: Path, parcels: tuple[bytes, ...]) -> tuple[bytes, list[int]]:
    with open_store(folder, CLAN) as store:
        store.merge_statements([CLAN.member(NODE).encode()])
        for parcel in parcels:
            store.merge(parcel)
        return store.root(), [row.accepted.seq for row in store.feeds.all()]


def test_the_same_fork_is_the_same_statement_by_whichever_ranges_it_is_shown(tmp_path: Path) -> None:
    """Which parts were at hand when the fork was seen is no part of the state."""
    one = Chain(CLAN, NODE)
    for number in range(6):
        one.add(Add(1, "notes", {"text": f"{number}"}))
    other = one.fork(2)
    other.add(Add(1, "notes", {"text": "other"}))
    parcels = (one.encoded(1, 4), one.encoded(5, 6), other.encoded())
    orders = itertools.permutations(parcels)
    assert len({end_of(tmp_path / str(number), order)[0] for number, order in enumerate(orders)}) == 1


def test_a_branch_whose_clock_goes_back_is_refused_in_any_order(tmp_path: Path) -> None:
    """It breaks a frozen rule: it is no fork for one node and nothing for another."""
    good = Chain(CLAN, NODE)
    good.add(Add(1, "notes", {"text": "first"}))
    bad = good.fork(1)
    good.add(Add(1, "notes", {"text": "second"}))
    bad.add(Add(1, "notes", {"text": "back in time"}), good.links[0].hlc - 5)
    parcels = (good.encoded(1, 1), good.encoded(2, 2), bad.encoded(2, 2))
    ends = [end_of(tmp_path / str(number), order) for number, order in enumerate(itertools.permutations(parcels))]
    assert len({root for root, _ in ends}) == 1
    assert ends[0][1] == [2]


def texts(store: Store) -> list[str]:
    return sorted(entry.record["text"] for entry in Reader(store.database.connection).tail(100))


@pytest.mark.parametrize("ahead_ms", [60_000, 3_600_000])
def test_what_a_copy_with_a_fast_clock_wrote_is_published_again_in_its_time(tmp_path: Path, ahead_ms: int) -> None:
    """The other branch was stamped ahead of us: it keeps its time, and is not lost for having it."""
    with open_author(tmp_path / "slow", CLAN, OWN) as slow:
        slow.merge_statements(CERTIFICATES)
        slow.append([NewRecord("notes", {"text": "common"})])
        shutil.copytree(tmp_path / "slow", tmp_path / "fast")
        copy_marker(OWN, tmp_path / "slow", tmp_path / "fast")
        with open_author(tmp_path / "fast", CLAN, OWN, NOW_MS + ahead_ms) as fast:
            fast.append([NewRecord("notes", {"text": "ahead"})])
            slow.append([NewRecord("notes", {"text": "in time"})])
            send(fast, slow)
        slow.store.clock = lambda: NOW_MS + ahead_ms
        slow.append([NewRecord("notes", {"text": "later"})])
        with open_author(tmp_path / "peer", CLAN, PEER, NOW_MS + ahead_ms) as peer:
            send(slow, peer)
            assert texts(peer.store) == texts(slow.store) == ["ahead", "common", "in time", "later"]
