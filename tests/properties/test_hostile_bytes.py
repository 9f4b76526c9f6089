"""Bundles altered in every way a relay, a stranger or a hostile member can: the honest state stays what it was.

Every mutation is made from a number; a failure names the number, and `REPEAT=[number]` below repeats it.
"""

import io
import os
import random
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from mesh.core import clock
from mesh.core.errors import RemoteError
from mesh.core.feed import Link, Range, decode_range, encode_range, sign_range
from mesh.core.identity import Identity, point_message, statement_message
from mesh.core.ids import Feed, digest, first_prev, tag_of
from mesh.core.limits import OPERATION_BYTES
from mesh.core.operation import Add, Count, Remove, Set
from mesh.core.strict_msgpack import pack, unpack
from mesh.core.version_vector import Head
from mesh.store import bundles
from mesh.store.author import Author
from mesh.store.bundles import ImportReport, export_bundle, import_bundle
from mesh.store.feed_progress import FeedProgress
from mesh.store.store import Store
from mesh.store.verification import verify_store
from tests.worlds import NOW_MS, Chain, Clan, open_store, views

CLAN, OTHER = Clan(), Clan(1)
HOME, ANN, BEN, CAT, DAN, EVE, MALLORY = (CLAN.node(index) for index in range(7))
REPEAT: list[int] = []

Frame = tuple[bytes, bytes]


def honest_world(folder: Path, clan: Clan) -> tuple[bytes, list[Chain]]:
    """A bundle with several feeds, statements, an erase, a node that waits, a gap and a fork; and its chains.

    Eve is certified and hostile, Mallory is not certified: neither has written yet.
    """
    ann, ben, cat, dan, eve = (clan.node(index) for index in range(1, 6))
    chains = [Chain(clan, who, epoch) for who, epoch in ((ann, 7), (ann, 8), (ben, 7), (cat, 7), (dan, 7))]
    tags: list[bytes] = []
    for chain in chains:
        for number in range(4):
            tags.append(chain.add(Add(chain.next_hlc(), "diary", {"text": f"{chain.feed} {number}", "n": [1, {}]})))
        chain.add(Set(chain.next_hlc(), "key", f"field {chain.feed}", number))
        chain.add(Count("key", 3))
    chains[2].add(Remove([tags[0]], "seen"))
    branch = chains[3].fork(5)
    branch.add(Add(branch.next_hlc(), "diary", {"text": "another day"}))
    statements = [clan.admin(ann), clan.member(ben, "ben", signer=ann), clan.member(cat), clan.member(eve)]
    statements += [clan.erase(ben, tags[9]), clan.erase(ann, tags[2])]
    with open_store(folder / "exporter", clan) as store:
        store.merge_statements([item.encode() for item in statements])
        for chain in chains:
            store.merge_ranges([chain.encoded(1, 2), chain.encoded(3)])
        gap = Chain(clan, ben, 9)
        for number in range(4):
            gap.add(Add(gap.next_hlc(), "diary", {"text": f"behind a gap {number}"}))
        store.merge_ranges([branch.encoded(4), gap.encoded(3)])
        assert verify_store(store).problems == []
        out = io.BytesIO()
        export_bundle(store, out)
    return out.getvalue(), [*chains, gap]


def frames_of(data: bytes) -> list[Frame]:
    """The frames of a bundle, without its end."""
    frames, position = [], len(bundles.MAGIC)
    while position < len(data):
        kind, length = bundles.frame_head(data[position : position + 5])
        frames.append((kind, data[position + 5 : position + 5 + length]))
        position += 5 + length
    return frames[:-1]


def bundled(frames: list[Frame], *, ended: bool = True) -> bytes:
    """A bundle of these frames, with a digest that fits: a hostile maker has no reason to leave it wrong."""
    data = bundles.MAGIC + b"".join(bundles.frame(kind, payload) for kind, payload in frames)
    return data + bundles.frame(bundles.END, digest(data)) if ended else data


