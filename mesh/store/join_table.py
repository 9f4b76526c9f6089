"""Invitations this node has given out, and who used them. Local: neither root nor bundles know them.

A use is on disk before it is answered, so that no crash gives an invitation more uses than it has.
"""

from typing import NamedTuple

from mesh.core.statement import MEMBER
from mesh.store.database import Database

FORGET_MS = 30 * 86_400_000  # after its end an invitation still answers those who used it, for so long
_COLUMNS = "id, secret, made_ms, expires_ms, uses, role"


class Invite(NamedTuple):
    """The right to join, for so many nodes and so long, in a role that the member statement will say."""

    id: bytes
    secret: bytes
    made_ms: int
    expires_ms: int
    uses: int
    role: str = MEMBER


class Used(NamedTuple):
    """The node may join. `again`: it had used the invitation before, and that counts once."""

    again: bool


class InviteRefusal(NamedTuple):
    """Why an invitation is not good for this node, as a sentence for the newcomer."""

    reason: str


WITHDRAWN = InviteRefusal("this invitation was withdrawn")
EXPIRED = InviteRefusal("this invitation has expired")
USED_UP = InviteRefusal("this invitation was used already")


class InviteBook:
    """All invitations of one home."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._run = database.run

    def add(self, invite: Invite) -> None:
        """Keep a new invitation, and forget those that ended long ago."""
        with self._database.writing(durable=True):
            old = invite.made_ms - FORGET_MS
            self._run("DELETE FROM invite_uses WHERE invite IN (SELECT id FROM invites WHERE expires_ms<?)", (old,))
            self._run("DELETE FROM invites WHERE expires_ms<?", (old,))
            self._run("INSERT INTO invites VALUES(?,?,?,?,?,?)", tuple(invite))

    def find(self, invite_id: bytes) -> Invite | None:
        """One invitation, also one that has expired."""
        row = self._run(f"SELECT {_COLUMNS} FROM invites WHERE id=?", (invite_id,)).fetchone()
        return None if row is None else Invite._make(row)

    def outstanding(self, now_ms: int) -> list[Invite]:
        """Those that a node which has not asked yet could still use."""
        rows = self._run(
            f"SELECT {_COLUMNS} FROM invites WHERE expires_ms>?"
            " AND uses>(SELECT count(*) FROM invite_uses WHERE invite=id) ORDER BY made_ms, id",
            (now_ms,),
        )
        return [Invite._make(row) for row in rows]

    def uses_left(self, invite: Invite) -> int:
        """How many more nodes may use it."""
        return invite.uses - int(self._run("SELECT count(*) FROM invite_uses WHERE invite=?", (invite.id,)).get)

    def use(self, invite_id: bytes, node: bytes, now_ms: int) -> Used | InviteRefusal:
        """Record that a node joins by an invitation. On disk when this returns."""
        with self._database.writing(durable=True):
            invite = self.find(invite_id)
            if invite is None:
                return WITHDRAWN
            nodes = {used for (used,) in self._run("SELECT node FROM invite_uses WHERE invite=?", (invite_id,))}
            if node in nodes:  # its answer may have been lost on the way: the same node may ask again
                return Used(again=True)
            if now_ms >= invite.expires_ms:
                return EXPIRED
            if len(nodes) >= invite.uses:
                return USED_UP
            self._run("INSERT INTO invite_uses VALUES(?,?,?)", (invite_id, node, now_ms))
            return Used(again=False)

    def withdraw(self, invite_id: bytes) -> bool:
        """Take an invitation back. False if there was none; who has joined by it stays."""
        with self._database.writing(durable=True):
            known = self.find(invite_id) is not None
            self._run("DELETE FROM invite_uses WHERE invite=?", (invite_id,))
            self._run("DELETE FROM invites WHERE id=?", (invite_id,))
            return known


class StoredCard(NamedTuple):
    """One fact about a node that only its latest version matters of."""

    kind: int
    subject: bytes
    at: int
    data: bytes


class Cards:
    """All cards of one home."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._run = database.run

    def all(self) -> list[StoredCard]:
        """Every card, in one order on all nodes."""
        return [
            StoredCard._make(row)
            for row in self._run("SELECT kind, subject, at, data FROM cards ORDER BY kind, subject")
        ]

    def keep(self, kind: int, subject: bytes, at: int, data: bytes) -> bool:
        """Keep a card if it is newer than what is known; of two as new, the larger. Returns whether it was kept."""
        with self._database.writing(durable=False):  # what is lost in a power failure, peers send again
            self._run(
                "INSERT INTO cards VALUES(?,?,?,?) ON CONFLICT(kind, subject) DO UPDATE SET at=excluded.at,"
                " data=excluded.data WHERE (excluded.at, excluded.data) > (cards.at, cards.data)",
                (kind, subject, at, data),
            )
            return bool(self._run("SELECT changes()").get)

    def drop(self, kind: int, subject: bytes) -> None:
        """Forget a card: whatever comes next counts."""
        with self._database.writing(durable=False):
            self._run("DELETE FROM cards WHERE kind=? AND subject=?", (kind, subject))
