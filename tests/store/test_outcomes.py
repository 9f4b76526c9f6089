"""Every answer a merge can give, each shown once."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from mesh.core import clock
from mesh.core.feed import encode_range
from mesh.core.operation import Add
from mesh.store import quarantine
from mesh.store.merge_outcome import AlreadyKnown, Clipped, Forked, Gap, Merged, Refused, Waiting
from mesh.store.store import Store
from tests.worlds import NOW_MS, Chain, Clan, open_store, views

CLAN = Clan()
ANN, BEN = CLAN.node(0), CLAN.node(1)


@pytest.fixture(name="store")
def _store(tmp_path: Path) -> Iterator[Store]:
    """A store that knows Ann and nobody else."""
    with open_store(tmp_path, CLAN) as store:
        store.merge_statements([CLAN.member(ANN).encode()])
        yield store


def diary(author: object = ANN, length: int = 4) -> Chain:
    made = Chain(CLAN, author)  # type: ignore[arg-type]
    for number in range(length):
        made.add(Add(made.next_hlc(), "diary", {"text": f"day {number}"}))
    return made


def accepted(store: Store, chain: Chain) -> int:
    row = store.feeds.find(chain.feed)
    return 0 if row is None else row.accepted.seq


def test_new_operations_are_merged(store: Store) -> None:
    """The count says how many came to count; an overlap is not counted twice."""
    chain = diary()
    assert store.merge(chain.encoded(1, 2)) == Merged(2)
    assert store.merge(chain.encoded(1, 4)) == Merged(2)
    assert len(views(store)["elements"]) == 4  # type: ignore[arg-type]


def test_operations_known_are_already_known(store: Store) -> None:
    """Whole, and any part of what is held."""
    chain = diary()
    store.merge(chain.encoded())
    for first in range(1, 5):
        assert store.merge(chain.encoded(first)) == AlreadyKnown()
    assert store.merge(chain.encoded(2, 3)) == AlreadyKnown()


def test_operations_behind_a_gap_say_what_is_missing(store: Store) -> None:
    """And count as soon as it comes."""
    chain = diary()
    assert store.merge(chain.encoded(3)) == Gap(chain.feed, 1, 2)
    assert accepted(store, chain) == 0
    store.merge(chain.encoded(1, 2))
    assert accepted(store, chain) == 4


def test_a_missing_body_without_an_erase_is_a_gap_of_one(store: Store) -> None:
    """The answer names the operation whose body is needed; nothing of the range counts."""
    chain = diary()
    links = [link._replace(body=None) if number == 1 else link for number, link in enumerate(chain.links)]
    assert store.merge(encode_range(chain.range()._replace(links=links))) == Gap(chain.feed, 2, 2)
    assert accepted(store, chain) == 0


def test_operations_of_a_node_without_certificate_wait(store: Store) -> None:
    """They are kept, and count when the certificate comes."""
    chain = diary(BEN)
    assert store.merge(chain.encoded()) == Waiting("no certificate")
    assert store.merge_statements([CLAN.member(BEN).encode()]) == [Merged(1)]
    assert accepted(store, chain) == 4


def test_operations_ahead_of_the_clock_wait_and_those_before_them_count(store: Store) -> None:
    """Five minutes are allowed."""
    chain = diary(length=2)
    chain.add(Add(1, "diary", {}), clock.horizon(NOW_MS) + 1)
    assert store.merge(chain.encoded()) == Waiting("ahead of the clock", 2)


def test_operations_after_a_revocation_are_clipped(store: Store) -> None:
    """Those before it count."""
    chain = diary()
    store.merge_statements([CLAN.revoke(ANN, [(7, 3, chain.hash_at(3))]).encode()])
    assert store.merge(chain.encoded()) == Clipped("revoked", 3)


def test_a_second_history_is_a_fork(store: Store) -> None:
    """The feed ends before the first operation that differs; the other branch is kept, clipped."""
    chain = diary()
    other = chain.fork(2)
    other.add(Add(1, "diary", {"text": "another day"}))
    store.merge(chain.encoded())
    assert store.merge(other.encoded()) == Forked(chain.feed, 3)
    assert accepted(store, chain) == 2
    assert store.merge(other.encoded()) == Clipped("fork")


def test_forged_and_malformed_ranges_are_refused(store: Store) -> None:
    """With the reason a person can read."""
    data = bytearray(diary().encoded())
    data[-1] ^= 1
    assert store.merge(bytes(data)) == Refused(f"the signature of {diary().feed} at 4 does not hold")
    assert store.merge(b"") == Refused("not a msgpack value: ValueError")


def test_an_operation_whose_clock_does_not_go_on_from_the_last_is_refused(store: Store) -> None:
    """Signed properly by its author, and refused by every node alike."""
    chain = diary(length=2)
    store.merge(chain.encoded())
    chain.add(Add(1, "diary", {}), chain.links[-1].hlc)
    assert store.merge(chain.encoded(3)) == Refused("an operation's clock does not increase")
    assert accepted(store, chain) == 2


def test_a_range_that_has_no_room_to_wait_is_refused(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """What counts at once needs no room."""
    monkeypatch.setattr(quarantine, "TOTAL_BYTES", 100)
    assert store.merge(diary(BEN).encoded()) == Refused("quarantine is full")
    assert store.merge(diary().encoded()) == Merged(4)


def test_ranges_merged_together_are_answered_one_by_one(store: Store) -> None:
    """A bad one spoils no other, and who closes a gap is told of all that came to count."""
    chain = diary()
    outcomes = store.merge_ranges([chain.encoded(1, 1), b"bad", chain.encoded(3, 4), chain.encoded(2, 2)])
    assert outcomes == [Merged(1), Refused("not a msgpack value: ExtraData"), Gap(chain.feed, 2, 2), Merged(3)]
    assert accepted(store, chain) == 4


def test_a_new_statement_is_merged_and_then_known(store: Store) -> None:
    """Once; also twice in one call is once in the set."""
    statement = CLAN.member(BEN).encode()
    assert store.merge_statements([statement]) == [Merged(1)]
    assert store.merge_statements([statement, statement]) == [AlreadyKnown(), AlreadyKnown()]


def test_a_statement_without_the_right_to_make_it_waits(store: Store) -> None:
    """Until its signer has it."""
    admin, cat = CLAN.node(2), CLAN.node(3)
    statement = CLAN.member(cat, signer=admin)
    (outcome,) = store.merge_statements([statement.encode()])
    assert outcome == Waiting("its signer has no right to say this, as far as is known here")
    assert not store.trust().certified(cat.public)
    store.merge_statements([CLAN.admin(admin).encode()])
    assert store.trust().certified(cat.public)


def test_statements_that_entitle_each_other_may_come_in_one_call(store: Store) -> None:
    """In the wrong order too."""
    admin, cat = CLAN.node(2), CLAN.node(3)
    statements = [CLAN.member(cat, signer=admin).encode(), CLAN.admin(admin).encode()]
    assert store.merge_statements(statements) == [Merged(1), Merged(1)]


def test_a_forged_statement_is_refused(store: Store) -> None:
    """And the ones beside it are not."""
    forged = CLAN.member(BEN)._replace(signature=bytes(64)).encode()
    outcomes = store.merge_statements([forged, CLAN.erase(ANN, bytes(32)).encode(), b""])
    assert outcomes == [
        Refused("the signature of a statement does not hold"),
        Waiting("it names no operation of its signer that counts, as far as is known here"),
        Refused("not a msgpack value: ValueError"),
    ]


def test_a_fork_proof_above_the_one_known_is_already_known(store: Store) -> None:
    """One a feed is kept, the lowest."""
    chain = diary()
    low, high = chain.fork(1), chain.fork(3)
    for branch in (low, high):
        branch.add(Add(1, "diary", {"text": "another day"}))
    store.merge_ranges([chain.encoded(), high.encoded()])
    proof = store.trust().fork_statement(chain.feed)
    assert proof is not None
    assert store.merge(low.encoded()) == Forked(chain.feed, 2)
    assert store.merge_statements([proof.encode()]) == [AlreadyKnown()]
    assert accepted(store, chain) == 1