class World:
    """The honest bundle, one of another mesh, and a victim that is put back when it was changed."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.data, self.chains = honest_world(folder, CLAN)
        self.frames = frames_of(self.data)
        self.foreign = frames_of(honest_world(folder / "foreign", OTHER)[0])
        self.statements = [item for item in self.frames if item[0] == bundles.STATEMENT]
        self.ranges = [item for item in self.frames if item[0] == bundles.RANGE]
        self.full = Victim(folder / "full", stack, self.data)
        self.empty = Victim(folder / "empty", stack, None)
        self.heads = self.full.heads()

    @property
    def header(self) -> Frame:
        return self.frames[0]


class Victim:
    """A store to attack, with its state remembered, byte for byte."""

    def __init__(self, folder: Path, stack: ExitStack, data: bytes | None) -> None:
        store = stack.enter_context(open_store(folder, CLAN, HOME))
        self._marker = FeedProgress(HOME.public, os.fspath(folder))
        self.store = store
        self.author = Author(store, HOME, self._marker)
        if data is not None:
            import_bundle(self.author, io.BytesIO(data), ImportReport())
        store.database.run("PRAGMA wal_checkpoint(TRUNCATE)")
        self._template = store.database.connection.serialize("main")
        self.honest = self.state()
        self.waiting = self.waits()
        self.views = views(store)

    def attack(self, data: bytes) -> ImportReport:
        """Import, as the command does; only errors that say the bytes were bad may come out."""
        report = ImportReport()
        try:
            import_bundle(self.author, io.BytesIO(data), report)
        except RemoteError as error:
            report.reasons[str(error)] = 1
        return report

    def state(self) -> tuple[object, ...]:
        """Everything that counts, and every chain as far as it is held."""
        run = self.store.database.run
        held = tuple(run("SELECT node, epoch, held_seq, held_hash, seq, hash FROM feeds ORDER BY 1, 2"))
        sizes = run(
            "SELECT (SELECT count(*) FROM elements), (SELECT count(*) FROM removals), (SELECT count(*) FROM registers),"
            " (SELECT sum(total) FROM counters), (SELECT count(*) FROM ops WHERE body IS NULL),"
            " (SELECT count(*) FROM statements)"
        ).fetchone()
        return self.store.root(), held, sizes

    def waits(self) -> tuple[int, ...]:
        """How much is kept aside."""
        run = self.store.database.run
        counts = "SELECT (SELECT count(*) FROM strays), (SELECT count(*) FROM held_statements)"
        return tuple(run(counts).fetchone())

    def heads(self) -> dict[Feed, Head]:
        return {row.feed: row.accepted for row in self.store.feeds.all() if row.accepted.seq}

    def put_back(self) -> None:
        """The state remembered, in a store that has forgotten everything else."""
        with tempfile.NamedTemporaryFile() as file:
            file.write(self._template)
            file.flush()
            import apsw

            source = apsw.Connection(file.name, flags=apsw.SQLITE_OPEN_READWRITE)
            with self.store.database.connection.backup("main", source, "main") as backup:
                backup.step()
            source.close()
        old = self.store
        self.store = Store(old.database, CLAN.mesh, own=HOME.public, clock=old.clock)
        self.author = Author(self.store, HOME, self._marker)


# What a relay can do: it has no key at all


def flip_bits(world: World, rng: random.Random) -> bytes:
    data = bytearray(world.data)
    for _ in range(rng.choice((1, 1, 1, 2, 8))):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(data)


def replace_bytes(world: World, rng: random.Random) -> bytes:
    data = bytearray(world.data)
    start = rng.randrange(len(data))
    stretch = rng.randbytes(rng.randint(1, 16)) if rng.random() < 0.5 else bytes([rng.choice((0, 255))]) * 8
    data[start : start + len(stretch)] = stretch
    return bytes(data)


def cut_off(world: World, rng: random.Random) -> bytes:
    return world.data[: rng.randrange(len(world.data))]


def insert_or_delete(world: World, rng: random.Random) -> bytes:
    start = rng.randrange(len(world.data))
    end = start + rng.choice((0, 0, 1, 5, 300))
    return world.data[:start] + rng.randbytes(rng.choice((0, 1, 5, 40))) + world.data[end:]


def shuffle_frames(world: World, rng: random.Random) -> bytes:
    frames = world.frames[1:]
    rng.shuffle(frames)
    return bundled([world.header, *frames])


def repeat_frames(world: World, rng: random.Random) -> bytes:
    frames = [*world.frames, *rng.choices(world.frames, k=rng.randint(1, 10))]
    return bundled(frames)


def leave_out_frames(world: World, rng: random.Random) -> bytes:
    return bundled([frame for frame in world.frames if rng.random() < 0.6])


def lie_about_length(world: World, rng: random.Random) -> bytes:
    frames = [bundles.frame(kind, payload) for kind, payload in world.frames]
    index = rng.randrange(len(frames))
    length = rng.choice((0, 1, len(frames[index]), 2**16, 2**18, 2**19, 2**31, 2**32 - 1, rng.randrange(2**32)))
    frames[index] = length.to_bytes(4, "big") + frames[index][4:]
    return bundles.MAGIC + b"".join(frames)


def lie_about_type(world: World, rng: random.Random) -> bytes:
    frames = list(world.frames)
    index = rng.randrange(len(frames))
    frames[index] = (rng.choice((b"H", b"S", b"R", b"E", rng.randbytes(1))), frames[index][1])
    return bundled(frames)


def splice_foreign_frames(world: World, rng: random.Random) -> bytes:
    frames = list(world.frames)
    for _ in range(rng.randint(1, 4)):
        frames.insert(rng.randint(1, len(frames)), rng.choice(world.foreign))
    return bundled(frames)


def alter_inside_a_frame(world: World, rng: random.Random) -> bytes:
    """The digest at the end is made to fit, so that the altered frame itself has to be told."""
    frames = list(world.frames)
    for _ in range(rng.randint(1, 3)):
        index = rng.randrange(len(frames))
        payload = bytearray(frames[index][1])
        payload[rng.randrange(len(payload))] = rng.randrange(256)
        frames[index] = (frames[index][0], bytes(payload))
    return bundled(frames)


def alter_structure(world: World, rng: random.Random) -> bytes:
    """Decode, change a value of the structure, encode: what the relay cannot sign again."""
    frames = list(world.frames)
    index = rng.randrange(len(frames))
    kind, payload = frames[index]
    value = unpack(payload)
    if kind == bundles.STATEMENT:
        value[0] = pack(altered(unpack(value[0]), rng))
    else:
        value = altered(value, rng)
    frames[index] = (kind, pack(value))
    return bundled(frames)


def strip_bodies(world: World, rng: random.Random) -> bytes:
    """Leave out bodies that nobody has erased: hashes and signatures still hold."""
    frames = list(world.frames)
    for index, (kind, payload) in enumerate(frames):
        if kind == bundles.RANGE and rng.random() < 0.5:
            item = decode_range(CLAN.mesh, payload)
            links = [link._replace(body=None) if rng.random() < 0.5 else link for link in item.links]
            frames[index] = (kind, encode_range(item._replace(links=links)))
    if rng.random() < 0.5:
        frames[1:] = rng.sample(frames[1:], len(frames) - 1)
    return bundled(frames)


def cut_ranges(world: World, rng: random.Random) -> bytes:
    """Start ranges later than they were sent: still authentic, at most a gap."""
    frames = list(world.frames)
    for index, (kind, payload) in enumerate(frames):
        if kind == bundles.RANGE and rng.random() < 0.5:
            item = decode_range(CLAN.mesh, payload)
            skip = rng.randrange(len(item.links))
            later = Range(
                item.feed, item.first + skip, item.hash_at(item.first + skip - 1), item.links[skip:], [], item.signature
            )
            frames[index] = (kind, encode_range(later))
    rng.shuffle(frames)
    frames.sort(key=lambda frame: frame[0] != bundles.HEADER)
    return bundled(frames)


def replay(world: World, rng: random.Random) -> bytes:
    return bundled([world.header, *rng.choices(world.frames[1:], k=rng.randint(1, 30))])


# What needs a key, but not the victim's


def sign_the_victims_feed(world: World, rng: random.Random) -> bytes:
    """Extend or fork an honest feed with a key that is not its author's."""
    chain = rng.choice(world.chains)
    signer = rng.choice((EVE, MALLORY))
    first = rng.randint(1, len(chain.links) + 1)
    links = [] if rng.random() < 0.5 else list(chain.links[first - 1 :])
    links.append(Link(chain.next_hlc(), 1, bytes(16) + rng.randbytes(20), b""))
    links = [link._replace(body_hash=digest(link.body or b"")) for link in links]
    forged = sign_range(CLAN.mesh, signer, chain.feed, first, chain.hash_at(first - 1), links)
    return bundled([world.header, (bundles.RANGE, encode_range(forged))])


