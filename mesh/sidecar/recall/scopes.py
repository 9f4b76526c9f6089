"""Which rows are in scope: a number a row, compared all at once. What a number stands for is the caller's. Pure."""

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

_FREE = 0xFFFFFFFF  # of no vector
_FIRST_CAPACITY = 1024
_FEW = 8  # scopes that are compared one by one, which is quicker than all at once

Numbers = NDArray[np.int64]
Marks = NDArray[np.uint32]


class Scopes:
    """The scopes of all rows, by row number. One thread at a time may change them; any number may ask meanwhile.

    What is found may be out of date: whoever asks looks at the row.
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
