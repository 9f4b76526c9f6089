"""A file as the text of a page, and back. Line ends, byte order mark and the final newline belong to the file, not to the page.

Reads, never writes; what is no text of a page is left alone, with a reason to tell.
"""

import errno
import os
import stat
from typing import NamedTuple

MOST_BYTES = 4 << 20  # what a page can have at most, and a little more where several wrote to it at once, fits
_BOM = b"\xef\xbb\xbf"
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # a pipe must not stop us


class Stamp(NamedTuple):
    """By what a file is known again: another one if it was written or replaced."""

    inode: int
    size: int
    written: int


class Content(NamedTuple):
    """The text as the page has it, and the style in which this file writes it: some of `bom`, `crlf`, `bare`."""

    text: str
    style: str


class LeftAlone(NamedTuple):
    """Why a file cannot be a page."""

    reason: str


def stamp_of(found: os.stat_result) -> Stamp:
    """From what the system says about a file."""
    return Stamp(found.st_ino, found.st_size, found.st_mtime_ns)


def decoded(data: bytes) -> Content | LeftAlone:
    """The text of a page in the bytes of a file."""
    if len(data) > MOST_BYTES:
        return LeftAlone(f"it is larger than {MOST_BYTES >> 20} MiB")
    style = []
    if data.startswith(_BOM):
        style.append("bom")
        data = data[len(_BOM) :]
    if b"\0" in data:
        return LeftAlone("it is not a text: it holds zero bytes")
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        return LeftAlone(f"it is not UTF-8 (byte {error.start})")
    windows = text.count("\r\n")
    if windows:
        if windows * 2 > text.count("\n"):
            style.append("crlf")
        text = text.replace("\r\n", "\n")
    if text and not text.endswith("\n"):
        style.append("bare")
        text += "\n"
    return Content(text, " ".join(style))


def encoded(text: str, style: str) -> bytes:
    """The bytes of a file that writes a page's text in its own style."""
    words = style.split()
    if "bare" in words:
        text = text.removesuffix("\n")
    if "crlf" in words:
        text = text.replace("\n", "\r\n")
    return (_BOM if "bom" in words else b"") + text.encode()


def same(one: str, other: str) -> bool:
    """Whether two texts say the same: how many newlines end them is nobody's edit."""
    return one == other or one.rstrip("\n") == other.rstrip("\n")


def read(path: str) -> tuple[Stamp, Content | LeftAlone]:
    """What a file says, and its stamp after reading. Raises OSError, FileNotFoundError among them."""
    try:
        descriptor = os.open(path, _FLAGS)
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        return stamp_of(os.lstat(path)), LeftAlone("it is a link")
    try:
        return read_open(descriptor)
    finally:
        os.close(descriptor)


def read_open(descriptor: int) -> tuple[Stamp, Content | LeftAlone]:
    """The same of a file that is open, wherever it lies by now."""
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode):
        return stamp_of(found), LeftAlone("it is not a file")
    data = b""
    while len(data) <= MOST_BYTES and (more := os.pread(descriptor, MOST_BYTES + 1 - len(data), len(data))):
        data += more
    return stamp_of(os.fstat(descriptor)), decoded(data)
