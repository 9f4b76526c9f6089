"""The file of vectors: a header, then rows of one size, each with a checksum. Knows nothing of searching.

A row is written in one place and never moves, so whatever a killed process leaves is whole rows and perhaps a torn one,
which its sum betrays. A row of zeros is free. Rows are read through a map of the file and written through the system's
calls: so a full disk is an error, and no signal.
"""

import fcntl
import logging
import mmap
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clan_learnings.search.vectors.vector_wiping import (
    HEADER_BYTES,
    MAGIC,
    MOST_DIMENSIONS,
    SCOPE_BYTES,
    SUM_BYTES,
    TAG_BYTES,
    VERSION_BYTES,
    header_of,
    row_bytes_of,
    wipe,
)
from mesh.core.errors import HomeDamaged

_MOST_ROWS = 1 << 24  # more is no file of ours
_BLOCK_ROWS = 4096
_GOLDEN = 0x9E3779B97F4A7C15  # odd, so that no changed word is multiplied to nothing
_SEED = np.uint64(0xC2B2AE3D27D4EB4F)  # so that zeros have no valid sum

Rows = NDArray[Any]  # of the fields below
Bytes = NDArray[np.uint8]
Numbers = NDArray[np.int64]

log = logging.getLogger("mesh.node")


class VectorFile:
    """One open file. One thread at a time may write; any number may read meanwhile."""

    def __init__(self, path: str, name: str, dimensions: int) -> None:
        """Opens it or makes it. What is there and is not of this name and these dimensions is overwritten."""
        if not 1 <= dimensions <= MOST_DIMENSIONS:
            raise ValueError(f"{dimensions} dimensions")
        self.path = path
        sizes = [SUM_BYTES, TAG_BYTES, VERSION_BYTES, SCOPE_BYTES, dimensions]
        self.row_bytes = row_bytes_of(dimensions)
        self.fields = np.dtype(
            {
                "names": ["sum", "tag", "version", "scope", "values"],
                "formats": ["<u8", f"V{TAG_BYTES}", f"V{VERSION_BYTES}", "<u4", ("i1", (dimensions,))],
                "offsets": list(accumulate(sizes[:-1], initial=0)),
                "itemsize": self.row_bytes,
            }
        )
        self._factors = np.cumprod(np.full(self.row_bytes // 8 - 1, _GOLDEN, np.uint64))
        self._pages: mmap.mmap | None = None
        self._is_dirty = True  # what a killed process wrote may not be on the disk yet, zeros of a drop least of all
        self._descriptor = _open(path)
        try:
            with suppress(OSError):  # where the system knows no locks, nobody else looks for one
                fcntl.flock(self._descriptor, fcntl.LOCK_SH)  # seen by `wipe_rows`
            self._begin(header_of(name, dimensions))
            self.rows = (os.fstat(self._descriptor).st_size - HEADER_BYTES) // self.row_bytes
            self._mapped = self._map(self.rows)
        except BaseException:
            os.close(self._descriptor)
            raise
        self.is_open = True

    def blocks(self) -> Iterator[tuple[int, Rows, NDArray[np.bool_], NDArray[np.bool_]]]:
        """All rows in order: the first one's number, the rows, which of them are whole, and which are free.

        Read, not mapped: pages of a map would count as this process's memory.
        """
        if not self.is_open:
            raise ValueError("this file is closed")
        descriptor = os.dup(self._descriptor)  # the file may be closed meanwhile, and this stays open
        try:
            for first in range(0, self.rows, _BLOCK_ROWS):
                block = np.zeros((min(_BLOCK_ROWS, self.rows - first), self.row_bytes), np.uint8)
                got = os.preadv(descriptor, [block.data.cast("B")], self._place(first))
                block.reshape(-1)[got:] = 0  # cut off by somebody else: as if wiped
                free: NDArray[np.bool_] = np.logical_not(np.any(block.view("<u8"), axis=1))
                yield first, block.view(self.fields)[:, 0], self._are_whole(block), free
        finally:
            os.close(descriptor)

    def read(self, numbers: Numbers) -> tuple[Rows, NDArray[np.bool_]]:
        """A copy of some rows, and which of them were whole when it was made: a row may be written at this moment."""
        copied = self._mapped.take(numbers, axis=0)  # a row at a time; an index would copy byte by byte
        return copied.view(self.fields)[:, 0], self._are_whole(copied)

    def values(self, numbers: Numbers) -> NDArray[np.int8]:
        """A copy of the values of some rows, of which nothing is checked."""
        values: NDArray[np.int8] = self._mapped.take(numbers, axis=0).view(self.fields)[:, 0]["values"]
        return values

    def write(
        self,
        numbers: Numbers,
        tags: Sequence[bytes],
        versions: Sequence[bytes],
        scopes: NDArray[np.uint32],
        values: NDArray[np.int8],
    ) -> None:
        """Fill rows, also such as follow on the last."""
        block = np.zeros((len(numbers), self.row_bytes), np.uint8)
        rows = block.view(self.fields)[:, 0]
        rows["tag"] = np.frombuffer(b"".join(tags), f"V{TAG_BYTES}")
        rows["version"] = np.frombuffer(b"".join(versions), f"V{VERSION_BYTES}")
        rows["scope"] = scopes
        rows["values"] = values
        rows["sum"] = self._sums(block)
        self._put(numbers, block)
        if len(numbers) and int(numbers.max()) >= self.rows:
            end = int(numbers.max()) + 1
            self._mapped = self._map(end)  # first: who asks meanwhile must not be told of rows that cannot be read yet
            self.rows = end

    def wipe(self, numbers: Numbers) -> None:
        """Overwrite rows with zeros, on the disk when this returns."""
        for first in range(0, len(numbers), _BLOCK_ROWS):
            some = numbers[first : first + _BLOCK_ROWS]
            self._put(some, np.zeros((len(some), self.row_bytes), np.uint8))
        self.flush()

    def cut(self, rows: int) -> None:
        """Give up the rows from this number on; half a row behind the last one goes, too."""
        self.rows = rows
        self._mapped = self._map(rows)
        if os.fstat(self._descriptor).st_size != self._place(rows):
            os.ftruncate(self._descriptor, self._place(rows))
            self._is_dirty = True

    def rest(self) -> None:
        """Let go of the pages that were read: they count as this process's memory, and are as quickly mapped again."""
        if self._pages is not None:
            self._pages.madvise(mmap.MADV_DONTNEED)

    def flush(self) -> None:
        """Make what was written last through a power failure."""
        if self._is_dirty:
            os.fsync(self._descriptor)
            self._is_dirty = False

    def close(self) -> None:
        """Flush, and let go. Who is reading may finish: the map lives as long as somebody uses it."""
        if self.is_open:
            self.is_open = False
            try:
                self.flush()
                with suppress(OSError):
                    fcntl.flock(self._descriptor, fcntl.LOCK_UN)  # a map that somebody reads would hold it
            finally:
                os.close(self._descriptor)

    def _begin(self, header: bytes) -> None:
        found = os.fstat(self._descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise HomeDamaged(f"{self.path} is no file", f"remove {self.path}")
        most = HEADER_BYTES + _MOST_ROWS * self.row_bytes
        begins = os.pread(self._descriptor, HEADER_BYTES, 0)
        if found.st_size <= most and begins == header:
            self.flush()
            return
        if begins.startswith(MAGIC):
            log.info("%s is of another embedder, or of another version: vectors are made anew", self.path)
        elif found.st_size:
            log.warning("%s is damaged: vectors are made anew", self.path)
        wipe(self._descriptor)  # not put aside: whatever is erased later could not be erased there
        self._write_all(header, 0)
        self.flush()

    def _map(self, rows: int) -> Bytes:
        if not rows:
            return np.zeros((0, self.row_bytes), np.uint8)
        self._pages = mmap.mmap(self._descriptor, self._place(rows), access=mmap.ACCESS_READ)
        self._pages.madvise(mmap.MADV_RANDOM)  # rows are read one here, one there
        return np.frombuffer(self._pages, np.uint8, offset=HEADER_BYTES).reshape(rows, self.row_bytes)

    def _put(self, numbers: Numbers, block: Bytes) -> None:
        """Write rows to their places, neighbours together."""
        ends = [0, *(np.flatnonzero(np.diff(numbers) != 1) + 1).tolist(), len(numbers)]
        for start, end in pairwise(ends):
            if start < end:
                self._write_all(block[start:end].data.cast("B"), self._place(int(numbers[start])))

    def _write_all(self, data: bytes | memoryview, at: int) -> None:
        left = memoryview(data)
        self._is_dirty = True
        while left:
            written = os.pwrite(self._descriptor, left, at)
            left = left[written:]
            at += written

    def _place(self, number: int) -> int:
        return HEADER_BYTES + number * self.row_bytes

    def _are_whole(self, block: Bytes) -> NDArray[np.bool_]:
        whole: NDArray[np.bool_] = block[:, :SUM_BYTES].copy().view("<u8")[:, 0] == self._sums(block)
        return whole

    def _sums(self, block: Bytes) -> NDArray[np.uint64]:
        """Words times odd factors, added up: one changed word always shows, several but for one case in 2^60 or so."""
        words = block.view("<u8")[:, 1:].astype(np.uint64, copy=False)
        sums: NDArray[np.uint64] = np.add(np.matmul(words, self._factors), _SEED, dtype=np.uint64)
        return sums


def _open(path: str) -> int:
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    if os.path.islink(path):
        os.unlink(path)  # where it leads does not matter
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
    except IsADirectoryError as error:
        raise HomeDamaged(f"{path} is no file", f"remove {path}") from error
