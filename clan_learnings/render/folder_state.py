"""What a folder of rendered files remembers of itself, in one hidden file: up to where it is, and which files it wrote.

Disposable: without it, or if any of it does not fit, everything is rendered anew. The same file is the lock of who renders.
"""

from __future__ import annotations

import fcntl
import json
import os
import time

from clan_learnings.render.owned_files import cannot
from mesh.core.errors import HomeBusy

TYPE_CHECKING = False  # see `mesh`
if TYPE_CHECKING:
    from typing import Any, Self

    from clan_learnings.render.record_lines import Place

NAME = ".clan-mesh-state"
VERSION = 3  # of this file and of what is rendered: another one, and all files are rendered anew
_LOOK_SECONDS = 0.05


class State:
    """Use as a context manager: inside, nobody else renders into the folder."""

    def __init__(self, folder: str, patience_seconds: float) -> None:
        self._folder = folder
        self._patience_seconds = patience_seconds
        self._descriptor = -1

    def __enter__(self) -> Self:
        path = os.path.join(self._folder, NAME)
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
        """Remember. Whoever is killed in here leaves something that cannot be read, and all is rendered anew."""
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
                time.sleep(_LOOK_SECONDS)
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
