"""What a writer wants to say, before it has a place in a feed, and the request that makes a repeated write count once. Stamps, totals and salts are given at the append.

Named tuples, not dataclasses: importing those would be a fifth of the time of a command that writes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from mesh.core.errors import UsageError
from mesh.core.ids import digest


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


KEPT_SECONDS = 30 * 86_400
ID_BYTES = 16  # of randomness, where we make one up
_LEAST_CHARS, _MOST_CHARS = 8, 64
_SIGNS = str.maketrans("", "", "-_.")


class Request(NamedTuple):
    """One wish to write something. A repetition has the same id and the same content."""

    id: str
    content: bytes  # see `content_of`
    seconds: int = KEPT_SECONDS  # how long its receipt is kept


def content_of(kind: str, words: Mapping[str, Any]) -> bytes:
    """A digest of what was said. An empty value is the same as none. Folder, session and agent are not part of it:

    node and command find them in different ways.
    """
    said = sorted((name, value) for name, value in words.items() if not _is_nothing(value))
    return digest(ascii([kind, said]).encode())


def _is_nothing(value: object) -> bool:
    return value is None or value is False or value in ("", [])  # not 0, which is a number


def checked_id(text: str) -> str:
    """An id as a script may choose one."""
    allowed = text.isascii() and text.translate(_SIGNS).isalnum()
    if not allowed or not _LEAST_CHARS <= len(text) <= _MOST_CHARS:
        raise UsageError(
            f"{text[:80]!r} cannot be a request id",
            f"{_LEAST_CHARS} to {_MOST_CHARS} letters, digits and - _ . , a new one for each request: $(uuidgen)",
        )
    return text
