"""The store as a use case writes to it: what is known, as one state, and appending.

A command opens the store for itself. A node gives its use cases another store, which appends where everything else is written.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

from clan_learnings.records.memory import Memory
from clan_learnings.records.mute_list import read_muted
from mesh.core.draft import Draft, Request
from mesh.store.author import Author
from mesh.store.reader import Reader
from mesh.store.receipts import Receipt


class RecordStore(Protocol):
    """Where records are written."""

    @property
    def own(self) -> bytes:
        """The node that writes."""
        ...

    def memory(self, bound: str | None = None) -> AbstractContextManager[Memory]:
        """What is known, as one state. `bound`: as of `Memory`."""
        ...

    def earlier(self, request: Request) -> Receipt | None:
        """What a request has written already, if it has. An error if that was something else."""
        ...

    def append(self, drafts: Sequence[Draft], request: Request | None = None, *, is_bulk: bool = False) -> Receipt:
        """Write one batch: all of it or nothing, on disk when this returns. `is_bulk`: as of `Author`."""
        ...

    def close(self) -> None:
        """Let it go."""
        ...


class OpenedStore:
    """A store that is opened for one use case, in the process that asked for it."""

    def __init__(self, home: str, author: Author) -> None:
        self._home = home
        self._author = author
        self.append = author.append
        self.earlier = author.earlier
        self.close = author.store.close

    @property
    def own(self) -> bytes:
        """The node that writes."""
        return self._author.store.own or b""

    @contextmanager
    def memory(self, bound: str | None = None) -> Iterator[Memory]:
        """What is known, as one state. `bound`: as of `Memory`."""
        database = self._author.store.database
        with database.savepoint():
            reader = Reader(database.connection, own=self._author.store.own)
            yield Memory(reader, muted=read_muted(self._home), bound=bound)
