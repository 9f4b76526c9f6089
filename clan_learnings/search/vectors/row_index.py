"""The row of each record's vector, by the first bytes of its tag: 20 bytes a record, where a dict takes two hundred. No files here.

A row that is found may be out of date, or of another record with the same first bytes: the caller has to look at it.
"""

from collections.abc import Callable, Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from clan_learnings.search.vectors.vector_wiping import TAG_BYTES

_RECENT = 4096  # as many are kept apart before all are sorted again, and a sixteenth more
_FIRST_CAPACITY = 1024

Numbers = NDArray[np.int64]
Starts = NDArray[np.uint64]
Check = Callable[[Numbers, Numbers], NDArray[np.bool_]]  # rows, and for the how manieth tag each was found


class RowIndex:
    """Tags and rows. One thread at a time may change them; any number may ask meanwhile."""

    def __init__(self) -> None:
        self._starts = np.zeros(_FIRST_CAPACITY, np.uint64)  # by row; 0: free
        none = np.zeros(0, np.uint64)
        self._table: tuple[Starts, NDArray[np.int32], dict[bytes, int]] = (none, np.zeros(0, np.int32), {})

    def put(self, tags: Sequence[bytes], numbers: Numbers) -> None:
        """These tags are in these rows."""
        self.load(starts_of(tags), numbers)
        table, _, recent = self._table
        recent.update(zip(tags, numbers.tolist(), strict=True))
        if len(recent) > _RECENT + len(table) // 16:
            self.sort()

    def load(self, starts: Starts, numbers: Numbers) -> None:
        """The same by the beginnings of tags, found once they are sorted."""
        if not len(numbers):
            return
        rows, capacity = int(numbers.max()) + 1, len(self._starts)
        if rows > capacity:
            grown = np.zeros(max(rows, capacity + capacity // 4), np.uint64)
            grown[:capacity] = self._starts
            self._starts = grown
        self._starts[numbers] = starts

    def remove(self, tags: Sequence[bytes], numbers: Numbers) -> None:
        """These tags are in these rows no more."""
        self._starts[numbers] = 0
        recent = self._table[2]
        for tag in tags:
            recent.pop(tag, None)

    def sort(self) -> Numbers:
        """Make everything quick to find. Returns the rows whose beginnings are not theirs alone."""
        taken = np.flatnonzero(self._starts)
        order = taken[np.argsort(self._starts[taken], kind="stable")]
        table = self._starts[order]
        self._table = (table, order.astype(np.int32), {})  # at once, for those who ask meanwhile
        same = table[1:] == table[:-1]
        twins = np.zeros(len(order), bool)
        twins[1:] |= same
        twins[:-1] |= same
        return order[twins]

    def find(self, tags: Sequence[bytes], are_right: Check) -> Numbers:
        """The row of each tag, or -1. `are_right` says which of the rows that may be meant hold the tag they were found for."""
        table, order, recent = self._table
        found = np.fromiter((recent.get(tag, -1) for tag in tags), np.int64, len(tags))
        asked = np.flatnonzero(found >= 0)
        if len(asked):
            found[asked[~are_right(found[asked], asked)]] = -1
        open_ = np.flatnonzero(found < 0)
        if not len(table) or not len(open_):
            return found
        starts = starts_of([tags[at] for at in open_.tolist()])
        at = np.searchsorted(table, starts)
        while len(open_):  # more than once only for tags that begin alike
            inside = at < len(table)
            inside[inside] = table[at[inside]] == starts[inside]
            open_, starts, at = open_[inside], starts[inside], at[inside]
            rows = order[at].astype(np.int64)
            right = are_right(rows, open_)
            found[open_[right]] = rows[right]
            open_, starts, at = open_[~right], starts[~right], at[~right] + 1
        return found


def starts_of(tags: Sequence[bytes]) -> Starts:
    """The beginnings of tags, as numbers above 0."""
    whole = np.frombuffer(b"".join(tags), ">u8").reshape(-1, TAG_BYTES // 8)
    return np.maximum(whole[:, 0].astype(np.uint64), np.uint64(1))


_FREE = 0xFFFFFFFF  # of no vector
_FEW = 8  # scopes that are compared one by one, which is quicker than all at once

Marks = NDArray[np.uint32]


class RowScopes:
    """The scopes of all rows, by row number. One thread at a time may change them; any number may ask meanwhile.

    A row that is found may be out of date: the caller has to look at it.
    """

    def __init__(self) -> None:
        self._marks = np.full(_FIRST_CAPACITY, _FREE, np.uint32)

    def put(self, numbers: Numbers, marks: Marks) -> None:
        """The scopes of these rows, whatever they were before."""
        if not len(numbers):
            return
        rows, capacity = int(numbers.max()) + 1, len(self._marks)
        if rows > capacity:
            grown = np.full(max(rows, capacity + capacity // 4), _FREE, np.uint32)
            grown[:capacity] = self._marks
            grown[numbers] = marks
            self._marks = grown
        else:
            self._marks[numbers] = marks

    def hide(self, numbers: Numbers) -> None:
        """These rows are free."""
        self._marks[numbers] = _FREE

    def rows(self, asked: Marks) -> Numbers:
        """The rows of these scopes, in order."""
        marks = self._marks  # another one stands there as soon as it has to grow
        if 0 < len(asked) <= _FEW:
            return np.flatnonzero(np.logical_or.reduce([marks == mark for mark in asked]))
        marks = marks.copy()  # numpy looks twice, and fails if something else stands there by then
        return np.flatnonzero(np.isin(marks, asked))


def marks_of(scopes: Collection[int]) -> Marks:
    """Scopes as they are kept: 32 bits, of which all set mean none."""
    if any(not 0 <= scope < _FREE for scope in scopes):
        raise ValueError("a scope is a number from 0 to 4294967294")
    return np.fromiter(scopes, np.uint32, len(scopes))
