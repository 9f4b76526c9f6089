"""What a set of statements amounts to: who may say what, where feeds end, what is erased."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.core.ids import Feed, digest
from mesh.core.operation import ADD, COUNT, PAGE, REMOVE, SET, Add
from mesh.core.statement import ADMIN, Member, Statement, fork_between, sign
from mesh.core.trust import Cut, Trust
from tests.worlds import Chain, Clan

CLAN = Clan()
ROOT, ANN, BEN, CAT, EVE = CLAN.root, *(CLAN.node(index) for index in range(4))
NEXT, LAST = CLAN.node(8), CLAN.node(9)  # roots after the first
TAG, HASH = digest(b"tag"), digest(b"hash")
FEED = Feed(CAT.public, 7)


def trust(*statements: Statement) -> Trust:
    return Trust((ROOT.public, CLAN.recovery.public), statements)


def proof(first: int = 1, label: str = "x") -> Statement:
    """Cat signed two different operations `first`."""
    left = Chain(CLAN, CAT)
    for number in range(first - 1):
        left.add(Add(left.next_hlc(), "one", {"n": number}))
    right = left.fork(first - 1)
    left.add(Add(left.next_hlc(), "one", {"left": label}))
    right.add(Add(right.next_hlc(), "one", {"right": label}))
    return fork_between(left.range(), right.range(), first)


ADMINS = (CLAN.admin(ANN), CLAN.admin(BEN))
JOINED = CLAN.member(CAT)

ENTITLED: list[tuple[str, tuple[Statement, ...], Statement, bool]] = [
    ("the root certifies a node", (), CLAN.member(CAT), True),
    ("the root names an admin", (), CLAN.admin(ANN), True),
    ("an admin certifies a node", ADMINS, CLAN.member(CAT, signer=ANN), True),
    ("an admin names no admin", ADMINS, CLAN.member(CAT, "x", ADMIN, signer=ANN), False),
    ("an admin names not even itself", ADMINS, CLAN.member(ANN, "x", ADMIN, signer=ANN), False),
    ("a member certifies nobody", (JOINED,), CLAN.member(EVE, signer=CAT), False),
    ("a stranger certifies nobody", (), CLAN.member(EVE, signer=EVE), False),
    ("the root revokes a node", (), CLAN.revoke(CAT), True),
    ("an admin revokes a node", ADMINS, CLAN.revoke(CAT, signer=ANN), True),
    ("a member revokes nobody", (JOINED,), CLAN.revoke(EVE, signer=CAT), False),
    ("a member does not even revoke itself", (JOINED,), CLAN.revoke(CAT, signer=CAT), False),
    ("a member erases", (JOINED,), CLAN.erase(CAT, TAG), True),
    ("a stranger erases nothing", (), CLAN.erase(CAT, TAG), False),
    ("an admin erases", ADMINS, CLAN.erase(ANN, TAG), True),
    ("the root erases", (), CLAN.erase(ROOT, TAG), True),
    ("a revoked member still erases its own", (JOINED, CLAN.revoke(CAT)), CLAN.erase(CAT, TAG), True),
    ("a member's fork is a fork", (JOINED,), proof(), True),
    ("a stranger's fork waits with its feed", (), proof(), False),
    ("the recovery key certifies nobody", (), CLAN.member(CAT, signer=CLAN.recovery), False),
    ("the recovery key revokes nobody", (JOINED,), CLAN.revoke(CAT, signer=CLAN.recovery), False),
    ("the recovery key erases nothing", (), CLAN.erase(CLAN.recovery, TAG), False),
    ("the recovery key names a root", (), CLAN.recover(NEXT), True),
    ("the root names no other root", (), CLAN.recover(NEXT, signer=ROOT), False),
    ("an admin names no root", ADMINS, CLAN.recover(NEXT, signer=ANN), False),
    ("a root that was named names admins", (CLAN.recover(NEXT),), CLAN.admin(ANN, NEXT), True),
    ("a root not named yet names nobody", (), CLAN.admin(ANN, NEXT), False),
    ("a root that was replaced is still heard", (CLAN.recover(NEXT),), CLAN.member(CAT), True),
    (
        "an admin of a root that was replaced is still heard",
        (*ADMINS, CLAN.recover(NEXT)),
        CLAN.member(CAT, signer=ANN),
        True,
    ),
]


@pytest.mark.parametrize(
    ("known", "statement", "answer"), [row[1:] for row in ENTITLED], ids=[row[0] for row in ENTITLED]
)
def test_who_may_say_what(known: tuple[Statement, ...], statement: Statement, answer: bool) -> None:  # noqa: FBT001
    """The right to join the set, case by case."""
    assert trust(*known).entitled(statement) is answer


def test_without_the_founding_keys_nobody_is_entitled() -> None:
    """Before they are learned every statement waits, also one that names no signer."""
    nobody = Trust(None, [])
    for statement in (JOINED, CLAN.revoke(CAT), CLAN.erase(ROOT, TAG), CLAN.recover(NEXT), proof()):
        assert not nobody.entitled(statement)
    assert not nobody.certified(CAT.public)


def test_among_private_records_no_certificates_are_needed() -> None:
    """They come by the owner's hand only."""
    private = Trust(None, [], everyone=True)
    assert private.certified(EVE.public)
    assert private.entitled(CLAN.erase(EVE, TAG))
    assert private.entitled(proof())


