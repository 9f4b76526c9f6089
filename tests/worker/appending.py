"""Writing for what a worker process finds, without a node. No test lives here."""

from collections.abc import Callable, Sequence

from mesh.core.draft import Draft
from mesh.store.home import Home
from mesh.store.receipts import Receipt


def appending(home: Home) -> Callable[[Sequence[Draft]], Receipt]:
    """What writes drafts, as the author of a home does."""

    def append(drafts: Sequence[Draft]) -> Receipt:
        author = home.author()
        try:
            return author.append(drafts)
        finally:
            author.store.close()

    return append
