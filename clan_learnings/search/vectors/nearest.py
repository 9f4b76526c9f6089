"""The nearest of many vectors: rows on disk, a bit a dimension in memory, exact cosines for the best few thousand.

Disposable, and of this node only: each vector can be made again from its record's text. Knows tags, not records.
See docs/adr/0046.
"""

import logging
import os
import threading
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from heapq import heappop, heappush

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clan_learnings.search.embedders.cosine_scale import USUAL, Scale
from clan_learnings.search.vectors.row_index import Marks, Numbers, RowIndex, RowScopes, marks_of, starts_of
from clan_learnings.search.vectors.sign_filter import (
    DIGITS,
    Floats,
    SignFilter,
    best,
    cosines_of,
    highest,
    lengths,
    quantised,
    unit,
)
from clan_learnings.search.vectors.vector_file import Rows, VectorFile
from clan_learnings.search.vectors.vector_wiping import FILE, TAG_BYTES, VERSION_BYTES

_SHORTLIST = 4000  # get exact cosines: 0.998 of the true best hundred are among them (bench/recall_vectors)
_EXACT = 2 * _SHORTLIST  # up to here all get exact cosines, which costs no more than twice the time
_CHUNK = 1024  # rows read at a time: what is worked on stays in the processor's cache
_SAMPLE = 4096  # vectors that the centre of all is taken from


log = logging.getLogger("mesh.node")


