"""Replacing a file by a new one in one step, keeping a handle on the old content.

Whoever writes to the old file at that moment loses nothing: it is handed out, and can be read again later. What is
written, and what becomes of the old file, is not decided here.
"""

import contextlib
import ctypes
import errno
import hashlib
import logging
import os
import stat
import sys
import time
from collections.abc import Iterable
from typing import NamedTuple

from mesh.pages.file_text import Content, LeftAlone, Stamp, read_open, stamp_of

PREFIX = ".mesh-"  # of files of ours that are not there for long; hidden, so nobody takes them for pages
_OLD = "-old"
_HERE = -100  # AT_FDCWD
# What a kernel, a C library or a file system says that does not know the call.
_UNKNOWN = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP}


class DisplacedFile:
    """A file that another was put in the place of. Its descriptor stays open: who writes to it still is heard."""

    def __init__(self, path: str | None, descriptor: int) -> None:
        self.path = path  # where it lies now, if it has a name
        self._descriptor = descriptor

    def stamp(self) -> Stamp:
        """As it is at this moment."""
        return stamp_of(os.fstat(self._descriptor))

    def read(self) -> tuple[Stamp, Content | LeftAlone]:
        """What it says at this moment."""
        return read_open(self._descriptor)

    def data(self) -> bytes:
        """Its bytes, all of them."""
        with open(os.dup(self._descriptor), "rb") as file:
            file.seek(0)
            return file.read()

    def unlink(self) -> None:
        """Take its name away. It can still be read."""
        if self.path is not None:
            remove(self.path)
            self.path = None

    def put_back(self, path: str) -> None:
        """Give it its old name again, and let go of it."""
        if self.path is not None:
            move(self.path, path)
            self.path = None
        self.close()

    def close(self, *, is_kept: bool = False) -> None:
        """Let go of it for ever, or leave it where it lies."""
        if not is_kept:
            self.unlink()
        os.close(self._descriptor)


class LeftoverFile(NamedTuple):
    """A file of ours that was left by somebody who was killed."""

    path: str
    of: str | None  # the name of the file it lies beside, if that is known
    is_draft: bool  # it never was in its place: nothing is lost with it


def replace(path: str, data: bytes) -> DisplacedFile:
    """Put new bytes in the place of a file, with its mode. FileNotFoundError: there is none, and none was made."""
    found = os.lstat(path)
    draft = _write_draft(path, data, stat.S_IMODE(found.st_mode))
    try:
        if not _call(draft, path, is_exchange=True):
            return _replace_in_two_steps(draft, path)
    except BaseException:
        remove(draft)
        raise
    return DisplacedFile(draft, os.open(draft, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC))


def add(path: str, data: bytes) -> None:
    """Make a file, whole at once, and its folders. FileExistsError: somebody was faster, and keeps theirs."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    draft = _write_draft(path, data, None)
    try:
        move(draft, path)
    except BaseException:
        remove(draft)
        raise


def move(path: str, to: str) -> None:
    """Give a file another name. FileExistsError: there is one of that name; it stays."""
    try:
        if not _call(path, to, is_exchange=False):
            _link_over(path, to)
    except FileExistsError:
        # A disk that knows no case: the same file under its other name.
        if path.casefold() != to.casefold() or not os.path.samefile(path, to):
            raise
        os.rename(path, to)


def exchange(one: str, other: str) -> None:
    """Two files take each other's names."""
    if not _call(one, other, is_exchange=True):
        between = _beside(one, b"")
        os.rename(one, between)
        try:
            os.rename(other, one)
        except OSError:
            os.rename(between, one)
            raise
        try:
            os.rename(between, other)
        except OSError:
            os.rename(one, other)
            os.rename(between, one)
            raise


def finish_exchange(one: str, other: str) -> None:
    """Where it takes three steps and a kill came after the second, take the third."""
    between = _beside(one, b"")
    if os.path.lexists(between) and os.path.lexists(one) and not os.path.lexists(other):
        os.makedirs(os.path.dirname(other), exist_ok=True)
        os.rename(between, other)


def take_away(path: str) -> DisplacedFile:
    """Take a file out of its place: what was written to it up to now is in it."""
    away = _beside(path, b"")
    os.rename(path, away)
    return DisplacedFile(away, os.open(away, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC))