def sign_statements_without_the_right(world: World, rng: random.Random) -> bytes:
    """A member and a stranger certify, revoke and erase what is not theirs, or in the name of others."""
    signer = rng.choice((EVE, MALLORY))
    victim = rng.choice((ANN, BEN, CAT, CLAN.root))
    chain = rng.choice(world.chains)
    tag = tag_of(chain.author.public, rng.choice(chain.links).body_hash)
    facts: list[Any] = [
        ["member", signer.public, 9, MALLORY.public, "mallory", rng.choice(("member", "admin"))],
        ["revoke", signer.public, 9, victim.public, [], [], "gone"],
        ["member", victim.public, 9, MALLORY.public, "mallory", "admin"],
        ["revoke", CLAN.root.public, 9, victim.public, [], [], "gone"],
        ["erase", victim.public, 9, [tag], "gone"],
    ]
    if signer is MALLORY:
        facts.append(["erase", signer.public, 9, [tag], "gone"])
    payload = pack(rng.choice(facts))
    forged = pack([payload, signer.sign(statement_message(CLAN.mesh, payload))])
    return bundled([world.header, (bundles.STATEMENT, forged)])


def bend_a_fork_proof(world: World, rng: random.Random) -> bytes:
    """Turn the proof of an honest fork, or two points of an honest chain, against an honest feed."""
    chain = rng.choice(world.chains[:3])
    signer = rng.choice((EVE, chain.author))
    first = rng.randint(1, 3)
    sides = []
    for last in rng.sample(range(first, 6), 2):
        links = chain.links[first - 1 : last]
        flat: list[Any] = [part for link in links for part in (link.hlc, link.kind, link.body_hash)]
        signature = chain.range(first, last).signature
        if signer is EVE and rng.random() < 0.7:
            flat[2] = rng.randbytes(32)
            signature = EVE.sign(point_message(CLAN.mesh, chain.feed, last, rng.randbytes(32)))
        sides.append([flat, signature])
    payload = pack(["fork", chain.feed.encode(), first, chain.hash_at(first - 1), *sides])
    return bundled([world.header, (bundles.STATEMENT, pack([payload, b""]))])


