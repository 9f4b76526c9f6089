"""`mesh page`: Markdown that people and agents edit at once. Finds the subcommand, whose module is beside this one; and what all of them share."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from shlex import quote
from typing import TYPE_CHECKING

from clan_learnings.redaction import SecretCount, describe
from mesh.cli.grammar import Given, WrongUsage
from mesh.cli.output import plain, print_json, put, tell, tell_taken_out
from mesh.core.errors import UsageError
from mesh.core.ids import text_id
from mesh.pages.file_text import MOST_BYTES, Content, decoded

if TYPE_CHECKING:
    from mesh.pages.book import Book, PageInfo


NAME_MORE = "NAME may end in .md, and may be the beginning of the page's id."
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
    if given.json:
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
        return typed(given.word("text")) if given.has("text") else None
    if word != "-" or given.has("text"):
        raise WrongUsage("give the text as --text TEXT, or as - to read it from stdin, but once")
    return typed("-")
