"""The edits between two texts: right for any texts, and small where people make small changes."""

import random
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.pages import text_difference, text_matching
from mesh.pages.text_difference import Edit, applied, edits, is_inside_cluster

PARAGRAPHS = [
    f"## Step {number}\n\nRun the command, wait for the answer, and write down number {number}.\n"
    f"Then the second line of {number} follows: the same words, the same end.\n"
    for number in range(6)
]
few_words = st.lists(
    st.sampled_from(["a", "the ", "word ", "\n", "\n\n", " ", "x.", "- item\n", "```\n", "é", "e\u0301"])
)
marked = st.lists(st.sampled_from(["e", "\u0301", "\u200d", "👩", "\ufe0f", "🏽", "🇩", "🇪", " ", "a", "\n"]))
texts = st.one_of(st.text(), few_words.map("".join), marked.map("".join))


def cost(changes: list[Edit]) -> int:
    return sum(edit.removed + len(edit.inserted) for edit in changes)


def check(old: str, new: str) -> list[Edit]:
    """The edits, after everything was checked that must hold for any two texts."""
    changes = edits(old, new)
    assert applied(old, changes) == new
    done = -1
    for edit in changes:
        assert edit.at > done, "in order, and no two edits meet"
        assert edit.removed or edit.inserted
        done = edit.at + edit.removed
    assert done <= len(old)
    return changes


@given(texts, texts)
def test_the_edits_make_the_new_text_of_any_old_one(old: str, new: str) -> None:
    """Any two texts, also unrelated ones."""
    check(old, new)


@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 9), texts), max_size=5), texts)
def test_any_changes_of_a_text_are_found(changes: list[tuple[int, int, str]], more: str) -> None:
    """A page changed in several places at once."""
    old = new = "".join(PARAGRAPHS) + more
    for place, removed, inserted in changes:
        at = place % (len(new) + 1)
        new = new[:at] + inserted + new[at + removed :]
    check(old, new)


@given(texts)
def test_equal_texts_have_no_edits(text: str) -> None:
    """Saving without a change makes nothing."""
    assert edits(text, text) == []


@pytest.mark.parametrize("source", range(6))
@pytest.mark.parametrize("target", range(6))
def test_a_moved_paragraph_costs_one_deletion_and_one_insertion(source: int, target: int) -> None:
    """And nothing else of the page is touched."""
    moved = PARAGRAPHS.copy()
    moved.insert(target, moved.pop(source))
    changes = check("\n".join(PARAGRAPHS), "\n".join(moved))
    if source == target:
        assert changes == []
        return
    assert len(changes) == 2
    assert sorted((bool(edit.removed), bool(edit.inserted)) for edit in changes) == [(False, True), (True, False)]
    assert cost(changes) <= 2 * (len(PARAGRAPHS[source]) + 1)


def test_a_line_moved_among_equal_ones_is_moved_alone() -> None:
    """Where nothing but the moved line stands once, the equal lines still stay."""
    assert check("odd\n" + 50 * "row\n", 50 * "row\n" + "odd\n") == [Edit(0, 4, ""), Edit(204, 0, "odd\n")]


def test_a_short_paragraph_changes_places_with_a_long_one() -> None:
    """It is the short one that is moved."""
    long = "".join(f"line {number} of the long one\n" for number in range(20))
    assert cost(check(f"short\n\n{long}\nend\n", f"{long}\nshort\n\nend\n")) == 2 * len("short\n\n")


