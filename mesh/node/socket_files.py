"""Files of the sockets that a node listens on: made for their owner only, and in the place of what a killed node has left."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from mesh.core.errors import MeshError


def free(path: str) -> str:
    """A path to bind: what a killed sidecar has left there is removed. The sidecar lock says that it is ours."""
    folder = os.path.dirname(path)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    if os.stat(folder).st_uid != os.getuid():
        raise MeshError(f"the folder {folder} belongs to somebody else", "set XDG_RUNTIME_DIR to a folder of your own")
    with suppress(FileNotFoundError):
        os.unlink(path)
    return path


@contextmanager
def owner_only() -> Iterator[None]:
    """Sockets are made for their owner only."""
    before = os.umask(0o177)
    try:
        yield
    finally:
        os.umask(before)
