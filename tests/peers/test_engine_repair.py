"""The repair path: names first, then what differs; statements before feeds; little where little differs; seldom where nothing helps."""

from itertools import pairwise

from mesh.core.ids import Feed, digest
from mesh.core.version_vector import BUCKETS, Head, bucket_of
from peers.proto.cards import CONTACT
from peers.proto.engine_events import Flushed, LinkUp
from peers.proto.gossip_config import WHOLE_ENTRIES, Config
from peers.proto.messages import (
    CARDS,
    FEEDS,
    STATEMENTS,
    CardEntry,
    Compare,
    FeedEntry,
    Fetch,
    Give,
    Have,
    Message,
    Ping,
    Pong,
    Pull,
    Push,
)
from tests.peers.engines import CLAN, MEMBERS, Desk, Library, Wires, chain_of, contact_of, node
from tests.worlds import NOW_MS

CONFIG = Config()
OTHER = digest(b"another state")


def pinging(*, feeds: int = 0, members: int = 8) -> Desk:
    """A desk with one link that it dialled, so that it pings."""
    desk = Desk(members=members)
    desk.hold(*(chain_of(1 + index % 7, 1, 1 + index) for index in range(feeds)))
    desk.link(1, 1, dialed=True)
    return desk


def pong(desk: Desk, *, root: bytes | None = None, statements: bytes | None = None, cards: bytes | None = None) -> None:
    """Answer the last ping; what is not given is as the desk has it."""
    ping = desk.sent(1, Ping)[-1]
    desk.forget()
    names = root or ping.root, statements or ping.statements, cards or ping.cards
    desk.receive(1, Pong(ping.nonce, *names, NOW_MS))


def kinds(desk: Desk) -> list[tuple[str, int]]:
    """The comparisons that were begun: the message and the set it is about."""
    return [(type(item).__name__, item.kind) for item in sent(desk) if isinstance(item, Have | Compare)]


def sent(desk: Desk) -> list[Message]:
    return [*desk.sent(1, Have), *desk.sent(1, Compare), *desk.sent(1, Fetch), *desk.sent(1, Pull)]


def test_equal_names_end_the_conversation() -> None:
    """Nothing is sent, and the neighbour is in step."""
    desk = pinging(feeds=3)
    pong(desk)
    assert not sent(desk)
    assert [peer.in_step for peer in desk.engine.peers() if peer.linked] == [True]
    assert [(peer.they_lack, peer.we_lack) for peer in desk.engine.peers() if peer.linked] == [(0, 0)]


def test_statements_are_compared_before_feeds() -> None:
    """They decide what counts: feeds are looked at once the statements agree."""
    desk = pinging(feeds=3)
    pong(desk, root=OTHER, statements=bytes(8))
    assert kinds(desk) == [("Have", STATEMENTS)]
    desk.wait(CONFIG.behind_seconds * 2)
    pong(desk, root=OTHER)
    assert kinds(desk) == [("Have", FEEDS)]


def test_cards_are_compared_beside_the_rest() -> None:
    """They are outside the root, so they hold nothing up."""
    desk = pinging(feeds=3)
    pong(desk, cards=bytes(8))
    assert kinds(desk) == [("Have", CARDS)]


def test_a_small_set_is_told_whole_and_asks_for_the_same() -> None:
    """Entry by entry, for all buckets."""
    desk = pinging(feeds=WHOLE_ENTRIES)
    pong(desk, root=OTHER)
    (have,) = desk.sent(1, Have)
    assert (have.kind, have.covers, have.answer) == (FEEDS, None, True)
    assert len(have.entries) == WHOLE_ENTRIES
    assert not desk.sent(1, Pull)


def test_a_large_set_is_compared_by_buckets() -> None:
    """2 KB of digests; the answer covers what differs and nothing else."""
    desk = pinging(feeds=WHOLE_ENTRIES + 1)
    pong(desk, root=OTHER)
    (compare,) = desk.sent(1, Compare)
    assert compare.kind == FEEDS
    assert not desk.sent(1, Have)
    other = pinging(feeds=WHOLE_ENTRIES - 1)
    other.forget()
    other.receive(1, compare)
    (have,) = other.sent(1, Have)
    lacking = [chain_of(1 + index % 7, 1, 1 + index).feed for index in (WHOLE_ENTRIES - 1, WHOLE_ENTRIES)]
    assert have.covers == bytes(sorted(set(map(bucket_of, lacking))))
    assert have.answer
    assert {bucket_of(entry.feed) for entry in have.entries if isinstance(entry, FeedEntry)} <= set(have.covers)


def test_buckets_that_agree_are_answered_with_nothing() -> None:
    """An honest neighbour is told that it lacks nothing here."""
    desk = pinging(feeds=40)
    other = pinging(feeds=40)
    pong(desk, root=OTHER)
    other.forget()
    other.receive(1, *desk.sent(1, Compare))
    (have,) = other.sent(1, Have)
    assert (have.covers, have.entries) == (b"", [])


