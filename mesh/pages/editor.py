"""Writing pages: create, edit, rename, remove, join. Every text passes redaction before it becomes an operation.

An edit is built outside the writers' lock, by the worker. If another process of this node has written to the page by the
time it is to be appended, it is built again.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, NamedTuple

from clan_learnings.redaction import SecretCount, describe, redact
from mesh.core.draft import Assignment, Draft, NewRecord, PageEdit, Removal
from mesh.core.errors import HomeBusy, PageMoved, UsageError
from mesh.core.ids import Feed, text_id
from mesh.core.limits import OPERATION_BYTES, TEXT_CHARS
from mesh.core.operation import PAGES_LOG
from mesh.pages.book import FRONT, Book, PageInfo, PageText, is_front, whole
from mesh.pages.edit_acceptance import KnownPrefix, encode_prefix, prefix_of
from mesh.pages.edit_codec import client_of
from mesh.pages.page_fields import PageFields, split
from mesh.pages.page_names import checked
from mesh.pages.text_difference import edits
from mesh.pages.text_matching import Matching
from mesh.pages.text_merging import merge
from mesh.pages.worker_client import WorkerDied

MOST_CHARS = 1024 * 1024  # of a page, as one may leave it; several at once may bring it above
_UPDATE_BYTES = OPERATION_BYTES - 512  # what else an operation holds fits into the rest
_TRIES = 50
_DEATHS = 3  # of workers, until an edit is given up


class Saved(NamedTuple):
    """What became of an edit: the page's text now, whether anything was written, and what was taken out of it."""

    text: str
    changed: bool
    findings: tuple[SecretCount, ...]


