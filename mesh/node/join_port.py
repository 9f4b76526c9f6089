"""The join port: open only while an invitation is outstanding. Makes, lists and withdraws invitations."""

import asyncio
import logging
import os
import ssl
import time
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from typing import TypeVar

from mesh.core.errors import HomeError, MeshError, UsageError
from mesh.core.ids import display_name, text_id
from mesh.core.trust import Founders
from mesh.node.certificates import Certificates, card_of
from mesh.node.node_settings import NodeSettings, advertised
from mesh.node.store_thread import StoreThread
from mesh.store.author import Author
from mesh.store.home import Home
from mesh.store.join_table import Invite, InviteBook, InviteRefusal
from peers.proto.cards import CONTACT, Card
from peers.transport.address import format_address, parse_address
from peers.trust import join_protocol
from peers.trust.join_admission import Admission, Invitation, MeshStanding
from peers.trust.join_listener import JoinListener
from peers.trust.join_token import JoinToken
from peers.trust.x509_certificates import read

_LOOK_SECONDS = 5.0  # how soon an invitation that has expired closes the port
_GRACE_SECONDS = 60.0  # how long who has used an invitation may ask again for an answer that was lost
T = TypeVar("T")
log = logging.getLogger("mesh.node")


class JoinPort:
    """Answers newcomers for one node, as a `Registrar` of the join listener."""

    def __init__(
        self,
        home: Home,
        author: Author,
        store_thread: StoreThread,
        certificates: Certificates,
        settings: NodeSettings,
        contacts: Callable[[], Sequence[Card]],
        issued: Callable[[Card], None],
    ) -> None:
        """`settings`: where the mesh port is, and how others reach us; the join port is the next one."""
        self._home = home
        self._author = author
        self._book = InviteBook(author.store.database)
        self._store_thread = store_thread
        self._certificates = certificates
        self._settings = settings
        self._contacts = contacts
        self._issued = issued
        self._listeners: list[JoinListener] = []
        self._context: ssl.SSLContext | None = None  # of the open port
        self._stack = AsyncExitStack()
        self._changed = asyncio.Event()
        self._adjusting = asyncio.Lock()
        self._used_at: float | None = None

    async def run(self) -> None:
        """Open and close the port as invitations come and go, until cancelled."""
        try:
            while True:
                self._changed.clear()
                try:
                    await self._adjust()
                except (MeshError, OSError) as error:
                    log.warning("the join port cannot be looked after: %s", error)
                try:
                    async with asyncio.timeout(_LOOK_SECONDS):
                        await self._changed.wait()
                except TimeoutError:
                    pass
        finally:
            await self._stack.aclose()

    async def invite(self, uses: int, seconds: int, role: str) -> JoinToken:
        """A new invitation, on disk, with the port open for it."""
        await self._require_right()
        now = self._author.store.clock()
        invite = Invite(os.urandom(16), os.urandom(32), now, now + seconds * 1000, uses, role)
        await self._on_shelf(lambda: self._book.add(invite))
        await self._adjust()
        return JoinToken(self._home.mesh, invite.id, invite.secret, invite.expires_ms, tuple(self._addresses()))

    async def withdraw(self, invite: bytes) -> bool:
        """Take an invitation back."""
        found = await self._on_shelf(lambda: self._book.withdraw(invite))
        self._changed.set()
        return found

    async def outstanding(self) -> list[tuple[Invite, int]]:
        """Invitations that can still be used, and how often."""
        book, now = self._book, self._author.store.clock()
        return await self._on_shelf(lambda: [(item, book.uses_left(item)) for item in book.outstanding(now)])

    def renew(self) -> None:
        """Show whoever knocks the certificate that this node has now."""
        credentials = self._certificates.credentials()
        if self._context is not None and credentials is not None:
            credentials.load(self._context, self._home.file("tls.pem"))

    # Registrar

    async def standing(self) -> MeshStanding:
        """What is known now."""
        founders, trust = await self._on_shelf(lambda: (self._author.store.founders(), self._author.store.trust()))
        if founders is None:
            raise HomeError("the founding keys of the mesh are not known here", "join the mesh again: mesh join TOKEN")
        contacts = [card.data for card in self._contacts() if card.kind == CONTACT]
        return MeshStanding(Founders(*founders), trust, dict(self._certificates.certificates), contacts)

    async def invitation(self, invite: bytes) -> Invitation | None:
        """What an invitation says."""
        found = await self._on_shelf(lambda: self._book.find(invite))
        return None if found is None else Invitation(found.secret, found.role)

    async def use(self, invite: bytes, node: bytes) -> join_protocol.JoinRefusal | None:
        """Record a use; on disk before this returns."""
        used = await self._on_shelf(lambda: self._book.use(invite, node, self._author.store.clock()))
        if isinstance(used, InviteRefusal):
            return join_protocol.JoinRefusal(used.reason)
        self._used_at = time.monotonic()
        return None

    async def publish(self, admission: Admission) -> None:
        """Keep what admits a node, and let gossip have it: the certificate first, or another would be made for it."""
        self._issued(card_of(read(admission.certificate)))
        statements = [] if admission.statement is None else [admission.statement]
        await self._on_shelf(lambda: self._author.merge_statements(statements))
        log.info("joined node=%s", text_id(admission.node)[:8])

    # The port itself

    async def _adjust(self) -> None:
        async with self._adjusting:  # an invitation made while the port closes must find it open
            await self._open_or_close()

    async def _open_or_close(self) -> None:
        recently = self._used_at is not None and time.monotonic() - self._used_at < _GRACE_SECONDS
        asked_for = bool(await self.outstanding()) or recently or any(item.busy for item in self._listeners)
        wanted = asked_for and bool(self._settings.listen)
        if wanted and not self._listeners:
            credentials = self._certificates.credentials()
            assert credentials is not None
            context = self._context = credentials.join_server_context(self._home.file("tls.pem"))
            for host, port in self._settings.listen:
                listener = JoinListener(
                    host,
                    port + 1 if port else 0,
                    context,
                    self._home.mesh,
                    self._home.identity(),
                    self,
                    self._author.store.clock,
                )
                try:
                    self._listeners.append(await self._stack.enter_async_context(listener))
                except OSError as error:
                    await self._close()
                    raise UsageError(
                        f"the join port {format_address(host, port + 1)} cannot be opened: {error.strerror}",
                        "free it, or start the node at another address: it uses the port after the one of --listen",
                    ) from error
            log.info("the join port is open address=%s", ",".join(self._addresses()))
        elif not wanted and self._listeners:
            await self._close()
            log.info("the join port is closed")

    async def _close(self) -> None:
        await self._stack.aclose()
        self._listeners, self._context = [], None

    def _addresses(self) -> list[str]:
        """Where newcomers reach the join port: as we advertise ourselves, at its own port."""
        bound = [(host, item.port) for (host, _), item in zip(self._settings.listen, self._listeners, strict=True)]
        if not self._settings.advertise:
            return list(advertised((), bound))[:8]
        # Only the person knows how ports are forwarded: one after the advertised one, or just as they are.
        given = [parse_address(address) for address in self._settings.advertise]
        found = [(host, number) for host, port in given for number in (port + 1, bound[0][1])]
        return list(dict.fromkeys(format_address(*place) for place in found))[:8]

    async def _require_right(self) -> None:
        trust = await self._on_shelf(self._author.store.trust)
        if not trust.may_certify(self._home.node):
            able = [
                display_name(trust.members[node].name, node) for node in sorted(trust.admins) if trust.may_certify(node)
            ]
            raise UsageError(
                "this node may not invite others",
                f"ask for an invitation on another node ({' or '.join(able) or 'the one with the root key'}): mesh invite",
            )
        if not self._settings.listen:
            raise UsageError(
                "this node listens nowhere, so nobody could reach it to join",
                "stop it and start it with an address others can reach: mesh up --listen HOST:PORT",
            )

    async def _on_shelf(self, function: Callable[[], T]) -> T:
        return await asyncio.wrap_future(self._store_thread.call(function))
