"""Joining over real TLS on loopback: who gets in, who does not, and what each is told."""

import asyncio
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest

from mesh.core.errors import Forged, MeshError, UsageError
from mesh.core.statement import ADMIN, EPHEMERAL, EPHEMERAL_READER, MEMBER, READER, Member, decode_statement, sign
from mesh.core.strict_msgpack import pack, unpack
from mesh.core.trust import Trust
from peers.trust.join_admission import JoinConversation
from peers.trust.join_client import join
from peers.trust.join_listener import JoinLimits, Tries, receive, send
from peers.trust.join_protocol import JoinRefusal, Newcomer, decode_request, encode, proof_of
from peers.trust.tls import join_client_context, peer_leaf
from peers.trust.x509_certificates import chain_for, check_chain, read
from tests.peers.joining import HOUR_MS, Office, newcomer
from tests.worlds import Clan

CLAN, OTHER = Clan(), Clan(3)
ANN, BEN = newcomer(1), newcomer(2)


@pytest.fixture
def office(tmp_path: Path) -> Iterator[Office]:
    """An admin of the clan."""
    made = Office(tmp_path / "office", CLAN)
    yield made
    made.store.close()


async def test_an_invited_node_becomes_a_member(office: Office) -> None:
    """It is given the founding keys, all statements, a certificate that chains to the root, and contacts."""
    office.say(CLAN.member(CLAN.node(4), "someone else"))
    async with office.open() as port:
        joined = await join(office.token(office.invite(), port), ANN, "ann")
    assert joined.server == office.identity.public
    assert tuple(joined.founders) == (CLAN.root.public, CLAN.recovery.public)
    assert joined.welcome.contacts == (b"a contact",)
    assert {item.encode() for item in office.store.trust().statements()} == set(joined.welcome.statements)
    assert office.store.trust().members[ANN.public].name == "ann"
    chain = chain_for(ANN.public, {read(item).subject: item for item in joined.welcome.certificates})
    check_chain(chain, {CLAN.root.public})
    assert office.events == ["invitation", "use", "publish"]


@pytest.mark.parametrize("role", [MEMBER, READER, EPHEMERAL, EPHEMERAL_READER])
async def test_the_invitation_says_the_role_and_the_welcome_tells_it(office: Office, role: str) -> None:
    """The newcomer reads it in the member statement: its token says nothing of it."""
    invite = office.invite(role=role)
    async with office.open() as port:
        joined = await join(office.token(invite, port), ANN, "ann")
    told = [decode_statement(CLAN.mesh, item) for item in joined.welcome.statements]
    assert Trust(joined.founders, told).role(ANN.public) == office.store.trust().role(ANN.public) == role
    assert office.token(invite) == office.token(invite._replace(role=MEMBER))


@pytest.mark.parametrize("wish", [MEMBER, ADMIN])
async def test_a_newcomer_that_claims_another_role_gets_no_word(office: Office, wish: str) -> None:
    """A request has no room for a role: one that has it is none, though its proofs hold."""
    async with office.open() as port:
        token = office.token(office.invite(role=READER), port)
        reader, writer = await dial(port)
        request = Newcomer(token, ANN, "ann", bytes(32)).greeted(
            await receive(reader, 2**20), peer_leaf(writer.get_extra_info("ssl_object"))
        )
        await send(writer, pack([*unpack(request), wish]))
        assert await reads_nothing(reader)
        writer.transport.abort()
    assert not office.store.trust().certified(ANN.public)
    assert "use" not in office.events


@pytest.mark.parametrize(("first", "second"), [(READER, MEMBER), (EPHEMERAL, MEMBER), (MEMBER, READER)])
async def test_another_invitation_changes_no_role(office: Office, first: str, second: str) -> None:
    """A member that comes again with it gets what it had: no second statement is made."""
    async with office.open() as port:
        before = await join(office.token(office.invite(1, role=first), port), ANN, "ann")
        after = await join(office.token(office.invite(2, role=second), port), ANN, "ann")
    assert after.welcome.statements == before.welcome.statements
    assert office.store.trust().role(ANN.public) == first


async def test_a_reader_that_signs_itself_another_role_stays_a_reader(office: Office) -> None:
    """Its word about members is nobody's, so the statement is only held."""
    async with office.open() as port:
        await join(office.token(office.invite(role=READER), port), ANN, "ann")
    office.say(*(sign(CLAN.mesh, ANN, Member(ANN.public, 2**46, ANN.public, "ann", role)) for role in (MEMBER, ADMIN)))
    assert office.store.trust().role(ANN.public) == READER
    assert not office.store.trust().may_write(ANN.public)