def remove(path: str) -> None:
    """Whether it is there or not."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)


def stray(path: str, names: Iterable[str]) -> LeftoverFile:
    """What a file is whose name begins with our prefix; `names`: those that may have been replaced beside it."""
    of = os.path.basename(path).removeprefix(PREFIX).partition("-")[0]
    with open(path, "rb") as file:
        is_draft = is_new(path, file.read())
    return LeftoverFile(path, next((name for name in names if mark(os.fsencode(name)) == of), None), is_draft)


def is_new(path: str, data: bytes) -> bool:
    """Whether these bytes are what was being put in place when the stray file was left."""
    return os.path.basename(path).removesuffix(_OLD).endswith("-" + mark(data))


def mark(data: bytes) -> str:
    """A few characters that stand for bytes."""
    return hashlib.blake2b(data, digest_size=8).hexdigest()


def _beside(path: str, data: bytes) -> str:
    """The name tells the file it belongs to and what it held at first: so it can be told what a killed process left."""
    folder, name = os.path.split(path)
    return os.path.join(folder, f"{PREFIX}{mark(os.fsencode(name))}-{mark(data)}")


def _write_draft(path: str, data: bytes, mode: int | None) -> str:
    draft = _beside(path, data)
    remove(draft)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666 if mode is None else 0o600)
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            if mode is not None:
                os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())  # after a power cut an empty file would look like an edit
    except BaseException:
        remove(draft)
        raise
    return draft


def _replace_in_two_steps(draft: str, path: str) -> DisplacedFile:
    """Where files cannot be exchanged: the old one gets a second name first."""
    old: str | None = draft + _OLD
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        remove(draft + _OLD)
        try:
            os.link(path, draft + _OLD, follow_symlinks=False)
        except OSError as error:
            if error.errno not in _UNKNOWN | {errno.EPERM, errno.EMLINK}:
                raise
            old = None
        os.replace(draft, path)
    except BaseException:
        os.close(descriptor)
        raise
    return DisplacedFile(old, descriptor)


def _link_over(path: str, to: str) -> None:
    try:
        os.link(path, to, follow_symlinks=False)
        os.unlink(path)
    except OSError as error:
        if error.errno not in _UNKNOWN | {errno.EPERM, errno.EMLINK}:
            raise
        if os.path.lexists(to):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), to) from error
        os.rename(path, to)


def _call(one: str, other: str, *, is_exchange: bool) -> bool:
    """Rename without ever replacing. False: this system or this disk cannot."""
    names = (os.fsencode(one), os.fsencode(other))
    library = ctypes.CDLL(None, use_errno=True)
    try:
        if sys.platform == "darwin":
            failed = library.renamex_np(*names, ctypes.c_uint(2 if is_exchange else 4))  # RENAME_SWAP, RENAME_EXCL
        else:
            flags = ctypes.c_uint(2 if is_exchange else 1)  # RENAME_EXCHANGE, RENAME_NOREPLACE
            failed = library.renameat2(_HERE, names[0], _HERE, names[1], flags)
    except AttributeError:  # an old C library
        return False
    if not failed:
        return True
    code = ctypes.get_errno()
    if code in _UNKNOWN:
        return False
    raise OSError(code, os.strerror(code), one, None, other)


_QUIET_SECONDS = 0.04  # a file that was the same on two looks so far apart is not half written
_EMPTY_SECONDS = 1.0  # a program that rewrites a file empties it first

log = logging.getLogger("mesh.node")


def overwrite(path: str, data: bytes, before: bytes) -> bool:
    """Replace a file that says `before`. False: somebody has saved something else, and that is there."""
    found = _put(path, data, before)
    if found is None:
        return True
    in_place = data
    while found is not None:
        theirs = found
        found = _put(path, theirs, in_place)
        in_place = theirs
        if found is not None:  # one who had seen ours for a moment has saved that
            log.warning("%s was saved twice at once; what was saved first is in %s", path, keep_aside(path, theirs))
    return False


def keep_aside(path: str, data: bytes) -> str:
    """Write what found no place beside where it would have been. Returns where; what lies there already is not written twice."""
    number = 0
    while True:
        aside = f"{path}.{number}.rej" if number else f"{path}.rej"
        try:
            add(aside, data)
        except FileExistsError:
            if os.path.isfile(aside):
                with open(aside, "rb") as file:
                    if file.read(len(data) + 1) == data:
                        return aside
            number += 1
        else:
            return aside


def replaced(path: str, data: bytes, before: bytes) -> bytes | None:
    """Put new bytes in the place of a file. What it said, if that is not `before`; who is writing to it is waited for."""
    displaced = replace(path, data)
    try:
        found = displaced.data()
        if found != before:
            found = _quiet(displaced)
    finally:
        displaced.close()
    return None if found in (b"", before) else found


def _put(path: str, data: bytes, before: bytes) -> bytes | None:
    """The same, also where there is no file."""
    try:
        return replaced(path, data, before)
    except FileNotFoundError:
        try:
            add(path, data)
        except FileExistsError:
            return replaced(path, data, before)
    return None


def _quiet(displaced: DisplacedFile) -> bytes:
    """What a file says when nobody has written to it for a moment."""
    last, until = b"", time.monotonic() + _EMPTY_SECONDS
    while time.monotonic() < until:
        data = displaced.data()
        if data and data == last:
            break
        last = data
        time.sleep(_QUIET_SECONDS)
    return last
