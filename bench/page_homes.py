"""Homes with pages in them: what three others wrote, signed and merged as if it had come over the wire. Made once in a work folder.

What a benchmark writes into one stays in it, so each measures in a copy.
"""

import json
import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bench.page_histories import AUTHORS, EPOCH, SCATTERED, History, history
from bench.processes import Measures, side
from bench.table import say
from mesh.core import clock
from mesh.core.feed import Link, batches, encode_range, sign_range
from mesh.core.ids import Feed, digest, first_prev, tag_of, text_id
from mesh.core.limits import HEAD_BYTES, SALT_BYTES
from mesh.core.operation import PAGES_LOG, Add, Body, Page, encode, kind_of
from mesh.core.statement import Member, sign
from mesh.store.author import Author
from mesh.store.home import create_home
from mesh.store.merge_outcome import Merged
from mesh.store.schema import VERSION
from mesh.store.store import wall_clock

NAME = "page"  # of the one page; of many it has a number behind it
_SPAN_MS = 30 * 86_400_000
_MERGED_AT_ONCE = 16  # ranges


@dataclass(frozen=True, slots=True)
class PageHome:
    """A home that has merged the pages and worked out none of them."""

    home: str
    edits: int
    empty_bytes: int  # of its database, before there was any page
    middle_ms: int  # when half of the edits were written

    def copy(self, folder: str) -> str:
        """A home of the same node in another folder, for one measurement."""
        shutil.rmtree(folder, ignore_errors=True)
        return shutil.copytree(self.home, folder)


def one_page(work: str, kind: str, edits: int) -> PageHome:
    """A home with one page of so many edits."""
    return _made(work, f"page-{kind}-{edits}", kind=kind, pages=1, edits=edits)


def many_pages(work: str, pages: int, edits: int) -> PageHome:
    """A home with so many pages of so many edits each."""
    return _made(work, f"pages-{pages}-{edits}", kind=SCATTERED, pages=pages, edits=edits)


def _made(work: str, name: str, kind: str, pages: int, edits: int) -> PageHome:
    folder = os.path.join(work, name)
    ready = os.path.join(folder, f"ready-{VERSION}.json")
    if not os.path.exists(ready):
        what = f"a page of {edits:,} edits, {kind}" if pages == 1 else f"{pages:,} pages of {edits:,} edits"
        say(f"making a home with {what}")
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        measures = side(write_pages, home=os.path.join(folder, "home"), kind=kind, pages=pages, edits=edits)
        with open(ready, "w", encoding="utf-8") as file:
            json.dump(measures, file)
    with open(ready, encoding="utf-8") as file:
        return PageHome(os.path.join(folder, "home"), pages * edits, **json.load(file))


def write_pages(home: str, kind: str, pages: int, edits: int) -> Measures:
    """Pages one after the other, with their edits spread over the last days."""
    end = wall_clock()
    made = create_home(home, "reader", now_ms=end - _SPAN_MS)
    author, root = made.author(), made.root_identity()
    members = [
        Member(root.public, end - _SPAN_MS, other.public, f"author-{number}") for number, other in enumerate(AUTHORS)
    ]
    author.merge_statements([sign(made.mesh, root, member).encode() for member in members])
    empty = used_bytes(author)
    feeds = [_Feed(made.mesh, number) for number in range(len(AUTHORS))]
    moments = iter(range(end - _SPAN_MS, end, _SPAN_MS // (pages * (edits + 1) + 1)))
    for number in range(pages):
        name = NAME if pages == 1 else f"{NAME}{number}"
        _write(feeds, name, history(kind, edits, seed=number + 1), moments)
    ranges = [data for feed in feeds for data in feed.ranges()]
    for first in range(0, len(ranges), _MERGED_AT_ONCE):
        outcomes = author.merge_ranges(ranges[first : first + _MERGED_AT_ONCE])
        if not all(isinstance(outcome, Merged) for outcome in outcomes):
            raise RuntimeError(f"not every range was merged: {outcomes}")
    author.store.sync()
    author.store.database.run("PRAGMA wal_checkpoint(TRUNCATE)")
    return {"empty_bytes": empty, "middle_ms": end - _SPAN_MS // 2}


def used_bytes(author: Author) -> int:
    """What a home's database takes, without what is free in it."""
    run = author.store.database.run
    return int((run("PRAGMA page_count").get - run("PRAGMA freelist_count").get) * run("PRAGMA page_size").get)


def _write(feeds: "Sequence[_Feed]", name: str, past: History, moments: Iterator[int]) -> None:
    """One page, with the heads that its authors had seen."""
    body = digest(f"bench body of {name}".encode())
    at = clock.pack(next(moments))
    feeds[0].append(at, Add(at, PAGES_LOG, {"name": name, "body": text_id(body), "first": 1}))
    tags: list[bytes] = []
    for edit in past.edits:
        page = Page(body, EPOCH, [tags[head][:HEAD_BYTES] for head in edit.heads], edit.update)
        tags.append(feeds[edit.author].append(clock.pack(next(moments)), page))


class _Feed:
    """What one author wrote, as it would arrive from it."""

    def __init__(self, mesh: bytes, number: int) -> None:
        self._mesh, self._author = mesh, AUTHORS[number]
        self._feed = Feed(self._author.public, EPOCH)
        self._links: list[Link] = []

    def append(self, at: int, body: Body) -> bytes:
        """One more operation; its tag. Stamps must grow."""
        at = max(at, self._links[-1].hlc + 1) if self._links else at
        raw = encode(body, digest(self._feed.node + at.to_bytes(8, "big"))[:SALT_BYTES])
        self._links.append(Link(at, kind_of(body), raw, digest(raw)))
        return tag_of(self._feed.node, digest(raw))

    def ranges(self) -> Iterator[bytes]:
        """All of it, signed and encoded."""
        prev, seq = first_prev(self._mesh, self._feed), 0
        for part in batches(self._links):
            item = sign_range(self._mesh, self._author, self._feed, seq + 1, prev, part)
            prev, seq = item.head, item.last
            yield encode_range(item)
