"""A record as one line of JSON, and what can be read back from such a line: its place in the order. No files here.

Everything before the record's own fields has a fixed place, so a line's stamp and id are found without parsing it. Our mark comes
first, so it is there even if another program cuts the line off.
"""

from __future__ import annotations

import json
import time
from base64 import b32encode
from functools import lru_cache
from typing import Any

from clan_learnings.context.injected_mark import NAME, RENDERED
from clan_learnings.records.record import Note
from mesh.core.display import escaped
from mesh.core.ids import ID_CHARS, parse_id

Place = tuple[int, bytes]  # of a record in the order of writing: its stamp, of equal ones its tag

# What records of ours have, in the order in which a person wants to read it. Whatever else a record has, anybody may have
# written: it stands apart, so that it cannot pass for one of these or for what we say of the record.
FIELDS = (
    "text", "wrong", "right", "rule", "pattern", "topic", "tags", "category", "severity", "confidence", "sureness",
    "source", "evidence", "minutes_lost", "agent", "session",
)  # fmt: skip
_KNOWN = frozenset((*FIELDS, "repo"))

_MARK = '{"mark": "'
OPENING = f"{_MARK}{NAME} rendered v".encode()  # of a line of ours, of whatever version
_ID = f'{_MARK}{RENDERED}", "id": "'
_AT = '", "at": "'
_STAMP = '", "stamp": '
_ID_FROM = len(_ID)
_AT_FROM = _ID_FROM + ID_CHARS + len(_AT)
_AT_CHARS = len("2026-11-16T15:29:37.123Z")
_STAMP_FROM = _AT_FROM + _AT_CHARS + len(_STAMP)
_HEAD_BYTES = _STAMP_FROM + 24  # the stamp and more


def line(note: Note) -> bytes:
    """The whole line, its end included."""
    record = note.record
    fields: dict[str, Any] = {"author": whole_id(note.node), "repo": note.repo}
    for name in FIELDS:
        if name in record:
            fields[name] = record[name]
    other = {name: record[name] for name in sorted(record) if name not in _KNOWN}
    if other:
        fields["other"] = other
    text = json.dumps(fields, ensure_ascii=False, default=_bytes)
    head = f"{_ID}{whole_id(note.tag)}{_AT}{when(note.at_ms)}{_STAMP}{note.stamp}, "
    return f"{escaped(head + text[1:])}\n".encode()


def place_of(data: bytes) -> Place:
    """The place of a line in the order, read from its first `_HEAD_BYTES` bytes."""
    tag = parse_id(data[_ID_FROM : _ID_FROM + ID_CHARS].decode("ascii"))
    return int(data[_STAMP_FROM : data.index(b",", _STAMP_FROM)]), tag


def head_of(data: Any, at: int) -> bytes:
    """Of a file in memory, as much of the line at this place as `place_of` needs."""
    head: bytes = data[at : at + _HEAD_BYTES]
    return head


def id_in_line(tag: bytes) -> bytes:
    """The beginning of the line of a record, whenever it was written."""
    return (_ID + whole_id(tag)).encode()


def whole_id(data: bytes) -> str:
    """`text_id`, for who needs a million of them."""
    return b32encode(data)[:ID_CHARS].decode().lower()


def when(milliseconds: int) -> str:
    """A time, to the millisecond."""
    seconds, rest = divmod(milliseconds, 1000)
    return f"{_second(seconds)}.{rest:03d}Z"


def month(stamp: int) -> str:
    """The month a stamp lies in."""
    return _second((stamp >> 16) // 1000)[:7]


@lru_cache(4096)
def _second(seconds: int) -> str:
    year, *rest = time.gmtime(seconds)[:6]
    return "{:04d}-{:02d}-{:02d}T{:02d}:{:02d}:{:02d}".format(year, *rest)


def _bytes(value: object) -> str:
    if not isinstance(value, bytes):
        raise TypeError(f"{type(value).__name__} in a record")
    return value.hex()
