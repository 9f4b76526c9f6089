"""Vectors as directions: a byte a component, unit length, cosines. Pure.

Nothing here uses `@`: BLAS would share it out to threads, and on a busy machine wait for them longer than it takes.
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
