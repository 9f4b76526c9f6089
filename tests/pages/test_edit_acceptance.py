"""Which operations of a page count: the same in any order of arrival, in any batches, after any restart."""

import random
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mesh.core.errors import Malformed
from mesh.core.ids import digest
from mesh.core.strict_msgpack import pack, unpack
from mesh.pages.edit_acceptance import EditAcceptance, PageOp, RefusedEdit, Ruling
from mesh.pages.edit_codec import DeletedRange, Id, InsertedText, Update, client_of, encode
from tests.pages.editors import Editor, session, text_of

ANN, BOB = digest(b"ann"), digest(b"bob")
A, B = client_of(ANN, 1), client_of(BOB, 1)
EXAMPLES = settings(max_examples=1000 if settings.get_current_profile_name() == "soak" else 40)
CUT = "an update that cuts a character in two"
TAKEN = "claims a place in its author's text that another operation has"


def page_op(node: bytes, at: int, update: Update, heads: tuple[bytes, ...] = ()) -> PageOp:
    data = encode(update)
    return PageOp(at, at, node, digest(node + at.to_bytes(8, "big") + data), 1, heads, data)


def insert(node: bytes, at: int, clock: int, text: str, left: Id | None = None, right: Id | None = None) -> PageOp:
    return page_op(node, at, Update(client_of(node, 1), (InsertedText(clock, left, right, text),), ()))


def delete(node: bytes, at: int, *gaps: DeletedRange) -> PageOp:
    return page_op(node, at, Update(None, (), gaps))


def tags(ops: Sequence[PageOp]) -> set[bytes]:
    return {op.tag for op in ops}


def test_what_refers_to_something_missing_is_held_until_it_comes() -> None:
    """The writer's own earlier text, a neighbour on either side, a deleted range: each alone."""
    base = insert(ANN, 1, 0, "abc")
    for held in (
        insert(ANN, 2, 3, "d", Id(A, 2)),
        insert(BOB, 2, 0, "d", Id(A, 2)),
        insert(BOB, 2, 0, "d", None, Id(A, 2)),
        delete(BOB, 2, DeletedRange(A, 1, 2)),
    ):
        ledger = EditAcceptance()
        assert ledger.rule([held]) == Ruling([], [held], [])
        assert ledger.rule([held, base]) == Ruling([base, held], [], [])
        assert not ledger.is_tangled


def test_a_range_that_is_here_in_part_is_held() -> None:
    """Deleting the part would delete something else than was meant."""
    ledger = EditAcceptance()
    base, held = insert(ANN, 1, 0, "abc"), delete(BOB, 2, DeletedRange(A, 1, 3))
    assert ledger.rule([base, held]) == Ruling([base], [held], [])
    more = insert(ANN, 3, 3, "d", Id(A, 2))
    assert ledger.rule([held, more]) == Ruling([more, held], [], [])


def test_among_those_that_can_count_the_oldest_goes_first() -> None:
    """Time, then tag; what was unlocked goes before what is younger."""
    first, second, third = insert(ANN, 5, 0, "a"), insert(BOB, 1, 0, "b", Id(A, 0)), insert(digest(b"cleo"), 9, 0, "c")
    same = sorted((insert(digest(b"dan"), 20, 0, "d"), insert(digest(b"eve"), 20, 0, "e")), key=lambda op: op.tag)
    for ops in ([first, second, third, *same], [*reversed(same), third, second, first]):
        assert EditAcceptance().rule(ops).apply == [first, second, third, *same]


def test_the_same_operation_twice_counts_once_as_the_older() -> None:
    """Its author published it again after a fork: same tag, later time, another row."""
    once = insert(ANN, 1, 0, "a")
    again = once._replace(op=9, at=50)
    for ops in ([once, again], [again, once], [again, once, once]):
        assert EditAcceptance().rule(ops) == Ruling([once], [], [])
    lost = insert(ANN, 1, 7, "a")
    assert EditAcceptance().rule([lost._replace(at=4), lost]) == Ruling([], [lost], [])


