"""The engine's picture of its notebook: the same names as `mesh.core` gives, and buckets that find every difference."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.core.ids import Feed, digest, first_prev
from mesh.core.version_vector import BUCKETS, Head, Vector, bucket_of, statements_digest
from peers.proto.cards import CardBook
from peers.proto.message_codec import PREFIX_BYTES
from peers.proto.messages import CARDS, FEEDS, SETS, STATEMENTS, CardEntry, FeedEntry
from peers.proto.notebook_summary import NotebookSummary
from peers.proto.replica import Changes, FeedState
from tests.peers.engines import CLAN, contact_of

feed_states = st.builds(
    lambda node, epoch, accepted, more: FeedState(
        Feed(digest(bytes([node])), epoch),
        Head(accepted, digest(b"a%d" % accepted)),
        Head(accepted + more, digest(b"h%d" % (accepted + more))),
    ),
    st.integers(0, 20),
    st.sampled_from((1, 2**63)),
    st.integers(0, 5),
    st.integers(0, 2),
)
identities = st.integers(0, 300).map(lambda number: digest(b"statement %d" % number))
changes = st.tuples(
    st.lists(feed_states, max_size=8),
    st.lists(identities.map(lambda identity: (identity, b"")), max_size=8),
    st.lists(identities, max_size=3),
).map(lambda parts: Changes(*parts))


def make_mirror(states: list[FeedState], ids: list[bytes], cards: int = 0) -> NotebookSummary:
    said = Changes(states, [(identity, b"") for identity in ids])
    return NotebookSummary(CLAN.mesh, said, [contact_of(index) for index in range(cards)])


def many_states(count: int, seq: int = 3) -> list[FeedState]:
    heads = Head(seq, digest(b"%d" % seq))
    return [FeedState(Feed(digest(b"node %d" % number), number + 1), heads, heads) for number in range(count)]


@given(st.lists(changes, max_size=10))
def test_the_root_is_the_one_that_mesh_core_computes(steps: list[Changes]) -> None:
    """After every change, however it came about; a feed of which nothing counts is not in it."""
    mirror = NotebookSummary(CLAN.mesh, Changes(), ())
    heads: dict[Feed, Head] = {}
    known: set[bytes] = set()
    for step in steps:
        mirror.learn(step)
        heads |= {state.feed: state.accepted for state in step.feeds}
        known |= {identity for identity, _ in step.statements}
        known -= set(step.gone)
        vector = Vector({feed: head for feed, head in heads.items() if head.seq})
        assert mirror.root == vector.root(known)
        assert mirror.statements_digest == statements_digest(known)
        wanted = [vector.bucket_digest(number)[:PREFIX_BYTES] for number in range(BUCKETS)]
        assert mirror.digests(FEEDS) == b"".join(wanted)
        _, entries = mirror.entries(FEEDS, None, 1000)
        assert {entry.feed: entry.accepted for entry in entries if isinstance(entry, FeedEntry)} == dict(vector.items())
        assert mirror.size(STATEMENTS) == len(known)


def test_learning_nothing_says_that_nothing_changed() -> None:
    """So that nobody is told."""
    mirror = make_mirror(many_states(3), [])
    assert not mirror.learn(Changes())
    assert mirror.learn(Changes(many_states(1, seq=4)))


def test_what_is_not_known_of_a_feed_is_its_beginning() -> None:
    """So a pull can start there."""
    feed = Feed(digest(b"unheard of"), 1)
    start = Head(0, first_prev(CLAN.mesh, feed))
    assert make_mirror([], []).held(feed) == make_mirror([], []).accepted(feed) == start


@pytest.mark.parametrize("kind", SETS)
def test_differing_buckets_are_those_that_differ(kind: int) -> None:
    """Two sets that share most: exactly the buckets of what one lacks, or has otherwise."""
    rng = random.Random(kind)
    states, ids = many_states(300), [digest(b"id %d" % number) for number in range(300)]
    one = make_mirror(states, ids, 30)
    gone = set(rng.sample(range(300), 20))
    few = [index for index in range(30) if index % 4]
    other = NotebookSummary(
        CLAN.mesh,
        Changes(
            [state for index, state in enumerate(states) if index not in gone],
            [(identity, b"") for index, identity in enumerate(ids) if index not in gone],
        ),
        [contact_of(index) for index in few],
    )
    expected = {
        FEEDS: {bucket_of(states[index].feed) for index in gone},
        STATEMENTS: {ids[index][0] for index in gone},
        CARDS: {contact_of(index).subject[0] for index in set(range(30)) - set(few)},
    }[kind]
    assert set(one.differing(kind, other.digests(kind))) == expected
    assert one.differing(kind, other.digests(kind)) == other.differing(kind, one.digests(kind))
    assert one.differing(kind, one.digests(kind)) == b""
    assert one.name(kind) != other.name(kind)


@pytest.mark.parametrize("kind", SETS)
def test_entries_of_buckets_are_whole_buckets_that_fit(kind: int) -> None:
    """Asked bucket by bucket, with little room, everything comes, each thing once."""
    states, ids = many_states(500), [digest(b"id %d" % number) for number in range(500)]
    mirror = make_mirror(states, ids, 40)
    _, everything = mirror.entries(kind, None, 10_000)
    assert len(everything) == {FEEDS: 500, STATEMENTS: 500, CARDS: 40}[kind]
    left, collected = bytes(range(BUCKETS)), []
    for _ in range(BUCKETS):
        covered, part = mirror.entries(kind, left, 20)
        assert covered is not None
        assert left.startswith(covered)
        assert len(part) <= 20
        collected += part
        left = left[len(covered) :]
        if not left:
            break
    assert sorted(map(repr, collected)) == sorted(map(repr, everything))


def test_entries_say_what_is_held_and_what_counts() -> None:
    """Of cards their time, of statements the id."""
    state = FeedState(Feed(digest(b"n"), 1), Head(2, digest(b"2")), Head(3, digest(b"3")))
    identity = digest(b"statement")
    mirror = make_mirror([state], [identity], 1)
    assert mirror.entries(FEEDS, None, 9) == (None, [FeedEntry(*state)])
    assert mirror.entries(STATEMENTS, None, 9) == (None, [identity])
    card = contact_of(0)
    assert mirror.entries(CARDS, None, 9) == (
        None,
        [CardEntry(card.kind, card.subject, card.at, digest(card.data)[:8])],
    )
    assert mirror.knows_statement(identity)
    assert not mirror.knows_statement(digest(b"another"))


def test_feeds_that_a_complete_list_leaves_out_are_found() -> None:
    """Of the buckets it covers, and of no others."""
    states = many_states(50)
    mirror = make_mirror(states, [])
    listed = {state.feed for state in states[:20]}
    assert set(mirror.unlisted(None, listed)) == {state.feed for state in states[20:]}
    bucket = bucket_of(states[30].feed)
    found = set(mirror.unlisted(bytes([bucket]), listed))
    assert found == {state.feed for state in states[20:] if bucket_of(state.feed) == bucket}
    assert set(mirror.unlisted(b"", set())) == set()


def test_cards_stand_outside_the_root() -> None:
    """They steer whom we talk to, never what is true."""
    mirror = make_mirror(many_states(3), [digest(b"s")])
    before = mirror.root, mirror.name(CARDS)
    mirror.cards.put(contact_of(1))
    assert mirror.root == before[0]
    assert mirror.name(CARDS) != before[1]
    assert mirror.name(CARDS) == _book(1).digest()[:PREFIX_BYTES]


def _book(*indices: int) -> CardBook:
    book = CardBook()
    for index in indices:
        book.put(contact_of(index))
    return book