async def test_asking_again_gives_the_same_certificate(office: Office) -> None:
    """Also when the invitation has expired and was used up meanwhile: the first answer may have been lost."""
    async with office.open() as port:
        token = office.token(office.invite(), port)
        first = await join(token, ANN, "ann")
        office.now_ms += 2 * HOUR_MS
        second = await join(token, ANN, "ann by another name")
    assert second.welcome.certificates == first.welcome.certificates
    assert second.welcome.statements == first.welcome.statements


async def test_two_requests_of_one_node_at_once_make_one_certificate(office: Office) -> None:
    """They are admitted one after the other."""
    async with office.open() as port:
        token = office.token(office.invite(), port)
        results = await asyncio.gather(*(join(token, ANN, "ann") for _ in range(4)))
    assert len({result.welcome.certificates for result in results}) == 1
    assert len(office.store.trust().statements()) == 2


async def test_an_invitation_lets_in_as_many_as_it_says(office: Office) -> None:
    """The next one is told, and told what to do."""
    async with office.open() as port:
        token = office.token(office.invite(), port)
        await join(token, ANN, "ann")
        with pytest.raises(UsageError, match="used already") as told:
            await join(token, BEN, "ben")
    assert "mesh invite" in told.value.next_step
    assert not office.store.trust().certified(BEN.public)


async def test_an_expired_invitation_is_refused_with_a_sentence(office: Office) -> None:
    """By the clock of the node that gave it out."""
    async with office.open() as port:
        token = office.token(office.invite(), port)
        office.now_ms += HOUR_MS
        with pytest.raises(UsageError, match="has expired"):
            await join(token, ANN, "ann")


async def test_a_withdrawn_invitation_gets_no_word(office: Office) -> None:
    """An unknown one and a wrong secret are answered alike: not at all."""
    async with office.open() as port:
        invite = office.invite()
        token = office.token(invite, port)
        office.book.withdraw(invite.id)
        for bad in (token, office.token(office.invite(2), port)._replace(secret=bytes(32))):
            with pytest.raises(UsageError, match="does not take this invitation") as told:
                await join(bad, ANN, "ann")
            assert "mesh invite" in told.value.next_step
    assert "use" not in office.events
    assert not office.store.trust().certified(ANN.public)


async def test_a_revoked_key_is_refused_and_costs_no_use(office: Office) -> None:
    """It needs another key; the invitation is still good for that."""
    office.say(CLAN.member(ANN), CLAN.revoke(ANN))
    async with office.open() as port:
        token = office.token(office.invite(), port)
        with pytest.raises(UsageError, match="revoked"):
            await join(token, ANN, "ann")
        assert (await join(token, BEN, "ben")).server == office.identity.public


async def test_an_admin_revoked_since_admits_nobody(office: Office) -> None:
    """Neither greets the newcomer as an admin nor signs."""
    async with office.open() as port:
        token = office.token(office.invite(), port)
        office.say(CLAN.revoke(office.identity))
        with pytest.raises(MeshError):
            await join(token, ANN, "ann")
    assert not office.store.trust().certified(ANN.public)


async def test_the_server_of_another_mesh_is_told_nothing(office: Office, tmp_path: Path) -> None:
    """Its certificate is good, in its own mesh. It hears neither key nor MAC."""
    stranger = Office(tmp_path / "stranger", OTHER)
    async with stranger.open() as port:
        with pytest.raises(Forged, match="another mesh") as told:
            await join(office.token(office.invite(), port), ANN, "ann")
    assert "mesh invite" in told.value.next_step
    assert stranger.events == []
    stranger.store.close()


async def test_a_member_who_may_not_issue_is_told_nothing(tmp_path: Path) -> None:
    """Neither one without the role, nor one who only has the certificate for it."""
    for number, may_issue in enumerate((False, True)):
        member = Office(tmp_path / str(number), CLAN, 2, admin=False, may_issue=may_issue)
        async with member.open() as port:
            with pytest.raises(Forged, match="may not admit"):
                await join(member.token(member.invite(), port), ANN, "ann")
        assert member.events == []
        member.store.close()