def test_a_member_is_certified_and_named_by_its_latest_certificate() -> None:
    """Of two at the same time the same one wins on every node."""
    old = sign(CLAN.mesh, ROOT, Member(ROOT.public, 1, CAT.public, "old"))
    new = sign(CLAN.mesh, ROOT, Member(ROOT.public, 2, CAT.public, "new"))
    assert trust(old, new).members[CAT.public].name == "new"
    assert trust(new, old).members[CAT.public].name == "new"
    assert trust(new).certified(CAT.public)
    assert not trust(new).certified(EVE.public)
    twin = sign(CLAN.mesh, ROOT, Member(ROOT.public, 2, CAT.public, "twin"))
    assert trust(new, twin).members == trust(twin, new).members


def test_admins_are_those_the_root_named() -> None:
    """A later plain certificate takes no rights back: only a revocation does."""
    later = sign(CLAN.mesh, ROOT, Member(ROOT.public, 9, ANN.public, "ann"))
    assert trust(*ADMINS, later).admins == {ANN.public, BEN.public}


def test_a_revoked_member_is_cut_at_the_heads_named() -> None:
    """Epochs not named are void."""
    known = trust(JOINED, CLAN.revoke(CAT, [(7, 3, HASH)]))
    assert known.cut(FEED) == Cut(3, HASH, "revoked")
    assert known.cut(Feed(CAT.public, 8)) == Cut(0, b"", "revoked")
    assert known.cut(Feed(EVE.public, 7)) is None
    assert known.certified(CAT.public)


def test_of_several_ends_the_lowest_counts() -> None:
    """Revocations by different hands, and a fork."""
    high, low = CLAN.revoke(CAT, [(7, 9, HASH)]), CLAN.revoke(CAT, [(7, 4, HASH)], signer=ANN)
    assert trust(JOINED, *ADMINS, high, low).cut(FEED) == Cut(4, HASH, "revoked")
    forked = trust(JOINED, *ADMINS, high, low, proof(3)).cut(FEED)
    assert forked is not None
    assert (forked.seq, forked.why) == (2, "fork")
    assert trust(JOINED, proof(1)).cut(Feed(CAT.public, 8)) is None


def test_two_admins_cannot_revoke_each_other() -> None:
    """Only the root revokes an admin; their statements join the set and mean nothing."""
    known = trust(*ADMINS, CLAN.revoke(BEN, signer=ANN), CLAN.revoke(ANN, signer=BEN), CLAN.revoke(ANN, signer=ANN))
    assert known.revoked == {}
    assert known.cut(Feed(ANN.public, 1)) is None
    assert known.certified(ANN.public)


