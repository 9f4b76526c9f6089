"""The pages of a home: which there are, what they say now and what they said."""

from __future__ import annotations

from collections.abc import Mapping
from shlex import quote
from typing import Any, NamedTuple

from mesh.core.errors import AmbiguousId, UnknownId, UsageError
from mesh.core.ids import parse_id, text_id
from mesh.pages.edit_acceptance import PageOp, encode_prefix, prefix_of
from mesh.pages.page_fields import PageFields, is_field, join
from mesh.pages.page_names import Named, folded, safe, shown
from mesh.pages.page_table import Element, PageField, PageTable, Trouble
from mesh.pages.page_texts import Texts
from mesh.pages.worker_client import WorkerClient
from mesh.store.author import Author
from mesh.store.republication import replacements

FRONT = "front"  # the register with the order of the keys; `front.KEY` holds a field


class Generation(NamedTuple):
    """A text that a page had, or has: since when, and how far its writers' insertions went into the one that followed."""

    body: bytes
    at: int
    seen: list[list[int]]


class PageInfo(NamedTuple):
    """A page, without its text."""

    id: bytes
    name: str
    shown: str
    body: bytes
    at: int
    node: bytes


class PageText(NamedTuple):
    """What a page says: `text` is front matter and text as a file would hold them, `plain` the text as the operations give it."""

    info: PageInfo
    text: str
    front: PageFields
    plain: str
    troubles: tuple[Trouble, ...]


