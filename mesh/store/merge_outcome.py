"""What became of a merge, as values: expected outcomes are not exceptions.

Written out rather than as dataclasses: importing those would be a fifth of the time of a command that writes.
Not tuples either: two outcomes of different sorts must never be equal.
"""

from mesh.core.ids import Feed


class _Outcome:
    """Equal when of the same sort with the same fields."""

    __slots__: tuple[str, ...] = ()

    def _fields(self) -> tuple[object, ...]:
        return tuple(getattr(self, name) for name in self.__slots__)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and isinstance(other, _Outcome) and self._fields() == other._fields()

    def __hash__(self) -> int:
        return hash((type(self), self._fields()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}{self._fields()}"


class Merged(_Outcome):
    """So many operations, or one statement, are new and count."""

    __slots__ = ("count",)

    def __init__(self, count: int) -> None:
        self.count = count


class AlreadyKnown(_Outcome):
    """Nothing new."""


class Gap(_Outcome):
    """Operations `first` to `last` of the feed are missing; what came after them is kept until they arrive."""

    __slots__ = ("feed", "first", "last")

    def __init__(self, feed: Feed, first: int, last: int) -> None:
        self.feed = feed
        self.first = first
        self.last = last


class Waiting(_Outcome):
    """Authentic and kept, but not counting yet; `merged` operations before it do."""

    __slots__ = ("merged", "reason")

    def __init__(self, reason: str, merged: int = 0) -> None:
        self.reason = reason
        self.merged = merged


class Clipped(_Outcome):
    """Authentic and kept, but after the end decreed for its feed; `merged` operations before it count."""

    __slots__ = ("merged", "reason")

    def __init__(self, reason: str, merged: int = 0) -> None:
        self.reason = reason
        self.merged = merged


class Forked(_Outcome):
    """The author signed two histories; the proof is kept and the feed ends before `seq`."""

    __slots__ = ("feed", "seq")

    def __init__(self, feed: Feed, seq: int) -> None:
        self.feed = feed
        self.seq = seq


class Refused(_Outcome):
    """Not kept."""

    __slots__ = ("reason",)

    def __init__(self, reason: str) -> None:
        self.reason = reason


Outcome = Merged | AlreadyKnown | Gap | Waiting | Clipped | Forked | Refused
