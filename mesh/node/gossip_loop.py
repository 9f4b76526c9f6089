"""The gossip engine in a process: its effects become frames, dials and work for the store thread, their results become events.

No decision is made here. One event loop; everything that belongs to a link ends with it.
"""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from typing import Any, Protocol

from mesh.core.ids import display_name
from mesh.node.metrics import Counters
from mesh.node.store_thread import StoreThread
from mesh.store.file_access import patience
from peers.proto.cards import Card
from peers.proto.engine import Engine
from peers.proto.engine_events import (
    Close,
    Correct,
    Dial,
    DialFailure,
    Event,
    FindCommon,
    Flushed,
    KeepCard,
    Lagged,
    Leaving,
    LinkDown,
    LinkUp,
    MergeDone,
    MergeThis,
    NotebookChanged,
    Observe,
    ReadStatements,
    ReadThis,
    Received,
    Send,
    Tick,
    Woke,
)
from peers.proto.message_codec import FRAME_KINDS
from peers.proto.replica import MergeVerdict
from peers.transport import link as links

_MERGING_BYTES = 8 * 1024 * 1024  # being merged: above it links are not read from, and TCP slows the senders
_GOODBYE_SECONDS = 0.5
_LAST_SECONDS = 1.0  # for all goodbyes of a node that stops
_LAST_BYTES = 16_384  # a goodbye, and what was to be said before it: a contact, a statement
_LATE_SECONDS = 1.0  # a timer this late means that our own loop stood still
_SLEPT_SECONDS = 30.0  # the wall clock ahead of the steady one by this: the machine slept
_LOGGED = {
    "link up": logging.INFO,
    "goodbye": logging.INFO,
    "suspected": logging.INFO,
    "refuted": logging.INFO,
    "silent": logging.WARNING,
    "shunned": logging.WARNING,
    "fault": logging.WARNING,
    "dial failed": logging.DEBUG,
}
log = logging.getLogger("mesh.gossip")


class _Conversation:
    """One link and what is to be sent over it."""

    def __init__(self, number: int, link: links.PeerLink) -> None:
        self.number = number
        self.link = link
        self.outbox: deque[bytes] = deque()  # bounded by the engine, which counts what was not flushed
        self.wake = asyncio.Event()
        self.closing: str | None = None


class Owner(Protocol):
    """The node that gossip belongs to: told what concerns it, asked what gossip cannot know."""

    def correct(self, offset_ms: int) -> None:
        """Our clock is off by so much."""
        ...

    def card_kept(self, card: Card) -> None:
        """A newer card is known."""
        ...

    def roster_changed(self) -> None:
        """Who belongs has changed."""
        ...

    def welcomes(self, link: links.PeerLink) -> bool:
        """Whether a link may be used."""
        ...


