"""The node as a process: composes store, gossip, trust and local API; runs until it is told to stop, and stops cleanly."""

import asyncio
import gc
import logging
import random
import signal
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, AsyncExitStack, nullcontext, suppress
from functools import partial
from typing import Any

from clan_learnings.records.access_counts_thread import AccessCounting
from clan_learnings.search.indexes import SearchIndexes
from mesh import __version__
from mesh.app.status import peers_report
from mesh.core.draft import Draft
from mesh.core.errors import DiskFull, HomeBusy, UsageError
from mesh.core.ids import display_name, text_id
from mesh.node.certificates import Certificates, is_sound
from mesh.node.corrected_clock import DUE_SECONDS, ClockWatch, CorrectedClock
from mesh.node.erase_thread import EraseThread
from mesh.node.event_stream import EventStream
from mesh.node.gossip_loop import GossipLoop
from mesh.node.join_port import JoinPort
from mesh.node.local_api import routes, serving
from mesh.node.metrics import Counters, render
from mesh.node.node_settings import NodeSettings, advertised
from mesh.node.node_store import NodeStore
from mesh.node.store_replica import StoreReplica
from mesh.node.store_thread import StoreThread
from mesh.pages.folder_sync import open_workspace
from mesh.pages.folders_thread import FoldersThread
from mesh.store.author import Author
from mesh.store.file_access import patience
from mesh.store.home import Home, hold_node_lock
from mesh.store.join_table import Cards
from mesh.store.receipts import Receipt
from mesh.store.store import Store, wall_clock
from mesh.worker.worker_process import WorkerProcess
from peers.proto.cards import CERTIFICATE, CONTACT, Card
from peers.proto.engine import Engine
from peers.proto.engine_events import AddressesChanged, CardIssued
from peers.proto.replica import Changes
from peers.transport.link import LinkConfig, PeerLink
from peers.transport.link_listener import ConnectionPolicy
from peers.transport.websocket import WebSocketTransport
from peers.trust.tls import Credentials, peer_leaf, peer_node

_PARTING_SECONDS = 0.8  # how long one that leaves waits for a neighbour to have everything
_NEW_OBJECTS = 700  # between two looks for rings, as Python has it: unlike a command, we stay
_LEAVING_SECONDS = 10.0  # how long `mesh leave` looks for someone to tell
log = logging.getLogger("mesh.node")


class _LookupThreads(ThreadPoolExecutor):
    """Looks up names. One that hangs must not keep a node that is to stop."""

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: ARG002, FBT001, FBT002
        super().shutdown(wait=False, cancel_futures=True)


async def run_node(
    home: Home,
    settings: NodeSettings,
    ready: Callable[["RunningNode"], None],
    doors: Callable[["RunningNode"], AbstractContextManager[object]] = nullcontext,
) -> None:
    """Run until SIGTERM or SIGINT; `ready` is called once the home is ours and everything listens.

    `doors`: what else answers while the node runs, as its context.
    """
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.set_default_executor(_LookupThreads(thread_name_prefix="mesh-lookup"))
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    with hold_node_lock(home):
        node = RunningNode(home, settings, stop)
        await node.run(ready, doors)