RELAYED: list[Callable[[World, random.Random], bytes]] = [
    flip_bits,
    replace_bytes,
    cut_off,
    insert_or_delete,
    shuffle_frames,
    repeat_frames,
    leave_out_frames,
    lie_about_length,
    lie_about_type,
    splice_foreign_frames,
    alter_inside_a_frame,
    alter_structure,
    strip_bodies,
    cut_ranges,
    replay,
]
FORGED: list[Callable[[World, random.Random], bytes]] = [
    sign_the_victims_feed,
    sign_statements_without_the_right,
    bend_a_fork_proof,
]


# What a hostile member can do in its own name


def hostile_feed(world: World, rng: random.Random, signer: Identity) -> bytes:
    """Ranges of the attacker's own feed, wrong in some way and signed all the same."""
    feed = Feed(signer.public, rng.choice((1, 2, 2**64 - 1, rng.randrange(1, 2**64))))
    first, prev = 1, first_prev(CLAN.mesh, feed)
    hlc = clock.pack(NOW_MS)
    frames = []
    for _ in range(rng.randint(1, 3)):
        wrong = rng.choice(("nothing", "nothing", "nothing", "clock", "number", "prev", "field"))
        links = []
        for _ in range(rng.randint(1, 4)):
            stamps = (hlc, hlc - 1, 1, 0, 2**63 - 1, clock.pack(NOW_MS + 10**9)) if wrong == "clock" else (hlc + 1,)
            hlc = rng.choice(stamps)
            body = rng.randbytes(16) + hostile_body(rng)
            links.append(Link(max(hlc, 0), rng.choice((1, 2, 3, 4, 5, rng.randrange(256))), body, digest(body)))
        number = rng.choice((1, 2, first + 1, 2**40)) if wrong == "number" else first
        before = rng.choice((rng.randbytes(32), first_prev(OTHER.mesh, feed))) if wrong == "prev" else prev
        item = sign_range(CLAN.mesh, signer, feed, number, before, links)
        frames.append((bundles.RANGE, resigned(item, signer, rng) if wrong == "field" else encode_range(item)))
        first, prev = item.last + 1, item.head
    return bundled([world.header, *frames])


