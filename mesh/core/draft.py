"""What a writer wants to say, before it has a place in a feed: stamps, totals and salts are given at the append.

Named tuples, not dataclasses: importing those would be a fifth of the time of a command that writes.
"""

from __future__ import annotations

from mesh.core.tuples import NamedTuple

TYPE_CHECKING = False  # see `mesh`
if TYPE_CHECKING:
    from typing import Any


class NewRecord(NamedTuple):
    """One more element in a log."""

    log: str
    record: dict[str, Any]
    at_ms: int = 0  # when what it tells of happened, if that was before now: it stands among the records of that time


class Removal(NamedTuple):
    """Elements to take out, by the tags that were seen."""

    tags: tuple[bytes, ...]
    reason: str


class Assignment(NamedTuple):
    """A field of a record (by its tag) or of a named key gets a value."""

    target: bytes | str
    field: str
    value: Any


class Increment(NamedTuple):
    """A counter grows by an amount."""

    key: str
    amount: int = 1


class Republished(NamedTuple):
    """A body of our own from a clipped part of one of our feeds, byte for byte."""

    kind: int
    body: bytes
    at: int  # when it was first written; 0 where that does not matter


class PageEdit(NamedTuple):
    """One update of a page's text, built for a place in our feed. Refused if we have written to the page in between."""

    page: bytes
    epoch: int  # of the feed it was built for
    after: int  # the last operation that feed held then
    heads: tuple[bytes, ...]
    update: bytes


Draft = NewRecord | Removal | Assignment | Increment | Republished | PageEdit