def test_what_an_admin_said_of_a_node_means_nothing_once_that_node_is_an_admin() -> None:
    """In whichever order the two were said."""
    before = trust(CLAN.admin(ANN), CLAN.member(BEN), CLAN.revoke(BEN, signer=ANN))
    assert BEN.public in before.revoked
    assert BEN.public not in trust(*before.statements(), CLAN.admin(BEN)).revoked


def test_of_a_revoked_admin_only_the_statements_kept_still_count() -> None:
    """What it certified and whom it revoked, unless the revocation lists it."""
    good, bad = CLAN.member(CAT, signer=ANN), CLAN.member(EVE, signer=ANN)
    shot = CLAN.revoke(CAT, signer=ANN)
    known = trust(*ADMINS, good, bad, shot, CLAN.revoke(ANN, kept=[good]))
    assert known.certified(CAT.public)
    assert not known.certified(EVE.public)
    assert CAT.public not in known.revoked
    assert CAT.public in trust(*ADMINS, good, shot, CLAN.revoke(ANN, kept=[good, shot])).revoked


def test_two_revocations_of_an_admin_keep_what_both_keep() -> None:
    """The smallest counts, as with heads."""
    one, other = CLAN.member(CAT, signer=ANN), CLAN.member(EVE, signer=ANN)
    known = trust(
        *ADMINS, one, other, CLAN.revoke(ANN, kept=[one, other]), CLAN.revoke(ANN, [(1, 1, HASH)], kept=[one])
    )
    assert known.certified(CAT.public)
    assert not known.certified(EVE.public)


def test_a_node_certified_by_two_admins_outlives_one_of_them() -> None:
    """One certificate that counts is enough."""
    twice = (CLAN.member(CAT, signer=ANN), CLAN.member(CAT, signer=BEN))
    assert trust(*ADMINS, *twice, CLAN.revoke(ANN)).certified(CAT.public)
    assert not trust(*ADMINS, *twice, CLAN.revoke(ANN), CLAN.revoke(BEN)).certified(CAT.public)


def test_a_revoked_admin_can_still_be_heard_but_not_obeyed() -> None:
    """Its later statements may join the set, so that the set does not depend on the order, and have no effect."""
    known = trust(*ADMINS, CLAN.revoke(ANN))
    late = CLAN.member(EVE, signer=ANN)
    assert known.entitled(late)
    assert not trust(*known.statements(), late).certified(EVE.public)


ERASERS = [
    ("its author", CAT, True),
    ("an admin", ANN, True),
    ("the root", ROOT, True),
    ("another member", EVE, False),
]


@pytest.mark.parametrize(("signer", "answer"), [row[1:] for row in ERASERS], ids=[row[0] for row in ERASERS])
def test_who_may_erase_a_record(signer: object, answer: bool) -> None:  # noqa: FBT001
    """The author, an admin, the root; anyone else's erase joins the set and erases nothing."""
    known = trust(*ADMINS, JOINED, CLAN.member(EVE), CLAN.erase(signer, TAG))  # type: ignore[arg-type]
    assert known.is_erased(TAG, CAT.public, ADD) is answer
    assert known.erased_tags() == {TAG}
    assert not known.is_erased(HASH, CAT.public, ADD)


@pytest.mark.parametrize(
    ("kind", "answer"), [(ADD, True), (SET, True), (PAGE, True), (77, True), (REMOVE, False), (COUNT, False)]
)
def test_removes_and_counts_are_not_erased(kind: int, answer: bool) -> None:  # noqa: FBT001
    """Without them a state could not be computed."""
    assert trust(CLAN.erase(ROOT, TAG)).is_erased(TAG, CAT.public, kind) is answer


def test_an_erase_by_an_admin_counts_after_the_admin_was_revoked() -> None:
    """What is gone cannot come back."""
    assert trust(*ADMINS, CLAN.erase(ANN, TAG), CLAN.revoke(ANN)).is_erased(TAG, CAT.public, ADD)


