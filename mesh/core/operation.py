"""The five kinds of operation and what their bodies say. No chain, no signature: see `feed`.

A body is a 16-byte salt followed by one msgpack array. Whatever is wrong inside a body never stops a
feed: `parse` answers `Ignored`, and every node ignores it alike.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from mesh.core.errors import Malformed
from mesh.core.ids import HASH_BYTES, digest, signed_prefix
from mesh.core.limits import (
    EPOCH_MAX,
    HEAD_BYTES,
    HEADS_PER_PAGE,
    LOG_CHARS,
    OPERATION_BYTES,
    SALT_BYTES,
    TAGS_PER_BODY,
    TEXT_CHARS,
    TOTAL_MAX,
)
from mesh.core.strict_msgpack import is_value, pack, unpack

ADD, REMOVE, SET, COUNT, PAGE = 1, 2, 3, 4, 5
KIND_NAMES = {ADD: "add", REMOVE: "remove", SET: "set", COUNT: "count", PAGE: "page"}
PAGES_LOG = "pages"  # its elements are pages, which are everybody's
LASTING = frozenset({REMOVE, COUNT})  # bodies no erase reaches: without them no state could be computed
_LOG_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789._-")


class Add(NamedTuple):
    """OR-Set: one more element. `at` is when it was first written, also after re-publication, or when what it tells of happened."""

    at: int
    log: str
    record: dict[str, Any]


class Remove(NamedTuple):
    """OR-Set: takes away the elements with these tags."""

    tags: list[bytes]
    reason: str


class Set(NamedTuple):
    """LWW-Register: the field of a record (its tag) or of a named key. Greatest `at` wins."""

    at: int
    target: bytes | str
    field: str
    value: Any


class Count(NamedTuple):
    """G-Counter: this feed's running total for a key.

    With `origin` (the hash of a clipped operation) it is instead what that one operation had added:
    a slot of its own, so that two copies of a node re-publishing the same loss count it once.
    """

    key: str
    total: int
    origin: bytes | None = None


class Page(NamedTuple):
    """Text CRDT: one update of a page's text, as `mesh.pages` reads it.

    `epoch`: of the feed it was first written in, which its structs are named after. `heads`: beginnings of the tags of the
    updates its writer had seen last; they tell who knew of what, and decide nothing.
    """

    page: bytes
    epoch: int
    heads: list[bytes]
    update: bytes


class Ignored(NamedTuple):
    """A body the fold passes over, and why."""

    reason: str


Body = Add | Remove | Set | Count | Page
Parsed = Body | Ignored


def kind_of(body: Body) -> int:
    """The kind number a body travels under."""
    match body:
        case Add():
            return ADD
        case Remove():
            return REMOVE
        case Set():
            return SET
        case Count():
            return COUNT
        case Page():
            return PAGE


def encode(body: Body, salt: bytes) -> bytes:
    """Salt and msgpack array. The salt makes equal texts distinct and an erased one unguessable."""
    if len(salt) != SALT_BYTES:
        raise ValueError("a salt is 16 bytes")
    fields = list(body)
    if isinstance(body, Count) and body.origin is None:
        fields.pop()
    return salt + pack(fields)


def parse(kind: int, hlc: int, body: bytes) -> Parsed:
    """What a body says, or why it is ignored. Total: any bytes give an answer."""
    reader = _READERS.get(kind)
    if reader is None:
        return Ignored(f"unknown kind {kind}")
    if not SALT_BYTES <= len(body) <= OPERATION_BYTES:
        return Ignored("wrong size")
    try:
        fields = unpack(body[SALT_BYTES:])
    except Malformed as error:
        return Ignored(str(error))
    if type(fields) is not list:
        return Ignored("not an array")
    return reader(fields, hlc)


def fold_key(parsed: Parsed, tag: bytes) -> int | None:
    """The 8-byte name of what this operation changes, by which all operations on it are found again.

    A remove changes many things and is found through the removals table instead.
    """
    match parsed:
        case Add():
            return signed_prefix(tag)
        case Set():
            return register_key(parsed.target, parsed.field)
        case Count():
            return counter_key(parsed.key)
        case Page():
            return signed_prefix(parsed.page)
        case Remove() | Ignored():
            return None


def register_key(target: bytes | str, field: str) -> int:
    """The fold key of a register."""
    return signed_prefix(digest(b"set" + pack([target, field])))


def counter_key(key: str) -> int:
    """The fold key of a counter."""
    return signed_prefix(digest(b"count" + key.encode()))


def _read_add(fields: list[Any], hlc: int) -> Parsed:
    if len(fields) != 3:
        return Ignored("an add has three fields")
    at, log, record = fields
    if type(at) is not int or not 0 < at <= hlc:
        return Ignored("stamped later than its operation")
    if type(log) is not str or not is_log(log):
        return Ignored("not a log name")
    if type(record) is not dict or not is_value(record):
        return Ignored("not a record")
    return Add(at, log, record)


def _read_remove(fields: list[Any], _hlc: int) -> Parsed:
    if len(fields) != 2:
        return Ignored("a remove has two fields")
    tags, reason = fields
    if type(tags) is not list or not 0 < len(tags) <= TAGS_PER_BODY or not all(map(_is_hash, tags)):
        return Ignored("not a list of tags")
    if not is_text(reason):
        return Ignored("not a reason")
    return Remove(tags, reason)


def _read_set(fields: list[Any], hlc: int) -> Parsed:
    if len(fields) != 4:
        return Ignored("a set has four fields")
    at, target, field, value = fields
    if type(at) is not int or not 0 < at <= hlc:
        return Ignored("stamped later than its operation")
    if not (_is_hash(target) or (is_text(target) and target)):
        return Ignored("not a target")
    if not is_text(field) or not field:
        return Ignored("not a field")
    if not is_value(value):
        return Ignored("not a value")
    return Set(at, target, field, value)


def _read_count(fields: list[Any], _hlc: int) -> Parsed:
    if len(fields) not in (2, 3):
        return Ignored("a count has two or three fields")
    key, total = fields[:2]
    origin = fields[2] if len(fields) == 3 else None
    if not is_text(key) or not key:
        return Ignored("not a key")
    if type(total) is not int or not 0 < total <= TOTAL_MAX:
        return Ignored("not a total")
    if len(fields) == 3 and not _is_hash(origin):
        return Ignored("not an origin")
    return Count(key, total, origin)


def _read_page(fields: list[Any], _hlc: int) -> Parsed:
    if len(fields) != 4:
        return Ignored("a page has four fields")
    page, epoch, heads, update = fields
    if not _is_hash(page) or type(update) is not bytes:
        return Ignored("not a page update")
    if type(epoch) is not int or not 0 <= epoch <= EPOCH_MAX:
        return Ignored("not an epoch")
    if type(heads) is not list or len(heads) > HEADS_PER_PAGE or not all(map(_is_head, heads)):
        return Ignored("not a list of heads")
    return Page(page, epoch, heads, update)


_READERS = {ADD: _read_add, REMOVE: _read_remove, SET: _read_set, COUNT: _read_count, PAGE: _read_page}


def is_log(log: str) -> bool:
    """Whether a text may name a log."""
    return 0 < len(log) <= LOG_CHARS and _LOG_CHARACTERS.issuperset(log)


def is_text(text: object) -> bool:
    """Whether a value is a short text (a key, a field, a reason)."""
    return type(text) is str and len(text) <= TEXT_CHARS


def _is_hash(value: object) -> bool:
    return type(value) is bytes and len(value) == HASH_BYTES


def _is_head(value: object) -> bool:
    return type(value) is bytes and len(value) == HEAD_BYTES