async def test_another_admin_cannot_answer_for_the_one_who_invited(
    office: Office, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It does not know the secret: what it says to the newcomer is not believed."""
    other = Office(tmp_path / "other", CLAN, 3)
    invite = office.invite()
    other.book.add(invite._replace(secret=bytes(32)))

    monkeypatch.setattr(JoinConversation, "proves", lambda *_: True)
    async with other.open() as port:
        with pytest.raises(Forged, match="does not know the secret"):
            await join(office.token(invite, port), ANN, "ann")
    other.store.close()


async def test_joining_works_under_a_root_that_took_anothers_place(office: Office) -> None:
    """The greeting brings the recovery along; certificates of the first root still tie keys to connections."""
    next_root = CLAN.node(9)
    kept = [item for item in office.store.trust().statements() if office.store.trust().counts(item.id)]
    office.say(CLAN.recover(next_root, kept))
    async with office.open() as port:
        joined = await join(office.token(office.invite(), port), ANN, "ann")
    assert office.store.trust().root == next_root.public
    assert office.store.trust().certified(ANN.public)
    assert len(joined.welcome.statements) == 3


async def test_who_is_only_an_admin_of_a_lost_root_is_told_nothing(office: Office) -> None:
    """The recovery did not list it."""
    office.say(CLAN.recover(CLAN.node(9)))
    async with office.open() as port:
        with pytest.raises(Forged, match="may not admit"):
            await join(office.token(office.invite(), port), ANN, "ann")


async def test_a_second_address_is_tried_when_the_first_is_dead_or_strange(office: Office, tmp_path: Path) -> None:
    """One that nobody listens on, and one where another mesh answers."""
    stranger = Office(tmp_path / "stranger", OTHER)
    async with stranger.open() as dead:
        pass
    async with stranger.open() as strange, office.open() as port:
        joined = await join(office.token(office.invite(), dead, strange, port), ANN, "ann")
        assert joined.server == office.identity.public
        with pytest.raises(Forged, match="another mesh"):
            await join(office.token(office.invite(2), dead, strange), ANN, "ann")
        with pytest.raises(MeshError, match=r"can be reached: Connection refused$") as told:
            await join(office.token(office.invite(3), dead), ANN, "ann")
    assert "is up and reachable" in told.value.next_step
    stranger.store.close()


async def test_a_server_that_is_none_of_ours_is_said_to_be_strange(office: Office) -> None:
    """Plain text where TLS was expected."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"SSH-2.0-not-a-mesh\r\n")
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(Forged, match="does not speak our protocol"):
            await join(office.token(office.invite(), port), ANN, "ann")


@pytest.mark.parametrize(("version", "side"), [(1, "there"), (3, "here")])
async def test_a_server_of_another_build_is_told_from_a_stranger(office: Office, version: int, side: str) -> None:
    """Nothing is said to it; the newcomer learns which side to upgrade, and not that somebody deceives it."""
    heard: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await send(writer, pack([version, "greeting", "whatever that build says"]))
        heard.append(await reader.read())
        writer.close()

    context = office.credentials().join_server_context(str(office.folder / "tls.pem"))
    server = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=context)
    async with server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(MeshError, match=f"it speaks version {version} of joining, this is 2") as caught:
            await join(office.token(office.invite(), port), ANN, "ann")
    assert caught.value.next_step == f"upgrade clan-mesh {side}"
    assert "is not who" not in str(caught.value)
    assert not any(heard)


async def test_a_recorded_request_is_no_use_to_anyone(office: Office) -> None:
    """Each conversation has a nonce of the server's: the same bytes again get no word."""
    async with office.open() as port:
        token = office.token(office.invite(), port)
        reader, writer = await dial(port)
        recorded = Newcomer(token, ANN, "ann", bytes(32)).greeted(
            await receive(reader, 2**20), peer_leaf(writer.get_extra_info("ssl_object"))
        )
        writer.transport.abort()
        reader, writer = await dial(port)
        await receive(reader, 2**20)
        await send(writer, recorded)
        assert await reads_nothing(reader)
        writer.transport.abort()
    assert office.events == []


async def test_a_flood_of_wrong_macs_is_shut_out_and_others_are_not_counted(office: Office) -> None:
    """After so many failures an address is closed before the handshake."""
    limits = JoinLimits(failures=5)
    async with office.open(limits) as port:
        token = office.token(office.invite(), port)
        wrong = token._replace(secret=bytes(32))
        for _ in range(5):
            with pytest.raises(UsageError, match="does not take"):
                await join(wrong, ANN, "ann")
        heard = len(office.events)
        for _ in range(5):
            with pytest.raises(MeshError, match="can be reached"):
                await join(wrong, ANN, "ann")
        with pytest.raises(MeshError, match="can be reached"):
            await join(token, ANN, "ann")
    assert len(office.events) == heard == 5


