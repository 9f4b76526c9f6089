"""Certificates: who gets one, when it is made anew, and which of those that come from elsewhere are believed."""

import os
from pathlib import Path

import pytest

from mesh.core.errors import RemoteError
from mesh.core.identity import Identity
from mesh.core.statement import ADMIN, MEMBER, Member, Recover, Revoke, sign
from mesh.node.certificates import Certificates, card_of, founding_cards, recovery_cards
from mesh.store import keyfile
from mesh.store.home import Home, create_home
from mesh.store.store import Store
from peers.proto.cards import card_kind
from peers.trust.x509_certificates import authority, chain_for, check_chain, issue, read
from tests.worlds import seed

DAY_MS = 86_400_000
NOW_MS = 1_790_000_000_000
MEMBER_NODE, ADMIN_NODE = Identity(seed(71)), Identity(seed(72))


class Office:
    """A first node's home, its store and its certificates, at a time that can be moved."""

    def __init__(self, folder: Path) -> None:
        self.home: Home = create_home(str(folder / "home"), "first", now_ms=NOW_MS)
        self.store: Store = self.home.store()
        self.now_ms = NOW_MS
        self.certificates = Certificates(self.home, (), self.store.trust, lambda: self.now_ms)

    def admit(self, node: Identity, name: str, role: str = MEMBER) -> None:
        root = self.home.root_identity()
        fact = Member(root.public, NOW_MS, node.public, name, role)
        self.store.merge_statements([sign(self.home.mesh, root, fact).encode()])

    def certify_by_second(self) -> bytes:
        """Two more nodes: the second is an admin, and has made the other's certificate, which is returned."""
        self.issue_due()
        self.admit(ADMIN_NODE, "second", ADMIN)
        self.admit(MEMBER_NODE, "builder")
        self.issue_due()
        above = self.certificates.certificates[ADMIN_NODE.public]
        made = issue(ADMIN_NODE, above, MEMBER_NODE.public, "builder", NOW_MS + 1000, may_issue=False)
        self.certificates.keep(card_of(read(made)))
        return made

    def issue_due(self) -> set[bytes]:
        made = set()
        for card in self.certificates.due():
            self.certificates.keep(card)
            made.add(card.subject)
        return made


@pytest.fixture
def office(tmp_path: Path) -> Office:
    """A mesh of one node."""
    return Office(tmp_path)


def test_the_first_node_makes_the_roots_certificate_and_its_own(office: Office) -> None:
    """A new mesh needs nobody else: its first start issues both, and the next one nothing more."""
    assert office.certificates.credentials() is None
    assert office.issue_due() == {office.home.root_identity().public, office.home.node}
    assert office.issue_due() == set()
    chain = chain_for(office.home.node, office.certificates.certificates)
    check_chain(chain, office.store.trust().roots)
    assert read(chain[0]).may_issue
    assert office.certificates.credentials() is not None


def test_a_member_gets_a_certificate_below_the_admin_and_an_admin_one_below_the_root(office: Office) -> None:
    """Only the root makes issuers; an admin's certificate signs members' ones."""
    office.issue_due()
    office.admit(MEMBER_NODE, "builder")
    office.admit(ADMIN_NODE, "second", ADMIN)
    assert office.issue_due() == {MEMBER_NODE.public, ADMIN_NODE.public}
    certificates = office.certificates.certificates
    member, admin = read(certificates[MEMBER_NODE.public]), read(certificates[ADMIN_NODE.public])
    assert (member.issuer, member.may_issue) == (office.home.node, False)
    assert (admin.issuer, admin.may_issue) == (office.home.root_identity().public, True)


def test_a_certificate_is_made_anew_when_a_quarter_of_its_life_is_left_and_also_after_it(office: Office) -> None:
    """Renewal is early, and no node is lost for good because it slept through it."""
    office.issue_due()
    office.admit(MEMBER_NODE, "builder")
    office.issue_due()
    first = office.certificates.certificates[MEMBER_NODE.public]
    office.now_ms = NOW_MS + 200 * DAY_MS
    assert office.issue_due() == set()
    assert not office.certificates.has_expired(first)
    office.now_ms = NOW_MS + 280 * DAY_MS
    assert office.issue_due() == {MEMBER_NODE.public, office.home.node}
    office.now_ms = NOW_MS + 800 * DAY_MS
    assert office.certificates.has_expired(office.certificates.certificates[MEMBER_NODE.public])
    renewed = office.certificates.renewal(MEMBER_NODE.public)
    assert renewed is not None
    assert not office.certificates.has_expired(card_kind(renewed.data)[1])


