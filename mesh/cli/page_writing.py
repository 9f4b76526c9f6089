"""`mesh page new`, `append`, `rename`, `remove`, `restore`, `merge`, `settle` and `retry`."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager

from clan_learnings.redaction import redact
from mesh.cli.grammar import Given, WrongUsage, argument, command, option
from mesh.cli.main import EXIT_FAILED, EXIT_OK
from mesh.cli.output import plain, print_json, put, tell
from mesh.cli.page import NAME_MORE, in_shell, name_in, one_text, shown, typed, written
from mesh.core.errors import MeshError, UnknownId, UsageError
from mesh.pages.book import Book, PageInfo
from mesh.pages.open_pages import open_pages
from mesh.pages.page_names import checked, folded
from mesh.store.database import BUSY_SECONDS
from mesh.store.file_access import FileLock


@command(
    'mesh page new runbooks/deploy --text "# Deploy"',
    more="Slashes in NAME make folders. Without a text the page is empty.",
    may_be_empty=True,
)
@argument("name", "NAME", may_be_empty=True)
@argument("stdin", "[-]", required=False, may_be_empty=True)
@option("--text", metavar="TEXT", help="its first text; - reads it from stdin, as a - behind the name does")
def new(given: Given) -> int:
    """Make it."""
    name = checked(name_in(given.name))
    text = one_text(given, given.stdin) or ""
    with open_pages(given.home) as pages, _naming(given.home):
        there = _named(pages.book, name)
        if there is not None:
            raise UsageError(f"there is a page called {there.shown} already", f"mesh page edit {in_shell(there.shown)}")
        info, saved = pages.editor.new(name, text)
        written(given, pages.book, info, "made", findings=saved.findings, chars=len(saved.text))
    return EXIT_OK


@command(
    'mesh page append runbooks/deploy "- restart the proxy last"',
    more="- reads the text from stdin.",
    may_be_empty=True,
)
@argument("name", "NAME", may_be_empty=True)
@argument("lines", "TEXT|-", may_be_empty=True)
def append(given: Given) -> int:
    """Write behind its text."""
    text = typed(given.lines)
    if not text:
        raise WrongUsage("there is nothing to append: the text is empty")
    with open_pages(given.home) as pages:
        info = pages.book.find(name_in(given.name))
        saved = pages.editor.append(info, text)
        written(given, pages.book, info, "appended", findings=saved.findings, chars=len(saved.text))
    return EXIT_OK


@command("mesh page rename runbooks/deploy runbooks/release", more=NAME_MORE, may_be_empty=True)
@argument("name", "NAME", may_be_empty=True)
@argument("new_name", "NEW", may_be_empty=True)
def rename(given: Given) -> int:
    """Change its name."""
    old, new = name_in(given.name), checked(name_in(given.new_name))
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


@command('mesh page remove runbooks/deploy --reason "moved to the wiki"', more=NAME_MORE, may_be_empty=True)
@argument("name", "NAME", may_be_empty=True)
@option("--reason", metavar="TEXT", help="why; the reason stays, so without any secret in it")
def remove(given: Given) -> int:
    """Take it away."""
    if not given.word("reason"):
        raise WrongUsage("--reason is missing: say why it is taken away")
    with open_pages(given.home) as pages:
        info = pages.book.find(name_in(given.name))
        reason = redact(given.word("reason"))
        pages.editor.remove(info, reason.text)
        written(given, pages.book, info, "removed", findings=reason.findings)
    tell(f"to get it back: mesh page restore {in_shell(info.name)}")
    return EXIT_OK


@command(
    "mesh page restore runbooks/deploy", more="It becomes a new page with the text of the old one.", may_be_empty=True
)
@argument("name", "NAME|ID", may_be_empty=True)
def restore(given: Given) -> int:
    """Make it anew, with the text it had."""
    word = name_in(given.name)
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


@command(
    "mesh page merge runbooks/deploy runbooks/deploy~k4qzp",
    more="What both say stands once. OTHER ends; NAME stays.",
    may_be_empty=True,
)
@argument("name", "NAME", may_be_empty=True)
@argument("other", "OTHER", may_be_empty=True)
def merge(given: Given) -> int:
    """Join what both say."""
    name, other = name_in(given.name), name_in(given.other)
    with open_pages(given.home) as pages:
        kept, ended = pages.book.find(name), pages.book.find(other)
        saved = pages.editor.merge(kept, ended)
        kept = _named(pages.book, kept.name) or kept  # its shown name may have been the other's alone
        written(
            given, pages.book, kept, f"has what {shown(ended)} said", findings=saved.findings, chars=len(saved.text)
        )
    tell(f"read it over: mesh page show {in_shell(kept.shown)}")
    return EXIT_OK


@command(
    "mesh page settle runbooks/deploy",
    more="mesh page show NAME --conflicts marks only what comes after.",
    may_be_empty=True,
)
@argument("name", "NAME", may_be_empty=True)
def settle(given: Given) -> int:
    """Note that it was read over."""
    with open_pages(given.home) as pages:
        info = pages.book.find(name_in(given.name))
        pages.editor.settle(info)
        written(given, pages.book, info, "read over")
    return EXIT_OK


@command(
    "mesh page retry",
    more="After an upgrade: what the last version could not bear may do no harm now.",
    may_be_empty=True,
)
def retry(given: Given) -> int:
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
    if given.json:
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
