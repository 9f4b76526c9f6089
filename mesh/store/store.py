"""The store: merge what everyone wrote, and answer with what became of it. Our own writing is `author`.

One transaction each; everything a decision rests on is read inside it, never from memory, so that a
sidecar and any number of commands can work on one home.
"""

import time
from collections.abc import Callable, Sequence

from mesh.core.clock import HOUR_MS
from mesh.core.errors import Forged, RemoteError
from mesh.core.feed import decode_range
from mesh.core.ids import mesh_id, tag_of
from mesh.core.operation import LASTING
from mesh.core.statement import ADMIN, Erase, Fact, Fork, Member, Recover, Statement, decode_statement
from mesh.core.trust import Founders, Trust
from mesh.store.acceptance import Acceptance
from mesh.store.database import Database, Run
from mesh.store.erasure import Erasure, drop_files, is_owed, scrub
from mesh.store.feeds import FeedRow, Feeds
from mesh.store.fold import Fold
from mesh.store.merge_outcome import AlreadyKnown, Forked, Merged, Outcome, Refused, Waiting
from mesh.store.quarantine import ASIDE_BYTES, KEEPING_BYTES, PushOutRate, Quarantine, QuarantineSpace
from mesh.store.range_placement import Placement
from mesh.store.statements import Statements, speaker

RIGHT, BEHIND = "right", "behind"  # what peers' clocks say of ours
Clock = Callable[[], int]  # milliseconds since 1970, corrected where someone knows better


def wall_clock() -> int:
    """The system's clock."""
    return time.time_ns() // 1_000_000