class Book:
    """One home, one connection, one worker. Not for two threads."""

    def __init__(self, author: Author, workshop: WorkerClient) -> None:
        self.author = author
        self.shelf = PageTable(author.store.database)
        self.workshop = workshop
        self.texts = Texts(self.shelf, workshop)

    def is_member(self) -> bool:
        """Whether what this node writes counts."""
        store = self.author.store
        return store.own is not None and store.trust().certified(store.own)

    # Which there are

    def version(self) -> int:
        """Another number whenever somebody may have changed some page."""
        return hash(self.shelf.version())

    def new_ids(self) -> dict[bytes, bytes]:
        """Of pages that this node wrote again because its clock had been ahead: the old id to the new."""
        store = self.author.store
        return {} if store.own is None else replacements(store.database.connection, store.own)

    def pages(self) -> list[PageInfo]:
        """The pages there are, by the names they are shown under."""
        return listed(self.shelf)

    def find(self, text: str) -> PageInfo:
        """A page by the name it is shown under, or by the beginning of its id."""
        pages = self.pages()
        wanted = folded(text.removesuffix(".md"))
        for info in pages:
            if folded(info.shown) == wanted:
                return info
        found = [info for info in pages if len(text) >= 5 and text_id(info.id).startswith(text)]
        if len(found) > 1:
            raise AmbiguousId(
                f"{len(found)} pages go by {text}", [f"{text_id(item.id)[:16]} {item.shown}" for item in found]
            )
        if found:
            return found[0]
        if any(folded(info.name) == wanted for info in self.gone()):
            raise UnknownId(f"the page {text} was removed", f"bring it back: mesh page restore {quote(text)}")
        near = [info.shown for info in pages if wanted in folded(info.shown)][:5]
        hint = f"did you mean: {', '.join(near)}" if near else "see which there are: mesh page list"
        if not near and safe(text) == text and self.is_member():
            hint = f"make it: mesh page new {quote(text)}; or see which there are: mesh page list"
        raise UnknownId(f"there is no page called {text!r}", hint)

    def removed(self, text: str) -> PageInfo:
        """The page of a name or id that was removed last."""
        found = [
            info
            for info in self.gone()
            if folded(info.name) == folded(text) or (len(text) >= 5 and text_id(info.id).startswith(text))
        ]
        if not found:
            raise UnknownId(f"no page called {text!r} was removed", "see which were: mesh page list --removed")
        return found[-1]

    def gone(self) -> list[PageInfo]:
        """The pages that were removed, and before them those that had been joined into one of them."""
        with self.shelf.snapshot():  # a page that is made between two questions is not removed
            names, bodies = self.shelf.assigned("name"), self.shelf.assigned("body")
            there = {info.id for info in self.pages()} | self.ended().keys()
            hidden = [element for element in self.shelf.elements() if element.tag not in there]
            removed = self.shelf.removed()
        return [
            PageInfo(item.tag, name, name, current(item, bodies.get(item.tag)), item.at, item.node)
            for item in (*hidden, *removed)
            for name in [_name(item, names.get(item.tag))]
        ]

    def find_past(self, text: str) -> PageInfo:
        """A page that is there, or one that was removed."""
        try:
            return self.find(text)
        except UnknownId as unknown:
            try:
                return self.removed(text)
            except UnknownId:
                raise unknown from None

    def generations(self, info: PageInfo) -> list[Generation]:
        """The texts a page has had, oldest first. There is more than one only where something was erased."""
        field = self.shelf.fields(info.id).get("body")
        found = [Generation(info.body, info.at if field is None else field.at, [])]
        value = field.value if field is not None and isinstance(field.value, dict) else {}
        earlier = value.get("from")
        for item in reversed(earlier if isinstance(earlier, list) else []):
            body = id_of(item[0]) if isinstance(item, list) and len(item) == 3 else None
            if body is not None and type(item[1]) is int and isinstance(item[2], list):
                found.append(Generation(body, item[1], item[2]))
        return found[::-1]

    def unheard(self, info: PageInfo) -> list[Generation]:
        """Texts that were begun at the same time as the one that follows, and are not in what it followed."""
        known = {item.body for item in self.generations(info)}
        found: dict[bytes, Generation] = {}
        for _, node, field in self.shelf.sets(info.id, "body"):
            value = field.value if isinstance(field.value, dict) else {}
            body = id_of(value.get("body"))
            if body is not None and body not in known:
                found[body] = Generation(
                    body, field.at, encode_prefix(prefix_of(self.seeds(body, node, value.get("first"))))
                )
        return list(found.values())

    def seeds(self, body: bytes, node: bytes, count: object) -> list[PageOp]:
        """The operations a text was begun with, as far as they are here."""
        mine = [op for op in self.texts.history(body) if op.node == node]
        return mine[: count if type(count) is int and count > 0 else 0]

    def ended(self) -> dict[bytes, PageInfo]:
        """The pages that were joined into others, and the ones they ended up in. Also those whose records are gone."""
        infos, into = {info.id: info for info in self.pages()}, self.shelf.assigned("into")
        ends: dict[bytes, PageInfo] = {}
        for tag in into.keys() - infos.keys():
            seen, at = {tag}, _target(into[tag])
            while at is not None and at not in seen and at not in infos:
                seen.add(at)
                at = _target(into[at]) if at in into else None
            if at in infos:
                ends[tag] = infos[at]
        return ends

    def bodies(self, page: bytes) -> list[bytes]:
        """Every text a page ever had, also one of somebody who erased at the same time and was not heard."""
        found = [first_body(element) for element in self.shelf.elements(page)]
        for name in ("body", "into"):
            for _, _, field in self.shelf.sets(page, name):
                value = field.value if isinstance(field.value, dict) else {}
                earlier = value.get("from")
                named = [item[0] for item in _lists(earlier) if item]
                found += [body for body in map(id_of, [*named, value.get("body")]) if body is not None]
        return list(dict.fromkeys(found))

    # What they say

    def read(self, info: PageInfo) -> PageText:
        """A page as it is now."""
        plain = self.texts.plain(info.body)
        front = self._front(info, self.shelf.fields(info.id))
        troubles = tuple(self.shelf.troubles(info.body).get(info.body, ()))
        return PageText(info, join(front, whole(plain)), front, plain, troubles)

    def text_at(self, info: PageInfo, at: int) -> str:
        """What a page said at a time (a stamp)."""
        body = next((item.body for item in reversed(self.generations(info)) if item.at <= at), None)
        if body is None:
            raise UsageError(f"{info.shown} was not there yet", f"since when it is: mesh page history {info.shown}")
        ops = [op for op in self.texts.history(body) if op.at <= at]
        (plain,) = self.workshop.texts([op.update for op in ops], [len(ops)])
        fields = {name: self.shelf.sets(info.id, name) for name in self.shelf.fields(info.id) if is_front(name)}
        then = {name: [field for _, _, field in sets if field.at <= at][-1:] for name, sets in fields.items()}
        return join(self._front(info, {name: found[0] for name, found in then.items() if found}), whole(plain))

    def history(self, info: PageInfo) -> list[PageOp]:
        """Every operation on the text a page has now that counts, in an order in which they can be applied."""
        return self.texts.history(info.body)

    def _front(self, info: PageInfo, fields: Mapping[str, PageField]) -> PageFields:
        """The front matter that a page was made with, and what its registers have made of it since."""
        found = {key: field.value for key, field in fields.items() if is_front(key)}
        record = next((element.record for element in self.shelf.elements(info.id)), {})
        first = record.get(FRONT)
        if isinstance(first, dict):
            found = {f"{FRONT}.{key}": value for key, value in first.items()} | found
            found.setdefault(FRONT, list(first))
        return front_of(found)


