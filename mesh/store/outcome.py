"""What became of a merge, as values: expected outcomes are not exceptions."""

from dataclasses import dataclass

from mesh.core.ids import Feed


@dataclass(frozen=True, slots=True)
class Merged:
    """So many operations, or one statement, are new and count."""

    count: int


@dataclass(frozen=True, slots=True)
class AlreadyKnown:
    """Nothing new."""


@dataclass(frozen=True, slots=True)
class Gap:
    """Operations `first` to `last` of the feed are missing; what came after them is kept until they arrive."""

    feed: Feed
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Waiting:
    """Authentic and kept, but not counting yet; `merged` operations before it do."""

    reason: str
    merged: int = 0


@dataclass(frozen=True, slots=True)
class Clipped:
    """Authentic and kept, but after the end decreed for its feed; `merged` operations before it count."""

    reason: str
    merged: int = 0


@dataclass(frozen=True, slots=True)
class Forked:
    """The author signed two histories; the proof is kept and the feed ends before `seq`."""

    feed: Feed
    seq: int


@dataclass(frozen=True, slots=True)
class Refused:
    """Not kept."""

    reason: str


Outcome = Merged | AlreadyKnown | Gap | Waiting | Clipped | Forked | Refused
