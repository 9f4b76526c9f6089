"""Invitations: how often, how long, for whom, and that a use is on disk before anyone hears of it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from mesh.core.ids import digest
from mesh.core.statement import MEMBER, READER
from mesh.store.database import Database
from mesh.store.join_table import EXPIRED, FORGET_MS, USED_UP, WITHDRAWN, Invite, InviteBook, Used

ANN, BEN, CAT = (digest(name) for name in (b"ann", b"ben", b"cat"))
ONCE = Invite(b"1" * 16, b"s" * 32, 1000, 2000, 1)
TWICE = Invite(b"2" * 16, b"t" * 32, 1001, 3000, 2, READER)


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "mesh.db")


@pytest.fixture
def book(path: str) -> Iterator[InviteBook]:
    database = Database(path, create=True)
    made = InviteBook(database)
    made.add(ONCE)
    made.add(TWICE)
    yield made
    database.close()


def test_an_invitation_is_used_as_often_as_it_says(book: InviteBook) -> None:
    """One more node is refused."""
    assert book.use(ONCE.id, ANN, 1500) == Used(again=False)
    assert book.use(ONCE.id, BEN, 1500) == USED_UP
    assert [book.use(TWICE.id, node, 1500) for node in (ANN, BEN, CAT)] == [Used(False), Used(False), USED_UP]


def test_a_node_that_asks_again_uses_it_once(book: InviteBook) -> None:
    """Its answer may have been lost; also when the invitation has expired meanwhile."""
    assert book.use(ONCE.id, ANN, 1999) == Used(again=False)
    assert book.use(ONCE.id, ANN, 1999) == Used(again=True)
    assert book.use(ONCE.id, ANN, 9999) == Used(again=True)


def test_an_expired_invitation_is_refused(book: InviteBook) -> None:
    """From its last millisecond on."""
    assert book.use(ONCE.id, ANN, 2000) == EXPIRED
    assert book.use(TWICE.id, ANN, 2999) == Used(again=False)


def test_outstanding_are_those_that_could_still_be_used(book: InviteBook) -> None:
    """Neither used up nor expired nor withdrawn."""
    assert book.outstanding(1500) == [ONCE, TWICE]
    book.use(ONCE.id, ANN, 1500)
    assert book.outstanding(1500) == [TWICE]
    assert book.outstanding(3000) == []
    assert book.withdraw(TWICE.id)
    assert book.outstanding(1500) == []


def test_an_invitation_keeps_the_role_it_was_made_with(book: InviteBook) -> None:
    """One that says none is for a writer."""
    assert [found.role for found in book.outstanding(1500)] == [MEMBER, READER]


def test_a_withdrawn_invitation_is_gone(book: InviteBook) -> None:
    """Also for a node that has used it."""
    book.use(ONCE.id, ANN, 1500)
    assert book.withdraw(ONCE.id)
    assert not book.withdraw(ONCE.id)
    assert book.find(ONCE.id) is None
    assert book.use(ONCE.id, ANN, 1500) == WITHDRAWN


def test_an_unknown_invitation_is_refused(book: InviteBook) -> None:
    """Nothing is recorded for it."""
    assert book.use(b"9" * 16, ANN, 1500) == WITHDRAWN
    assert book.find(b"9" * 16) is None


def test_a_use_is_there_for_another_process(book: InviteBook, path: str) -> None:
    """Committed, with a full sync, before the answer."""
    book.use(ONCE.id, ANN, 1500)
    other = Database(path)
    assert InviteBook(other).use(ONCE.id, BEN, 1500) == USED_UP
    other.close()
    assert book._database.run("PRAGMA synchronous").get == 2


def test_invitations_that_ended_long_ago_are_forgotten(book: InviteBook) -> None:
    """With the next new one; a recent end is remembered."""
    book.use(ONCE.id, ANN, 1500)
    later = ONCE.expires_ms + FORGET_MS + 1
    book.add(Invite(b"3" * 16, b"u" * 32, later, later + 1000, 1))
    assert book.find(ONCE.id) is None
    assert book.find(TWICE.id) == TWICE
    assert book._database.run("SELECT count(*) FROM invite_uses").get == 0
