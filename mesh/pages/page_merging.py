"""Joining pages that turn out to be one, and carrying late edits over, so that no typed text is left where nobody sees it.

Two nodes that make a page of one name with the same first text mean the same page: the younger one's maker ends it in the
older. A text also ends when something in it is erased. Whoever had edited an ended text without knowing makes the same
change to the text that follows it. Each node does so for its own edits only, so none is made twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from mesh.core.draft import Assignment
from mesh.pages.book import FRONT, PageInfo, current, first_body, id_of, is_front, whole
from mesh.pages.edit_acceptance import EditAcceptance, KnownPrefix, PageOp, decode_prefix, is_covered, prefix_of
from mesh.pages.edit_codec import parse, units
from mesh.pages.editor import Editor
from mesh.pages.page_names import folded
from mesh.pages.page_table import Element, PageField


class _EndedText(NamedTuple):
    """A text that another follows; `seen`: how far its writers' insertions are in the other one already."""

    body: bytes
    seen: KnownPrefix
    follower: PageInfo


class PageJoiner:
    """Does for one home what follows from what has come in."""

    def __init__(self, editor: Editor) -> None:
        self._editor = editor
        self._book = editor.book
        self._own = editor.book.author.store.own
        self._looked: dict[bytes, tuple[int, int]] = {}  # ended texts, as they were when we looked

    def join_twins(self) -> list[tuple[PageInfo, PageInfo]]:
        """End pages of ours in older ones of the same name that began with the same text. Returns (kept, ended)."""
        named: dict[str, list[PageInfo]] = {}
        for info in self._book.pages():
            named.setdefault(folded(info.name), []).append(info)
        joined = []
        for pages in named.values():
            kept, *younger = sorted(pages, key=lambda info: (info.at, info.id))
            mine = [info for info in younger if info.node == self._own]
            if not mine:
                continue
            wanted = self._first(kept)
            for info in mine:
                first = self._first(info)
                if wanted is not None and first is not None and first[:2] == wanted[:2]:
                    self._book.author.append([self._editor.joining(kept, info, first[2])])
                    joined.append((kept, info))
        return joined

    def carry(self) -> int:
        """Make late edits of ours to the pages that follow. Returns how many operations were looked at for it."""
        with self._book.shelf.snapshot():  # others write: what one question tells of, the next must know
            into = self._book.shelf.assigned("into")
            pages, texts = self._book.ended(), list(self._ended(into))
        done, count = self._book.shelf.carried(), 0
        for tag, follower in pages.items():
            count += self._carry_fields(tag, follower, into[tag].value, done)
        for ended in texts:
            extent = self._book.shelf.extent(ended.body)
            if self._looked.get(ended.body) == extent:
                continue
            rows = self._book.shelf.rows(ended.body)
            late = {row.op for row in rows if row.node == self._own and row.op not in done}
            if late:
                count += self._carry(ended, late)
            self._looked[ended.body] = extent
        return count

    def _carry(self, ended: _EndedText, late: set[int]) -> int:
        """As one change, where our edits fit on what the follower began with; otherwise what we inserted, at the end."""
        ops = self._book.texts.sound(ended.body)  # what built on something erased waits for it in vain
        covered = [op for op in ops if is_covered(op, ended.seen)]
        mine = [op for op in ops if op.op in late and not is_covered(op, ended.seen)]
        if mine:
            ledger = EditAcceptance()
            before = ledger.rule(covered).apply
            after = before + ledger.rule(mine).apply
            base, text = self._book.workshop.texts([op.update for op in after], [len(before), len(after)])
            fitting = {op.op for op in after}
            loose = [piece for op in mine if op.op not in fitting for piece in _left(op, ops)]
            page = self._book.read(ended.follower)
            if base != text:
                self._editor.save(ended.follower, whole(base), whole(text))
            if loose and not all(piece in page.plain for piece in loose):
                self._editor.append(ended.follower, "".join(loose))
        self._book.shelf.carry(late)
        return len(mine)

    def _carry_fields(self, tag: bytes, follower: PageInfo, into: Any, done: set[int]) -> int:
        """Front matter that we wrote to a page that had ended, unless the follower's is newer."""
        seen = into.get(FRONT) if isinstance(into, dict) else None
        now = self._book.shelf.fields(follower.id)
        late, drafts = [], []
        for op, node, name, field in self._book.shelf.authored(tag):
            if node != self._own or not is_front(name) or op in done:
                continue
            late.append(op)
            if not (isinstance(seen, dict) and seen.get(name) == field.at) and (
                name not in now or now[name].at < field.at
            ):
                drafts.append(Assignment(follower.id, name, field.value))
        if drafts:
            self._book.author.append(drafts)
        if late:
            self._book.shelf.carry(late)
        return len(drafts)

    def _ended(self, into: dict[bytes, PageField]) -> Iterator[_EndedText]:
        """Every text that was followed by another, of pages that are still there."""
        bodies = self._book.shelf.assigned("body")
        elements = {element.tag: element for element in self._book.shelf.elements()}
        pages = self._book.pages()
        shown = {info.body for info in pages}  # whatever a register says, what a page shows has not ended
        for tag, follower in self._book.ended().items():
            value, element = into[tag].value, elements.get(tag)
            known = {} if element is None or tag not in bodies else self._generations(element)
            body = id_of(value.get("body"))
            if body is None and element is not None:
                body = current(element, bodies.get(tag))
            if body is not None:
                known[body] = decode_prefix(value.get("seen"))
            yield from (_EndedText(body, seen, follower) for body, seen in known.items() if body not in shown)
        for info in pages:
            if info.id in bodies and info.id in elements:
                found = self._generations(elements[info.id])
                yield from (_EndedText(body, seen, info) for body, seen in found.items() if body not in shown)

    def _generations(self, element: Element) -> dict[bytes, KnownPrefix]:
        """The earlier texts of a page, also those of somebody who erased at the same time and was not heard."""
        latest = self._book.shelf.fields(element.tag)["body"].value
        known: dict[bytes, KnownPrefix] = {first_body(element): {}} | _earlier(latest)
        for _, node, field in self._book.shelf.sets(element.tag, "body"):
            body = id_of(field.value.get("body")) if isinstance(field.value, dict) else None
            if body is not None and body not in known:
                known[body] = prefix_of(self._book.seeds(body, node, field.value.get("first")))
        return known

    def _first(self, info: PageInfo) -> tuple[str, Any, KnownPrefix] | None:
        """The text and the front matter a page was made with, and what the text consists of."""
        (element,) = self._book.shelf.elements(info.id) or (None,)
        if element is None or type(element.record.get("first")) is not int:
            return None
        ops = self._book.seeds(first_body(element), element.node, element.record["first"])
        ops = EditAcceptance().rule(ops).apply
        if len(ops) != element.record["first"]:
            return None  # not all of it is here yet
        (text,) = self._book.workshop.texts([op.update for op in ops], [len(ops)])
        return text, element.record.get(FRONT), prefix_of(ops)


def _left(op: PageOp, ops: Sequence[PageOp]) -> list[str]:
    """What an operation inserted, but for what was deleted again."""
    update = parse(op.update)
    gaps = sorted(gap for other in ops for gap in parse(other.update).deletes if gap.client == update.client)
    pieces = []
    for item in update.items:
        piece, clock, place = [], item.clock, 0
        for char in item.text:
            while place < len(gaps) and gaps[place].clock + gaps[place].length <= clock:
                place += 1
            if place == len(gaps) or clock < gaps[place].clock:
                piece.append(char)
            clock += units(char)
        pieces.append("".join(piece))
    return [piece for piece in pieces if piece]


def _earlier(value: Any) -> dict[bytes, KnownPrefix]:
    found: dict[bytes, KnownPrefix] = {}
    earlier = value.get("from") if isinstance(value, dict) else None
    for item in earlier if isinstance(earlier, list) else []:
        body = id_of(item[0]) if isinstance(item, list) and len(item) == 3 else None
        if body is not None:
            found[body] = decode_prefix(item[2])
    return found
