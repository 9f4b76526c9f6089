"""The vector and the root: one name for one state, however it was reached."""

import random

from hypothesis import given
from hypothesis import strategies as st

from mesh.core.ids import Feed, digest
from mesh.core.version_vector import BUCKETS, Head, Vector, bucket_of, statements_digest

HASHES = st.integers(0, 1000).map(lambda number: digest(b"%d" % number))
FEEDS = st.builds(Feed, HASHES, st.sampled_from([1, 2, 2**56, 2**63 + 5, 2**64 - 1]))
HEADS = st.builds(Head, st.integers(1, 2**40), HASHES)
VECTORS = st.dictionaries(FEEDS, HEADS, max_size=20)


def feed(number: int, epoch: int = 1) -> Feed:
    return Feed(digest(b"%d" % number), epoch)


@given(VECTORS, st.sets(HASHES), st.integers())
def test_the_order_of_arrival_does_not_change_the_root(heads: dict[Feed, Head], ids: set[bytes], number: int) -> None:
    """Feeds put in any order, over older heads, statements in any order: one root."""
    items, names = list(heads.items()), list(ids)
    rng = random.Random(number)
    rng.shuffle(items)
    rng.shuffle(names)
    other = Vector((each, Head(1, bytes(32))) for each in heads)
    for each, head in items:
        other.put(each, head)
    assert Vector(heads) == other
    assert Vector(heads).root(ids) == other.root(names)


@given(VECTORS, st.sets(HASHES), FEEDS, HEADS)
def test_any_other_head_gives_another_root(heads: dict[Feed, Head], ids: set[bytes], where: Feed, head: Head) -> None:
    """A feed more, a number, a hash: the root is not the same, and comes back when they do."""
    vector = Vector(heads)
    before, old = vector.root(ids), vector.get(where)
    vector.put(where, head)
    assert (vector.root(ids) == before) is (head == old)
    vector.put(where, Head(head.seq + 1, head.hash))
    assert vector.root(ids) != before or old == Head(head.seq + 1, head.hash)
    vector.put(where, old)
    assert vector.root(ids) == before


@given(VECTORS, st.sets(HASHES, min_size=1))
def test_any_other_set_of_statements_gives_another_root(heads: dict[Feed, Head], ids: set[bytes]) -> None:
    """One statement less is another state."""
    vector = Vector(heads)
    for gone in ids:
        assert vector.root(ids - {gone}) != vector.root(ids)
    assert statements_digest(ids) == statements_digest(sorted(ids, reverse=True))


def test_a_feed_without_operations_is_not_in_a_vector() -> None:
    """Knowing of a feed is not state; nor is having forgotten one."""
    vector = Vector({feed(1): Head(3, bytes(32))})
    empty = Vector().root([])
    assert vector.root([]) != empty
    vector.put(feed(1), Head(0, b"\x01" * 32))
    assert vector.root([]) == empty
    assert len(vector) == 0
    vector.put(feed(2), None)
    assert vector == Vector()
    assert vector.get(feed(1)) is None


@given(VECTORS, VECTORS)
def test_differing_names_exactly_the_buckets_that_differ(mine: dict[Feed, Head], theirs: dict[Feed, Head]) -> None:
    """Eight bytes a bucket are enough to find every feed that the other side has otherwise."""
    ours, other = Vector(mine), Vector(theirs)
    found = set(ours.differing(other.bucket_digest(number)[:8] for number in range(BUCKETS)))
    feeds = {each for each in {*mine, *theirs} if mine.get(each) != theirs.get(each)}
    assert found == {bucket_of(each) for each in feeds}
    assert (not found) == (ours.root([]) == other.root([]))


def test_a_short_answer_compares_the_buckets_it_names() -> None:
    """Fewer digests than buckets are compared as far as they go."""
    vector = Vector({feed(number): Head(1, bytes(32)) for number in range(50)})
    empty = Vector()
    asked = [empty.bucket_digest(number)[:8] for number in range(10)]
    assert vector.differing(asked) == [n for n in range(10) if vector.bucket(n)]
    assert vector.differing([]) == []


@given(FEEDS)
def test_every_feed_has_a_bucket(where: Feed) -> None:
    """Also with the greatest epoch, and the same one each time."""
    assert 0 <= bucket_of(where) < BUCKETS
    vector = Vector([(where, Head(1, bytes(32)))])
    assert dict(vector.bucket(bucket_of(where))) == {where: Head(1, bytes(32))}


def test_feeds_of_one_node_spread_over_the_buckets() -> None:
    """The epoch's first byte takes part."""
    node = digest(b"node")
    assert len({bucket_of(Feed(node, n << 56 | 1)) for n in range(BUCKETS)}) == BUCKETS


@given(VECTORS)
def test_items_come_in_the_order_of_their_ids(heads: dict[Feed, Head]) -> None:
    """Whoever writes a vector down writes the same bytes."""
    items = list(Vector(heads).items())
    assert dict(items) == heads
    assert [each.encode() for each, _ in items] == sorted(each.encode() for each in heads)
    assert len(Vector(heads)) == len(heads)


def test_hashes_cannot_move_between_neighbours() -> None:
    """Number and hash of a feed stand at fixed places: no two different vectors give the same bytes."""
    one = Vector({feed(1): Head(1, bytes(32)), feed(1, 2): Head(2, b"\x01" * 32)})
    other = Vector({feed(1): Head(2, b"\x01" * 32), feed(1, 2): Head(1, bytes(32))})
    assert one.root([]) != other.root([])
    assert one != other
    assert one != "a vector"


def test_more_digests_than_there_are_buckets_mean_nothing() -> None:
    """The list comes from a peer."""
    assert Vector().differing([Vector().bucket_digest(number % 256)[:8] for number in range(300)]) == []
