"""The vector: feed to head, in 256 buckets, and the root that names a whole state. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from mesh.core.ids import Feed, named_digest

BUCKETS = 256
_BUCKET = b"clan-mesh bucket"
_ROOT = b"clan-mesh root 1"
_STATEMENTS = b"clan-mesh stmts1"


class Head(NamedTuple):
    """The last operation of a feed: its number, and the hash that commits to all before it."""

    seq: int
    hash: bytes


class Vector:
    """What a node has accepted, of every feed. Bucket digests are kept until their feeds change."""

    __slots__ = ("_digests", "_heads", "_stale")

    def __init__(self, heads: Mapping[Feed, Head] | Iterable[tuple[Feed, Head]] = ()) -> None:
        self._heads: list[dict[Feed, Head]] = [{} for _ in range(BUCKETS)]
        self._digests: list[bytes] = [named_digest(_BUCKET, b"")] * BUCKETS
        self._stale: set[int] = set()  # buckets whose digest must be recomputed
        for feed, head in heads.items() if isinstance(heads, Mapping) else heads:
            self.put(feed, head)

    def put(self, feed: Feed, head: Head | None) -> None:
        """Set a feed's head, or forget the feed. A feed without operations is not in a vector."""
        number = bucket_of(feed)
        if head is None or head.seq == 0:
            self._heads[number].pop(feed, None)
        else:
            self._heads[number][feed] = head
        self._stale.add(number)

    def get(self, feed: Feed) -> Head | None:
        """The head of a feed."""
        return self._heads[bucket_of(feed)].get(feed)

    def bucket(self, number: int) -> Mapping[Feed, Head]:
        """The feeds of one bucket."""
        return self._heads[number]

    def bucket_digest(self, number: int) -> bytes:
        """32 bytes that name one bucket's feeds and heads; the wire uses the first eight."""
        if number in self._stale:
            parts = sorted(
                feed.encode() + head.seq.to_bytes(8, "big") + head.hash for feed, head in self._heads[number].items()
            )
            self._digests[number] = named_digest(_BUCKET, b"".join(parts))
            self._stale.discard(number)
        return self._digests[number]

    def differing(self, digests: Iterable[bytes]) -> list[int]:
        """The buckets whose digest begins otherwise than the given prefixes, in their order."""
        pairs = zip(
            range(BUCKETS), digests, strict=False
        )  # the list comes from a peer: more than there are mean nothing
        return [number for number, theirs in pairs if not self.bucket_digest(number).startswith(theirs)]

    def root(self, statement_ids: Iterable[bytes]) -> bytes:
        """The name of the whole state: every head, every statement, nothing else."""
        return self.root_with(statements_digest(statement_ids))

    def root_with(self, statements: bytes) -> bytes:
        """The same, for who has the digest of the statements at hand."""
        for number in list(self._stale):
            self.bucket_digest(number)
        return named_digest(_ROOT, b"".join(self._digests) + statements)

    def items(self) -> Iterator[tuple[Feed, Head]]:
        """Every feed with its head, in the order of their ids."""
        everything = (item for bucket in self._heads for item in bucket.items())
        return iter(sorted(everything, key=lambda item: item[0].encode()))

    def __len__(self) -> int:
        return sum(map(len, self._heads))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vector) and self._heads == other._heads

    __hash__ = None  # type: ignore[assignment]


def statements_digest(ids: Iterable[bytes]) -> bytes:
    """The name of a set of statements."""
    return named_digest(_STATEMENTS, b"".join(sorted(ids)))


def bucket_of(feed: Feed) -> int:
    """Keys are uniform, epochs are random: their first bytes spread feeds of one node and of many."""
    return feed.node[0] ^ feed.epoch >> 56