def test_text_under_the_client_id_of_another_is_refused() -> None:
    """Else anybody could take the clocks that somebody else needs."""
    for op in (
        insert(ANN, 1, 0, "a")._replace(node=BOB),
        insert(ANN, 1, 0, "a")._replace(epoch=2),
        insert(ANN, 1, 0, "a")._replace(epoch=-1),
        insert(ANN, 1, 0, "a")._replace(epoch=2**64),
    ):
        ledger = EditAcceptance()
        assert ledger.rule([op]) == Ruling(
            [], [], [RefusedEdit(op, "written under a client id that is not its author's")]
        )
        assert (ledger.clock(A), ledger.heads, ledger.is_tangled) == (0, [], False)


def test_malformed_updates_are_refused_with_the_reason() -> None:
    """What `parse` says is what a person reads."""
    op = insert(ANN, 1, 0, "a")._replace(update=b"\x07")
    assert EditAcceptance().rule([op]) == Ruling([], [], [RefusedEdit(op, "an update by several clients")])


@pytest.mark.parametrize(
    "op",
    [
        insert(BOB, 2, 0, "x", Id(A, 1)),
        insert(BOB, 2, 0, "x", None, Id(A, 2)),
        delete(BOB, 2, DeletedRange(A, 2, 1)),
        delete(BOB, 2, DeletedRange(A, 0, 2)),
        delete(BOB, 2, DeletedRange(A, 65, 1)),
        insert(ANN, 2, 130, "x", Id(A, 1)),
        page_op(ANN, 2, Update(A, (InsertedText(130, Id(A, 129), None, "x"),), (DeletedRange(A, 1, 1),))),
    ],
)
def test_what_cuts_a_character_in_two_is_refused(op: PageOp) -> None:
    """Also across the cells in which pairs are kept, and after a restart."""
    base = insert(ANN, 1, 0, "a😀" + "b" * 61 + "😀" + "b" * 64)
    ledger = EditAcceptance()
    assert ledger.rule([op]) == Ruling([], [op], []), "nobody can tell yet"
    assert ledger.rule([op, base]) == Ruling([base], [], [RefusedEdit(op, CUT)])
    assert EditAcceptance.decode(ledger.encode()).rule([op]) == Ruling([], [], [RefusedEdit(op, CUT)])
    assert not ledger.is_tangled


def test_what_goes_along_the_edges_of_a_character_counts() -> None:
    """Before it, behind it, all of it."""
    base = insert(ANN, 1, 0, "a😀b")
    ops = [
        insert(BOB, 2, 0, "xy", Id(A, 0), Id(A, 1)),
        insert(BOB, 3, 2, "z", Id(A, 2), Id(A, 3)),
        delete(BOB, 4, DeletedRange(A, 1, 2)),
        page_op(
            ANN,
            5,
            Update(
                A,
                (InsertedText(4, Id(A, 2), Id(A, 3), "😀"), InsertedText(6, Id(A, 5), Id(A, 3), "!")),
                (DeletedRange(A, 4, 2),),
            ),
        ),
    ]
    assert EditAcceptance().rule([base, *ops]) == Ruling([base, *ops], [], [])


def test_of_two_histories_the_older_counts_and_the_ledger_says_so() -> None:
    """In any order from nothing; one at a time it can only say that it has to be done again."""
    base, mine, theirs = insert(ANN, 1, 0, "ab"), insert(ANN, 2, 2, "cd", Id(A, 1)), insert(ANN, 3, 2, "x", Id(A, 1))
    after = insert(ANN, 4, 3, "y", Id(A, 2))
    for ops in ([base, mine, theirs, after], [after, theirs, mine, base]):
        ledger = EditAcceptance()
        assert ledger.rule(ops) == Ruling([base, mine], [], [RefusedEdit(theirs, TAKEN), RefusedEdit(after, TAKEN)])
        assert ledger.is_tangled
    ledger = EditAcceptance()
    assert (ledger.rule([base, theirs]).apply, ledger.is_tangled) == ([base, theirs], False)
    assert ledger.rule([mine]) == Ruling([], [], [RefusedEdit(mine, TAKEN)])
    assert ledger.is_tangled
    assert EditAcceptance.decode(ledger.encode()).is_tangled