def test_an_erase_said_before_its_signer_was_an_admin_counts_from_then() -> None:
    """The order of the two does not matter."""
    said = (CLAN.member(ANN), CLAN.erase(ANN, TAG))
    assert not trust(*said).is_erased(TAG, CAT.public, ADD)
    assert trust(*said, CLAN.admin(ANN)).is_erased(TAG, CAT.public, ADD)


def test_of_two_fork_proofs_the_lower_makes_the_higher_needless() -> None:
    """Two that show the same place are one statement, whichever operations they show it by."""
    low, high = proof(1), proof(2)
    assert trust(JOINED, low).is_needless(high)
    assert not trust(JOINED, high).is_needless(low)
    first, second = proof(1, "a"), proof(1, "b")
    assert first.payload != second.payload
    assert first.id == second.id
    assert not trust(JOINED).is_needless(JOINED)
    assert trust(JOINED, low).fork_statement(FEED) == low
    assert trust(JOINED, low).fork_statement(Feed(CAT.public, 8)) is None


def test_of_a_replaced_root_only_what_the_recovery_keeps_still_counts() -> None:
    """Members, admins and revocations alike; the new root's own always count."""
    kept, lost, shot = CLAN.member(CAT), CLAN.member(EVE), CLAN.revoke(CAT)
    known = trust(*ADMINS, kept, lost, shot, CLAN.recover(NEXT, [kept, ADMINS[0]]))
    assert known.root == NEXT.public
    assert known.roots == {ROOT.public, NEXT.public}
    assert known.admins == {ANN.public}
    assert set(known.members) == {CAT.public, ANN.public}
    assert known.revoked == {}
    assert [known.counts(item.id) for item in (kept, lost, shot, *ADMINS)] == [True, False, False, True, False]
    again = trust(*known.statements(), CLAN.member(EVE, signer=NEXT), CLAN.revoke(CAT, signer=NEXT))
    assert again.certified(EVE.public)
    assert CAT.public in again.revoked


def test_what_a_thief_does_with_the_old_root_after_its_replacement_means_nothing() -> None:
    """Nor what the thief's admins do, whom the recovery does not list."""
    known = trust(*ADMINS, JOINED, CLAN.recover(NEXT, [*ADMINS, JOINED]))
    late = [CLAN.admin(EVE), CLAN.revoke(CAT), CLAN.revoke(ANN), CLAN.member(BEN, signer=EVE)]
    after = trust(*known.statements(), *late)
    assert all(after.entitled(item) for item in late)
    assert after.admins == known.admins
    assert after.members == known.members
    assert after.revoked == {}


def test_the_latest_recovery_says_who_is_root_and_what_is_kept() -> None:
    """By time, then by id; what an earlier one kept does not matter any more."""
    first, second = CLAN.recover(NEXT, [JOINED], at=5), CLAN.recover(LAST, [], at=6)
    for known in (trust(JOINED, first, second), trust(second, JOINED, first)):
        assert known.root == LAST.public
        assert not known.certified(CAT.public)
    twins = [CLAN.recover(NEXT, at=5), CLAN.recover(LAST, at=5)]
    assert trust(*twins).root == trust(*reversed(twins)).root
    assert trust(CLAN.recover(ROOT), JOINED).certified(CAT.public)
    assert trust(CLAN.recover(NEXT, signer=ANN), JOINED).root == ROOT.public


def test_an_erase_by_a_root_counts_after_the_root_was_replaced() -> None:
    """What is gone cannot come back, whoever it was."""
    assert trust(CLAN.erase(ROOT, TAG), CLAN.recover(NEXT)).is_erased(TAG, CAT.public, ADD)
    assert trust(*ADMINS, CLAN.erase(ANN, TAG), CLAN.recover(NEXT)).is_erased(TAG, CAT.public, ADD)


def test_who_may_certify_is_an_admin_that_was_not_revoked() -> None:
    """Neither a member, nor a revoked admin, nor one a recovery has left out."""
    assert trust(*ADMINS).may_certify(ANN.public)
    assert not trust(*ADMINS, JOINED).may_certify(CAT.public)
    assert not trust(*ADMINS, CLAN.revoke(ANN)).may_certify(ANN.public)
    assert not trust(*ADMINS, CLAN.recover(NEXT, [ADMINS[1]])).may_certify(ANN.public)