class Editor:
    """Writes what a book shows."""

    def __init__(self, book: Book) -> None:
        self.book = book
        self._deaths = 0

    def new(self, name: str, text: str = "") -> tuple[PageInfo, Saved]:
        """A new page, also if there is one of that name: then it is shown under another. With its first text, or not at all."""
        name = _named(name)
        _require_room(text)
        clean = redact(text)
        front, plain = split(clean.text)
        body = os.urandom(32)
        first = {key: front.fields[key] for key in (*front.order, *front.fields)}  # a map keeps its order
        for _ in range(_TRIES):
            try:
                updates = self._first(body, plain)
                record = {"name": name, "body": text_id(body), "first": len(updates)} | (
                    {FRONT: first} if first else {}
                )
                receipt = self.book.author.append([NewRecord(PAGES_LOG, record), *updates])
            except (PageMoved, WorkerDied) as error:  # a new epoch: there is nobody else to write to this page
                self._outlive(error)
                continue
            finally:
                self.book.texts.closed(body)
            info = self._made(receipt.tags[0], name, body)
            return info, Saved(self.book.read(info).text, True, clean.findings)
        raise _busy(name)

    def _made(self, tag: bytes, name: str, body: bytes) -> PageInfo:
        """A page that was just written. It may have ended in another one already: a sidecar joins twins at once."""
        for info in self.book.pages():
            if info.id == tag:
                return info
        at = next((element.at for element in self.book.shelf.elements(tag)), 0)
        return PageInfo(tag, name, name, body, at, self.book.author.store.own or b"")

    def save(self, info: PageInfo, base: str, mine: str) -> Saved:
        """Make the change from `base` to `mine` to the page as it is now."""
        (old_front, old), (new_front, new) = split(base), split(whole(mine))
        for _ in range(_TRIES):
            page = self.book.read(info)
            front = _changed(page.front, old_front, new_front)
            plain = whole(merge(old, new, whole(page.plain)))
            if (plain, front) == (whole(page.plain), page.front):
                return Saved(page.text, False, ())
            clean, fields = redact(plain), {key: redact(value) for key, value in front.fields.items()}
            front = PageFields({key: found.text for key, found in fields.items()}, front.order)
            findings = (*clean.findings, *(finding for found in fields.values() for finding in found.findings))
            if (clean.text, front) == (whole(page.plain), page.front):
                return Saved(page.text, False, findings)
            if self._write(info, page, clean.text, front):
                return Saved(self.book.read(info).text, True, findings)
        raise _busy(info.shown)

    def append(self, info: PageInfo, text: str) -> Saved:
        """One more piece at the end."""
        page = self.book.read(info)
        return self.save(info, page.text, page.text + whole(text))

    def rename(self, info: PageInfo, name: str) -> PageInfo:
        """Call a page otherwise."""
        self.book.author.append([Assignment(info.id, "name", _named(name))])
        return next((page for page in self.book.pages() if page.id == info.id), info._replace(name=name, shown=name))

    def remove(self, info: PageInfo, reason: str) -> None:
        """Take a page away. Its text stays in the history: `restore`."""
        self.book.author.append([Removal((info.id,), redact(reason).text[:TEXT_CHARS])])

    def restore(self, info: PageInfo) -> PageInfo:
        """Restore a removed page, with the text it had."""
        made, _ = self.new(info.name, self.book.read(info).text)
        return made

    def merge(self, kept: PageInfo, other: PageInfo) -> Saved:
        """Bring what two pages say into one. What both say stands once; the other page ends in the one that is kept."""
        if kept.id == other.id:
            raise UsageError("these are the same page", "name two: mesh page merge NAME OTHER")
        joining = self.joining(kept, other)  # before the text is read: what comes in between is at worst made twice
        theirs = self.book.read(other)
        for _ in range(_TRIES):
            page = self.book.read(kept)
            plain = _united(whole(page.plain), whole(theirs.plain))
            missing = {key: value for key, value in theirs.front.fields.items() if key not in page.front.fields}
            front = PageFields(page.front.fields | missing, (*page.front.order, *missing))
            if self._write(kept, page, plain, front, [joining]):
                return Saved(self.book.read(kept).text, True, ())
        raise _busy(kept.shown)

    def joining(self, kept: PageInfo, other: PageInfo, seen: KnownPrefix | None = None) -> Assignment:
        """What ends a page in another one. `seen`: what of its text is in the other already; everything, if nothing is said."""
        value: dict[str, Any] = {"page": text_id(kept.id), "body": text_id(other.body)}
        if seen is None:
            seen = prefix_of(self.book.texts.history(other.body))
            value[FRONT] = {
                name: field.at for name, field in self.book.shelf.fields(other.id).items() if is_front(name)
            }
        return Assignment(other.id, "into", value | {"seen": encode_prefix(seen)})

    def settle(self, info: PageInfo) -> None:
        """Somebody has read over what was edited at once, or erased at once: then a new generation follows both."""
        if self.book.unheard(info):
            info = info._replace(body=self.begin(info, lambda plain: plain))
        ledger, _ = self.book.texts.opened(info.body)
        self.book.author.append([Assignment(info.id, "settled", [head.hex() for head in ledger.heads])])

    def begin(self, info: PageInfo, clean: Callable[[str], str]) -> bytes:
        """A new generation of a page's text, with nothing in it of how it came to be. Returns the id of its body."""
        body = os.urandom(32)
        for _ in range(_TRIES):
            earlier = [[text_id(item.body), item.at, item.seen] for item in self.book.generations(info)]
            earlier[-1][2] = encode_prefix(prefix_of(self.book.texts.history(info.body)))  # then the text: see `merge`
            earlier[:0] = [[text_id(item.body), item.at, item.seen] for item in self.book.unheard(info)]
            try:
                updates = self._first(body, clean(self.book.texts.plain(info.body)))
                value = {"body": text_id(body), "from": earlier, "first": len(updates)}
                self.book.author.append([*updates, Assignment(info.id, "body", value)])
            except (PageMoved, WorkerDied) as error:
                self._outlive(error)
                continue
            finally:
                self.book.texts.closed(body)
            return body
        raise _busy(info.shown)

    def _write(
        self, info: PageInfo, page: PageText, plain: str, front: PageFields, also: list[Assignment] | None = None
    ) -> bool:
        """Append what brings a page to this text and these fields. False: it has moved on, to be tried again."""
        if len(plain) > len(page.plain):  # one that is too long already may be made shorter
            _require_room(plain)
        self._leave_held(page)
        place = self._place()  # before the text is read: what we write behind this place is not in it
        ledger, now = self.book.texts.opened(info.body)
        if now != page.plain:
            return False
        try:
            drafts: list[Draft] = [*self._updates(info.body, now, plain, place, tuple(ledger.heads))]
            drafts += _assignments(info, page.front, front)
            self.book.author.append([*drafts, *(also or ())])
        except (PageMoved, WorkerDied) as error:
            self.book.texts.closed(info.body)
            self._outlive(error)
            return False
        except BaseException:  # what the worker has was never written
            self.book.texts.closed(info.body)
            raise
        self._deaths = 0
        return True

    def _outlive(self, error: Exception) -> None:
        """A worker that was killed is replaced. One that dies time and again dies of the edit."""
        self._deaths += isinstance(error, WorkerDied)
        if self._deaths > _DEATHS:
            self._deaths = 0
            raise error

    def _leave_held(self, page: PageText) -> None:
        """Updates of ours that are held have taken places in our feed's numbering that the worker knows nothing of."""
        own = self.book.author.store.own
        for trouble in page.troubles:
            if trouble.sort == "held" and trouble.node == own:
                self.book.author.leave(self.book.shelf.epoch(trouble.op))

    def _place(self) -> tuple[Feed, int]:
        """Where the next operation will stand, and so the client id of what it inserts."""
        self.require_member()
        feed, seq = self.book.author.place()
        self.book.texts.writer = client_of(feed.node, feed.epoch)
        return feed, seq

    def require_member(self) -> None:
        """What does not count is in no text, so a second edit would take the place of the first one."""
        self.book.author.require_may_write()
        if not self.book.is_member():
            raise UsageError(
                "this node is not a member yet: what it writes counts nowhere, so it can't edit pages",
                f"mesh join TOKEN, or where the root key is: mesh admit {text_id(self.book.author.store.own or b'')}",
            )

    def _first(self, body: bytes, text: str) -> list[PageEdit]:
        """What a new body begins with."""
        place = self._place()
        self.book.workshop.open(body, None, [], client=self.book.texts.writer)
        return self._updates(body, "", text, place, ())

    def _updates(
        self, body: bytes, old: str, new: str, place: tuple[Feed, int], heads: tuple[bytes, ...]
    ) -> list[PageEdit]:
        changes = edits(old, new)
        if not changes:
            return []
        feed, seq = place
        updates, text = self.book.workshop.edit(body, client_of(feed.node, feed.epoch), changes, _UPDATE_BYTES)
        if text != new:
            raise AssertionError("the worker made something else of an edit")
        self.book.texts.expect(body, updates, text)
        return [PageEdit(body, feed.epoch, seq, heads, update) for update in updates]


