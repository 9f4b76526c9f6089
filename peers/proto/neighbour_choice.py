"""Which nodes to have links with: about six at random, replaced slowly, with a short visit to another now and then."""

from collections.abc import Sequence

from peers.proto.cards import CONTACT
from peers.proto.engine_context import EngineContext
from peers.proto.engine_events import Dial
from peers.proto.membership import Membership
from peers.proto.neighbour import Neighbour

_VISITS_A_SECOND = 2.0  # to authors, by all who hold a clipped feed of theirs


class NeighbourChoice:
    """The choice of neighbours."""

    def __init__(self, context: EngineContext, membership: Membership) -> None:
        self._context = context
        self._membership = membership
        self.dialing: dict[bytes, bool] = {}  # node: for one comparison only
        self._renewing: bytes | None = None

    def dial_failed(self, node: bytes) -> None:
        """A node did not answer."""
        self.dialing.pop(node, None)
        self._membership.dial_failed(node)

    def keep_neighbours(self) -> None:
        """Dial until there are enough links."""
        context = self._context
        links = sum(not item.passing for item in context.links.values())
        links += sum(not passing for passing in self.dialing.values())
        missing = context.config.neighbours - links
        if missing > 0:
            for node in self._candidates(missing):
                self._dial(node, passing=False)

    def most_neighbours(self) -> int:
        """How many links we serve: where few can be dialled, those few carry everyone else."""
        context = self._context
        links = sum(not item.passing for item in context.ready())
        if links < context.config.most_neighbours:
            return context.config.most_neighbours  # the usual case, and the share is some work to find out
        members = max(1, len(context.summary.roster.names))
        open_ones = sum(self._is_open(card.subject) for card in context.summary.cards.of_kind(CONTACT))
        share = -(-members * context.config.neighbours // max(1, open_ones))
        return max(context.config.most_neighbours, min(share, members))

    def _is_open(self, node: bytes) -> bool:
        """Whether a node can be dialled, as far as we know."""
        alive = self._membership.acquaintance(node).suspected is None
        return alive and bool(self._membership.addresses(node)) and self._context.summary.roster.allows(node)

    def visit(self, authors: Sequence[bytes]) -> None:
        """A short link with someone who is no neighbour: mends what a bad choice of neighbours would keep apart.

        `authors`: nodes that may lack what we hold of theirs. Everyone may know the same of them, so that each goes
        there seldom enough for a few visits a second in all.
        """
        context = self._context
        if len(context.ready()) < min(2, context.config.neighbours):
            return
        linked = {item.node for item in context.links.values()} | set(self.dialing)
        reachable = [node for node in authors if node not in linked and self._may_dial(node)]
        chance = _VISITS_A_SECOND * context.config.stray_seconds / max(1, len(context.summary.roster.names))
        if reachable and context.random.uniform(0.0, 1.0) < chance:
            self._dial(context.random.choice(reachable), passing=True)
            return
        for node in self._candidates(
            1, wary=False
        ):  # also who is thought dead: two halves that were apart must meet again
            self._dial(node, passing=True)

    def renew(self) -> None:
        """Exchange one neighbour: first a new link, then an old one goes."""
        context = self._context
        links = [item for item in context.ready() if not item.passing]
        if len(links) > context.config.neighbours + 2:
            self._drop(links)
        elif len(links) >= context.config.neighbours:
            for node in self._candidates(1):
                self._renewing = node
                self._dial(node, passing=False)

    def dialed(self, neighbour: Neighbour) -> None:
        """A dial of ours succeeded."""
        neighbour.passing = self.dialing.pop(neighbour.node, False)
        if self._renewing == neighbour.node:
            self._renewing = None
            self._drop([item for item in self._context.ready() if not item.passing and item is not neighbour])

    def _drop(self, links: list[Neighbour]) -> None:
        own = [item for item in links if item.dialed and not item.pulls]
        if own:
            self._context.close(self._context.random.choice(own), "exchanging neighbours")

    def _dial(self, node: bytes, *, passing: bool) -> None:
        self.dialing[node] = passing
        self._context.effects.append(Dial(node, self._membership.addresses(node)))

    def _candidates(self, count: int, *, wary: bool = True) -> list[bytes]:
        """Whom we could dial now, at random; `wary`: those thought dead only if there are no others."""
        context = self._context
        linked = {item.node for item in context.links.values()} | set(self.dialing) | {context.node}
        nodes = [card.subject for card in context.summary.cards.of_kind(CONTACT) if card.subject not in linked]
        context.random.shuffle(nodes)
        found: list[bytes] = []
        doubtful: list[bytes] = []
        for node in nodes:
            if len(found) == count:
                break
            if self._may_dial(node):
                doubted = wary and self._membership.acquaintance(node).suspected is not None
                (doubtful if doubted else found).append(node)
        return (found + doubtful)[:count]

    def _may_dial(self, node: bytes) -> bool:
        context = self._context
        return (
            bool(self._membership.addresses(node))
            and context.summary.roster.allows(node)
            and self._membership.acquaintance(node).retry_at <= context.now
            and context.shunned.get(node, 0.0) <= context.now
        )
