"""`hostile`: what one bad member costs an honest node, in memory and in the time until a write is visible, beside a quiet mesh.

Two real sidecars, each phase in homes of its own, and a member that speaks the wire from a process of its own. What it says is
signed beforehand and said at a steady rate, so that its own work does not take the processor from those it is said to.
"""

import asyncio
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from bench import sidecars
from bench.homes import LOG
from bench.machine import MB
from bench.notes import notes
from bench.processes import Measures, side, side_command, started
from bench.quantiles import middle_and_tail
from bench.table import Goal, Report, say
from mesh.app.client import ask
from mesh.core.clock import pack
from mesh.core.draft import NewRecord
from mesh.core.feed import Link as Operation
from mesh.core.feed import encode_range, sign_range
from mesh.core.ids import Feed, digest, first_prev, parse_id
from mesh.core.operation import ADD, Add
from mesh.core.operation import encode as encode_body
from mesh.core.statement import EPHEMERAL, Erase, Member, sign
from mesh.core.version_vector import Head
from mesh.node.certificates import Certificates
from mesh.store.home import Home, open_home
from mesh.store.join_table import Cards
from mesh.store.reader import open_reading
from mesh.store.store import wall_clock
from peers.proto.cards import Card, Contact, write_contact
from peers.proto.message_codec import decode, encode
from peers.proto.messages import (
    FEEDS,
    STATEMENTS,
    Ending,
    FeedEntry,
    Give,
    Have,
    Hello,
    Ping,
    Pong,
    Pull,
    Push,
    Ranges,
    pack_ranges,
)
from peers.transport.link import LinkClosed, PeerLink
from peers.transport.link_listener import ConnectionPolicy
from peers.transport.websocket import WebSocketTransport
from peers.trust.tls import Credentials, peer_node

_WRITES = 200
_PAUSE_SECONDS = 0.05  # between two writes, so that they are spread over the attack
_SECONDS = 40  # that an attack goes on, if nobody ends it
_VISIBLE_SECONDS = 30.0
_FRAMES_A_SECOND = 20.0
_FEEDS_A_FRAME = 15
_ERASES_A_FRAME = 16  # 320 a second, as was measured when there was no limit
_BODY_BYTES = 60_000
_BODIES = 14 * MB // _BODY_BYTES  # more than counts of a throw-away node and may wait of it
GOAL = Goal(1.5, most=True, ratio=True)


class _Found(NamedTuple):
    """What one phase showed."""

    memory: float
    memory_other: float
    p50: float
    p99: float
    said: int


def run(work: str) -> Report:
    """A quiet mesh first, then one under each attack."""
    report = Report("hostile", "quiet")
    folder = os.path.join(work, "hostile")
    quiet = _phase(folder, "")
    for attack, make in ATTACKS.items():
        found = _phase(folder, attack)
        report.add(f"{attack}: memory of who is attacked", "MB", found.memory / MB, quiet.memory / MB, GOAL)
        report.add(f"{attack}: memory of its neighbour", "MB", found.memory_other / MB, quiet.memory_other / MB, GOAL)
        report.add(f"{attack}: a write visible, p50", "ms", found.p50, quiet.p50, GOAL)
        report.add(f"{attack}: a write visible, p99", "ms", found.p99, quiet.p99)
        report.notes.append(f"{attack}: {found.said} frames were said; {make.__doc__}")
    return report


def _phase(folder: str, attack: str) -> _Found:
    """Fresh homes; writes by the attacked node, seen at the other."""
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    first, second, enemy = (os.path.join(folder, name) for name in ("first", "second", "enemy"))
    sidecars.found(first)
    with sidecars.running(first, listen=sidecars.free_port()) as one:
        for home in (second, enemy):
            sidecars.join(one, home)
        _make_throw_away(first, enemy)
        with sidecars.running(second) as two:
            sidecars.until("the two are linked", lambda: two.links() >= 1)
            sidecars.until("both have one root", lambda: one.root() == two.root())
            say(f"{_WRITES} writes {'with nobody else about' if not attack else f'while one member makes {attack}'}")
            with _attacking(enemy, one, attack) as said:
                seen = side(write_and_look, home=first, other=second, count=_WRITES, seed=7)["seconds"]
                memory, other = one.memory(), two.memory()
                assert memory is not None
                assert other is not None
                frames = said()
            sidecars.until("both have one root again", lambda: one.root() == two.root())
    shutil.rmtree(folder, ignore_errors=True)
    return _Found(memory, other, *middle_and_tail(seen), frames)


