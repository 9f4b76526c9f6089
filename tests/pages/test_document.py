"""A page's text in pycrdt: places in code points, updates that can be published."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mesh.core.errors import Malformed
from mesh.pages.document import Document, WrongEdit, deltas, proven, texts
from mesh.pages.edit_codec import CLIENTS, DELETE_RANGES, ITEMS, parse, units
from mesh.pages.text_difference import Edit, applied

ME, OTHER = 2**53 - 1, 2**53 - 2  # as long as they get
TEXT = st.text(st.sampled_from("abc \nßé漢🙂e\u0301"), max_size=40)


def beat() -> None:
    """Nobody waits here."""


def edit(document: Document, changes: Sequence[Edit], most_bytes: int = 60_000) -> list[bytes]:
    """Make changes; whatever they are, each update must be one that every node accepts."""
    updates = document.edit(changes, most_bytes, beat)
    for update in updates:
        assert len(update) <= most_bytes
        parsed = parse(update)
        assert parsed.client in (None, document.client)
        assert len(parsed.items) <= ITEMS
        assert len(parsed.deletes) <= DELETE_RANGES
    expected = document.text()  # what it says without looking
    document._known = None
    assert document.text() == expected
    return updates


def written(text: str, client: int = ME) -> Document:
    document = Document(client)
    edit(document, [Edit(0, 0, text)])
    return document


@st.composite
def changed(draw: st.DrawFn, old: str) -> list[Edit]:
    """Edits of a text: ascending, not overlapping, some of them empty, some at the same place."""
    cuts = sorted(draw(st.lists(st.integers(0, len(old)), max_size=12)))
    pairs = zip(cuts[::2], cuts[1::2], strict=False)
    return [Edit(start, end - start, draw(TEXT)) for start, end in pairs]


@given(st.data(), TEXT, st.integers(144, 400))
@settings(max_examples=80)
def test_edits_mean_the_same_as_in_plain_python_and_to_whoever_gets_the_updates(
    data: st.DataObject, old: str, most_bytes: int
) -> None:
    """Any edits of any text, however they are cut into updates."""
    document = written(old)
    reader = Document(OTHER, [document.state()])
    for _ in range(3):
        before = document.text()
        changes = data.draw(changed(before))
        updates = edit(document, changes, most_bytes)
        assert document.text() == applied(before, changes)
        for update in updates:
            reader.apply(update)
        assert reader.text() == document.text()
    assert Document(updates=[document.state()]).text() == document.text()


def test_what_is_inserted_continues_the_clock_of_its_client() -> None:
    """Clocks count UTF-16 units, over all updates and after a document was loaded again."""
    document = written("a🙂")
    (second,) = edit(Document(ME, [document.state()]), [Edit(1, 0, "漢")])
    assert parse(second).client == ME
    assert parse(second).start == units("a🙂") == 3


def test_edits_of_nothing_give_no_update() -> None:
    """No changes, or one that removes and inserts nothing."""
    assert edit(written("a"), []) == []
    assert edit(written("a"), [Edit(1, 0, "")]) == []


def test_a_few_edits_are_one_update() -> None:
    """A save is one operation, as long as it fits."""
    document = written("one two three\n")
    (update,) = edit(document, [Edit(0, 3, "1"), Edit(4, 3, "2"), Edit(14, 0, "four\n")])
    assert document.text() == "1 2 three\nfour\n"
    assert sorted(item.text for item in parse(update).items) == ["1", "2", "four\n"]


def test_a_long_insertion_is_cut_and_fills_its_updates() -> None:
    """Neither a character nor the order is lost."""
    text = "".join(chr(0x4E00 + i % 5000) + "ab🙂" for i in range(20_000))
    document = Document(ME)
    updates = edit(document, [Edit(0, 0, text)], 60_000)
    assert document.text() == text
    assert len(updates) == -(-len(text.encode()) // 59_000)
    assert texts(updates, [1], beat) == [text[: len(texts(updates, [1], beat)[0])]]


def test_very_many_edits_are_cut() -> None:
    """More of them than one update may carry."""
    document = written("x\n" * 5000)
    updates = edit(document, [Edit(2 * line, 1, "yy") for line in range(5000)])
    assert document.text() == "yy\n" * 5000
    assert 3 <= len(updates) <= 10


def test_a_deletion_that_falls_into_very_many_ranges_is_cut() -> None:
    """The characters in front have every second clock: each is a range of its own."""
    document, pairs = Document(ME), DELETE_RANGES + 300
    for at in range(pairs):
        document.edit([Edit(0, 0, "a"), Edit(2 * at, 0, "b")], 60_000, beat)
    reader = Document(OTHER, [document.state()])
    updates = edit(document, [Edit(0, pairs, "A"), Edit(2 * pairs, 0, "B")])
    assert document.text() == "A" + "b" * pairs + "B"
    assert 2 <= len(updates) <= 4
    for update in updates:
        reader.apply(update)
    assert reader.text() == document.text()


@pytest.mark.parametrize("is_deletion", [True, False])
def test_an_edit_that_touches_what_very_many_have_written_is_cut(*, is_deletion: bool) -> None:
    """An update may name only so many clients."""
    document = Document(1)
    for client in range(1, CLIENTS + 50):
        author = Document(client, [document.state()])
        for update in author.edit([Edit(client - 1, 0, "x")], 1000, beat):
            document.apply(update)
    size = len(document.text())
    changes = [Edit(0, size, "")] if is_deletion else [Edit(at, 0, "y") for at in range(size)]
    assert len(edit(Document(ME, [document.state()]), changes)) in (2, 3, 4)


@pytest.mark.parametrize(
    "changes",
    [[Edit(4, 0, "x")], [Edit(-1, 0, "x")], [Edit(2, 2, "")], [Edit(1, 1, ""), Edit(1, 1, "")], [Edit(1, -1, "")]],
)
def test_an_edit_outside_of_the_text_is_refused_and_nothing_changes(changes: list[Edit]) -> None:
    """Some of these pycrdt would take for the end of the text; at the others it would panic."""
    document = written("abc")
    with pytest.raises(WrongEdit):
        document.edit([Edit(0, 0, "first"), *changes], 1000, beat)
    assert document.text() == "abc"


def test_updates_cannot_be_arbitrarily_small() -> None:
    """There is a least size, below which nothing is begun."""
    with pytest.raises(WrongEdit):
        Document(ME).edit([Edit(0, 0, "x")], 100, beat)


def test_concurrent_edits_are_both_in_the_text_whatever_came_first() -> None:
    """The point of it all."""
    base = written("the cat sat\n")
    mine, theirs = Document(ME, [base.state()]), Document(OTHER, [base.state()])
    (first,) = edit(mine, [Edit(4, 3, "dog")])
    (second,) = edit(theirs, [Edit(8, 3, "lay"), Edit(11, 0, " down")])
    mine.apply(second)
    theirs.apply(first)
    assert mine.text() == theirs.text() == "the dog lay down\n"


@given(st.lists(st.tuples(st.booleans(), st.data()), max_size=8))
@settings(max_examples=30)
def test_deltas_retell_how_the_text_came_to_be(turns: list[tuple[bool, st.DataObject]]) -> None:
    """Each update's edits, made to the text before it in plain Python, give the text after it."""
    documents = Document(ME), Document(OTHER)
    updates: list[bytes] = []
    for is_first, data in turns:
        document = documents[is_first]
        made = edit(document, data.draw(changed(document.text())))
        updates += made
        if data.draw(st.booleans()):
            for each in documents:
                for update in updates:
                    each.apply(update)
    after = texts(updates, range(len(updates) + 1), beat)
    text = ""
    for at, edits in enumerate(deltas(updates, beat)):
        text = applied(text, edits)
        assert text == after[at + 1]
    assert proven(updates, beat)[1] == text


def test_a_delta_tells_what_was_replaced_where() -> None:
    """In code points of the text before."""
    document = Document(ME)
    updates = edit(document, [Edit(0, 0, "é🙂 old end")])
    updates += edit(document, [Edit(3, 3, "new"), Edit(10, 0, "!")])
    assert deltas(updates, beat) == [[Edit(0, 0, "é🙂 old end")], [Edit(3, 3, "new"), Edit(10, 0, "!")]]


def test_texts_come_in_the_order_they_were_asked_for() -> None:
    """Any stops, the empty beginning among them."""
    document = Document(ME)
    updates = edit(document, [Edit(0, 0, "a")]) + edit(document, [Edit(1, 0, "b")])
    assert texts(updates, [2, 0, 1, 2], beat) == ["ab", "", "a", "ab"]


def test_what_pycrdt_cannot_read_is_raised() -> None:
    """And is not among what the structural check lets through."""
    with pytest.raises(ValueError, match="decode"):
        Document().apply(b"\xff\xff\x01")
    with pytest.raises(Malformed):
        parse(b"\xff\xff\x01")
