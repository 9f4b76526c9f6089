"""The thread that works on the store: requests of gossip and writes of this node, in order, several of a sort in one commit.

The event loop never waits for SQLite. Questions go in as the engine's effects, answers come out as its events.
"""

import logging
import queue
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from itertools import groupby
from types import TracebackType
from typing import Any, Self, TypeVar

from mesh.core.draft import Draft, Request
from mesh.core.errors import HomeBusy, HomeError, Malformed
from mesh.node.store_replica import StoreReplica
from mesh.store.author import Author
from mesh.store.file_access import patience
from mesh.store.join_table import Cards
from mesh.store.receipts import Receipt
from peers.proto.engine_events import (
    CommonFound,
    Event,
    FindCommon,
    KeepCard,
    MergeDone,
    MergeThis,
    NotebookChanged,
    ReadDone,
    ReadStatements,
    ReadThis,
    StatementsRead,
)
from peers.proto.messages import pack_ranges, unpack_ranges
from peers.proto.replica import Changes, Merge, MergeVerdict

WATCH_SECONDS = 0.5  # how soon what a command wrote is noticed, if its poke was lost
_STOP_SECONDS = 1.0  # what was not merged by then is fetched again
_FAILURES = 5  # in a row, then the process should end and say so
_BATCH = 512  # jobs taken from the queue at once: bounds how long a question may wait behind merges

T = TypeVar("T")
Work = MergeThis | ReadThis | ReadStatements | FindCommon | KeepCard
log = logging.getLogger("mesh.node")


class _Refresh:
    """Look what others wrote: everywhere, or in our own feeds only."""

    def __init__(self, *, everywhere: bool) -> None:
        self.everywhere = everywhere


class _Call:
    """Something else to run on the thread."""

    def __init__(self, function: Callable[[], Any]) -> None:
        self.function = function
        self.future: Future[Any] = Future()


class _Append:
    """A batch of ours to write."""

    def __init__(self, drafts: Sequence[Draft], request: Request | None, *, is_bulk: bool) -> None:
        self.drafts = drafts
        self.request = request
        self.is_bulk = is_bulk
        self.future: Future[Receipt] = Future()


_Item = Work | _Refresh | _Call | _Append


