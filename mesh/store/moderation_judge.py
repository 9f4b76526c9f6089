"""Which value of a register counts, and which removal, by who said it: see `mesh.core.moderation`. Only reads; the fold writes.

Settings count from admins alone. In a guarded mesh, what is said of a record by others than its author counts from admins, or
from two nodes that say the same. Pages are everybody's, and what is said of a record that is not there has nobody to ask.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import apsw

from mesh.core.clock import milliseconds
from mesh.core.ids import digest, signed_prefix, tag_of
from mesh.core.limits import SALT_BYTES
from mesh.core.moderation import GUARDED, MODERATION, SETTINGS, RegisterWord, is_agreed, standing
from mesh.core.operation import ADD, PAGES_LOG, REMOVE, Add, Remove, parse
from mesh.core.statement import ADMIN, THROW_AWAY
from mesh.core.strict_msgpack import pack, unpack
from mesh.store.database import Run

Place = tuple[bytes | str, str]  # of a register: target and field
_PASSING = "passing"


class Order(NamedTuple):
    """By what rule it is judged: whether the mesh is guarded, and what each member is (an admin, a throw-away node, or neither)."""

    is_guarded: bool
    ranks: dict[bytes, str]

    def is_other(self, after: Order) -> bool:
        """Whether anything said so far may be judged otherwise. A node that was no member had said nothing that counted."""
        return self.is_guarded != after.is_guarded or any(
            after.ranks.get(node) != rank for node, rank in self.ranks.items()
        )


class Removing(NamedTuple):
    """A remove that names a record: its own tag, who said it, when and why."""

    tag: bytes
    node: bytes
    at_ms: int
    reason: str


class Judge:
    """Judges by the words in one schema, within whatever transaction the connection is in. `begin` before each use."""

    def __init__(self, connection: apsw.Connection, schema: str) -> None:
        self._run: Run = connection.execute
        self._schema = schema
        self._sets: dict[str, frozenset[bytes]] | None = None
        self.is_guarded = False

    def begin(self) -> bool:
        """Look up by which rule it is to be judged now. Returns whether the mesh is guarded."""
        self._sets = None
        self.is_guarded = self._guarded()
        return self.is_guarded

    def order(self) -> Order:
        """The rule as it is now."""
        return Order(self._guarded(), self._ranks())

    def ruling(self) -> list[tuple[str, bytes]]:
        """What else than operations decides what counts: in a guarded mesh who is what, else whose settings are passed over."""
        order = self.order()
        if order.is_guarded:
            return [(GUARDED, b""), *sorted((rank, node) for node, rank in order.ranks.items() if rank)]
        rows = self._run(f"SELECT DISTINCT node FROM {self._schema}.said WHERE target=?", (SETTINGS,))
        return sorted((SETTINGS, node) for (node,) in rows if order.ranks.get(node) != ADMIN) if order.ranks else []

    def is_judged(self, target: bytes | str) -> bool:
        """Whether who said something about a target matters."""
        return target == SETTINGS or (self.is_guarded and isinstance(target, bytes))

    def word(self, target: bytes | str, field: str) -> tuple[int, bytes, int] | None:
        """The word that a register shows: its stamp, tag and operation; None if none counts."""
        rows = self._run(
            f"SELECT at, said.tag, op, node, body FROM {self._schema}.said JOIN main.ops USING(op) WHERE field=? AND target=?",
            (field, target),
        ).fetchall()
        if target == SETTINGS and self._known():
            rows = [row for row in rows if row[3] in self._of(ADMIN)]
        elif self.is_guarded and isinstance(target, bytes):
            author = self.author(target)
            if author is not None:
                words = [RegisterWord(row[:2], row[3], pack(unpack(row[4][SALT_BYTES:])[3]), row[:3]) for row in rows]
                found = standing(words, self._of(ADMIN) | {author}, self._of(_PASSING))
                return None if found is None else found.value
        return max((row[:3] for row in rows), default=None)

    def is_removed(self, tag: bytes) -> bool:
        """Whether a record is taken back, by somebody who may."""
        if not self.is_guarded:
            return self._run(f"SELECT 1 FROM {self._schema}.removals WHERE tag=? LIMIT 1", (tag,)).get is not None
        asking = self._asking(tag)
        if not asking:
            return False
        author = self.author(tag)
        return author is None or is_agreed(asking, self._of(ADMIN) | {author}, self._of(_PASSING))

    def author(self, tag: bytes, *, held: bool = False) -> bytes | None:
        """Who is asked about a record; None if it does not count (any more), and for a page, which is everybody's.

        `held`: also of one that does not count.
        """
        rows = self._run(
            "SELECT node, ops.hlc, body FROM main.ops JOIN main.feeds USING(feed)"
            " WHERE key=? AND kind=? AND body IS NOT NULL AND (ops.seq<=feeds.seq OR ?)",
            (signed_prefix(tag), ADD, held),
        )
        for node, hlc, body in rows.fetchall():
            if tag_of(node, digest(body)) == tag:
                parsed = parse(ADD, hlc, body)
                return node if isinstance(parsed, Add) and parsed.log != PAGES_LOG else None
        return None

    def said_of(self, tags: Iterable[bytes]) -> Iterator[Place]:
        """Every register in which something was said of some records."""
        for tag in tags:
            rows = self._run(f"SELECT DISTINCT target, field FROM {self._schema}.said WHERE target=?", (tag,))
            yield from rows.fetchall()

    def settings(self) -> list[Place]:
        """Every register of the mesh's settings."""
        rows = self._run(f"SELECT DISTINCT target, field FROM {self._schema}.said WHERE target=?", (SETTINGS,))
        return list(rows.fetchall())

    def foreign_words(self) -> list[Place]:
        """Every register of a record in which others than its author have said something: what depends on the rule."""
        found: list[Place] = []
        targets = self._run(f"SELECT DISTINCT target FROM {self._schema}.said WHERE target>=x''").fetchall()
        for (target,) in targets:
            author = self.author(target)
            if author is not None:
                rows = f"SELECT DISTINCT target, field FROM {self._schema}.said WHERE target=? AND node<>?"
                found += self._run(rows, (target, author)).fetchall()
        return found

    def foreign_removals(self) -> list[bytes]:
        """Every record that others than its author have removed."""
        tags = self._run(f"SELECT DISTINCT tag FROM {self._schema}.removals").fetchall()
        found = ((tag, self.author(tag)) for (tag,) in tags)
        return [tag for tag, author in found if author is not None and self._asking(tag) - {author}]

    def removals_of(self, tag: bytes) -> list[Removing]:
        """Every remove that names a record, oldest first."""
        rows = self._run(
            f"SELECT node, ops.hlc, body FROM {self._schema}.removals JOIN main.ops USING(op) JOIN main.feeds USING(feed)"
            " WHERE removals.tag=? ORDER BY ops.hlc",
            (tag,),
        )
        found = []
        for node, hlc, body in rows.fetchall():
            parsed = parse(REMOVE, hlc, body)
            if isinstance(parsed, Remove):
                found.append(Removing(tag_of(node, digest(body)), node, milliseconds(hlc), parsed.reason))
        return found

    def admins(self) -> frozenset[bytes]:
        """Whose word counts about everything."""
        return self._of(ADMIN)

    def _asking(self, tag: bytes) -> set[bytes]:
        rows = self._run(
            f"SELECT node FROM {self._schema}.removals JOIN main.ops USING(op) JOIN main.feeds USING(feed)"
            " WHERE removals.tag=?",
            (tag,),
        )
        return {node for (node,) in rows}

    def _guarded(self) -> bool:
        body = self._run(
            f"SELECT body FROM {self._schema}.said CROSS JOIN main.members USING(node) CROSS JOIN main.ops USING(op)"
            " WHERE field=? AND target=? AND role=? AND NOT revoked ORDER BY at DESC, said.tag DESC LIMIT 1",
            (MODERATION, SETTINGS, ADMIN),
        ).get
        return body is not None and unpack(body[SALT_BYTES:])[3] == GUARDED

    def _of(self, rank: str) -> frozenset[bytes]:
        if self._sets is None:
            self._fill()
        return (self._sets or {}).get(rank, frozenset())

    def _known(self) -> bool:
        """Whether there are members at all: private records have none, and their owner may say anything."""
        if self._sets is None:
            self._fill()
        return bool(self._sets)

    def _fill(self) -> None:
        ranks = self._ranks()
        self._sets = {rank: frozenset(node for node, own in ranks.items() if own == rank) for rank in ranks.values()}

    def _ranks(self) -> dict[bytes, str]:
        rows = self._run("SELECT node, role, revoked FROM main.members")
        return {
            node: ADMIN if role == ADMIN and not revoked else _PASSING if role in THROW_AWAY else ""
            for node, role, revoked in rows
        }
