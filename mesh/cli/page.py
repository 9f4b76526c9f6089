"""`mesh page`: Markdown that people and agents edit at once. Finds the subcommand, whose module is beside this one; and what all of them share."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from shlex import quote
from typing import TYPE_CHECKING

from clan_learnings.redaction import SecretCount, describe
from mesh.cli.options import CommandSyntax, Given, Option, WrongUsage, run
from mesh.cli.output import plain, print_json, put, tell, tell_taken_out
from mesh.cli.subcommands import chosen
from mesh.core.errors import UsageError
from mesh.core.ids import text_id
from mesh.pages.file_text import MOST_BYTES, Content, decoded

if TYPE_CHECKING:
    from mesh.pages.book import Book, PageInfo


# name: sentence, example
MEMBERS = {
    "new": ("Make a page.", 'mesh page new runbooks/deploy --text "# Deploy"'),
    "list": ("List the pages.", "mesh page list"),
    "show": ("Print a page, as it is or as it was.", "mesh page show runbooks/deploy --at 2h"),
    "edit": ("Edit a page in your editor, or replace its text.", "mesh page edit runbooks/deploy"),
    "append": ("Add lines to the end of a page.", 'mesh page append runbooks/deploy "- restart the proxy last"'),
    "rename": ("Give a page another name.", "mesh page rename runbooks/deploy runbooks/release"),
    "remove": (
        "Take a page away; it can be restored.",
        'mesh page remove runbooks/deploy --reason "moved to the wiki"',
    ),
    "restore": ("Bring a removed page back.", "mesh page restore runbooks/deploy"),
    "history": ("Say who edited a page, and when.", "mesh page history runbooks/deploy -n 5"),
    "links": ("Say what a page links to, and what links to it.", "mesh page links runbooks/deploy"),
    "merge": ("Bring two pages into one.", "mesh page merge runbooks/deploy runbooks/deploy~k4qzp"),
    "settle": ("Say that what was edited at once has been read over.", "mesh page settle runbooks/deploy"),
    "erase": (
        "Take a text out of a page and its history, on every node.",
        'mesh page erase runbooks/deploy - --reason "a password got in" < secret',
    ),
    "watch": ("Keep a folder in step with the pages, or list such folders.", "mesh page watch docs --under docs"),
    "unwatch": ("Let a watched folder go; its files stay.", "mesh page unwatch docs"),
    "retry": ("Try again what ended the text worker.", "mesh page retry"),
}
_TEXT = Option("--text", "TEXT", "the text; - reads it from stdin")
_NAME = "NAME may end in .md, and may be the beginning of the page's id."
# usage, options, words (least, most), more, the module it is in
_TAKES: dict[str, tuple[str, tuple[Option, ...], tuple[int, int], str, str]] = {
    "new": (
        "NAME [-]",
        (Option("--text", "TEXT", "its first text; - reads it from stdin, as a - behind the name does"),),
        (1, 2),
        "Slashes in NAME make folders. Without a text the page is empty.",
        "page_writing",
    ),
    "list": ("", (Option("--removed", "", "those that were removed instead"),), (0, 0), "", "page_reading"),
    "show": (
        "NAME",
        (
            Option("--at", "TIME", "as it was then (UTC): 2026-11-16, 2026-11-16T10:00, 10:02, or 2h or 3d ago"),
            Option("--conflicts", "", "mark what several have edited at once"),
            Option("--raw", "", "the exact text, for a file or another program"),
        ),
        (1, 1),
        f"{_NAME} What could hide in the text, or be taken for orders, is not shown; --raw and --json have it.",
        "page_reading",
    ),
    "edit": (
        "NAME",
        (_TEXT,),
        (1, 1),
        "Opens VISUAL, else EDITOR, else vi. What others write meanwhile stays. With --text nothing is opened.",
        "page_edit",
    ),
    "append": ("NAME TEXT|-", (), (2, 2), "- reads the text from stdin.", "page_writing"),
    "rename": ("NAME NEW", (), (2, 2), _NAME, "page_writing"),
    "remove": (
        "NAME --reason TEXT",
        (Option("--reason", "TEXT", "why; the reason stays, so without any secret in it"),),
        (1, 1),
        _NAME,
        "page_writing",
    ),
    "restore": ("NAME|ID", (), (1, 1), "It becomes a new page with the text of the old one.", "page_writing"),
    "history": (
        "NAME",
        (
            Option("-n", "COUNT", "how many lines (default: 20)"),
            Option("--held", "", "instead, what was written but is not in the page"),
        ),
        (1, 1),
        "The newest last. What one author does within ten minutes is one line.",
        "page_history",
    ),
    "links": ("NAME", (), (1, 1), _NAME, "page_reading"),
    "merge": ("NAME OTHER", (), (2, 2), "What both say stands once. OTHER ends; NAME stays.", "page_writing"),
    "settle": ("NAME", (), (1, 1), "mesh page show NAME --conflicts marks only what comes after.", "page_writing"),
    "erase": (
        "NAME TEXT|- --reason TEXT",
        (Option("--reason", "TEXT", "why, without repeating the secret: the reason stays"),),
        (2, 2),
        "- reads the text from stdin, where no list of processes and no shell history shows it.",
        "page_erase",
    ),
    "watch": (
        "[DIR]",
        (Option("--under", "PREFIX", "only the pages under this name, like runbooks (default: all)"),),
        (0, 1),
        "Without DIR: lists the folders.",
        "page_watch",
    ),
    "unwatch": ("DIR", (), (1, 1), "", "page_watch"),
    "retry": (
        "",
        (),
        (0, 0),
        "After an upgrade: what the last version could not bear may do no harm now.",
        "page_writing",
    ),
}


def main(argv: list[str]) -> int:
    """Run `mesh page MEMBER ...`."""
    found = chosen("page", "Work with pages: Markdown that people and agents edit at once.", MEMBERS, "new", argv)
    if isinstance(found, int):
        return found
    name, rest = found
    sentence, example = MEMBERS[name]
    usage, options, words, more, module = _TAKES[name]
    shape = CommandSyntax(
        f"page {name}",
        usage,
        options,
        example,
        words=words,
        more=more,
        sentence=sentence,
        takes_text=name not in ("watch", "unwatch"),
    )

    def member(given: Given) -> int:
        found: dict[str, Callable[[Given], int]] = __import__(f"mesh.cli.{module}", fromlist=["RUN"]).RUN
        return found[name](given)

    return run(rest, shape, member)


_SHOWN_CHARS = 260  # a name of 200, and what is put behind it


def name_in(word: str) -> str:
    """A page's name as it was typed: the ending of its file is not part of it."""
    return word[:-3] if word[-3:].lower() == ".md" else word


