"""Certificates of this node and of others: which are valid, which are due, and issuing new ones where we may.

Certificates open links and nothing else. Who belongs is said by the statements.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from mesh.core.errors import RemoteError
from mesh.core.identity import Identity
from mesh.core.trust import Trust
from mesh.store import keyfile
from mesh.store.home import Home
from peers.proto.cards import CERTIFICATE, Card, card_kind, parse_contact, wrap_certificate
from peers.trust.tls import Credentials
from peers.trust.x509_certificates import (
    EARLY_MS,
    Certificate,
    authority,
    chain_for,
    check_anchor,
    check_anchor_name,
    check_chain,
    crown,
    is_expired,
    issue,
    needs_renewal,
    read,
    recovery_authority,
)

_AHEAD_MS = 600_000  # certificates begin an hour before they are made: one that begins later is nobody's honest one


class _Issuer(NamedTuple):
    identity: Identity
    certificate: bytes


class Certificates:
    """Keeps certificates by the key they are about."""

    def __init__(self, home: Home, cards: Iterable[Card], trust: Callable[[], Trust], clock: Callable[[], int]) -> None:
        self._home = home
        self._identity = home.identity()
        self._trust = trust
        self._clock = clock
        self._certificates: dict[bytes, bytes] = {}
        self._chain: list[bytes] = []  # of our own, the last that was whole
        for card in cards:
            self.keep(card)

    @property
    def certificates(self) -> Mapping[bytes, bytes]:
        """Every certificate that is known, by its subject's key."""
        return self._certificates

    def keep(self, card: Card) -> bool:
        """Take a card over, if it is a certificate. Says whether our own credentials are other ones now."""
        if card.kind != CERTIFICATE:
            return False
        self._certificates[card.subject] = card_kind(card.data)[1]
        return card.subject == self._home.node or card.subject in self._anchors()

    def read(self, data: bytes) -> Card | None:
        """A certificate that came from elsewhere, as a card: None if it replaces none, or while a statement or one above it is not known yet."""
        certificate, trust = read(data), self._trust()
        card, known = card_of(certificate), self._certificates.get(certificate.subject)
        if known is not None and not card.replaces(card_of(read(known))):
            return None
        if self._is_ahead(certificate):
            return None  # made by a clock that was wrong; or ours is
        replaced = trust.roots - {trust.root}
        if known is not None and (certificate.subject in replaced or certificate.issuer in replaced):
            return None  # whoever has a root key that was replaced can take away nothing with it
        if certificate.subject in self._anchors():
            check_anchor(certificate, trust.recovery)
            check_anchor_name(certificate, self._home.mesh, trust.recovery)
            return card
        if certificate.issuer in (certificate.subject, trust.recovery):
            return None  # of a root whose statement is still to come, or of nobody
        if not certificate.may_issue and trust.may_certify(certificate.subject):
            return None  # an admin has its certificate from the root: another admin cannot take it away
        above = self._above(certificate)
        if not above or not (certificate.issuer in trust.roots or trust.may_certify(certificate.issuer)):
            return None  # its issuer is not known yet as one, or no longer one: another issues anew
        check_chain([data, *above], trust.roots, trust.recovery)
        return card

    def credentials(self) -> Credentials | None:
        """What this node shows on a link, if it has been given a certificate."""
        # While one above ours has another name already, and ours is not made anew yet, what we had is what others can follow.
        chain = self._chain = chain_for(self._home.node, self._certificates) or self._chain
        if not chain:
            return None
        anchors = [self._certificates[key] for key in self._anchors() if key in self._certificates]
        return Credentials(self._identity.seed, chain[:-1], [data for data in anchors if _signs_itself(data)])

    def _above(self, certificate: Certificate) -> list[bytes]:
        """What a certificate hangs on; empty if that is not known, or may not issue any.

        Of a new admin we may have the member's certificate only: what it issues came before what lets it. And an admin may have been given
        a member's, by one who had not heard that it is one.
        """
        chain = chain_for(certificate.issuer, self._certificates)
        is_whole = bool(chain) and read(chain[0]).name == certificate.issuer_name
        return chain if is_whole and all(read(data).may_issue for data in chain) else []

    def _is_ahead(self, certificate: Certificate) -> bool:
        return certificate.not_before_ms > self._clock() + _AHEAD_MS

    def _anchors(self) -> frozenset[bytes]:
        """The keys that need nobody above them."""
        trust = self._trust()
        return trust.roots if trust.recovery is None else trust.roots | {trust.recovery}

    def due(self) -> Iterator[Card]:
        """Certificates that we may make and that are missing, about to expire, or no longer say what is so.

        Keep each before asking for the next: later ones may be issued with it.
        """
        trust = self._trust()
        root = self._root(trust)
        if root is not None and root.identity.public not in self._certificates:
            yield card_of(read(root.certificate))
        for node in (*sorted(trust.admins), *sorted(set(trust.members) - trust.admins)):
            card = self.renewal(node)
            if card is not None:
                yield card

    def forget_ahead(self) -> set[bytes]:
        """Forget what we made while our clock was far ahead and may make anew: nobody takes it, and nothing earlier would replace it.

        Returns about whom.
        """
        trust = self._trust()
        found = [key for key, data in self._certificates.items() if self._is_ahead(read(data))]
        ahead = {key for key in found if self._issuer_for(key, trust) is not None}
        for key in ahead:
            del self._certificates[key]
        return ahead

    def renewal(self, node: bytes) -> Card | None:
        """A new certificate for a member, if it needs one and we may make it."""
        trust, now = self._trust(), self._clock()
        may_issue = trust.may_certify(node)
        issuer = self._issuer_for(node, trust)
        if issuer is None or not self._is_due(node, trust, now, may_issue=may_issue):
            return None
        name, made = trust.members[node].name, self._moment(node, now)
        return card_of(read(issue(issuer.identity, issuer.certificate, node, name, made, may_issue=may_issue)))

    def _moment(self, node: bytes, now: int) -> int:
        """When a new certificate is made: if need be a little later than now. Of two, the one that begins later counts, and they tell only seconds."""
        known = self._certificates.get(node)
        soonest = 0 if known is None else read(known).not_before_ms + EARLY_MS + 1000
        return soonest if now < soonest <= now + EARLY_MS else now

    def _issuer_for(self, node: bytes, trust: Trust) -> _Issuer | None:
        """Who makes a member's certificate, if we are that."""
        if node not in trust.members or node in trust.revoked:
            return None
        return self._root(trust) if trust.may_certify(node) else self._own_issuer(trust)

    def _own_issuer(self, trust: Trust) -> _Issuer | None:
        own = self._certificates.get(self._home.node)
        if own is None or not trust.may_certify(self._home.node) or not read(own).may_issue:
            return None
        return _Issuer(self._identity, own)

    def has_good(self, node: bytes) -> bool:
        """Whether a certificate of a node is known that links can rest on: it may have slept through its renewal."""
        data = self._certificates.get(node)
        return data is not None and bool(self._above(read(data))) and not self.has_expired(data)

    def has_expired(self, data: bytes) -> bool:
        """Whether links may no longer rest on a certificate."""
        return is_expired(read(data), self._clock())

    def _root(self, trust: Trust) -> _Issuer | None:
        if not self._home.has_root_key:
            return None
        identity = self._home.root_identity()
        if identity.public != trust.root:
            return None  # replaced since
        known = self._certificates.get(identity.public)
        if known is None and identity.public != trust.founding:
            return None  # the recovery key has signed one, which others can follow: it is read in a moment
        return _Issuer(identity, known or authority(identity, self._home.mesh, self._clock()))

    def _is_due(self, node: bytes, trust: Trust, now: int, *, may_issue: bool) -> bool:
        known = self._certificates.get(node)
        certificate = None if known is None else read(known)
        if certificate is None or not self._above(certificate):
            return True
        # What a replaced root has issued is made anew while links are open: its key may be a thief's.
        issued_well = certificate.issuer == trust.root or trust.may_certify(certificate.issuer)
        return not issued_well or certificate.may_issue != may_issue or needs_renewal(certificate, now)


