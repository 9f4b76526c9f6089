"""What all notebooks of one simulated mesh have verified once: ranges, statements, and the trust that sets of statements give.

Pure bookkeeping: whether bytes are authentic depends on nothing but the bytes and the mesh, so a thousand notebooks in
one process may share the answer. Nothing here knows what any one notebook holds.
"""

from collections.abc import Iterable
from typing import NamedTuple

from mesh.core.errors import RemoteError
from mesh.core.feed import Link, Range, decode_range, encode_range
from mesh.core.ids import Feed, tag_of
from mesh.core.operation import LASTING
from mesh.core.statement import Statement, decode_statement
from mesh.core.trust import Founders, Trust
from mesh.core.version_vector import statements_digest
from peers.proto.replica import Roster

_MOST_RANGES = 20_000  # remembered before all are forgotten: some tens of megabytes
_MOST_STATEMENTS = 20_000
_MOST_SETS = 64  # each holds the trust of a whole mesh


class KnownStatement(NamedTuple):
    """A statement that verified, with its id and encoding: both are asked for far more often than they change."""

    id: bytes
    data: bytes
    statement: Statement


class StatementSet(NamedTuple):
    """A set of statements and its meaning. Never changed: a larger set is another one."""

    known: dict[bytes, KnownStatement]
    digest: bytes
    trust: Trust
    roster: Roster
    erased: frozenset[bytes]  # every tag that some erase names

    def is_erased(self, feed: Feed, link: Link) -> bool:
        """Whether the body of an operation is to be gone."""
        if link.kind in LASTING or not self.erased:
            return False
        return self.trust.is_erased(tag_of(feed.node, link.body_hash), feed.node, link.kind)


class VerificationCache:
    """Decoded once, used by every notebook of a mesh. What it hands out must not be changed."""

    def __init__(self, mesh: bytes, founders: Founders) -> None:
        self.mesh = mesh
        self._founders = founders
        # The same bytes reach every node of a mesh; checking their signature a thousand times would be most of a run.
        self._ranges: dict[bytes, Range | str] = {}
        self._statements: dict[bytes, KnownStatement | str] = {}
        self._sets: dict[bytes, StatementSet] = {}
        self._encoded: dict[tuple[Feed, int, bytes], bytes] = {}
        self.nothing = self.set_of({})

    def range(self, data: bytes) -> Range | str:
        """The range in some bytes, or why it is none."""
        found = self._ranges.get(data)
        if found is None:
            if len(self._ranges) >= _MOST_RANGES:
                self._ranges.clear()
            try:
                found = decode_range(self.mesh, data)
            except RemoteError as error:
                found = str(error)
            self._ranges[data] = found
        return found

    def encoded(self, item: Range) -> bytes:
        """The bytes of a range."""
        if any(link.body is None for link in item.links):
            return encode_range(item)  # there are as many forms as there are erasures
        key = (item.feed, item.first, item.head)
        data = self._encoded.get(key)
        if data is None:
            if len(self._encoded) >= _MOST_RANGES:
                self._encoded.clear()
            data = self._encoded[key] = encode_range(item)
        return data

    def statement(self, data: bytes) -> KnownStatement | str:
        """The statement in some bytes, or why it is none."""
        found = self._statements.get(data)
        if found is None:
            if len(self._statements) >= _MOST_STATEMENTS:
                self._statements.clear()
            try:
                found = known(decode_statement(self.mesh, data))
            except RemoteError as error:
                found = str(error)
            self._statements[data] = found
        return found

    def with_statements(
        self, base: StatementSet, joined: Iterable[KnownStatement], gone: Iterable[bytes] = ()
    ) -> StatementSet:
        """The set with these in and those out."""
        changed = dict(base.known)
        for identity in gone:
            del changed[identity]
        changed.update((item.id, item) for item in joined)
        return self.set_of(changed)

    def set_of(self, statements: dict[bytes, KnownStatement]) -> StatementSet:
        """The set of these statements; the same object for the same ids, as long as it is remembered."""
        digest = statements_digest(statements)
        found = self._sets.get(digest)
        if found is None:
            if len(self._sets) >= _MOST_SETS:
                self._sets.clear()
            trust = Trust(self._founders, (item.statement for item in statements.values()))
            found = self._sets[digest] = StatementSet(statements, digest, trust, _roster(trust), trust.erased_tags())
        return found


def known(statement: Statement) -> KnownStatement:
    """A statement of our own making, which needs no verifying."""
    return KnownStatement(statement.id, statement.encode(), statement)


def _roster(trust: Trust) -> Roster:
    names = {node: member.name for node, member in trust.members.items()}
    return Roster(names, frozenset(trust.revoked))