def shown(info: PageInfo) -> str:
    """A page's name, for a line."""
    return plain(info.shown, _SHOWN_CHARS)


def in_shell(*names: str) -> str:
    """Names as they can be typed behind a command."""
    return " ".join(quote(plain(name, _SHOWN_CHARS)) for name in names)


def typed(text: str) -> str:
    """A text from the command line, or from stdin if it is a hyphen, as a page has it."""
    if text != "-":
        data = text.encode(errors="surrogateescape")
    else:
        bare = getattr(sys.stdin, "buffer", None)
        # No more than shows that it is too much: it may never end.
        data = sys.stdin.read().encode(errors="surrogateescape") if bare is None else bare.read(MOST_BYTES + 1)
    found = decoded(data)
    if not isinstance(found, Content):
        raise UsageError(
            f"this cannot be the text of a page: {found.reason}",
            "split it into several pages" if len(data) > MOST_BYTES else "give UTF-8 text; convert it: iconv -t UTF-8",
        )
    return found.text


def written(
    given: Given,
    book: Book,
    info: PageInfo,
    done: str,
    *,
    findings: Iterable[SecretCount] = (),
    chars: int | None = None,
    changed: bool = True,
) -> None:
    """Say what was done to a page, and what a person has to know about it."""
    counts, redacted = book.is_member(), describe(findings)
    if given.as_json:
        print_json(
            {
                "id": text_id(info.id),
                "name": info.shown,
                "done": done,
                "changed": changed,
                "chars": chars,
                "redacted": redacted,
                "counts": counts,
            }
        )
    else:
        put(f"{shown(info)}  {done}")
    tell_taken_out(redacted)
    if changed and not counts:
        node = text_id(book.author.store.own or b"")
        tell("kept, but it counts only once this node is admitted", f"  next: where the root key is: mesh admit {node}")


def one_text(given: Given, word: str | None) -> str | None:
    """The text given with --text, or by a hyphen as the last word; None if there is none."""
    if word is None:
        return typed(given.text("text")) if given.has("text") else None
    if word != "-" or given.has("text"):
        raise WrongUsage("give the text as --text TEXT, or as - to read it from stdin, but once")
    return typed("-")
