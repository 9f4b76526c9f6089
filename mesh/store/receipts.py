"""Receipts of what was written, kept under the request's id for as long as it may be repeated. No text is kept here.

Of this node alone: in no root, bundle or view. A receipt is written in the transaction of its records, so both are
there or neither is. Ids and words cannot be read from the table: both are hashed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import apsw

from mesh.core import strict_msgpack
from mesh.core.draft import Draft, Request
from mesh.core.errors import Malformed, UsageError
from mesh.core.ids import Feed, digest, named_digest, short
from mesh.store.database import Run

_HASH_BYTES = 16
_DROPPED = 1000  # receipts past their time that one transaction drops: the rest is left to the next
_SHOWN_CHARS = 8


class Receipt(NamedTuple):
    """What an append has made durable."""

    feed: Feed
    first: int
    tags: tuple[bytes, ...]  # one a draft
    counts: bool  # False while this node has no certificate: kept, but counting nowhere yet
    new_epoch: str = ""  # why a new feed was opened, if one was
    repeated: bool = False  # it was written before, for the same request: nothing was added


Written = Receipt | UsageError


class Receipts:
    """Works within whatever transaction the connection is in."""

    def __init__(self, connection: apsw.Connection, clock: Callable[[], int]) -> None:
        self._run: Run = connection.execute
        self._clock = clock

    def find(self, request: Request) -> Receipt | None:
        """What a request has written, if it has; an error if that was something else."""
        found = self._look_up(request)
        if isinstance(found, UsageError):
            raise found
        return found

    def once(
        self,
        batches: Sequence[Sequence[Draft]],
        requests: Sequence[Request | None],
        write: Callable[[Sequence[Sequence[Draft]]], list[Written]],
    ) -> list[Written]:
        """Write the batches, but for those that were written before; those of one request are written once."""
        results: dict[int, Written] = {}
        fresh: list[int] = []
        first: dict[str, int] = {}  # of each new request: the batch that is written
        again: list[tuple[int, Request]] = []
        for index, request in enumerate(requests):
            if request is None:
                fresh.append(index)
            elif (found := self._look_up(request)) is not None:
                results[index] = found
            elif first.setdefault(request.id, index) == index:
                fresh.append(index)
            else:
                again.append((index, request))
        for index, written in zip(fresh, write([batches[index] for index in fresh]), strict=True):
            results[index], request = written, requests[index]
            if request is not None and isinstance(written, Receipt):
                self._keep(request, written)
        for index, request in again:
            results[index] = self._look_up(request) or results[first[request.id]]
        if first:
            self._drop()
        return [results[index] for index in range(len(batches))]

    def _look_up(self, request: Request) -> Written | None:
        found = self._run("SELECT content, until_ms, receipt FROM requests WHERE id=?", (_key(request),)).get
        if found is None:
            return None
        content, until_ms, encoded = found
        left_ms, kept_ms = until_ms - self._clock(), 1000 * request.seconds
        receipt = _decoded(encoded)
        # Twice the time: the clock may have been set back since, and then it was not long ago either.
        if receipt is None or not 0 < left_ms <= 2 * kept_ms:
            return None
        if content != _content(request):
            record = short(receipt.tags[0], _SHOWN_CHARS)
            return UsageError(
                f"the request id {request.id!r} was used before, for something else; nothing was written",
                f"take another id for this; what the other one wrote: mesh show {record}",
            )
        return receipt

    def _keep(self, request: Request, receipt: Receipt) -> None:
        until_ms = self._clock() + 1000 * request.seconds
        row = _key(request), _content(request), until_ms, _encoded(receipt)
        self._run("INSERT OR REPLACE INTO requests VALUES(?,?,?,?)", row)

    def _drop(self) -> None:
        self._run(
            "DELETE FROM requests WHERE id IN (SELECT id FROM requests WHERE until_ms<=? ORDER BY until_ms LIMIT ?)",
            (self._clock(), _DROPPED),
        )


def _key(request: Request) -> bytes:
    return digest(request.id.encode())[:_HASH_BYTES]


def _content(request: Request) -> bytes:
    """Not to be guessed at by who has the file and not the id: an erase leaves it here."""
    return named_digest(b"clan-mesh once 1", request.id.encode() + b"\0" + request.content)[:_HASH_BYTES]


def _encoded(receipt: Receipt) -> bytes:
    feed, first, tags, counts, new_epoch, _ = receipt
    return strict_msgpack.pack([feed.node, feed.epoch, first, list(tags), counts, new_epoch])


def _decoded(data: bytes) -> Receipt | None:
    """None for what a damaged file has left of one."""
    try:
        node, epoch, first, tags, counts, new_epoch = strict_msgpack.unpack(data)
        return Receipt(Feed(node, epoch), first, tuple(tags), counts, new_epoch, repeated=True) if tags else None
    except (Malformed, TypeError, ValueError):
        return None