class Store:
    """One database of one mesh."""

    def __init__(
        self,
        database: Database,
        mesh: bytes,
        *,
        own: bytes | None = None,
        clock: Clock = wall_clock,
        everyone: bool = False,
    ) -> None:
        """`own`: the node whose home this is. `everyone`: no certificates needed (private records)."""
        self.database = database
        self.mesh = mesh
        self.own = own
        self.clock = clock
        connection = database.connection
        self._run: Run = connection.execute
        self._founders: Founders | None = None
        self.feeds = Feeds(connection, mesh)
        self.fold = Fold(connection)
        self.quarantine = Quarantine(connection, mesh)
        self.statements = Statements(connection, everyone=everyone)
        self.pace: PushOutRate | None = None  # of what peers bring; a bundle is taken in at once
        self.erasure = Erasure(connection, mesh, self.feeds, self.fold, self.quarantine)

    def close(self) -> None:
        """Release the database."""
        self.database.close()

    # Reading

    def founders(self) -> Founders | None:
        """The public keys that name the mesh (root, recovery), once they were learned."""
        if self._founders is None:  # once known they never change
            found = self._run("SELECT value FROM meta WHERE key='founders'").get
            self._founders = None if found is None else Founders(found[:32], found[32:])
        return self._founders

    def trust(self) -> Trust:
        """What all statements amount to."""
        return self.statements.trust(self.founders())

    def root(self) -> bytes:
        """The name of the whole state."""
        return self.feeds.vector().root(self.statements.ids())

    def all_statements(self) -> list[Statement]:
        """Every statement of the set, those of the highest keys first: who reads them in this order need hold few back."""
        return [*self.trust().statements(), *self.statements.erases()]

    def aside_erases(self, row: FeedRow, first: int, last: int) -> list[bytes]:
        """The erases outside the set that explain missing bodies of a feed: who is sent the feed must have them too."""
        gone = self._run(
            "SELECT body_hash FROM ops CROSS JOIN erased_bodies USING(op) WHERE feed=? AND seq BETWEEN ? AND ? AND body IS NULL",
            (row.number, first, last),
        ).fetchall()
        found: dict[bytes, bytes] = {}
        for (body_hash,) in gone:
            for statement in self.statements.naming(tag_of(row.feed.node, body_hash)):
                if not self.statements.is_known(statement):
                    found[statement.id] = statement.encode()
        return list(found.values())

    # Merging

    def learn_founders(self, root_key: bytes, recovery_key: bytes) -> None:
        """Keep the keys behind the mesh id. They prove themselves: no other pair hashes to it."""
        if mesh_id(root_key, recovery_key) != self.mesh:
            raise Forged("these are not the founding keys of this mesh")
        if self.founders() is None:
            with self.database.writing(durable=True):
                self._run("INSERT OR IGNORE INTO meta VALUES('founders', ?)", (root_key + recovery_key,))
                self.take([])

    def merge_statements(self, encoded: Sequence[bytes]) -> list[Outcome]:
        """Take in statements: verified, then into the set if their signer may, else held. One answer each."""
        outcomes: dict[int, Outcome] = {}
        arrived: dict[int, Statement] = {}
        for index, data in enumerate(encoded):
            try:
                arrived[index] = decode_statement(self.mesh, data)
            except RemoteError as error:
                outcomes[index] = Refused(str(error))
        if not all(map(self.statements.is_known, arrived.values())):
            with self.database.writing(durable=True):
                outcomes.update(self._merge_statements(arrived))
            if is_owed(self._run):
                drop_files(self.database)  # at once: a reader may be in the way of the rest
                self.scrub()
        for index in arrived:
            outcomes.setdefault(index, AlreadyKnown())
        return [outcomes[index] for index in range(len(encoded))]

    def merge(self, encoded: bytes) -> Outcome:
        """Take in one range of a feed, from anyone: verified, chained, folded."""
        return self.merge_ranges([encoded])[0]

    def merge_ranges(self, encoded: Sequence[bytes]) -> list[Outcome]:
        """Take in several ranges with one commit, each whole or not at all. One answer each."""
        with self.database.writing(durable=False):
            placement = Placement(self)
            outcomes = [placement.place(data) for data in encoded]
            self.weigh_erases()
        if any(isinstance(outcome, Forked) for outcome in outcomes):
            self.sync()
        return outcomes

    def settle(self) -> int:
        """Let in what has been waiting for the clock. Returns how many operations came to count."""
        ahead = [row for row in self.feeds.all() if row.held.seq > row.accepted.seq]
        if not ahead:
            return 0
        with self.database.writing(durable=False):
            came = self._settle_all()
            self.weigh_erases()
            return came

    def sync(self) -> None:
        """Make everything committed so far durable, also what was merged."""
        with self.database.writing(durable=True):
            self._run("INSERT OR REPLACE INTO meta VALUES('synced', ?)", (self.clock(),))

    def remember_offset(self, offset_ms: int, wall_ms: int) -> None:
        """Keep by how much this machine's clock is off, for commands, which have no peers to ask."""
        if self._run("SELECT value FROM meta WHERE key='clock_offset'").get is not None or abs(offset_ms) > 1000:
            with self.database.writing(durable=False):
                self._run("INSERT OR REPLACE INTO meta VALUES('clock_offset', ?)", (f"{offset_ms} {wall_ms}",))

    def remember_peers_on_clock(self, verdict: str) -> None:
        """Keep what linked peers' clocks say of ours while our stamps are ahead of it, for commands: RIGHT, BEHIND, or nothing."""
        with self.database.writing(durable=False):
            self._run("INSERT OR REPLACE INTO meta VALUES('clock_peers', ?)", (f"{verdict} {self.clock()}",))

    def peers_on_clock(self) -> str:
        """What linked peers' clocks said of ours within the hour; empty if nothing."""
        verdict, _, at = str(self._run("SELECT value FROM meta WHERE key='clock_peers'").get or "").partition(" ")
        return verdict if at.isdigit() and 0 <= self.clock() - int(at) <= HOUR_MS else ""

    def scrub(self) -> bool:
        """Finish an erase: False while a reader or a full disk is in the way; the next try will come."""
        return scrub(self.database)

    def acceptance(self) -> Acceptance:
        """The rules as they stand now."""
        return Acceptance(self.feeds, self.fold, self.trust(), self.clock(), self.own, moved=self.statements.note_moved)

    def weigh_erases(self) -> None:
        """Decide which erases are in the set, now that it is settled which operations count."""
        self.statements.weigh(self.trust(), self._counts)

    def _counts(self, tag: bytes, node: bytes) -> bool:
        """Whether an operation of a node that can be erased counts."""
        return any(
            feed.feed.node == node and row.seq <= feed.accepted.seq and row.kind not in LASTING
            for feed, row in self.feeds.by_tag(tag)
        )

    def _merge_statements(self, arrived: dict[int, Statement]) -> dict[int, Outcome]:
        outcomes: dict[int, Outcome] = {}
        room: dict[int, Statement] = {}
        trust = self.trust()
        space = QuarantineSpace(self.quarantine)
        for index, statement in arrived.items():
            if self.statements.is_known(statement) or self.statements.is_held(statement):
                room[index] = statement
                continue
            full = self._full(trust, statement, space)
            if full:
                outcomes[index] = Refused(full)
            else:
                room[index] = statement
        before = {index for index, statement in room.items() if self.statements.is_known(statement)}
        self.take(list(room.values()))
        trust = self.trust()
        for index, statement in room.items():
            if index in before:
                continue
            if self.statements.is_known(statement):
                outcomes[index] = Merged(1)
            elif self.statements.is_held(statement):
                outcomes[index] = Waiting(_why_held(trust, statement))
        return outcomes

    def _full(self, trust: Trust, statement: Statement, space: QuarantineSpace) -> str | None:
        """Why there is no room for a statement, if it does not simply join the set.

        Judged alone: what only a statement beside it entitles is held for a moment, and counted so.
        """
        who, fact = speaker(statement), statement.fact
        size = len(statement.encode())
        if not trust.entitled(statement):
            stranger = not trust.certified(who) or who in trust.revoked
            return space.refusal(who, size, certified=not stranger)
        if not isinstance(fact, Erase) or trust.needs_no_operation(fact) or who == self.own:
            return None
        if self._names_something(fact):
            return space.refusal(who, size, certified=True)
        aside = self.statements.aside_bytes(who, KEEPING_BYTES)
        if aside + size + KEEPING_BYTES > ASIDE_BYTES:
            return "quarantine is full of erasures by this node that name nothing"
        return None

    def _names_something(self, fact: Erase) -> bool:
        """Whether an erase names an operation of its signer that is here, if only in a range that lies aside."""
        if any(feed.feed.node == fact.signer for tag in fact.tags for feed, _ in self.feeds.by_tag(tag)):
            return True
        named = set(fact.tags)
        return any(
            tag_of(fact.signer, link.body_hash) in named
            for stray in self.quarantine.of_node(fact.signer)
            for link in decode_range(self.mesh, stray.data).links
        )

    def take(self, arrived: list[Statement]) -> None:
        """Let statements join the set, and do what follows from them."""
        before = self.fold.order()
        joined = self.statements.take(self.founders(), arrived)
        if not joined:
            return
        facts = [statement.fact for statement in joined]
        trust = self.trust()
        if any(map(_gives_authority, facts)):
            self.erasure.erase(trust, self.statements.erased_tags())  # an erase of theirs may have come before
        else:
            self.erasure.erase(trust, [tag for fact in facts if isinstance(fact, Erase) for tag in fact.tags])
        if any(isinstance(fact, Fork) and fact.feed.node == self.own for fact in facts):
            self.owe_republication()
        if not all(isinstance(fact, Erase) for fact in facts):
            self._settle_all()
        self.fold.judge_again(before)  # also after an erase: it may have been of the setting that guards
        if any(isinstance(fact, Erase) or _gives_authority(fact) for fact in facts):
            Placement(self).retry_strays()
        self.weigh_erases()

    def _settle_all(self) -> int:
        acceptance = self.acceptance()
        before = self.feeds.accepted_operations()
        for node in {row.feed.node for row in self.feeds.all()}:
            acceptance.drop_excess(node)
        for row in self.feeds.all():
            if row.feed.node not in acceptance.shared:
                acceptance.settle(row)
        return self.feeds.accepted_operations() - before

    def upgrade(self) -> None:
        """Finish what a migration began, with the rules of today: once, by the first who opens the store to write."""
        if self._run("SELECT 1 FROM meta WHERE key='upgrade'").get is None:
            return
        with self.database.writing(durable=True):
            self.statements.index_erases()
            self.statements.note_members(self.trust())
            self._settle_all()
            self.weigh_erases()
            self._drop_idle_erases()
            self._run("DELETE FROM meta WHERE key='upgrade'")

    def _drop_idle_erases(self) -> None:
        """Of erases that name nothing, no more than would be let in."""
        room: dict[bytes, int] = {}
        for statement in self.statements.aside():
            fact = statement.fact
            assert isinstance(fact, Erase)
            if not self._names_something(fact):
                left = room.setdefault(fact.signer, ASIDE_BYTES) - len(statement.encode()) - KEEPING_BYTES
                room[fact.signer] = left
                if left < 0:
                    self.statements.drop(statement)

    def owe_republication(self) -> None:
        """Remember that a branch of our own feed may hold what counts nowhere; `author` pays it back."""
        self._run("INSERT OR REPLACE INTO meta VALUES('republish', 1)")


def _why_held(trust: Trust, statement: Statement) -> str:
    if trust.entitled(statement):
        return "it names no operation of its signer that counts, as far as is known here"
    return "its signer has no right to say this, as far as is known here"


def _gives_authority(fact: Fact) -> bool:
    """Whether a fact makes somebody's earlier word count for more than it did."""
    return isinstance(fact, Recover) or (isinstance(fact, Member) and fact.role == ADMIN)
