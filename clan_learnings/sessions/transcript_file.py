"""Reading a transcript's file as cleaned lines, within bounds; of a file that grew, only what was added. Stores nothing.

What was read is named by a hash of whole lines from the file's beginning: as long as the hash holds, the file only grew.
"""

import os
import stat
from collections.abc import Callable, Iterator
from hashlib import blake2b
from typing import Any, BinaryIO, NamedTuple

from clan_learnings.sessions.agent_database_table import (
    MAGIC,
    DatabaseRefused,
    looks_of_sessions,
    session_in_database,
)
from clan_learnings.sessions.catalogue_rows import FileLook, KnownFile
from clan_learnings.sessions.cleaning import Cleaner
from clan_learnings.sessions.flavours.opencode import assembled
from clan_learnings.sessions.transcript_source import ZSTD

FILE_BYTES = 256 * 1024 * 1024  # of a file, unpacked; images and the like are a part of it
LINE_BYTES = 32 * 1024 * 1024
KEPT_BYTES = 32 * 1024 * 1024  # of what is left of it once it was cleaned: so much is analysed at once
_BLOCK_BYTES = 512 * 1024
_MIB = 1024 * 1024


class FileRefused(Exception):
    """A file that is not read, and why."""


class FileReading(NamedTuple):
    """The cleaned content of a file, and how far it was read."""

    look: FileLook
    cursor: int  # bytes in whole lines
    lines: int
    hash: bytes
    body: bytes  # all of it, cleaned
    segment: bytes  # what of that is to be kept, beside what is kept already
    first_line: int  # of the segment
    is_continued: bool
    shortened: int  # strings too long to be kept whole


def read_file(path: str, known: KnownFile | None, kept: bytes | None, breathe: Callable[[], None]) -> FileReading:
    """Read a file. `known`, `kept`: how it was read before, and its body. Raises FileRefused, or OSError."""
    try:
        stored = session_in_database(path)
    except DatabaseRefused as refused:
        raise FileRefused(str(refused)) from refused
    if stored is not None:
        return _read_whole(*stored, breathe)
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb") as file:
        seen = os.fstat(descriptor)
        if not stat.S_ISREG(seen.st_mode):
            raise FileRefused("not a regular file")
        look = FileLook(seen.st_dev, seen.st_ino, seen.st_size, seen.st_mtime_ns)
        if not look.size:
            raise FileRefused("nothing in it")
        if look.size > FILE_BYTES:
            raise FileRefused(f"larger than {FILE_BYTES // _MIB} MB")
        if file.read(4) == ZSTD:
            return _read_packed(file, look, breathe)
        file.seek(0)
        if file.read(len(MAGIC)) == MAGIC:
            raise FileRefused(_why_not(path))
        whole = assembled(path)
        if whole is not None:
            return _read_whole(whole, look, breathe)
        file.seek(0)
        return _read(file, look, known, kept, breathe)


def _read(
    file: BinaryIO, look: FileLook, known: KnownFile | None, kept: bytes | None, breathe: Callable[[], None]
) -> FileReading:
    hasher, start, lines, before = blake2b(digest_size=32), 0, 0, b""
    is_same = False
    if known is not None and 0 < known.cursor <= look.size:
        for block in _pieces(file, known.cursor):
            hasher.update(block)
            breathe()
        is_same = hasher.digest() == known.hash
        if is_same and kept is not None:
            start, lines = known.cursor, known.lines
            before = b"\n".join([*kept.split(b"\n")[:lines], b""])
        else:
            hasher = blake2b(digest_size=32)
            file.seek(0)
    first_line, cursor = lines + 1, start
    cleaner, cleaned, size = Cleaner(breathe), [], len(before)
    for block in _line_blocks(file, look.size - start):
        end = block.rfind(b"\n") + 1
        hasher.update(block[:end])
        lines += block.count(b"\n", 0, end)
        cursor += end
        cleaned.append(cleaner.clean(block))
        size += len(cleaned[-1])
        _refuse_more(size)
        breathe()
    segment = b"".join(cleaned)
    del cleaned
    is_continued = is_same or (known is not None and known.look == look)
    body = before + segment if before else segment
    return FileReading(look, cursor, lines, hasher.digest(), body, segment, first_line, is_continued, cleaner.shortened)


def _why_not(database: str) -> str:
    """Why no sessions were found in a database."""
    try:
        looks_of_sessions(database)
    except DatabaseRefused as refused:
        return str(refused)
    return "a database, whose sessions are read one by one"


def _read_whole(data: bytes, look: FileLook, breathe: Callable[[], None]) -> FileReading:
    """A session that lies in many files or in a database, put together; every time from the beginning."""
    cleaner = Cleaner(breathe)
    body = cleaner.clean(data)
    _refuse_more(len(body))
    digest = blake2b(data, digest_size=32).digest()
    return FileReading(look, look.size, body.count(b"\n"), digest, body, body, 1, False, cleaner.shortened)


def _read_packed(file: BinaryIO, look: FileLook, breathe: Callable[[], None]) -> FileReading:
    """A file that an agent has packed. Such a one never grows."""
    import zstandard

    file.seek(0)
    cleaner, cleaned, size, lines, raw = Cleaner(breathe), [], 0, 0, 0
    with zstandard.ZstdDecompressor(max_window_size=1 << 27).stream_reader(
        file, read_across_frames=True, closefd=False
    ) as stream:
        try:
            for block in _line_blocks(stream, FILE_BYTES + 1):
                raw += len(block)
                if raw > FILE_BYTES:
                    raise FileRefused(f"larger than {FILE_BYTES // _MIB} MB, unpacked")
                lines += block.count(b"\n")
                cleaned.append(cleaner.clean(block))
                size += len(cleaned[-1])
                _refuse_more(size)
                breathe()
        except zstandard.ZstdError as error:  # cut off, or damaged: what came before it counts
            if not cleaned:
                raise FileRefused("packed, and damaged") from error
    body = b"".join(cleaned)
    file.seek(0)
    hasher = blake2b(digest_size=32)
    for block in _pieces(file, look.size):
        hasher.update(block)
    return FileReading(look, look.size, lines, hasher.digest(), body, body, 1, False, cleaner.shortened)


def _refuse_more(size: int) -> None:
    if size > KEPT_BYTES:
        raise FileRefused(f"more than {KEPT_BYTES // _MIB} MB of text in it")


def _pieces(file: BinaryIO, size: int) -> Iterator[bytes]:
    while size > 0:
        block = file.read(min(_BLOCK_BYTES, size))
        if not block:
            return
        size -= len(block)
        yield block


def _line_blocks(stream: Any, limit: int) -> Iterator[bytes]:
    """Blocks that end where a line ends; the last may not. Never more than `limit` bytes: the file may grow meanwhile."""
    rest: list[bytes] = []
    held = 0
    while limit > 0:
        block = stream.read(min(_BLOCK_BYTES, limit))
        if not block:
            break
        limit -= len(block)
        end = block.rfind(b"\n") + 1
        if not end:
            rest.append(block)
            held += len(block)
            if held > LINE_BYTES:
                raise FileRefused(f"a line of more than {LINE_BYTES // _MIB} MB in it")
            continue
        yield b"".join([*rest, block[:end]])
        rest = [block[end:]] if end < len(block) else []
        held = len(block) - end
    if rest:
        yield b"".join(rest)
