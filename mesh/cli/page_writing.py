"""`mesh page new`, `append`, `rename`, `remove`, `restore`, `merge`, `settle` and `retry`."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager

from clan_learnings.redaction import redact
from mesh.cli.main import EXIT_FAILED, EXIT_OK
from mesh.cli.options import Given, WrongUsage
from mesh.cli.output import plain, print_json, put, tell
from mesh.cli.page import in_shell, name_in, one_text, shown, typed, written
from mesh.core.errors import MeshError, UnknownId, UsageError
from mesh.pages.book import Book, PageInfo
from mesh.pages.open_pages import open_pages
from mesh.pages.page_names import checked, folded
from mesh.store.database import BUSY_SECONDS
from mesh.store.file_access import FileLock


def _new(given: Given) -> int:
    name, *more = given.words
    name = checked(name_in(name))
    text = one_text(given, more[0] if more else None) or ""
    with open_pages(given.home) as pages, _naming(given.home):
        there = _named(pages.book, name)
        if there is not None:
            raise UsageError(f"there is a page called {there.shown} already", f"mesh page edit {in_shell(there.shown)}")
        info, saved = pages.editor.new(name, text)
        written(given, pages.book, info, "made", findings=saved.findings, chars=len(saved.text))
    return EXIT_OK


def _append(given: Given) -> int:
    name, text = given.words
    text = typed(text)
    if not text:
        raise WrongUsage("there is nothing to append: the text is empty")
    with open_pages(given.home) as pages:
        info = pages.book.find(name_in(name))
        saved = pages.editor.append(info, text)
        written(given, pages.book, info, "appended", findings=saved.findings, chars=len(saved.text))
    return EXIT_OK


def _rename(given: Given) -> int:
    old, new = map(name_in, given.words)
    new = checked(new)
    with open_pages(given.home) as pages, _naming(given.home):
        info = pages.book.find(old)
        there = _named(pages.book, new)
        if there is not None and there.id != info.id:
            raise UsageError(
                f"there is a page called {there.shown} already",
                f"to bring the two into one: mesh page merge {in_shell(there.shown, info.shown)}",
            )
        if info.name == new:
            written(given, pages.book, info, "is called so already", changed=False)
            return EXIT_OK
        before = shown(info)
        info = pages.editor.rename(info, new)
        written(given, pages.book, info, f"renamed from {before}")
    return EXIT_OK


def _remove(given: Given) -> int:
    if not given.text("reason"):
        raise WrongUsage("--reason is missing: say why it is taken away")
    with open_pages(given.home) as pages:
        info = pages.book.find(name_in(given.words[0]))
        reason = redact(given.text("reason"))
        pages.editor.remove(info, reason.text)
        written(given, pages.book, info, "removed", findings=reason.findings)
    tell(f"to get it back: mesh page restore {in_shell(info.name)}")
    return EXIT_OK


def _restore(given: Given) -> int:
    word = name_in(given.words[0])
    with open_pages(given.home) as pages, _naming(given.home):
        try:
            old = pages.book.removed(word)
        except UnknownId:
            there = _named(pages.book, word)
            if there is None:
                raise
            raise UsageError(f"{there.shown} is there", f"mesh page show {in_shell(there.shown)}") from None
        there = _named(pages.book, old.name)
        if there is not None:
            raise UsageError(
                f"there is a page called {there.shown} again",
                f"to have both, first: mesh page rename {in_shell(there.shown)} NEW",
            )
        info = pages.editor.restore(old)
        written(given, pages.book, info, "restored")
    return EXIT_OK


def _merge(given: Given) -> int:
    name, other = map(name_in, given.words)
    with open_pages(given.home) as pages:
        kept, ended = pages.book.find(name), pages.book.find(other)
        saved = pages.editor.merge(kept, ended)
        kept = _named(pages.book, kept.name) or kept  # its shown name may have been the other's alone
        written(
            given, pages.book, kept, f"has what {shown(ended)} said", findings=saved.findings, chars=len(saved.text)
        )
    tell(f"read it over: mesh page show {in_shell(kept.shown)}")
    return EXIT_OK


def _settle(given: Given) -> int:
    with open_pages(given.home) as pages:
        info = pages.book.find(name_in(given.words[0]))
        pages.editor.settle(info)
        written(given, pages.book, info, "read over")
    return EXIT_OK


def _retry(given: Given) -> int:
    """Take everything out of quarantine, and have it tried at once: the answer is whether it went well."""
    with open_pages(given.home) as pages:
        bodies = {
            body
            for body, found in pages.book.shelf.troubles().items()
            if any(one.sort == "quarantined" for one in found)
        }
        count = pages.book.shelf.forgive()
        left, failed = 0, ""
        for info in [info for info in pages.book.pages() if info.body in bodies]:
            try:
                troubles = pages.book.read(info).troubles
            except MeshError as error:  # not decided yet: the next reader tries again
                failed = f"{shown(info)}: {error}"
                continue
            left += sum(trouble.sort == "quarantined" for trouble in troubles)
    if given.as_json:
        print_json({"tried": count, "left": left})
    else:
        put(f"{count} tried again, {left} still in quarantine" if count else "nothing is in quarantine")
    if failed:
        tell(f"mesh: not tried to the end: {plain(failed)}", "  next: repeat the command")
    return EXIT_FAILED if failed else EXIT_OK


def _naming(home: str) -> AbstractContextManager[None]:
    """One command at a time gives names: two that both look first would both find a name free."""
    return FileLock(os.path.join(home, "page-names.lock")).held(BUSY_SECONDS)


def _named(book: Book, name: str) -> PageInfo | None:
    """The page that shows under a name, in any case."""
    return next((info for info in book.pages() if folded(info.shown) == folded(name)), None)


RUN: dict[str, Callable[[Given], int]] = {
    "new": _new,
    "append": _append,
    "rename": _rename,
    "remove": _remove,
    "restore": _restore,
    "merge": _merge,
    "settle": _settle,
    "retry": _retry,
}
