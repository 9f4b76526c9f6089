"""Two changes of one text become one: nothing that either side wrote is lost."""

import itertools
import re
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.pages.text_merging import merge

Changes = list[tuple[int, int, int]]
texts = st.one_of(
    st.text(), st.lists(st.sampled_from(["a", "b ", "word ", "\n", "\n\n", " ", ".", "- item\n"])).map("".join)
)
# What one side does, in words of the base: at which place, how many it takes away, how many it writes.
side = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 4), st.integers(0, 3)), max_size=6)
breaks = st.lists(st.sampled_from([" ", " ", " ", "\n", "\n\n"]), min_size=30, max_size=30)


@given(texts, texts)
def test_one_side_alone_gives_its_text(base: str, text: str) -> None:
    """And the same change on both sides is made once."""
    assert merge(base, text, base) == text
    assert merge(base, base, text) == text
    assert merge(base, text, text) == text


@given(texts, texts, texts)
def test_any_three_texts_are_merged(base: str, mine: str, theirs: str) -> None:
    """Nothing raises, and a character that neither side has does not appear, but for what keeps words apart."""
    assert set(merge(base, mine, theirs)) <= set(mine + theirs + " \n")


def changed(words: list[str], gaps: list[str], changes: Changes, mark: str) -> tuple[str, set[str], set[str]]:
    """The text after one side's changes, the words it wrote and the words of the base it took away."""
    numbers = itertools.count()
    items = list(zip(words, gaps, strict=True))
    for place, gone, count in changes:
        at = place % (len(items) + 1)
        items[at : at + gone] = [(f"{mark}{next(numbers)}z", " ") for _ in range(count)]
    left = {word for word, _ in items}
    text = "".join(word + gap for word, gap in items)
    return text, left - set(words), set(words) - left


@given(st.integers(0, 30), breaks, side, side)
def test_every_word_of_either_side_stays_once(
    count: int, gaps: list[str], my_changes: Changes, their_changes: Changes
) -> None:
    """Unless the other side took it away; what one side took away of the base is gone."""
    words = [f"base{number}" for number in range(count)]
    gaps = gaps[:count]
    base = "".join(word + gap for word, gap in zip(words, gaps, strict=True))
    mine, my_words, my_gone = changed(words, gaps, my_changes, "mine")
    theirs, their_words, their_gone = changed(words, gaps, their_changes, "theirs")
    expected = my_words | their_words | (set(words) - my_gone - their_gone)
    assert Counter(re.findall(r"\w+", merge(base, mine, theirs))) == Counter(expected)


@pytest.mark.parametrize(
    ("base", "mine", "theirs", "expected"),
    [
        ("one two three", "one 2 three", "one two 3", "one 2 3"),
        ("The cat sat.", "The dog sat.", "The cow sat.", "The cow dog sat."),
        ("house", "hotel", "home", "home hotel"),
        ("cat", "cat alpha", "cats", "cats alpha"),
        ("cat", "alpha cat", "cats", "alpha cats"),
        ("colour", "colours", "Colour", "Colours"),
        ("x y", "x alpha y", "x", "x alpha "),
        ("a\nfoo\nb\n", "a\nfoo alpha.\nb\n", "a\nb\n", "a\n alpha.\nb\n"),
        ("a\nb\nc\n", "a\nc\n", "a\nc\nd\n", "a\nc\nd\n"),
        ("a\nb\nc\nd\n", "a\nd\n", "a\nb\n", "a\n"),
        ("l\n", "l\nmine\n", "l\ntheirs\n", "l\ntheirs\nmine\n"),
        ("l\n", "l\nfoo\n", "l\nfoo\nbar\n", "l\nfoo\nbar\n"),
        ("", "x\n", "y\n", "y\nx\n"),
        ("a b c d", "a X d", "a b Y d", "a X Y d"),
    ],
)
def test_changes_of_both_sides_meet(base: str, mine: str, theirs: str, expected: str) -> None:
    """The cases a person meets, each with its outcome."""
    assert merge(base, mine, theirs) == expected


def test_a_paragraph_moved_by_one_side_and_another_edited_by_the_other() -> None:
    """Both changes are there, and every paragraph once."""
    first, second, third = "First one here.\n", "Second, a longer one.\n", "Third of them.\n"
    base = f"{first}\n{second}\n{third}"
    theirs = base.replace("Second", "The second")
    assert merge(base, f"{third}\n{first}\n{second}", theirs) == f"{third}\n{first}\nThe second, a longer one.\n"