def test_whoever_is_asked_answers_for_the_same_buckets() -> None:
    """And does not ask back, or it would never end."""
    desk = pinging(feeds=3)
    desk.forget()
    desk.receive(1, Have(FEEDS, None, answer=True, entries=[]))
    (have,) = desk.sent(1, Have)
    assert (have.covers, have.answer, len(have.entries)) == (None, False, 3)
    desk.forget()
    desk.receive(1, Have(FEEDS, b"\x00\x01", answer=True, entries=[]))
    assert [item.covers for item in desk.sent(1, Have)] == [b"\x00\x01"]
    desk.forget()
    desk.receive(1, Have(FEEDS, None, answer=False, entries=[]))
    assert not sent(desk)


def test_the_same_difference_is_looked_at_ever_more_seldom() -> None:
    """Two roots that neither side can mend, as with a clock that is ahead: at last every fifteen seconds."""
    desk = pinging(feeds=3)
    times = []
    for _ in range(1000):
        desk.wait(0.5)
        if desk.sent(1, Ping):
            pong(desk, root=OTHER)
            if kinds(desk):
                times.append(desk.now)
        if desk.now > 300:
            break
    gaps = [later - earlier for earlier, later in pairwise(times)]
    assert gaps[0] < 5
    assert all(gap >= CONFIG.settled_seconds for gap in gaps[-5:])
    assert len(times) < 30


def test_a_new_difference_is_looked_at_at_once() -> None:
    """Backing off is about one pair of names only."""
    desk = pinging(feeds=3)
    for _ in range(20):
        desk.wait(10)
        if desk.sent(1, Ping):
            pong(desk, root=OTHER)
    desk.wait(10)
    pong(desk, root=digest(b"yet another"))
    assert kinds(desk) == [("Have", FEEDS)]


def test_unknown_statements_are_fetched_and_known_ones_are_not() -> None:
    """By their ids."""
    desk = pinging()
    known = CLAN.member(CLAN.node(1), "node1")
    unknown = CLAN.member(CLAN.node(20), "node20")
    desk.receive(1, Have(STATEMENTS, None, answer=False, entries=[known.id, unknown.id]))
    (fetch,) = desk.sent(1, Fetch)
    assert (fetch.kind, list(fetch.keys)) == (STATEMENTS, [unknown.id])
    desk.receive(1, Give(STATEMENTS, [unknown.encode()]))
    assert desk.engine.allows(node(20))


def test_fetched_statements_and_cards_are_given() -> None:
    """Those that are there; what is not is passed over."""
    desk = pinging()
    desk.forget()
    known = CLAN.member(CLAN.node(1), "node1")
    desk.receive(1, Fetch(STATEMENTS, [known.id, bytes(32)]))
    desk.receive(1, Fetch(CARDS, [bytes([CONTACT]) + node(1), bytes([CONTACT]) + node(9)]))
    assert [(given.kind, list(given.items)) for given in desk.sent(1, Give)] == [
        (STATEMENTS, [known.encode()]),
        (CARDS, [contact_of(1).data]),
    ]


def test_newer_cards_are_fetched_and_older_ones_are_not() -> None:
    """Of the same kind and subject the time decides; two of one time are both looked at."""
    desk = Desk(cards=[contact_of(index, 50) for index in (4, 5, 6, 7)])
    desk.link(1, 1)
    theirs = [contact_of(5, 49), contact_of(6, 50), contact_of(7, 51), contact_of(8, 1), contact_of(4, 50, ["tie:1"])]
    entries = [CardEntry(CONTACT, card.subject, card.at, digest(card.data)[:8]) for card in theirs]
    desk.forget()
    desk.receive(1, Have(CARDS, None, answer=False, entries=entries))
    (fetch,) = desk.sent(1, Fetch)
    assert set(fetch.keys) == {bytes([CONTACT]) + node(index) for index in (4, 7, 8)}


def test_a_node_is_told_what_we_hold_of_its_own_feeds() -> None:
    """One that comes back from a backup gets its history back."""
    desk = Desk()
    mine, other = chain_of(1, 3), chain_of(2, 3)
    desk.hold(mine, other)
    desk.link(1, 1)
    (have,) = desk.sent(1, Have)
    assert [entry.feed for entry in have.entries if isinstance(entry, FeedEntry)] == [mine.feed]
    assert (have.covers, have.answer) == (b"", False)


def test_a_neighbour_says_how_much_of_our_own_it_holds_back() -> None:
    """It has all four of our operations and counts one; once it counts as much as we do, it holds back nothing."""
    desk = Desk()
    chain = chain_of(0, 4)
    desk.hold(chain)
    desk.link(1, 1)
    for counted, held_back in ((1, 3), (4, 0)):
        entry = FeedEntry(chain.feed, Head(counted, chain.hash_at(counted)), Head(4, chain.hash_at(4)))
        desk.receive(1, Have(FEEDS, b"", answer=False, entries=[entry]))
        (peer,) = [item for item in desk.engine.peers() if item.linked]
        assert peer.holds_back == held_back


