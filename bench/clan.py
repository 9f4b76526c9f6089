"""A clan's home with so many records: seven members' signed feeds over the last 60 days. Made once in a work folder.

What a benchmark writes into one stays in it. It is made anew after a day, so that "the last two days" are not empty.
"""

import json
import os
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from bench.learnings import MEMBERS, OFTEN, Lessons, Written, learnings
from bench.processes import Measures, side
from bench.table import say
from clan_learnings.records.record import CORRECTIONS
from mesh.core import clock
from mesh.core.draft import Assignment, Draft, Increment, NewRecord
from mesh.core.feed import Link, batches, encode_range, sign_range
from mesh.core.identity import Identity
from mesh.core.ids import Feed, digest, first_prev
from mesh.core.operation import Add, Body, Count, encode, kind_of
from mesh.core.statement import Member, sign
from mesh.store.home import create_home
from mesh.store.merge_outcome import Merged
from mesh.store.schema import view_tables
from mesh.store.store import wall_clock

_BATCHES, _BATCH = 100, (64, 8192)  # own records of a batch share their time, so even a small home has several
_SPAN_MS = 60 * 86_400_000
_FRESH_SECONDS = 86_400
_SCHEMA = digest(view_tables("main").encode()).hex()  # migrating a million records would be in somebody's time
_ARCHIVED = 4  # one in so many of the lessons of the many: what `doctor` would have asked for by then


@dataclass(frozen=True, slots=True)
class Clan:
    """A home that holds what all wrote; its own node is one of the seven."""

    home: str
    records: int
    operations: int
    disk_bytes: int


def clan(work: str, records: int) -> Clan:
    """The home of that size in this work folder, made if it is not there, or old, or of another schema."""
    folder = os.path.join(work, f"clan-{records}")
    ready = os.path.join(folder, "ready.json")
    if not _usable(ready):
        say(f"making a clan's home with {records:,} records")
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        measures = side(write_clan, home=os.path.join(folder, "home"), records=records)
        with open(ready, "w", encoding="utf-8") as file:
            json.dump({"schema": _SCHEMA, "measures": measures}, file)
    with open(ready, encoding="utf-8") as file:
        found = json.load(file)["measures"]
    return Clan(os.path.join(folder, "home"), records, found["operations"], found["disk_bytes"])


def _usable(ready: str) -> bool:
    try:
        with open(ready, encoding="utf-8") as file:
            schema = json.load(file)["schema"]
        return bool(schema == _SCHEMA) and time.time() - os.path.getmtime(ready) < _FRESH_SECONDS
    except OSError:
        return False


def write_clan(home: str, records: int) -> Measures:
    """Batch by batch in the order of time: the others' ranges are merged, our own records appended."""
    end = wall_clock()
    now = end - _SPAN_MS
    made = create_home(home, "member-0", now_ms=now)
    author = made.author(clock=lambda: now)
    root = made.root_identity()
    others = [_Other(made.mesh, number) for number in range(1, MEMBERS)]
    members = [
        Member(root.public, now, other.identity.public, f"member-{number}") for number, other in enumerate(others, 1)
    ]
    author.merge_statements([sign(made.mesh, root, member).encode() for member in members])
    source = learnings(records)
    size = min(max(records // _BATCHES, _BATCH[0]), _BATCH[1])
    written = 0
    while batch := list(islice(source, size)):
        now = _at_ms(end, batch[-1])
        ranges = [
            data
            for number, other in enumerate(others, 1)
            for data in other.ranges([item for item in batch if item.member == number], end)
        ]
        outcomes = author.merge_ranges(ranges)
        merged = [outcome.count for outcome in outcomes if isinstance(outcome, Merged)]
        if len(merged) != len(ranges):
            raise RuntimeError(f"not every range was merged: {outcomes}")
        own = [draft for item in batch if item.member == 0 for draft in _drafts(item)]
        if own:
            author.append(own)
        written += sum(merged) + len(own)
    lessons = Lessons()
    slugs = [lessons.lesson(number).slug for number in range(0, OFTEN, _ARCHIVED)]
    author.append([Assignment(f"pattern:{slug}", "archived", "nobody does this any more") for slug in slugs])
    store = author.store
    store.sync()
    store.database.run("PRAGMA wal_checkpoint(TRUNCATE)")
    found = store.database.run("SELECT count(*) FROM elements").get
    if found != records:
        raise RuntimeError(f"{found} records live instead of {records}")
    return {"operations": written + len(slugs), "disk_bytes": os.path.getsize(store.database.path)}


class _Other:
    """Another member: its feed, as it would arrive from it."""

    def __init__(self, mesh: bytes, number: int) -> None:
        self.identity = Identity(digest(f"bench member {number}".encode()))
        self._mesh = mesh
        self._feed = Feed(self.identity.public, 1)
        self._prev, self._seq, self._stamp = first_prev(mesh, self._feed), 0, 0
        self._totals: dict[str, int] = {}

    def ranges(self, written: Sequence[Written], end_ms: int) -> list[bytes]:
        """The next of its records, signed and encoded."""
        links = [self._link(draft, _at_ms(end_ms, item)) for item in written for draft in _drafts(item)]
        encoded = []
        for part in batches(links):
            item = sign_range(self._mesh, self.identity, self._feed, self._seq + 1, self._prev, part)
            self._prev, self._seq = item.head, item.last
            encoded.append(encode_range(item))
        return encoded

    def _link(self, draft: Draft, at_ms: int) -> Link:
        self._stamp = clock.tick(self._stamp, at_ms)
        body: Body
        match draft:
            case NewRecord(log=log, record=record):
                body = Add(self._stamp, log, record)
            case Increment(key=key, amount=amount):
                self._totals[key] = self._totals.get(key, 0) + amount
                body = Count(key, self._totals[key])
            case _:
                raise TypeError(draft)
        raw = encode(body, digest(self._feed.node + self._stamp.to_bytes(8, "big"))[:16])
        return Link(self._stamp, kind_of(body), raw, digest(raw))


def _drafts(item: Written) -> list[Draft]:
    """The record, and for a correction the count of its pattern, as `mesh correct` writes them."""
    drafts: list[Draft] = [NewRecord(item.log, item.record)]
    if item.log == CORRECTIONS:
        drafts.append(Increment(f"pattern:{item.record['pattern']}"))
    return drafts


def _at_ms(end_ms: int, item: Written) -> int:
    return end_ms - int(_SPAN_MS * (1 - item.moment))
