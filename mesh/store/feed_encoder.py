"""Turns drafts into links of one feed. Stamps, totals and salts are given here, within the write transaction."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from mesh.core import clock, operation
from mesh.core.draft import Assignment, Draft, Increment, NewRecord, PageEdit, Removal, Republished
from mesh.core.errors import PageMoved, QuotaReached, UsageError
from mesh.core.feed import Link
from mesh.core.ids import digest
from mesh.core.limits import OPERATION_BYTES, SALT_BYTES, TAGS_PER_BODY, TEXT_CHARS, TOTAL_MAX
from mesh.core.member_limits import share_weight
from mesh.core.operation import Add, Body, Count, Ignored, Page, Parsed, Remove, Set, encode, kind_of, parse
from mesh.store.feeds import FeedRow

if TYPE_CHECKING:
    from mesh.store.author import Author


class Allowance(NamedTuple):
    """How many bytes a node may still write, when it may write more, and how many more."""

    free: int
    grows_ms: int
    quota: int
    spared: int = 0  # of what is free: left to others of this node


class FeedEncoder:
    """Turns drafts into links of one feed, one after the other: stamps and totals go on from draft to draft."""

    def __init__(self, author: Author, row: FeedRow, stamp: int, allowance: Allowance | None) -> None:
        """`stamp`: by which those given here are greater. `allowance`: None if nobody counts what is written."""
        self._author = author
        self._row = row
        self._now = author.store.clock()
        self._stamp = stamp
        self._allowance = allowance
        self._written = 0
        self._totals: dict[str, int] = {}
        self._pages: set[bytes] = set()  # written to by earlier batches of this transaction
        self.links: list[Link] = []
        self.parsed: list[Parsed | None] = []  # what they say; None: not read yet

    def write(self, drafts: Sequence[Draft]) -> None:
        """All drafts of a batch, or none if one cannot be written."""
        if not drafts:
            raise UsageError("nothing to write", "give at least one record")
        links, read, totals, stamp = [], [], dict(self._totals), self._stamp
        for draft in drafts:
            written = draft.at if isinstance(draft, Republished) else 0
            stamp = clock.tick(max(stamp, written - 1), self._now)
            kind, body, parsed = self._body(draft, stamp, totals)
            links.append(Link(stamp, kind, body, digest(body)))
            read.append(parsed)
        heavy = sum(share_weight(link.body) for link in links)
        if self._allowance is not None and self._written + heavy > self._allowance.free - self._allowance.spared:
            raise _quota_reached(self._allowance)
        self._written += heavy
        self._totals, self._stamp = totals, stamp
        self._pages |= {draft.page for draft in drafts if isinstance(draft, PageEdit)}
        self.links += links
        self.parsed += read

    def _body(self, draft: Draft, stamp: int, totals: dict[str, int]) -> tuple[int, bytes, Parsed | None]:
        body: Body
        match draft:
            case Republished(kind=kind, body=raw):
                return kind, raw, None
            case NewRecord(log=log, record=record, at_ms=at_ms):
                body = Add(min(stamp, clock.pack(at_ms)) if at_ms > 0 else stamp, log, record)
            case Removal(tags=tags, reason=reason):
                body = Remove(sorted(set(tags)), reason)
            case Assignment(target=target, field=field, value=value):
                body = Set(stamp, target, field, value)
            case Increment(key=key, amount=amount):
                _require_increment(key, amount)
                if key not in totals:
                    totals[key] = self._author.total(self._row, key)
                totals[key] += amount
                body = Count(key, totals[key])
            case PageEdit():
                self._require_unmoved(draft)
                body = Page(draft.page, draft.epoch, list(draft.heads), draft.update)
        return kind_of(body), *_checked(body, stamp)

    def _require_unmoved(self, edit: PageEdit) -> None:
        """What an update inserts is numbered on from our last update of the same page: there may be none it did not know."""
        since = self._author.has_written(self._row, edit.page, edit.after)
        if edit.epoch != self._row.feed.epoch or since or edit.page in self._pages:
            raise PageMoved("the page was written to in between", "repeat the command")


def _quota_reached(allowance: Allowance) -> QuotaReached:
    from mesh.store.republication import shown

    size, again = f"{allowance.quota / 2**20:g} MB", shown(allowance.grows_ms)
    if allowance.spared:
        return QuotaReached(
            f"this node has half of its quota of {size} left, which harvests and imports leave to what is written live;"
            f" they may go on from {again} on",
            "nothing is lost: what is left is written then; or have the quota raised on an admin's node: mesh quota NODE SIZE",
            again_ms=allowance.grows_ms,
        )
    return QuotaReached(
        f"this node has written as much as it may by now: its quota is {size}, and as much again from {again} on",
        "wait until then, or have it raised on an admin's node: mesh quota NODE SIZE",
        again_ms=allowance.grows_ms,
    )


def _require_increment(key: str, amount: int) -> None:
    """Before the total is looked up under it: a key must be a text that can be written at all."""
    if not operation.is_text(key) or not key:
        raise UsageError("this cannot be written: not a key", _HINTS["not a key"])
    if type(amount) is not int or amount < 1:
        raise UsageError("a counter only grows", "count by 1 or more")
    try:
        key.encode()
    except UnicodeError as error:
        raise UsageError(f"this cannot be written: {error}") from error


def _checked(body: Body, stamp: int) -> tuple[bytes, Parsed]:
    """Encode a body of ours and read it back as any peer will: what they would ignore is not written."""
    if isinstance(body, Count) and body.total > TOTAL_MAX:
        raise UsageError(f"the counter {body.key!r} cannot grow beyond {TOTAL_MAX}", "count under another key")
    if isinstance(body, Remove) and len(body.tags) > TAGS_PER_BODY:
        raise UsageError(f"at most {TAGS_PER_BODY} records can be removed at once", "repeat the command with fewer")
    try:
        raw = encode(body, os.urandom(SALT_BYTES))
    except (TypeError, ValueError, OverflowError, UnicodeError) as error:
        raise UsageError(
            f"this cannot be written: {error}", "use whole characters, and numbers of at most 64 bits"
        ) from error
    if len(raw) > OPERATION_BYTES:
        raise UsageError(
            f"this is {len(raw)} bytes; one operation holds at most {OPERATION_BYTES}",
            "split the text, or keep it in a file and record where it is",
        )
    parsed = parse(operation.kind_of(body), stamp, raw)
    if isinstance(parsed, Ignored):
        raise UsageError(f"this cannot be written: {parsed.reason}", _HINTS.get(parsed.reason, ""))
    return raw, parsed


_SHORT = f"it is a text of 1 to {TEXT_CHARS} characters"
_HINTS = {
    "not a log name": "a log is named by up to 64 of a-z 0-9 . _ -",
    "not a record": "a record holds texts, finite numbers, true, false, null, and lists or objects of them, eight deep at most",
    "not a value": "a value is a text, a finite number, true, false, null, or a list or object of them, eight deep at most",
    "not a key": _SHORT,
    "not a field": _SHORT,
    "not a target": _SHORT,
    "not a reason": f"a reason has at most {TEXT_CHARS} characters",
    "not a list of tags": "name at least one record",
    "not a total": f"counters go up to {TOTAL_MAX}",
}
