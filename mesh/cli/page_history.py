"""`mesh page history`: who edited a page and when, in spans of ten minutes, and edits that never reached the page."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from mesh.cli.grammar import Given, Whole, argument, command, option
from mesh.cli.main import EXIT_OK
from mesh.cli.output import plain, print_json, put, tell, when
from mesh.cli.page import in_shell, name_in, shown
from mesh.cli.page_reading import names_of
from mesh.core.clock import milliseconds
from mesh.core.errors import Malformed
from mesh.core.ids import text_id
from mesh.pages.blame import summary
from mesh.pages.book import FRONT, Book, PageInfo, is_front
from mesh.pages.edit_codec import parse
from mesh.pages.open_pages import open_pages

_SITTING_MS = 600_000
_MOST = 1_000_000


class EditEntry(NamedTuple):
    """One edit, counted in characters; of front matter, the name of the field."""

    at: int
    node: bytes
    inserted: int
    removed: int
    field: str


class EditSpan(NamedTuple):
    """What one node did within ten minutes."""

    node: bytes
    first: int
    last: int
    edits: int
    inserted: int
    removed: int
    fields: tuple[str, ...]


def sittings(deeds: Iterable[EditEntry]) -> list[EditSpan]:
    """Edits by author and time, in the order they began."""
    found: list[EditSpan] = []
    current: dict[bytes, int] = {}  # node -> its last one in the list
    for deed in sorted(deeds):
        at = current.get(deed.node)
        fields = (deed.field,) if deed.field else ()
        if at is not None and milliseconds(deed.at) - milliseconds(found[at].first) <= _SITTING_MS:
            old = found[at]
            found[at] = EditSpan(
                old.node,
                old.first,
                deed.at,
                old.edits + 1,
                old.inserted + deed.inserted,
                old.removed + deed.removed,
                tuple(dict.fromkeys(old.fields + fields)),
            )
        else:
            current[deed.node] = len(found)
            found.append(EditSpan(deed.node, deed.at, deed.at, 1, deed.inserted, deed.removed, fields))
    return found


def _deeds(book: Book, info: PageInfo) -> list[EditEntry]:
    deeds = [EditEntry(op.at, op.node, *summary(op), "") for op in book.history(info)]
    for name in book.shelf.fields(info.id):
        if is_front(name) and name != FRONT:
            key = name.removeprefix(FRONT + ".")
            deeds += [EditEntry(field.at, node, 0, 0, key) for _, node, field in book.shelf.sets(info.id, name)]
    return deeds


@command(
    "mesh page history runbooks/deploy -n 5",
    more="The newest last. What one author does within ten minutes is one line.",
    may_be_empty=True,
)
@argument("name", "NAME", may_be_empty=True)
@option("-n", metavar="COUNT", type=Whole(1, _MOST), default=20, help="how many lines (default: 20)")
@option("--held", help="instead, what was written but is not in the page")
def history(given: Given) -> int:
    """Print its spans, oldest first."""
    count = given.n
    with open_pages(given.home) as pages:
        info, name_of = pages.book.find_past(name_in(given.name)), names_of(pages.book)
        if given.has("held"):
            return _held(given, pages.book, info)
        found = sittings(_deeds(pages.book, info))
        has_earlier = len(pages.book.generations(info)) > 1
    if given.json:
        for sitting in found[-count:]:
            print_json(_row(sitting, name_of))
        return EXIT_OK
    for sitting in found[-count:]:
        edits = "1 edit" if sitting.edits == 1 else f"{sitting.edits} edits"
        fields = f"  fields: {plain(', '.join(sitting.fields), 200)}" if sitting.fields else ""
        time = when(milliseconds(sitting.last))[:16]
        put(f"{time}  {name_of(sitting.node)}  +{sitting.inserted} -{sitting.removed}  {edits}{fields}")
    if has_earlier:
        tell("something was erased from this page: edits from before that are not listed")
    if found:
        time = when(milliseconds(found[-count:][0].last))[:16]
        tell(f"a text as it was then: mesh page show {in_shell(info.shown)} --at {time}")
    else:
        tell(f"{shown(info)} was never edited: it is empty")
    return EXIT_OK


def _row(sitting: EditSpan, name_of: Callable[[bytes], str]) -> dict[str, Any]:
    return {
        "from": when(milliseconds(sitting.first)),
        "to": when(milliseconds(sitting.last)),
        "author": name_of(sitting.node),
        "node": text_id(sitting.node),
        "edits": sitting.edits,
        "inserted": sitting.inserted,
        "removed": sitting.removed,
        "fields": list(sitting.fields),
    }


def _held(given: Given, book: Book, info: PageInfo) -> int:
    """What was written to a page and is not in it: somebody may want to put it there by hand."""
    name_of, troubles = names_of(book), {trouble.op: trouble for trouble in book.read(info).troubles}
    rows = [row for row in book.shelf.rows(info.body) if row.op in troubles] if troubles else []
    for row in rows:
        trouble = troubles[row.op]
        try:
            text = "".join(item.text for item in parse(row.page.update).items)
        except Malformed:
            text = ""
        time, author = when(milliseconds(row.at)), name_of(row.node)
        if given.json:
            print_json({"at": time, "author": author, "sort": trouble.sort, "reason": trouble.reason, "text": text})
        else:
            put(f"{time[:16]}  {author}  {trouble.sort}  {plain(text, 2000)}")
    if not rows:
        tell(f"all that was written to {shown(info)} and is here is in it")
    return EXIT_OK
