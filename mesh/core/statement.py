"""Self-signed facts about trust: member, revoke, erase, recover, quota, fork. Pure; what they amount to together is `trust`.

Statements form one grow-only set outside the feeds, so a fact about a feed never depends on a feed.
Their encoding is canonical: a relay cannot make a second statement out of one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from mesh.core.errors import Forged, Malformed
from mesh.core.feed import (
    Link,
    Range,
    chain,
    decode_feed,
    require_hash,
    require_order,
    require_seq,
    require_signature,
)
from mesh.core.identity import Identity, require_point, statement_message, verify
from mesh.core.ids import Feed, named_digest
from mesh.core.limits import (
    EPOCH_MAX,
    HEADS_PER_REVOKE,
    HLC_MAX,
    QUOTA_MOST,
    RANGE_OPERATIONS,
    STATEMENT_BYTES,
    STATEMENTS_PER_REVOKE,
    TAGS_PER_BODY,
    TEXT_CHARS,
)
from mesh.core.strict_msgpack import pack, unpack

MEMBER, ADMIN, READER = "member", "admin", "reader"
EPHEMERAL, EPHEMERAL_READER = "ephemeral", "ephemeral-reader"  # throw-away nodes, as of a CI job
ROLES = frozenset({MEMBER, ADMIN, READER, EPHEMERAL, EPHEMERAL_READER})
READERS = frozenset({READER, EPHEMERAL_READER})  # what these write counts nowhere
THROW_AWAY = frozenset({EPHEMERAL, EPHEMERAL_READER})
INVITED = {  # by what is asked for: `--role`, and whether with `--ephemeral`. Admins are named by the root key alone.
    ("writer", False): MEMBER,
    ("writer", True): EPHEMERAL,
    ("reader", False): READER,
    ("reader", True): EPHEMERAL_READER,
}
ROLE_NAMES = {  # as people read them
    MEMBER: "writer",
    ADMIN: "admin",
    READER: "reader",
    EPHEMERAL: "throw-away writer",
    EPHEMERAL_READER: "throw-away reader",
}


class Member(NamedTuple):
    """The certificate of a node. `at` is milliseconds; of several, the latest says the node's name and role."""

    signer: bytes
    at: int
    node: bytes
    name: str
    role: str = MEMBER


class Revoke(NamedTuple):
    """From a node, only operations up to these heads count, and of an admin only these statements."""

    signer: bytes
    at: int
    node: bytes
    heads: tuple[tuple[int, int, bytes], ...]  # epoch, seq, hash; epochs not named are void
    statements: tuple[bytes, ...]
    reason: str


class Erase(NamedTuple):
    """The bodies with these tags go, everywhere and for ever."""

    signer: bytes
    at: int
    tags: tuple[bytes, ...]
    reason: str


class Recover(NamedTuple):
    """The recovery key puts another root in the place of the last; of earlier roots only these statements count."""

    signer: bytes
    at: int
    root: bytes
    statements: tuple[bytes, ...]
    reason: str


class Quota(NamedTuple):
    """A node may add more bytes a day than the protocol allows everyone. Of several, the most counts."""

    signer: bytes
    at: int
    node: bytes
    bytes_a_day: int


class Branch(NamedTuple):
    """One side of a fork: headers (hlc, kind, body hash) from the first differing operation to a signed point."""

    links: tuple[tuple[int, int, bytes], ...]
    signature: bytes


class Fork(NamedTuple):
    """Proof that a feed's author signed two different operations `first` after the same `prev`.

    It carries no bodies, so it survives their erasure, and no signer: the author convicts itself.
    """

    feed: Feed
    first: int
    prev: bytes
    one: Branch
    other: Branch


Signed = Member | Revoke | Erase | Recover | Quota
Fact = Signed | Fork
_SORTS: dict[type, str] = {Member: "member", Revoke: "revoke", Erase: "erase", Recover: "recover", Quota: "quota"}