def test_a_member_that_becomes_an_admin_gets_a_certificate_that_may_issue(office: Office) -> None:
    """`mesh admin add` reaches the new admin as a certificate, by gossip."""
    office.issue_due()
    office.admit(MEMBER_NODE, "builder")
    office.issue_due()
    office.admit(MEMBER_NODE, "builder", ADMIN)
    assert office.issue_due() == {MEMBER_NODE.public}
    assert read(office.certificates.certificates[MEMBER_NODE.public]).may_issue


def test_a_renewal_for_one_node_takes_none_from_the_others(office: Office) -> None:
    """Asking for one certificate makes that one and no other: the rest stays due."""
    office.issue_due()
    office.admit(MEMBER_NODE, "builder")
    office.admit(ADMIN_NODE, "second")
    renewed = office.certificates.renewal(ADMIN_NODE.public)
    assert renewed is not None
    assert renewed.subject == ADMIN_NODE.public
    office.certificates.keep(renewed)
    assert office.issue_due() == {MEMBER_NODE.public}


def test_what_a_revoked_admin_issued_is_believed_no_more_and_made_anew(office: Office) -> None:
    """Its certificates are not taken from others, and whoever has one is given another."""
    theirs = office.certify_by_second()
    assert office.issue_due() == set()
    root = office.home.root_identity()
    fact = Revoke(root.public, NOW_MS + 1, ADMIN_NODE.public, (), (), "stolen")
    office.store.merge_statements([sign(office.home.mesh, root, fact).encode()])
    assert office.certificates.read(theirs) is None
    assert office.issue_due() == {MEMBER_NODE.public}


def test_a_node_that_may_not_issue_makes_nothing(office: Office, tmp_path: Path) -> None:
    """Without the root key, and without being an admin, nothing is ever due."""
    plain = create_home(str(tmp_path / "plain"), "plain", office.home.mesh)
    store = plain.store()
    store.learn_founders(*(office.store.founders() or ()))
    store.merge_statements([item.encode() for item in office.store.trust().statements()])
    assert list(Certificates(plain, (), store.trust, lambda: NOW_MS).due()) == []


def test_certificates_from_elsewhere_are_believed_by_their_chain_only(office: Office) -> None:
    """A forged one is refused; one from the future, or whose root or issuer is unknown, or no issuer, waits."""
    office.issue_due()
    own = office.certificates.certificates[office.home.node]
    identity, root = office.home.identity(), office.home.root_identity()
    good = issue(identity, own, MEMBER_NODE.public, "builder", NOW_MS, may_issue=False)
    assert office.certificates.read(good) == card_of(read(good))

    stranger = Identity(seed(99))
    foreign = authority(stranger, office.home.mesh, NOW_MS)
    assert office.certificates.read(foreign) is None
    forged = issue(stranger, foreign, MEMBER_NODE.public, "builder", NOW_MS, may_issue=False)
    office.certificates.keep(card_of(read(foreign)))
    assert office.certificates.read(forged) is None
    with pytest.raises(RemoteError):  # it names an admin as its issuer, who has not signed it
        office.certificates.read(good[:-1] + bytes([good[-1] ^ 1]))
    office.admit(ADMIN_NODE, "second", ADMIN)
    above = issue(
        root, office.certificates.certificates[root.public], ADMIN_NODE.public, "second", NOW_MS, may_issue=True
    )
    below = issue(ADMIN_NODE, above, MEMBER_NODE.public, "builder", NOW_MS, may_issue=False)
    assert office.certificates.read(below) is None
    office.certificates.keep(card_of(read(above)))
    assert office.certificates.read(below) is not None
    late = issue(identity, own, MEMBER_NODE.public, "builder", NOW_MS + 30 * DAY_MS, may_issue=False)
    assert office.certificates.read(late) is None
    office.now_ms = NOW_MS + 30 * DAY_MS
    assert office.certificates.read(late) == card_of(read(late))


def test_what_a_new_admin_issued_waits_for_the_certificate_that_lets_it(office: Office) -> None:
    """Statements, and what it issues, may come before that: nobody is to blame for the order in which cards arrive."""
    office.issue_due()
    office.admit(ADMIN_NODE, "second")
    office.issue_due()
    before = office.certificates.certificates[ADMIN_NODE.public]
    root = office.home.root_identity()
    above = issue(
        root, office.certificates.certificates[root.public], ADMIN_NODE.public, "second", NOW_MS + 1, may_issue=True
    )
    below = issue(ADMIN_NODE, above, MEMBER_NODE.public, "builder", NOW_MS + 1, may_issue=False)
    assert office.certificates.read(below) is None
    office.admit(ADMIN_NODE, "second", ADMIN)
    assert office.certificates.certificates[ADMIN_NODE.public] == before
    assert office.certificates.read(below) is None
    office.certificates.keep(card_of(read(above)))
    assert office.certificates.read(below) == card_of(read(below))


