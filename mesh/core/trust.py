"""What the statements amount to: who is certified, where feeds end, what is erased. A pure function of the set.

Two questions are kept apart. Whether a statement may join the set (`entitled`) only ever turns from no to
yes as the set grows, so the set is the same in any order of arrival. What the set means (`certified`,
`cut`, `is_erased`) may change both ways, as revocations arrive.

Authority has three layers, so that two admins cannot undo each other in a circle: the root key names
admins and revokes anyone; admins certify nodes and revoke those that are not admins; a node speaks for its own records.
Above them the recovery key names another root and says what still counts of earlier ones. It can do nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable

from mesh.core.ids import Feed
from mesh.core.operation import LASTING
from mesh.core.statement import ADMIN, Erase, Fork, Member, Recover, Revoke, Statement, fork_order
from mesh.core.tuples import NamedTuple


class Founders(NamedTuple):
    """The public keys that name the mesh."""

    root: bytes
    recovery: bytes


class Cut(NamedTuple):
    """Where a feed ends by decree: nothing after `seq` counts, nor anything unless `hash` is its hash."""

    seq: int
    hash: bytes
    why: str


class Trust:
    """The meaning of a set of statements. Build it anew when the set changes."""

    def __init__(
        self, founders: tuple[bytes, bytes] | None, statements: Iterable[Statement], *, everyone: bool = False
    ) -> None:
        """`everyone`: no certificates needed, as among private records, which only come by the owner's hand."""
        founding = None if founders is None else founders[0]
        self.founding = founding
        self.recovery = None if founders is None else founders[1]
        self._everyone = everyone
        self._known = {statement.id: statement for statement in statements}
        facts = [(identity, item.fact) for identity, item in self._known.items()]
        members = [(identity, fact) for identity, fact in facts if isinstance(fact, Member)]
        revokes = [(identity, fact) for identity, fact in facts if isinstance(fact, Revoke)]
        recovers = [(f.at, i, f) for i, f in facts if isinstance(f, Recover) and f.signer == self.recovery]
        recover = max(recovers)[2] if recovers else None
        self.root = founding if recover is None else recover.root
        # Whoever was root or admin at any time: for entitlement and for erasures, which must only ever grow.
        self.roots = frozenset({item[2].root for item in recovers} | (set() if founding is None else {founding}))
        self._ever_admins = frozenset(f.node for _, f in members if f.signer in self.roots and f.role == ADMIN)
        self._heard = frozenset(fact.node for _, fact in members)
        kept = frozenset(() if recover is None else recover.statements)

        def by_root(identity: bytes, signer: bytes) -> bool:
            """Of a root that was replaced, only the statements its recovery lists still count."""
            return signer in self.roots and (signer == self.root or identity in kept)

        self.admins = frozenset(f.node for i, f in members if f.role == ADMIN and by_root(i, f.signer))
        root_revokes = [fact for identity, fact in revokes if by_root(identity, fact.signer)]

        def by_admin(identity: bytes, signer: bytes) -> bool:
            """Of a revoked admin, only the statements its revocation lists still count."""
            return signer in self.admins and all(
                identity in revoke.statements for revoke in root_revokes if revoke.node == signer
            )

        self._counting = frozenset(
            identity
            for identity, fact in facts
            if isinstance(fact, Member | Revoke)
            and (
                by_root(identity, fact.signer)
                or (by_admin(identity, fact.signer) and not (isinstance(fact, Revoke) and fact.node in self.admins))
            )
        )
        self.members: dict[bytes, Member] = {}
        for identity, member in sorted(members, key=lambda item: (item[1].at, item[0])):
            if identity in self._counting:
                self.members[member.node] = member
        self.revoked: dict[bytes, list[Revoke]] = {}
        for identity, revoke in revokes:
            if identity in self._counting:
                self.revoked.setdefault(revoke.node, []).append(revoke)
        self.forks = {fact.feed: fact for _, fact in facts if isinstance(fact, Fork)}
        # An erase counts for ever, also from an admin revoked since: what is gone cannot come back.
        self._erasers: dict[bytes, set[bytes]] = {}
        for _, fact in facts:
            if isinstance(fact, Erase):
                for tag in fact.tags:
                    self._erasers.setdefault(tag, set()).add(fact.signer)

    def knows(self, identity: bytes) -> bool:
        """Whether a statement is in the set."""
        return identity in self._known

    def ids(self) -> list[bytes]:
        """The ids of all statements."""
        return list(self._known)

    def statements(self) -> list[Statement]:
        """All statements, those of the highest keys first: who reads them in this order need hold none back."""
        return sorted(self._known.values(), key=lambda item: (self._rank(item), item.id))

    def entitled(self, statement: Statement) -> bool:
        """Whether the set may take this statement. Once yes, yes for every larger set."""
        fact = statement.fact
        match fact:
            case Member():
                return fact.signer in self.roots or (fact.signer in self._ever_admins and fact.role != ADMIN)
            case Revoke():
                return self._is_authority(fact.signer)
            case Erase():
                return self._everyone or self._is_authority(fact.signer) or fact.signer in self._heard
            case Recover():
                return self.recovery is not None and fact.signer == self.recovery
            case Fork():
                return self._everyone or fact.feed.node in self._heard

    def superseded_by(self, statement: Statement) -> Statement | None:
        """The fork proof that makes this one needless: the lowest wins, then the smallest id; one a feed is kept."""
        if not isinstance(statement.fact, Fork):
            return None
        known = self.fork_statement(statement.fact.feed)
        return known if known is not None and fork_order(known) <= fork_order(statement) else None

    def fork_statement(self, feed: Feed) -> Statement | None:
        """The fork proof kept for a feed."""
        for statement in self._known.values():
            if isinstance(statement.fact, Fork) and statement.fact.feed == feed:
                return statement
        return None

    def certified(self, node: bytes) -> bool:
        """Whether a node's operations may count at all."""
        return self._everyone or node in self.members

    def counts(self, identity: bytes) -> bool:
        """Whether a member or revoke statement of the set has an effect."""
        return identity in self._counting

    def may_certify(self, node: bytes) -> bool:
        """Whether a node's word makes others members: an admin that was not revoked."""
        return node in self.admins and node in self.members and node not in self.revoked

    def cut(self, feed: Feed) -> Cut | None:
        """The lowest end decreed for a feed."""
        cuts = [_revocation_cut(revoke, feed) for revoke in self.revoked.get(feed.node, ())]
        fork = self.forks.get(feed)
        if fork is not None:
            cuts.append(Cut(fork.first - 1, fork.prev, "fork"))
        return min(cuts, default=None)

    def may_erase(self, signer: bytes, author: bytes) -> bool:
        """Whether `signer` may erase what `author` wrote."""
        return signer == author or self._is_authority(signer)

    def is_erased(self, tag: bytes, author: bytes, kind: int) -> bool:
        """Whether the body of an operation is to be gone."""
        signers = self._erasers.get(tag)
        if signers is None or kind in LASTING:
            return False
        return any(self.may_erase(signer, author) for signer in signers)

    def erased_tags(self) -> frozenset[bytes]:
        """Every tag that some erase names, by whoever."""
        return frozenset(self._erasers)

    def _is_authority(self, key: bytes) -> bool:
        return key in self.roots or key in self._ever_admins

    def _rank(self, statement: Statement) -> int:
        fact = statement.fact
        match fact:
            case Recover():
                return 0
            case Member():
                return 1 if fact.signer in self.roots else 2
            case Revoke():
                return 3
            case Erase() | Fork():
                return 4


def _revocation_cut(revoke: Revoke, feed: Feed) -> Cut:
    for epoch, seq, head in revoke.heads:
        if epoch == feed.epoch:
            return Cut(seq, head, "revoked")
    return Cut(0, b"", "revoked")
