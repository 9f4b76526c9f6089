"""A transcript's bytes as JSON values that know their lines. Knows no flavour; a bad byte, line or record costs only itself.

Most transcripts are lines of JSON, some are one document, maybe printed over many lines. Both are read here: `records` gives
the values of lines, `document` one value whose parts know their place.
"""

import json
import os
import re
import stat
from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property
from itertools import islice
from typing import Any, NamedTuple

import orjson

ZSTD = b"\x28\xb5\x2f\xfd"
BYTES = 256 * 1024 * 1024  # of one transcript, unpacked
DOCUMENT_BYTES = 32 * 1024 * 1024  # of one that is a single value: in memory such a value may take twenty times as much
LINE_BYTES = 16 * 1024 * 1024  # of a line, for the same reason; pictures make the longest, of three million bytes
BESIDE_BYTES = 4 * 1024 * 1024  # of a file beside it
HEAD = 40  # records that are looked at to recognise a flavour
_HEAD_LINES = 400
_BOM = b"\xef\xbb\xbf"
_SORTS = 20  # unknown ones that are named
_sort_name = re.compile(r"[A-Za-z][\w.:/-]{0,59}", re.ASCII).fullmatch
_decode = json.JSONDecoder(strict=False).raw_decode
_space = re.compile(r"[ \t\n\r]*").match
_blank = re.compile(rb"[ \t\n\r\0]*").match


class TooLarge(Exception):
    """A transcript that unpacks to more than is read."""


class Record(NamedTuple):
    """One value of a line."""

    line: int
    value: dict[str, Any]


class TranscriptSource:
    """The bytes of one transcript. `path` is for finding files beside it, never for guessing what it is."""

    def __init__(self, data: bytes, path: str = "", first_line: int = 1) -> None:
        """`first_line`: where the data begins, if it is the later part of a file."""
        self.path = path
        self.skipped: dict[str, int] = {}
        self._first = first_line
        self.data = unpacked(data).removeprefix(_BOM)

    @cached_property
    def text(self) -> str:
        """All of it, bad bytes replaced."""
        return self.data.decode("utf-8", "replace").replace("\0", "")

    @property
    def is_blank(self) -> bool:
        """Whether there is nothing at all."""
        return self._start == len(self.data)

    def mentions(self, *needles: bytes) -> bool:
        """Whether any of these is anywhere in it."""
        return any(needle in self.data for needle in needles)

    def skip(self, why: str, count: int = 1) -> None:
        """Something was not understood."""
        self.skipped[why] = self.skipped.get(why, 0) + count

    def skip_sort(self, what: str, sort: object) -> None:
        """A record or a part of it is of a sort that is not known. Sorts are counted by name, as far as they are names and few."""
        why = f"{what} of a sort that is not known"
        named = f"{why}: {sort}" if isinstance(sort, str) and _sort_name(sort) else why
        is_one_more = named not in self.skipped and sum(": " in known for known in self.skipped) >= _SORTS
        self.skip(why if is_one_more else named)

    def records(self) -> Iterator[Record]:
        """The objects of all lines, glued ones apart. What is no object, or no JSON, is counted."""
        return self._records(self.skip)

    @cached_property
    def head(self) -> list[Record]:
        """The first records, for recognising a flavour; of a document, all of it if it is an object. Nothing is counted.

        None where other lines are in the majority: a text that quotes a transcript is not a transcript.
        """
        if self.data.startswith(b"[", self._start):
            return []  # no transcript has lists for lines
        document = self.document()
        if document is not None:
            return [Record(document.line, document.value)]
        found = list(islice(self._records(lambda _why: None, _HEAD_LINES), HEAD))
        last = found[-1].line - self._first + 1 if len(found) == HEAD else _HEAD_LINES
        lines = sum(not _is_empty(line) for _, line in islice(self._lines(), last))
        return found if 2 * len({record.line for record in found}) >= lines else []

    @cached_property
    def _document(self) -> "DocumentPart | None":
        if len(self.data) > DOCUMENT_BYTES or self._begins_with_a_record:
            return None
        start = _after_space(self.text, 0)
        try:
            value, end = _decode(self.text, start)
        except (ValueError, RecursionError):
            return None
        return DocumentPart(self, start, value) if _after_space(self.text, end) == len(self.text) else None

    def document(self) -> "DocumentPart | None":
        """The whole text as one value; None if it is not exactly one."""
        return self._document if self.data.startswith((b"{", b"["), self._start) else None

    def beside(self, name: str) -> bytes | None:
        """The content of a file in the transcript's folder; None if it does not exist or must not be read."""
        if not self.path or os.path.basename(name) != name or name in {"", ".", ".."}:
            return None
        return _small_file(os.path.join(os.path.dirname(self.path), name))

    def line_at(self, offset: int) -> int:
        """The line in which a place of the text is."""
        return self._first + bisect_right(self._line_ends, offset)

    def _records(self, skip: Any, lines: int | None = None) -> Iterator[Record]:
        for number, line in islice(self._lines(), lines):
            if not line or line.isspace():
                continue
            if len(line) > LINE_BYTES:
                skip("a line that is too long")
                continue
            try:
                value = orjson.loads(line)
            except ValueError:  # no JSON, or more than orjson takes: glued, control characters, lone surrogates
                yield from _patiently(number, line, skip)
                continue
            if isinstance(value, dict):
                yield Record(number, value)
            else:
                skip("a value that is no object")

    def _lines(self) -> Iterator[tuple[int, bytes]]:
        # One at a time: a list of all lines would be the file once more.
        at, number, data = 0, self._first, self.data
        while (end := data.find(b"\n", at)) >= 0:
            yield number, data[at:end]
            at, number = end + 1, number + 1
        yield number, data[at:]

    @property
    def _begins_with_a_record(self) -> bool:
        # Spares most transcripts the attempt to read them as one value.
        end = self.data.find(b"\n", self._start)
        if end < 0 or _after(_blank(self.data, end)) == len(self.data):
            return False
        try:
            orjson.loads(self.data[self._start : end])
        except ValueError:
            return False
        return True

    @cached_property
    def _start(self) -> int:
        return _after(_blank(self.data))

    @cached_property
    def _line_ends(self) -> list[int]:
        ends, at = [], -1
        while (at := self.text.find("\n", at + 1)) >= 0:
            ends.append(at + 1)
        return ends


