"""Which places of a page are to be read over: those that two changed without having seen each other, and no others."""

import random
from itertools import combinations, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mesh.core.ids import digest
from mesh.pages.blame import Annotated
from mesh.pages.conflicts import Ancestry, Conflict, conflicts, marked
from mesh.pages.edit_acceptance import PageOp
from mesh.pages.text_difference import Edit, edits
from tests.pages.writers import Writer, history, meet

PAGE = "# Fox\n\nThe quick fox jumps.\n\nThe dog sleeps.\n\nThe cat is away.\n"


def pair(text: str = PAGE) -> tuple[Writer, Writer]:
    """Two who have the same page."""
    ann, bob = Writer("ann"), Writer("bob")
    ann.save(text)
    meet(ann, bob)
    return ann, bob


def found(*writers: Writer, settled: tuple[bytes, ...] = ()) -> list[Conflict]:
    """The conflicts after all have met."""
    meet(*writers)
    ops, deltas = history(*writers)
    return conflicts(writers[0].text, ops, deltas, settled)


def both_ways(one: tuple[str, str], other: tuple[str, str], text: str = PAGE) -> list[list[Conflict]]:
    """Ann makes one change and Bob the other, unseen: with hers applied before his, and after."""
    results = []
    for minutes in ((0, 10), (10, 0)):
        ann, bob = pair(text)
        ann.minute += minutes[0]
        bob.minute += minutes[1]
        ann.replace(*one)
        bob.replace(*other)
        results.append(found(ann, bob))
    return results


def lines(places: list[Conflict]) -> list[tuple[int, int]]:
    return [(place.line, place.last) for place in places]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("fox jumps", "fox leaps"), ("dog sleeps", "dog snores")),
        (("# Fox\n", "# Fox\n\nA new paragraph.\n"), ("away.\n", "away.\n\nAnother one.\n")),
        (("The dog", "- first\n\nThe dog"), ("The cat", "- second\n\nThe cat")),
        (("The dog sleeps.\n\n", ""), ("is away", "has gone")),
        (("The dog sleeps.\n\n", ""), ("fox jumps", "fox leaps")),
        (("The dog sleeps.\n\n", ""), ("The cat", "Her cat")),
        (("jumps.\n", "jumps.\n\nA new paragraph.\n"), ("fox jumps", "fox leaps")),
        (("The dog", "A new paragraph.\n\nThe dog"), ("dog sleeps", "dog snores")),
        (("The dog sleeps.\n\n", ""), ("The dog sleeps.\n\n", "")),
        (("# Fox\n", "# Foxes\n"), ("# Fox\n", "# Fox\n\nA new paragraph.\n")),
    ],
)
def test_changes_of_different_places_are_no_conflict(one: tuple[str, str], other: tuple[str, str]) -> None:
    """Other paragraphs, new paragraphs elsewhere, new ones beside a changed one, and the same deletion."""
    assert both_ways(one, other) == [[], []]


@pytest.mark.parametrize(
    ("one", "other", "place"),
    [
        (("quick", "slow"), ("quick", "red"), "fox"),  # both replace one word
        (("quick", "slow"), ("jumps", "leaps"), "The slow fox leaps."),  # two words of one sentence
        (("quick ", ""), (" jumps", ""), "The fox."),  # both delete something
        (("quick ", "quick and\n"), ("jumps", "leaps"), "fox leaps."),  # one splits the line, the other edits behind
        (("quick ", "quick and\n"), ("The quick", "A quick"), "A quick and"),  # or before
        (("jumps.\n\n", "jumps. "), ("quick", "slow"), "The slow fox jumps. The dog sleeps."),  # joined with the next
        (("The quick fox jumps.", ""), ("quick", "quick brown"), "brown"),  # an edit in a sentence that is deleted
    ],
)
def test_two_changes_of_one_line_are_a_conflict(one: tuple[str, str], other: tuple[str, str], place: str) -> None:
    """Whoever's was applied first, the line is marked and both are named."""
    for places in both_ways(one, other):
        assert len(places) == 1
        assert place in places[0].text
        assert {edit.node for edit in places[0].edits} == {Writer("ann").node, Writer("bob").node}


