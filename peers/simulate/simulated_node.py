"""One simulated node: an engine, its notebook behind a queue of requests, a clock that may be wrong. Carries out effects; decides nothing itself."""

from collections.abc import Callable, Sequence
from random import Random
from typing import Any, assert_never

from mesh.core.errors import Malformed
from mesh.core.identity import Identity
from mesh.core.statement import MEMBER
from peers.proto.cards import Card
from peers.proto.engine import Engine
from peers.proto.engine_events import (
    Close,
    CommonFound,
    Correct,
    Dial,
    DialFailure,
    Effect,
    Event,
    FindCommon,
    Flushed,
    KeepCard,
    LinkDown,
    LinkUp,
    MergeDone,
    MergeThis,
    NotebookChanged,
    Observe,
    ReadDone,
    ReadStatements,
    ReadThis,
    Received,
    Send,
    StatementsRead,
    Tick,
    Woke,
)
from peers.proto.messages import pack_ranges, unpack_ranges
from peers.proto.replica import Changes, Merge, MergeVerdict
from peers.simulate.memory_notebook import MemoryNotebook
from peers.simulate.network import End
from peers.simulate.traffic_meter import Write
from peers.simulate.world_context import FrameFilter, WorldContext

Question = MergeThis | ReadThis | ReadStatements | FindCommon


class ReplicaQueue:
    """The requests of one node to its notebook: answered one by one after a short delay, or when the machine wakes."""

    def __init__(self, node: "SimNode", around: WorldContext) -> None:
        self._node = node
        self._around = around
        self._busy_until = 0.0
        self._frozen: list[tuple[int, Question]] = []
        self.merging_bytes = 0  # waiting to be merged

    def ask(self, life: int, question: Question) -> None:
        """Take in a question. `life`: an answer from before a restart is dropped."""
        schedule, times = self._around.schedule, self._around.times
        merging = isinstance(question, MergeThis)
        self.merging_bytes += _size(question) if isinstance(question, MergeThis) else 0
        seconds = times.merge_seconds if merging else times.read_seconds
        self._busy_until = max(self._busy_until, schedule.now) + seconds
        schedule.at(self._busy_until, self._answer, life, question)

    def clear(self) -> None:
        """The process is gone, and its questions with it."""
        self.merging_bytes = 0
        self._frozen = []

    def go_on(self) -> None:
        """The machine is awake again."""
        frozen, self._frozen = self._frozen, []
        for life, question in frozen:
            self._answer(life, question)

    def _answer(self, life: int, question: Question) -> None:
        node = self._node
        if life != node.life:
            return
        if node.asleep:
            self._frozen.append((life, question))
            return
        notebook = node.notebook
        match question:
            case MergeThis():
                self.merging_bytes -= _size(question)
                result = self._merge(question)
                node.answer(MergeDone(question.job, result), result.changes)
            case ReadThis(job=job, wants=wants, room=room):
                chunks = notebook.read(wants, room)
                blob = pack_ranges([data for chunk in chunks for data in chunk.ranges])
                node.answer(ReadDone(job, chunks, blob))
            case ReadStatements(job=job, ids=ids, room=room):
                node.answer(StatementsRead(job, notebook.read_statements(ids, room)))
            case FindCommon(job=job, feed=feed, points=points):
                node.answer(CommonFound(job, notebook.common(feed, points)))
            case _:
                assert_never(question)

    def _merge(self, question: MergeThis) -> Merge:
        try:
            ranges = unpack_ranges(question.blob) if question.blob else question.ranges
        except Malformed as error:
            return Merge((), [MergeVerdict.REFUSED], Changes(), [str(error)])
        return self._node.notebook.merge(question.statements, ranges)


def _size(question: MergeThis) -> int:
    return len(question.blob) + sum(map(len, question.statements)) + sum(map(len, question.ranges))


START_MS = 1_790_000_000_000  # the wall clock at the beginning of every run
_NEVER = float("inf")
_SETTLE_SECONDS = 5.0  # how often a node looks whether its clock has caught up with what waits