def _changed(now: PageFields, old: PageFields, new: PageFields) -> PageFields:
    """The fields as they are now, with what somebody has changed from `old` to `new`."""
    fields = dict(now.fields)
    for key in {*old.fields, *new.fields}:
        if old.fields.get(key) != new.fields.get(key):
            if key in new.fields:
                fields[key] = new.fields[key]
            else:
                fields.pop(key, None)
    order = now.order if old.order == new.order else new.order
    return PageFields(fields, tuple(key for key in order if key in fields))


def _assignments(info: PageInfo, old: PageFields, new: PageFields) -> list[Assignment]:
    keys = sorted({*old.fields, *new.fields})
    changed = [key for key in keys if old.fields.get(key) != new.fields.get(key)]
    drafts = [Assignment(info.id, f"{FRONT}.{key}", new.fields.get(key)) for key in changed]
    return drafts + ([Assignment(info.id, FRONT, list(new.order))] if new.order != old.order else [])


def _named(name: str) -> str:
    """A name that may go out: it stands in the clear in every list, and in the names of files."""
    name = checked(name)
    found = redact(name).findings
    if found:
        raise UsageError(f"the name holds a secret: {describe(found)}", "choose another name")
    return name


def _require_room(text: str) -> None:
    if len(text) > MOST_CHARS:
        raise UsageError(
            f"a page has at most {MOST_CHARS:,} characters; this has {len(text):,}", "split it into several pages"
        )


def _united(kept: str, other: str) -> str:
    """The lines of two texts. Those that both have in the same order stand once."""
    ours, theirs = kept.split("\n")[:-1], other.split("\n")[:-1]
    # What has no letters stands everywhere, and would bring together what has nothing to do with each other.
    left = [line if any(map(str.isalnum, line)) else f"\n{place}" for place, line in enumerate(ours)]
    right = [line if any(map(str.isalnum, line)) else f"\n\n{place}" for place, line in enumerate(theirs)]
    lines: list[str] = []
    at = new_at = 0
    for place, new_place in [*Matching().pairs(left, right), (len(ours), len(theirs))]:
        gap, new_gap = ours[at:place], theirs[new_at:new_place]
        lines += gap if gap == new_gap else gap + new_gap
        lines += ours[place : place + 1]
        at, new_at = place + 1, new_place + 1
    return "".join(f"{line}\n" for line in lines)


def _busy(name: str) -> HomeBusy:
    return HomeBusy(f"{name} is being written to all the time by other processes", "repeat the command")
