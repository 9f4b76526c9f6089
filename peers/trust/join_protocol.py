"""The messages of joining, and the newcomer's side of it. Pure: sockets, clocks and nonces are the caller's.

server → Greeting   founding keys, the statements and certificates that show it may admit others, a nonce
joiner → Request    invitation, own key, name, a nonce; a MAC under the invitation's secret; a signature of the key
server → Welcome    a MAC of its own, all statements, certificates, contacts; or Refusal, a sentence

The joiner says nothing before it has checked the greeting against the mesh id of its token. The secret is never sent.
Both MACs cover both keys, and the server's key is that of the TLS connection, so nothing can be passed on by one in the middle.
"""

import hmac
from typing import Any, NamedTuple

from mesh.core.errors import Forged, Malformed, UsageError
from mesh.core.feed import require_hash, require_signature
from mesh.core.identity import Identity
from mesh.core.ids import digest, mesh_id, text_id
from mesh.core.limits import STATEMENT_BYTES, TEXT_CHARS
from mesh.core.statement import Member, Recover, Statement, decode_statement
from mesh.core.strict_msgpack import pack, unpack
from mesh.core.trust import Founders, Trust
from peers.trust.join_token import INVITE_BYTES, JoinToken
from peers.trust.x509_certificates import CERTIFICATE_BYTES, CHAIN_CERTIFICATES, chain_for, check_chain, read

VERSION = 2  # as of the protocol: who joins must understand every statement
NONCE_BYTES = 32
HEAD_BYTES = 4  # the length before each message
GREETING_BYTES = 4 * 1024 * 1024  # a dozen recoveries of the largest sort
REQUEST_BYTES = 64 * 1024
ANSWER_BYTES = 32 * 1024 * 1024
CONTACT_BYTES = 4096
PROOF_STATEMENTS = 64
_ITEMS = 200_000
_REQUEST, _KEY, _WELCOME = b"clan-mesh join request 1", b"clan-mesh join key 1", b"clan-mesh join welcome 1"
AGAIN = "have a new one made on another node: mesh invite"


class OtherVersion(Malformed):
    """The other side speaks of joining in words of another build."""

    def __init__(self, version: int) -> None:
        side = "there" if version < VERSION else "here"
        super().__init__(f"it speaks version {version} of joining, this is {VERSION}", f"upgrade clan-mesh {side}")


class JoinGreeting(NamedTuple):
    """Who the server is, with all that is needed to believe it."""

    founders: Founders
    statements: tuple[bytes, ...]
    chain: tuple[bytes, ...]
    nonce: bytes


class JoinRequest(NamedTuple):
    """A newcomer's wish, and the proof that it was invited and has the key it names."""

    invite: bytes
    node: bytes
    name: str
    nonce: bytes
    mac: bytes
    signature: bytes


class JoinRefusal(NamedTuple):
    """Why a node that was invited is not admitted: a sentence."""

    reason: str


class Welcome(NamedTuple):
    """All a new member needs to begin: statements and certificates as they travel, contacts as gossip has them."""

    mac: bytes
    statements: tuple[bytes, ...]
    certificates: tuple[bytes, ...]
    contacts: tuple[bytes, ...]


class Joined(NamedTuple):
    """A new member's beginning: what to learn, in this order, and who admitted it."""

    founders: Founders
    server: bytes
    welcome: Welcome


Message = JoinGreeting | JoinRequest | JoinRefusal | Welcome


def encode(message: Message) -> bytes:
    """The bytes of a message, without the length before them."""
    match message:
        case JoinGreeting():
            return pack([VERSION, "greeting", *message.founders, *message[1:]])
        case JoinRequest():
            return pack([VERSION, "request", *message])
        case JoinRefusal():
            return pack([VERSION, "refusal", *message])
        case Welcome():
            return pack([VERSION, "welcome", *message])


def decode_greeting(data: bytes) -> JoinGreeting:
    """A greeting, or Malformed."""
    root, recovery, statements, chain, nonce = _fields(data, "greeting", 5)
    founders = Founders(require_hash(root), require_hash(recovery))
    certificates = _items(chain, CHAIN_CERTIFICATES, CERTIFICATE_BYTES)
    return JoinGreeting(
        founders, _items(statements, PROOF_STATEMENTS, STATEMENT_BYTES), certificates, require_hash(nonce)
    )


def decode_request(data: bytes) -> JoinRequest:
    """A request, or Malformed."""
    if len(data) > REQUEST_BYTES:
        raise Malformed("a request is too long")
    invite, node, name, nonce, mac, signature = _fields(data, "request", 6)
    if type(invite) is not bytes or len(invite) != INVITE_BYTES:
        raise Malformed("an invitation's id is out of range")
    if type(name) is not str or not 0 < len(name) <= TEXT_CHARS or not name.isprintable():
        raise Malformed("a node's name is a short printable text")
    key, value = require_hash(node), require_signature(signature)
    return JoinRequest(invite, key, name, require_hash(nonce), require_hash(mac), value)


def decode_answer(data: bytes) -> Welcome | JoinRefusal:
    """What a request was answered with, or Malformed."""
    value = _message(data)
    if value[1] == "refusal":
        (reason,) = _fields(data, "refusal", 1)
        if type(reason) is not str or len(reason) > TEXT_CHARS:
            raise Malformed("a reason is a short text")
        return JoinRefusal("".join(char if char.isprintable() else "?" for char in reason))
    mac, statements, certificates, contacts = _fields(data, "welcome", 4)
    return Welcome(
        require_hash(mac),
        _items(statements, _ITEMS, STATEMENT_BYTES),
        _items(certificates, _ITEMS, CERTIFICATE_BYTES),
        _items(contacts, _ITEMS, CONTACT_BYTES),
    )


