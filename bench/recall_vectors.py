"""`recall_vectors`: the sidecar's index of vectors, beside numpy that weighs them all. No embedder: vectors are drawn from a seed.

They lie around subjects of a few fields, with a common part and components that fall off, fitted to what MiniLM makes of
38,000 sentences about programs; questions are drawn as the vectors are.
"""

import os
import shutil
import time
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray

from bench.machine import MB, resident_bytes
from bench.quantiles import MS, quantile
from bench.table import Goal, Report, say
from clan_learnings.search.vectors.nearest import Vectors

_DIMENSIONS = 384
_FIELDS = 60
_SUBJECTS = 2000
_BATCH = 4096
_QUESTIONS = 200
_COUNT = 100
_SCOPES = 50  # equally many vectors each
_PEER_VECTORS = 200_000  # more would take gigabytes
_VERSION = bytes(16)

Floats = NDArray[np.float32]


def run(work: str, sizes: list[int]) -> Report:
    report = Report("recall_vectors", "numpy, all of them")
    for size in sizes:
        say(f"putting and asking {size:,} vectors")
        _measure(report, os.path.join(work, "vectors"), size)
    report.notes.append(f"{_DIMENSIONS} dimensions; {_QUESTIONS} questions, the best {_COUNT} of each; one process")
    report.notes.append("peer: a float32 matrix in memory, `@` on as many threads as BLAS takes, argpartition")
    report.notes.append("memory: what the index itself holds; pages of its file come and go on top of it")
    return report


def _measure(report: Report, folder: str, size: int) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    draw = _Draw()
    questions = draw.rows(_QUESTIONS, seed=1)
    before = resident_bytes()
    vectors = Vectors(folder, "bench", _DIMENSIONS)

    def line(what: str, unit: str, ours: float, peer: float | None = None, goal: Goal | None = None) -> None:
        report.add(f"{size:>9,}  {what}", unit, ours, peer, goal)

    taken = 0.0
    for first, rows in draw.batches(size):
        tags = [_tag(first + at) for at in range(len(rows))]
        versions, scopes = [_VERSION] * len(rows), [(first + at) % _SCOPES for at in range(len(rows))]
        start = time.perf_counter()
        vectors.put(tags, rows, versions, scopes)
        taken += time.perf_counter() - start
    vectors.flush()
    vectors.rest()
    memory = resident_bytes() - before
    times, found = _asked(lambda question: vectors.nearest(question, _COUNT), questions)
    right, peer = _truth(draw, size, questions)
    for best in (_COUNT, 10):
        line(f"of the true best {best}", "%", _share(found, right, best), 100)
    goal = Goal(5, most=True) if size <= 100_000 else None
    line("nearest, p50", "ms", quantile(times, 0.5) * MS, peer, goal)
    line("nearest, p95", "ms", quantile(times, 0.95) * MS)
    for most in (1, _SCOPES // 2):
        times, _ = _asked(partial(vectors.nearest, count=_COUNT, scopes=range(most)), questions)
        line(f"nearest, {most} in {_SCOPES} in scope, p50", "ms", quantile(times, 0.5) * MS, goal=goal)
    some = [_tag(number) for number in range(0, size, -(-size // _COUNT))]
    times, _ = _asked(lambda question: list(vectors.cosines(question, some).items()), questions)
    line(f"cosines of {len(some)}, p50", "ms", quantile(times, 0.5) * MS)
    line("put", "vectors/s", size / taken)
    line("memory", "MB", memory / MB, size * _DIMENSIONS * 4 / MB)
    line("file", "MB", os.path.getsize(os.path.join(folder, "vectors.bin")) / MB)
    start = time.perf_counter()
    vectors.drop(some)
    line(f"dropping {len(some)}, durable", "ms", (time.perf_counter() - start) * MS)
    vectors.close()
    start = time.perf_counter()
    Vectors(folder, "bench", _DIMENSIONS).close()
    line("opening", "ms", (time.perf_counter() - start) * MS)
    shutil.rmtree(folder)


def _asked(
    ask: Callable[[Floats], list[tuple[bytes, float]]], questions: Floats
) -> tuple[list[float], list[list[tuple[bytes, float]]]]:
    ask(questions[0])
    times, found = [], []
    for question in questions:
        start = time.perf_counter()
        found.append(ask(question))
        times.append(time.perf_counter() - start)
    return times, found


def _share(found: list[list[tuple[bytes, float]]], right: list[list[int]], best: int) -> float:
    """Of the true best, how many were found, in a hundred."""
    hits = wanted = 0
    for near, numbers in zip(found, right, strict=True):
        tags = {_tag(number) for number in numbers[:best]}
        hits += len(tags & {tag for tag, _ in near})
        wanted += len(tags)
    return 100 * hits / wanted


def _truth(draw: "_Draw", size: int, questions: Floats) -> tuple[list[list[int]], float | None]:
    """The true best of each question, best first; and the milliseconds numpy takes for one of them."""
    weights, numbers = np.zeros((len(questions), 0), np.float32), np.zeros((len(questions), 0), np.int64)
    kept = []
    for first, rows in draw.batches(size):
        weights = np.concatenate([weights, questions @ rows.T], axis=1)
        here = np.broadcast_to(np.arange(first, first + len(rows)), (len(questions), len(rows)))
        numbers = np.concatenate([numbers, here], axis=1)
        order = np.argsort(-weights, axis=1, kind="stable")[:, :_COUNT]
        weights, numbers = np.take_along_axis(weights, order, 1), np.take_along_axis(numbers, order, 1)
        if size <= _PEER_VECTORS:
            kept.append(rows)
    found: list[list[int]] = numbers.tolist()
    if not kept:
        return found, None
    matrix = np.concatenate(kept)

    def ask(question: Floats) -> list[tuple[bytes, float]]:
        cosines = matrix @ question
        np.argpartition(cosines, -min(_COUNT, size))
        return []

    return found, quantile(_asked(ask, questions)[0], 0.5) * MS


class _Draw:
    """Vectors by number, the same at every call."""

    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        places = np.arange(_DIMENSIONS)
        falling = np.sqrt(np.exp(-places / 150) / (places + 9))
        turned = np.linalg.qr(rng.standard_normal((_DIMENSIONS, _DIMENSIONS)))[0]
        self._shape = (falling[:, np.newaxis] * turned).astype(np.float32)
        fields = rng.standard_normal((_FIELDS, _DIMENSIONS), np.float32)
        self._subjects = 0.6 * fields[rng.integers(0, _FIELDS, _SUBJECTS)]
        self._subjects += 0.6 * rng.standard_normal((_SUBJECTS, _DIMENSIONS), np.float32)
        self._subjects += 0.3 * rng.standard_normal(_DIMENSIONS, np.float32)

    def batches(self, size: int) -> Iterator[tuple[int, Floats]]:
        for first in range(0, size, _BATCH):
            yield first, self.rows(min(_BATCH, size - first), seed=2 + first)

    def rows(self, count: int, seed: int) -> Floats:
        rng = np.random.default_rng(seed)
        made = 0.8 * rng.standard_normal((count, _DIMENSIONS), np.float32)
        made += self._subjects[rng.integers(0, _SUBJECTS, count)]
        made = made @ self._shape
        found: Floats = made / np.linalg.norm(made, axis=1, keepdims=True)
        return found


def _tag(number: int) -> bytes:
    """Names are hashes: their first bytes lie anywhere."""
    return (number * 0x9E3779B97F4A7C15 % (1 << 64)).to_bytes(8, "big") + number.to_bytes(24, "big")
