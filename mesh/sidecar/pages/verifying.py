"""Checks every page: its text worked out from nothing against the one that is kept."""

from __future__ import annotations

from mesh.core.errors import MeshError
from mesh.core.ids import digest
from mesh.core.tuples import NamedTuple
from mesh.core.wire import pack

TYPE_CHECKING = False  # see `mesh`
if TYPE_CHECKING:
    from mesh.sidecar.pages.book import Book


class PagesVerdict(NamedTuple):
    """What was checked, and what was found wrong. Nodes in step have the same digest of names and texts."""

    pages: int
    digest: str
    problems: list[str]


def verify_pages(book: Book) -> PagesVerdict:
    """Work every text out from nothing and compare."""
    said, problems = [], []
    pages = book.pages()
    for info in pages:
        try:
            page = book.read(info)
            updates = [op.update for op in book.history(info)]
            (again,) = book.workshop.texts(updates, [len(updates)])
        except MeshError as error:
            problems.append(f"page {info.shown}: {error}")
            continue
        if again != page.plain:
            problems.append(f"page {info.shown}: the text that is kept is not the one its operations give")
        said.append([info.id, info.shown, page.text])
    return PagesVerdict(len(pages), digest(pack(sorted(said))).hex(), problems)
