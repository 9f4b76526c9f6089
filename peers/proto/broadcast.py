"""The fast path: what is new is pushed to every neighbour that lacks it, or announced where it is large.

Lost or dropped pushes are not sent again: the repair path finds out.
"""

from collections.abc import Iterable, Sequence

from mesh.core.ids import Feed, digest
from peers.proto.engine_context import EngineContext
from peers.proto.engine_events import MergeThis
from peers.proto.gossip_config import EAGER_BYTES, HAVE_ENTRIES
from peers.proto.messages import FEEDS, STATEMENTS, Busy, Entry, FeedEntry, Give, Have, Push, peek
from peers.proto.neighbour import Neighbour
from peers.proto.replica import Merge, MergeVerdict, Parcel
from peers.proto.transfer import Fetching

_BUSY_MILLISECONDS = 500
_RELAYED = frozenset({MergeVerdict.NEW, MergeVerdict.WAITS})
_RECENT = 512  # statements whose bytes are remembered, so that a flood of copies is not checked again


class Broadcast:
    """Pushes, and what becomes of those that come in."""

    def __init__(self, context: EngineContext, fetching: Fetching) -> None:
        self._context = context
        self._fetching = fetching
        fetching.pulled = self.pulled
        self._coming: dict[Feed, int] = {}  # how far a feed will reach once what is being merged is in
        self._recent: dict[bytes, None] = {}

    # Out

    def spread(self, parcels: Sequence[Parcel], source: Neighbour | None = None) -> None:
        """Push parcels that are new here to all who lack them."""
        groups: dict[tuple[int, ...], list[Neighbour]] = {}
        for neighbour in self._context.ready():
            if neighbour is source or neighbour.passing:
                continue
            lacking = tuple(
                index for index, parcel in enumerate(parcels) if neighbour.has.get(parcel.feed, 0) < parcel.last
            )
            if lacking:
                groups.setdefault(lacking, []).append(neighbour)
        for lacking, neighbours in groups.items():
            self._push([parcels[index] for index in lacking], neighbours)

    def spread_statements(self, statements: Sequence[tuple[bytes, bytes]], source: Neighbour | None = None) -> None:
        """Give new statements to everyone else; announce those that are large, like fork proofs."""
        others = [neighbour for neighbour in self._context.ready() if neighbour is not source]
        small = [data for _, data in statements if len(data) <= EAGER_BYTES]
        if small and sum(map(len, small)) <= EAGER_BYTES:
            self._context.send_frame(others, Give(STATEMENTS, small))
            statements = [item for item in statements if len(item[1]) > EAGER_BYTES]
        for start in range(0, len(statements), 1024):
            ids: list[Entry] = [identity for identity, _ in statements[start : start + 1024]]
            self._context.send_frame(others, Have(STATEMENTS, b"", answer=False, entries=ids))

    def _push(self, parcels: list[Parcel], neighbours: list[Neighbour]) -> None:
        context = self._context
        small = sum(len(parcel.data) for parcel in parcels) <= context.config.eager_bytes
        eager, patient = [], []
        for neighbour in neighbours:
            if neighbour.queued > context.config.link_bytes:
                context.observe("dropped", neighbour.node, len(parcels))
            elif small and neighbour.busy_until <= context.now:
                eager.append(neighbour)
                for parcel in parcels:
                    neighbour.learn_has(parcel.feed, parcel.last, context.summary.size(FEEDS))
            else:
                patient.append(neighbour)
        if eager:
            context.send_frame(eager, Push([parcel.data for parcel in parcels]))
        if patient:
            self.announce(dict.fromkeys(parcel.feed for parcel in parcels), patient)

    def announce(self, feeds: Iterable[Feed], neighbours: Iterable[Neighbour]) -> None:
        """Say how far we have these feeds; who lacks something pulls it."""
        summary = self._context.summary
        entries: list[Entry] = [FeedEntry(feed, summary.accepted(feed), summary.held(feed)) for feed in feeds]
        for start in range(0, len(entries), HAVE_ENTRIES):
            part = entries[start : start + HAVE_ENTRIES]
            self._context.send_frame(neighbours, Have(FEEDS, b"", answer=False, entries=part))

    def pulled(self, feeds: Sequence[Feed], source: Neighbour | None) -> None:
        """Announce what was pulled to those who may lack it: bulk travels from pull to pull."""
        summary = self._context.summary
        groups: dict[tuple[Feed, ...], list[Neighbour]] = {}
        for neighbour in self._context.ready():
            if neighbour is source or neighbour.passing:
                continue
            lacking = tuple(feed for feed in feeds if neighbour.has.get(feed, 0) < summary.accepted(feed).seq)
            if lacking:
                groups.setdefault(lacking, []).append(neighbour)
        for lacking, neighbours in groups.items():
            self.announce(lacking, neighbours)

    # In

    def pushed(self, neighbour: Neighbour, message: Push) -> None:
        """Ranges came unasked: take in what is new and fits behind what we have; ask for what lies before the rest."""
        context = self._context
        fresh: list[Parcel] = []
        for data in message.ranges:
            parcel = peek(data)
            if not context.summary.roster.knows(parcel.feed.node):
                context.observe("stranger", parcel.feed.node)  # its statement has to come first; then repair brings it
                continue
            neighbour.learn_has(parcel.feed, parcel.last, context.summary.size(FEEDS))
            reach = max(context.summary.held(parcel.feed).seq, self._coming.get(parcel.feed, 0))
            if parcel.last <= reach:
                context.observe("redundant", neighbour.node, len(data))
            elif parcel.first > reach + 1:
                if neighbour.may_ask(context.now):
                    self._fetching.want(parcel.feed, parcel.last, neighbour)
                else:
                    context.blame(neighbour, 0.2, "more gaps than anyone has")
            else:
                fresh.append(parcel)
                self._coming[parcel.feed] = parcel.last
        size = sum(len(parcel.data) for parcel in fresh)
        if not fresh:
            return
        if context.merging_bytes + size > context.config.merge_bytes:
            for parcel in fresh:
                self._coming.pop(parcel.feed, None)
            self.refuse_for_now(neighbour)
            return
        job = context.job(lambda result: self._merged(neighbour, fresh, result), size, neighbour)
        context.effects.append(MergeThis(job, (), [parcel.data for parcel in fresh], b""))

    def given(self, neighbour: Neighbour, items: Sequence[bytes]) -> None:
        """Statements came, asked for or not."""
        context = self._context
        fresh = [data for data in items if digest(data) not in self._recent]
        for data in fresh:
            self._remember(digest(data))
        if fresh:
            size = sum(map(len, fresh))
            job = context.job(lambda result: self._judged(neighbour, fresh, result), size, neighbour)
            context.effects.append(MergeThis(job, fresh, (), b""))

    def refuse_for_now(self, neighbour: Neighbour) -> None:
        """Say that we are behind with merging, once in a while."""
        context = self._context
        context.observe("busy", neighbour.node)
        if neighbour.told_busy_until <= context.now:
            neighbour.told_busy_until = context.now + _BUSY_MILLISECONDS / 1000
            context.send(neighbour, Busy(_BUSY_MILLISECONDS, 0))

    def _merged(self, neighbour: Neighbour, parcels: list[Parcel], result: Merge) -> None:
        context = self._context
        on = []
        for parcel, verdict in zip(parcels, result.ranges, strict=True):
            held = context.summary.held(parcel.feed)
            if self._coming.get(parcel.feed, 0) <= max(held.seq, parcel.last):
                self._coming.pop(parcel.feed, None)
            if verdict in _RELAYED and held.seq >= parcel.last and context.summary.roster.allows(parcel.feed.node):
                on.append(parcel)
            elif verdict is MergeVerdict.REFUSED:
                neighbour.has.pop(parcel.feed, None)
                self._fetching.want_from_others(parcel.feed, neighbour)
                context.blame(neighbour, 1, f"a pushed range was refused: {' '.join(result.reasons[:1])}")
            elif verdict is MergeVerdict.FULL and not held.seq:
                neighbour.has.pop(parcel.feed, None)  # no claim to remember: honest ones should have room
            elif verdict is MergeVerdict.GAP:
                self._fetching.want(parcel.feed, parcel.last, neighbour)
        self.spread(on, neighbour)

    def _judged(self, neighbour: Neighbour, items: Sequence[bytes], result: Merge) -> None:
        refused = sum(verdict is MergeVerdict.REFUSED for verdict in result.statements)
        for data, verdict in zip(items, result.statements, strict=True):
            if verdict in (MergeVerdict.REFUSED, MergeVerdict.FULL):
                self._recent.pop(digest(data), None)
        if refused:
            self._context.blame(neighbour, refused, f"a statement was refused: {' '.join(result.reasons[:1])}")

    def _remember(self, key: bytes) -> None:
        self._recent[key] = None
        while len(self._recent) > _RECENT:
            del self._recent[next(iter(self._recent))]
