"""A node that admits newcomers, made of a real store, for tests of joining."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from mesh.core.identity import Identity
from mesh.core.ids import digest
from mesh.core.statement import MEMBER, Statement
from mesh.core.trust import Founders
from mesh.store import join_table
from mesh.store.database import Database
from mesh.store.join_table import Cards, Invite, InviteBook
from mesh.store.store import Store
from peers.trust.join_admission import Admission, Invitation, MeshStanding
from peers.trust.join_listener import JoinLimits, JoinListener
from peers.trust.join_protocol import JoinRefusal
from peers.trust.join_token import JoinToken
from peers.trust.tls import Credentials
from peers.trust.x509_certificates import authority, chain_for, issue, read
from tests.worlds import NOW_MS, Clan

HOUR_MS = 3_600_000
CERTIFICATE = 2


class Office:
    """One node's store as a registrar; its root is here too, so that it can be given any certificate."""

    def __init__(self, folder: Path, clan: Clan, index: int = 0, *, admin: bool = True, may_issue: bool = True) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.clan = clan
        self.identity = clan.node(index)
        self.now_ms = NOW_MS
        self.store = Store(Database(os.fspath(folder / "mesh.db"), create=True), clan.mesh, clock=lambda: self.now_ms)
        self.store.learn_founders(clan.root.public, clan.recovery.public)
        self.book = InviteBook(self.store.database)
        self.cards = Cards(self.store.database)
        self.say(clan.admin(self.identity) if admin else clan.member(self.identity))
        self.root = authority(clan.root, clan.mesh, NOW_MS)
        self.keep(self.root)
        self.keep(issue(clan.root, self.root, self.identity.public, "office", NOW_MS, may_issue=may_issue))
        self.events: list[str] = []

    def say(self, *statements: Statement) -> None:
        self.store.merge_statements([item.encode() for item in statements])

    def keep(self, certificate: bytes) -> None:
        found = read(certificate)
        self.cards.keep(CERTIFICATE, found.subject, found.not_before_ms, certificate)

    def certificates(self) -> dict[bytes, bytes]:
        return {card.subject: card.data for card in self.cards.all() if card.kind == CERTIFICATE}

    def credentials(self) -> Credentials:
        chain = chain_for(self.identity.public, self.certificates())
        return Credentials(self.identity.seed, chain, [self.root])

    def invite(self, number: int = 1, uses: int = 1, role: str = MEMBER) -> Invite:
        name, secret = digest(b"invite %d" % number)[:16], digest(b"secret %d" % number)
        made = Invite(name, secret, NOW_MS, NOW_MS + HOUR_MS, uses, role)
        self.book.add(made)
        return made

    def token(self, invite: Invite, *ports: int) -> JoinToken:
        addresses = tuple(f"127.0.0.1:{port}" for port in ports)
        return JoinToken(self.clan.mesh, invite.id, invite.secret, invite.expires_ms, addresses)

    @asynccontextmanager
    async def open(self, limits: JoinLimits | None = None) -> AsyncIterator[int]:
        """The join port, on loopback."""
        context = self.credentials().join_server_context(os.fspath(self.folder / "tls.pem"))
        listener = JoinListener(
            "127.0.0.1", 0, context, self.clan.mesh, self.identity, self, lambda: self.now_ms, limits
        )
        async with listener:
            yield listener.port

    # Registrar

    async def standing(self) -> MeshStanding:
        founders = Founders(self.clan.root.public, self.clan.recovery.public)
        return MeshStanding(founders, self.store.trust(), self.certificates(), [b"a contact"])

    async def invitation(self, invite: bytes) -> Invitation | None:
        self.events.append("invitation")
        found = self.book.find(invite)
        return None if found is None else Invitation(found.secret, found.role)

    async def use(self, invite: bytes, node: bytes) -> JoinRefusal | None:
        self.events.append("use")
        await asyncio.sleep(0)  # as a database in another thread would
        found = self.book.use(invite, node, self.now_ms)
        return JoinRefusal(found.reason) if isinstance(found, join_table.InviteRefusal) else None

    async def publish(self, admission: Admission) -> None:
        self.events.append("publish")
        if admission.statement is not None:
            self.store.merge_statements([admission.statement])
        self.keep(admission.certificate)


def newcomer(index: int = 50) -> Identity:
    """A key that no mesh has heard of."""
    return Clan(7).node(index)