def test_an_edit_in_a_paragraph_that_was_deleted_is_marked() -> None:
    """It survives in the middle of nothing, and lands beside the next text: somebody should look at that."""
    for places in both_ways(("The dog sleeps.\n\n", ""), ("dog sleeps", "dog and puppy sleep")):
        assert len(places) == 1
        assert "puppy" in places[0].text
        ann = next(edit for edit in places[0].edits if edit.node == Writer("ann").node)
        assert "dog" in "".join(ann.deleted)


def test_a_line_inserted_among_lines_that_were_deleted_is_marked() -> None:
    """The line stands whole, but what it belonged to is gone."""
    text = "top\n\none\ntwo\nthree\n\nend\n"
    for places in both_ways(("one\ntwo\nthree\n\n", ""), ("two\n", "two\nnew\n"), text):
        assert [place.text for place in places] == ["new"]
        assert len(places[0].edits) == 2


def test_paragraphs_put_at_one_spot_are_one_place() -> None:
    """Both stand there, one after the other, with the blank line between them."""
    for places in both_ways(
        ("jumps.\n", "jumps.\n\nAnn's one.\nHer second line.\n"), ("jumps.\n", "jumps.\n\nBob's one.\n")
    ):
        (place,) = places
        assert sorted(filter(None, place.text.split("\n"))) == ["Ann's one.", "Bob's one.", "Her second line."]
        assert sorted(edit.inserted for edit in place.edits) == [("Ann's one.", "Her second line."), ("Bob's one.",)]


def test_items_appended_to_a_list_at_once_are_one_place() -> None:
    """Adjacent lines, no blank one between."""
    for places in both_ways(("- b\n", "- b\n- from ann\n"), ("- b\n", "- b\n- from bob\n"), "- a\n- b\n"):
        assert lines(places) == [(3, 4)]


def test_those_who_edit_in_turn_and_have_seen_each_other_have_no_conflict() -> None:
    """The same sentence, again and again."""
    ann, bob = pair()
    for number in range(6):
        writer = (ann, bob)[number % 2]
        writer.save(writer.text.replace("jumps", f"jumps {number}"))
        meet(ann, bob)
    assert found(ann, bob) == []


def test_one_who_has_seen_both_and_changes_the_place_ends_the_conflict() -> None:
    """An edit of another line does not."""
    ann, bob = pair()
    ann.replace("quick", "slow")
    bob.replace("jumps", "leaps")
    assert lines(found(ann, bob)) == [(3, 3)]
    ann.replace("dog", "hound")
    assert lines(found(ann, bob)) == [(3, 3)]
    bob.replace("fox", "vixen")
    assert found(ann, bob) == []


def test_an_edit_by_one_who_had_seen_only_one_of_them_does_not_end_it() -> None:
    """Cat had not heard of Bob."""
    ann, bob, cat = Writer("ann"), Writer("bob"), Writer("cat")
    ann.save(PAGE)
    meet(ann, bob, cat)
    ann.replace("quick", "slow")
    cat.hear(ann)
    cat.replace("fox", "vixen")
    bob.replace("jumps", "leaps")
    (place,) = found(ann, bob, cat)
    assert {edit.node for edit in place.edits} == {ann.node, bob.node, cat.node}


def test_paragraphs_at_one_spot_are_settled_by_an_edit_of_either() -> None:
    """Whoever changed one of them had the other before their eyes."""
    ann, bob = pair()
    ann.replace("jumps.\n", "jumps.\n\nAnn's one.\n")
    bob.replace("jumps.\n", "jumps.\n\nBob's one.\n")
    meet(ann, bob)
    ann.replace("Bob's one", "Bob's two")
    assert found(ann, bob) == []