def resigned(item: Range, signer: Identity, rng: random.Random) -> bytes:
    """Change a field of an encoded range, and sign whatever point it then claims, as far as it claims one."""
    fields = unpack(encode_range(item))
    index = rng.choice((0, 1, 2, 4, 4, 4))
    if index == 1:
        fields[1] = rng.choice((0, -1, 2**40, 2**40 + 1, 2**64 - 1, None, True, 1.5))
    elif index == 4:
        fields[4] = altered(fields[4], rng)
    else:
        fields[index] = altered(fields[index], rng)
    if type(fields[1]) is int and 0 <= fields[1] < 2**63:
        fields[3] = signer.sign(point_message(CLAN.mesh, item.feed, fields[1] + len(item.links) - 1, item.head))
    return pack(fields)


def hostile_body(rng: random.Random) -> bytes:
    """Bodies of every sort that a fold has to survive. They name no record or key of anyone honest."""
    at = clock.pack(NOW_MS)
    choice = rng.randrange(12)
    if choice == 0:
        return b"\x91" * rng.choice((9, 500, 2000, OPERATION_BYTES - 16))
    if choice == 1:
        return pack([at, "log", {"k": "x" * rng.choice((0, 10, OPERATION_BYTES - 100, OPERATION_BYTES))}])
    if choice == 2:
        return b"\xdd\xff\xff\xff\xff"
    if choice == 3:
        return pack([at, rng.choice(("log", "", "A", "x" * 65, "a\x00")), {"a": "\x00\ud7ff\U0010ffff" * 5}])
    if choice == 4:
        return pack([[rng.randbytes(32)] * rng.choice((0, 1, 1024, 1025)), "reason"])
    if choice == 5:
        return pack([rng.choice((at, 1, 2**63 - 1)), rng.choice(("evil", rng.randbytes(32))), "f", altered([1], rng)])
    if choice == 6:
        return pack([rng.choice(("evil", "", "evil\x00")), rng.choice((1, 0, 2**53, 2**53 + 1, 2**64 - 1))])
    if choice == 7:
        return pack(["evil", 5, rng.choice((bytes(32), None, b""))])
    if choice == 8:
        return pack([rng.randbytes(32), rng.randbytes(50)])
    if choice == 9:
        return rng.randbytes(rng.randint(0, 60))
    if choice == 10:
        return b"\x93\xcf" + at.to_bytes(8, "big") + b"\xa3log\x82\xa1a\x01\xa1a\xa1b"  # a key twice
    return pack([at, "log", {"k": altered({"a": [1, "b"]}, rng)}])


