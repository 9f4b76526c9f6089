"""One bad member costs only its share: real stores and engines, and a member that says what it likes on the wire.

Honest nodes agree while it goes on and afterwards, nothing counts that should not, nobody else is blamed, and what is kept is
counted in rows and bytes. Short here; `make soak` has the sizes that once made nodes shun each other.
"""

import random
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from mesh.core.clock import pack
from mesh.core.feed import encode_range
from mesh.core.ids import Feed
from mesh.core.limits import FEEDS, QUOTA_MOST, THROW_AWAY_BYTES
from mesh.core.member_limits import usual_quota
from mesh.core.moderation import GUARDED, MODERATION, SETTINGS
from mesh.core.operation import Add, Set
from mesh.core.statement import EPHEMERAL, MEMBER, READER, READERS, fork_between
from mesh.core.version_vector import Head
from mesh.store.feeds import SHARE_WEIGHT
from mesh.store.quarantine import ASIDE_BYTES, AUTHOR_BYTES, KEEPING_BYTES, UNBEGUN
from mesh.store.verification import verify_store
from peers.proto.message_codec import encode
from peers.proto.messages import FEEDS as FEED_SET
from peers.proto.messages import STATEMENTS, FeedEntry, Give, Have, Push
from tests.peers import hostile_knowledge as knowledge
from tests.peers.store_nodes import CLAN, Intruder, Network, StoreNode, mesh_with_intruder
from tests.worlds import NOW_MS, Chain

Waves = Iterator[list[bytes]]  # frames, some at a time


def nothing_else(_: StoreNode, __: Intruder) -> None:
    """Of what counts for everyone."""


class Attack(NamedTuple):
    """What a bad member does, how often in the short test and in the long one, and as whom.

    `prepare`: what honest nodes write before it. `check`: what then holds at each of them, whatever it says.
    """

    make: Callable[[Intruder, int], Waves]
    short: int
    long: int
    role: str = MEMBER
    prepare: Callable[[Network], None] = lambda _: None
    check: Callable[[StoreNode, Intruder], None] = nothing_else


def first_of(intruder: Intruder, epoch: int, stamp: int, text: str = "one feed more") -> Chain:
    chain = Chain(CLAN, intruder.identity, epoch)
    chain.add(Add(stamp, "notes", {"text": text}), stamp)
    return chain


def pushes(ranges: list[bytes]) -> list[bytes]:
    """As many in a frame as may be."""
    frames: list[bytes] = []
    part: list[bytes] = []
    for data in ranges:
        if sum(len(item) for item in part) + len(data) > 4000:
            frames.append(encode(Push(part)))
            part = []
        part.append(data)
    return [*frames, encode(Push(part))]


def many_feeds(intruder: Intruder, count: int) -> Waves:
    """Each begins earlier than all before, so that each pushes another out."""
    for start in range(0, count, 50):
        numbers = range(start, min(start + 50, count))
        yield pushes([first_of(intruder, 1 + n, pack(NOW_MS - 1 - n)).encoded() for n in numbers])


def junk_erases(intruder: Intruder, count: int) -> Waves:
    """Of operations that never were."""
    rng = random.Random(1)
    for _ in range(0, count, 50):
        some = [CLAN.erase(intruder.identity, rng.randbytes(32), at=NOW_MS).encode() for _ in range(50)]
        yield [encode(Give(STATEMENTS, some))]


def many_erases_of_one(intruder: Intruder, count: int) -> Waves:
    """Of one operation of its own; each says that it came before all others."""
    bait = first_of(intruder, 1, pack(NOW_MS))
    yield [encode(Push([bait.encoded()]))]
    for start in range(0, count, 50):
        some = [CLAN.erase(intruder.identity, bait.tag_at(1), at=NOW_MS - n).encode() for n in range(start, start + 50)]
        yield [encode(Give(STATEMENTS, some))]


