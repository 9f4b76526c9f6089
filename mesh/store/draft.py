"""What a writer wants to say, before it has a place in a feed: stamps, totals and salts are given at the append."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class NewRecord:
    """One more element in a log."""

    log: str
    record: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Removal:
    """Elements to take out, by the tags that were seen."""

    tags: tuple[bytes, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class Assignment:
    """A field of a record (by its tag) or of a named key gets a value."""

    target: bytes | str
    field: str
    value: Any


@dataclass(frozen=True, slots=True)
class Increment:
    """A counter grows by an amount."""

    key: str
    amount: int = 1


@dataclass(frozen=True, slots=True)
class Republished:
    """A body of our own from a clipped part of one of our feeds, byte for byte."""

    kind: int
    body: bytes


Draft = NewRecord | Removal | Assignment | Increment | Republished