class Vectors:
    """The vectors of one embedder. Any number of threads may ask while others change it."""

    def __init__(self, folder: str, name: str, dimensions: int, scale: Scale = USUAL) -> None:
        """Opens what the folder has, or begins. Vectors of another name or size are useless, and overwritten.

        `scale`: the one of all cosines that are handed out, whatever the embedder's own is.
        """
        self.dimensions = dimensions
        self._scale = scale
        self._lock = threading.Lock()  # held by the thread that changes something
        self._file = VectorFile(os.path.join(folder, FILE), name, dimensions)
        self._places = RowIndex()
        self._signs = SignFilter(dimensions)
        self._scopes = RowScopes()
        self._free: list[int] = []
        self._count = 0
        self._centred = _EXACT // 2  # how many there were when the centre was taken
        try:
            self._load()
        except BaseException:
            self._file.close()
            raise

    def __len__(self) -> int:
        return self._count

    def put(
        self, tags: Sequence[bytes], rows: ArrayLike, versions: Sequence[bytes], scopes: Sequence[int] | None = None
    ) -> None:
        """Keep a vector for each tag, in the place of the one it had. A version names what it was made of: 16 bytes.

        A scope is a number that `nearest` can be asked for; without, it is 0. A vector that is no direction (zeros, or not
        finite) is near to nothing.
        """
        plain = np.asarray(rows, np.float32).reshape(len(tags), self.dimensions)
        _check(tags, TAG_BYTES)
        _check(versions, VERSION_BYTES)
        marks = marks_of([0] * len(tags) if scopes is None else scopes)
        if len(versions) != len(tags) or len(marks) != len(tags):
            raise ValueError(f"{len(versions)} versions and {len(marks)} scopes of {len(tags)} vectors")
        last = {tag: at for at, tag in enumerate(tags)}
        if len(last) < len(tags):
            chosen = list(last.values())
            plain, tags, versions, marks = plain[chosen], list(last), [versions[at] for at in chosen], marks[chosen]
        values = quantised(plain)
        with self._changing():
            numbers = self._find(tags)
            new = np.flatnonzero(numbers < 0)
            reused = [heappop(self._free) for _ in range(min(len(new), len(self._free)))]
            end = self._file.rows
            numbers[new] = [*reused, *range(end, end + len(new) - len(reused))]
            try:
                self._file.write(numbers, tags, versions, marks, values)
            except BaseException:
                for number in reused:
                    heappush(self._free, number)
                raise
            self._places.put(tags, numbers)
            self._signs.put(numbers, values)
            self._scopes.put(numbers, marks)  # last: who finds a row by its scope finds its bits
            self._count += len(new)
            if self._count >= 2 * self._centred:
                self._recentre()

    def drop(self, tags: Sequence[bytes]) -> None:
        """Forget these. When this returns their rows are zeros on the disk: a text could be guessed from its vector."""
        _check(tags, TAG_BYTES)
        with self._changing():
            distinct = list(dict.fromkeys(tags))
            numbers = self._find(distinct)
            here = np.flatnonzero(numbers >= 0)
            if not len(here):
                return
            gone = numbers[here]
            self._file.wipe(np.sort(gone))  # first: who is told of a full disk asks again, and must find them
            self._places.remove([distinct[at] for at in here.tolist()], gone)
            self._scopes.hide(gone)
            self._signs.hide(gone)
            for number in gone.tolist():
                heappush(self._free, number)
            self._count -= len(gone)

    def known(self) -> Mapping[bytes, bytes]:
        """Tags and versions, looked up when asked for. Of many at once: `versions`."""
        return KnownVersions(self)

    def versions(self, tags: Sequence[bytes]) -> list[bytes | None]:
        """The version of each, None where there is no vector."""
        numbers, rows = self._held(tags)
        read = zip(numbers.tolist(), rows["version"].tolist(), strict=True)
        return [version if number >= 0 else None for number, version in read]

    def tags(self) -> Iterator[bytes]:
        """Every tag there is, once; what changes meanwhile may be missed."""
        for _, rows, whole, _ in self._file.blocks():
            yield from rows["tag"][whole].tolist()

    def nearest(self, query: ArrayLike, count: int, scopes: Collection[int] | None = None) -> list[tuple[bytes, float]]:
        """The nearest and their cosines, best first, equal ones by tag. Only of these scopes."""
        direction = unit(query, self.dimensions)
        asked = None if scopes is None else marks_of(scopes)
        if direction is None or count < 1:
            return []
        likely = self._likely(direction, asked, max(_SHORTLIST, 10 * count))
        scores = self._scores(likely, direction)
        most = count
        while True:  # more than once only if a row is being written, or was when the process ended
            some = likely[highest(scores, most)]
            cosines, tags = self._exact(some, direction, asked)
            if len(tags) >= count or len(some) == len(likely):
                break
            most *= 4
        found, scale = best(cosines, tags, count), self._scale
        return found if scale.is_usual else [(tag, scale.put(cosine)) for tag, cosine in found]

    def cosines(self, query: ArrayLike, tags: Iterable[bytes]) -> dict[bytes, float]:
        """The cosine of each of these that has a vector. For a small scope this is the quicker way to its nearest."""
        direction = unit(query, self.dimensions)
        if direction is None:
            return {}
        asked = list(dict.fromkeys(tags))
        _check(asked, TAG_BYTES)
        found: dict[bytes, float] = {}
        for first in range(0, len(asked), _CHUNK):
            numbers, rows = self._held(asked[first : first + _CHUNK])
            rows = rows[numbers >= 0]
            found.update(zip(rows["tag"].tolist(), cosines_of(rows["values"], direction).tolist(), strict=True))
        rounded = {tag: round(cosine, DIGITS) for tag, cosine in found.items()}
        return rounded if self._scale.is_usual else {tag: self._scale.put(cosine) for tag, cosine in rounded.items()}

    def flush(self) -> None:
        """Make everything last through a power failure."""
        with self._changing():
            self._file.flush()

    def rest(self) -> None:
        """Hold no more memory than must be while nobody asks."""
        with self._changing():
            self._file.rest()

    def close(self) -> None:
        """Flush and close the file. Running queries may finish."""
        with self._lock:
            self._file.close()

    @contextmanager
    def _changing(self) -> Iterator[None]:
        with self._lock:
            if not self._file.is_open:
                raise ValueError("these vectors are closed")
            yield

    def _load(self) -> None:
        """Go through the file: what is torn or there twice is wiped, so that its record is embedded again."""
        bad, free, end = [], [], 0
        for first, rows, whole, is_free in self._file.blocks():
            live = np.flatnonzero(whole)
            self._places.load(starts_of(rows["tag"][live].tolist()), first + live)
            self._scopes.put(first + live, rows["scope"][live])
            bad += (first + np.flatnonzero(~whole & ~is_free)).tolist()
            free += (first + np.flatnonzero(is_free)).tolist()
            self._count += len(live)
            end = first + int(live[-1]) + 1 if len(live) else end
        twins = self._twins(self._places.sort())
        self._places.remove([], twins)
        self._scopes.hide(twins)
        self._count -= len(twins)
        bad += twins.tolist()
        if bad:
            log.warning("%d vectors in %s were damaged: they are made again", len(bad), self._file.path)
            self._file.wipe(np.array(sorted(bad), np.int64))
        self._file.cut(end)
        self._free = sorted(number for number in (*free, *bad) if number < end)  # sorted: a heap
        self._recentre()

    def _twins(self, rows: Numbers) -> Numbers:
        """Those of these rows whose tag another has, too."""
        tags = self._file.read(rows)[0]["tag"].tolist()
        often = Counter(tags)
        return rows[[often[tag] > 1 for tag in tags]]

    def _recentre(self) -> None:
        """Compute the bits again, around the present centre of the vectors."""
        centre = None
        if self._count >= _EXACT:
            self._centred = self._count
            sample = np.linspace(0, self._file.rows - 1, _SAMPLE).astype(np.int64)
            rows, whole = self._file.read(sample)
            plain = rows["values"][whole].astype(np.float32)
            centre = (plain / np.maximum(lengths(plain), 1)[:, np.newaxis]).mean(axis=0)
        signs = SignFilter(self.dimensions, centre)
        for first, rows, whole, _ in self._file.blocks():
            live = np.flatnonzero(whole)
            signs.put(first + live, rows["values"][live])
        self._signs = signs  # at once, for those who ask meanwhile

    def _likely(self, direction: Floats, asked: Marks | None, enough: int) -> Numbers:
        """The rows in scope that may be the nearest, those of one distance never apart: so their order makes no difference."""
        rows = None if asked is None else self._scopes.rows(asked)
        count = self._file.rows if rows is None else len(rows)
        if count <= max(_EXACT, enough):
            return np.arange(count) if rows is None else rows
        differences = self._signs.differences(direction, rows)
        reached = np.cumsum(np.bincount(differences, minlength=self.dimensions + 2)[: self.dimensions + 1])
        outer = min(int(np.searchsorted(reached, enough)), self.dimensions)
        likely = np.flatnonzero(differences <= outer)[: 4 * enough]  # very many may be equally far
        return likely if rows is None else rows[likely]

    def _scores(self, numbers: Numbers, direction: Floats) -> Floats:
        """Their cosines, if nobody changes them: enough to choose by."""
        parts = range(0, len(numbers), _CHUNK)
        scores = [cosines_of(self._file.values(numbers[first : first + _CHUNK]), direction) for first in parts]
        return np.concatenate([np.zeros(0, np.float32), *scores])

    def _exact(self, numbers: Numbers, direction: Floats, asked: Marks | None) -> tuple[Floats, NDArray[np.void]]:
        """The cosines and tags of those that are whole and in scope."""
        cosines, tags = [np.zeros(0, np.float32)], [np.zeros(0, f"V{TAG_BYTES}")]
        for first in range(0, len(numbers), _CHUNK):
            rows, whole = self._file.read(numbers[first : first + _CHUNK])
            if asked is not None:
                whole &= np.isin(rows["scope"], asked)
            cosines.append(cosines_of(rows["values"][whole], direction))
            tags.append(rows["tag"][whole])
        return np.concatenate(cosines), np.concatenate(tags)

    def _find(self, tags: Sequence[bytes]) -> Numbers:
        """The row of each, or -1."""
        return self._held(tags)[0]

    def _held(self, tags: Sequence[bytes]) -> tuple[Numbers, Rows]:
        """The row of each, or -1, and a copy of it as it was when it was checked; zeros where there is none."""
        wanted = np.frombuffer(b"".join(tags), f"V{TAG_BYTES}")
        copies = np.zeros(len(tags), self._file.fields)

        def are_right(numbers: Numbers, asked: Numbers) -> NDArray[np.bool_]:
            rows, right = self._file.read(numbers)
            right &= rows["tag"] == wanted[asked]
            copies[asked[right]] = rows[right]
            return right

        return self._places.find(tags, are_right), copies


class KnownVersions(Mapping[bytes, bytes]):
    """Tags and versions, of which nothing is kept in memory."""

    def __init__(self, vectors: Vectors) -> None:
        self._vectors = vectors

    def __getitem__(self, tag: bytes) -> bytes:
        found = self._vectors.versions([tag])[0]
        if found is None:
            raise KeyError(tag)
        return found

    def __iter__(self) -> Iterator[bytes]:
        return self._vectors.tags()

    def __len__(self) -> int:
        return len(self._vectors)


def _check(names: Iterable[bytes], size: int) -> None:
    for name in names:
        if len(name) != size:
            raise ValueError(f"{size} bytes are wanted here, not {len(name)}")
