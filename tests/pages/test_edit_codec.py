"""The bytes of one page edit: what pycrdt writes is read and written back the same, and everything else is refused."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.core.errors import Malformed
from mesh.pages import edit_codec as module
from mesh.pages.edit_acceptance import PageOp
from mesh.pages.edit_codec import DeletedRange, Id, InsertedText, Update, client_of, encode, pairs, parse, seams, units
from tests.pages.editors import Editor, session, text_of

NUMBERS = st.integers(0, 2**31 - 2)
IDS = st.builds(Id, st.integers(0, 2**53 - 1), NUMBERS)


def test_the_client_id_of_a_feed_is_frozen() -> None:
    """Two versions that derived another id would refuse each other's edits."""
    assert client_of(b"\x01" * 32, 7) == 4730747355428028
    assert client_of(b"\x01" * 32, 8) != client_of(b"\x01" * 32, 7) != client_of(b"\x02" * 32, 7)
    assert all(0 < client_of(bytes([number]) * 32, number) < 2**53 for number in range(200))


def test_the_limits_are_frozen() -> None:
    """Nodes with other limits would not agree on a page's text."""
    limits = (
        module.UPDATE_BYTES,
        module.ITEMS,
        module.DELETE_RANGES,
        module.CLIENTS,
        module.CLOCK_END,
        module.CLIENT_END,
    )
    assert limits == (65536, 2048, 2048, 256, 2**31, 2**53)
    assert module.ROOT == "text"


@pytest.mark.parametrize(("text", "length"), [("", 0), ("abc", 3), ("é漢", 2), ("😀", 2), ("a😀b👩‍👧", 9)])
def test_units_are_those_of_utf_16(text: str, length: int) -> None:
    """The clocks of pycrdt count them."""
    assert units(text) == length


def test_pairs_are_the_first_halves() -> None:
    """Counted from the item's clock."""
    assert pairs(InsertedText(10, None, None, "a😀b😀")) == [11, 14]
    assert pairs(InsertedText(10, None, None, "aé漢")) == []


def test_the_first_text_of_a_page_names_its_root() -> None:
    """With no neighbour there is nothing else to say where it belongs."""
    ann = Editor("ann")
    op = ann.change((0, 0, "a😀b"))
    assert op is not None
    assert parse(op.update) == Update(ann.client, (InsertedText(0, None, None, "a😀b"),), ())


def test_a_text_in_the_middle_names_its_neighbours_in_units() -> None:
    """Behind the second half of a pair, before the next character."""
    ann, bob = Editor("ann"), Editor("bob")
    first = ann.change((0, 0, "a😀b"))
    assert first is not None
    bob.receive([first])
    second = bob.change((2, 0, "X"))
    assert second is not None
    assert parse(second.update) == Update(bob.client, (InsertedText(0, Id(ann.client, 2), Id(ann.client, 3), "X"),), ())
    assert list(seams(parse(second.update))) == [Id(ann.client, 2), Id(ann.client, 2)]


def test_a_text_typed_on_continues_the_clock() -> None:
    """It is joined by pycrdt to the text before; the update still holds the new part alone."""
    ann = Editor("ann")
    ann.change((0, 0, "a"))
    op = ann.change((1, 0, "b"))
    assert op is not None
    assert parse(op.update) == Update(ann.client, (InsertedText(1, Id(ann.client, 0), None, "b"),), ())


def test_several_edits_in_one_transaction_are_several_items_and_may_be_neighbours() -> None:
    """An item may stand beside an earlier one of its own update."""
    ann = Editor("ann")
    ann.change((0, 0, "abcdef"))
    op = ann.change((1, 2, "X"), (4, 0, "Y"), (6, 0, "Z"))
    assert op is not None
    me = ann.client
    items = (
        InsertedText(6, Id(me, 5), None, "Z"),
        InsertedText(7, Id(me, 3), Id(me, 4), "Y"),
        InsertedText(8, Id(me, 2), Id(me, 3), "X"),
    )
    assert parse(op.update) == Update(me, items, (DeletedRange(me, 1, 2),))
    beside = encode(Update(me, (InsertedText(6, Id(me, 5), None, "Z"), InsertedText(7, Id(me, 5), Id(me, 6), "Y")), ()))
    assert parse(beside).items[1].right == Id(me, 6)


