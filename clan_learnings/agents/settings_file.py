"""A settings file of another program: read, written whole, backed up beside itself, given back. Knows nothing of what is in it.

The backup holds the file as it was without us, and its name says which bytes we wrote over it: whoever finds those bytes
unchanged can give the backup back, to the byte. A link stays a link: what it leads to is written.
"""

import hashlib
import os
import stat
import tempfile
from contextlib import suppress

_BYTES = 16 * 1024 * 1024
_MARK = ".clan-mesh-"
_END = ".bak"


class Unusable(Exception):
    """The file has to be left as it is; the message says why."""


def read(path: str) -> bytes | None:
    """The file's bytes; None if there is none."""
    try:
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode):
            raise Unusable("it is no plain file")
        if status.st_size > _BYTES:
            raise Unusable(f"it has more than {_BYTES:,} bytes")
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Unusable(f"it cannot be read: {error.strerror}") from error


def decoded(data: bytes | None) -> str:
    """A file's text; empty if there is no file."""
    try:
        return (data or b"").decode()
    except UnicodeDecodeError as error:
        raise Unusable("it is not UTF-8") from error


def check_writable(path: str) -> None:
    """Raise if the file, or the folder it would be made in, is not to be written. Root may write everything, and should not."""
    target = os.path.realpath(path)
    if os.path.exists(target):
        if not os.stat(target).st_mode & 0o222 or not os.access(target, os.W_OK):
            raise Unusable("it is read-only")
        folder = os.path.dirname(target)
    else:
        folder = os.path.dirname(target)
        while not os.path.exists(folder):
            folder = os.path.dirname(folder)
    if not os.path.isdir(folder) or not os.stat(folder).st_mode & 0o222 or not os.access(folder, os.W_OK):
        raise Unusable(f"the folder {folder} is read-only")


def write(path: str, data: bytes, expected: bytes | None) -> None:
    """Put new bytes in the place of those that were read, all or none of them. Mode and links stay."""
    check_writable(path)
    target = os.path.realpath(path)
    try:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if read(target) != expected:
            raise Unusable("another program changed it just now")
        _replace(target, data, target)
    except OSError as error:
        raise Unusable(f"it cannot be written: {error.strerror}") from error


def delete(path: str, stop: str) -> None:
    """Take a file away, and the folders that are empty then, up to `stop`, which stays."""
    check_writable(path)
    try:
        os.unlink(path)
    except OSError as error:
        raise Unusable(f"it cannot be taken away: {error.strerror}") from error
    folder = os.path.dirname(path)
    with suppress(OSError):  # not empty
        while folder.startswith(stop + os.sep):
            os.rmdir(folder)
            folder = os.path.dirname(folder)


def backup_path(path: str, written: bytes) -> str:
    """The name of the backup of what was there before these bytes."""
    return f"{path}{_MARK}{hashlib.blake2b(written, digest_size=6).hexdigest()}{_END}"


def backups(path: str) -> list[str]:
    """All backups beside a file."""
    folder, start = os.path.dirname(path), os.path.basename(path) + _MARK
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    return sorted(os.path.join(folder, name) for name in names if name.startswith(start) and name.endswith(_END))


def back_up(path: str, without_us: bytes, written: bytes) -> str:
    """Keep what the file was, before it is written."""
    made = backup_path(path, written)
    try:
        _replace(made, without_us, path)
    except OSError as error:
        raise Unusable(f"its backup {made} cannot be written: {error.strerror}") from error
    return made


def forget_backups(path: str, but: str = "") -> None:
    """Take away the backups of a file, but one: there is never more than the newest."""
    for old in backups(path):
        if old != but:
            forget(old)


def forget(backup: str) -> None:
    """Take one backup away, if there is one."""
    with suppress(OSError):
        os.unlink(backup)


def _replace(target: str, data: bytes, like: str) -> None:
    """All bytes or none, with the mode and the owner of another file, if there is one."""
    descriptor, draft = tempfile.mkstemp(prefix=f".{os.path.basename(target)}.", dir=os.path.dirname(target))
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            if os.path.exists(like):
                status = os.stat(like)
                if os.geteuid() == 0:
                    os.fchown(file.fileno(), status.st_uid, status.st_gid)
                os.fchmod(file.fileno(), status.st_mode & 0o7777)
            else:
                os.fchmod(file.fileno(), 0o666 & ~_umask())
            os.fsync(file.fileno())
        os.rename(draft, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(draft)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
