"""Group commit: many writers of one process, one sync. The only thread that writes through its author.

While one transaction is being synced the next writers queue up, and the next transaction takes them all.
"""

import queue
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from types import TracebackType
from typing import Self

from mesh.core.draft import Draft, Request
from mesh.core.errors import HomeBusy
from mesh.store.author import Author
from mesh.store.receipts import Receipt

QUEUE_LENGTH = 4096  # batches; when it is full a writer waits for room: local writes are never dropped
GROUP_LENGTH = 1024  # batches in one transaction: bounds what a full disk can take with it


class Writer:
    """Use as a context manager: leaving it writes what is queued, then ends the thread."""

    def __init__(self, author: Author) -> None:
        self._author = author
        self._queue: queue.Queue[tuple[Sequence[Draft], Request | None, Future[Receipt]] | None] = queue.Queue(
            QUEUE_LENGTH
        )
        self._thread = threading.Thread(target=self._work, name="mesh-writer", daemon=True)
        self._closed = False
        self._door = threading.Lock()  # whoever is let in is queued before the end is

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._door:
            self._closed = True
            self._queue.put(None)
        self._thread.join()

    def submit(self, drafts: Sequence[Draft], request: Request | None = None) -> "Future[Receipt]":
        """Queue a batch. Its future has the receipt once the batch is on disk."""
        future: Future[Receipt] = Future()
        with self._door:
            if self._closed:
                raise HomeBusy("the writer is closing", "repeat the command")
            self._queue.put((drafts, request, future))
        return future

    def _work(self) -> None:
        while True:
            group = self._next_group()
            if not group:
                return
            # From here on a future can no longer be cancelled: its batch is being written.
            group = [item for item in group if item[2].set_running_or_notify_cancel()]
            try:
                results = self._author.append_each([item[0] for item in group], [item[1] for item in group])
            except Exception as error:  # noqa: BLE001 (handed to every writer that waits for it, never lost)
                for _, _, future in group:
                    future.set_exception(error)
                continue
            for (_, _, future), result in zip(group, results, strict=True):
                if isinstance(result, Receipt):
                    future.set_result(result)
                else:
                    future.set_exception(result)

    def _next_group(self) -> list[tuple[Sequence[Draft], Request | None, "Future[Receipt]"]]:
        """At least one batch, and all that queued behind it; none when the writer is closed."""
        first = self._queue.get()
        if first is None:
            return []
        group = [first]
        while len(group) < GROUP_LENGTH:
            try:
                item = self._queue.get_nowait()
            except queue.Empty:
                break
            if item is None:
                self._queue.put(None)
                break
            group.append(item)
        return group