def test_who_hangs_on_an_admin_with_a_members_certificate_is_given_another(office: Office) -> None:
    """It joined again while the root was away, or was renewed by one who had not heard that it is an admin."""
    office.certify_by_second()
    assert office.certificates.has_good(MEMBER_NODE.public)
    own = office.certificates.certificates[office.home.node]
    late = issue(office.home.identity(), own, ADMIN_NODE.public, "second", NOW_MS + 2000, may_issue=False)
    assert office.certificates.read(late) is None  # we have heard; it was taken by whoever had not
    office.certificates.keep(card_of(read(late)))
    assert not office.certificates.has_good(MEMBER_NODE.public)
    os.rename(office.home.file("root.key"), office.home.file("root.key.away"))
    assert office.issue_due() == {MEMBER_NODE.public}
    assert office.certificates.has_good(MEMBER_NODE.public)
    check_chain(chain_for(MEMBER_NODE.public, office.certificates.certificates), office.store.trust().roots)
    os.rename(office.home.file("root.key.away"), office.home.file("root.key"))
    assert office.issue_due() == {ADMIN_NODE.public}


@pytest.mark.parametrize("ahead_ms", [0, 300, 120_000, 3_500_000])
def test_a_new_certificate_counts_rather_than_the_one_before(office: Office, ahead_ms: int) -> None:
    """Within the same second, or where another's clock was ahead of ours; and it is not from the future for all that."""
    office.issue_due()
    office.admit(ADMIN_NODE, "second")
    own = office.certificates.certificates[office.home.node]
    before = card_of(
        read(issue(office.home.identity(), own, ADMIN_NODE.public, "second", NOW_MS + ahead_ms, may_issue=False))
    )
    office.certificates.keep(before)
    office.admit(ADMIN_NODE, "second", ADMIN)
    (made,) = office.certificates.due()
    assert made.replaces(before)
    assert read(card_kind(made.data)[1]).may_issue
    assert not office.certificates.has_expired(card_kind(made.data)[1])


def test_a_root_that_the_recovery_key_named_never_signs_itself(office: Office) -> None:
    """Who was away could not follow that. Its certificate was made before anybody heard of it, and is waited for."""
    office.issue_due()
    recovery, root = keyfile.load(office.home.file("recovery.key")), office.home.root_identity()
    os.unlink(office.home.file("root.key"))
    crowned = keyfile.create(office.home.file("root.key"))
    kept = tuple(sorted(item.id for item in office.store.trust().statements()))
    fact = Recover(recovery.public, NOW_MS + 1, crowned.public, kept, "stolen")
    office.store.merge_statements([sign(office.home.mesh, recovery, fact).encode()])
    assert office.store.trust().root == crowned.public != root.public
    office.now_ms = NOW_MS + 360 * DAY_MS
    assert crowned.public not in office.issue_due()
    for card in recovery_cards(office.home, recovery, crowned.public, NOW_MS):
        office.certificates.keep(card)
    office.issue_due()
    assert read(office.certificates.certificates[crowned.public]).issuer == recovery.public
    assert read(office.certificates.certificates[office.home.node]).issuer == crowned.public


def test_certificates_of_a_clock_that_was_ahead_are_made_anew(office: Office) -> None:
    """Nobody else takes them, and none that begins earlier would replace them."""
    office.issue_due()
    office.admit(MEMBER_NODE, "builder")
    office.issue_due()
    root = office.home.root_identity()
    office.now_ms = NOW_MS + 300 * DAY_MS
    assert office.issue_due() == {office.home.node, MEMBER_NODE.public}
    office.now_ms = NOW_MS + 1000
    assert office.certificates.forget_ahead() == {office.home.node, MEMBER_NODE.public}
    assert office.issue_due() == {office.home.node, MEMBER_NODE.public}
    for node in (office.home.node, MEMBER_NODE.public):
        chain = chain_for(node, office.certificates.certificates)
        check_chain(chain, {root.public})
        assert read(chain[0]).not_before_ms < office.now_ms
    assert office.certificates.forget_ahead() == set()


def test_certificates_are_kept_though_they_seem_ahead_where_they_cannot_be_made(office: Office, tmp_path: Path) -> None:
    """A machine whose clock begins in the past would have none at all."""
    office.issue_due()
    plain = create_home(str(tmp_path / "plain"), "plain", office.home.mesh)
    office.admit(plain.identity(), "plain")
    office.issue_due()
    store = plain.store()
    store.learn_founders(*(office.store.founders() or ()))
    store.merge_statements([item.encode() for item in office.store.trust().statements()])
    cards = [card_of(read(data)) for data in office.certificates.certificates.values()]
    certificates = Certificates(plain, cards, store.trust, lambda: NOW_MS - 900 * DAY_MS)
    assert certificates.forget_ahead() == set()
    assert certificates.credentials() is not None