class StoreThread:
    """Use as a context manager: leaving it finishes what is queued, then ends the thread."""

    def __init__(self, author: Author, replica: StoreReplica, cards: Cards, version: Callable[[], int]) -> None:
        """`version`: changes when another process has written."""
        self._author = author
        self.answer: Callable[[list[Event]], None] = lambda _events: None  # called in the thread; set by who asks
        self.changed: Callable[[], None] = lambda: None  # called in the thread after each change, whoever made it
        self.broken: Callable[[Exception], object] = lambda _error: None  # called in the thread when it gives up
        self._replica = replica
        self._cards = cards
        self._version = version
        # Unbounded, and bounded all the same: the engine asks for so many bytes of merging and so many answers a link.
        self._queue: queue.SimpleQueue[_Item | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="mesh-store", daemon=True)

    def __enter__(self) -> Self:
        self._seen = self._version()
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._queue.put(None)
        self._thread.join(patience(_STOP_SECONDS))

    @property
    def is_working(self) -> bool:
        """Whether the thread still runs: it may wait for a lock that a command holds."""
        return self._thread.is_alive()

    @property
    def waiting(self) -> int:
        """How many jobs are queued."""
        return self._queue.qsize()

    def submit(self, work: Work) -> None:
        """Queue a question of the engine."""
        self._queue.put(work)

    def refresh(self, everywhere: bool = True) -> None:  # noqa: FBT001, FBT002 (what the doorbell says)
        """Someone has written: look soon."""
        self._queue.put(_Refresh(everywhere=everywhere))

    def call(self, function: Callable[[], T]) -> "Future[T]":
        """Run something else on the thread that owns the store."""
        item = _Call(function)
        self._queue.put(item)
        return item.future

    def append(
        self, drafts: Sequence[Draft], request: Request | None = None, *, is_bulk: bool = False
    ) -> "Future[Receipt]":
        """Write a batch of ours, as `Author.append` does; gossip is told at once."""
        item = _Append(drafts, request, is_bulk=is_bulk)
        self._queue.put(item)
        return item.future

    def _work(self) -> None:
        """Until told to stop. A damaged database can make anything fail: said, answered, and given up if it goes on."""
        failures = 0
        stopping = False
        while not stopping:
            batch: list[_Item | None] = []
            try:
                batch = self._next()
                stopping = None in batch
                self._do([item for item in batch if item is not None])
                failures = 0
            except Exception as error:
                log.exception("the store failed")
                failures += 1
                for item in batch:
                    self._excuse(item)
                if failures >= _FAILURES:
                    self.broken(error)
                    return

    def _excuse(self, item: _Item | None) -> None:
        """Answer a job that could not be done, so that nobody waits for it for ever."""
        match item:
            case MergeThis(job=job, statements=statements, ranges=ranges, blob=blob):
                full = [MergeVerdict.FULL]
                result = Merge(full * len(statements), full * (1 if blob else len(ranges)), Changes())
                self.answer([MergeDone(job, result)])
            case ReadThis(job=job):
                self.answer([ReadDone(job, (), b"")])
            case ReadStatements(job=job):
                self.answer([StatementsRead(job, ())])
            case FindCommon(job=job, points=points):
                self.answer([CommonFound(job, points[0])])
            case _Call(future=future) | _Append(future=future) if not future.done():
                future.set_exception(HomeBusy("the store failed", "see the log, then run: mesh verify"))
            case _:
                pass

    def _next(self) -> list[_Item | None]:
        try:
            batch = [self._queue.get(timeout=WATCH_SECONDS)]
        except queue.Empty:
            return [_Refresh(everywhere=True)] if self._version() != self._seen else []
        while len(batch) < _BATCH:
            try:
                batch.append(self._queue.get_nowait())
            except queue.Empty:
                break
        return batch

    def _do(self, batch: Sequence[_Item]) -> None:
        """Merges that stand together share a commit, and so do writes; looking at what others wrote is done once."""
        looked = False
        everywhere = any(isinstance(item, _Refresh) and item.everywhere for item in batch)
        for sort, some in groupby(batch, type):
            items: list[Any] = [*some]
            if sort is MergeThis:
                self._merge(items)
            elif sort is _Append:
                self._append(items)
            elif sort is _Refresh:
                if not looked:
                    looked = True
                    self._seen = self._version()
                    self._tell(self._replica.refresh if everywhere else self._replica.refresh_own)
            elif sort is _Call:
                for item in items:
                    self._call(item.function, item.future)
            else:
                for item in items:
                    self._ask(item)

    def _call(self, function: Callable[[], Any], future: "Future[Any]") -> None:
        if future.set_running_or_notify_cancel():
            try:
                future.set_result(function())
            except Exception as error:  # noqa: BLE001 (handed to who waits for it, never lost)
                future.set_exception(error)
            self._tell(self._replica.refresh)

    def _append(self, items: list[_Append]) -> None:
        """One commit for all that are of a kind. What fails as a whole is each writer's error."""
        waiting = [item for item in items if item.future.set_running_or_notify_cancel()]
        for is_bulk in (False, True):
            some = [item for item in waiting if item.is_bulk == is_bulk]
            if not some:
                continue
            try:
                results = self._author.append_each(
                    [item.drafts for item in some], [item.request for item in some], is_bulk=is_bulk
                )
            except Exception as error:  # noqa: BLE001 (handed to who waits for it, never lost)
                for item in some:
                    item.future.set_exception(error)
                continue
            for item, result in zip(some, results, strict=True):
                if isinstance(result, Receipt):
                    item.future.set_result(result)
                else:
                    item.future.set_exception(result)
        self._tell(self._replica.refresh_own)

    def _tell(self, look: Callable[[], Changes]) -> None:
        try:
            changes = look()
        except HomeError as error:
            log.warning("the store could not be read: %s", error)
            return
        if any(changes):
            self.answer([NotebookChanged(changes)])
            self.changed()

    def _merge(self, jobs: list[MergeThis]) -> None:
        """One commit for all; one answer each. What a full disk stops is fetched again later."""
        ranges: list[list[bytes]] = []
        for job in jobs:
            try:
                ranges.append(unpack_ranges(job.blob) if job.blob else list(job.ranges))
            except Malformed:
                ranges.append([b""])  # refused by name below
        statements = [data for job in jobs for data in job.statements]
        try:
            result = self._replica.merge(statements, [data for part in ranges for data in part])
        except HomeError as error:
            log.warning("what peers sent could not be merged: %s", error)
            full = [MergeVerdict.FULL]
            for job, part in zip(jobs, ranges, strict=True):
                self.answer([MergeDone(job.job, Merge(full * len(job.statements), full * len(part), Changes()))])
            return
        said, came = iter(result.statements), iter(result.ranges)
        changes = result.changes
        events: list[Event] = []
        for job, part in zip(jobs, ranges, strict=True):
            verdicts = [next(said) for _ in job.statements], [next(came) for _ in part]
            refused = MergeVerdict.REFUSED in verdicts[0] or MergeVerdict.REFUSED in verdicts[1]
            events.append(MergeDone(job.job, Merge(*verdicts, changes, result.reasons if refused else (), result.full)))
            changes = Changes()  # told once, with the first: each change is told before what follows from it
        self.answer(events)
        self.changed()

    def _ask(self, item: ReadThis | ReadStatements | FindCommon | KeepCard) -> None:
        try:
            match item:
                case ReadThis(job=job, wants=wants, room=room):
                    chunks = self._replica.read(wants, room)
                    blob = pack_ranges([data for chunk in chunks for data in chunk.ranges])
                    self.answer([ReadDone(job, [chunk._replace(ranges=()) for chunk in chunks], blob)])
                case ReadStatements(job=job, ids=ids, room=room):
                    self.answer([StatementsRead(job, self._replica.read_statements(ids, room))])
                case FindCommon(job=job, feed=feed, points=points):
                    self.answer([CommonFound(job, self._replica.common(feed, points))])
                case KeepCard(card=card):
                    self._cards.keep(*card)
        except HomeError as error:
            log.warning("the store could not answer a peer: %s", error)
            self._excuse(item)
