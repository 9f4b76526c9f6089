"""The set of statements: who may join it, in any order, and what a transaction that fails must not leave behind."""

from pathlib import Path

import pytest

from mesh.core.operation import Add
from mesh.store.database import Database
from mesh.store.merge_outcome import AlreadyKnown, Merged, Waiting
from mesh.store.store import Store
from tests.worlds import Chain, Clan, open_store, views

CLAN = Clan()
ADMIN, NODE, OTHER = CLAN.node(0), CLAN.node(1), CLAN.node(2)


def chain_of(node: object) -> Chain:
    assert node in (NODE, OTHER)
    chain = Chain(CLAN, NODE if node is NODE else OTHER)
    chain.add(Add(1, "notes", {"text": "hello"}))
    return chain


def take_and_fail(store: Store) -> None:
    with store.database.writing(durable=True):
        store.take([CLAN.member(NODE, "ghost")])
        assert store.trust().certified(NODE.public)
        raise RuntimeError("the disk is full, say")


def test_a_transaction_that_failed_leaves_no_trust_behind(tmp_path: Path) -> None:
    """What was taken in and rolled back is forgotten, also when another process writes in between."""
    with open_store(tmp_path / "home", CLAN) as one, open_store(tmp_path / "home", CLAN) as two:
        with pytest.raises(RuntimeError):
            take_and_fail(one)
        two.merge_statements([CLAN.member(OTHER, "real").encode()])
        assert not one.trust().certified(NODE.public)
        assert one.trust().certified(OTHER.public)
        assert one.root() == two.root()


def test_what_an_admin_says_waits_until_the_root_has_named_the_admin(tmp_path: Path) -> None:
    """The certificate comes first, then the operation, then the right to certify."""
    chain = chain_of(NODE)
    with open_store(tmp_path / "home", CLAN) as store:
        assert isinstance(store.merge_statements([CLAN.member(NODE, signer=ADMIN).encode()])[0], Waiting)
        assert store.merge(chain.encoded()) == Waiting("no certificate")
        assert store.merge_statements([CLAN.admin(ADMIN).encode()]) == [Merged(1)]
        assert len(views(store)["elements"]) == 1  # type: ignore[arg-type]
        assert store.merge_statements([CLAN.admin(ADMIN).encode()]) == [AlreadyKnown()]


def test_statements_wait_until_the_founding_keys_are_known(tmp_path: Path) -> None:
    """A node that knows only the mesh's id can judge nobody; the keys prove themselves when they come."""
    (tmp_path / "home").mkdir()
    store = Store(Database(str(tmp_path / "home" / "mesh.db"), create=True), CLAN.mesh)
    assert isinstance(store.merge_statements([CLAN.member(NODE).encode()])[0], Waiting)
    store.learn_founders(CLAN.root.public, CLAN.recovery.public)
    assert store.trust().certified(NODE.public)
    store.close()


def test_a_revoked_admins_other_certificates_stop_counting(tmp_path: Path) -> None:
    """Its revocation lists what it had honestly signed; a key stolen later certifies nobody."""
    kept, forged = CLAN.member(NODE, signer=ADMIN), CLAN.member(OTHER, signer=ADMIN)
    with open_store(tmp_path / "home", CLAN) as store:
        store.merge_statements([item.encode() for item in (CLAN.admin(ADMIN), kept, forged)])
        for node in (NODE, OTHER):
            assert store.merge(chain_of(node).encoded()) == Merged(1)
        store.merge_statements([CLAN.revoke(ADMIN, kept=[kept]).encode()])
        assert {row.feed.node: row.accepted.seq for row in store.feeds.all()} == {NODE.public: 1, OTHER.public: 0}


def test_a_revocation_ends_a_feed_and_keeps_what_came_before(tmp_path: Path) -> None:
    """Operations behind the named head are kept, and count nowhere."""
    chain = Chain(CLAN, NODE)
    tags = [chain.add(Add(at, "notes", {"text": f"{at}"})) for at in (1, 2, 3)]
    with open_store(tmp_path / "home", CLAN) as store:
        store.merge_statements([CLAN.member(NODE).encode()])
        store.merge(chain.encoded())
        store.merge_statements([CLAN.revoke(NODE, [(chain.feed.epoch, 2, chain.hash_at(2))]).encode()])
        assert set(views(store)["elements"]) == set(tags[:2])  # type: ignore[call-overload]
        assert [(row.held.seq, row.accepted.seq) for row in store.feeds.all()] == [(3, 2)]
        store.merge_statements([CLAN.revoke(NODE, [(chain.feed.epoch, 1, chain.hash_at(1))]).encode()])
        assert set(views(store)["elements"]) == set(tags[:1])  # type: ignore[call-overload]
