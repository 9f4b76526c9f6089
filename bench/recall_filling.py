"""Vectors for every record of a home, put where the sidecar keeps its own: it finds them there and makes none.

Real ones are made with all processors, where a sidecar would take its time; made-up ones are for sizes of which the real
ones would take hours.
"""

import os
import shutil
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

from bench.learnings import learnings
from bench.processes import Measures
from clan_learnings.records.record import LOGS, Note
from clan_learnings.search.embedders.embedder import Embedder, available, open_embedder
from clan_learnings.search.meaning import repo_number, text_of, version_of
from mesh.store.reader import open_reading
from mesh.store.record_changes import ChangeCollector

if TYPE_CHECKING:
    from clan_learnings.search.vectors.nearest import Vectors

_BATCH = 5000
_AT_ONCE = 32  # texts a call of the model
_REAL = 512  # real vectors that made-up ones are made of
_Rows = Callable[[list[str]], Any]


def make_vectors(home: str, choice: str, cache: str, progress: Callable[[int], None]) -> None:
    """The very vectors that the sidecar would make: a row depends on nothing but its text."""
    if not available(choice)[0]:
        return
    embedder = open_embedder(choice, cache, os.environ)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        _fill(home, embedder, partial(_embedded, embedder, pool), 10 * _AT_ONCE, progress)


def fill_vectors(home: str, choice: str, cache: str) -> Measures:
    """In a process of its own: made-up ones, and how many a second are taken.

    Each is a real one of some text, with as much noise: of noise alone none would be near to any question.
    """
    import numpy as np

    embedder = open_embedder(choice, cache, os.environ)
    chance = np.random.default_rng(6)
    texts = [str(item.record["text"]) for item in learnings(2 * _REAL) if "text" in item.record][:_REAL]
    real = np.concatenate([embedder.embed(texts[at : at + _AT_ONCE]) for at in range(0, len(texts), _AT_ONCE)])

    def made_up(texts: list[str]) -> Any:
        noise = chance.standard_normal((len(texts), embedder.dimensions), dtype=np.float32)
        rows = real[chance.integers(len(real), size=len(texts))] + noise / np.sqrt(embedder.dimensions)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    put, seconds = _fill(home, embedder, made_up, _BATCH)
    return {"rate": put / seconds}


def _fill(
    home: str, embedder: Embedder, rows_of: _Rows, batch: int, progress: Callable[[int], None] = lambda _: None
) -> tuple[int, float]:
    """How many, and the seconds that keeping them took."""
    put, seconds = 0, 0.0
    vectors = _empty(home, embedder)
    for notes in _batches(home, batch):
        texts = [text_of(note) for note in notes]
        rows = rows_of(texts)
        versions = [version_of(text, note.repo) for text, note in zip(texts, notes, strict=True)]
        scopes = [repo_number(note.repo) for note in notes]
        start = time.perf_counter()
        vectors.put([note.tag for note in notes], rows, versions, scopes)
        seconds += time.perf_counter() - start
        put += len(notes)
        progress(put)
    start = time.perf_counter()
    vectors.flush()
    seconds += time.perf_counter() - start
    vectors.close()
    return put, seconds


def _empty(home: str, embedder: Embedder) -> "Vectors":
    from clan_learnings.search.vectors.nearest import Vectors

    folder = os.path.join(home, "recall", "vectors")
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder, mode=0o700)
    return Vectors(folder, embedder.name, embedder.dimensions)


def _batches(home: str, size: int) -> Iterator[list[Note]]:
    reader = open_reading(home)
    try:
        for log in LOGS:
            entries = ChangeCollector(reader.connection).oldest_first(log)
            while batch := list(islice(entries, size)):
                yield [Note(entry, reader.fields(entry.tag)) for entry in batch]
    finally:
        reader.connection.close()


def _embedded(embedder: Embedder, pool: ThreadPoolExecutor, texts: list[str]) -> Any:
    import numpy as np

    order = sorted(range(len(texts)), key=lambda at: len(texts[at]))  # what is of one length pads nothing
    parts = [order[start : start + _AT_ONCE] for start in range(0, len(order), _AT_ONCE)]
    rows = np.empty((len(texts), embedder.dimensions), np.float32)
    for part, made in zip(parts, pool.map(lambda part: embedder.embed([texts[at] for at in part]), parts), strict=True):
        rows[part] = made
    return rows
