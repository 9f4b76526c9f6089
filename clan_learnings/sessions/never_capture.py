"""The list of what must never be captured again: a file of hashes in the home, for its owner. Only grows.

Outside of the folder of captured sessions, because that may be deleted at any time, and a promise to forget must not go with it.
Names nothing: who reads it learns neither a session nor a path.
"""

import os
from collections.abc import Iterable

from mesh.core.ids import named_digest

FILE = "forgotten"
_PURPOSE = b"clan-mesh forg 1"


class Forgotten:
    """The list of one home."""

    def __init__(self, home: str) -> None:
        self._path = os.path.join(home, FILE)
        self._size = -1
        self._hashes: frozenset[bytes] = frozenset()

    def __contains__(self, mark: bytes) -> bool:
        return _hash(mark) in self._read()

    def __len__(self) -> int:
        return len(self._read())

    def add(self, marks: Iterable[bytes]) -> None:
        """Put down what is not there, on disk when this returns."""
        known = self._read()
        fresh = [own for mark in marks if (own := _hash(mark)) not in known]
        if not fresh:
            return
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        descriptor = os.open(self._path, flags, 0o600)
        try:
            # A line that a kill has cut ends here; in one piece, so that two who append do not mix.
            os.write(descriptor, b"\n" + b"".join(own + b"\n" for own in fresh))
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def _read(self) -> frozenset[bytes]:
        try:
            size = os.stat(self._path).st_size
            if size != self._size:
                with open(self._path, "rb") as file:
                    self._hashes = frozenset(file.read().split())
                self._size = size
        except FileNotFoundError:
            self._size, self._hashes = -1, frozenset()
        return self._hashes


def _hash(mark: bytes) -> bytes:
    return named_digest(_PURPOSE, mark).hex().encode()