def test_what_would_cut_a_character_tangles_nothing() -> None:
    """It would not count either way, so whoever wrote it has one history still."""
    base, cut, fine = insert(BOB, 1, 0, "😀"), insert(ANN, 3, 0, "x", Id(B, 0)), insert(ANN, 2, 0, "y", Id(B, 1))
    for batches in ([[base, cut, fine]], [[base], [cut], [fine]], [[base], [fine], [cut]]):
        ledger = EditAcceptance()
        rulings = [ledger.rule(batch) for batch in batches]
        assert [op for ruling in rulings for op in ruling.apply] == [base, fine]
        assert [refusal for ruling in rulings for refusal in ruling.refused] == [RefusedEdit(cut, CUT)]
        assert not ledger.is_tangled


def test_heads_are_what_nobody_has_built_on() -> None:
    """Also if the one that builds on it comes first, and however often it is named."""
    one, two = insert(ANN, 1, 0, "a"), insert(BOB, 2, 0, "b")
    both = delete(BOB, 3, DeletedRange(B, 0, 1))._replace(heads=(one.tag[:8], two.tag[:8]))
    ledger = EditAcceptance()
    ledger.rule([one, two])
    assert ledger.heads == [one.tag[:8], two.tag[:8]]
    ledger.rule([both])
    assert ledger.heads == [both.tag[:8]]
    ledger = EditAcceptance()
    ledger.rule([two, both])
    ledger = EditAcceptance.decode(ledger.encode())
    ledger.rule([one])
    assert ledger.heads == [both.tag[:8]]


def test_of_many_heads_the_newest_are_kept() -> None:
    """As many as an operation may name, and what is expected stays bounded too."""
    ops = [insert(digest(bytes([at])), at, 0, "a") for at in range(1, 40)]
    ledger = EditAcceptance()
    ledger.rule(ops)
    assert ledger.heads == [op.tag[:8] for op in ops[-16:]]
    for number in range(100):
        names = tuple(digest(bytes([number, name]))[:8] for name in range(16))
        ledger.rule([insert(digest(bytes([number, 1])), 100 + number, 0, "a")._replace(heads=names)])
    assert len(ledger.encode()) < 10_000


def test_a_long_chain_that_came_backwards_is_taken_in_one_go() -> None:
    """Each waits for the one before it."""
    ops = [
        insert(ANN, 1, 0, "a"),
        *(insert(ANN, 1 + number, number, "a", Id(A, number - 1)) for number in range(1, 3000)),
    ]
    backwards = [op._replace(at=5000 - op.at) for op in ops]
    assert EditAcceptance().rule(backwards).apply == backwards
    ledger = EditAcceptance()
    assert ledger.rule(ops[1:]).held == ops[1:]
    assert ledger.rule(ops) == Ruling(ops, [], [])
    assert ledger.clock(A) == 3000


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (0, 9),
        (1, 1),
        (2, {}),
        (2, [1]),
        (2, [1, -1]),
        (2, [2**53, 1]),
        (2, [1, 2**31]),
        (3, [A]),
        (3, [[A, [0]]]),
        (3, [[7, [0, 1]]]),
        (4, [[1, b"short"]]),
        (4, [["1", b"12345678"]]),
        (4, [[2**63, b"12345678"]]),
        (5, 5),
        (5, [5]),
    ],
)
def test_what_is_not_a_ledger_is_malformed(place: int, value: object) -> None:
    """One field altered, each in its way."""
    ledger = EditAcceptance()
    ledger.rule([insert(ANN, 1, 0, "😀")])
    fields = unpack(ledger.encode())
    fields[place] = value
    with pytest.raises(Malformed):
        EditAcceptance.decode(pack(fields))


@pytest.mark.parametrize("data", [b"", b"\xc1", pack([]), pack({}), pack([1, False, [], [], []])])
def test_other_bytes_are_not_a_ledger(data: bytes) -> None:
    """Whoever reads one from a damaged table has to hear of it."""
    with pytest.raises(Malformed):
        EditAcceptance.decode(data)


def in_batches(rng: random.Random, ops: list[PageOp]) -> list[list[PageOp]]:
    """Everything at least once, in any order, in batches, some of it twice."""
    left = rng.sample(ops, len(ops))
    batches = []
    while left:
        size = rng.randint(1, 6)
        batches.append(left[:size] + rng.sample(left[:size], rng.randint(0, 1)))
        left = left[size:]
    return batches


