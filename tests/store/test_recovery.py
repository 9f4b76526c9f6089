"""Another root in the place of the first: what counts in a store, in any order of arrival, and after a repair."""

import itertools
import os
from pathlib import Path

import pytest

from mesh.core.operation import Add
from mesh.core.statement import ADMIN, Member, Recover, sign
from mesh.store import keyfile
from mesh.store.database_repair import repair
from mesh.store.home import create_home
from mesh.store.merge_outcome import Merged, Waiting
from mesh.store.verification import verify_store
from tests.worlds import Chain, Clan, open_store, views

CLAN = Clan()
HONEST, THIEF, NEXT = CLAN.node(1), CLAN.node(2), CLAN.node(9)


def chain_of(index: int) -> Chain:
    chain = Chain(CLAN, CLAN.node(index))
    chain.add(Add(1, "notes", {"text": f"of {index}"}))
    return chain


def test_what_only_the_old_root_certified_counts_no_more(tmp_path: Path) -> None:
    """What the recovery lists stays; the rest waits as if it had never been admitted."""
    kept, forged = CLAN.member(HONEST), CLAN.member(THIEF)
    with open_store(tmp_path / "home", CLAN) as store:
        store.merge_statements([kept.encode(), forged.encode()])
        assert [store.merge(chain_of(index).encoded()) for index in (1, 2)] == [Merged(1), Merged(1)]
        assert store.merge_statements([CLAN.recover(NEXT, [kept]).encode()]) == [Merged(1)]
        assert {row.feed.node: row.accepted.seq for row in store.feeds.all()} == {HONEST.public: 1, THIEF.public: 0}
        assert verify_store(store).clean


def test_the_new_roots_word_waits_until_it_is_the_root(tmp_path: Path) -> None:
    """Its members, and its erasures of what others wrote."""
    chain = Chain(CLAN, HONEST)
    tag = chain.add(Add(1, "notes", {"text": "a secret"}))
    with open_store(tmp_path / "home", CLAN) as store:
        store.merge(chain.encoded())
        early = [CLAN.member(HONEST, signer=NEXT), CLAN.erase(NEXT, tag)]
        for outcome in store.merge_statements([item.encode() for item in early]):
            assert isinstance(outcome, Waiting)
        store.merge_statements([CLAN.recover(NEXT).encode()])
        assert [row.accepted.seq for row in store.feeds.all()] == [1]
        assert views(store)["elements"] == {}
        assert store.statements.held() == []


def test_every_order_of_arrival_ends_in_one_state(tmp_path: Path) -> None:
    """Certificates by three roots and a stolen key, two recoveries, operations of all nodes."""
    kept = CLAN.member(HONEST)
    parts = [
        CLAN.admin(THIEF),
        kept,
        CLAN.recover(NEXT, [kept], at=5),
        CLAN.recover(CLAN.node(8), [], at=4),
        CLAN.member(CLAN.node(3), signer=THIEF),
    ]
    states = set()
    for number, order in enumerate(itertools.permutations(parts)):
        with open_store(tmp_path / str(number), CLAN) as store:
            for index in (1, 2, 3):
                store.merge(chain_of(index).encoded())
            for item in order:
                store.merge_statements([item.encode()])
            states.add((store.root(), repr(sorted(views(store)["elements"]))))  # type: ignore[call-overload]
            assert {row.feed.node for row in store.feeds.all() if row.accepted.seq} == {HONEST.public}
    assert len(states) == 1


@pytest.mark.parametrize("everything_lost", [False, True])
def test_a_home_whose_root_was_replaced_can_be_repaired(tmp_path: Path, *, everything_lost: bool) -> None:
    """With the statements it stays as it was; without them the mesh begins again with its founding root."""
    home = create_home(str(tmp_path / "home"), "laptop")
    recovery, old = keyfile.load(home.file("recovery.key")), home.root_identity()
    os.rename(home.file("root.key"), home.file("root.key.replaced-1"))
    new = keyfile.create(home.file("root.key"))
    store = home.store()
    now = store.clock()
    facts = [(recovery, Recover(recovery.public, now, new.public, (), "stolen"))]
    again = sign(home.mesh, new, Member(new.public, now, home.node, "laptop", ADMIN))
    store.merge_statements([*(sign(home.mesh, key, fact).encode() for key, fact in facts), again.encode()])
    assert store.trust().admins == {home.node}
    store.close()
    if everything_lost:
        for name in ("mesh.db", "mesh.db-wal", "mesh.db-shm"):
            if os.path.exists(home.file(name)):
                os.unlink(home.file(name))
    repair(home)
    store = home.store()
    assert store.trust().root == (old if everything_lost else new).public
    assert store.trust().may_certify(home.node)
    store.close()