def card_of(certificate: Certificate) -> Card:
    """A certificate as gossip carries it."""
    return Card(CERTIFICATE, certificate.subject, certificate.not_before_ms, wrap_certificate(certificate.data))


def founding_cards(home: Home, now_ms: int) -> list[Card]:
    """The certificates of the two keys that found a mesh, made while both are at hand."""
    root, recovery = home.root_identity(), keyfile.load(home.file("recovery.key"))
    made = authority(root, home.mesh, now_ms), recovery_authority(recovery, home.mesh, now_ms)
    return [card_of(read(data)) for data in made]


def recovery_cards(home: Home, recovery: Identity, root: bytes, now_ms: int) -> list[Card]:
    """The certificates that a recovery makes: the new root's, and once more the recovery key's own."""
    made = recovery_authority(recovery, home.mesh, now_ms), crown(recovery, home.mesh, root, now_ms)
    return [card_of(read(data)) for data in made]


def _signs_itself(data: bytes) -> bool:
    certificate = read(data)
    return certificate.issuer == certificate.subject


def is_sound(card: Card) -> bool:
    """Whether a kept card can be read: the database may have been repaired, or edited."""
    try:
        kind, certificate = card_kind(card.data)
        subject = read(certificate).subject if kind == CERTIFICATE else parse_contact(card.data).node
    except RemoteError:
        return False
    return (kind, subject) == (card.kind, card.subject)