def test_statements_come_in_an_order_in_which_none_has_to_wait() -> None:
    """A newcomer that takes them one by one is entitled to each when it comes."""
    everything = [CLAN.erase(CAT, TAG), proof(), CLAN.revoke(CAT, signer=ANN), CLAN.member(CAT, signer=ANN), *ADMINS]
    everything += [CLAN.recover(NEXT), CLAN.admin(EVE, NEXT), CLAN.member(BEN, signer=EVE)]
    seen: list[Statement] = []
    for statement in trust(*everything).statements():
        assert trust(*seen).entitled(statement)
        seen.append(statement)
    assert {item.id for item in seen} == {item.id for item in everything} == set(trust(*everything).ids())


def universe(rng: random.Random) -> list[Statement]:
    """Statements of every sort by signers of every rank."""
    signers = [ROOT, ANN, BEN, CAT, EVE, NEXT, LAST]
    made: list[Statement] = []
    for _ in range(rng.randint(1, 12)):
        signer, node = rng.choice(signers), rng.choice(signers)
        match rng.randint(0, 5):
            case 0:
                made.append(CLAN.admin(node, rng.choice([ROOT, NEXT, LAST])))
            case 1:
                made.append(CLAN.member(node, str(rng.randint(0, 3)), rng.choice(["member", ADMIN]), signer))
            case 2:
                made.append(
                    CLAN.revoke(node, [(7, rng.randint(1, 3), HASH)], rng.sample(made, min(2, len(made))), signer)
                )
            case 3:
                made.append(CLAN.erase(signer, digest(b"%d" % rng.randint(0, 2))))
            case 4:
                kept = rng.sample(made, rng.randint(0, len(made)))
                made.append(CLAN.recover(rng.choice([ROOT, NEXT, LAST]), kept, rng.randint(5, 6)))
            case _:
                made.append(proof(rng.randint(1, 3)))
    return made


@given(st.integers(0, 2**32))
def test_once_entitled_always_entitled(number: int) -> None:
    """What a set may take, every larger set may take: also with revocations in it."""
    rng = random.Random(number)
    everything = universe(rng)
    some = rng.sample(everything, rng.randint(0, len(everything)))
    larger = [*some, *rng.sample(everything, rng.randint(0, len(everything)))]
    for statement in everything:
        assert not trust(*some).entitled(statement) or trust(*larger).entitled(statement)


@given(st.integers(0, 2**32))
def test_the_meaning_of_a_set_does_not_depend_on_its_order(number: int) -> None:
    """Members, admins, ends of feeds and erasures, from one set shuffled."""
    rng = random.Random(number)
    everything = [item for item in universe(rng) if item.fact[0] != FEED]  # one proof a feed is the store's work
    one = trust(*everything)
    rng.shuffle(everything)
    other = trust(*everything)
    assert one.root == other.root
    assert one.revoked.keys() == other.revoked.keys()
    assert one.members == other.members
    assert one.admins == other.admins
    assert one.statements() == other.statements()
    for node in (ROOT, ANN, BEN, CAT, EVE):
        assert one.cut(Feed(node.public, 7)) == other.cut(Feed(node.public, 7))
        for n in range(3):
            tag = digest(b"%d" % n)
            assert one.is_erased(tag, node.public, ADD) == other.is_erased(tag, node.public, ADD)


@given(st.integers(0, 2**32))
def test_what_is_erased_stays_erased_in_every_larger_set(number: int) -> None:
    """No statement brings a body back."""
    rng = random.Random(number)
    everything = universe(rng)
    some = rng.sample(everything, rng.randint(0, len(everything)))
    for node in (ANN, CAT):
        for n in range(3):
            tag = digest(b"%d" % n)
            assert not trust(*some).is_erased(tag, node.public, ADD) or trust(*everything).is_erased(
                tag, node.public, ADD
            )