class RunningNode:
    """One sidecar."""

    def __init__(self, home: Home, settings: NodeSettings, stop: asyncio.Event) -> None:
        self.home = home
        self.worker = WorkerProcess(home.path, self._append)
        self.recall = SearchIndexes(home.path, self.worker)
        self.worker.reported = self.recall.tidy
        self.addresses: tuple[str, ...] = ()
        self._settings = settings
        self._stop = stop
        self._left = settings.leave
        self._is_stuck = False
        self.told = False  # whether some neighbour had everything when we left
        self._clock = CorrectedClock()
        self._clock_watch = ClockWatch(home, self._clock, self._peer_clocks)
        self._counters = Counters()
        self._transport: WebSocketTransport | None = None
        self._engine: Engine | None = None
        self._started = time.monotonic()

    async def run(
        self,
        ready: Callable[["RunningNode"], None],
        doors: Callable[["RunningNode"], AbstractContextManager[object]] = nullcontext,
    ) -> None:
        """From open to closed."""
        if self.home.has_private:
            private = self.home.store(private=True)
            _due(private)
            private.close()
        author = self.home.author(clock=self._clock.now_ms, is_sidecar=True)
        try:
            self._refuse_left(author.store)
            await self._run(author, ready, doors)
        finally:
            if not self._is_stuck:  # a merge that waits for a command's lock ends with the process, and changes nothing
                author.store.close()
        log.info("stopped")

    async def _run(
        self,
        author: Author,
        ready: Callable[["RunningNode"], None],
        doors: Callable[["RunningNode"], AbstractContextManager[object]],
    ) -> None:
        store = author.store
        self._replica = replica = StoreReplica(author)
        card_table = self._card_table = Cards(store.database)
        self._loop = asyncio.get_running_loop()
        state = replica.everything()
        cards = [card for card in (Card(*kept) for kept in card_table.all()) if is_sound(card)]
        self._certificates = Certificates(self.home, cards, lambda: replica.trust, self._clock.now_ms)
        ahead = self._certificates.forget_ahead()
        for subject in ahead:
            log.warning("a certificate of a clock that was ahead is made anew of=%s", text_id(subject)[:8])
            card_table.drop(CERTIFICATE, subject)
        cards = [card for card in cards if card.kind != CERTIFICATE or card.subject not in ahead]
        for card in self._certificates.due():
            if card_table.keep(*card):  # else a newer one is known, though our clock says otherwise
                self._certificates.keep(card)
                cards.append(card)
        self._store_thread = StoreThread(author, replica, card_table, lambda: _version(store))
        self.records = NodeStore(self.home.node, self.recall, self._store_thread, store.clock, self._clock_doubted)
        async with AsyncExitStack() as stack:
            stack.enter_context(self._store_thread)
            transport = await self._listen(stack)
            self._start(author, state, cards, transport)
            await stack.enter_async_context(
                serving(
                    self.home.path,
                    routes(self, self._join_port),
                    {"GET /events": EventStream(self.home.path).handle},
                    self.metrics,
                    self._heard,
                )
            )
            stack.enter_context(self.recall)
            stack.enter_context(AccessCounting(self.home))
            stack.enter_context(EraseThread(self.home.path, self.worker.let_go))
            self._store_thread.changed = self.worker.tell_news
            stack.enter_context(self.worker)
            stack.enter_context(FoldersThread(partial(open_workspace, self.home)))
            stack.enter_context(doors(self))
            name = display_name(self.home.name, self.home.node)
            log.info("up node=%s root=%s listen=%s", name, self.engine.root.hex()[:16], ",".join(self.addresses) or "-")
            gc.set_threshold(_NEW_OBJECTS)
            gc.freeze()  # what is there by now stays: the collector need not go through it while somebody waits for an answer
            ready(self)
            await self._until_stopped(author)
        self._is_stuck = self._store_thread.is_working

    def _start(self, author: Author, state: Changes, cards: list[Card], transport: WebSocketTransport | None) -> None:
        """Nothing awaits between listening and this: no link can come before there is an engine for it."""
        self._engine = Engine(
            self.home.mesh,
            self.home.node,
            state,
            cards,
            sign=self.home.identity().sign,
            random=random.SystemRandom(),
            wall_ms=lambda _now: wall_clock(),
            now=time.monotonic(),
            addresses=self.addresses,
            version=__version__,
            ephemeral=self._is_throw_away,
            read_certificate=self._certificates.read,
        )
        self._gossip = GossipLoop(self._engine, self._store_thread, self._counters, self)
        self._join_port = JoinPort(
            self.home,
            author,
            self._store_thread,
            self._certificates,
            self._settings,
            lambda: self.engine.cards(CONTACT),
            self._issued,
        )
        self._gossip.start(transport)

    @property
    def engine(self) -> Engine:
        """Gossip's engine, once there is one."""
        assert self._engine is not None
        return self._engine

    @property
    def _is_throw_away(self) -> bool:
        """Whether this node leaves when it stops: its member statement says so, or whoever made its home."""
        return self.home.ephemeral or self._replica.trust.is_throw_away(self.home.node)

    async def _until_stopped(self, author: Author) -> None:
        broken: asyncio.Future[None] = self._loop.create_future()
        self._store_thread.broken = lambda error: self._loop.call_soon_threadsafe(broken.set_exception, error)
        tasks: list[asyncio.Future[Any]] = [
            broken,
            asyncio.create_task(self._stop.wait()),
            asyncio.create_task(self._look_after(author)),
            asyncio.create_task(self._clock_watch.run(author, self._store_thread)),
            asyncio.create_task(self._join_port.run()),
        ]
        if self._settings.leave:
            tasks.append(asyncio.create_task(self._tell_goodbye()))
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()  # an error of ours ends the process, and is said as any other
            if self._is_throw_away:
                self._left = True
                await self._parted(patience(_PARTING_SECONDS))
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await self._gossip.stop(left=self._left)

    async def _look_after(self, author: Author) -> None:
        """What becomes due by itself."""
        while True:
            await asyncio.wrap_future(self._store_thread.call(lambda: self._pay(author.store)))
            self._issue_due()
            self._notice_move()
            await asyncio.sleep(DUE_SECONDS)

    def _append(self, drafts: Sequence[Draft], is_bulk: bool) -> Receipt:  # noqa: FBT001 (what the worker says)
        return self.records.append(drafts, is_bulk=is_bulk)

    def _heard(self, everywhere: bool) -> None:  # noqa: FBT001 (what the doorbell says)
        """A command has written something, or was refused because of the clock."""
        self._store_thread.refresh(everywhere)
        if everywhere:
            self._clock_watch.wake()

    def _clock_doubted(self) -> None:
        """Called in a thread that could not write."""
        with suppress(RuntimeError):  # the loop is closed: we are leaving
            self._loop.call_soon_threadsafe(self._clock_watch.wake)

    def _notice_move(self) -> None:
        """A laptop that listens everywhere has other addresses in another network."""
        if self._transport is None:
            return
        found = advertised(self._settings.advertise, self._transport.bound)
        if found != self.addresses:
            log.info("reachable at other addresses now address=%s", ",".join(found))
            self.addresses = found
            self._gossip.handle(AddressesChanged(found))

    def _pay(self, store: Store) -> None:
        _due(store, self._clock)

    def _peer_clocks(self) -> list[int]:
        """What the clocks of linked peers say, in milliseconds."""
        now = wall_clock()
        return [now + peer.offset_ms for peer in self.engine.peers() if peer.linked and peer.offset_ms is not None]

    async def _tell_goodbye(self) -> None:
        await self._parted(patience(_LEAVING_SECONDS))

    async def _parted(self, seconds: float) -> bool:
        """Wait until some neighbour has everything we have."""
        deadline = time.monotonic() + seconds
        self._store_thread.refresh()  # what a command wrote a moment ago may not have been looked at yet
        await asyncio.wrap_future(self._store_thread.call(lambda: None))
        while time.monotonic() < deadline:
            self.told = any(peer.in_step for peer in self.engine.peers())
            if self.told:
                return True
            await asyncio.sleep(0.05)
        return False

    # Links and certificates

    async def _listen(self, stack: AsyncExitStack) -> WebSocketTransport | None:
        if self._certificates.credentials() is None:
            if self._settings.listen:
                raise UsageError(
                    "this node has no certificate yet, so nobody could have a link with it",
                    "join the mesh with a token from one of its admins: mesh join TOKEN",
                )
            return None
        pem = self.home.file("tls.pem")
        transport = self._transport = WebSocketTransport(
            self.home.node,
            self._accept,
            server_context=lambda: self._credentials().server_context(pem),
            client_context=lambda: self._credentials().client_context(pem),
            admission=ConnectionPolicy(
                peer_node, self._allows, lambda proof: self._certificates.has_expired(peer_leaf(proof))
            ),
            listen=self._settings.listen,
            config=LinkConfig(close_seconds=patience(LinkConfig().close_seconds)),
        )
        await stack.enter_async_context(transport)
        self.addresses = advertised(self._settings.advertise, transport.bound)
        return transport

    def _accept(self, link: PeerLink) -> None:
        self._gossip.accept(link)

    def _credentials(self) -> Credentials:
        credentials = self._certificates.credentials()
        assert credentials is not None
        return credentials

    def _allows(self, node: bytes) -> bool:
        return self._engine is not None and node != self.home.node and self._engine.allows(node)

    # What gossip tells its node

    def correct(self, offset_ms: int) -> None:
        """Our clock is off by so much."""
        self._clock.correct(offset_ms)

    def card_kept(self, card: Card) -> None:
        """A newer card is known: of a certificate of ours, links to come are opened with it."""
        if card.kind == CERTIFICATE and self._certificates.keep(card) and self._transport is not None:
            log.info("this node has a new certificate")
            self._transport.renew()
            self._join_port.renew()

    def roster_changed(self) -> None:
        """Who belongs has changed: a command may have made certificates too, and someone may need one."""
        self._store_thread.call(self._card_table.all).add_done_callback(self._pass_cards)

    def _pass_cards(self, done: "Future[list[Any]]") -> None:
        """Called in the store thread."""
        with suppress(RuntimeError):  # the loop is closed: nobody needs a certificate of ours any more
            self._loop.call_soon_threadsafe(self._take_cards, done)

    def _take_cards(self, done: "Future[list[Any]]") -> None:
        known = {(card.kind, card.subject): card for card in self.engine.cards(CERTIFICATE)}
        for kept in done.result():
            card = Card(*kept)
            if card.kind == CERTIFICATE and is_sound(card) and card.replaces(known.get((card.kind, card.subject))):
                self._gossip.handle(CardIssued(card))
        self._issue_due()

    def welcomes(self, link: PeerLink) -> bool:
        """Whether a link may be used: one whose certificate has expired only where it can be renewed."""
        if not link.expired or self._certificates.has_good(link.peer):
            return True
        renewed = self._certificates.renewal(link.peer)
        if renewed is None:
            log.warning("refused an expired certificate of=%s", text_id(link.peer)[:8])
            return False
        self._issued(renewed)
        return True

    def _issue_due(self) -> None:
        for card in self._certificates.due():
            self._issued(card)

    def _issued(self, card: Card) -> None:
        log.info("issued a certificate for=%s", display_name(self.engine.name_of(card.subject), card.subject))
        self._gossip.handle(CardIssued(card))

    # What the local API asks

    def peers(self) -> dict[str, Any]:
        """Every member as this node sees it."""
        return peers_report(
            self.home,
            self.engine,
            self._counters,
            self.addresses,
            time.monotonic() - self._started,
            self._replica.trust,
        ) | {"worker": self.worker.state()}

    def metrics(self) -> str:
        """All counters, as Prometheus reads them."""
        engine = self.engine
        return render(self._counters, engine.peers(), self._store_thread.waiting, engine.fetching, engine.merging_bytes)

    async def leave(self) -> bool:
        """Say goodbye for good and stop. Says whether some neighbour had everything."""
        told = await self._parted(patience(_PARTING_SECONDS))
        self._left = True
        self._stop.set()
        return told

    def _refuse_left(self, store: Store) -> None:
        if store.database.run("SELECT 1 FROM meta WHERE key='left'").get is not None and not self._settings.leave:
            raise UsageError(
                "this node has left its mesh", "what it has can still be read; to come back: mesh join TOKEN"
            )


def _due(store: Store, clock: CorrectedClock | None = None) -> None:
    try:
        if clock is not None and clock.is_known:
            store.remember_offset(clock.offset_ms, wall_clock())
        came = store.settle()
        if came:
            log.info("%d operations that waited count now", came)
    except (HomeBusy, DiskFull) as error:
        log.warning("%s; trying again in %d s", error, DUE_SECONDS)


def _version(store: Store) -> int:
    return int(store.database.run("PRAGMA data_version").get)
