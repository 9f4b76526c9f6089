"""Built graphs in a folder, each with its hash beside it: a damaged file is built anew. Nothing here knows what a graph computes."""

from __future__ import annotations

import hashlib
import logging
import os
import secrets
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_DRAFT = ".draft-"
_OLD_SECONDS = 600  # a draft that old was left by a process that was killed
_log = logging.getLogger(__name__)


def cached(folder: str, name: str, build: Callable[[], bytes]) -> str | bytes:
    """The file of the graph of that name, built if it is not there whole.

    Two processes at once may both build it: the bytes are the same. Where nothing can be written the graph itself is given.
    """
    path = os.path.join(folder, f"{name}.onnx")
    if _is_whole(path):
        return path
    graph = build()
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        _sweep(folder)
        _replace(path, graph)
        _replace(_beside(path), hashlib.sha256(graph).hexdigest().encode())
    except OSError as error:
        _log.warning("the model is built at each start: %s cannot be written: %s", path, error.strerror)
        return graph
    return path


def _is_whole(path: str) -> bool:
    try:
        with open(_beside(path), "rb") as file:
            told = file.read(100)
        with open(path, "rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest().encode()
    except FileNotFoundError:
        return False
    except OSError as error:
        _log.warning("%s cannot be read: %s", path, error.strerror)
        return False
    if told != found:
        _log.warning("%s is damaged and is built anew", path)
    return told == found


def _beside(path: str) -> str:
    return f"{path}.sha256"


def _replace(path: str, data: bytes) -> None:
    """All of it, or what was there before."""
    draft = f"{path}{_DRAFT}{secrets.token_hex(8)}"
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
    except BaseException:
        os.unlink(draft)
        raise


def _sweep(folder: str) -> None:
    """Remove the drafts of processes that were killed."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if _DRAFT in entry.name and time.time() - entry.stat(follow_symlinks=False).st_mtime > _OLD_SECONDS:
                os.unlink(entry.path)