def listed(shelf: PageTable) -> list[PageInfo]:
    """The pages there are, by the names they are shown under. Those that were joined into others are not."""
    elements = {element.tag: element for element in shelf.elements()}
    names, bodies = shelf.assigned("name"), shelf.assigned("body")
    joined = _joined(shelf, elements)
    alone = {tag: element for tag, element in elements.items() if tag not in joined}
    named = {tag: _name(element, names.get(tag)) for tag, element in alone.items()}
    under = shown(Named(tag, named[tag], element.at) for tag, element in alone.items())
    infos = [
        PageInfo(tag, named[tag], under[tag], current(element, bodies.get(tag)), element.at, element.node)
        for tag, element in alone.items()
    ]
    return sorted(infos, key=lambda info: info.shown)


def whole(text: str) -> str:
    """A text as a page shows it: a last line ends like every other."""
    return text if not text or text.endswith("\n") else text + "\n"


def is_front(field: str) -> bool:
    """Whether a register belongs to a page's front matter."""
    return field == FRONT or field.startswith(FRONT + ".")


def front_of(fields: Mapping[str, Any]) -> PageFields:
    """The front matter that some registers amount to. What a peer has put into one must still read as that one field."""
    named = {name.removeprefix(FRONT + "."): value for name, value in fields.items() if name != FRONT}
    good = {key: value for key, value in named.items() if isinstance(value, str) and is_field(key, value)}
    order = fields.get(FRONT)
    keys = order if isinstance(order, list) else []
    return PageFields(good, tuple(dict.fromkeys(key for key in keys if isinstance(key, str) and key in good)))


def first_body(element: Element) -> bytes:
    """The text a page began with."""
    return id_of(element.record.get("body")) or element.tag


def current(element: Element, field: PageField | None) -> bytes:
    """The text a page has now."""
    value = field.value if field is not None and isinstance(field.value, dict) else {}
    return id_of(value.get("body")) or first_body(element)


def _name(element: Element, field: PageField | None) -> str:
    name = field.value if field is not None and isinstance(field.value, str) else element.record.get("name")
    return safe(name if isinstance(name, str) else "")


def _joined(shelf: PageTable, elements: Mapping[bytes, Element]) -> set[bytes]:
    """The pages that ended up in another one, also if that was removed: then they were removed with it.

    Those that would end in what was never here, or in themselves, stay as they are.
    """
    into, joined = shelf.assigned("into"), set()
    for tag in elements:
        seen, at = {tag}, tag
        while at in elements and at in into:
            target = _target(into[at])
            if target is None or target in seen or not (target in elements or shelf.is_removed(target)):
                break
            seen.add(target)
            at = target
        if at != tag and not (at in into and _target(into[at]) in seen):
            joined.add(tag)
    return joined


def _target(field: PageField) -> bytes | None:
    return id_of(field.value.get("page")) if isinstance(field.value, dict) else None


def _lists(value: Any) -> list[list[Any]]:
    return [item for item in value if isinstance(item, list)] if isinstance(value, list) else []


def id_of(value: object) -> bytes | None:
    """An id that somebody has put into a record, if it is one."""
    try:
        return parse_id(value) if isinstance(value, str) else None
    except UsageError:
        return None
