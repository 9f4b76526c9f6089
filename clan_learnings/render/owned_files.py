"""Our files in a folder that belongs to somebody else: recognised by their mark and replaced whole. Other files are never touched.

The folder's state is kept in one hidden file: how far it is rendered, and which files we wrote. It can be deleted: everything is then
rendered again. The same file is the lock while rendering. What the files say is not decided here.
"""

from __future__ import annotations

import fcntl
import json
import os
import stat
import time
from collections.abc import Callable, Iterable
from typing import Any, Self

from clan_learnings.context.injected_mark import NAME
from clan_learnings.render.record_lines import OPENING as LINE_OPENING
from clan_learnings.render.record_lines import Place
from mesh.core.errors import HomeBusy, HomePermissions, UsageError

_FILE_OPENING = f"<!-- {NAME} rendered v".encode()
_DRAFT = ".clan-mesh-new-"  # before the name of a file that is being written beside the one it will replace

_LOOK_SECONDS = 0.04
_EMPTY_SECONDS = 1.0  # a program that rewrites a file may have emptied it just now

Stamp = tuple[int, int, int]  # of a file: its bytes, its inode, when it was written: another one if it was touched


def refuse_foreign(path: str, is_known: Callable[[str], bool] = lambda _: False) -> None:
    """Stop where a file that we would replace, or remove, is not ours. An empty one holds nothing to lose.

    `is_known`: by what else a file is ours that does not begin with our mark.
    """
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return
    if stat.S_ISLNK(found.st_mode):
        raise UsageError(f"{path} is a link; only files are replaced", "remove the link, or choose another folder")
    if not stat.S_ISREG(found.st_mode):
        raise UsageError(f"{path} is not a file", "move it away, or choose another folder")
    if found.st_size and not _is_ours(path) and not is_known(path):
        raise UsageError(
            f"{path} was not rendered by clan-mesh, so it is left alone",
            "move it away, or choose another folder: mesh render DIR",
        )


def has_mark(data: bytes) -> bool:
    """Whether what a file says begins with our mark."""
    return data.startswith((_FILE_OPENING, LINE_OPENING))


def _is_ours(path: str) -> bool:
    """Whether a file begins with our mark. One that has just gone, as when an editor renames it, may be replaced, too."""
    try:
        with open(path, "rb") as file:
            return has_mark(file.read(max(len(_FILE_OPENING), len(LINE_OPENING))))
    except FileNotFoundError:
        return True


def content(path: str) -> bytes:
    """What a file says; nothing if there is none. One that was emptied just now is waited for."""
    try:
        with open(path, "rb") as file:
            while not (data := file.read()) and 0 <= time.time() - os.fstat(file.fileno()).st_mtime < _EMPTY_SECONDS:
                time.sleep(_LOOK_SECONDS)
            return data
    except FileNotFoundError:
        return b""


def stamp_of(path: str) -> Stamp | None:
    """By what a file is known again; None if there is none."""
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return None
    return found.st_size, found.st_ino, found.st_mtime_ns


def replace(path: str, parts: Iterable[bytes]) -> None:
    """Write a file beside the old one and put it in its place: a reader sees the old one or the new one."""
    draft = _beside(path)
    try:
        with open(draft, "xb") as file:
            file.writelines(parts)
        os.replace(draft, path)
    except BaseException:
        remove(draft)
        raise


def replace_if_other(path: str, data: bytes) -> bool:
    """The same, but a file that says so already keeps its date. Whether it was written."""
    try:
        with open(path, "rb") as file:
            if os.fstat(file.fileno()).st_size == len(data) and file.read() == data:
                return False
    except FileNotFoundError:
        pass
    replace(path, [data])
    return True


def replace_same(path: str, data: bytes, before: bytes) -> bool:
    """The same for a file that people write to. False: it does not say `before` any more, and stays."""
    if content(path) != before:
        return False
    replace(path, [data])
    return True


def remove(path: str) -> bool:
    """Whether there was such a file."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        return False
    return True


def make_folder(path: str) -> None:
    """The folder and those above it. A link to a folder is one."""
    try:
        os.makedirs(path, exist_ok=True)
    except OSError as error:
        raise cannot(path, error) from error


def sweep(folder: str) -> None:
    """Remove what one who was killed had begun to write."""
    for name in os.listdir(folder):
        if name.startswith(_DRAFT):
            remove(os.path.join(folder, name))


def cannot(path: str, error: OSError) -> HomePermissions:
    """What the system says, as a sentence."""
    return HomePermissions(
        f"{error.filename or path} cannot be written: {error.strerror}",
        "mend that, or choose another folder",
    )


def same(known: Any, path: str) -> bool:
    """Whether a file is the one that was remembered."""
    return isinstance(known, list) and tuple(known) == stamp_of(path)


def _beside(path: str) -> str:
    folder, name = os.path.split(path)
    return os.path.join(folder, f"{_DRAFT}{os.getpid()}-{name}")


STATE_FILE = ".clan-mesh-state"
VERSION = 3  # of this file and of what is rendered: after a change all files are rendered again
_LOCK_SECONDS = 0.05


class RenderState:
    """Use as a context manager: it locks the folder against other renderers."""

    def __init__(self, folder: str, patience_seconds: float) -> None:
        self._folder = folder
        self._patience_seconds = patience_seconds
        self._descriptor = -1

    def __enter__(self) -> Self:
        path = os.path.join(self._folder, STATE_FILE)
        try:
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
            self._lock()
        except OSError as error:
            self.__exit__()
            raise cannot(path, error) from error
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def read(self) -> dict[str, Any]:
        """What was remembered; empty if it cannot be used."""
        try:
            found = json.loads(os.pread(self._descriptor, os.fstat(self._descriptor).st_size, 0))
        except (ValueError, RecursionError):
            return {}
        return found if isinstance(found, dict) and found.get("version") == VERSION else {}

    def write(self, value: dict[str, Any]) -> None:
        """Remember. If the process dies in here, the file cannot be read, and everything is rendered again."""
        data = json.dumps({"version": VERSION} | value).encode()
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, data, 0)

    def forget(self) -> None:
        """Remember nothing."""
        os.ftruncate(self._descriptor, 0)

    def _lock(self) -> None:
        deadline = time.monotonic() + self._patience_seconds
        while True:
            try:
                fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise HomeBusy(
                        f"somebody else renders into {self._folder} right now", "wait for it, then repeat the command"
                    ) from None
                time.sleep(_LOCK_SECONDS)
            else:
                return


def as_dict(value: Any) -> dict[str, Any]:
    """A remembered part, if it is one."""
    return value if isinstance(value, dict) else {}


def edge_value(place: Place) -> list[Any]:
    """The edge between a file and its archive, to be remembered."""
    return [place[0], place[1].hex()]


def edge_of(value: Any) -> Place | None:
    """One that was remembered, if it is one."""
    try:
        return int(value[0]), bytes.fromhex(value[1])
    except (TypeError, ValueError, IndexError, KeyError):
        return None