def test_a_moved_sentence_is_moved_whole() -> None:
    """Within one line, by words."""
    first, second = "The first sentence is here. ", "The second one is a bit longer, the end. "
    assert check(first + second + "Third.", second + first + "Third.") == [
        Edit(0, len(first), ""),
        Edit(len(first + second), 0, first),
    ]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("one two three four", "one 2 three 4", [Edit(4, 3, "2"), Edit(14, 4, "4")]),
        ("run", "running", [Edit(3, 0, "ning")]),
        ("hello wor", "hello world foo", [Edit(9, 0, "ld foo")]),
        ("a", "banana", [Edit(0, 1, "banana")]),
        ("I went to the market", "You walked to our shop", [Edit(0, 20, "You walked to our shop")]),
        ("a b c", "a c", [Edit(2, 2, "")]),
        ("a c", "a b c", [Edit(2, 0, "b ")]),
        ("x\n\ny\n", "x\n\nnew\n\ny\n", [Edit(3, 0, "new\n\n")]),
        ("x\n", "x\ny\n", [Edit(2, 0, "y\n")]),
        ("", "x\n", [Edit(0, 0, "x\n")]),
        ("x\n", "", [Edit(0, 2, "")]),
        ("今日は天気がいいです", "明日は天気が悪いです", [Edit(0, 1, "明"), Edit(6, 1, "悪")]),
        ("a b\n", "a  b\n", [Edit(2, 0, " ")]),
    ],
)
def test_small_changes_make_small_edits(old: str, new: str, expected: list[Edit]) -> None:
    """The edits a person would name."""
    assert check(old, new) == expected


def test_unrelated_texts_are_replaced_whole() -> None:
    """Blank lines, brackets and single letters that happen to be equal hold nothing together."""
    old = "Gather all apples\n\n}\n\nbefore noon comes.\n"
    new = "Submarines dive\n\n}\n\nwithout their crew now\n"
    (change,) = check(old, new)
    assert change.removed >= len(old) - 2


def test_a_new_indentation_touches_blanks_only() -> None:
    """The words of the lines stay."""
    old = "".join(f"item {number}\n" for number in range(100))
    changes = check(old, "".join(f"  {line}\n" for line in old.splitlines()))
    assert {(edit.removed, edit.inserted) for edit in changes} == {(0, "  ")}
    assert len(changes) == 100


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("caf\u0065 x", "cafe\u0301 x"),
        ("e\u0301 x", "e\u0300 x"),
        ("👨‍👩‍👧 x", "👨‍👩‍👦 x"),
        ("👍 x", "👍🏽 x"),
        ("❤ x", "❤\ufe0f x"),
        ("🇩🇪 x", "🇩🇰 x"),
        ("🇩🇪🇩🇪 x", "🇩🇪 x"),
    ],
)
def test_no_edit_cuts_a_visible_character(old: str, new: str) -> None:
    """Marks, joined emoji, skin tones and flags are replaced whole."""
    for edit in check(old, new):
        assert not is_inside_cluster(old, edit.at)
        assert not is_inside_cluster(old, edit.at + edit.removed)
        assert not edit.inserted or not unicodedata.category(edit.inserted[0]).startswith("M")


def test_a_large_page_with_a_word_changed_in_every_line_keeps_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where it is too large to be compared word by word, and a line was added."""
    monkeypatch.setattr(text_difference, "_LARGE", 1000)
    rng = random.Random(5)
    lines = [[f"w{rng.randrange(300)}" for _ in range(8)] for _ in range(300)]
    old = "".join(" ".join(line) + "\n" for line in lines)
    new = "added\n" + "".join(" ".join([*line[:3], "changed", *line[4:]]) + "\n" for line in lines)
    assert cost(check(old, new)) < 300 * 12


def test_what_is_too_large_to_compare_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Work is bounded: with no room at all the edits are coarse, and still right."""
    monkeypatch.setattr(text_matching, "TABLE_CELLS", 0)
    rng = random.Random(3)
    old, new = ("".join(rng.choice(["a b c\n", "b b\n", "c a b\n"]) for _ in range(200)) for _ in range(2))
    assert len(check(old, new)) < 20


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("ab" * 100_000, "ba" * 100_000),
        ("\u0301" * 200_000, "\u0301" * 90_000 + "e" + "\u0301" * 90_000),
        ("a b " * 20_000, "b c " * 20_000),
        ("`" * 100_000 + "\n", " " * 100_000),
        ("\n" * 100_000, "\n \n" * 50_000),
        (" ".join(map(str, range(20_000))), " ".join(map(str, range(20_000, 0, -1)))),
    ],
)
def test_texts_made_to_be_slow_are_compared_in_bounded_time(old: str, new: str) -> None:
    """No outcome is asked but the right text; the test's own time limit is the bound."""
    check(old, new)
