"""OR-Set, LWW-Register and G-Counter as plain values: immutable, mergeable, usable on their own.

The store folds operations into tables with the same rules; the tests hold the two against each other.
After Shapiro et al., "A comprehensive study of Convergent and Commutative Replicated Data Types" (2011).
"""

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Generic, TypeVar

T = TypeVar("T", bound=Hashable)


@dataclass(frozen=True)  # no slots: `ORSet[str]()` would not work with them in Python 3.11
class ORSet(Generic[T]):
    """A set where a remove takes away only the adds it has seen.

    Every add carries a tag of its own; a remove names tags. A concurrent add has another tag and
    survives.
    """

    added: frozenset[tuple[T, Hashable]] = frozenset()
    removed: frozenset[Hashable] = frozenset()

    def add(self, element: T, tag: Hashable) -> "ORSet[T]":
        """The set with `element` in it, under a tag nobody else uses."""
        return ORSet(self.added | {(element, tag)}, self.removed)

    def remove(self, element: T) -> "ORSet[T]":
        """The set without the adds of `element` seen here."""
        return ORSet(self.added, self.removed | self.tags(element))

    def tags(self, element: T) -> frozenset[Hashable]:
        """The tags under which `element` was added and that are known here."""
        return frozenset(tag for known, tag in self.added if known == element)

    def merge(self, other: "ORSet[T]") -> "ORSet[T]":
        """Everything either side has seen."""
        return ORSet(self.added | other.added, self.removed | other.removed)

    def elements(self) -> frozenset[T]:
        """What is in the set."""
        return frozenset(element for element, tag in self.added if tag not in self.removed)

    def __contains__(self, element: object) -> bool:
        return element in self.elements()

    def __iter__(self) -> Iterator[T]:
        return iter(self.elements())

    def __len__(self) -> int:
        return len(self.elements())


@dataclass(frozen=True)
class LWWRegister(Generic[T]):
    """One value; the write with the greatest `(stamp, writer)` wins.

    `writer` breaks ties, so it must be unique to a write at that stamp: a node key with a body hash.
    """

    value: T | None = None
    stamp: int = 0
    writer: bytes = b""

    def set(self, value: T, stamp: int, writer: bytes) -> "LWWRegister[T]":
        """The register after a write."""
        return self.merge(LWWRegister(value, stamp, writer))

    def merge(self, other: "LWWRegister[T]") -> "LWWRegister[T]":
        """The later of the two."""
        return other if (other.stamp, other.writer) > (self.stamp, self.writer) else self


def _no_slots() -> Mapping[Any, int]:
    return MappingProxyType({})


@dataclass(frozen=True)
class GCounter(Generic[T]):
    """A counter that only grows: one running total a slot, merged by maximum, read as the sum."""

    slots: Mapping[T, int] = field(default_factory=_no_slots)

    def add(self, slot: T, amount: int = 1) -> "GCounter[T]":
        """The counter after `slot` has counted `amount` more."""
        if amount < 0:
            raise ValueError("a G-Counter only grows")
        return self.merge(GCounter({slot: self.slots.get(slot, 0) + amount}))

    def merge(self, other: "GCounter[T]") -> "GCounter[T]":
        """The greatest total known for every slot."""
        return GCounter(MappingProxyType(dict(_greatest(self.slots, other.slots))))

    @property
    def value(self) -> int:
        """The sum over all slots."""
        return sum(self.slots.values())

    def __hash__(self) -> int:
        return hash(frozenset(self.slots.items()))


def _greatest(mine: Mapping[T, int], theirs: Mapping[T, int]) -> Iterable[tuple[T, int]]:
    for slot in {*mine, *theirs}:
        yield slot, max(mine.get(slot, 0), theirs.get(slot, 0))
