"""The links of a page: `[[target]]`, `[[target|label]]`, `[[target#part]]`. Nothing here knows whether a target is there.

Code is passed over, fenced or between backticks. The text comes from anybody: every step is linear in its length.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from mesh.core.errors import HomePermissions, MeshError, UsageError
from mesh.core.ids import digest
from mesh.pages.page_names import folded
from mesh.store.reader import SHORT_CHARS, Reader

if TYPE_CHECKING:
    from mesh.pages.book import Book, PageInfo


TARGET_CHARS = 1000  # with label and part
_LINK = re.compile(rf"(?<!\\)\[\[([^\[\]\n]{{1,{TARGET_CHARS}}})\]\]")
_FENCE = re.compile(r"[ \t>]*(`{3,}(?=[^`\n]*$)|~{3,})")
_BLOCK = re.compile(
    r"[ \t]*(?:[-*+>|]|\d{1,9}[.)]|#{1,6}[ \t])"
)  # lists, quotes, tables, headings: code ends before them
_TICKS = re.compile(r"`+")


class PageLink(NamedTuple):
    """A link, and the line (from 1) it stands in."""

    target: str
    line: int


def links(text: str) -> list[PageLink]:
    """Every link of a text, in order, also where one stands twice."""
    return [link for first, lines in _blocks(text) for link in _links_of(first, "\n".join(lines))]


def _blocks(text: str) -> Iterator[tuple[int, list[str]]]:
    """The number of the first line and the lines of each piece of text that code between backticks may span."""
    fence = ""
    first, lines = 1, list[str]()
    for number, line in enumerate(text.split("\n"), 1):
        match = _FENCE.match(line)
        if fence:
            closes = match and match[1].startswith(fence) and not line[match.end() :].strip()
            fence = "" if closes else fence
        elif match or not line.strip() or _BLOCK.match(line):
            yield first, lines
            first, lines = number, [] if match else [line]
            fence = match[1] if match else ""
        else:
            if not lines:
                first = number
            lines.append(line)
    yield first, lines


def _links_of(first: int, block: str) -> Iterator[PageLink]:
    if "[[" not in block:
        return
    at, line = 0, first
    for match in _LINK.finditer(_without_code(block)):
        line += block.count("\n", at, match.start())
        at = match.start()
        target = match[1].partition("|")[0].rstrip("\\").partition("#")[0].strip()
        if target:
            yield PageLink(target, line)


def _without_code(block: str) -> str:
    """The block with what stands between equal runs of backticks blanked out."""
    runs = [match.span() for match in _TICKS.finditer(block)]
    following: dict[int, int] = {}
    closer = [-1] * len(runs)  # the next run of the same length
    for place in range(len(runs) - 1, -1, -1):
        start, end = runs[place]
        closer[place] = following.get(end - start, -1)
        following[end - start] = place
    out: list[str] = []
    done = place = 0
    while place < len(runs):
        start = runs[place][0]
        if closer[place] < 0 or block[start - 1 : start] == "\\":
            place += 1
            continue
        end = runs[closer[place]][1]
        out += (block[done:start], re.sub(r"[^\n]", " ", block[start:end]))
        done = end
        place = closer[place] + 1
    out.append(block[done:])
    return "".join(out)


PAGE, RECORD, BROKEN = "page", "record", "broken"
_TRIES = 3


class Linked(NamedTuple):
    """A link as it stands in a page: its line, what it says, and whether that is a page, a record, or nothing (`broken`)."""

    source: PageInfo
    line: int
    target: str
    sort: str
    page: PageInfo | None


class Links:
    """The links between the pages of a book, as they are when this is made."""

    def __init__(self, book: Book) -> None:
        self._book = book
        self._reader = Reader(book.author.store.database.connection)
        self._pages: list[PageInfo] = []
        self._unkept: dict[bytes, list[tuple[str, int]]] = {}
        self._refresh()

    def out(self, info: PageInfo) -> list[Linked]:
        """What a page links to, by line."""
        return [link for link in self._all() if link.source.id == info.id]

    def into(self, info: PageInfo) -> list[Linked]:
        """The links of other pages to one, by page and line."""
        return [link for link in self._all() if link.page is not None and link.page.id == info.id != link.source.id]

    def broken(self) -> list[Linked]:
        """Every link to what is not there."""
        return [link for link in self._all() if link.sort == BROKEN]

    def _refresh(self) -> None:
        """Again, with the pages as they are then, if others have written meanwhile; not for ever."""
        for _ in range(_TRIES):
            self._pages = self._book.pages()
            looked = [self._look_at(info) for info in self._pages]
            if all(looked):
                return

    def _look_at(self, info: PageInfo) -> bool:
        """Whether its links are known as they are now."""
        shelf = self._book.shelf
        version = shelf.version_of_others()
        try:
            text = self._book.read(info).text
        except MeshError:  # a text that cannot be worked out now keeps the links it had
            return True
        try:
            return shelf.link(info.id, digest(text.encode()), partial(links, text), version)
        except HomePermissions:  # in a home that we may only read they are known to us alone
            self._unkept[info.id] = list(links(text))
            return True

    def _all(self) -> list[Linked]:
        named = {folded(info.shown): info for info in self._pages}
        of = {info.id: info for info in self._pages}
        found = [
            Linked(of[page], line, target, *self._target(target, named, of))
            for page, target, line in self._known()
            if page in of
        ]
        return sorted(found, key=lambda link: (link.source.shown, link.line))

    def _known(self) -> Iterator[tuple[bytes, str, int]]:
        yield from (link for link in self._book.shelf.links() if link[0] not in self._unkept)
        yield from ((page, target, line) for page, found in self._unkept.items() for target, line in found)

    def _target(
        self, target: str, named: dict[str, PageInfo], of: dict[bytes, PageInfo]
    ) -> tuple[str, PageInfo | None]:
        page = named.get(folded(target.removesuffix(".md")))
        if page is not None:
            return PAGE, page
        tag = self._record(target)
        if tag is None:
            return BROKEN, None
        return (PAGE, of[tag]) if tag in of else (RECORD, None)

    def _record(self, target: str) -> bytes | None:
        """The live record an id, or enough of its beginning, stands for."""
        if len(target) < SHORT_CHARS:
            return None
        with self._book.shelf.snapshot():  # a record may be erased meanwhile
            try:
                tag = self._reader.resolve(target)
            except UsageError:
                return None
            return tag if self._reader.entry(tag) is not None else None
