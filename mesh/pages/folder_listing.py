"""What lies in a folder, and since when each file has been unchanged. Only looks; the time is an argument."""

import os

from mesh.pages.file_replacement import PREFIX
from mesh.pages.file_text import Stamp, stamp_of

ENDING = ".md"
_ROUNDING = 1e-6  # who comes again at the very moment that was asked for is not too early


def is_hidden(path: str) -> bool:
    """Whether a path below the folder is nobody's page: editors keep their swap and lock files so."""
    return any(part.startswith(".") for part in path.split("/"))


class Folder:
    """One folder, seen again and again. Paths are relative to it, with slashes."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.found: dict[str, Stamp] = {}  # what could be a page, links and other odd things included
        self.strays: list[str] = []  # files of ours that somebody left who was killed
        self._since: dict[str, float] = {}
        self._blind: list[str] = []
        self._identity: tuple[int, int] | None = None

    def full(self, path: str) -> str:
        """Where a file of the folder is."""
        return os.path.join(self.path, path)

    def identity(self) -> tuple[int, int] | None:
        """Another one if the folder was replaced, or a disk mounted over it. None: there is no folder."""
        try:
            found = os.stat(self.path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        return found.st_dev, found.st_ino

    def look(self, now: float) -> bool:
        """See what is there. Whether the folder is another one than at the last look, or had to be made again."""
        identity = self.identity()
        if identity is None:
            os.makedirs(self.path, exist_ok=True)
            identity = self.identity()
        is_other = self._identity not in {None, identity}
        self._identity = identity
        before, self.found, self.strays, self._blind = self.found, {}, [], []
        self._scan("")
        self._since = {
            path: self._since[path] if before.get(path) == stamp else now for path, stamp in self.found.items()
        }
        return is_other

    def is_quiet(self, path: str, now: float, seconds: float) -> bool:
        """Whether a file was the same at two looks so far apart."""
        return now - self._since[path] >= seconds - _ROUNDING

    def quiet_at(self, path: str, seconds: float) -> float:
        """When it will have been."""
        return self._since[path] + seconds

    def is_blind(self, path: str) -> bool:
        """Whether a file may be there, in a folder that cannot be read."""
        return path.startswith(tuple(self._blind))

    def stamp(self, path: str) -> Stamp | None:
        """Of a file at this moment; None if there is none."""
        try:
            return stamp_of(os.lstat(self.full(path)))
        except (FileNotFoundError, NotADirectoryError):
            return None

    def prune(self, path: str) -> None:
        """Remove the folders above a file that is gone, as far as nothing else is in them."""
        above = os.path.dirname(path)
        while above:
            try:
                os.rmdir(self.full(above))
            except OSError:
                return
            above = os.path.dirname(above)

    def _scan(self, below: str) -> None:
        try:
            with os.scandir(self.full(below)) as entries:
                for entry in entries:
                    self._see(below + entry.name, entry)
        except FileNotFoundError:
            return
        except OSError:
            if not below:
                raise
            self._blind.append(below)

    def _see(self, path: str, entry: "os.DirEntry[str]") -> None:
        if entry.name.startswith("."):
            if entry.name.startswith(PREFIX):
                self.strays.append(path)
        elif entry.is_dir(follow_symlinks=False):
            self._scan(path + "/")
        elif entry.name.endswith(ENDING):
            try:
                self.found[path] = stamp_of(entry.stat(follow_symlinks=False))
            except FileNotFoundError:
                return