class Statement(NamedTuple):
    """A fact with its signature (empty for a fork, which holds its own)."""

    fact: Fact
    signature: bytes
    payload: bytes

    @property
    def id(self) -> bytes:
        """The name of what is stated, independent of the signature's randomness.

        Of a fork only where it is: whichever operations prove it, it is the same fact.
        """
        if isinstance(self.fact, Fork):
            where = pack(["fork", self.fact.feed.encode(), self.fact.first, self.fact.prev])
            return named_digest(b"clan-mesh stmt 1", where)
        return named_digest(b"clan-mesh stmt 1", self.payload)

    def encode(self) -> bytes:
        """The bytes that travel and are kept."""
        return pack([self.payload, self.signature])


def sign(mesh: bytes, identity: Identity, fact: Signed) -> Statement:
    """Make a statement. The fact must name the signer."""
    if fact.signer != identity.public:
        raise ValueError("a fact is signed by the signer it names")
    payload = _encode_fact(fact)
    return Statement(fact, identity.sign(statement_message(mesh, payload)), payload)


def fork_between(ours: Range, theirs: Range, first: int) -> Statement:
    """The proof from two authentic ranges that agree before `first` and differ there."""

    def branch(item: Range) -> Branch:
        links = item.links[first - item.first :]
        return Branch(tuple((link.hlc, link.kind, link.body_hash) for link in links), item.signature)

    sides = sorted((ours, theirs), key=lambda item: item.hash_at(first))
    fact = Fork(ours.feed, first, ours.hash_at(first - 1), branch(sides[0]), branch(sides[1]))
    return Statement(fact, b"", _encode_fact(fact))


def fork_place(fact: Fork) -> tuple[int, Feed]:
    """When and where an author forked: by this its forks are counted, like feeds by their first stamps."""
    return min(fact.one.links[0][0], fact.other.links[0][0]), fact.feed


def fork_order(statement: Statement) -> tuple[int, bytes]:
    """Of several proofs about one feed the least is kept: the lowest end, then the smallest id."""
    assert isinstance(statement.fact, Fork)
    return statement.fact.first, statement.id


def decode_statement(mesh: bytes, data: bytes) -> Statement:
    """Decode and verify one statement: shape, limits, canonical form, signatures."""
    if len(data) > STATEMENT_BYTES:
        raise Malformed(f"a statement of {len(data)} bytes is above the limit of {STATEMENT_BYTES}")
    statement = read_statement(data)
    match statement.fact:
        case Fork():
            if statement.signature:
                raise Malformed("a fork proof has no signature of its own")
            _require_fork(mesh, statement.fact)
        case Member() | Revoke() | Erase() | Recover() | Quota():
            message = statement_message(mesh, statement.payload)
            if not verify(statement.fact.signer, message, statement.signature):
                raise Forged("the signature of a statement does not hold")
    return statement


def read_statement(data: bytes) -> Statement:
    """Decode without checking signatures: for bytes that were verified before they were kept."""
    value = unpack(data)
    if type(value) is not list or len(value) != 2 or not all(type(part) is bytes for part in value):
        raise Malformed("a statement is a payload and a signature")
    payload, signature = value
    fact = _decode_fact(unpack(payload))
    statement = Statement(fact, signature, payload)
    if _encode_fact(fact) != payload or statement.encode() != data:
        raise Malformed("a statement is not in canonical form")
    return statement


def _encode_fact(fact: Fact) -> bytes:
    if not isinstance(fact, Fork):
        return pack([_SORTS[type(fact)], *fact])
    sides = [[[part for link in side.links for part in link], side.signature] for side in (fact.one, fact.other)]
    return pack(["fork", fact.feed.encode(), fact.first, fact.prev, *sides])


def _decode_fact(value: Any) -> Fact:
    if type(value) is not list or not value or type(value[0]) is not str:
        raise Malformed("a fact is an array that begins with its sort")
    reader = _READERS.get(value[0])
    if reader is None:
        raise Malformed(f"unknown sort of statement {value[0][:20]!r}")
    try:
        return reader(*value[1:])
    except TypeError as error:  # the number of fields
        raise Malformed(f"a {value[0]} statement has other fields") from error


def _read_member(signer: Any, at: Any, node: Any, name: Any, role: Any) -> Member:
    if type(role) is not str or role not in ROLES:
        raise Malformed(f"a member's role is one of {', '.join(sorted(ROLES))}")
    return Member(require_hash(signer), _time(at), require_hash(node), _text(name), role)


