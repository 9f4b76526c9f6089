"""What must hold in a simulated mesh: `anytime_` after every change, `eventually_` once it is left in peace.

One checker a world. It looks, and raises; it never touches what it looks at.
"""

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from mesh.core.ids import Feed, short
from mesh.core.member_limits import feed_limit, share_weight, usual_quota
from mesh.core.statement import ADMIN
from peers.proto.gossip_config import ANSWER_BYTES, FRAME_BYTES
from peers.proto.replica import Changes, FeedState
from peers.simulate.notebook_state import SpaceLimits
from peers.simulate.simulated_node import START_MS, SimNode

if TYPE_CHECKING:
    from peers.simulate.world import World

_STATEMENTS_PER_MERGE = 4  # frames of statements that may wait beside the ranges


class InvariantBroken(AssertionError):
    """A check failed. The message says which, where, and how to see it again."""


class Checker:
    """Watches a world from its beginning."""

    world: "World"

    def __init__(self) -> None:
        self.repeat = ""  # the command that shows the same run again
        self.checks = 0
        self.fragile: set[int] = set()  # nodes that will lose their disk or die: what only they hold may be lost
        self._acknowledged: dict[bytes, int] = {}  # tag: the index of its author
        self._excused: set[bytes] = set()
        self._signed: dict[Feed, dict[int, set[bytes]]] = {}
        self._accepted: dict[tuple[int, Feed], int] = {}
        self._forged: set[bytes] = set()  # hashes of bodies that were put into the mouth of others
        self._revoked: dict[bytes, dict[int, tuple[int, bytes]]] = {}  # node: epoch: where it ends
        self._settings: dict[str, list[bytes]] = {}  # by name, what admins said it is, latest last

    # What happens

    def wrote(self, node: SimNode, tags: Sequence[bytes]) -> None:
        """See Watcher."""
        if self.is_trusted(node):
            for tag in tags:
                self._acknowledged[tag] = node.index

    def signed(self, feed: Feed, seq: int, head: bytes) -> None:
        """See Watcher."""
        self._signed.setdefault(feed, {}).setdefault(seq, set()).add(head)

    def handled(self, node: SimNode) -> None:
        """See Watcher. What a notebook holds is looked at when it changes; queues change with every event."""
        self.checks += 1
        self.anytime_queues_are_bounded(node)

    def changed(self, node: SimNode, changes: Changes) -> None:
        """See Watcher."""
        self.checks += 1
        self.anytime_the_mirror_agrees_with_the_notebook(node)
        self.anytime_only_authors_extend_their_feeds(node, changes.feeds)
        self.anytime_what_counts_only_shrinks_by_statements(node, changes)
        if node.twist is None:
            suspects = self._suspects(changes)
            self.anytime_nobody_costs_more_than_its_share(node, suspects)
            if suspects:
                self.anytime_nobody_has_rights_that_it_gave_itself(node)

    def shunned(self, node: SimNode, other: bytes, why: str) -> None:
        """See Watcher."""
        self.anytime_the_honest_do_not_shun_each_other(node, other, why)

    def lost_disk(self, node: SimNode) -> None:
        """A node is back to an old backup. What it alone knew since then is gone, and nobody can be blamed."""
        for key in [key for key in self._accepted if key[0] == node.index]:
            del self._accepted[key]
        keepers = [other for other in self.world.nodes if self.is_trusted(other) and other.index not in self.fragile]
        for tag, author in self._acknowledged.items():
            if author == node.index and not any(other.notebook.holds(tag) for other in [node, *keepers]):
                self._excused.add(tag)

    def revoked(self, node: SimNode, heads: Iterable[tuple[int, int, bytes]]) -> None:
        """A member was revoked: only this much of it counts."""
        self._revoked[node.identity.public] = {epoch: (seq, head) for epoch, seq, head in heads}

    def forged(self, body_hash: bytes) -> None:
        """Someone signed this body in the name of another."""
        self._forged.add(body_hash)

    def setting_changed(self, field: str, tag: bytes) -> None:
        """An admin changed a setting of the mesh."""
        self._settings.setdefault(field, []).append(tag)

    def is_trusted(self, node: SimNode) -> bool:
        """Whether a node keeps to the protocol and has not been revoked."""
        return node.twist is None and node.identity.public not in self._revoked

    @property
    def acknowledged(self) -> int:
        """How many records were acknowledged and must be found in the end."""
        return len(self._acknowledged) - len(self._excused)

    # At any time

    def anytime_the_mirror_agrees_with_the_notebook(self, node: SimNode) -> None:
        """Gossip never claims what is not in the notebook, nor hides what is."""
        if node.engine is not None and node.engine.root != node.notebook.root():
            self._fail("the engine's idea of the notebook is the notebook's", f"{_name(node)} differs")

    def anytime_only_authors_extend_their_feeds(self, node: SimNode, feeds: Sequence[FeedState]) -> None:
        """Whatever is held of an honest node's feed was signed by that node."""
        for state in feeds:
            author = self.world.find(state.feed.node)
            if author is None or author.twist is not None:
                continue
            for head in (state.accepted, state.held):
                if head.seq and head.hash not in self._signed.get(state.feed, {}).get(head.seq, ()):
                    self._fail(
                        "no operation is held whose author did not sign it",
                        f"{_name(node)} holds operation {head.seq} of {state.feed}",
                    )

    def anytime_what_counts_only_shrinks_by_statements(self, node: SimNode, changes: Changes) -> None:
        """Only a revocation or a fork takes back what was accepted, and of who takes more than its share what else it wrote."""
        for state in changes.feeds:
            key, author = (node.index, state.feed), self.world.find(state.feed.node)
            is_greedy = author is not None and author.twist is not None
            if state.accepted.seq < self._accepted.get(key, 0) and not changes.statements and not is_greedy:
                self._fail("what counts only shrinks by statements", f"{_name(node)} took back part of {state.feed}")
            self._accepted[key] = state.accepted.seq

    def anytime_queues_are_bounded(self, node: SimNode) -> None:
        """Nothing piles up: neither on a link nor before the notebook."""
        to_send, to_merge = self._bounds
        if node.most_unflushed > to_send and node.twist is None:
            self._fail("queues are bounded", f"{_name(node)} had {node.most_unflushed} bytes waiting for one link")
        if node.queue.merging_bytes > to_merge:
            self._fail("queues are bounded", f"{_name(node)} has {node.queue.merging_bytes} bytes waiting to be merged")

    def anytime_nobody_costs_more_than_its_share(self, node: SimNode, authors: Iterable[bytes]) -> None:
        """Feeds, bytes, erases and fork proofs of each of these authors, as one honest node keeps them, are within their bounds."""
        notebook, room = node.notebook, SpaceLimits()
        trust = notebook.statements.trust
        chains = {author: [chain for chain in notebook.chains() if chain.feed.node == author] for author in authors}
        now = max(node.corrected_ms(), START_MS + int(self.world.now * 1000))
        for author, theirs in chains.items():
            feeds = feed_limit(now, trust.certified_ms(author))
            weighs = sum(share_weight(link.body) for chain in theirs for link in chain.links[: chain.accepted])
            idle, waiting = notebook.waiting_bytes(author)
            is_hostile = author in self._hostile()
            usual = usual_quota(is_throw_away=trust.is_throw_away(author))
            for what, found, most in (
                ("feeds count", sum(chain.accepted > 0 for chain in theirs), feeds),
                # Beside them those that were forked, which end their author's word if they are too many.
                ("feeds are held", sum(chain.held > 0 for chain in theirs), 2 * feeds + 1),
                ("feeds are not begun", sum(not chain.held for chain in theirs), room.unbegun),
                ("bytes count", weighs, trust.allowance(author, now) if trust.may_write(author) else 0),
                ("bytes are its quota", trust.quota(author) if is_hostile else 0, usual),
                ("bytes of erases name nothing", idle, room.aside),
                ("bytes wait", waiting, room.author),
                ("fork proofs are kept", sum(feed.node == author for feed in trust.forks), feeds + 1),
            ):
                if found > most:
                    self._fail(
                        "nobody costs more than its share",
                        f"of {short(author)} {found} {what} on {_name(node)}, and {most} may",
                    )

    def anytime_nobody_has_rights_that_it_gave_itself(self, node: SimNode) -> None:
        """Who is an admin, and who is revoked, the root key said; and the settings that are shown, an admin."""
        trust = node.notebook.statements.trust
        named = {other.identity.public for other in self.world.nodes if other.role == ADMIN}
        for what, found in (
            ("is an admin", trust.admins - named),
            ("is revoked", trust.revoked.keys() - self._revoked),
            ("is a member", {key for key in trust.members if self.world.find(key) is None}),
        ):
            if found:
                self._fail("nobody has rights that it gave itself", f"{short(min(found))} {what} on {_name(node)}")
        for field, word in node.notebook.settings().items():
            if word.tag not in self._settings.get(field, ()):
                self._fail("settings are the admins'", f"on {_name(node)} {field!r} is what another member said")

    def _hostile(self) -> set[bytes]:
        return {node.identity.public for node in self.world.nodes if node.twist is not None}

    def _suspects(self, changes: Changes) -> set[bytes]:
        """Who breaks the rules and may have just got more. Others write far too little to be looked at each time."""
        hostile = self._hostile()
        if not hostile or changes.statements:
            return hostile
        return hostile.intersection(state.feed.node for state in changes.feeds)

    def anytime_the_honest_do_not_shun_each_other(self, node: SimNode, other: bytes, why: str) -> None:
        """Whatever an enemy makes them pass on. What a link loses or doubles may look like malice; no real one does that."""
        party = self.world.find(other)
        if party is None or not self.world.wire.was_faithful:
            return
        if self.is_trusted(node) and self.is_trusted(party):
            self._fail("the honest do not shun each other", f"{_name(node)} shuns {_name(party)}: {why}")

    @cached_property
    def _bounds(self) -> tuple[int, int]:
        """The most bytes that may wait for one link, and to be merged. Asked for at every event, and always the same."""
        config = self.world.config
        return (
            config.link_bytes + 2 * FRAME_BYTES,
            config.merge_bytes + ANSWER_BYTES + _STATEMENTS_PER_MERGE * FRAME_BYTES,
        )

    # In the end

    def eventually_everything(self) -> None:
        """All that must hold once faults have ended and time has passed."""
        self.eventually_all_honest_nodes_agree()
        self.eventually_every_acknowledged_write_is_everywhere()
        self.eventually_forgeries_are_nowhere()
        self.eventually_the_revoked_are_cut_off()
        self.eventually_settings_are_what_admins_said_last()
        everyone = [node.identity.public for node in self.world.nodes]
        for node in self.world.honest():
            self.anytime_nobody_costs_more_than_its_share(node, everyone)

    def eventually_all_honest_nodes_agree(self) -> None:
        """One root."""
        roots: dict[bytes, list[SimNode]] = {}
        for node in self.world.honest():
            roots.setdefault(node.notebook.root(), []).append(node)
        if len(roots) > 1:
            groups = sorted(roots.values(), key=len)
            few = ", ".join(_name(node) for node in groups[0][:5])
            self._fail("all honest nodes have one root", f"there are {len(roots)}; {few} differ from the most")

    def eventually_every_acknowledged_write_is_everywhere(self) -> None:
        """Content, read from the operations of every node: nothing honest is lost."""
        honest = self.world.honest()
        up = {node.index for node in honest}
        wanted = {tag for tag, author in self._acknowledged.items() if author in up and tag not in self._excused}
        for node in honest:
            lacking = wanted - node.notebook.live_tags()
            if lacking:
                tag = min(lacking)
                author = self.world.nodes[self._acknowledged[tag]]
                self._fail(
                    "every acknowledged write is live everywhere",
                    f"{_name(node)} lacks {len(lacking)}, among them {short(tag)} of {_name(author)}",
                )

    def eventually_forgeries_are_nowhere(self) -> None:
        """No honest notebook keeps what was signed in another's name, not even outside what counts."""
        for node in self.world.honest():
            for chain in node.notebook.chains():
                for links in (chain.links, *(stray.item.links for stray in chain.strays)):
                    if any(link.body_hash in self._forged for link in links):
                        self._fail("forgeries are nowhere", f"{_name(node)} keeps one in {chain.feed}")

    def eventually_the_revoked_are_cut_off(self) -> None:
        """Of a revoked member nothing counts beyond what its revocation lists."""
        for node in self.world.honest():
            for chain in node.notebook.chains():
                ends = self._revoked.get(chain.feed.node)
                if ends is not None and chain.accepted > ends.get(chain.feed.epoch, (0, b""))[0]:
                    self._fail("the revoked are cut off", f"{_name(node)} counts more of {chain.feed}")

    def eventually_settings_are_what_admins_said_last(self) -> None:
        """And nobody else's word is among them."""
        wanted = {field: tags[-1] for field, tags in self._settings.items()}
        for node in self.world.honest():
            found = {field: word.tag for field, word in node.notebook.settings().items()}
            if found != wanted:
                other = min(field for field in found.keys() | wanted if found.get(field) != wanted.get(field))
                self._fail("settings are the admins'", f"on {_name(node)} {other!r} is not what an admin said last")

    def _fail(self, rule: str, found: str) -> None:
        again = self.repeat or f"World({self.world.seed}, {len(self.world.nodes)})"
        raise InvariantBroken(f"broken at {self.world.now:.3f} s: {rule}; but {found}. See it again: {again}")


def _name(node: SimNode) -> str:
    return f"node {node.index} ({short(node.identity.public)})"
