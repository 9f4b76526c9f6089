"""Erasing a piece of text from a page: from its present text and from its whole history.

The page goes on in a new generation that holds nothing of how it came to be but the cleaned text; then the operations that
had put the piece there are erased, as records are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from mesh.core.draft import Assignment
from mesh.core.errors import UsageError
from mesh.core.ids import text_id
from mesh.pages.book import FRONT, Book, PageInfo, is_front
from mesh.pages.editor import Editor
from mesh.pages.page_names import folded
from mesh.pages.text_difference import Edit
from mesh.store.erase_requests import Erased, erase
from mesh.store.home import Home


def holders(deltas: Sequence[Sequence[Edit]], secret: str) -> set[int]:
    """The operations, by their place in the order they were applied, that inserted some letter of an occurrence.

    Every state the text went through is looked at, around what was changed: an occurrence that is gone by now stands in
    the history all the same.
    """
    text, owners, found = "", list[int](), set[int]()
    for number, delta in enumerate(deltas):
        shift = 0
        places = []
        for edit in delta:
            at = edit.at + shift
            text = text[:at] + edit.inserted + text[at + edit.removed :]
            owners[at : at + edit.removed] = [number] * len(edit.inserted)
            shift += len(edit.inserted) - edit.removed
            places.append((at, at + len(edit.inserted)))
        for first, last in places:
            start = max(0, first - len(secret) + 1)
            at = text.find(secret, start, last + len(secret) - 1)
            while at >= 0:
                found.update(owners[at : at + len(secret)])
                at = text.find(secret, at + 1, last + len(secret) - 1)
    return found


LEFT = "[erased]"
LEAST_CHARS = 4


class Cleaned(NamedTuple):
    """What was done: the page as it is now, and what became of the bodies that had held the text."""

    info: PageInfo
    is_new: bool  # the page had to be replaced by a new one: the text stood in what it was created with
    erased: Erased
    others: list[PageInfo]  # removed pages of other names that hold it too


def erase_text(home: Home, editor: Editor, info: PageInfo, text: str, reason: str) -> Cleaned:
    """Erase every occurrence of a text in a page, in its history, and in pages of its name that were removed.

    The page itself may be one that was removed.
    """
    if len(text) < LEAST_CHARS:
        raise UsageError(
            f"at least {LEAST_CHARS} characters are needed: less stands everywhere", "give the whole secret"
        )
    if text in reason:
        raise UsageError("the reason holds the text itself, and the reason stays", "say it without the secret")
    book = editor.book
    with book.shelf.snapshot():  # others write: what one question tells of, the next must know
        into = book.shelf.assigned("into")
        joined = {tag: into[tag].value for tag, follower in book.ended().items() if follower.id == info.id}
        gone = book.gone()
    pages = [info.id, *joined, *(item.id for item in gone if folded(item.name) == folded(info.name) and item != info)]
    bodies = {body: _holders(book, body, text) for page in pages for body in (info.body, *book.bodies(page))}
    fields = {tag: node for page in pages for tag, node in _fields(book, page, text).items()}
    records = {item.tag: item.node for page in pages for item in book.shelf.elements(page) if _holds(item.record, text)}
    authors = {tag: node for found in bodies.values() for tag, node in found.items()} | fields | records
    if not authors:
        since = " any more, or never did" if len(book.generations(info)) > 1 else ", and never did"
        raise UsageError(f"{info.shown} does not hold that text{since}", f"look: mesh page show {info.shown}")
    page, after = book.read(info), info
    is_there = info.id not in {item.id for item in gone}
    is_new = info.id in records and is_there
    if is_new:
        after, _ = editor.new(info.name.replace(text, "erased"), page.text.replace(text, LEFT))
        drafts = [Assignment(tag, "into", end | {"page": text_id(after.id)}) for tag, end in joined.items()]
        book.author.append([editor.joining(after, info), *drafts])
        editor.remove(info, reason)
    elif is_there:
        drafts = [_cleaned(info, key, source, text) for key, source in page.front.fields.items() if text in source]
        if drafts:
            book.author.append(drafts)
        if bodies[info.body] or book.unheard(info):
            after = info._replace(body=editor.begin(info, lambda plain: plain.replace(text, LEFT)))
    others = [item for item in gone if item.id not in pages and _is_in(book, item, text)]
    for tag in pages:
        book.shelf.unlink(tag)
    erased = erase(home, book.author, authors, reason)
    for body in bodies:
        book.texts.closed(body)
    return Cleaned(next((item for item in book.pages() if item.id == after.id), after), is_new, erased, others)


def _cleaned(info: PageInfo, key: str, source: str, text: str) -> Assignment:
    """A field without the text, be it in its value or in its key."""
    left = "erased" if text in key else LEFT
    return Assignment(info.id, f"{FRONT}.{key.replace(text, left)}", source.replace(text, left))


def _holders(book: Book, body: bytes, text: str) -> dict[bytes, bytes]:
    """The operations on a text that put it there; also those that are not in it, if the bytes stand in them."""
    ops = book.texts.history(body)
    found = {ops[index].op for index in holders(book.workshop.deltas([op.update for op in ops]), text)}
    raw = text.encode()
    return {row.tag: row.node for row in book.shelf.rows(body) if row.op in found or raw in row.page.update}


def _is_in(book: Book, info: PageInfo, text: str) -> bool:
    """Whether a removed page holds the text in one piece: enough to tell somebody to look."""
    raw = text.encode()
    return any(raw in row.page.update for body in book.bodies(info.id) for row in book.shelf.rows(body))


def _fields(book: Book, page: bytes, text: str) -> dict[bytes, bytes]:
    names = [name for name in book.shelf.fields(page) if is_front(name) or name == "name"]
    sets = [(name, *item) for name in names for item in book.shelf.sets(page, name)]
    return {tag: node for name, tag, node, field in sets if text in name or _holds(field.value, text)}


def _holds(value: Any, text: str) -> bool:
    match value:
        case str():
            return text in value
        case dict():
            return any(text in key or _holds(item, text) for key, item in value.items())
        case list():
            return any(_holds(item, text) for item in value)
    return False