class SimNode:
    """A node that can be started, stopped, put to sleep, and set back to a backup."""

    def __init__(self, around: WorldContext, index: int, identity: Identity, random: Random) -> None:
        self.index = index
        self.identity = identity
        self.role = MEMBER  # as its certificate will say
        self.notebook = MemoryNotebook(around.verified, identity, random, self.corrected_ms)
        self.queue = ReplicaQueue(self, around)
        self.cards: dict[bytes, Card] = {}
        self.skew_ms = 0
        self.correction_ms = 0  # as the engine last told; kept over restarts
        self.listens = True
        self.twist: FrameFilter | None = None
        self.engine: Engine | None = None
        self.asleep = False
        self.ends: dict[int, End] = {}
        self.most_unflushed = 0  # bytes that ever waited for one link
        self._around = around
        self._random = random
        self.life = 0  # answers to questions of an earlier life are dropped
        self._tick_at = _NEVER
        self._settling = False
        self._missed: list[Event] = []

    # Time

    def wall_ms(self, now: float) -> int:
        """The wall clock of this node, as wrong as it is."""
        return START_MS + int(now * 1000) + self.skew_ms

    def corrected_ms(self) -> int:
        """The clock the notebook goes by."""
        return self.wall_ms(self._around.schedule.now) + self.correction_ms

    # Life

    @property
    def is_up(self) -> bool:
        """Whether the machine answers."""
        return self.engine is not None and not self.asleep

    def start(self) -> None:
        """Start an engine on what the notebook and the kept cards have."""
        around = self._around
        self.life += 1
        self.asleep = False
        self.engine = Engine(
            around.verified.mesh,
            self.identity.public,
            self.notebook.everything(),
            self.cards.values(),
            sign=self.identity.sign,
            random=self._random,
            wall_ms=self.wall_ms,
            now=around.schedule.now,
            config=around.config,
            addresses=(f"sim:{self.index}",) if self.listens else (),
        )
        self.handle(Tick())

    def stop(self, *, silently: bool) -> None:
        """Crash. Peers see their links reset, or (silently) see nothing at all."""
        ends, self.ends = list(self.ends.values()), {}
        self.engine, self._tick_at, self._settling = None, _NEVER, False
        self._missed = []
        self.queue.clear()
        self.life += 1
        for end in ends:
            if silently:
                self._around.wire.vanish(end)
            else:
                self._around.wire.close(end, "reset")

    def sleep(self) -> None:
        """The machine stands still: nothing comes in, no timer runs, nobody is told."""
        self.asleep = True

    def wake(self) -> None:
        """The machine goes on where it was."""
        self.asleep = False
        self._tick_at = _NEVER
        missed, self._missed = self._missed, []
        self.handle(Woke())
        for event in missed:
            self.handle(event)
        self.queue.go_on()

    # Its owner

    def write(self, records: Sequence[dict[str, Any]]) -> list[bytes]:
        """Write records, and push them on if an engine runs."""
        around = self._around
        tags = self.notebook.write(records)
        changes = self.notebook.refresh()
        for parcel in changes.fresh:
            around.meter.write(Write(self.index, parcel.feed, parcel.last, around.schedule.now, len(parcel.data)))
        if tags:
            around.watcher.wrote(self, tags)
        self._tell(changes)
        return tags

    def change_setting(self, field: str, value: Any) -> bytes:
        """Say what a setting of the whole mesh is to be."""
        tag = self.notebook.change_setting(field, value)
        self._tell(self.notebook.refresh())
        return tag

    def learn(self, statements: Sequence[bytes]) -> None:
        """Statements that were made here, by a command beside the sidecar."""
        self._tell(self.notebook.merge(statements, ()).changes)

    def take_in(self, ranges: Sequence[bytes]) -> None:
        """Ranges of our own that were signed elsewhere."""
        self._tell(self.notebook.merge((), ranges).changes)

    # Events

    def handle(self, event: Event) -> None:
        """Give the engine an event and do what it answers."""
        engine = self.engine
        if engine is None:
            return
        if self.asleep:
            self._missed.append(event)  # its system tells it when it wakes
            return
        around = self._around
        around.meter.handled += 1
        for effect in engine.handle(event, around.schedule.now):
            _PERFORM[type(effect)](self, effect)
        around.watcher.handled(self)
        wake_at = engine.wake_at
        if wake_at < self._tick_at:
            self._tick_at = wake_at
            around.schedule.at(wake_at, self._tick, wake_at)

    def link_up(self, end: End) -> None:
        """See Party."""
        other = end.other.party
        assert isinstance(other, SimNode)
        self.ends[end.number] = end
        self.handle(LinkUp(end.number, other.identity.public, end.dialed, f"sim:{other.index}" if end.dialed else ""))

    def link_down(self, end: End, reason: str) -> None:
        """See Party."""
        if self.ends.pop(end.number, None) is not None:
            self.handle(LinkDown(end.number, reason))

    def frame(self, end: End, frame: bytes, kind: str) -> None:
        """See Party."""
        if not self.asleep:
            self._around.meter.receive(self.index, kind, frame)
            self.handle(Received(end.number, frame))

    def flushed(self, end: End, size: int) -> None:
        """See Party."""
        self.handle(Flushed(end.number, size))

    def _tick(self, due: float) -> None:
        if due != self._tick_at or self.asleep:
            return  # another tick was asked for since
        self._tick_at = _NEVER
        self.handle(Tick())

    def _tell(self, changes: Changes) -> None:
        """Tell the engine and the observers what has changed in the notebook."""
        if any(changes[:4]) or changes.fresh:
            self._note(changes)
            self.handle(NotebookChanged(changes))
            self._around.watcher.changed(self, changes)

    def _note(self, changes: Changes) -> None:
        around = self._around
        for parcel in changes.fresh:
            chain = self.notebook.chain(parcel.feed)
            assert chain is not None
            for seq in range(parcel.first, parcel.last + 1):
                around.watcher.signed(parcel.feed, seq, chain.hashes[seq])
        waiting = False
        for state in changes.feeds:
            around.meter.accepted(self.index, state, around.schedule.now)
            waiting = waiting or state.accepted.seq < state.held.seq
        if waiting and not self._settling:
            self._settling = True
            around.schedule.after(_SETTLE_SECONDS, self._settle, self.life)

    def _settle(self, life: int) -> None:
        if life != self.life:
            return
        self.notebook.settle()
        self._tell(self.notebook.refresh())
        self._settling = self.notebook.waits()
        if self._settling:
            self._around.schedule.after(_SETTLE_SECONDS, self._settle, self.life)

    # Effects

    def _send(self, effect: Send) -> None:
        end = self.ends.get(effect.link)
        if end is None:
            return
        if self.twist is not None:
            for frame, kind in self.twist.outgoing(effect):
                self.transmit(end, frame, kind)
            return
        self.transmit(end, effect.frame, effect.kind)

    def transmit(self, end: End, frame: bytes, kind: str) -> None:
        """Put a frame on its way."""
        self._around.meter.send(self.index, kind, len(frame))
        self._around.wire.send(end, frame, kind)
        self.most_unflushed = max(self.most_unflushed, end.unflushed)

    def _close(self, effect: Close) -> None:
        end = self.ends.get(effect.link)
        if end is not None:
            # Later in the same moment: an engine is not called while its effects are being carried out.
            self._around.schedule.after(0.0, self._around.wire.close, end, effect.reason)

    def _dial(self, effect: Dial) -> None:
        target, life = self._around.find(effect.node), self.life

        def failed(reason: str) -> None:
            if life == self.life:
                self.handle(DialFailure(effect.node, reason))

        if target is None or not effect.addresses:
            self._around.schedule.after(0.0, failed, "no address")
        else:
            self._around.wire.dial(self, target, self._around.times.dial_seconds, failed)

    def _ask(self, effect: Question) -> None:
        self.queue.ask(self.life, effect)

    def answer(self, event: Event, changes: Changes | None = None) -> None:
        """The notebook has answered a question, and may have changed."""
        if changes is not None:
            self._note(changes)
        self.handle(event)
        if changes is not None:
            self._around.watcher.changed(self, changes)

    def _keep_card(self, effect: KeepCard) -> None:
        self.cards[effect.card.key] = effect.card

    def _correct(self, effect: Correct) -> None:
        self.correction_ms = effect.offset_ms
        self._around.schedule.after(0.0, self._settle_now, self.life)

    def _settle_now(self, life: int) -> None:
        if life == self.life:
            self.notebook.settle()
            self._tell(self.notebook.refresh())

    def _observe(self, effect: Observe) -> None:
        self._around.meter.observed[effect.what] += effect.amount
        if effect.what == "shunned":
            self._around.watcher.shunned(self, effect.node, effect.detail)


_PERFORM: dict[type[Effect], Callable[[SimNode, Any], None]] = {
    Send: SimNode._send,  # noqa: SLF001 (a table of its own methods)
    Close: SimNode._close,  # noqa: SLF001
    Dial: SimNode._dial,  # noqa: SLF001
    MergeThis: SimNode._ask,  # noqa: SLF001
    ReadThis: SimNode._ask,  # noqa: SLF001
    ReadStatements: SimNode._ask,  # noqa: SLF001
    FindCommon: SimNode._ask,  # noqa: SLF001
    KeepCard: SimNode._keep_card,  # noqa: SLF001
    Correct: SimNode._correct,  # noqa: SLF001
    Observe: SimNode._observe,  # noqa: SLF001
}