def test_an_author_is_told_that_its_new_operations_wait_here() -> None:
    """They are ahead of our clock, and count nowhere yet: nothing else would tell it."""
    desk = Desk()
    desk.link(1, 1)
    ahead = chain_of(1, 1, ahead_ms=7_200_000)
    desk.receive(1, Push([ahead.encoded()]))
    desk.forget()
    desk.wait(2.0)
    told = [entry for have in desk.sent(1, Have) for entry in have.entries if isinstance(entry, FeedEntry)]
    assert [(entry.feed, entry.accepted.seq, entry.held.seq) for entry in told] == [(ahead.feed, 0, 1)]


def test_what_we_hold_of_our_own_is_taken_back() -> None:
    """Our disk has less of our own feed than a neighbour: the rest is pulled."""
    chain = chain_of(0, 5)
    library = Library(chain)
    desk = Desk()
    desk.hold(chain_of(0, 2))
    desk.link(1, 1)
    desk.forget()
    desk.receive(1, Have(FEEDS, b"", answer=False, entries=library.have().entries))
    (pull,) = desk.sent(1, Pull)
    assert pull.wants == [(chain.feed, Head(2, chain.hash_at(2)))]
    desk.receive(1, library.answer(pull))
    held = desk.notebook.chain(chain.feed)
    assert held is not None
    assert held.held == 5


def test_what_a_complete_list_leaves_out_is_pushed_again() -> None:
    """We thought they had it, they do not: the next push of that feed goes to them."""
    desk = Desk()
    chain = chain_of(3, 2)
    desk.link(1, 1)
    desk.link(2, 2)
    desk.receive(1, Push([chain.encoded(1, 1)]))
    assert len(desk.sent(2, Push)) == 1
    desk.receive(
        2, Have(FEEDS, b"", answer=False, entries=[FeedEntry(chain.feed, Head(2, chain.head), Head(2, chain.head))])
    )
    desk.forget()
    desk.receive(2, Have(FEEDS, None, answer=False, entries=[]))
    desk.receive(1, Push([chain.encoded(2, 2)]))
    assert len(desk.sent(2, Push)) == 1


def test_questions_of_who_does_not_read_are_not_answered() -> None:
    """What is queued to a link is bounded; once it has gone out, questions are answered again."""
    desk = Desk(config=Config(link_bytes=100_000))
    desk.hold(*(chain_of(1 + index % 30, 1, 1 + index) for index in range(600)))
    desk.link(1, 1)
    digests = Compare(FEEDS, bytes(8 * BUCKETS))
    for number in range(150):
        desk.receive(1, digests, Ping(number, OTHER, bytes(8), bytes(8), NOW_MS))
        desk.receive(1, Have(FEEDS, None, answer=True, entries=[]))
        desk.wait(1)
    (queued,) = (peer.queued for peer in desk.engine.peers() if peer.node == node(1))
    assert queued < 300_000, "the limit, and the answer that crossed it"
    desk.handle(Flushed(1, queued))
    desk.forget()
    desk.receive(1, digests)
    assert len(desk.sent(1, Have)) == 1


def test_two_engines_that_differ_in_everything_become_the_same() -> None:
    """Statements, feeds and cards, large sets and small, both ways, by the repair path alone."""
    one, other = Desk(members=30), Desk(identity=CLAN.node(1))
    one.hold(*(chain_of(2 + index % 20, 3, 1 + index) for index in range(60)))
    other.hold(*(chain_of(2 + index % 20, 3, 1 + index) for index in range(40, 90)))
    one.handle(LinkUp(7, node(1), True, "host1:1"))
    other.handle(LinkUp(8, node(0), False, ""))
    wires = Wires(one, other, [(7, 8)])
    for _ in range(10):
        wires.carry()
        one.wait(2)
        other.wait(2)
    assert one.engine.root == other.engine.root == one.notebook.root() == other.notebook.root()
    assert len(list(one.notebook.chains())) == 90
    assert one.engine.allows(node(MEMBERS - 1))
    assert one.noticed("fault") == other.noticed("fault") == 0


def test_a_feed_of_who_was_never_heard_of_is_not_wanted() -> None:
    """Its member statement has to come first."""
    desk = Desk()
    desk.link(1, 1)
    desk.forget()
    head = Head(3, bytes(32))
    desk.receive(1, Have(FEEDS, None, answer=False, entries=[FeedEntry(Feed(node(MEMBERS + 3), 1), head, head)]))
    assert not desk.sent(1, Pull)
    assert desk.engine.fetching == 0