def test_what_was_read_over_is_marked_no_more_until_somebody_edits_unseen_again() -> None:
    """`settled` covers what its operations had seen, not what came besides."""
    ann, bob = pair()
    first = ann.replace("quick", "slow")
    second = bob.replace("jumps", "leaps")
    heads = (first.tag[:8], second.tag[:8])
    assert lines(found(ann, bob)) == [(3, 3)]
    assert lines(found(ann, bob, settled=heads[:1])) == [(3, 3)]
    assert found(ann, bob, settled=heads) == []
    assert found(ann, bob, settled=(*heads, b"whatever")) == []
    ann.replace("slow", "lazy")
    bob.replace("leaps", "hops")
    (place,) = found(ann, bob, settled=heads)
    assert {part for edit in place.edits for part in edit.inserted} >= {"lazy"}


def test_paragraphs_at_one_spot_can_be_read_over_too() -> None:
    """As above, for lines that neither changed."""
    ann, bob = pair()
    first = ann.replace("jumps.\n", "jumps.\n\nAnn's one.\n")
    second = bob.replace("jumps.\n", "jumps.\n\nBob's one.\n")
    assert len(found(ann, bob)) == 1
    assert found(ann, bob, settled=(first.tag[:8], second.tag[:8])) == []


def test_two_epochs_of_one_node_are_no_conflict() -> None:
    """One person cannot contradict themselves here."""
    ann, again = Writer("ann"), Writer("ann", epoch=2)
    ann.save(PAGE)
    meet(ann, again)
    ann.replace("quick", "slow")
    again.replace("jumps", "leaps")
    assert found(ann, again) == []


def test_lines_above_the_text_are_counted() -> None:
    """Front matter stands before the body in the page people see."""
    ann, bob = pair()
    ann.replace("quick", "slow")
    bob.replace("quick", "red")
    meet(ann, bob)
    ops, deltas = history(ann)
    (place,) = conflicts("---\nsort: animal\n---\n" + ann.text, ops, deltas)
    assert (place.line, place.last) == (6, 6)
    assert place.text.startswith("The ")
    with pytest.raises(ValueError, match="not the text"):
        conflicts(ann.text + "more\n", ops, deltas)


def test_a_marked_page_says_who_and_when_and_what_was_deleted() -> None:
    """Before and behind the place; the rest of the page as it is."""
    ann, bob = pair("One.\nThe quick fox jumps.\nThree.\n")
    ann.replace("quick ", "")
    bob.minute += 2
    bob.replace("jumps", "leaps\tup")
    names = {ann.node: "ann·abcde", bob.node: "bob·fghij"}
    (place,) = found(ann, bob)
    bobs = Conflict(place.line, place.last, place.text, (place.edits[0], place.edits[1]._replace(deleted=("jumps\n",))))
    assert marked(ann.text, [bobs], names.__getitem__).split("\n") == [
        "One.",
        ">>> edited at once by ann·abcde (2026-11-16 10:02) and bob·fghij (2026-11-16 10:04)",
        "The fox leaps\tup.",
        '--- ann·abcde deleted "quick "',
        '--- bob·fghij deleted "jumps\\n"',
        "<<<",
        "Three.",
        "",
    ]
    assert marked(ann.text, [], names.__getitem__) == ann.text


def test_three_at_once_are_all_named_and_a_long_deletion_is_cut() -> None:
    """Each once, however often they saved."""
    ann, bob, cat = Writer("ann"), Writer("bob"), Writer("cat")
    ann.save("start " + "x" * 300 + " end\n")
    meet(ann, bob, cat)
    ann.replace("start", "begin")
    ann.replace("begin", "beginning")
    bob.replace("end", "stop")
    cat.replace("x" * 300 + " ", "")
    places = found(ann, bob, cat)
    shown = marked(ann.text, places, {w.node: w.name for w in (ann, bob, cat)}.__getitem__).split("\n")
    assert shown[0].count("ann") == shown[0].count("bob") == shown[0].count("cat") == 1
    assert ", " in shown[0]
    assert shown[-2] == "<<<"
    assert any(line.startswith("--- cat deleted") and line.endswith("…") and "x" * 200 in line for line in shown)