class GossipLoop:
    """Runs one engine until it is told to stop."""

    def __init__(self, engine: Engine, store_thread: StoreThread, counters: Counters, owner: Owner) -> None:
        self.engine = engine
        self._store_thread = store_thread
        store_thread.answer = self.answered
        self._counters = counters
        self._owner = owner
        self._transport: links.Transport | None = None
        self._conversations: dict[int, _Conversation] = {}
        self._numbers = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._room = asyncio.Event()
        self._room.set()
        self._loop = asyncio.get_running_loop()
        self._clocks = (time.monotonic(), time.time())
        self._stopped = False

    def start(self, transport: links.Transport | None) -> None:
        """Begin. Without a transport nobody can be reached."""
        self._transport = transport
        self.handle(Tick())

    async def stop(self, *, left: bool = False) -> None:
        """Say goodbye to everyone, and be done when that has gone out."""
        self.handle(Leaving(left))
        self._stopped = True
        if self._timer is not None:
            self._timer.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=patience(_LAST_SECONDS))
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def answered(self, events: Sequence[Event]) -> None:
        """Called in the store thread."""
        with suppress(RuntimeError):  # the loop is closed: nobody waits for answers any more
            self._loop.call_soon_threadsafe(self._take, events)

    def accept(self, link: links.PeerLink) -> None:
        """The transport has a new link."""
        self._converse(link)

    def handle(self, event: Event) -> None:
        """Give the engine one event and do what it says."""
        if self._stopped:
            return
        now = time.monotonic()
        for effect in self.engine.handle(event, now):
            match effect:
                case Send(link=number, frame=frame, kind=kind):
                    talk = self._conversations.get(number)
                    if talk is not None:
                        self._counters.sent(kind, talk.link.peer, len(frame))
                        talk.outbox.append(frame)
                        talk.wake.set()
                case MergeThis() | ReadThis() | ReadStatements() | FindCommon():
                    self._store_thread.submit(effect)
                case KeepCard():
                    self._store_thread.submit(effect)
                    self._owner.card_kept(effect.card)
                case Close(link=number, reason=reason):
                    talk = self._conversations.pop(number, None)
                    if talk is not None:
                        self._end(talk, reason)
                case Dial(node=node, addresses=addresses):
                    self._spawn(self._dial(node, addresses))
                case Correct(offset_ms=offset_ms):
                    self._owner.correct(offset_ms)
                case Observe():
                    self._observe(effect)
        self._schedule()

    def _take(self, events: Sequence[Event]) -> None:
        for event in events:
            if isinstance(event, MergeDone):
                self._count(event)
            self.handle(event)
            changes = event.result.changes if isinstance(event, MergeDone) else None
            changes = event.changes if isinstance(event, NotebookChanged) else changes
            if changes is not None and changes.roster is not None:
                self._owner.roster_changed()
        if self.engine.merging_bytes <= _MERGING_BYTES:
            self._room.set()

    def _count(self, event: MergeDone) -> None:
        for verdict in (*event.result.ranges, *event.result.statements):
            self._counters.merged(verdict)
        for reason in event.result.reasons if MergeVerdict.REFUSED in event.result.ranges else ():
            log.warning("refused: %s", reason)

    def _observe(self, effect: Observe) -> None:
        self._counters.observed(effect.what, effect.amount)
        level = _LOGGED.get(effect.what)
        if level is not None and log.isEnabledFor(level):
            name = self.engine.name_of(effect.node)
            log.log(level, "%s peer=%s %s", effect.what, display_name(name, effect.node), effect.detail)

    # Time

    def _schedule(self) -> None:
        wake = self.engine.wake_at
        if self._timer is not None:
            if self._timer.when() <= wake:
                return
            self._timer.cancel()
        self._timer = self._loop.call_at(wake, self._tick)

    def _tick(self) -> None:
        assert self._timer is not None
        late = self._loop.time() - self._timer.when()
        self._timer = None
        steady, wall = time.monotonic(), time.time()
        slept = (wall - self._clocks[1]) - (steady - self._clocks[0])
        self._clocks = (steady, wall)
        if slept > _SLEPT_SECONDS:
            log.info("woke up after about %d s", slept)
            self.handle(Woke())
        elif late > _LATE_SECONDS:
            self._counters.observed("lagged", 1)
            self.handle(Lagged(late))
        self.handle(Tick())

    # Links

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _dial(self, node: bytes, addresses: tuple[str, ...]) -> None:
        if self._transport is None:
            self.handle(DialFailure(node, "this node has no certificate yet"))
            return
        try:
            link = await self._transport.dial(node, addresses)
        except links.DialFailed as error:
            self.handle(DialFailure(node, str(error)))
        except Exception as error:  # whatever it is, the engine waits for an answer
            log.exception("a dial went wrong")
            self.handle(DialFailure(node, str(error)))
        else:
            if not self._converse(link):
                self.handle(DialFailure(node, "its certificate has expired, or is not valid yet"))

    def _converse(self, link: links.PeerLink) -> bool:
        """Talk over a link, unless it is not welcome."""
        if self._stopped or not self._owner.welcomes(link):
            self._spawn(link.close("stopping" if self._stopped else "the certificate has expired"))
            return False
        self._numbers += 1
        talk = _Conversation(self._numbers, link)
        self._conversations[talk.number] = talk
        self._spawn(self._talk(talk))
        self.handle(LinkUp(talk.number, link.peer, link.dialed, link.address))
        return True

    async def _talk(self, talk: _Conversation) -> None:
        sending = self._loop.create_task(self._send(talk))
        reason = ""
        try:
            while True:
                frame = await talk.link.receive()
                self._counters.received(FRAME_KINDS.get(frame[2:3], "unknown"), talk.link.peer, len(frame))
                self.handle(Received(talk.number, frame))
                if self.engine.merging_bytes > _MERGING_BYTES:
                    self._room.clear()
                    await self._room.wait()
        except links.LinkClosed as error:
            reason = error.reason
        except Exception as error:  # nobody awaits this task: it is said here
            log.exception("the conversation with %s failed", talk.link.address)
            reason = str(error)
        finally:
            sending.cancel()
            try:
                await asyncio.gather(sending, return_exceptions=True)
                await talk.link.close()
            finally:  # whatever failed: the engine must not take a link that ended for one that is up
                self._conversations.pop(talk.number, None)
                self.handle(LinkDown(talk.number, reason))

    def _end(self, talk: _Conversation, reason: str) -> None:
        """Close a link now: of what is queued only the last words still go out, if the other side reads them soon."""
        while sum(map(len, talk.outbox)) > _LAST_BYTES:
            talk.outbox.popleft()
        talk.closing = reason
        talk.wake.set()
        self._loop.call_later(patience(_GOODBYE_SECONDS), lambda: self._spawn(talk.link.close(reason)))

    async def _send(self, talk: _Conversation) -> None:
        try:
            while True:
                await talk.wake.wait()
                talk.wake.clear()
                while talk.outbox:
                    frame = talk.outbox.popleft()
                    await talk.link.send(frame)
                    self.handle(Flushed(talk.number, len(frame)))
                if talk.closing is not None and not talk.outbox:
                    await talk.link.close(talk.closing)
                    return
        except links.LinkClosed:
            return  # the reading side says so
        except Exception as error:  # a link that only receives is none
            log.exception("sending to %s failed", talk.link.address)
            await talk.link.close(f"sending failed: {error}")