async def test_too_many_at_once_are_closed_unheard(office: Office) -> None:
    """Those that hold a conversation keep it."""
    async with office.open(JoinLimits(conversations=2)) as port:
        held = [await dial(port) for _ in range(2)]
        with pytest.raises(MeshError):
            await join(office.token(office.invite(), port), ANN, "ann")
        for reader, writer in held:
            assert await receive(reader, 2**20)
            writer.transport.abort()


async def test_who_says_nothing_is_cut_off(office: Office) -> None:
    """A conversation has a time, handshake included."""
    async with office.open(JoinLimits(seconds=0.2)) as port:
        reader, writer = await dial(port)
        await receive(reader, 2**20)
        assert await reads_nothing(reader)
        writer.transport.abort()
        plain_reader, plain_writer = await asyncio.open_connection("127.0.0.1", port)
        assert await reads_nothing(plain_reader)
        plain_writer.close()


@pytest.mark.parametrize("said", [b"", b"\xff\xff\xff\xff", b"\x00\x00\x00\x01\xc1", b"\x00\x00\x00\x02\x92\x01"])
async def test_nonsense_gets_no_word_and_harms_nobody(office: Office, said: bytes) -> None:
    """Nothing, a length beyond all bounds, bytes that are no message."""
    async with office.open() as port:
        reader, writer = await dial(port)
        await receive(reader, 2**20)
        writer.write(said)
        if not said:
            writer.transport.abort()
        assert await reads_nothing(reader)
        writer.transport.abort()
        assert (await join(office.token(office.invite(), port), ANN, "ann")).server == office.identity.public


async def test_a_request_must_be_signed_by_the_key_it_names(office: Office) -> None:
    """Nobody can have another's key admitted under a name of his own."""
    reception = JoinConversation(CLAN.mesh, office.identity, bytes(32))
    standing = await office.standing()
    token = office.token(office.invite(), 1)
    leaf = office.credentials().chain[0]
    request = decode_request(Newcomer(token, ANN, "ann", bytes(32)).greeted(reception.greet(standing), leaf))
    assert reception.hear(encode(request)) == request
    assert reception.proves(request, token.secret)
    for altered in (
        request._replace(node=BEN.public),
        request._replace(name="mallory"),
        request._replace(nonce=bytes(31) + b"x"),
        request._replace(invite=bytes(16)),
    ):
        with pytest.raises(Forged):
            reception.hear(encode(altered))
        assert not reception.proves(altered, token.secret)


async def test_a_welcome_that_was_altered_is_not_believed(office: Office) -> None:
    """Its MAC covers all of it."""
    reception = JoinConversation(CLAN.mesh, office.identity, bytes(32))
    standing = await office.standing()
    token = office.token(office.invite(), 1)
    joiner = Newcomer(token, ANN, "ann", bytes(32))
    request = decode_request(joiner.greeted(reception.greet(standing), office.credentials().chain[0]))
    admission = reception.admit(standing, request, MEMBER, office.now_ms)
    assert not isinstance(admission, JoinRefusal)
    await office.publish(admission)
    welcome = reception.welcome(await office.standing(), request, token.secret)
    assert not isinstance(joiner.answered(welcome), JoinRefusal)
    with pytest.raises(Forged):
        joiner.answered(welcome.replace(b"a contact", b"b contact"))
    with pytest.raises(Forged, match="does not make"):
        joiner.answered(reception.welcome(standing, request, token.secret))
    refused = joiner.answered(encode(JoinRefusal("no\x1b[31m")))
    assert refused == JoinRefusal("no?[31m")


def test_the_greeting_proves_an_admin_with_few_statements() -> None:
    """Its own certificates and every recovery, not the whole set."""
    admin = CLAN.node(0)
    others = [CLAN.member(CLAN.node(index)) for index in range(10, 30)]
    trust = Trust((CLAN.root.public, CLAN.recovery.public), [CLAN.admin(admin), *others])
    assert proof_of(trust, admin.public) == [CLAN.admin(admin)]


def test_tries_are_forgotten_after_a_minute() -> None:
    """And counted for each address alone."""
    tries = Tries(2)
    for now in (0.0, 1.0):
        assert not tries.are_too_many("a", now)
        tries.note("a", now)
    assert tries.are_too_many("a", 2.0)
    assert not tries.are_too_many("b", 2.0)
    assert not tries.are_too_many("a", 60.5)


async def dial(port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    return await asyncio.open_connection(
        "127.0.0.1", port, ssl=join_client_context(), server_hostname="", ssl_shutdown_timeout=1.0
    )


async def reads_nothing(reader: asyncio.StreamReader) -> bool:
    """Whether the other side closes without another byte."""
    try:
        return await reader.read() == b""
    except (OSError, ssl.SSLError):
        return True
