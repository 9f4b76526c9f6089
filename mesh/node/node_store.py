"""The store as the use cases of a running node write to it: read through the node's own connections, written by its store thread."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from clan_learnings.records.memory import Memory
from clan_learnings.search.indexes import SearchIndexes
from mesh.core.draft import Draft, Request
from mesh.core.errors import ClockInDoubt
from mesh.node.store_thread import StoreThread
from mesh.store.receipts import Receipt, Receipts


class NodeStore:
    """Any thread but the store thread may use it, for as long as the node runs."""

    def __init__(
        self,
        own: bytes,
        recall: SearchIndexes,
        store_thread: StoreThread,
        clock: Callable[[], int],
        doubted: Callable[[], None],
    ) -> None:
        """`doubted`: called when nothing can be written because the clock may be wrong."""
        self.own = own
        self._recall = recall
        self._store_thread = store_thread
        self._clock = clock
        self._doubted = doubted

    @contextmanager
    def memory(self, bound: str | None = None) -> Iterator[Memory]:
        """What is known, as one state. `bound`: as of `Memory`."""
        with self._recall.memory() as memory:
            yield memory if bound is None else memory.bound_to(bound)

    def earlier(self, request: Request) -> Receipt | None:
        """What a request has written already, if it has. An error if that was something else."""
        with self._recall.memory() as memory:
            return Receipts(memory.reader.connection, self._clock).find(request)

    def append(self, drafts: Sequence[Draft], request: Request | None = None, *, is_bulk: bool = False) -> Receipt:
        """Write one batch: all of it or nothing, on disk when this returns. `is_bulk`: as of `Author`."""
        try:
            return self._store_thread.append(drafts, request, is_bulk=is_bulk).result()
        except ClockInDoubt:
            self._doubted()
            raise

    def close(self) -> None:
        """It goes on: others use it too."""
