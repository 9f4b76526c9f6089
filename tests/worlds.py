"""Small worlds to test in: keys, signed chains made by hand, stores in temporary folders.

Chains are made with `mesh.core` alone, so that a test of the store does not trust the store to write its input.
"""

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from mesh.core import clock
from mesh.core.feed import Link, Range, chain, encode_range, sign_range
from mesh.core.identity import Identity
from mesh.core.ids import Feed, digest, first_prev, mesh_id, tag_of
from mesh.core.operation import Add, Body, Count, Page, Remove, Set, encode, kind_of
from mesh.core.statement import ADMIN, MEMBER, Erase, Member, Quota, Recover, Revoke, Statement, sign
from mesh.store.author import Author
from mesh.store.database import Database
from mesh.store.feed_progress import FeedProgress
from mesh.store.store import Store

NOW_MS = 1_790_000_000_000


def seed(number: int) -> bytes:
    """A seed that is the same in every run."""
    return digest(b"test seed %d" % number)


class Clan:
    """A mesh's founding keys, and nodes made on demand."""

    def __init__(self, number: int = 0) -> None:
        self.root = Identity(seed(1000 * number))
        self.recovery = Identity(seed(1000 * number + 1))
        self.mesh = mesh_id(self.root.public, self.recovery.public)
        self._number = number

    def node(self, index: int) -> Identity:
        return Identity(seed(1000 * self._number + 10 + index))

    def member(
        self, node: Identity, name: str = "node", role: str = MEMBER, signer: Identity | None = None, at: int = 1
    ) -> Statement:
        signer = signer or self.root
        return sign(self.mesh, signer, Member(signer.public, at, node.public, name, role))

    def quota(self, node: Identity, bytes_a_day: int, signer: Identity | None = None) -> Statement:
        signer = signer or self.root
        return sign(self.mesh, signer, Quota(signer.public, 4, node.public, bytes_a_day))

    def admin(self, node: Identity, signer: Identity | None = None) -> Statement:
        return self.member(node, "admin", ADMIN, signer)

    def revoke(
        self,
        node: Identity,
        heads: Sequence[tuple[int, int, bytes]] = (),
        kept: Sequence[Statement] = (),
        signer: Identity | None = None,
    ) -> Statement:
        signer = signer or self.root
        statements = tuple(sorted(item.id for item in kept))
        return sign(self.mesh, signer, Revoke(signer.public, 2, node.public, tuple(sorted(heads)), statements, "test"))

    def recover(
        self, root: Identity, kept: Sequence[Statement] = (), at: int = 5, signer: Identity | None = None
    ) -> Statement:
        signer = signer or self.recovery
        statements = tuple(sorted({item.id for item in kept}))
        return sign(self.mesh, signer, Recover(signer.public, at, root.public, statements, "test"))

    def erase(self, signer: Identity, *tags: bytes, at: int = 3) -> Statement:
        return sign(self.mesh, signer, Erase(signer.public, at, tuple(sorted(set(tags))), "test"))


class Chain:
    """One feed made by hand: operations with their hashes, signable at any point, forkable."""

    def __init__(self, clan: Clan, author: Identity, epoch: int = 7) -> None:
        self.clan = clan
        self.author = author
        self.feed = Feed(author.public, epoch)
        self.links: list[Link] = []
        self.hashes: list[bytes] = []

    def fork(self, length: int) -> "Chain":
        """Another history that agrees up to `length`."""
        other = Chain(self.clan, self.author, self.feed.epoch)
        other.links, other.hashes = self.links[:length], self.hashes[:length]
        return other

    def add(self, body: Body | tuple[int, bytes], hlc: int | None = None) -> bytes:
        """Append a body, or raw bytes under a kind; returns its tag."""
        number = len(self.links)
        stamp = hlc if hlc is not None else self.next_hlc()
        salt = digest(self.feed.encode() + number.to_bytes(4, "big") + repr(body).encode())[:16]
        if isinstance(body, Add | Remove | Set | Count | Page):
            kind, raw = kind_of(body), encode(body, salt)
        else:
            kind, raw = body
        link = Link(stamp, kind, raw, digest(raw))
        self.hashes += chain(self.head, [link])
        self.links.append(link)
        return tag_of(self.author.public, link.body_hash)

    def next_hlc(self) -> int:
        return clock.tick(self.links[-1].hlc if self.links else 0, NOW_MS)

    @property
    def head(self) -> bytes:
        return self.hash_at(len(self.links))

    def hash_at(self, seq: int) -> bytes:
        return self.hashes[seq - 1] if seq else first_prev(self.clan.mesh, self.feed)

    def tag_at(self, seq: int) -> bytes:
        return tag_of(self.author.public, self.links[seq - 1].body_hash)

    def range(self, first: int = 1, last: int | None = None) -> Range:
        last = len(self.links) if last is None else last
        return sign_range(
            self.clan.mesh, self.author, self.feed, first, self.hash_at(first - 1), self.links[first - 1 : last]
        )

    def encoded(self, first: int = 1, last: int | None = None) -> bytes:
        return encode_range(self.range(first, last))


@cache
def _empty_database() -> bytes:
    """A new database as the store makes it, made once: property tests need hundreds."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "mesh.db")
        Database(path, create=True).close()
        return Path(path).read_bytes()


@contextmanager
def open_store(folder: Path, clan: Clan, own: Identity | None = None, now_ms: int = NOW_MS) -> Iterator[Store]:
    """A store of the clan's mesh in a folder, its clock standing still."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "mesh.db"
    if not path.exists():
        path.touch(0o600)
        path.write_bytes(_empty_database())
    database = Database(os.fspath(path))
    store = Store(database, clan.mesh, own=None if own is None else own.public, clock=lambda: now_ms)
    store.learn_founders(clan.root.public, clan.recovery.public)
    try:
        yield store
    finally:
        store.close()


@contextmanager
def open_author(folder: Path, clan: Clan, own: Identity, now_ms: int = NOW_MS) -> Iterator[Author]:
    """The same, with the right to write."""
    with open_store(folder, clan, own, now_ms) as store:
        yield Author(store, own, FeedProgress(own.public, os.fspath(folder)))


def views(store: Store) -> dict[str, object]:
    """Everything the fold says, by names that are the same on every node."""
    run = store.database.run
    elements = {
        tag_of(node, digest(body)): (name, at)
        for node, body, name, at in run(
            "SELECT node, body, name, at FROM elements JOIN ops USING(op) JOIN feeds USING(feed) JOIN logs USING(log)"
        )
    }
    count = run("SELECT count(*) FROM elements").get
    assert count == len(elements), "one element a tag"
    return {
        "elements": elements,
        "removed": {tag for (tag,) in run("SELECT tag FROM removals")},
        "registers": {
            (target, name): (at, tag) for target, name, at, tag in run("SELECT target, field, at, tag FROM registers")
        },
        "said": {
            (target, name, node): (at, tag)
            for target, name, node, at, tag in run("SELECT target, field, node, at, tag FROM said")
        },
        "counters": {(key, slot): total for key, slot, total in run("SELECT key, slot, total FROM counters")},
    }