class JoinTranscript(NamedTuple):
    """What both sides have said, as both MACs cover it."""

    mesh: bytes
    invite: bytes
    server: bytes
    joiner: bytes
    server_nonce: bytes
    joiner_nonce: bytes
    name: str

    def _bytes(self) -> bytes:
        """All but the name have one length each, so there is one way to read this."""
        return b"".join(self[:6]) + self.name.encode()

    def request_mac(self, secret: bytes) -> bytes:
        """The joiner's proof that it was invited."""
        return hmac.digest(secret, _REQUEST + self._bytes(), "sha256")

    def key_message(self) -> bytes:
        """What the joiner signs to prove its key."""
        return _KEY + self._bytes()

    def welcome_mac(self, secret: bytes, welcome: Welcome) -> bytes:
        """The server's proof that it gave out the invitation, and that the welcome is whole."""
        return hmac.digest(secret, _WELCOME + self._bytes() + digest(pack(list(welcome[1:]))), "sha256")


def proof_of(trust: Trust, node: bytes) -> list[Statement]:
    """The statements that show a node to be an admin, in an order in which each is entitled when it comes."""
    return [
        item
        for item in trust.statements()
        if isinstance(item.fact, Recover)
        or (isinstance(item.fact, Member) and item.fact.node == node and trust.counts(item.id))
    ][-PROOF_STATEMENTS:]


class Newcomer:
    """The joiner's side: `greeted` with what came first, then `answered` with what came next."""

    def __init__(self, token: JoinToken, identity: Identity, name: str, nonce: bytes) -> None:
        if not 0 < len(name) <= TEXT_CHARS or not name.isprintable():
            raise UsageError("a node's name is a short printable text", "choose another with --name NAME")
        self._token = token
        self._identity = identity
        self._name = name
        self._nonce = nonce
        self._server: tuple[Founders, JoinTranscript] | None = None

    def greeted(self, data: bytes, leaf: bytes) -> bytes:
        """The request, if the greeting shows an admin of the token's mesh whose certificate is the connection's."""
        greeting = decode_greeting(data)
        mesh = self._token.mesh
        if mesh_id(*greeting.founders) != mesh:
            raise Forged("it is of another mesh")
        trust = _trust(mesh, greeting.founders, greeting.statements)
        check_chain(greeting.chain, trust.roots, trust.recovery)
        if greeting.chain[0] != leaf:
            raise Forged("the certificate it shows is not its own")
        server = read(leaf).subject
        if not trust.may_certify(server):
            raise Forged("it is of this mesh, but may not admit others")
        own = self._identity.public
        transcript = JoinTranscript(mesh, self._token.invite_id, server, own, greeting.nonce, self._nonce, self._name)
        self._server = greeting.founders, transcript
        mac = transcript.request_mac(self._token.secret)
        signature = self._identity.sign(transcript.key_message())
        return encode(JoinRequest(self._token.invite_id, own, self._name, self._nonce, mac, signature))

    def answered(self, data: bytes) -> Joined | JoinRefusal:
        """The welcome, if it is from who gave out the invitation and makes us a member."""
        assert self._server is not None, "greeted comes first"
        founders, transcript = self._server
        answer = decode_answer(data)
        if isinstance(answer, JoinRefusal):
            return answer
        if not hmac.compare_digest(answer.mac, transcript.welcome_mac(self._token.secret, answer)):
            raise Forged("it does not know the secret of this invitation")
        trust = _trust(transcript.mesh, founders, answer.statements)
        own = self._identity.public
        if not trust.certified(own) or own in trust.revoked:
            raise Forged(f"its welcome does not make {text_id(own)[:8]} a member")
        known = {read(item).subject: item for item in answer.certificates}
        check_chain(chain_for(own, known), trust.roots, trust.recovery)
        return Joined(founders, transcript.server, answer)


def _trust(mesh: bytes, founders: Founders, statements: tuple[bytes, ...]) -> Trust:
    """What statements amount to, of which each has to be entitled by those before it."""
    decoded = [decode_statement(mesh, item) for item in statements]
    trust = Trust(founders, decoded)
    return Trust(founders, [item for item in decoded if trust.entitled(item)])


def _message(data: bytes) -> list[Any]:
    value = unpack(data)
    if type(value) is not list or len(value) < 2:
        raise Malformed("a message is an array that begins with its version and sort")
    if type(value[0]) is not int:
        raise Malformed("a version is a number")
    if value[0] != VERSION:
        raise OtherVersion(value[0])
    return value


def _fields(data: bytes, sort: str, count: int) -> list[Any]:
    value = _message(data)
    if value[1] != sort or len(value) != count + 2:
        raise Malformed(f"this is no {sort}")
    return value[2:]


def _items(value: Any, most: int, size: int) -> tuple[bytes, ...]:
    if type(value) is not list or len(value) > most:
        raise Malformed("a list in a message is too long")
    if not all(type(item) is bytes and len(item) <= size for item in value):
        raise Malformed("an item in a message is out of range")
    return tuple(value)
