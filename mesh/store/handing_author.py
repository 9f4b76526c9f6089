"""An author in another process than the one that writes: it reads the store by itself, and hands over what it drafts."""

from collections.abc import Callable, Sequence
from typing import Protocol

from mesh.core.draft import Draft, Request
from mesh.store.home import Home
from mesh.store.receipts import Receipt
from mesh.store.store import Store


class DraftAuthor(Protocol):
    """Who reads and writes records in the name of this node, as far as what is harvested needs it."""

    @property
    def store(self) -> Store:
        """What is known."""
        ...

    def append(self, drafts: Sequence[Draft], request: Request | None = None, *, is_bulk: bool = False) -> Receipt:
        """Write one batch: all of it or nothing, on disk when this returns. `is_bulk`: as of `Author`."""
        ...


class HandingAuthor:
    """A `DraftAuthor` of a home whose node writes."""

    def __init__(self, home: Home, append: Callable[[Sequence[Draft], bool], Receipt]) -> None:
        """`append`: has the node write drafts; the second says whether they are of a bulk. It raises what the node raised."""
        self.store = home.store()
        self.store.database.run("PRAGMA query_only=ON")
        self._append = append

    def append(self, drafts: Sequence[Draft], request: Request | None = None, *, is_bulk: bool = False) -> Receipt:
        """As in the protocol. A request is for who is asked twice, and nobody asks us."""
        assert request is None
        return self._append(drafts, is_bulk)
