"""Certificates of this node and of others: which count, which are due, and the making of new ones where we may.

Certificates open links and nothing else. Who belongs is said by the statements.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from mesh.core.errors import Malformed
from mesh.core.identity import Identity
from mesh.core.trust import Trust
from mesh.store.home import Home
from peers.proto.cards import CERTIFICATE, Card, card_kind, wrap_certificate
from peers.trust.certificates import (
    Certificate,
    authority,
    chain_for,
    check_chain,
    is_expired,
    issue,
    needs_renewal,
    read,
)
from peers.trust.tls import Credentials

_AHEAD_MS = 86_400_000  # a certificate that begins later than this is nobody's honest one


class _Issuer(NamedTuple):
    identity: Identity
    certificate: bytes


class Notary:
    """Keeps certificates by the key they are about."""

    def __init__(self, home: Home, cards: Iterable[Card], trust: Callable[[], Trust], clock: Callable[[], int]) -> None:
        self._home = home
        self._identity = home.identity()
        self._trust = trust
        self._clock = clock
        self._certificates: dict[bytes, bytes] = {}
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
        return card.subject == self._home.node or card.subject in self._trust().roots

    def read(self, data: bytes) -> Card | None:
        """A certificate that came from elsewhere, as a card: None while one above it is not known yet."""
        certificate = read(data)
        roots = self._trust().roots
        if certificate.not_before_ms > self._clock() + _AHEAD_MS:
            raise Malformed("a certificate begins in the future")
        if certificate.issuer == certificate.subject:
            check_root(certificate, roots)
            return card_of(certificate)
        above = chain_for(certificate.issuer, self._certificates)
        if not above:
            return None
        check_chain([data, *above], roots)
        return card_of(certificate)

    def credentials(self) -> Credentials | None:
        """What this node shows on a link, if it has been given a certificate."""
        chain = chain_for(self._home.node, self._certificates)
        if not chain:
            return None
        roots = self._trust().roots
        authorities = [self._certificates[key] for key in roots if key in self._certificates]
        return Credentials(self._identity.seed, chain[:-1], authorities)

    def due(self) -> Iterator[Card]:
        """Certificates that we may make and that are missing, about to expire, or no longer say what is so."""
        trust, now = self._trust(), self._clock()
        root = self._root(trust)
        if root is not None:
            if root.identity.public not in self._certificates:
                yield self._made(root.certificate)
            for node in sorted(trust.admins):
                if trust.may_certify(node) and self._is_due(node, now, may_issue=True):
                    yield self._issue(root, node, trust, now, may_issue=True)
        own = self._certificates.get(self._home.node)
        if own is None or not trust.may_certify(self._home.node) or not read(own).may_issue:
            return
        issuer = _Issuer(self._identity, own)
        for node in sorted(trust.members):
            if node not in trust.admins and node not in trust.revoked and self._is_due(node, now, may_issue=False):
                yield self._issue(issuer, node, trust, now, may_issue=False)

    def renewal(self, node: bytes) -> Card | None:
        """A new certificate for a node whose own has expired and who has proved its key, if we may make one."""
        return next((card for card in self.due() if card.subject == node), None)

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
        return _Issuer(identity, known or authority(identity, self._home.mesh, self._clock()))

    def _is_due(self, node: bytes, now: int, *, may_issue: bool) -> bool:
        known = self._certificates.get(node)
        if known is None or not chain_for(node, self._certificates):
            return True
        certificate = read(known)
        return certificate.may_issue != may_issue or needs_renewal(certificate, now)

    def _issue(self, issuer: _Issuer, node: bytes, trust: Trust, now: int, *, may_issue: bool) -> Card:
        name = trust.members[node].name
        return self._made(issue(issuer.identity, issuer.certificate, node, name, now, may_issue=may_issue))

    def _made(self, data: bytes) -> Card:
        self._certificates[read(data).subject] = data
        return card_of(read(data))


def card_of(certificate: Certificate) -> Card:
    """A certificate as gossip carries it."""
    return Card(CERTIFICATE, certificate.subject, certificate.not_before_ms, wrap_certificate(certificate.data))


def check_root(certificate: Certificate, roots: frozenset[bytes]) -> None:
    """Raise unless this is the own certificate of a root of this mesh."""
    if certificate.subject not in roots:
        raise Malformed("a certificate that signs itself is not a root's of this mesh")
    check_chain([certificate.data], roots)
