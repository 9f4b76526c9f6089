"""The top of MEMORY.md: the page `memory`, as far as its text has been computed. Only reads, and starts no worker.

Where there are no pages, nothing of what pages need is loaded.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from mesh.pages.page_names import folded
from mesh.pages.page_table import PageTable
from mesh.store.reader import Reader

if TYPE_CHECKING:
    from mesh.pages.book import Book, PageInfo

NAME = "memory"


class HandKept(NamedTuple):
    """The text, without front matter; None if it was never worked out. Current: nothing has come since."""

    text: str | None
    is_current: bool


_NOTHING = HandKept("", is_current=True)


class MemoryReader:
    """As much of a database as a `PageTable` reads from."""

    def __init__(self, reader: Reader) -> None:
        self.connection = reader.connection


def hand_kept(reader: Reader) -> HandKept:
    """The page's text, within whatever transaction the reader is in."""
    is_some = "SELECT EXISTS(SELECT 1 FROM elements WHERE log=(SELECT log FROM logs WHERE name='pages'))"
    info = _listed(reader) if reader.connection.execute(is_some).get else None
    if info is None:
        return _NOTHING
    found = reader.connection.execute(
        "SELECT text, text_number>=(SELECT coalesce(max(number), 0) FROM page_news WHERE body=?1)"
        " FROM page_texts WHERE body=?1",
        (info.body,),
    ).fetchone()
    return HandKept(None, is_current=False) if found is None else HandKept(str(found[0]), is_current=bool(found[1]))


def memory_page(book: Book) -> PageInfo | None:
    """The page, if there is one."""
    return _named(book.pages())


def _listed(reader: Reader) -> PageInfo | None:
    from mesh.pages.book import listed

    database: Any = MemoryReader(reader)
    return _named(listed(PageTable(database)))


def _named(pages: Iterable[PageInfo]) -> PageInfo | None:

    return next((info for info in pages if folded(info.shown) == NAME), None)
