"""`mesh page list`, `show` and `links`. A text that is cached is shown without the text worker."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from mesh.cli.grammar import Given, WrongUsage, argument, command, option
from mesh.cli.main import EXIT_OK
from mesh.cli.output import hinted, plain, print_json, put, put_ours, put_text, tell, when
from mesh.cli.page import NAME_MORE, in_shell, name_in, shown
from mesh.core.clock import COUNTER_BITS, milliseconds, pack
from mesh.core.errors import HomeBusy, MeshError, UsageError
from mesh.core.ids import display_name, text_id
from mesh.core.time_expression import span
from mesh.pages.book import Book, PageInfo, PageText, current
from mesh.pages.conflicts import Conflict, conflicts, marked
from mesh.pages.edit_table import Edits, LastEdit
from mesh.pages.open_pages import open_pages
from mesh.pages.page_fields import join
from mesh.pages.page_links import Linked, Links
from mesh.pages.page_names import folded, safe
from mesh.pages.page_table import Element, Trouble
from mesh.store.reader import SHORT_CHARS, Reader

_TRIES = 5


def names_of(book: Book) -> Callable[[bytes], str]:
    """How people see the nodes of a home."""
    names = Reader(book.author.store.database.connection).names()
    return lambda node: display_name(names.get(node, ""), node)


# list


@command("mesh page list", may_be_empty=True)
@option("--removed", help="those that were removed instead")
def list_(given: Given) -> int:
    """Print them, a line each."""
    with open_pages(given.home) as pages:
        rows = _removed(pages.book) if given.has("removed") else _live(pages.book)
    for row in rows:
        if given.json:
            print_json(row)
            continue
        marks = "".join(f"  ({mark})" for mark in row["marks"])
        size = "" if row["chars"] is None else f"  {row['chars']:,} chars"
        name = plain(row["name"], 260)
        put(f"{name}  {row['at'][:16]}  {row['author']}{size}{hinted(marks)}")
    if not rows and not given.json:
        none = ["no page was removed"] if given.has("removed") else ["there are no pages", "  next: mesh page new NAME"]
        tell(*none)
    return EXIT_OK


def _live(book: Book) -> list[dict[str, Any]]:
    infos, name_of = book.pages(), names_of(book)
    edits = Edits(book.author.store.database)
    keepers = {folded(info.shown): info.shown for info in infos}
    rows = []
    for info in infos:
        chars, marks, incomplete = _size(book, info)
        elder = keepers.get(folded(info.name)) if info.shown != info.name else None
        if elder is not None:
            marks.append(f"same name as {plain(elder, 260)}: mesh page merge {in_shell(elder, info.shown)}")
        last = edits.last(info.id, info.body) or LastEdit(info.at, info.node)
        rows.append(
            _row(info.id, info.shown, last, name_of)
            | {"chars": chars, "incomplete": incomplete, "same_name_as": elder, "marks": marks}
        )
    return rows


def _size(book: Book, info: PageInfo) -> tuple[int | None, list[str], bool | None]:
    """How long a page is, and whether all of it is here. One that cannot be worked out now does not hide the others."""
    try:
        page = book.read(info)
    except MeshError as error:
        return None, [f"cannot be read now: {plain(str(error), 200)}"], None
    missing = _missing(page)
    return len(page.text), ["incomplete here"] if missing else [], bool(missing)


def _missing(page: PageText) -> list[Trouble]:
    """What is in the page elsewhere, or will be. What is refused is refused by every node."""
    return [trouble for trouble in page.troubles if trouble.sort != "refused"]


def _removed(book: Book) -> list[dict[str, Any]]:
    name_of, edits = names_of(book), Edits(book.author.store.database)
    names, bodies = book.shelf.assigned("name"), book.shelf.assigned("body")
    rows = []
    for tag, at, node, record in book.shelf.removed():
        name = names[tag].value if tag in names else record.get("name")
        last = edits.last(tag, current(Element(tag, at, node, record), bodies.get(tag))) or LastEdit(at, node)
        step = f"mesh page restore {text_id(tag)[:SHORT_CHARS]}"
        shown_as = safe(name if isinstance(name, str) else "")
        rows.append(_row(tag, shown_as, last, name_of) | {"chars": None, "marks": [step]})
    return sorted(rows, key=lambda row: (row["name"], row["at"]))


def _row(tag: bytes, name: str, last: LastEdit, name_of: Callable[[bytes], str]) -> dict[str, Any]:
    return {
        "id": text_id(tag),
        "name": name,
        "at": when(milliseconds(last.at)),
        "author": name_of(last.node),
    }


# show


@command(
    "mesh page show runbooks/deploy --at 2h",
    more=f"{NAME_MORE} What could hide in the text, or be taken for orders, is not shown; --raw and --json have it.",
    may_be_empty=True,
)
@argument("name", "NAME", may_be_empty=True)
@option("--at", metavar="TIME", help="as it was then (UTC): 2026-11-16, 2026-11-16T10:00, 10:02, or 2h or 3d ago")
@option("--conflicts", help="mark what several have edited at once")
@option("--raw", help="the exact text, for a file or another program")
def show(given: Given) -> int:
    """Print its text."""
    if given.has("at") and given.has("conflicts"):
        raise WrongUsage("--at and --conflicts exclude each other: only what a page says now can be read over")
    if given.has("raw") and given.json:
        raise WrongUsage("--raw and --json exclude each other: JSON has the exact text too")
    if given.has("raw") and sys.stdout.isatty():
        raise UsageError(
            "--raw is not for a terminal, which would obey what is in the text",
            f"mesh page show {in_shell(given.name)} --raw > FILE",
        )
    with open_pages(given.home) as pages:
        info, name_of = pages.book.find_past(name_in(given.name)), names_of(pages.book)
        answer: dict[str, Any] = {"id": text_id(info.id), "name": info.shown}
        if pages.book.shelf.is_removed(info.id):
            tell("this page was removed", f"  to bring it back: mesh page restore {in_shell(info.name)}")
        if given.has("at"):
            at = stamp(given.word("at"), pages.book.author.store.clock())
            text = pages.book.text_at(info, at)
            answer |= {"text": text, "at": when(milliseconds(at))}
        elif given.has("conflicts"):
            page, places = _conflicts(pages.book, info)
            text = page.text
            answer |= {"text": text, "conflicts": [_place(place, name_of) for place in places]}
            text = _marked(page, places, name_of)
            _tell_incomplete(info, _missing(page), name_of)
            _tell_conflicts(info, len(places))
        else:
            page = pages.book.read(info)
            text = page.text
            answer |= {"text": text, "incomplete": [_trouble(trouble, name_of) for trouble in page.troubles]}
            _tell_incomplete(info, _missing(page), name_of)
    if given.json:
        print_json(answer)
    elif given.has("raw"):
        put_ours(text)  # to a file, where it is what its authors have written
    else:
        put_text(text, _exact(given, info))
    return EXIT_OK


def _exact(given: Given, info: PageInfo) -> str:
    """The command that prints the same, as it is."""
    options = [f"--at {given.at}"] if given.has("at") else []
    return " ".join(["mesh page show", in_shell(info.shown), *options, "--raw > FILE"])


def _tell_incomplete(info: PageInfo, found: list[Trouble], name_of: Callable[[bytes], str]) -> None:
    if found:
        who = ", ".join(sorted({name_of(trouble.node) for trouble in found}))
        number = "1 edit" if len(found) == 1 else f"{len(found)} edits"
        tell(f"mesh: {shown(info)} is incomplete here: {number} by {who} not in it; next: mesh doctor")


def _trouble(trouble: Trouble, name_of: Callable[[bytes], str]) -> dict[str, Any]:
    return {"sort": trouble.sort, "author": name_of(trouble.node), "reason": trouble.reason}


# show --conflicts


def _conflicts(book: Book, info: PageInfo) -> tuple[PageText, list[Conflict]]:
    """A page, and the places in it to read over. Somebody may write between the two questions: then it is asked again."""
    for _ in range(_TRIES):
        page, ops = book.read(info), book.history(info)
        deltas = book.workshop.deltas([op.update for op in ops])
        try:
            return page, conflicts(join(page.front, page.plain), ops, deltas, _settled(book, info))
        except ValueError:  # not the text of these operations
            continue
    raise HomeBusy(f"{info.shown} is being written to all the time", "repeat the command")


def _settled(book: Book, info: PageInfo) -> list[bytes]:
    """What was read over, as somebody has said: anybody may have put anything there."""
    field = book.shelf.fields(info.id).get("settled")
    found = []
    for head in field.value if field is not None and isinstance(field.value, list) else ():
        try:
            found.append(bytes.fromhex(head) if isinstance(head, str) else b"")
        except ValueError:
            continue
    return found


def _marked(page: PageText, places: list[Conflict], name_of: Callable[[bytes], str]) -> str:

    return marked(page.text, places, name_of)


def _tell_conflicts(info: PageInfo, count: int) -> None:
    if count:
        number = "1 place was" if count == 1 else f"{count} places were"
        tell(f"mesh: {number} edited at once; next, when it reads well: mesh page settle {in_shell(info.shown)}")
    else:
        tell(f"mesh: nothing in {shown(info)} has to be read over")


def _place(place: Conflict, name_of: Callable[[bytes], str]) -> dict[str, Any]:
    edits = [
        {
            "author": name_of(edit.node),
            "at": when(milliseconds(edit.at)),
            "inserted": list(edit.inserted),
            "deleted": list(edit.deleted),
        }
        for edit in place.edits
    ]
    return {"line": place.line, "last": place.last, "text": place.text, "edits": edits}


# links


@command("mesh page links runbooks/deploy", more=NAME_MORE, may_be_empty=True)
@argument("name", "NAME", may_be_empty=True)
def links(given: Given) -> int:
    """Print them, both ways."""
    with open_pages(given.home) as pages:
        info = pages.book.find(name_in(given.name))
        links = Links(pages.book)
        out, into = links.out(info), links.into(info)
    if given.json:
        print_json(
            {
                "id": text_id(info.id),
                "name": info.shown,
                "out": [_link(link) for link in out],
                "in": [{"page": link.source.shown, "line": link.line} for link in into],
            }
        )
        return EXIT_OK
    for link in out:
        ends = f"{link.sort}: {shown(link.page)}" if link.page is not None else link.sort
        put(f"to    line {link.line}  [[{plain(link.target)}]]  {ends}")
    for link in into:
        put(f"from  {shown(link.source)}, line {link.line}")
    if not out and not into:
        tell(f"{shown(info)} links to nothing, and nothing links to it")
    return EXIT_OK


def _link(link: Linked) -> dict[str, Any]:
    page = None if link.page is None else link.page.shown
    return {"target": link.target, "line": link.line, "sort": link.sort, "page": page}


def stamp(text: str, now_ms: int) -> int:
    """The last stamp of the time that was meant: a day is over at its end, a minute at its last second.

    So a time that a history shows gives the text with the edits of that minute in it.
    """
    return pack(span(text, now_ms)[1], (1 << COUNTER_BITS) - 1)
