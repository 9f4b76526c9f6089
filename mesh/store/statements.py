"""The statements table: the grow-only set, those that wait for the right to join it, and the trust they amount to."""

from collections.abc import Iterable

import apsw

from mesh.core.errors import HomeDamaged, Malformed
from mesh.core.statement import Erase, Fork, Member, Recover, Revoke, Statement, read_statement
from mesh.core.trust import Founders, Trust
from mesh.store.database import Run


class Statements:
    """Reads and writes within whatever transaction the connection is in."""

    def __init__(self, connection: apsw.Connection, *, everyone: bool) -> None:
        self._run: Run = connection.execute
        self._everyone = everyone
        self._cached: tuple[tuple[object, object], Trust] | None = None

    def trust(self, founders: Founders | None) -> Trust:
        """What the set amounts to. Kept while no statement has joined, by whichever process."""
        stamp = (founders, self._run("SELECT value FROM meta WHERE key='statements'").get)
        if self._cached is None or self._cached[0] != stamp:
            try:
                found = [read_statement(data) for (data,) in self._run("SELECT data FROM statements").fetchall()]
            except Malformed as error:
                raise HomeDamaged(
                    f"a statement in the database is damaged: {error}",
                    "keep a copy of the folder, then run: mesh repair",
                ) from error
            self._cached = (stamp, Trust(founders, found, everyone=self._everyone))
        return self._cached[1]

    def take(self, founders: Founders | None, arrived: Iterable[Statement]) -> list[Statement]:
        """Put into the set what may join it; keep the rest held. Returns what joined, also of the held.

        Each that joins may entitle others, so this goes on until nothing more moves.
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
                if trust.knows(identity) or trust.superseded_by(statement) is not None:
                    self._unhold(identity)
                    del pending[identity]
                elif trust.entitled(statement):
                    self._insert(trust, statement)
                    self._unhold(identity)
                    joined.append(statement)
                    del pending[identity]
                    moving = True
                    if isinstance(statement.fact, Fork):
                        break  # of two proofs about one feed only the lower stays: look again
        for statement in pending.values():
            self._hold(statement)
        if joined:
            self._note_members(self.trust(founders))
        return joined

    def held(self) -> list[Statement]:
        """Statements whose signer has no right to make them, as far as is known yet."""
        return [read_statement(data) for (data,) in self._run("SELECT data FROM held_statements")]

    def _note_members(self, trust: Trust) -> None:
        """Names for those who read without working out what the statements amount to."""
        self._run("DELETE FROM members")
        for member in trust.members.values():
            self._run("INSERT INTO members VALUES(?,?,?)", (member.node, member.name, member.role))

    def _insert(self, trust: Trust, statement: Statement) -> None:
        if isinstance(statement.fact, Fork):
            higher = trust.fork_statement(statement.fact.feed)
            if higher is not None:
                self._run("DELETE FROM statements WHERE id=?", (higher.id,))
        self._run("INSERT INTO statements VALUES(?,?)", (statement.id, statement.encode()))
        # A random stamp, not a count: after a rollback a count would come round to a value already cached.
        self._run("INSERT OR REPLACE INTO meta VALUES('statements', random())")

    def is_held(self, statement: Statement) -> bool:
        """Whether a statement waits already."""
        return self._run("SELECT 1 FROM held_statements WHERE id=?", (statement.id,)).get is not None

    def _unhold(self, identity: bytes) -> None:
        self._run("DELETE FROM held_statements WHERE id=?", (identity,))

    def _hold(self, statement: Statement) -> None:
        self._run(
            "INSERT OR IGNORE INTO held_statements VALUES(?,?,?)",
            (statement.id, speaker(statement), statement.encode()),
        )


def speaker(statement: Statement) -> bytes:
    """The key that answers for a statement: its signer, or the author a fork proof convicts."""
    match statement.fact:
        case Fork(feed=feed):
            return feed.node
        case Member() | Revoke() | Erase() | Recover():
            return statement.fact.signer
