"""What the statements amount to: who is certified, where feeds end, what is erased, how much a node may add. A pure function of the set.

Two questions are kept apart. Whether a statement may join the set (`entitled`) only ever turns from no to
yes as the set grows, so the set is the same in any order of arrival. What the set means (`certified`,
`cut`, `is_erased`) may change both ways, as revocations arrive.

Authority has three layers, so that two admins cannot undo each other in a circle: the root key names
admins and revokes anyone; admins certify nodes and revoke those that are not admins; a node speaks for its own records.
Above them the recovery key names another root and says what still counts of earlier ones. It can do nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from mesh.core import member_limits
from mesh.core.ids import Feed
from mesh.core.operation import LASTING
from mesh.core.statement import (
    ADMIN,
    READERS,
    THROW_AWAY,
    Erase,
    Fork,
    Member,
    Quota,
    Recover,
    Revoke,
    Statement,
    fork_order,
    fork_place,
)

Erasers = Callable[[bytes], Iterable[bytes]]  # a tag to the keys that have erased it
_NEVER_MS = 2**47  # later than any statement


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
    """The meaning of a set of statements. Build a new one when the set changes."""

    def __init__(
        self,
        founders: tuple[bytes, bytes] | None,
        statements: Iterable[Statement],
        *,
        everyone: bool = False,
        erasers: Erasers | None = None,
    ) -> None:
        """`everyone`: no certificates needed, as among private records, which only come by the owner's hand.

        `erasers`: who has erased a tag, for who keeps erases elsewhere: they may be many, and decide nothing else here.
        """
        founding = None if founders is None else founders[0]
        self.founding = founding
        self.recovery = None if founders is None else founders[1]
        self._everyone = everyone
        self.is_limited = not everyone  # whether feeds and bytes of a node are counted at all
        self._known = {statement.id: statement for statement in statements}
        facts = [(identity, item.fact) for identity, item in self._known.items()]
        members = [(identity, fact) for identity, fact in facts if isinstance(fact, Member)]
        revokes = [(identity, fact) for identity, fact in facts if isinstance(fact, Revoke)]
        recovers = [(f.at, i, f) for i, f in facts if isinstance(f, Recover) and f.signer == self.recovery]
        recover = max(recovers)[2] if recovers else None
        self.root = founding if recover is None else recover.root
        # Everyone who was root or admin at any time: for entitlement and for erasures, which must only ever grow.
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
            if isinstance(fact, Member | Revoke | Quota)
            and (
                by_root(identity, fact.signer)
                or (by_admin(identity, fact.signer) and not (isinstance(fact, Revoke) and fact.node in self.admins))
            )
        )
        self.members: dict[bytes, Member] = {}
        self._since: dict[bytes, int] = {}
        for identity, member in sorted(members, key=lambda item: (item[1].at, item[0])):
            if identity in self._counting:
                self.members[member.node] = member
                self._since.setdefault(member.node, member.at)
        self._quotas: dict[bytes, int] = {}
        for identity, fact in facts:
            if isinstance(fact, Quota) and identity in self._counting:
                self._quotas[fact.node] = max(fact.bytes_a_day, self._quotas.get(fact.node, 0))
        self.revoked: dict[bytes, list[Revoke]] = {}
        for identity, revoke in revokes:
            if identity in self._counting:
                self.revoked.setdefault(revoke.node, []).append(revoke)
        self._fork_statements = {item.fact.feed: item for item in self._known.values() if isinstance(item.fact, Fork)}
        self.forks = {fact.feed: fact for _, fact in facts if isinstance(fact, Fork)}
        self._too_many: dict[
            bytes, tuple[int, Feed]
        ] = {}  # of who forked more feeds than may count: the first too many
        for node in {feed.node for feed in self.forks}:
            places = sorted(fork_place(fork) for feed, fork in self.forks.items() if feed.node == node)
            counted = set(member_limits.within_limit(places, self.certified_ms(node)))
            beyond = [place for place in places if place[1] not in counted]
            if beyond and not everyone:
                self._too_many[node] = beyond[0]
        # An erase counts for ever, also from an admin revoked since: what is gone cannot come back.
        self._erased: dict[bytes, set[bytes]] = {}
        for _, fact in facts:
            if isinstance(fact, Erase):
                for tag in fact.tags:
                    self._erased.setdefault(tag, set()).add(fact.signer)
        self._erasers: Erasers = erasers or (lambda tag: self._erased.get(tag, ()))

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
            case Revoke() | Quota():
                return self.is_authority(fact.signer)
            case Erase():
                return self.needs_no_operation(fact) or fact.signer in self._heard
            case Recover():
                return self.recovery is not None and fact.signer == self.recovery
            case Fork():
                return self._everyone or fact.feed.node in self._heard

    def needs_no_operation(self, erase: Erase) -> bool:
        """Whether an erase is in the set whatever it names: one of an authority. A member's has to name what counts."""
        return self._everyone or self.is_authority(erase.signer)

    def is_needless(self, statement: Statement) -> bool:
        """Whether a fork proof adds nothing: one a feed is kept, the lowest; and one more than may count is enough to convict."""
        if not isinstance(statement.fact, Fork):
            return False
        known = self._fork_statements.get(statement.fact.feed)
        if known is not None and fork_order(known) <= fork_order(statement):
            return True
        first = self._too_many.get(statement.fact.feed.node)
        return first is not None and fork_place(statement.fact) > first

    def needless_forks(self) -> list[bytes]:
        """The proofs of the set beyond the first that is too many of its author's."""
        return [
            item.id
            for feed, item in self._fork_statements.items()
            if feed.node in self._too_many and fork_place(self.forks[feed]) > self._too_many[feed.node]
        ]

    def fork_statement(self, feed: Feed) -> Statement | None:
        """The fork proof kept for a feed."""
        return self._fork_statements.get(feed)

    def has_forked_too_often(self, node: bytes) -> bool:
        """Whether a node has forked more feeds than may count of it: then nothing it wrote does."""
        return node in self._too_many

    def certified(self, node: bytes) -> bool:
        """Whether a node is or was a member."""
        return self._everyone or node in self.members

    def may_write(self, node: bytes) -> bool:
        """Whether a node's operations may count at all: it is certified, and no reader."""
        return self._everyone or (node in self.members and self.role(node) not in READERS)

    def role(self, node: bytes) -> str:
        """The role of a certified node. Who was named an admin stays one, whatever a later statement of an admin says."""
        return ADMIN if node in self.admins else self.members[node].role

    def is_throw_away(self, node: bytes) -> bool:
        """Whether a certified node was let in for a short time only."""
        return node in self.members and self.role(node) in THROW_AWAY

    def certified_ms(self, node: bytes) -> int:
        """Since when a node is certified, by the earliest statement that has an effect. One that is not: not yet."""
        return self._since.get(node, _NEVER_MS)

    def quota(self, node: bytes) -> int:
        """What a node may add for each day, or other span, of its life."""
        usual = member_limits.usual_quota(is_throw_away=self.is_throw_away(node))
        return max(usual, self._quotas.get(node, 0))

    def allowance(self, node: bytes, now_ms: int) -> int:
        """What all feeds of a node may weigh together by now."""
        days = member_limits.span_days(is_throw_away=self.is_throw_away(node))
        return member_limits.allowance(self.quota(node), self.certified_ms(node), now_ms, days)

    def next_allowance_ms(self, node: bytes, now_ms: int) -> int:
        """When that grows."""
        days = member_limits.span_days(is_throw_away=self.is_throw_away(node))
        return member_limits.next_span_ms(self.certified_ms(node), now_ms, days)

    def within_limit(self, node: bytes, feeds: Iterable[tuple[int, Feed]]) -> list[Feed]:
        """Of a node's feeds, given with their first stamps, those that may count."""
        return member_limits.within_limit(feeds, self.certified_ms(node))

    def counts(self, identity: bytes) -> bool:
        """Whether a member, revoke or quota statement of the set has an effect."""
        return identity in self._counting

    def may_certify(self, node: bytes) -> bool:
        """Whether a node's word makes others members: an admin that was not revoked."""
        return node in self.admins and node in self.members and node not in self.revoked

    def cut(self, feed: Feed) -> Cut | None:
        """The lowest end decreed for a feed."""
        if feed.node in self._too_many:
            return Cut(0, b"", "fork")
        cuts = [_revocation_cut(revoke, feed) for revoke in self.revoked.get(feed.node, ())]
        fork = self.forks.get(feed)
        if fork is not None:
            cuts.append(Cut(fork.first - 1, fork.prev, "fork"))
        return min(cuts, default=None)

    def may_erase(self, signer: bytes, author: bytes) -> bool:
        """Whether `signer` may erase what `author` wrote."""
        return signer == author or self.is_authority(signer)

    def is_erased(self, tag: bytes, author: bytes, kind: int) -> bool:
        """Whether the body of an operation is to be gone."""
        if kind in LASTING:
            return False
        return any(self.may_erase(signer, author) for signer in self._erasers(tag))

    def erased_tags(self) -> frozenset[bytes]:
        """Every tag that an erase among these statements names, whoever signed it."""
        return frozenset(self._erased)

    def is_authority(self, key: bytes) -> bool:
        """Whether a key is or was a root's or an admin's: for what must only ever grow."""
        return key in self.roots or key in self._ever_admins

    def _rank(self, statement: Statement) -> int:
        fact = statement.fact
        match fact:
            case Recover():
                return 0
            case Member():
                return 1 if fact.signer in self.roots else 2
            case Revoke() | Quota():
                return 3
            case Erase() | Fork():
                return 4


def _revocation_cut(revoke: Revoke, feed: Feed) -> Cut:
    for epoch, seq, head in revoke.heads:
        if epoch == feed.epoch:
            return Cut(seq, head, "revoked")
    return Cut(0, b"", "revoked")
