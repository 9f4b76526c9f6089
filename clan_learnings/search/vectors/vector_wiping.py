"""How the file of vectors is laid out, and how vectors are overwritten. Needs no numpy: also a home that has none any more gets rid of its vectors."""

import fcntl
import json
import os
import stat
from collections.abc import Collection
from contextlib import suppress
from hashlib import blake2b

from clan_learnings.search.index_state import STATE
from mesh.core.ids import HASH_BYTES

FILE = "vectors.bin"
MAGIC = b"clanvec"
HEADER_BYTES = 64
SUM_BYTES, TAG_BYTES, VERSION_BYTES, SCOPE_BYTES = 8, HASH_BYTES, 16, 4  # of a row; then a byte a dimension
MOST_DIMENSIONS = 8192
_FORM = MAGIC + b"2"
_BLOCK_BYTES = 1 << 20


def header_of(name: str, dimensions: int) -> bytes:
    """How a file of that embedder begins."""
    return _FORM + blake2b(f"{dimensions} {name}".encode(), digest_size=HEADER_BYTES - len(_FORM)).digest()


def row_bytes_of(dimensions: int) -> int:
    """What a row takes, with what is left free behind it."""
    return -(-(SUM_BYTES + TAG_BYTES + VERSION_BYTES + SCOPE_BYTES + dimensions) // 8) * 8


def wipe(descriptor: int) -> None:
    """Zeros over all of it, on the disk, then no length. Nobody may have it mapped."""
    _zero(descriptor)
    os.ftruncate(descriptor, 0)


def _zero(descriptor: int) -> None:
    """Holes are not filled."""
    found = os.fstat(descriptor)
    if found.st_size <= found.st_blocks * 512:
        for at in range(0, found.st_size, _BLOCK_BYTES):
            write(descriptor, bytes(min(_BLOCK_BYTES, found.st_size - at)), at)
        os.fsync(descriptor)


def remove_vectors(folder: str) -> None:
    """Remove all vectors of a folder, of any embedder. For a home without an embedder; running queries find nothing any more."""
    path = os.path.join(folder, FILE)
    with suppress(FileNotFoundError):
        if stat.S_ISREG(os.lstat(path).st_mode):
            descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                _zero(descriptor)
            finally:
                os.close(descriptor)
            os.unlink(path)


def wipe_rows(folder: str, tags: Collection[bytes]) -> bool:
    """Overwrite the vectors of these records, unless a running node has the file open: it does that itself, and the answer is False. If the size of its rows is unclear, the whole file is wiped."""
    path = os.path.join(folder, FILE)
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return True
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        row_bytes = _row_bytes(folder, os.pread(descriptor, HEADER_BYTES, 0))
        if row_bytes is None:
            _zero(descriptor)
            os.unlink(path)
        else:
            _zero_rows(descriptor, row_bytes, frozenset(tags))
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)
    return True


def _row_bytes(folder: str, header: bytes) -> int | None:
    """As the state says; None if it does not, or speaks of other vectors."""
    try:
        with open(os.path.join(folder, STATE), encoding="utf-8") as file:
            about = json.load(file)["about"]
        name, dimensions = about["embedder"], about["dimensions"]
    except (OSError, ValueError, TypeError, KeyError):
        return None
    is_sound = type(name) is str and type(dimensions) is int and 0 < dimensions <= MOST_DIMENSIONS
    return row_bytes_of(dimensions) if is_sound and header_of(name, dimensions) == header else None


def _zero_rows(descriptor: int, row_bytes: int, tags: frozenset[bytes]) -> None:
    step, at = _BLOCK_BYTES // row_bytes * row_bytes, HEADER_BYTES
    while block := os.pread(descriptor, step, at):
        for start in range(0, len(block), row_bytes):
            if block[start + SUM_BYTES : start + SUM_BYTES + TAG_BYTES] in tags:
                write(descriptor, bytes(min(row_bytes, len(block) - start)), at + start)
        at += step
    os.fsync(descriptor)


def write(descriptor: int, data: bytes, at: int) -> None:
    """All of it, at that place."""
    left = memoryview(data)
    while left:
        written = os.pwrite(descriptor, left, at)
        left = left[written:]
        at += written
