"""Who is in the mesh and alive, as far as we can tell, and how people see it. Liveness decides whom we talk to, never what is true.

Each node's own signed contact says how to reach it. A suspicion is a rumour about one contact; a newer contact refutes it.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from mesh.core.errors import RemoteError
from peers.proto.cards import (
    CERTIFICATE,
    CONTACT,
    Card,
    Contact,
    ReadCertificate,
    Sign,
    card_kind,
    parse_contact,
    read_contact,
    write_contact,
)
from peers.proto.engine_context import EngineContext
from peers.proto.engine_events import KeepCard
from peers.proto.messages import CARDS, Give, Rumour
from peers.proto.neighbour import Neighbour

STOPPING = "stopping"  # what a node says that will come back
_REFUTE_SECONDS = 5.0
_CARD_SECONDS = 1.0
_SUSPICIOUS_FAILURES = 2  # dials in a row


class Acquaintance:
    """What we know of a member that we may or may not have a link with."""

    __slots__ = ("card_at", "card_before", "failures", "last_seen", "retry_at", "suspected", "suspected_at")

    def __init__(self) -> None:
        self.failures = 0
        self.retry_at = 0.0
        self.last_seen: float | None = None
        self.suspected: int | None = None  # the time of the contact that is doubted
        self.suspected_at = 0.0
        self.card_at = self.card_before = float("-inf")  # when its last two contacts came


class Membership:
    """Contacts and suspicions."""

    def __init__(
        self, context: EngineContext, own: Contact, sign: Sign, read_certificate: ReadCertificate | None
    ) -> None:
        self._context = context
        self._own = own
        self._sign = sign
        self._read_certificate = read_certificate
        self._refuted_at = float("-inf")
        self._refuting = False
        self._known: dict[bytes, Acquaintance] = {}
        self._contacts: dict[bytes, Contact] = {}  # those that were needed so far; all are in the cards

    # Contacts

    @property
    def own_card(self) -> bytes:
        """Our own contact, as it is sent."""
        card = self._context.summary.cards.get(CONTACT, self._context.node)
        assert card is not None
        return card.data

    def contact(self, node: bytes) -> Contact | None:
        """How a node can be reached."""
        known = self._contacts.get(node)
        if known is None:
            card = self._context.summary.cards.get(CONTACT, node)
            if card is not None:
                known = self._contacts[node] = parse_contact(card.data)
        return known

    def introduce(self, wall_ms: int) -> None:
        """At the start: our contact as it was last signed still stands, unless something in it is no longer so."""
        before = self.contact(self._context.node)
        age = wall_ms - before.at if before is not None else -1
        if (
            before is not None
            and before._replace(at=0) == self._own
            and 0 <= age < self._context.config.contact_seconds * 1000
        ):
            self._own = before
        else:
            self.announce_self(wall_ms)

    def announce_self(self, wall_ms: int, **changes: object) -> None:
        """Sign a new contact of ours, later than any before, and tell everyone."""
        before = self._context.summary.cards.get(CONTACT, self._context.node)
        at = max(wall_ms, 0 if before is None else before.at + 1)
        self._own = self._own._replace(at=at, **changes)  # type: ignore[arg-type]
        self._take(write_contact(self._context.mesh, self._own, self._sign), self._own, None)

    def cards_given(self, neighbour: Neighbour, items: Iterable[bytes]) -> None:
        """Cards came, asked for or not."""
        for data in items:
            if neighbour.link not in self._context.links:
                return
            self.card_given(neighbour, data)

    def card_given(self, neighbour: Neighbour, data: bytes) -> None:
        """A card came from a neighbour: keep it if it is authentic, about a member and newer, and pass it on."""
        context = self._context
        if self.is_known(data):
            return
        try:
            card, contact = self._read(data)
        except RemoteError as error:
            context.blame(neighbour, 1, f"a card was refused: {error}")
            return
        if card is None:
            return
        if contact is not None and card.subject == context.node:
            known = context.summary.cards.get(CONTACT, context.node)
            if card.replaces(known):  # of an earlier life of ours: speak up again
                self.announce_self(card.at + 1)
            return
        self._take(card, contact, neighbour)

    def issue(self, card: Card) -> None:
        """A card that was made here."""
        self._take(card, None, None)

    def is_known(self, data: bytes) -> bool:
        """Whether this very card is kept: copies of it come over every link, and were checked once."""
        return self._context.summary.cards.has_copy(data)

    def _read(self, data: bytes) -> tuple[Card | None, Contact | None]:
        kind, certificate = card_kind(data)
        if kind == CONTACT:
            if not self._is_news(parse_contact(data)):
                return None, None
            return read_contact(self._context.mesh, data)
        if kind == CERTIFICATE and self._read_certificate is not None:
            return self._read_certificate(certificate), None
        return None, None  # of a later version

    def _is_news(self, contact: Contact) -> bool:
        """Whether a contact is worth checking: of a member, and not the third within a second, which nobody needs.

        What is passed over here the next comparison brings: a member statement may have come by then.
        """
        context = self._context
        if contact.node == context.node:
            return True
        if not context.summary.roster.allows(contact.node):
            return False  # nothing is kept of other nodes
        soon = context.now - self.acquaintance(contact.node).card_before < _CARD_SECONDS
        return not soon or contact.left

    def _take(self, card: Card, contact: Contact | None, source: Neighbour | None) -> None:
        context = self._context
        if not context.summary.cards.put(card):
            return
        context.effects.append(KeepCard(card))
        if contact is not None:
            self._contacts[card.subject] = contact
            known = self.acquaintance(card.subject)
            known.card_at, known.card_before = context.now, known.card_at
            if known.suspected is not None and known.suspected < contact.at:
                known.suspected = None
                context.observe("refuted", card.subject)
            if card.subject != context.node:
                known.retry_at = min(known.retry_at, context.now + 1.0)  # it may have moved
        others = [item for item in context.ready() if item is not source and item.node != card.subject]
        context.send_frame(others, Give(CARDS, [card.data]))

    # Liveness

    def state(self, node: bytes) -> str:
        """alive, suspect, dead, left, revoked, or unseen for who never showed up."""
        context = self._context
        contact, known = self.contact(node), self.acquaintance(node)
        if node in context.summary.roster.revoked:
            return "revoked"
        if contact is not None and contact.left:
            return "left"
        if node == context.node or any(item.node == node for item in context.ready()):
            return "alive"
        if known.suspected is not None:
            silence = context.now - known.suspected_at
            if contact is not None and contact.ephemeral and silence > context.config.forget_seconds:
                return "left"
            return "suspect" if silence < context.config.suspect_seconds else "dead"
        return "unseen" if contact is None else "alive"

    def last_seen(self, node: bytes) -> float | None:
        """When we last heard from a node itself."""
        return self.acquaintance(node).last_seen

    def suspect(self, node: bytes) -> None:
        """We have lost a node: say so, for others to confirm or for it to refute."""
        contact = self.contact(node)
        if contact is not None and not contact.left and self._context.summary.roster.allows(node):
            self.rumour(None, Rumour(node, contact.at))

    def rumour(self, source: Neighbour | None, message: Rumour) -> None:
        """Someone is thought dead."""
        context = self._context
        if message.node == context.node:
            if message.at == self._own.at:  # about any other contact there is nothing to refute, or it is a lie
                self._refute()
            return
        contact = self.contact(message.node)
        if contact is None or contact.at != message.at:
            return
        known = self.acquaintance(message.node)
        if known.suspected == message.at:
            return
        subject = [item for item in context.ready() if item.node == message.node]
        if subject:
            context.send(subject[0], message)  # it is alive, and will say so
            return
        known.suspected, known.suspected_at = message.at, context.now
        context.observe("suspected", message.node)
        context.send_frame([item for item in context.ready() if item is not source], message)

    def _refute(self) -> None:
        """Say that we are there; not more often than anyone needs to hear it."""
        context = self._context
        if context.now - self._refuted_at >= _REFUTE_SECONDS:
            self._refuted_at = context.now
            self.announce_self(self._own.at + 1)
        elif not self._refuting:
            self._refuting = True
            context.at(self._refuted_at + _REFUTE_SECONDS, self._refute_late)

    def _refute_late(self) -> None:
        self._refuting = False
        self._refute()

    def appeared(self, neighbour: Neighbour) -> None:
        """A link was greeted: the node is there. If it was thought dead it should tell everyone otherwise."""
        known = self.acquaintance(neighbour.node)
        if known.suspected is not None:
            self._context.send(neighbour, Rumour(neighbour.node, known.suspected))
        known.failures, known.suspected, known.last_seen = 0, None, self._context.now

    def lost(self, neighbour: Neighbour) -> None:
        """A link is gone. Unless they said goodbye, try again at once, then doubt."""
        known = self.acquaintance(neighbour.node)
        if neighbour.greeted:
            known.last_seen = self._context.now
        if neighbour.goodbye:
            known.retry_at = self._context.now + self._context.spread(10.0)
            if neighbour.goodbye == STOPPING:
                self.suspect(neighbour.node)  # it is away; it will say so itself when it is back
        elif neighbour.dialed and not neighbour.passing:
            known.retry_at = self._context.now
        elif not self.addresses(neighbour.node) and neighbour.greeted:
            self.suspect(neighbour.node)  # cannot be dialled; if it has other links it hears of this

    def dial_failed(self, node: bytes) -> None:
        """A node did not answer."""
        context = self._context
        known = self.acquaintance(node)
        known.failures += 1
        known.retry_at = context.now + context.spread(
            min(context.config.redial_seconds, 2.0 ** min(known.failures, 10))
        )
        if known.failures == _SUSPICIOUS_FAILURES:
            self.suspect(node)

    def addresses(self, node: bytes) -> tuple[str, ...]:
        """Where a node can be dialled."""
        contact = self.contact(node)
        return () if contact is None or contact.left else contact.addresses

    def acquaintance(self, node: bytes) -> Acquaintance:
        """What is known of a node beside its contact."""
        known = self._known.get(node)
        if known is None:
            known = self._known[node] = Acquaintance()
        return known


def median_offset(offsets: Iterable[int]) -> int:
    """By how much our clock differs from most. Ours counts too, and of two middle ones the nearer to ours is taken."""
    ordered = sorted([0, *offsets])
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else min(ordered[middle - 1], ordered[middle], key=abs)


class PeerView(NamedTuple):
    """One member. What is None is not known here: only neighbours tell."""

    node: bytes
    name: str
    state: str
    addresses: tuple[str, ...]
    linked: bool
    dialed: bool | None
    address: str | None  # of the link
    round_trip: float | None
    seen_seconds: float | None  # ago
    in_step: bool | None
    they_lack: int | None
    we_lack: int | None
    holds_back: int | None  # operations of ours that it has and does not count
    differs_seconds: float | None
    offset_ms: int | None
    queued: int
    version: str = ""  # of clan-mesh, as it says itself
    speaks: int | None = None  # the version of the protocol, if it is another than ours


def member_views(context: EngineContext, membership: Membership) -> Iterator[PeerView]:
    """All members but ourselves."""
    links = {item.node: item for item in context.ready()}
    roster = context.summary.roster
    for node in sorted(set(roster.names) | roster.revoked):
        if node == context.node:
            continue
        contact, link = membership.contact(node), links.get(node)
        seen = membership.last_seen(node)
        they, we = (None, None) if link is None else _lacking(context, link)
        yield PeerView(
            node,
            roster.names.get(node, ""),
            membership.state(node),
            () if contact is None else contact.addresses,
            link is not None,
            None if link is None else link.dialed,
            None if link is None else link.address,
            None if link is None else link.round_trip,
            _ago(context, link.arrivals.last if link is not None else seen),
            None if link is None or not link.root else link.root == context.summary.root,
            they,
            we,
            None if link is None else _held_back(context, link),
            None if link is None or link.differs_since is None else context.now - link.differs_since,
            None if link is None else link.offset_ms,
            0 if link is None else link.queued,
            "" if contact is None else contact.version,
            context.other_versions.get(node),
        )


def _lacking(context: EngineContext, link: Neighbour) -> tuple[int | None, int | None]:
    """Operations that they lack of what counts here, and that we lack of what they have."""
    if not link.root:
        return None, None
    if link.root == context.summary.root:
        return 0, 0
    they = sum(max(0, state.accepted.seq - link.has.get(state.feed, 0)) for state in context.summary.feeds())
    return they, sum(max(0, seq - context.summary.held(feed).seq) for feed, seq in link.has.items())


def _held_back(context: EngineContext, link: Neighbour) -> int:
    """Operations of ours that count here and that they have without counting them."""
    accepted = context.summary.accepted
    return sum(max(0, min(has, accepted(feed).seq) - counts) for feed, (counts, has) in link.holds.items())


def _ago(context: EngineContext, when: float | None) -> float | None:
    return None if when is None else max(0.0, context.now - when)