def altered(value: Any, rng: random.Random) -> Any:
    """The same structure with something in it changed."""
    if isinstance(value, list) and value and rng.random() < 0.8:
        index = rng.randrange(len(value))
        choice = rng.random()
        if choice < 0.1:
            return value[:index] + value[index + 1 :]
        if choice < 0.2:
            return [*value[:index], value[index], *value[index:]]
        return [*value[:index], altered(value[index], rng), *value[index + 1 :]]
    if isinstance(value, bytes) and rng.random() < 0.6:
        return rng.choice((value[:-1], value + b"\x00", rng.randbytes(len(value)), bytes(len(value)), b""))
    if isinstance(value, int) and rng.random() < 0.6:
        return rng.choice(
            (min(value + 1, 2**64 - 1), max(value - 1, 0), -min(value, 2**63), 0, 2**40, 2**63, 2**64 - 1)
        )
    deep: Any = None
    for _ in range(rng.choice((1, 9, 300))):
        deep = [deep]
    return rng.choice((None, True, 1.5, float("nan"), "text", b"bytes", [], {}, {"a": 1}, {b"a": 1}, deep, 2**64 - 1))


# The checks


@contextmanager
def worlds() -> Iterator[World]:
    folder = tempfile.mkdtemp()
    try:
        with ExitStack() as stack:
            yield World(Path(folder), stack)
    finally:
        shutil.rmtree(folder)


def numbers(count: int) -> Iterator[int]:
    """The numbers of the mutations: other ones each day of a soak, the same ones in a normal run."""
    start = time.time_ns() if count > 10_000 else 0
    yield from REPEAT or range(start, start + count)


def anytime_unchanged(victim: Victim, data: bytes) -> None:
    """The victim has everything that the honest wrote: nothing anybody else sends in their name changes a thing."""
    report = victim.attack(data)
    assert victim.state() == victim.honest
    assert "" not in report.reasons
    assert report.reasons or report.known or report.complete, "something is said about every bundle"
    if victim.waits() != victim.waiting:  # authentic, and kept aside; see the tests of the quarantine for its bounds
        victim.put_back()


def anytime_prefix(world: World) -> None:
    """A victim that had nothing holds a beginning of what the honest wrote, or nothing, and no feed of anyone else."""
    honest = {chain.feed: chain for chain in world.chains}
    for feed, head in world.empty.heads().items():
        assert feed in honest
        assert head == Head(head.seq, honest[feed].hash_at(head.seq))


def eventually_honest(world: World) -> None:
    """Whatever came before, the honest bundle brings the honest state: nothing sent earlier stands in its way."""
    victim = world.empty
    report = victim.attack(world.data)
    assert report.complete
    assert victim.heads() == world.heads
    assert views(victim.store) == world.full.views
    assert victim.store.root() == world.full.store.root()


def eventually_whole(world: World) -> None:
    """What waited behind a gap counts when the gap closes, also if a stripped copy of it had come first."""
    gap = world.chains[-1]
    world.empty.store.merge(gap.encoded(1, 2))
    assert world.empty.heads()[gap.feed] == Head(4, gap.head)


def run_relayed(count: int) -> None:
    with worlds() as world:
        for number in numbers(count):
            rng = random.Random(number)
            mutate = rng.choice([*RELAYED, *FORGED])
            said = f"mutation {number}: {mutate.__name__}"
            data = mutate(world, rng)
            try:
                anytime_unchanged(world.full, data)
                if number % 10 == 0:
                    world.empty.put_back()
                    world.empty.attack(data)
                    anytime_prefix(world)
                    eventually_honest(world)
                if number % 100 == 0:
                    assert verify_store(world.full.store).problems == []
                    assert verify_store(world.empty.store).problems == []
                    assert views(world.full.store) == world.full.views
            except BaseException as error:
                error.add_note(said)
                raise


