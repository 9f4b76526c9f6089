"""The server's side of joining: greet, check, admit, welcome. Pure: the caller makes durable what must be durable first."""

import hmac
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from mesh.core.errors import Forged, Malformed
from mesh.core.identity import Identity, verify
from mesh.core.statement import Member, sign
from mesh.core.trust import Founders, Trust
from peers.trust.join_protocol import (
    ANSWER_BYTES,
    JoinGreeting,
    JoinRefusal,
    JoinRequest,
    JoinTranscript,
    Welcome,
    decode_request,
    encode,
    proof_of,
)
from peers.trust.x509_certificates import chain_for, check_chain, is_expired, issue, read

_OVERHEAD_BYTES = 8  # of an item in a list, at most
_REVOKED = JoinRefusal("this node was revoked: it can join only with another key, in a new home")
_NO_ISSUER = JoinRefusal("this node may no longer admit others")


class MeshStanding(NamedTuple):
    """What the server knows at a moment."""

    founders: Founders
    trust: Trust
    certificates: Mapping[bytes, bytes]  # subject key to DER, the roots' own among them
    contacts: Sequence[bytes]


class Invitation(NamedTuple):
    """What an invitation says: its secret, and the role in which it lets a node in. Only its giver knows the role."""

    secret: bytes
    role: str


class Admission(NamedTuple):
    """What admits a node: a statement, unless it is a member already, and a certificate, perhaps the one it had."""

    node: bytes
    statement: bytes | None
    certificate: bytes
    is_new: bool  # whether the certificate was made just now


class JoinConversation:
    """One conversation with somebody who wants to join."""

    def __init__(self, mesh: bytes, identity: Identity, nonce: bytes) -> None:
        self._mesh = mesh
        self._identity = identity
        self._nonce = nonce

    def greet(self, standing: MeshStanding) -> bytes:
        """The first message."""
        own = self._identity.public
        statements = tuple(item.encode() for item in proof_of(standing.trust, own))
        return encode(
            JoinGreeting(standing.founders, statements, tuple(chain_for(own, standing.certificates)), self._nonce)
        )

    def hear(self, data: bytes) -> JoinRequest:
        """A request whose sender has the key it names, or RemoteError."""
        request = decode_request(data)
        if not verify(request.node, self._transcript(request).key_message(), request.signature):
            raise Forged("a request is not signed by the key it names")
        return request

    def proves(self, request: JoinRequest, secret: bytes) -> bool:
        """Whether the sender knows the invitation's secret."""
        return hmac.compare_digest(request.mac, self._transcript(request).request_mac(secret))

    def admit(self, standing: MeshStanding, request: JoinRequest, role: str, now_ms: int) -> Admission | JoinRefusal:
        """What would admit the node, in the role of its invitation. Nothing has happened yet: it counts once it is kept.

        Who is a member already gets no second statement: no invitation changes a role.
        """
        own, trust = self._identity.public, standing.trust
        if request.node in trust.revoked:
            return _REVOKED
        above = chain_for(own, standing.certificates)
        if not trust.may_certify(own) or not above or not read(above[0]).may_issue:
            return _NO_ISSUER
        statement = None
        if not trust.certified(request.node):
            fact = Member(own, now_ms, request.node, request.name, role)
            statement = sign(self._mesh, self._identity, fact).encode()
        held = self._held(standing, request.node, now_ms)
        if held is not None:
            return Admission(request.node, statement, held, is_new=False)
        made = issue(self._identity, above[0], request.node, request.name, now_ms, may_issue=False)
        return Admission(request.node, statement, made, is_new=True)

    def welcome(self, standing: MeshStanding, request: JoinRequest, secret: bytes) -> bytes:
        """The last message. What does not fit comes by gossip; what makes the node a member goes first."""
        trust, node = standing.trust, request.node
        about = [item for item in trust.statements() if isinstance(item.fact, Member) and item.fact.node == node]
        first = [item.encode() for item in [*proof_of(trust, self._identity.public), *about]]
        chain = chain_for(node, standing.certificates)
        statements = _fitting([*first, *(item.encode() for item in trust.statements())], ANSWER_BYTES // 2)
        certificates = _fitting([*chain, *standing.certificates.values()], ANSWER_BYTES // 4)
        contacts = _fitting(list(standing.contacts), ANSWER_BYTES // 8)
        draft = Welcome(b"", statements, certificates, contacts)
        return encode(draft._replace(mac=self._transcript(request).welcome_mac(secret, draft)))

    def _transcript(self, request: JoinRequest) -> JoinTranscript:
        return JoinTranscript(
            self._mesh,
            request.invite,
            self._identity.public,
            request.node,
            self._nonce,
            request.nonce,
            request.name,
        )

    def _held(self, standing: MeshStanding, node: bytes, now_ms: int) -> bytes | None:
        """The certificate the node has, if it is still good: who asks again is given the same."""
        held = standing.certificates.get(node)
        if held is None:
            return None
        try:
            check_chain(chain_for(node, standing.certificates), standing.trust.roots, standing.trust.recovery)
        except (Forged, Malformed):
            return None
        return None if is_expired(read(held), now_ms) else held


def _fitting(items: Sequence[bytes], room: int) -> tuple[bytes, ...]:
    """As many of the items, each once, as there is room for, in their order."""
    chosen: dict[bytes, None] = {}
    for item in items:
        if item not in chosen and room >= len(item) + _OVERHEAD_BYTES:
            chosen[item] = None
            room -= len(item) + _OVERHEAD_BYTES
    return tuple(chosen)
