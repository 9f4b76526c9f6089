"""Whether the writer of one operation had another before them."""

from mesh.core.ids import digest
from mesh.pages.conflicts import Ancestry
from mesh.pages.edit_acceptance import PageOp


def op(name: str, number: int, *heads: bytes, epoch: int = 1) -> PageOp:
    return PageOp(0, number, digest(name.encode()), tag(name, number), epoch, heads, b"")


def tag(name: str, number: int) -> bytes:
    return digest(f"{name} {number}".encode())


def head(name: str, number: int) -> bytes:
    return tag(name, number)[:8]


def test_a_stream_has_seen_all_of_itself_and_nothing_later() -> None:
    """No heads are needed for one's own."""
    seen = Ancestry([op("ann", 1), op("ann", 2), op("ann", 3)])
    assert [[seen.saw(i, j) for j in range(3)] for i in range(3)] == [
        [True, False, False],
        [True, True, False],
        [True] * 3,
    ]


def test_heads_are_followed_through_others() -> None:
    """Cat has heard of Bob, who had heard of Ann's first and not of her second."""
    seen = Ancestry([op("ann", 1), op("ann", 2), op("bob", 1, head("ann", 1)), op("cat", 1, head("bob", 1))])
    assert seen.saw(2, 0)
    assert seen.are_apart(2, 1)
    assert seen.saw(3, 0)
    assert seen.saw(3, 2)
    assert seen.are_apart(3, 1)
    assert sorted(seen.newest([0, 1, 2, 3])) == [1, 3]
    assert seen.seen_from([head("bob", 1)]) == {0, 2}
    assert seen.seen_from([head("ann", 2), b"whatever"]) == {0, 1}


def test_heads_that_name_anything_change_nothing() -> None:
    """Unknown ones, its own, one that comes later, one that is no tag."""
    odd = (b"unknown!", head("ann", 1), head("bob", 1), b"")
    seen = Ancestry([op("ann", 1, *odd), op("bob", 1, head("ann", 1))])
    assert not seen.saw(0, 1)
    assert seen.saw(1, 0)


def test_two_epochs_of_a_node_are_two_streams() -> None:
    """A second life of a node knows of the first only what it names."""
    seen = Ancestry([op("ann", 1), op("ann", 2, epoch=2), op("ann", 3, head("ann", 1), epoch=2)])
    assert not seen.saw(1, 0)
    assert seen.saw(2, 0)


def test_a_node_that_names_a_new_epoch_every_time_costs_no_more() -> None:
    """Beyond a few, its epochs are taken for one stream: what each operation remembers stays small."""
    named = [(head("mallory", number - 1), head("ann", 1)) for number in range(500)]
    ops = [op("ann", 1), *(op("mallory", number, *named[number], epoch=number) for number in range(1, 500))]
    seen = Ancestry(ops)
    assert seen.saw(499, 0)
    assert seen.saw(499, 300)
    assert max(len(place.seen) for place in seen._places) <= 9
