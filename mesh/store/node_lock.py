"""One sidecar a home: the lock that says so, and who holds it."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from mesh.core.errors import HomeBusy
from mesh.store.database import refuse_newer
from mesh.store.home import Home
from mesh.store.lock import FileLock

_NAME = "sidecar.lock"
_PATIENCE_SECONDS = 0.5  # whoever asks whether a sidecar runs holds the lock for a moment


@contextmanager
def only_sidecar(home: Home) -> Iterator[None]:
    """Be the sidecar of a home until leaving; refuse if there is one."""
    path = home.file(_NAME)
    if os.path.isfile(home.file("mesh.db")):
        refuse_newer(home.file("mesh.db"))
    try:
        descriptor = FileLock(path).acquire(_PATIENCE_SECONDS)
    except HomeBusy:
        raise HomeBusy(
            f"a sidecar of {home.path} is running already (process {_holder(path)})",
            "use it as it is: mesh status; or stop it: mesh down",
        ) from None
    try:
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, str(os.getpid()).encode(), 0)
        yield
    finally:
        os.ftruncate(descriptor, 0)
        os.close(descriptor)


def running(home: Home) -> int | None:
    """The process id of the home's sidecar, if one runs."""
    path = home.file(_NAME)
    return _holder(path) if FileLock(path).is_held() else None


def _holder(path: str) -> int | None:
    try:
        with open(path) as file:
            return int(file.read(20))
    except (OSError, ValueError):
        return None