@given(st.integers(0, 2**32))
def test_of_all_pairs_those_that_nobody_has_seen_together_are_found(seed: int) -> None:
    """The short way, by the newest of each stream, against the definition: every pair, every witness."""
    rng = random.Random(seed)
    ops: list[PageOp] = []
    for number in range(rng.randint(2, 14)):
        heads = tuple(op.tag[:8] for op in rng.sample(ops, min(len(ops), rng.randint(0, 2))))
        ops.append(PageOp(0, number, digest(b"%d" % rng.randrange(4)), digest(b"tag %d" % number), 1, heads, b""))
    line = [[Edit(0, 0, "ab"[number % 2])] for number in range(len(ops))]
    settled = [op.tag[:8] for op in rng.sample(ops, rng.randint(0, 2))]
    seen = Ancestry(ops)
    read = seen.seen_from(settled)
    everyone = range(len(ops))
    open_pairs = [
        (one, other)
        for one, other in combinations(everyone, 2)
        if ops[one].node != ops[other].node
        and seen.are_apart(one, other)
        and not any(seen.saw(witness, one) and seen.saw(witness, other) for witness in everyone)
        and not {one, other} <= read
    ]
    places = conflicts(Annotated(line).text, ops, line, settled)
    expected = {ops[number].tag for couple in open_pairs for number in couple}
    assert {edit.tag for place in places for edit in place.edits} == expected


def change(rng: random.Random, text: str) -> list[Edit]:
    """What somebody might do to a text: words, lines, paragraphs; moved, put in, taken out."""
    rows = text.split("\n")
    row = rng.randrange(len(rows))
    match rng.randrange(5):
        case 0:
            rows.insert(row, rng.choice(("new line", "", "para\n", "- item")))
        case 1:
            del rows[row : row + rng.randint(1, 3)]
        case 2:
            rows.insert(rng.randrange(len(rows)), rows.pop(row))
        case _:
            words = rows[row].split(" ")
            words[rng.randrange(len(words))] = rng.choice(("", "word", "two words", "spl\nit", "漢🦊"))
            rows[row] = " ".join(words)
    return edits(text, "\n".join(rows))


@settings(max_examples=40)
@given(st.integers(0, 2**32))
def test_whatever_is_edited_at_once_the_places_are_sound(seed: int) -> None:
    """Random editors who now and then hear of each other: no crash, places in order, each by two nodes at the least."""
    rng = random.Random(seed)
    writers = [Writer(name) for name in ("ann", "bob", "cat")[: rng.randint(2, 3)]]
    writers[0].save("one two\n\nthree four five\nsix\n\nseven\n")
    meet(*writers)
    for _ in range(rng.randint(2, 16)):
        writer = rng.choice(writers)
        if rng.random() < 0.3:
            writer.hear(rng.choice(writers))
        delta = change(rng, writer.text)
        if delta:
            writer.make(delta)
    places = found(*writers)
    text = writers[0].text
    assert all(before.last + 1 < after.line for before, after in pairwise(places))
    for place in places:
        assert text.split("\n")[place.line - 1 : place.last] == place.text.split("\n")
        assert len({edit.node for edit in place.edits}) >= 2
    shown = marked(text, places, lambda node: "x").split("\n")
    notes = [line for line in shown if line == "<<<" or line.startswith((">>> ", "--- "))]
    assert [line for line in shown if line not in notes] == text.split("\n")
    ops, _ = history(*writers)
    assert found(*writers, settled=tuple(op.tag[:8] for op in ops)) == []


@settings(max_examples=30)
@given(st.integers(0, 2**32))
def test_those_who_always_saw_everything_never_have_a_conflict(seed: int) -> None:
    """Any edits at all, one after the other."""
    rng = random.Random(seed)
    writers = [Writer(name) for name in ("ann", "bob", "cat")]
    for _ in range(rng.randint(1, 10)):
        writer = rng.choice(writers)
        delta = change(rng, writer.text)
        if delta:
            writer.make(delta)
            meet(*writers)
    assert found(*writers) == []