def run_hostile_member(count: int) -> None:
    with worlds() as world:
        victim = world.full
        for number in numbers(count):
            rng = random.Random(number)
            signer = rng.choice((EVE, EVE, MALLORY))
            try:
                report = victim.attack(hostile_feed(world, rng, signer))
                assert report.reasons or report.operations or report.known
                heads = victim.heads()
                assert {feed: heads[feed] for feed in world.heads} == world.heads
                assert {feed.node for feed in heads} <= {feed.node for feed in world.heads} | {EVE.public}
                if number % 25 == 0:
                    assert verify_store(victim.store).problems == []
                    assert honest_part(victim) == victim.views
                    export_bundle(victim.store, io.BytesIO())
                    victim.put_back()
            except BaseException as error:
                error.add_note(f"mutation {number}: hostile_feed")
                raise


def honest_part(victim: Victim) -> dict[str, object]:
    """The views without what the attacker put there in its own name."""
    now: dict[str, Any] = views(victim.store)
    was: dict[str, Any] = victim.views
    assert all(tag in was["removed"] or tag not in was["elements"] for tag in now["removed"])
    return {
        name: {key: now[name][key] for key in was[name] if key in now[name]} for name in was if name != "removed"
    } | {"removed": now["removed"] & was["removed"]}


def test_a_bundle_altered_by_a_relay_changes_nothing_honest() -> None:
    """Bits, bytes, frames, structure, order, other meshes, other signers: nothing, and afterwards nothing is in the way."""
    run_relayed(2000)


def test_a_hostile_member_writes_in_its_own_feed_and_nowhere_else() -> None:
    """Clocks, numbers, hashes, kinds and bodies of every wrong sort, properly signed."""
    run_hostile_member(1500)


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_a_hundred_thousand_altered_bundles_change_nothing_honest() -> None:
    """The same, for longer, with other numbers each time."""
    run_relayed(100_000)


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_tens_of_thousands_of_hostile_feeds_stay_in_their_own_feeds() -> None:
    """The same, for longer, with other numbers each time."""
    run_hostile_member(40_000)


@pytest.mark.parametrize("mutate", [*RELAYED, *FORGED], ids=lambda mutate: mutate.__name__)
def test_every_sort_of_mutation_is_tried(mutate: Callable[[World, random.Random], bytes]) -> None:
    """Each by itself, so that a failure names its sort, against a node that has everything and one that has nothing."""
    with worlds() as world:
        for number in range(10):
            data = mutate(world, random.Random(number))
            try:
                anytime_unchanged(world.full, data)
                world.empty.put_back()
                world.empty.attack(data)
                anytime_prefix(world)
                eventually_honest(world)
                eventually_whole(world)
            except BaseException as error:
                error.add_note(f"{mutate.__name__} {number}")
                raise


def test_a_bundle_of_countless_empty_frames_is_refused_in_time_that_grows_with_its_size() -> None:
    """A small file must not keep a node busy for minutes."""
    with worlds() as world:
        for kind in (bundles.STATEMENT, bundles.RANGE):
            data = bundles.MAGIC + bundles.frame(*world.header) + bundles.frame(kind, b"") * 30_000
            before = time.process_time()
            report = world.full.attack(data)
            assert report.refused == 30_000
            assert time.process_time() - before < 5
            assert world.full.state() == world.full.honest


def test_the_honest_bundle_has_everything_worth_altering() -> None:
    """Erased bodies, a node that waits, a gap, a fork, several epochs: else the mutations would prove little."""
    with worlds() as world:
        store = world.full.store
        assert len(world.heads) == 4
        assert store.trust().forks
        assert [row.feed.node for row in store.feeds.all() if row.held.seq and not row.accepted.seq] == [DAN.public]
        assert len(list(store.quarantine.everything())) == 2
        assert store.database.run("SELECT count(*) FROM ops WHERE body IS NULL").get == 2
        assert len(world.statements) == 7
        eventually_honest(world)