def _read_revoke(signer: Any, at: Any, node: Any, heads: Any, kept: Any, reason: Any) -> Revoke:
    parsed = tuple(map(_head, _sequence(heads, HEADS_PER_REVOKE)))
    if list(parsed) != sorted(parsed) or len({epoch for epoch, _, _ in parsed}) != len(parsed):
        raise Malformed("the heads of a revocation are sorted by epoch, one each")
    statements = _sorted_hashes(kept, STATEMENTS_PER_REVOKE)
    return Revoke(require_hash(signer), _time(at), require_hash(node), parsed, statements, _text(reason))


def _read_erase(signer: Any, at: Any, tags: Any, reason: Any) -> Erase:
    hashes = _sorted_hashes(tags, TAGS_PER_BODY)
    if not hashes:
        raise Malformed("an erase names at least one tag")
    return Erase(require_hash(signer), _time(at), hashes, _text(reason))


def _read_recover(signer: Any, at: Any, root: Any, kept: Any, reason: Any) -> Recover:
    statements = _sorted_hashes(kept, STATEMENTS_PER_REVOKE)
    return Recover(require_hash(signer), _time(at), require_hash(root), statements, _text(reason))


def _read_quota(signer: Any, at: Any, node: Any, bytes_a_day: Any) -> Quota:
    if type(bytes_a_day) is not int or not 0 < bytes_a_day <= QUOTA_MOST:
        raise Malformed("a quota is out of range")
    return Quota(require_hash(signer), _time(at), require_hash(node), bytes_a_day)


def _read_fork(feed: Any, first: Any, prev: Any, one: Any, other: Any) -> Fork:
    return Fork(decode_feed(feed), require_seq(first), require_hash(prev), _branch(one), _branch(other))


_READERS: dict[str, Callable[..., Fact]] = {
    "member": _read_member,
    "revoke": _read_revoke,
    "erase": _read_erase,
    "recover": _read_recover,
    "quota": _read_quota,
    "fork": _read_fork,
}


def _require_fork(mesh: bytes, fact: Fork) -> None:
    firsts = []
    for side in (fact.one, fact.other):
        require_order(0, [Link(hlc, kind, None, body) for hlc, kind, body in side.links])
        hashes = chain(fact.prev, [Link(hlc, kind, None, body) for hlc, kind, body in side.links])
        require_point(mesh, fact.feed, fact.first + len(hashes) - 1, hashes[-1], side.signature)
        firsts.append(hashes[0])
    if firsts[0] >= firsts[1]:
        raise Malformed("the sides of a fork proof differ at their first operation, lower hash first")


def _branch(value: Any) -> Branch:
    flat, signature = _sequence(value, 2, exactly=True)
    fields = _sequence(flat, 3 * RANGE_OPERATIONS)
    if not fields or len(fields) % 3:
        raise Malformed("a branch has operations of three fields")
    links = []
    for index in range(0, len(fields), 3):
        hlc, kind, body_hash = fields[index : index + 3]
        if type(hlc) is not int or not 0 < hlc <= HLC_MAX or type(kind) is not int or not 0 <= kind <= 255:
            raise Malformed("an operation's header is out of range")
        links.append((hlc, kind, require_hash(body_hash)))
    return Branch(tuple(links), require_signature(signature))


def _head(value: Any) -> tuple[int, int, bytes]:
    epoch, seq, head = _sequence(value, 3, exactly=True)
    if type(epoch) is not int or not 0 < epoch <= EPOCH_MAX:
        raise Malformed("an epoch is out of range")
    return epoch, require_seq(seq), require_hash(head)


def _sorted_hashes(value: Any, most: int) -> tuple[bytes, ...]:
    hashes = tuple(map(require_hash, _sequence(value, most)))
    if list(hashes) != sorted(set(hashes)):
        raise Malformed("hashes in a statement are sorted and distinct")
    return hashes


def _sequence(value: Any, most: int, *, exactly: bool = False) -> Sequence[Any]:
    if type(value) is not list or len(value) > most or (exactly and len(value) != most):
        raise Malformed("an array has the wrong length")
    return value


def _text(value: Any) -> str:
    if type(value) is not str or len(value) > TEXT_CHARS:
        raise Malformed("a text is too long")
    return value


def _time(value: Any) -> int:
    if type(value) is not int or not 0 <= value < 2**47:
        raise Malformed("a time is out of range")
    return value