def test_an_update_that_only_deletes_has_no_client() -> None:
    """It may name anybody's text."""
    editors = [Editor(name) for name in ("ann", "bob", "cleo")]
    known: list[PageOp] = []
    for editor in editors:
        editor.receive(known)
        op = editor.change((0, 0, "word😀"))
        assert op is not None
        known.append(op)
    editors[2].change((6, 3, ""))
    op = editors[2].change((0, 99, ""))
    assert op is not None
    read = parse(op.update)
    assert (read.client, read.items, read.start, read.end) == (None, (), 0, 0)
    # Ascending by client, ranges ascending and joined: the middle of bob's was gone already.
    lengths = {editors[0].client: [(0, 6)], editors[1].client: [(0, 1), (4, 2)], editors[2].client: [(0, 6)]}
    assert read.deletes == tuple(DeletedRange(client, *gap) for client in sorted(lengths) for gap in lengths[client])
    assert encode(read) == op.update


@given(st.integers(0, 2**32), st.integers(1, 6))
def test_what_pycrdt_writes_is_read_and_written_back_the_same(seed: int, count: int) -> None:
    """Random sessions of one to six editors."""
    ops = session(random.Random(seed), [Editor(f"editor {number}") for number in range(count)], 25)
    for op in ops:
        read = parse(op.update)
        assert encode(read) == op.update
        assert read.client in {None, client_of(op.node, op.epoch)}
        assert [gap.client for gap in read.deletes] == sorted(gap.client for gap in read.deletes), "pycrdt's order"


def test_a_delete_set_may_name_clients_in_any_order() -> None:
    """The format promises none, and writing back keeps it."""
    read = Update(
        None, (), (DeletedRange(9, 0, 1), DeletedRange(3, 0, 1), DeletedRange(3, 1, 4), DeletedRange(5, 7, 2))
    )
    assert parse(encode(read)) == read


def test_what_is_at_the_limits_is_read() -> None:
    """One more is refused: see the hostile updates."""
    many = Update(5, tuple(InsertedText(number, Id(6, number), None, "x") for number in range(2048)), ())
    assert parse(encode(many)) == many
    gaps = Update(None, (), tuple(DeletedRange(5, 2 * number, 1) for number in range(2048)))
    assert parse(encode(gaps)) == gaps
    clients = Update(
        0, (InsertedText(0, Id(1, 0), Id(2, 0), "x"),), tuple(DeletedRange(client, 0, 1) for client in range(1, 256))
    )
    assert parse(encode(clients)) == clients
    last = Update(2**53 - 1, (InsertedText(2**31 - 2, Id(7, 2**31 - 1), None, "x"),), (DeletedRange(7, 2**31 - 2, 1),))
    assert parse(encode(last)) == last
    long = encode(Update(5, (InsertedText(0, None, None, "x" * (65536 - 15)),), ()))
    assert len(long) == 65536
    assert parse(long).end == 65536 - 15


def test_a_hand_written_update_is_understood_by_pycrdt_as_it_is_here() -> None:
    """What `encode` writes is the format, not only what `parse` reads."""
    first = encode(
        Update(5, (InsertedText(0, None, None, "one three"), InsertedText(9, Id(5, 3), Id(5, 4), "two 😀 ")), ())
    )
    second = encode(Update(6, (InsertedText(0, Id(5, 14), Id(5, 15), "&"),), (DeletedRange(5, 13, 2),)))
    assert text_of([first]) == "one two 😀 three"
    assert text_of([first, second]) == "one two & three"


@given(st.binary(max_size=80))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    """And whatever is read is written back the same, so that no two byte strings mean one update."""
    try:
        read = parse(data)
    except Malformed:
        return
    assert encode(read) == data


@given(
    st.integers(0, 2**53 - 1),
    NUMBERS,
    st.lists(st.tuples(st.none() | IDS, st.none() | IDS, st.text(min_size=1, max_size=5)), max_size=5),
    st.lists(st.builds(DeletedRange, st.integers(0, 2**53 - 1), NUMBERS, st.integers(0, 9)), max_size=5),
)
def test_any_update_is_refused_or_read_as_it_was_written(
    client: int, clock: int, texts: list[tuple[Id | None, Id | None, str]], gaps: list[DeletedRange]
) -> None:
    """Whatever neighbours and ranges: never another meaning."""
    items = []
    for left, right, text in texts:
        items.append(InsertedText(clock, left, right, text))
        clock += units(text)
    written = Update(client if items else None, tuple(items), tuple(gaps))
    try:
        read = parse(encode(written))
    except Malformed:
        return
    assert read == written