def test_a_replaced_root_takes_nothing_away_and_what_it_issued_is_made_anew(office: Office) -> None:
    """Its key may be a thief's: neither another certificate of its own nor one for a node replaces any."""
    for card in founding_cards(office.home, NOW_MS):
        office.certificates.keep(card)
    office.issue_due()
    recovery, old = keyfile.load(office.home.file("recovery.key")), office.home.root_identity()
    above = office.certificates.certificates[old.public]
    os.unlink(office.home.file("root.key"))
    crowned = keyfile.create(office.home.file("root.key"))
    kept = tuple(sorted(item.id for item in office.store.trust().statements()))
    fact = Recover(recovery.public, NOW_MS + 1, crowned.public, kept, "stolen")
    office.store.merge_statements([sign(office.home.mesh, recovery, fact).encode()])
    for card in recovery_cards(office.home, recovery, crowned.public, NOW_MS):
        office.certificates.keep(card)
    assert office.issue_due() == {office.home.node}
    assert read(office.certificates.certificates[office.home.node]).issuer == crowned.public
    later = NOW_MS + 3_900_000
    assert office.certificates.read(issue(old, above, office.home.node, "first", later, may_issue=True)) is None
    assert office.certificates.read(authority(old, office.home.mesh, later)) is None


def test_a_root_has_one_name(office: Office) -> None:
    """TLS follows a chain by names: under another one, all below it would hang on nothing."""
    office.issue_due()
    root = office.home.root_identity()
    assert office.certificates.read(authority(root, office.home.mesh, NOW_MS + 5000)) is not None
    with pytest.raises(RemoteError, match="another name"):
        office.certificates.read(authority(root, bytes(32), NOW_MS + 5000))


def test_who_hangs_on_an_admin_that_is_called_otherwise_by_now_is_given_another(office: Office) -> None:
    """The admin's own certificate has its new name, which those below it do not know."""
    office.certify_by_second()
    root = office.home.root_identity()
    renamed = issue(
        root, office.certificates.certificates[root.public], ADMIN_NODE.public, "other", NOW_MS + 1000, may_issue=True
    )
    office.certificates.keep(card_of(read(renamed)))
    assert office.issue_due() == {MEMBER_NODE.public}


def test_a_node_shows_what_it_had_until_it_has_a_chain_again(office: Office, tmp_path: Path) -> None:
    """The admin above it has another name by now; the new certificate of its own is still to come."""
    plain = create_home(str(tmp_path / "plain"), "plain", office.home.mesh)
    office.issue_due()
    office.admit(plain.identity(), "plain")
    office.issue_due()
    store = plain.store()
    store.learn_founders(*(office.store.founders() or ()))
    store.merge_statements([item.encode() for item in office.store.trust().statements()])
    cards = [card_of(read(data)) for data in office.certificates.certificates.values()]
    certificates = Certificates(plain, cards, store.trust, lambda: NOW_MS)
    before = certificates.credentials()
    root = office.home.root_identity()
    above = certificates.certificates[root.public]
    certificates.keep(card_of(read(issue(root, above, office.home.node, "renamed", NOW_MS + 2000, may_issue=True))))
    assert before is not None
    assert certificates.credentials() == before


def test_a_chain_to_a_root_named_by_the_recovery_key_ends_at_the_founding_keys(office: Office) -> None:
    """Who knows only the founding keys can follow it: nobody is locked out by a recovery they slept through."""
    recovery = keyfile.load(office.home.file("recovery.key"))
    for card in founding_cards(office.home, NOW_MS):
        office.certificates.keep(card)
    crowned = Identity(seed(80))
    for card in recovery_cards(office.home, recovery, crowned.public, NOW_MS):
        office.certificates.keep(card)
    top = office.certificates.certificates[crowned.public]
    admin = issue(crowned, top, ADMIN_NODE.public, "second", NOW_MS, may_issue=True)
    chain = chain_for(ADMIN_NODE.public, {**office.certificates.certificates, ADMIN_NODE.public: admin})
    assert [read(data).subject for data in chain] == [ADMIN_NODE.public, crowned.public, recovery.public]
    check_chain(chain, {office.home.root_identity().public, crowned.public}, recovery.public)
    with pytest.raises(RemoteError):  # before the statement that names the new root nothing below it counts
        check_chain(chain, office.store.trust().roots, recovery.public)
    assert office.certificates.read(top) is None