def many_bytes(intruder: Intruder, count: int) -> Waves:
    """So many megabytes in one feed, announced as if all of it counted, and given to whoever asks."""
    chain, made = Chain(CLAN, intruder.identity, 1), list[bytes]()
    for number in range(count * 2**20 // 60_000):
        chain.add(Add(1, "notes", {"text": f"{number} " + "x" * 60_000}), pack(NOW_MS) + number)
        made.append(zlib.compress(chain.encoded(number + 1)))
        chain.links[number] = chain.links[number]._replace(body=None)  # what was signed need not be kept in memory

    def behind(after: int, room: int) -> list[bytes]:
        return [zlib.decompress(data) for data in made[after : after + max(1, room // 61_000)]]

    intruder.served[chain.feed] = behind
    head = Head(len(made), chain.head)
    for _ in range(max(20, count)):
        yield [encode(Have(FEED_SET, b"", answer=False, entries=[FeedEntry(chain.feed, head, head)]))]


def many_forks(intruder: Intruder, count: int) -> Waves:
    """Two histories of each of so many feeds: the proof, and what it is about."""
    for n in range(count):
        one, other = (first_of(intruder, 1 + n, pack(NOW_MS - n), text).range() for text in ("one story", "another"))
        yield [encode(Push([encode_range(one)])), encode(Give(STATEMENTS, [fork_between(one, other, 1).encode()]))]


def phantom_feeds(intruder: Intruder, count: int) -> Waves:
    """Claims about feeds that nobody has, of everyone."""
    rng = random.Random(1)
    authors = [CLAN.node(index).public for index in range(4)]
    for _ in range(0, count, 500):
        entries = []
        for _ in range(500):
            head = Head(rng.randint(1, 1000), rng.randbytes(32))
            entries.append(FeedEntry(Feed(rng.choice(authors), 1 + rng.getrandbits(60)), head, head))
        yield [encode(Have(FEED_SET, b"", answer=False, entries=entries))]


def late_starts(intruder: Intruder, count: int) -> Waves:
    """Feeds of which it shows, and gives to whoever asks, all but the beginning."""
    for n in range(count):
        chain = first_of(intruder, 1 + n, pack(NOW_MS) - 1)
        chain.add(Add(1, "notes", {"text": "too late"}), pack(NOW_MS))
        data, head = chain.encoded(2), Head(2, chain.head)
        intruder.served[chain.feed] = lambda _after, _room, data=data: [data, data]  # type: ignore[misc]
        claim = Have(FEED_SET, b"", answer=False, entries=[FeedEntry(chain.feed, head, head)])
        yield [encode(Push([data])), encode(claim)]


def reader_writes(intruder: Intruder, count: int) -> Waves:
    """Operations of a node that may only read: given, and announced as if they counted."""
    for n in range(count):
        chain = first_of(intruder, 1 + n, pack(NOW_MS - 1 - n), "what a reader says")
        head = Head(1, chain.head)
        claim = Have(FEED_SET, b"", answer=False, entries=[FeedEntry(chain.feed, head, head)])
        yield [encode(Push([chain.encoded()])), encode(claim)]


def own_quota(intruder: Intruder, count: int) -> Waves:
    """A quota that it signs for itself, over and over, and so many megabytes that need one."""
    own = CLAN.quota(intruder.identity, QUOTA_MOST, intruder.identity).encode()
    for wave in many_bytes(intruder, count):
        yield [encode(Give(STATEMENTS, [own])), *wave]


def own_settings(intruder: Intruder, count: int) -> Waves:
    """Settings of the whole mesh by a member that is no admin, each later than those before; and it names itself an admin."""
    chain, own = Chain(CLAN, intruder.identity, 1), intruder.identity
    victim = intruder.network.nodes[1].identity
    rights = [CLAN.admin(own, own), CLAN.member(CLAN.node(99), "a friend", signer=own), CLAN.revoke(victim, signer=own)]
    said: dict[str, object] = {
        MODERATION: GUARDED,
        "hot_at": 2,
        "hot_nodes": 1,
        "recall_weight": 0,
        "category:evil": True,
    }
    for n in range(count):
        field, value = [*said.items()][n % len(said)]
        stamp = pack(intruder.network.clock()) + n
        chain.add(Set(stamp, SETTINGS, field, value), stamp)
        yield [encode(Give(STATEMENTS, [item.encode() for item in rights])), encode(Push([chain.encoded(n + 1)]))]


ATTACKS = {
    "many feeds": Attack(many_feeds, 300, 66_500),
    "junk erases": Attack(junk_erases, 3_000, 19_000),
    "many erases of one": Attack(many_erases_of_one, 1_000, 19_000),
    "many bytes": Attack(many_bytes, 14, 200, EPHEMERAL),
    "many forks": Attack(many_forks, 100, 5_000),
    "phantom feeds": Attack(phantom_feeds, 20_000, 500_000),
    "late starts": Attack(late_starts, 300, 10_000),
    "reader writes": Attack(reader_writes, 300, 5_000, READER),
    "own quota": Attack(own_quota, 14, 200, EPHEMERAL),
    "own settings": Attack(
        own_settings, 100, 5_000, MEMBER, knowledge.set_settings, knowledge.assert_settings_are_the_admins
    ),
    "invented sessions": Attack(
        knowledge.invented_sessions, 200, 5_000, MEMBER, knowledge.write_hot_rule, knowledge.assert_rule_is_theirs
    ),
    "changed words": Attack(
        knowledge.changed_words, 200, 5_000, MEMBER, knowledge.write_hot_rule, knowledge.assert_rule_is_theirs
    ),
    "full warm": Attack(
        knowledge.full_warm, 300, 5_000, MEMBER, knowledge.write_discoveries, knowledge.assert_warm_is_shared
    ),
    "unwanted changes": Attack(
        knowledge.unwanted_changes, 200, 5_000, MEMBER, knowledge.guard, knowledge.assert_records_are_theirs
    ),
}


def assert_within_share(node: StoreNode, author: bytes) -> None:
    """The bounds of ADR 0058, counted in the database of one honest node."""
    of = "FROM feeds WHERE node=?"
    ops = "FROM ops JOIN feeds USING(feed) WHERE node=?"
    assert node.count(f"SELECT count(*) {of} AND feeds.seq>0", author) <= FEEDS
    assert node.count(f"SELECT count(*) {of} AND held_seq>0", author) <= 2 * FEEDS + 1  # those that were forked beside
    assert node.count(f"SELECT count(*) {of} AND held_seq=0", author) <= UNBEGUN
    trust = node.store.trust()
    counted = node.count(f"SELECT sum({SHARE_WEIGHT}) {ops} AND ops.seq<=feeds.seq", author)
    assert counted <= trust.allowance(author, node.store.clock())
    assert trust.quota(author) == usual_quota(is_throw_away=trust.is_throw_away(author))
    assert counted == 0 or trust.role(author) not in READERS
    assert node.count("SELECT count(*) FROM registers WHERE target=?", SETTINGS) == node.network.settings
    assert node.count(f"SELECT sum(length(body)) {ops} AND ops.seq>feeds.seq", author) <= AUTHOR_BYTES
    assert node.store.quarantine.bytes_of(author) <= AUTHOR_BYTES
    held = "FROM held_statements WHERE signer=?"
    assert node.count(f"SELECT count(*) {held}", author) <= ASIDE_BYTES // KEEPING_BYTES
    assert node.count("SELECT count(*) FROM strays JOIN feeds USING(feed) WHERE node=?", author) <= UNBEGUN + 2 * FEEDS
    assert sum(feed.node == author for feed in trust.forks) <= FEEDS + 1
    own = node.count(f"SELECT count(*) {ops} AND ops.seq<=feeds.seq", author)
    others = 5  # the certificates, and in the end a revocation
    erases = node.count("SELECT count(*) FROM statements WHERE is_erase")
    assert erases <= own
    assert node.count("SELECT count(*) FROM statements") <= others + erases + FEEDS + 1


def arrived(node: StoreNode, author: bytes) -> dict[str, int]:
    """By attack, what it has brought to the node that is attacked: so that no test passes because nothing came."""
    feeds = "FROM feeds WHERE node=?"
    counted = node.count(f"SELECT sum(seq) {feeds}", author)
    return {
        "many feeds": node.count(f"SELECT count(*) {feeds} AND seq>0", author) // FEEDS,
        "junk erases": node.count("SELECT count(*) FROM held_statements WHERE signer=?", author) // 100,
        "many erases of one": len(node.store.statements.erases()),
        "many bytes": node.count(f"SELECT sum(weight) {feeds}", author) // (THROW_AWAY_BYTES - 70_000),
        "many forks": len(node.store.trust().forks) // (FEEDS + 1),
        "phantom feeds": 0 if node.engine is None else 1,  # nothing of it is kept
        "late starts": node.count(f"SELECT count(*) {feeds} AND held_seq=0", author),
        "reader writes": node.count(f"SELECT count(*) {feeds} AND held_seq>0", author),
        "own quota": node.count(f"SELECT sum(weight) {feeds}", author) // (THROW_AWAY_BYTES - 70_000),
        "own settings": node.count("SELECT count(*) FROM said WHERE target=? AND node=?", SETTINGS, author),
        "invented sessions": counted // 200,
        "changed words": counted // 200,
        "full warm": counted // 300,
        "unwanted changes": counted // 200,
    }


def assert_nobody_else_is_blamed(network: Network) -> None:
    """No honest node has closed its link with another, or shunned it."""
    honest = {node.public for node in network.nodes}
    assert [item for item in network.closed if item[1] in honest] == []
    for node in network.nodes:
        assert node.shunned().isdisjoint(honest)


def attack_and_write(
    network: Network, intruder: Intruder, waves: Waves, check: Callable[[StoreNode, Intruder], None] = nothing_else
) -> set[str]:
    """Everyone writes while it goes on; each write reaches the others before it is over."""
    written: set[str] = set()
    pending: list[str] = []
    for number, frames in enumerate(waves):
        intruder.say(*frames)
        network.run(0.1)
        if number % 20 == 0 or number in (1, 2):
            text = f"in spite of wave {number}"
            network.nodes[number % len(network.nodes)].write(text)
            pending.append(text)
        if number % 20 == 19:  # some two seconds later, and the attack has not paused
            for node in network.nodes:
                assert set(pending) <= node.texts()
                assert_within_share(node, intruder.public)
                check(node, intruder)
            written |= set(pending)
            pending = []
    return written | set(pending)


def revoke(network: Network, intruder: Intruder) -> None:
    """It ends everywhere, and to end it takes work for each feed that is kept, not for each that ever was."""
    admin = network.nodes[1]
    statement = network.revocation(intruder.public, admin)
    executed = [0]

    def trace(*_: object) -> bool:
        executed[0] += 1
        return True

    connection = admin.store.database.connection
    connection.exec_trace, rows = trace, connection.total_changes()
    admin.learn(statement)
    connection.exec_trace, rows = None, connection.total_changes() - rows
    feeds = len(admin.store.feeds.all())
    assert rows <= 20 * feeds + 100
    assert executed[0] <= 40 * feeds + 200
    assert network.run_until(network.agree, 300.0)
    ends = {row.feed: row.accepted for row in admin.store.feeds.of_node(intruder.public)}
    for node in network.nodes:
        assert intruder.public in node.store.trust().revoked
        assert {row.feed: row.accepted for row in node.store.feeds.of_node(intruder.public) if row.accepted.seq} == {
            feed: head for feed, head in ends.items() if head.seq
        }
    assert not intruder.is_linked


def survive(folder: Path, name: str, amount: int) -> None:
    attack = ATTACKS[name]
    with mesh_with_intruder(folder, role=attack.role) as (network, intruder):
        attack.prepare(network)
        assert network.run_until(network.agree)
        written = attack_and_write(network, intruder, attack.make(intruder, amount), attack.check)
        assert network.run_until(network.agree, 300.0)  # what came too fast is asked for again, a minute later
        assert arrived(network.nodes[0], intruder.public)[name] >= 1
        assert_nobody_else_is_blamed(network)
        for node in network.nodes:
            attack.check(node, intruder)
        revoke(network, intruder)
        network.nodes[2].write("after all")
        assert network.run_until(lambda: all("after all" in node.texts() for node in network.nodes))
        for node in network.nodes:
            assert written <= node.texts()
            assert_within_share(node, intruder.public)
            attack.check(node, intruder)
            assert verify_store(node.store).problems == []
        assert network.agree()
        assert_nobody_else_is_blamed(network)


@pytest.mark.parametrize("name", ATTACKS)
def test_one_bad_member_costs_only_its_share(tmp_path: Path, name: str) -> None:
    """Counted on every honest node, during it and in the end; then it is revoked, at a cost that is counted too."""
    survive(tmp_path, name, ATTACKS[name].short)


def test_who_tells_each_node_of_other_feeds_can_be_revoked_while_it_does(tmp_path: Path) -> None:
    """What is on its way, and what was left out for coming too fast, does not matter: all agree on what counts."""
    with mesh_with_intruder(tmp_path) as (network, intruder):
        first, _, last = network.nodes
        intruder.dial(last)
        network.run(1.0)
        for number, frames in enumerate(many_feeds(intruder, 800)):
            intruder.say(*frames, to=(first, last)[number % 2])
            network.run(0.05)
        intruder.say(*[frame for wave in many_feeds(intruder, 100) for frame in wave], to=first)
        revoke(network, intruder)
        for node in network.nodes:
            assert_within_share(node, intruder.public)
            assert verify_store(node.store).problems == []
        assert_nobody_else_is_blamed(network)


@pytest.mark.soak
@pytest.mark.parametrize("name", ATTACKS)
def test_one_bad_member_costs_only_its_share_however_long_it_goes_on(tmp_path: Path, name: str) -> None:
    """As much as once took an hour, or gigabytes."""
    survive(tmp_path, name, ATTACKS[name].long)
