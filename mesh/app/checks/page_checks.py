"""Problems with pages. Each has its next step; the guide to operations explains each sort."""

from __future__ import annotations

import os
from collections.abc import Iterator
from shlex import quote
from typing import TYPE_CHECKING

from mesh.app.checks.node_checks import Problem
from mesh.core.ids import display_name
from mesh.pages.file_table import Folders
from mesh.pages.page_links import Links
from mesh.pages.page_names import folded
from mesh.pages.page_table import Trouble
from mesh.store.reader import Reader

if TYPE_CHECKING:
    from mesh.pages.book import Book, PageInfo

_SHOWN = 20  # of each sort
EDITING = "editing-"  # in the home: folders with pages that are open in an editor, or were when something went wrong
_OPEN_SECONDS = 24 * 3600  # so long somebody may have a page open


def examine_pages(book: Book) -> Iterator[Problem]:
    """Updates that are in no page, erasures that undid each other, equal names, links that lead nowhere, lost folders."""
    pages = book.pages()
    links = Links(book)  # reads every page: what is not in one is known now
    troubles = book.shelf.troubles()
    for info in pages:
        yield from _troubles(book, info, troubles.get(info.body, []))
    for info in [info for info in pages if book.unheard(info)][:_SHOWN]:
        yield Problem(
            "page erased twice at once",
            f"something was erased in the page {info.shown} on two nodes at once: what either took out may be back",
            f"look: mesh page show {quote(info.shown)}; erase again what is back; then: mesh page settle {quote(info.shown)}",
        )
    for info in [info for info in pages if info.shown != info.name][:_SHOWN]:
        elder = next((page for page in pages if folded(page.shown) == folded(info.name)), None)
        if elder is not None:
            yield Problem(
                "page of the same name",
                f"{info.shown} was made under the name of {elder.shown}, with another text",
                f"mesh page merge {quote(elder.shown)} {quote(info.shown)}, or: mesh page rename {quote(info.shown)} NEW",
            )
    for link in links.broken()[:_SHOWN]:
        yield Problem(
            "broken link",
            f"line {link.line} of the page {link.source.shown} links to {link.target!r}, which is no page and no record",
            f"mesh page edit {quote(link.source.shown)}, or: mesh page new NAME",
        )
    for folder, _ in Folders(book.author.store.database).all():
        if not os.path.isdir(folder):
            yield Problem(
                "watched folder gone", f"{folder} is not there", f"bring it back, or: mesh page unwatch {quote(folder)}"
            )


def examine_drafts(home: str, now: float) -> Iterator[Problem]:
    """What somebody typed into an editor and did not get into a page."""
    folders = [entry.path for entry in os.scandir(home) if entry.name.startswith(EDITING) and entry.is_dir()]
    for folder in sorted(folders)[:_SHOWN]:
        for name in _left_in(folder, now - _OPEN_SECONDS):
            page = quote(name.removesuffix(".md"))
            yield Problem(
                "edit that was not saved",
                f"{os.path.join(folder, name)} was edited and did not get into its page",
                f"compare it with the page, mesh page show {page}, then delete it: rm -r {quote(folder)}",
            )


def _left_in(folder: str, before: float) -> list[str]:
    """The files that nobody has written to since; none if the editor is closed just now, and the folder goes."""
    try:
        names = [name for name in os.listdir(folder) if name.endswith(".md")]
        return [name for name in names if os.stat(os.path.join(folder, name)).st_mtime < before]
    except FileNotFoundError:
        return []


def _troubles(book: Book, info: PageInfo, troubles: list[Trouble]) -> Iterator[Problem]:
    names = Reader(book.author.store.database.connection).names()
    by: dict[tuple[str, bytes, str], int] = {}
    for trouble in troubles:
        key = (trouble.sort, trouble.node, trouble.reason)
        by[key] = by.get(key, 0) + 1
    steps = {
        "quarantined": (
            "page incomplete here",
            "ask that node's owner what it writes; after an upgrade of clan-mesh: mesh page retry",
        ),
        "refused": ("page update refused", "ask that node's owner what it writes; if it goes on: mesh revoke NODE"),
        "held": (
            "page update held",
            f"if its author was revoked, what it wrote is in: mesh page history {quote(info.shown)} --held",
        ),
    }
    for (sort, node, reason), count in list(by.items())[:_SHOWN]:
        name, step = steps[sort]
        who = display_name(names.get(node, ""), node)
        what = "1 update" if count == 1 else f"{count} updates"
        yield Problem(name, f"the page {info.shown} is without {what} by {who}: {reason}", step)
