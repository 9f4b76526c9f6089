"""Vectors for tests: made from a seed, named by a number, with an oracle that weighs them all."""

import hashlib
from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray


def tag_of(number: int) -> bytes:
    return hashlib.blake2b(b"tag %d" % number, digest_size=32).digest()


def version_of(number: int) -> bytes:
    return hashlib.blake2b(b"version %d" % number, digest_size=16).digest()


def directions(count: int, dimensions: int, seed: int = 0) -> NDArray[np.float32]:
    """Unit vectors around subjects, and with a common part, as embeddings of texts have them."""
    subjects = np.random.default_rng(1).standard_normal((40, dimensions))
    rng = np.random.default_rng([2, seed])
    made = subjects[rng.integers(0, len(subjects), count)] + rng.standard_normal((count, dimensions)) + 0.3
    found: NDArray[np.float32] = (made / np.linalg.norm(made, axis=1, keepdims=True)).astype(np.float32)
    return found


def truth(query: Iterable[float], vectors: Mapping[bytes, Iterable[float]]) -> dict[bytes, float]:
    """The cosine of each, one by one, in double precision."""
    asked = np.asarray(query, np.float64)
    found = {}
    for tag, vector in vectors.items():
        plain = np.asarray(vector, np.float64)
        length = float(np.linalg.norm(plain) * np.linalg.norm(asked))
        found[tag] = float(plain @ asked) / length if length else 0.0
    return found
