"""The archive: records older than the newest thousand, one file a month, lines in the order of writing, so binary search finds one.

A change inserts, removes or replaces lines; the rest of a file is copied. The most common change, a record that has become older than
the newest thousand, is appended.
"""

from __future__ import annotations

import mmap
import os
import re
from collections.abc import Iterable, Iterator
from errno import EIO
from typing import Self

from clan_learnings.render import owned_files
from clan_learnings.render.record_lines import Place, head_of, id_in_line, month, place_of

Changes = dict[Place, bytes | None]  # the line of a record; None: it is not in the archive

FOLDER = "archive"
_CHUNK = 1 << 20
_NAME = re.compile(r"-\d{4}-\d\d\.jsonl")


class Archive:
    """The files of one log."""

    def __init__(self, folder: str, log: str) -> None:
        self._folder = os.path.join(folder, FOLDER)
        self._log = log

    def names(self) -> list[str]:
        """Every existing file with one of our names, relative to the folder above."""
        found = os.listdir(self._folder)
        kept = [name for name in found if name.startswith(self._log) and _NAME.fullmatch(name, len(self._log))]
        return sorted(os.path.join(FOLDER, name) for name in kept)

    def write_all(self, lines: Iterable[tuple[int, bytes]]) -> Iterator[str]:
        """Write everything again, from every line with its stamp, in order. Yields the names of the files that changed."""
        before = set(self.names())
        rest = iter(lines)
        ahead = next(rest, None)
        while ahead is not None:
            first = ahead
            name = self._name(month(first[0]))

            def of_month(first: tuple[int, bytes] = first, name: str = name) -> Iterator[bytes]:
                nonlocal ahead
                yield first[1]
                for ahead in rest:
                    if self._name(month(ahead[0])) != name:
                        return
                    yield ahead[1]
                ahead = None

            owned_files.replace(self._path(name), of_month())
            before.discard(name)
            yield name
        for name in sorted(before):
            owned_files.remove(self._path(name))
            yield name

    def apply(self, changes: Changes, gone: Iterable[bytes]) -> Iterator[str]:
        """Change some lines. `gone`: records whose stamp is no longer known. Yields the names of the files that changed."""
        todo: dict[str, Changes] = {}
        for place, made in changes.items():
            todo.setdefault(self._name(month(place[0])), {})[place] = made
        for name, place in self._found(gone):
            todo.setdefault(name, {}).setdefault(place, None)
        for name in sorted(todo):
            if self._splice(self._path(name), todo[name]):
                yield name

    def _splice(self, path: str, changes: Changes) -> bool:
        with _ArchiveLines(path) as old:
            cuts = []  # from where to where the old file is replaced, and by what
            for place in sorted(changes):
                start, end = old.find(place)
                made = changes[place] or b""
                if made or end > start:
                    cuts.append((start, end, made))
            if not cuts:
                return False
            if cuts[0][0] == old.size > 0:
                with open(path, "ab") as file:
                    file.write(b"".join(made for _, _, made in cuts))
            elif _size(old.size, cuts):
                owned_files.replace(path, old.parts(cuts))
            else:
                owned_files.remove(path)
        return True

    def _found(self, gone: Iterable[bytes]) -> Iterator[tuple[str, Place]]:
        wanted = [(tag, id_in_line(tag)) for tag in sorted(gone)]
        for name in self.names() if wanted else ():
            with _ArchiveLines(self._path(name)) as lines:
                for _, start in wanted:
                    place = lines.place_with(start)
                    if place is not None:
                        yield name, place

    def _name(self, of_month: str) -> str:
        return os.path.join(FOLDER, f"{self._log}-{of_month}.jsonl")

    def _path(self, name: str) -> str:
        return os.path.join(os.path.dirname(self._folder), name)


class _ArchiveLines:
    """A file of lines in order, to look into. One that is not there has none."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._data: mmap.mmap | None = None
        self.size = 0

    def __enter__(self) -> Self:
        try:
            with open(self._path, "rb") as file:
                self.size = os.fstat(file.fileno()).st_size
                if self.size:
                    self._data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except FileNotFoundError:
            pass
        return self

    def __exit__(self, *_: object) -> None:
        if self._data is not None:
            self._data.close()

    def find(self, place: Place) -> tuple[int, int]:
        """From where to where the line of a record goes; nothing, where it would stand, if there is none."""
        data = self._data
        low, high = 0, self.size  # it begins behind every line before `low`, and not behind `high`
        while data is not None and low < high:
            middle = data.rfind(b"\n", low, (low + high) // 2) + 1 or low
            end = data.find(b"\n", middle) + 1
            there = place_of(head_of(data, middle))
            if there == place:
                return middle, end
            if there < place:
                low = end
            else:
                high = middle
        return low, low

    def place_with(self, start: bytes) -> Place | None:
        """Where the line belongs that begins like this."""
        data = self._data
        if data is None:
            return None
        at = 0 if data[: len(start)] == start else data.find(b"\n" + start) + 1
        return place_of(head_of(data, at)) if at or data[: len(start)] == start else None

    def parts(self, cuts: list[tuple[int, int, bytes]]) -> Iterator[bytes]:
        """The file with its cuts filled in."""
        at = 0
        for start, end, made in cuts:
            yield from self._copy(at, start)
            yield made
            at = end
        yield from self._copy(at, self.size)

    def _copy(self, start: int, end: int) -> Iterator[bytes]:
        """Read, not looked at in memory: a hundred megabytes would count as ours for a moment."""
        if start < end:
            with open(self._path, "rb") as file:
                file.seek(start)
                while start < end:
                    part = file.read(min(_CHUNK, end - start))
                    if not part:
                        raise OSError(EIO, "the file was cut meanwhile", self._path)
                    start += len(part)
                    yield part


def _size(before: int, cuts: list[tuple[int, int, bytes]]) -> int:
    return before + sum(len(made) - (end - start) for start, end, made in cuts)
