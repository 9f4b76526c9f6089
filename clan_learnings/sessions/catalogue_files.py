"""The files beside the catalogue's database: raw bodies of transcripts, and the list of what must never be captured again. For their owner only.

Which body belongs to what is the catalogue's to say. A body is on disk, whole, before a row names it, and its row is gone before
the file is. So a process that is killed leaves at most files that no row names, and those are swept.
"""

import os
import secrets
from collections.abc import Collection, Iterable, Iterator

from mesh.core.ids import named_digest

FOLDER, _END, _DRAFT = "bodies", ".zst", ".draft"
_LEVEL = 3
_A_FOLDER = 512  # files; one folder with a hundred thousand is slow to list
BYTES = 256 * 1024 * 1024  # of one body, unpacked


class Bodies:
    """The files under one folder."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def keep(self, file: int, data: bytes) -> tuple[str, int]:
        """Put a body on disk for good. Returns its place, and how many bytes it takes there."""
        import zstandard

        packed = zstandard.ZstdCompressor(level=_LEVEL, write_content_size=True).compress(data)
        folder = f"{file // _A_FOLDER:05d}"
        place = f"{folder}/{file}-{secrets.token_hex(6)}{_END}"
        path = os.path.join(self._folder, place)
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        descriptor = os.open(path + _DRAFT, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with open(descriptor, "wb") as draft:
            draft.write(packed)
            draft.flush()
            os.fsync(descriptor)
        os.rename(path + _DRAFT, path)
        return place, len(packed)

    def settle(self, places: Collection[str]) -> None:
        """Make the names of bodies last through a power failure; before a row names them."""
        for folder in {os.path.dirname(place) for place in places} | ({""} if places else set()):
            descriptor = os.open(os.path.join(self._folder, folder), os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)

    def read(self, place: str) -> bytes:
        """What was kept. Raises OSError if it is gone, ValueError if it is damaged."""
        import zstandard

        with open(os.path.join(self._folder, place), "rb") as file:
            packed = file.read()
        try:
            return zstandard.ZstdDecompressor(max_window_size=1 << 27).decompress(packed, max_output_size=BYTES)
        except zstandard.ZstdError as error:
            raise ValueError(f"{place} is damaged: {error}") from error

    def remove(self, places: Collection[str]) -> None:
        """Take bodies from the disk that no row names any more."""
        for place in places:
            try:
                os.unlink(os.path.join(self._folder, place))
            except FileNotFoundError:
                continue

    def sweep(self, named: Collection[str]) -> int:
        """Remove what nobody names: left by a process that was killed. Only for who holds the writers' lock.

        So no folder goes that somebody is about to put a body into: bodies are kept under that lock too.
        """
        orphans = [place for place in self._places() if place not in named]
        self.remove(orphans)
        for folder in self._folders():
            try:
                os.rmdir(os.path.join(self._folder, folder))
            except OSError:  # there are bodies in it
                continue
        return len(orphans)

    def _places(self) -> Iterator[str]:
        for folder in self._folders():
            for name in sorted(os.listdir(os.path.join(self._folder, folder))):
                if name.endswith((_END, _DRAFT)):
                    yield f"{folder}/{name}"

    def _folders(self) -> list[str]:
        try:
            return sorted(entry.name for entry in os.scandir(self._folder) if entry.is_dir(follow_symlinks=False))
        except FileNotFoundError:
            return []


FILE = "forgotten"
_PURPOSE = b"clan-mesh forg 1"


class NeverCapture:
    """The list of one home: a file of hashes that only grows. Who reads it learns neither a session nor a path.

    It lies outside of the folder of captured sessions: that may be deleted at any time, and a promise to forget must not go with it.
    """

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
