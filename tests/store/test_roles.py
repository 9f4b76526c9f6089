"""What a node in a role may write: a reader nothing, and bulk work no more than leaves room for what is written live."""

import os
from pathlib import Path

import pytest

from mesh.core.draft import NewRecord
from mesh.core.errors import MayNotWrite, QuotaReached
from mesh.core.statement import EPHEMERAL_READER, MEMBER, READER, Quota, Revoke, sign
from mesh.core.trust import Trust
from mesh.store.home import Home, create_home
from mesh.store.reader import Reader
from tests.roles import admitted, fill, founder, free, throw_away

NOTE = [NewRecord("notes", {"text": "one more"})]
HALF = 2 * 2**20  # of a throw-away node's quota


def write(home: Home, *, is_bulk: bool = False, private: bool = False) -> None:
    author = home.author(private=private)
    try:
        author.append(NOTE, is_bulk=is_bulk)
    finally:
        author.store.close()


@pytest.mark.parametrize("role", [READER, EPHEMERAL_READER])
def test_a_reader_writes_nothing_but_what_is_private(tmp_path: Path, role: str) -> None:
    """It opens no feed either, and is told what it can do."""
    home = admitted(tmp_path, founder(tmp_path), role)
    for is_bulk in (False, True):
        with pytest.raises(MayNotWrite, match="reader") as told:
            write(home, is_bulk=is_bulk)
        assert "--private" in told.value.next_step
        assert "mesh invite --role writer" in told.value.next_step
    write(home, private=True)
    author = home.author()
    assert not author.may_write
    assert author.store.feeds.all() == []
    author.store.close()


def test_a_writer_and_a_node_that_is_not_admitted_yet_may_write(tmp_path: Path) -> None:
    """What the second one writes waits for its certificate."""
    first = founder(tmp_path)
    write(admitted(tmp_path, first, MEMBER))
    write(create_home(os.fspath(tmp_path / "unknown"), "unknown", first.mesh))


def test_a_reader_that_owes_a_republication_still_merges(tmp_path: Path) -> None:
    """It had written before it was admitted, in two copies of one home: nothing of that ever counts, and nothing breaks."""
    home = admitted(tmp_path, founder(tmp_path), READER)
    author = home.author()
    with author.store.database.writing(durable=True):
        author.store.owe_republication()
    assert author.merge_ranges([]) == []
    author.store.close()


def test_bulk_work_leaves_half_the_quota_to_what_is_written_live(tmp_path: Path) -> None:
    """It is told when it may go on; what is written live goes on at once, to the end of the quota."""
    home = throw_away(tmp_path)
    fill(home, HALF + 1000)
    write(home, is_bulk=True)
    fill(home, HALF)
    store = home.store()
    grows = store.trust().next_allowance_ms(home.node, store.clock())
    store.close()
    with pytest.raises(QuotaReached, match="half of its quota of 4 MB") as told:
        write(home, is_bulk=True)
    assert told.value.again_ms == grows
    assert "mesh quota" in told.value.next_step
    write(home)
    fill(home)
    with pytest.raises(QuotaReached, match="as much as it may") as told:
        write(home)
    assert told.value.again_ms == grows


def test_a_raised_quota_counts_until_its_signer_is_revoked_without_it(tmp_path: Path) -> None:
    """A revocation names what goes on counting of an admin's word."""
    home = founder(tmp_path)
    store = home.store()
    root, known = home.root_identity(), store.all_statements()
    admin = home.identity()
    raised = sign(home.mesh, admin, Quota(admin.public, store.clock(), home.node, 2**30))
    founders = store.founders()
    kept = sign(home.mesh, root, Revoke(root.public, store.clock(), admin.public, (), (raised.id,), ""))
    dropped = sign(home.mesh, root, Revoke(root.public, store.clock(), admin.public, (), (), ""))
    usual = Trust(founders, known).quota(home.node)
    quotas = [Trust(founders, [*known, raised, *more]).quota(home.node) for more in ([], [kept], [dropped])]
    assert quotas == [2**30, 2**30, usual]
    store.close()


def test_what_a_full_node_has_written_is_all_there(tmp_path: Path) -> None:
    """Refusing writes half a batch nowhere: as many records as were acknowledged."""
    home = throw_away(tmp_path)
    fill(home)
    with pytest.raises(QuotaReached):
        write(home)
    store = home.store()
    assert Reader(store.database.connection).logs().keys() == {"filling"}
    assert store.settle() == 0
    store.close()
    assert free(home) < 8
