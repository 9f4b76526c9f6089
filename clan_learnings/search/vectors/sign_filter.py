"""A filter for vectors that may be near: one bit a dimension, and how many of them differ. Pure: no files, and no exact answers.

Whether a component lies above the centre of all vectors is enough to tell the near from the far; the nearest of a few
thousand are then found by exact cosines. Counting the bits of words runs at the memory's speed on one thread, and a
vector costs a bit a dimension.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

DIGITS = 6  # cosines are equal if these are: what lies behind depends on the processor
_NOTHING = 1e-12  # a shorter vector has no direction

Floats = NDArray[np.float32]


def lengths(plain: Floats) -> Floats:
    """The length of each row."""
    found: Floats = np.sqrt(np.vecdot(plain, plain))
    return found


def unit(query: ArrayLike, dimensions: int) -> Floats | None:
    """A vector with length 1; None if it is no direction."""
    plain = np.asarray(query, np.float32).reshape(dimensions)
    length = float(np.linalg.norm(plain.astype(np.float64)))
    return plain / np.float32(length) if np.isfinite(length) and length > _NOTHING else None


def quantised(plain: Floats) -> NDArray[np.int8]:
    """A byte a component; zeros for what is no direction. How long a vector was is not kept: no cosine needs it."""
    most = np.abs(plain).max(axis=1, initial=0)
    usable = np.isfinite(most) & (most > _NOTHING)
    scale = 127 / np.where(usable, most, 1)
    return np.rint(np.where(usable[:, np.newaxis], plain, 0) * scale[:, np.newaxis]).astype(np.int8)


def cosines_of(values: NDArray[np.int8], direction: Floats) -> Floats:
    """The cosine of each row with a unit vector."""
    plain = values.astype(np.float32)
    found: Floats = np.vecdot(plain, direction) / np.maximum(lengths(plain), 1)
    return found


def highest(cosines: Floats, count: int) -> NDArray[np.int64]:
    """Where the largest are, with all that may be equal to the least of them once they are rounded."""
    if len(cosines) <= count:
        return np.arange(len(cosines))
    least = np.partition(cosines, len(cosines) - count)[len(cosines) - count]
    return np.flatnonzero(cosines >= least - 10.0**-DIGITS)


def best(cosines: Floats, tags: NDArray[np.void], count: int) -> list[tuple[bytes, float]]:
    """The largest, rounded, equal ones by tag."""
    near = highest(cosines, count)
    rounded = (-round(cosine, DIGITS) for cosine in cosines[near].tolist())
    ranked = sorted(zip(rounded, tags[near].tolist(), strict=True))
    return [(tag, 0.0 - cosine) for cosine, tag in ranked[:count]]


_WORD_BITS = 64
_BLOCK = 32_768  # rows at a time: what is worked on stays in the processor's cache
_FIRST_CAPACITY = 1024

Numbers = NDArray[np.int64]


class SignFilter:
    """The bits of all rows, by row number. One thread at a time may change them; any number may ask meanwhile.

    Who asks while a row changes may miss it or get it for nothing, which exact cosines sort out.
    """

    def __init__(self, dimensions: int, centre: Floats | None = None) -> None:
        """`centre`: the mean of the vectors, as unit vectors. Some models put all texts into one corner of the space."""
        self.dimensions = dimensions
        self._centre = np.zeros(dimensions, np.float32) if centre is None else centre
        self._words = -(-dimensions // _WORD_BITS)
        # Words of one place side by side: so each step runs along memory. A free row is farther than any vector can be.
        self._planes = np.zeros((self._words, _FIRST_CAPACITY), np.uint64)
        self._start = np.full(_FIRST_CAPACITY, dimensions + 1, np.uint16)

    def put(self, numbers: Numbers, values: NDArray[np.int8]) -> None:
        """The vectors of these rows, whatever was there before."""
        if not len(numbers):
            return
        self._make_room(int(numbers.max()) + 1)
        plain = values.astype(np.float32)
        self._planes[:, numbers] = self._bits(plain, lengths(plain)).T
        self._start[numbers] = 0

    def hide(self, numbers: Numbers) -> None:
        """These rows are free."""
        self._start[numbers] = self.dimensions + 1
        self._planes[:, numbers] = 0

    def differences(self, query: Floats, rows: Numbers | None = None) -> NDArray[np.uint16]:
        """How many bits of each row differ from the query's, or of each of some rows; of a free row, more than there are."""
        planes, start = self._planes, self._start
        found = start.copy() if rows is None else start[rows]
        wanted = self._bits(query[np.newaxis], np.ones(1, np.float32))[0]
        count = min(len(found), planes.shape[1]) if rows is None else len(rows)  # another thread may be making room
        block = min(_BLOCK, count)
        differing, bits = np.empty(block, np.uint64), np.empty(block, np.uint8)
        for first in range(0, count, _BLOCK):
            part = found[first : min(first + _BLOCK, count)]
            length = len(part)
            for plane, word in zip(planes, wanted, strict=True):
                words = plane[first : first + length] if rows is None else plane[rows[first : first + length]]
                np.bitwise_xor(words, word, out=differing[:length])
                np.bitwise_count(differing[:length], out=bits[:length])
                np.add(part, bits[:length], out=part)
        return found[:count]

    def _bits(self, plain: Floats, sizes: Floats) -> NDArray[np.uint64]:
        above = plain > sizes[:, np.newaxis] * self._centre
        packed = np.zeros((len(plain), self._words * _WORD_BITS // 8), np.uint8)
        flat = np.packbits(above, axis=1)
        packed[:, : flat.shape[1]] = flat
        return packed.view(np.uint64)

    def _make_room(self, rows: int) -> None:
        capacity = len(self._start)
        if rows <= capacity:
            return
        capacity = max(rows, capacity + capacity // 4)
        planes = np.zeros((self._words, capacity), np.uint64)
        planes[:, : self._planes.shape[1]] = self._planes
        start = np.full(capacity, self.dimensions + 1, np.uint16)
        start[: len(self._start)] = self._start
        self._planes, self._start = planes, start