def one_by_one(rng: random.Random, ops: list[PageOp]) -> tuple[EditAcceptance, Ruling]:
    """As a node does it: batch after batch with what was held, now and then from the ledger's bytes."""
    ledger, ruling = EditAcceptance(), Ruling([], [], [])
    for batch in in_batches(rng, ops):
        more = ledger.rule([*ruling.held, *batch])
        ruling = Ruling(ruling.apply + more.apply, more.held, ruling.refused + more.refused)
        if rng.random() < 0.5:
            ledger = EditAcceptance.decode(ledger.encode())
    return ledger, ruling


@EXAMPLES
@given(st.integers(0, 2**32), st.integers(2, 6))
def test_any_order_of_arrival_gives_the_same_text(seed: int, count: int) -> None:
    """2-6 editors, concurrent edits with emoji, any order, batches, copies and restarts: everything counts, one text."""
    rng = random.Random(seed)
    editors = [Editor(f"editor {number}") for number in range(count)]
    ops = session(rng, editors, 30)
    whole = EditAcceptance()
    ruling = whole.rule(ops)
    assert tags(ruling.apply) == tags(ops)
    assert (ruling.held, ruling.refused, whole.is_tangled) == ([], [], False)
    assert EditAcceptance().rule(rng.sample(ops, len(ops)) + ops[:3]) == ruling
    text = text_of([op.update for op in ruling.apply])
    for _ in range(2):
        ledger, pieces = one_by_one(rng, ops)
        assert (tags(pieces.apply), pieces.held, pieces.refused) == (tags(ops), [], [])
        assert (ledger.heads, ledger.clocks, ledger.is_tangled) == (whole.heads, whole.clocks, False)
        assert text_of([op.update for op in pieces.apply]) == text
    for editor in editors:
        editor.receive(ops)
        assert editor.text == text


@EXAMPLES
@given(st.integers(0, 2**32), st.integers(2, 6))
def test_with_some_missing_the_same_ones_are_held_in_any_order(seed: int, count: int) -> None:
    """And the text of those that count is the same."""
    rng = random.Random(seed)
    ops = session(rng, [Editor(f"editor {number}") for number in range(count)], 30)
    some = [op for op in ops if rng.random() < 0.9]
    ruling = EditAcceptance().rule(some)
    assert tags(ruling.apply) | tags(ruling.held) == tags(some)
    _, pieces = one_by_one(rng, some)
    assert tags(pieces.apply) == tags(ruling.apply)
    assert pieces.held == ruling.held
    assert text_of([op.update for op in pieces.apply]) == text_of([op.update for op in ruling.apply])


@EXAMPLES
@given(st.integers(0, 2**32), st.integers(1, 4))
def test_two_histories_of_one_author_are_resolved_alike_everywhere(seed: int, count: int) -> None:
    """A copied home writes on: whoever heard of both rules from nothing, and all come to one text."""
    rng = random.Random(seed)
    editors = [Editor("copied"), *(Editor(f"editor {number}") for number in range(count))]
    before = session(rng, editors, 8)
    copy = Editor("copied")
    copy.receive(list(editors[0].known.values()))
    copy.now = editors[0].now
    half = session(rng, editors, 12)
    other = session(rng, [copy, Editor("somebody else")], 12)
    ops = list({op.tag: op for op in before + half + other}.values())
    whole = EditAcceptance()
    ruling = whole.rule(ops)
    assert EditAcceptance().rule(rng.sample(ops, len(ops))) == ruling
    text = text_of([op.update for op in ruling.apply])
    for _ in range(2):
        ledger, pieces = one_by_one(rng, ops)
        assert ledger.is_tangled == whole.is_tangled
        if ledger.is_tangled:
            pieces = EditAcceptance().rule(rng.sample(ops, len(ops)))
        assert tags(pieces.apply) == tags(ruling.apply)
        assert (pieces.held, {refusal.op.tag for refusal in pieces.refused}) == (
            ruling.held,
            {refusal.op.tag for refusal in ruling.refused},
        )
        assert text_of([op.update for op in pieces.apply]) == text
