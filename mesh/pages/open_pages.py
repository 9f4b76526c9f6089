"""Opens the pages of a home for one command or one task."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from mesh.pages.book import Book
from mesh.pages.editor import Editor
from mesh.pages.page_merging import PageJoiner
from mesh.pages.worker_client import WorkerClient
from mesh.store.file_access import patience
from mesh.store.home import open_home

_SILENT_SECONDS = 10.0  # the text worker says every moment that it is at work


class Pages(NamedTuple):
    """The pages of one home: read, write, and bring together what belongs together. Not for two threads."""

    book: Book
    editor: Editor
    joiner: PageJoiner


@contextmanager
def open_pages(home: str) -> Iterator[Pages]:
    """The pages of a home. The text worker is started by the first text that is not worked out yet, and ended here."""
    author = open_home(home).author()
    try:
        with WorkerClient(seconds=patience(_SILENT_SECONDS)) as workshop:
            editor = Editor(Book(author, workshop))
            yield Pages(editor.book, editor, PageJoiner(editor))
    finally:
        author.store.close()
