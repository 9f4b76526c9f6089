"""The room the keeper works in: the pages of a home, its folder of files and those that were given, all opened together."""

from __future__ import annotations

import logging
import os
import time
from contextlib import contextmanager

from clan_learnings.render.files import RENDERED_FOLDER
from mesh.core.errors import WriteRefused
from mesh.pages.file_table import Files, Folders, pay_scrub, wiped
from mesh.pages.file_text import Content, read
from mesh.pages.folder_mirror import Mirror
from mesh.pages.folders_thread import say
from mesh.pages.memory_page import MemoryFile
from mesh.pages.open_pages import open_pages
from mesh.pages.sync_state import REFUSED_SECONDS

TYPE_CHECKING = False  # see `mesh`
if TYPE_CHECKING:
    from collections.abc import Iterator

    from mesh.pages.folders_thread import Kept
    from mesh.pages.open_pages import Pages
    from mesh.store.home import Home

FOLDER = "pages"  # in the home

log = logging.getLogger("mesh.node")


@contextmanager
def open_study(home: Home) -> Iterator[Study]:
    """For as long as the keeper works."""
    with open_pages(home.path) as pages:
        yield Study(home, pages)


class Study:
    """See `keeper`."""

    def __init__(self, home: Home, pages: Pages) -> None:
        self._folder = home.file(FOLDER)
        self._pages = pages
        self._database = pages.book.author.store.database
        self._folders = Folders(self._database)
        self._is_said = False
        self._write_at = 0.0
        self._mirrors: dict[tuple[str, str], Mirror] = {}
        self._memory = MemoryFile(home.file(RENDERED_FOLDER), pages.book, pages.editor, say)

    def version(self) -> int:
        """Another number whenever somebody may have changed some page."""
        return self._pages.book.version()

    def mirrors(self) -> list[Kept]:
        """The home's own folder, those that were given and are there, and what is typed into MEMORY.md."""
        book, editor = self._pages.book, self._pages.editor
        if not book.is_member():
            if not self._is_said:
                self._is_said = True
                log.warning("this node is not a member yet: files in %s become no pages until it is", self._folder)
            return []  # nothing of ours would count: files would seem to be those of pages that were removed
        given = [(item.folder, item.prefix) for item in self._folders.all() if os.path.isdir(item.folder)]
        self._mirrors = {
            key: self._mirrors.get(key) or Mirror(key[0], book, editor, self._files(key[0]), say, key[1])
            for key in [(self._folder, ""), *given]
        }
        return [*self._mirrors.values(), self._memory]

    def close(self) -> None:
        """Let go of all files."""
        for mirror in self._mirrors.values():
            mirror.close()
        self._memory.close()

    def tend(self) -> None:
        """Do what follows from pages that have come in."""
        if self._pages.book.author.may_write and time.monotonic() >= self._write_at:
            try:
                self._unite()
            except WriteRefused:
                self._write_at = time.monotonic() + REFUSED_SECONDS
                raise
        owed = wiped(self._database)
        folders = [folder for folder, _ in self._mirrors]
        if owed.ids and self._is_in_step(owed.ids) and pay_scrub(self._database, owed, folders):
            self._pages.book.author.store.scrub()  # if a reader is in the way, the node tries again

    def _unite(self) -> None:
        for kept, ended in self._pages.joiner.join_twins():
            log.info("two pages of one name began with the same text and are one now name=%s", kept.shown)
            log.debug("ended page=%s", ended.shown)
        count = self._pages.joiner.carry()
        if count:
            log.info("edits that came too late were made to the text that followed operations=%d", count)

    def _files(self, folder: str) -> Files:
        return Files(self._database, folder, lambda path: _text(os.path.join(folder, path)))

    def _is_in_step(self, pages: frozenset[bytes]) -> bool:
        """Whether every row of these pages was written since. A file may say more than its page: what was erased is in neither."""
        book = self._pages.book
        texts = {info.id: book.read(info).text for info in book.pages()}
        rows = [row for folder, _ in self._mirrors for row in Files(self._database, folder).all()]
        return all(
            row.page_text == texts.get(row.page)
            for row in rows
            if row.page in pages or not pages.isdisjoint(book.bodies(row.page))
        )


def _text(path: str) -> str | None:
    try:
        _, found = read(path)
    except OSError:
        return None
    return found.text if isinstance(found, Content) else None