def _make_throw_away(home: str, enemy: str) -> None:
    """Certify the bad member anew as a throw-away node: so little may count of one that a bench can exceed it."""
    node, author = open_home(home), open_home(home).author()
    root = node.root_identity()
    fact = Member(root.public, wall_clock(), open_home(enemy).node, "enemy", EPHEMERAL)
    author.merge_statements([sign(node.mesh, root, fact).encode()])
    author.store.close()


@contextmanager
def _attacking(enemy: str, victim: sidecars.Sidecar, attack: str) -> Iterator[Callable[[], int]]:
    """The bad member at work, from when it has begun until the end of the block. Gives how many frames it has said."""
    if not attack:
        yield lambda: 0
        return
    about = ask(victim.home, "GET", "/peers")
    command = side_command(
        run_attack, home=enemy, node=about["node"], addresses=about["addresses"], attack=attack, seconds=_SECONDS
    )
    with started(command, stdout=subprocess.PIPE, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        begun = process.stderr.readline()
        if begun != b"begun\n":
            raise RuntimeError(f"the attack did not begin: {begun!r} {process.stderr.read()[-2000:]!r}")
        lines = os.dup(process.stderr.fileno())
        os.set_blocking(lines, False)

        def said() -> int:
            found = os.read(lines, 65536).split()
            return int(found[-1]) if found else 0

        try:
            yield said
        finally:
            os.close(lines)


def write_and_look(home: str, other: str, count: int, seed: int) -> Measures:
    """One record at a time, and a look into the other home until as many of the writer's operations count there."""
    author, reader = open_home(home).author(), open_reading(other)
    node = author.store.own

    def counted() -> int:
        return int(reader.connection.execute("SELECT coalesce(sum(seq), 0) FROM feeds WHERE node=?", (node,)).get)

    have, seconds = counted(), []
    for note in notes(count, seed=seed):
        called = time.perf_counter()
        author.append([NewRecord(LOG, note)])
        have += 1
        while counted() < have:
            if time.perf_counter() > called + _VISIBLE_SECONDS:
                raise RuntimeError(f"a record was not visible after {_VISIBLE_SECONDS:g} s")
        seconds.append(time.perf_counter() - called)
        time.sleep(_PAUSE_SECONDS)
    return {"seconds": seconds}


# The bad member


class Attacker(NamedTuple):
    """Who attacks: a home, and what it serves to whoever pulls, in order."""

    home: Home
    served: dict[Feed, list[bytes]]

    def range(self, feed: Feed, first: int, prev: bytes, texts: list[str], stamp: int) -> tuple[bytes, bytes]:
        """A signed range of records, and the hash behind it."""
        links = []
        for number, text in enumerate(texts):
            body = encode_body(Add(stamp, LOG, {"text": text}), random.randbytes(16))
            links.append(Operation(stamp + number, ADD, body, digest(body)))
        item = sign_range(self.home.mesh, self.home.identity(), feed, first, prev, links)
        return encode_range(item), item.head

    def feed(self, epoch: int) -> Feed:
        """One of its own."""
        return Feed(self.home.node, epoch)


def many_feeds(member: Attacker, frames: int) -> list[bytes]:
    """300 feeds a second, each beginning before all others, so that each pushes another out."""
    now, made = wall_clock() - 1000, []
    for number in range(frames):
        ranges = []
        for at in range(number * _FEEDS_A_FRAME, (number + 1) * _FEEDS_A_FRAME):
            feed = member.feed(1 + at)
            ranges.append(member.range(feed, 1, first_prev(member.home.mesh, feed), ["x"], pack(now - at))[0])
        made.append(encode(Push(ranges)))
    return made


def many_erases(member: Attacker, frames: int) -> list[bytes]:
    """320 erases a second of records that never were."""
    home = member.home

    def erase() -> bytes:
        fact = Erase(home.node, wall_clock(), (random.randbytes(32),), "")
        return sign(home.mesh, home.identity(), fact).encode()

    return [encode(Give(STATEMENTS, [erase() for _ in range(_ERASES_A_FRAME)])) for _ in range(frames)]


def many_bytes(member: Attacker, frames: int) -> list[bytes]:
    """14 MB of a throw-away node that may add 4, offered 20 times a second."""
    feed = member.feed(1)
    prev, stamp, served = first_prev(member.home.mesh, feed), pack(wall_clock() - 1000), []
    for number in range(_BODIES):
        text = random.randbytes(_BODY_BYTES // 2).hex()
        data, prev = member.range(feed, number + 1, prev, [text], stamp + number)
        served.append(data)
    member.served[feed] = served
    head = Head(_BODIES, prev)
    return [encode(Have(FEEDS, b"", answer=False, entries=[FeedEntry(feed, head, head)]))] * frames


ATTACKS: dict[str, Callable[[Attacker, int], list[bytes]]] = {
    "many feeds": many_feeds,
    "many erases": many_erases,
    "many bytes": many_bytes,
}


def run_attack(home: str, node: str, addresses: list[str], attack: str, seconds: int) -> Measures:
    """Sign everything, link, greet, and say it at a steady rate; on stderr `begun`, then how many frames were said."""
    member = Attacker(open_home(home), {})
    frames = ATTACKS[attack](member, int(_FRAMES_A_SECOND * seconds))
    asyncio.run(_attack(member, parse_id(node), tuple(addresses), frames))
    return {}


async def _attack(member: Attacker, victim: bytes, addresses: tuple[str, ...], frames: list[bytes]) -> None:
    home = member.home
    credentials, pem = _credentials(home), home.file("attack.pem")
    transport = WebSocketTransport(
        home.node,
        lambda _link: None,
        server_context=lambda: credentials.server_context(pem),
        client_context=lambda: credentials.client_context(pem),
        admission=ConnectionPolicy(peer_node, lambda _node: True, lambda _proof: False),
    )
    async with transport, asyncio.TaskGroup() as tasks:
        link = await transport.dial(victim, addresses)
        card = write_contact(home.mesh, Contact(home.node, wall_clock(), (), ""), home.identity().sign)
        await link.send(encode(Hello(home.mesh, home.node, card.data, passing=False)))
        answering = tasks.create_task(_answer(link, member))
        _tell("begun")
        begin = time.perf_counter()
        try:
            for number, frame in enumerate(frames):
                await asyncio.sleep(max(0.0, begin + number / _FRAMES_A_SECOND - time.perf_counter()))
                await link.send(frame)
                _tell(str(number + 1))
        except LinkClosed:
            pass  # they have had enough
        answering.cancel()


async def _answer(link: PeerLink, member: Attacker) -> None:
    try:
        while True:
            message = decode(await link.receive())
            if isinstance(message, Ping):
                await link.send(encode(Pong(message.nonce, bytes(32), bytes(8), bytes(8), wall_clock())))
            elif isinstance(message, Pull):
                await link.send(encode(_served(message, member)))
    except LinkClosed:
        return


def _served(message: Pull, member: Attacker) -> Ranges:
    endings, ranges = [], list[bytes]()
    for feed, after in message.wants:
        some = member.served.get(feed, [])[after.seq : after.seq + max(1, message.room // (_BODY_BYTES + 200))]
        ranges += some
        end = Head(after.seq + len(some), bytes(32)) if some else Head(0, first_prev(member.home.mesh, feed))
        endings.append(Ending(feed, end, False, []))
    return Ranges(message.pull, endings, pack_ranges(ranges))


def _credentials(home: Home) -> Credentials:
    store = home.store()
    try:
        cards = [Card(*card) for card in Cards(store.database).all()]
        found = Certificates(home, cards, store.trust, wall_clock).credentials()
    finally:
        store.close()
    if found is None:
        raise RuntimeError("the bad member has no certificate")
    return found


def _tell(what: str) -> None:
    print(what, file=sys.stderr, flush=True)
