"""Whether the node is at work for somebody who waits: a time in a few bytes of memory that node and worker share.

The node sets it whenever it begins something, which costs it nothing; the worker looks at it between two moments of work.
"""

import mmap
import os
import struct
import tempfile
from time import monotonic_ns

_TIME = struct.Struct("=q")
_BUSY_NS = 20_000_000  # from one commit or question to the next, if there are many


class BusyFlag:
    """One side of it. `monotonic` is one clock for all processes of a machine."""

    def __init__(self, descriptor: int) -> None:
        self._memory = mmap.mmap(descriptor, _TIME.size)

    def set(self) -> None:
        """Be busy for a moment from now on."""
        _TIME.pack_into(self._memory, 0, monotonic_ns() + _BUSY_NS)

    def seconds(self) -> float:
        """How long it is still busy, as far as that is known."""
        (until,) = _TIME.unpack_from(self._memory)
        left: int = until - monotonic_ns()
        return min(_BUSY_NS, max(0, left)) / 1e9


def busy_file() -> int:
    """A file without a name that both sides can open this way: a descriptor."""
    with tempfile.TemporaryFile() as file:
        file.truncate(_TIME.size)
        return os.dup(file.fileno())
