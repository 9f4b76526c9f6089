"""Drafts that a worker process hands to its node, and what the node answers, as msgpack values. Nothing in them is believed."""

from collections.abc import Sequence
from typing import Any

from mesh.core.draft import Assignment, Draft, Increment, NewRecord, Removal
from mesh.core.errors import (
    ClockInDoubt,
    DiskFull,
    HomeBusy,
    HomeError,
    Malformed,
    MayNotWrite,
    MeshError,
    QuotaReached,
    TooManyFeeds,
    UsageError,
    WriteRefused,
)
from mesh.core.ids import Feed
from mesh.store.receipts import Receipt

_KINDS: dict[str, type[Draft]] = {kind.__name__: kind for kind in (NewRecord, Removal, Assignment, Increment)}
_FIELDS: dict[str, tuple[tuple[type, ...], ...]] = {
    "NewRecord": ((str,), (dict,), (int,)),
    "Removal": ((list,), (str,)),
    "Assignment": ((bytes, str), (str,), (object,)),
    "Increment": ((str,), (int,)),
}
_ERRORS: dict[str, type[MeshError]] = {
    kind.__name__: kind
    for kind in (
        ClockInDoubt,
        DiskFull,
        HomeBusy,
        HomeError,
        MayNotWrite,
        QuotaReached,
        TooManyFeeds,
        UsageError,
        WriteRefused,
    )
}


def pack_receipt(receipt: Receipt) -> list[Any]:
    """What was written, as values."""
    return [list(receipt.feed), receipt.first, list(receipt.tags), receipt.counts]


def unpack_receipt(values: object) -> Receipt | None:
    """What was written; None if that makes no sense."""
    match values:
        case [[bytes(node), int(epoch)], int(first), list(tags), bool(counts)]:
            return Receipt(Feed(node, epoch), first, tuple(tags), counts)
    return None


def pack_drafts(drafts: Sequence[Draft]) -> list[list[Any]]:
    """As values. What no worker writes is a mistake of ours."""
    for draft in drafts:
        if type(draft).__name__ not in _KINDS:
            raise TypeError(f"{type(draft).__name__} is written by the node alone")
    return [[type(draft).__name__, *draft] for draft in drafts]


def unpack_drafts(values: object) -> list[Draft]:
    """Drafts again. Raises Malformed if they are none; whether they may be written, the store says."""
    if not isinstance(values, list):
        raise Malformed("no list of drafts")
    return [_draft(value) for value in values]


def _draft(value: object) -> Draft:
    if not isinstance(value, list) or not value or not isinstance(value[0], str) or value[0] not in _KINDS:
        raise Malformed("no draft")
    name, *fields = value
    kinds = _FIELDS[name]
    if len(fields) != len(kinds) or not all(map(isinstance, fields, kinds)):
        raise Malformed(f"no {name}")
    if name == "Removal":
        fields[0] = tuple(fields[0])
        if not all(isinstance(tag, bytes) for tag in fields[0]):
            raise Malformed(f"no {name}")
    draft: Draft = _KINDS[name](*fields)
    return draft


def pack_error(error: MeshError) -> list[Any]:
    """An error as values."""
    name = next((name for name, kind in _ERRORS.items() if type(error) is kind), "")
    return [name, str(error), error.next_step, getattr(error, "again_ms", 0)]


def unpack_error(values: object) -> MeshError:
    """The error that a node answered with."""
    match values:
        case [str(name), str(message), str(next_step), int(again_ms)]:
            kind = _ERRORS.get(name, MeshError)
            error = kind.__new__(kind)
            MeshError.__init__(error, message, next_step)
            if isinstance(error, QuotaReached):
                error.again_ms = again_ms
            return error
    return MeshError("the node gave an answer that makes no sense", "mesh doctor")
