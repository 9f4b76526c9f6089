"""The statements table: the set, what waits outside it, and the trust it amounts to.

A member's erase is in the set exactly while it names an operation of its signer that counts, and is the first of that
signer's to name it. Otherwise it lies aside: outside the root, but it still explains a missing body, and drops one that arrives.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress

import apsw

from mesh.core.errors import HomeDamaged, Malformed
from mesh.core.ids import signed_prefix
from mesh.core.statement import Erase, Fork, Member, Quota, Recover, Revoke, Statement, read_statement
from mesh.core.trust import Founders, Trust
from mesh.store.database import Run

Counts = Callable[[bytes, bytes], bool]  # whether an operation with a tag, of a node, counts and can be erased


class Statements:
    """Reads and writes within whatever transaction the connection is in."""

    def __init__(self, connection: apsw.Connection, *, everyone: bool) -> None:
        self._run: Run = connection.execute
        self._everyone = everyone
        self._cached: tuple[tuple[object, object], Trust] | None = None
        self._due: set[bytes] = set()  # erases that may have come to count, or ceased to

    def trust(self, founders: Founders | None) -> Trust:
        """What the set amounts to. Kept while no statement but erases has joined, by whichever process."""
        stamp = (founders, self._run("SELECT value FROM meta WHERE key='statements'").get)
        if self._cached is None or self._cached[0] != stamp:
            found = self._read("SELECT data FROM statements WHERE NOT is_erase")
            trust = Trust(founders, found, everyone=self._everyone, erasers=self._erasers)
            self._cached = (stamp, trust)
        return self._cached[1]

    def stamp(self) -> tuple[object, ...]:
        """Another one whenever the set is another."""
        return tuple(self._run("SELECT value FROM meta WHERE key IN ('statements', 'erases') ORDER BY key"))

    def ids(self) -> list[bytes]:
        """The ids of all statements of the set."""
        return [identity for (identity,) in self._run("SELECT id FROM statements")]

    def encoded(self, ids: Iterable[bytes]) -> list[tuple[bytes, bytes]]:
        """Some statements of the set, each with its id, in an order in which few have to wait for others."""
        rows = [
            (identity, self._run("SELECT data, is_erase FROM statements WHERE id=?", (identity,)).get)
            for identity in ids
        ]
        first = {Recover: 0, Member: 1}
        found = [(first.get(type(read_statement(row[0]).fact), 2), identity, row[0]) for identity, row in rows]
        return [(identity, data) for _, identity, data in sorted(found)]

    def erases(self) -> list[Statement]:
        """The erases of the set."""
        return self._read("SELECT data FROM statements WHERE is_erase ORDER BY id")

    def held(self) -> list[Statement]:
        """Statements outside the set: whose signer may not make them, as far as is known yet, and erases that lie aside."""
        return self._read("SELECT data FROM held_statements ORDER BY id")

    def is_known(self, statement: Statement) -> bool:
        """Whether a statement is in the set."""
        return self._run("SELECT 1 FROM statements WHERE id=?", (statement.id,)).get is not None

    def is_held(self, statement: Statement) -> bool:
        """Whether a statement waits already."""
        return self._run("SELECT 1 FROM held_statements WHERE id=?", (statement.id,)).get is not None

    def naming(self, tag: bytes) -> list[Statement]:
        """Every erase that names a tag, also those that lie aside."""
        rows = self._run("SELECT DISTINCT id FROM erase_tags WHERE prefix=? AND tag=?", (signed_prefix(tag), tag))
        found = [self._find(identity) for (identity,) in rows.fetchall()]
        return [statement for statement in found if statement is not None]

    def erased_tags(self) -> frozenset[bytes]:
        """Every tag that some erase names, whoever signed it."""
        return frozenset(tag for (tag,) in self._run("SELECT DISTINCT tag FROM erase_tags"))

    def aside_bytes(self, signer: bytes, keeping: int) -> int:
        """What the erases of a signer that lie aside take up, each with what keeping it costs."""
        total = "SELECT coalesce(sum(length(data) + ?), 0) FROM held_statements WHERE signer=? AND is_aside"
        return int(self._run(total, (keeping, signer)).get)

    def take(self, founders: Founders | None, arrived: Iterable[Statement]) -> list[Statement]:
        """Put into the set what may join it; keep the rest held. Returns what has an effect now, also of the held.

        Each that joins may entitle others, so this goes on until nothing more moves. A member's erase has its effect on
        bodies at once; whether it is in the set is decided by `weigh`, once it is settled which operations count.
        """
        arrived = list(arrived)
        pending = {statement.id: statement for statement in arrived}
        if not arrived or any(isinstance(statement.fact, Member | Recover) for statement in arrived):
            # Only a member, a new root, or the founding keys can entitle what is held.
            pending |= {statement.id: statement for statement in self.held()}
        joined: list[Statement] = []
        moving = True
        while moving and pending:
            moving = False
            trust = self.trust(founders)
            for identity, statement in list(pending.items()):
                if self.is_known(statement) or trust.is_needless(statement):
                    self._unhold(identity)
                    del pending[identity]
                elif trust.entitled(statement):
                    del pending[identity]
                    if isinstance(statement.fact, Erase):
                        joined += [statement] if self._take_erase(statement, statement.fact) else []
                        continue
                    self._insert(trust, statement)
                    self._unhold(identity)
                    joined.append(statement)
                    moving = True
                    if isinstance(statement.fact, Fork):
                        break  # of two proofs about one feed only the lower stays: look again
        for statement in pending.values():
            self._hold(statement)
        if any(not isinstance(statement.fact, Erase) for statement in joined):
            for needless in self.trust(founders).needless_forks():
                self._remove(needless)
            # Somebody may be an admin now, whose erases need name nothing that counts.
            self._due |= {identity for (identity,) in self._run("SELECT id FROM held_statements WHERE is_aside")}
            self.note_members(self.trust(founders))
        return joined

    def note_moved(self, feed: int, first: int, last: int) -> None:
        """Operations of a feed have come to count, or ceased to: erases that name them are to be weighed again."""
        if self._run("SELECT 1 FROM erase_tags LIMIT 1").get is not None:
            rows = self._run(
                "SELECT DISTINCT id FROM ops CROSS JOIN erase_tags ON prefix=ifnull(ops.tag, ops.key)"
                " WHERE feed=? AND seq BETWEEN ? AND ?",
                (feed, first, last),
            )
            self._due |= {identity for (identity,) in rows}

    def weigh(self, trust: Trust, counts: Counts) -> None:
        """Decide again, for every erase about which something has changed, whether it is in the set."""
        due, self._due = self._due, set()
        for identity in due:
            statement = self._find(identity)
            if statement is None:
                continue  # noted in a transaction that came to nothing
            fact = statement.fact
            assert isinstance(fact, Erase)
            is_in = self.is_known(statement)
            belongs = trust.needs_no_operation(fact) or any(
                counts(tag, fact.signer) and self._is_first(identity, fact, tag) for tag in fact.tags
            )
            if belongs and not is_in:
                self._unhold(identity)
                self._run("INSERT INTO statements VALUES(?,?,1)", (identity, statement.encode()))
            elif is_in and not belongs:
                self._run("DELETE FROM statements WHERE id=?", (identity,))
                self._hold(statement, is_aside=True)
            if not belongs and not any(self._is_first(identity, fact, tag) for tag in fact.tags):
                self.drop(statement)  # earlier ones say all it says, and will wherever it might count
            if belongs is not is_in:
                self._run("INSERT OR REPLACE INTO meta VALUES('erases', random())")

    def index_erases(self) -> None:
        """Take up what the erases of the set name, in a database that had no table for that, and have all of them weighed."""
        for identity, data in self._run("SELECT id, data FROM statements").fetchall():
            statement = read_statement(data)
            if isinstance(statement.fact, Erase):
                self._run("UPDATE statements SET is_erase=1 WHERE id=?", (identity,))
                self._index(statement, statement.fact)
                self._due.add(identity)

    def drop(self, statement: Statement) -> None:
        """Forget an erase that lies aside."""
        self._unhold(statement.id)
        assert isinstance(statement.fact, Erase)
        for tag in statement.fact.tags:
            self._run(
                "DELETE FROM erase_tags WHERE prefix=? AND tag=? AND id=?", (signed_prefix(tag), tag, statement.id)
            )

    def aside(self) -> list[Statement]:
        """The erases that lie aside."""
        return self._read("SELECT data FROM held_statements WHERE is_aside ORDER BY id")

    def note_members(self, trust: Trust) -> None:
        """For those who read without working out what the statements amount to."""
        self._run("DELETE FROM members")
        for row in member_rows(trust):
            self._run("INSERT INTO members VALUES(?,?,?,?)", row)

    def _take_erase(self, statement: Statement, fact: Erase) -> bool:
        """Whether it is new here."""
        identity = statement.id
        if self._run("SELECT is_aside FROM held_statements WHERE id=?", (identity,)).get:
            return False
        self._unhold(identity)
        self._hold(statement, is_aside=True)
        self._index(statement, fact)
        for tag in fact.tags:  # another of the same signer may have been the first to name one of them
            rows = self._run(
                "SELECT id FROM erase_tags WHERE prefix=? AND tag=? AND signer=?",
                (signed_prefix(tag), tag, fact.signer),
            )
            self._due |= {other for (other,) in rows}
        return True

    def _index(self, statement: Statement, fact: Erase) -> None:
        for tag in fact.tags:
            self._run(
                "INSERT OR IGNORE INTO erase_tags VALUES(?,?,?,?,?)",
                (signed_prefix(tag), tag, fact.signer, fact.at, statement.id),
            )

    def _is_first(self, identity: bytes, fact: Erase, tag: bytes) -> bool:
        first = "SELECT id FROM erase_tags WHERE prefix=? AND tag=? AND signer=? ORDER BY at, id LIMIT 1"
        return bool(self._run(first, (signed_prefix(tag), tag, fact.signer)).get == identity)

    def _erasers(self, tag: bytes) -> list[bytes]:
        rows = self._run("SELECT signer FROM erase_tags WHERE prefix=? AND tag=?", (signed_prefix(tag), tag))
        return [signer for (signer,) in rows]

    def _find(self, identity: bytes) -> Statement | None:
        both = "SELECT data FROM statements WHERE id=?1 UNION ALL SELECT data FROM held_statements WHERE id=?1"
        data = self._run(both, (identity,)).get
        return None if data is None else read_statement(data)

    def _insert(self, trust: Trust, statement: Statement) -> None:
        if isinstance(statement.fact, Fork):
            higher = trust.fork_statement(statement.fact.feed)
            if higher is not None:
                self._remove(higher.id)
        self._run("INSERT INTO statements VALUES(?,?,0)", (statement.id, statement.encode()))
        self._touch()

    def _remove(self, identity: bytes) -> None:
        self._run("DELETE FROM statements WHERE id=?", (identity,))
        self._touch()

    def _touch(self) -> None:
        # A random stamp, not a count: after a rollback a count would come round to a value already cached.
        self._run("INSERT OR REPLACE INTO meta VALUES('statements', random())")

    def _unhold(self, identity: bytes) -> None:
        self._run("DELETE FROM held_statements WHERE id=?", (identity,))

    def _hold(self, statement: Statement, *, is_aside: bool = False) -> None:
        self._run(
            "INSERT OR IGNORE INTO held_statements VALUES(?,?,?,?)",
            (statement.id, speaker(statement), statement.encode(), is_aside),
        )

    def _read(self, query: str) -> list[Statement]:
        try:
            return [read_statement(data) for (data,) in self._run(query).fetchall()]
        except Malformed as error:
            raise HomeDamaged(
                f"a statement in the database is damaged: {error}",
                "keep a copy of the folder, then run: mesh repair",
            ) from error


def member_rows(trust: Trust) -> list[tuple[bytes, str, str, bool]]:
    """Every member as the table has it: node, name, role, whether it was revoked."""
    return [(node, said.name, trust.role(node), node in trust.revoked) for node, said in trust.members.items()]


def note_members_again(connection: apsw.Connection) -> None:
    """The list of members as today's version has it: for a migration. Without the founding keys it has none."""
    run: Run = connection.execute
    found = run("SELECT value FROM meta WHERE key='founders'").get
    if found is not None:
        statements = Statements(connection, everyone=False)
        with suppress(HomeDamaged):  # who needs the statements gets the error
            statements.note_members(statements.trust(Founders(found[:32], found[32:])))


def speaker(statement: Statement) -> bytes:
    """The key that answers for a statement: its signer, or the author a fork proof convicts."""
    match statement.fact:
        case Fork(feed=feed):
            return feed.node
        case Member() | Revoke() | Erase() | Recover() | Quota():
            return statement.fact.signer