class DocumentPart:
    """A value inside a document, and where it stands."""

    def __init__(self, source: TranscriptSource, offset: int, value: Any) -> None:
        self.value = value
        self._source = source
        self._offset = offset

    @property
    def line(self) -> int:
        """Where it begins."""
        return self._source.line_at(self._offset)

    def member(self, name: str) -> "DocumentPart | None":
        """What an object has under a name; None if there is nothing, or this is no object."""
        if not isinstance(self.value, dict) or name not in self.value:
            return None
        found, at, text = None, self._offset + 1, self._source.text
        while text[at := _after_space(text, at)] != "}":
            key, at = _decode(text, at)
            at = _after_space(text, _after_space(text, at) + 1)
            value, end = _decode(text, at)
            if key == name:
                found = DocumentPart(self._source, at, value)  # the last counts, as everywhere
            at = _after_space(text, end)
            at += text[at] == ","
        return found

    def elements(self) -> "Iterator[DocumentPart]":
        """What a list holds; nothing if this is no list."""
        if not isinstance(self.value, list):
            return
        at, text = self._offset + 1, self._source.text
        while text[at := _after_space(text, at)] != "]":
            value, end = _decode(text, at)
            yield DocumentPart(self._source, at, value)
            at = _after_space(text, end)
            at += text[at] == ","


def unpacked(data: bytes) -> bytes:
    """The bytes themselves, or what was packed with zstd into them."""
    if not data.startswith(ZSTD):
        if len(data) > BYTES:
            raise TooLarge
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


def _patiently(number: int, line: bytes, skip: Any) -> Iterator[Record]:
    text = line.decode("utf-8", "replace").replace("\0", "")
    at = 0
    while (at := _after_space(text, at)) < len(text):
        try:
            value, at = _decode(text, at)
        except (ValueError, RecursionError):
            skip("a line, or the rest of one, is no JSON")
            return
        if isinstance(value, dict):
            yield Record(number, value)
        else:
            skip("a value that is no object")


def _is_empty(line: bytes) -> bool:
    """Blank, or what a machine that went down has left of a line."""
    return _after(_blank(line)) == len(line)


def _small_file(path: str) -> bytes | None:
    # A file beside a transcript must not make us read a device, a pipe or a file of another user.
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return None
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_size > BESIDE_BYTES:
            return None
        with open(descriptor, "rb", closefd=False) as file:
            return file.read(BESIDE_BYTES)
    except OSError:
        return None
    finally:
        os.close(descriptor)


def _after_space(text: str, at: int) -> int:
    return _after(_space(text, at))


def _after(match: re.Match[Any] | None) -> int:
    assert match is not None, "a pattern that fits nothing fits everywhere"
    return match.end()
