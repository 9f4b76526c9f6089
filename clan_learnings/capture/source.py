"""A transcript's bytes as JSON values that know their lines. Knows no flavour; a bad byte, line or record costs only itself.

Most transcripts are lines of JSON, some are one document, maybe printed over many lines. Both are read here: `records` gives
the values of lines, `document` one value whose parts know their place.
"""

import json
from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple

ZSTD = b"\x28\xb5\x2f\xfd"
BYTES = 256 * 1024 * 1024  # of one transcript, unpacked
_SPACE = " \t\n\r"
_decode = json.JSONDecoder(strict=False).raw_decode


class TooLarge(Exception):
    """A transcript that unpacks to more than is read."""


class Record(NamedTuple):
    """One value of a line."""

    line: int
    value: dict[str, Any]


class Source:
    """The bytes of one transcript. `path` is for finding files beside it, never for guessing what it is."""

    def __init__(self, data: bytes, path: str = "", first_line: int = 1) -> None:
        """`first_line`: where the data begins, if it is the later part of a file."""
        self.path = path
        self.skipped: dict[str, int] = {}
        self._first = first_line
        text = unpacked(data).decode("utf-8", "replace").removeprefix("\ufeff")
        self.text = text.replace("\0", "") if "\0" in text else text

    def skip(self, why: str, count: int = 1) -> None:
        """Something was not understood."""
        self.skipped[why] = self.skipped.get(why, 0) + count

    def records(self) -> Iterator[Record]:
        """The objects of all lines, glued ones apart. What is no object, or no JSON, is counted."""
        for number, line in enumerate(self.text.split("\n"), self._first):
            at = 0
            while (at := _after_space(line, at)) < len(line):
                try:
                    value, at = _decode(line, at)
                except (ValueError, RecursionError):
                    self.skip("a line, or the rest of one, is no JSON")
                    break
                if isinstance(value, dict):
                    yield Record(number, value)
                else:
                    self.skip("a value that is no object")

    def document(self) -> "Part | None":
        """The whole text as one value; None if it is not exactly one."""
        start = _after_space(self.text, 0)
        try:
            value, end = _decode(self.text, start)
        except (ValueError, RecursionError):
            return None
        return Part(self, start, value) if _after_space(self.text, end) == len(self.text) else None

    def line_at(self, offset: int) -> int:
        """The line in which a place of the text is."""
        return self._first + bisect_right(self._line_ends, offset)

    @cached_property
    def _line_ends(self) -> list[int]:
        ends, at = [], -1
        while (at := self.text.find("\n", at + 1)) >= 0:
            ends.append(at + 1)
        return ends


class Part:
    """A value inside a document, and where it stands."""

    def __init__(self, source: Source, offset: int, value: Any) -> None:
        self.value = value
        self._source = source
        self._offset = offset

    @property
    def line(self) -> int:
        """Where it begins."""
        return self._source.line_at(self._offset)

    def member(self, name: str) -> "Part | None":
        """What an object has under a name; None if there is nothing, or this is no object."""
        if not isinstance(self.value, dict) or name not in self.value:
            return None
        found, at, text = None, self._offset + 1, self._source.text
        while text[at := _after_space(text, at)] != "}":
            key, at = _decode(text, at)
            at = _after_space(text, _after_space(text, at) + 1)
            value, end = _decode(text, at)
            if key == name:
                found = Part(self._source, at, value)  # the last counts, as everywhere
            at = _after_space(text, end)
            at += text[at] == ","
        return found

    def elements(self) -> "Iterator[Part]":
        """What a list holds; nothing if this is no list."""
        if not isinstance(self.value, list):
            return
        at, text = self._offset + 1, self._source.text
        while text[at := _after_space(text, at)] != "]":
            value, end = _decode(text, at)
            yield Part(self._source, at, value)
            at = _after_space(text, end)
            at += text[at] == ","


def unpacked(data: bytes) -> bytes:
    """The bytes themselves, or what was packed with zstd into them."""
    if not data.startswith(ZSTD):
        return data
    import zstandard

    parts, size = [], 0
    with zstandard.ZstdDecompressor(max_window_size=1 << 27).stream_reader(data, read_across_frames=True) as stream:
        while True:
            try:
                part = stream.read(1 << 20)
            except zstandard.ZstdError:  # cut off, or damaged: what came before it counts
                break
            size += len(part)
            if not part:
                break
            if size > BYTES:
                raise TooLarge
            parts.append(part)
    return b"".join(parts)


def _after_space(text: str, at: int) -> int:
    while at < len(text) and text[at] in _SPACE:
        at += 1
    return at
