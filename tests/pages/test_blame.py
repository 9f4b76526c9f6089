"""Who wrote which part of a page, after real histories of it."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.core.errors import Malformed
from mesh.pages.blame import Annotated, EditSize, summary
from mesh.pages.text_difference import Edit, applied
from tests.pages.writers import Writer, history, meet


def test_every_part_of_the_text_is_of_the_operation_that_inserted_it() -> None:
    """A word put into somebody's sentence cuts it in two runs."""
    annotated = Annotated([[Edit(0, 0, "the fox\n")], [Edit(4, 0, "quick ")], [Edit(13, 0, "!"), Edit(14, 0, "end\n")]])
    assert annotated.text == "the quick fox!\nend\n"
    assert list(annotated.runs()) == [("the ", 0), ("quick ", 1), ("fox", 0), ("!", 2), ("\n", 0), ("end\n", 2)]


def test_a_deletion_is_remembered_where_it_was_and_moves_along() -> None:
    """What is written before it moves the mark; what is deleted around it keeps it."""
    annotated = Annotated([[Edit(0, 0, "the quick brown fox\n")], [Edit(4, 6, "")], [Edit(0, 0, "see: ")]])
    assert annotated.text == "see: the brown fox\n"
    assert list(annotated.marks()) == [(9, "quick ", 1)]
    annotated.apply([Edit(5, 10, "")])
    assert annotated.text == "see: fox\n"
    assert list(annotated.marks()) == [(5, "quick ", 1), (5, "the brown ", 3)]


def test_an_operation_that_did_nothing_here_counts_as_one() -> None:
    """Two who delete the same: the second finds nothing, and those behind it keep their numbers."""
    annotated = Annotated([[Edit(0, 0, "ab")], [Edit(0, 1, "")], [], [Edit(0, 0, ""), Edit(1, 0, "c")]])
    assert (annotated.text, list(annotated.runs())) == ("bc", [("b", 0), ("c", 3)])


def test_real_updates_give_runs_of_their_authors() -> None:
    """Two writers, one text: every character is of the one who wrote it."""
    ann, bob = Writer("ann"), Writer("bob")
    ann.save("The fox jumps.\nThe dog sleeps.\n")
    meet(ann, bob)
    ann.replace("fox", "quick 🦊")
    bob.replace("sleeps", "lies down")
    meet(ann, bob)
    ops, deltas = history(ann)
    annotated = Annotated(deltas)
    assert annotated.text == ann.text == "The quick 🦊 jumps.\nThe dog lies down.\n"
    by = {
        name: "".join(text for text, op in annotated.runs() if ops[op].node == w.node)
        for name, w in (("a", ann), ("b", bob))
    }
    assert "quick 🦊" in by["a"]
    assert "lies down".startswith(by["b"][:3])
    assert not set(by["b"]) & set("quick🦊") - set("i")


def test_a_summary_counts_what_was_inserted_and_removed() -> None:
    """Units as the page's clock counts them: a character outside the basic plane is two."""
    ann = Writer("ann")
    first = ann.save("fox 🦊\n")
    second = ann.make([Edit(0, 3, "ox")])
    assert summary(first) == EditSize(7, 0)
    assert summary(second) == EditSize(2, 3)
    with pytest.raises(Malformed):
        summary(first._replace(update=b"\xff"))


@given(st.integers(0, 2**32))
def test_whatever_is_edited_the_parts_make_the_text(seed: int) -> None:
    """Random edits, several an operation: runs and marks against a model that labels every single character."""
    rng = random.Random(seed)
    annotated, text = Annotated(), ""
    labels: list[int] = []
    gone = 0
    for op in range(rng.randint(1, 60)):
        delta: list[Edit] = []
        at = 0
        while at <= len(text) and len(delta) < rng.randint(0, 4):
            at = rng.randint(at, len(text))
            removed = min(rng.choice((0, 0, 1, 3, 40)), len(text) - at)
            delta.append(Edit(at, removed, rng.choice(("", "x", "\n", "word ", "line\n", "\nline", "two\nlines\n"))))
            at += removed + 1
        for edit in reversed(delta):
            labels[edit.at : edit.at + edit.removed] = [op] * len(edit.inserted)
            gone += edit.removed
        text = applied(text, delta)
        annotated.apply(delta)
        assert annotated.text == text
    assert "".join(part for part, _ in annotated.runs()) == text
    assert [op for part, op in annotated.runs() for _ in part] == labels
    assert sum(len(deleted) for _, deleted, _ in annotated.marks()) == gone
    assert all(0 <= at <= len(text) for at, _, _ in annotated.marks())


def test_thousands_of_edits_are_kept_in_order() -> None:
    """More pieces than one chunk holds, and a deletion across many of them."""
    rng = random.Random(5)
    annotated, text = Annotated([[Edit(0, 0, "0123456789\n" * 400)]]), "0123456789\n" * 400
    for op in range(1, 3000):
        delta = [Edit(rng.randrange(len(text) - 5), rng.randint(0, 4), f"<{op}>")]
        text = applied(text, delta)
        annotated.apply(delta)
    annotated.apply([Edit(100, len(text) - 200, "")])
    assert annotated.text == "".join(part for part, _ in annotated.runs()) == text[:100] + text[-100:]
    assert (100, text[100:-100], 3000) in list(annotated.marks())
