"""Slips of the fingers: which words may have been meant, and when that is better not guessed."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clan_learnings.search.question import distance, may_be_misspelt, nearest

INDEX = ["allow", "core", "dubiou", "elasticsearch", "environ", "field", "kernel", "queri", "repositori", "scope"]
INDEX += ["stabl", "stale", "still", "terraform", "transact", "transform"]
WORDS = st.text(string.ascii_lowercase, min_size=1, max_size=12)


def terms(start: str, count: int) -> list[str]:
    """The words of a small index."""
    return [term for term in INDEX if term.startswith(start)][:count]


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("terrafrom", "terraform"),
        ("elastcsearch", "elasticsearch"),
        ("kernal", "kernel"),
        ("feild", "field"),
        ("qurei", "queri"),
        ("repositroi", "repositori"),
        ("enviroon", "environ"),
        ("lalow", "allow"),
        ("alllow", "allow"),
    ],
)
def test_what_was_meant_is_found(typed: str, meant: str) -> None:
    """Two letters swapped, one missing, one too many, another one."""
    assert nearest(typed, terms) == ([meant], 1)


def test_a_long_word_may_have_two_slips() -> None:
    """A short one with two is another word."""
    assert nearest("elastcsaerch", terms) == (["elasticsearch"], 2)
    assert nearest("fld", terms)[0] == nearest("kirnal", terms)[0] == []


def test_nothing_is_guessed_where_it_could_be_many() -> None:
    """`stall` is a word; that nobody wrote it does not make it another."""
    assert nearest("stall", terms)[0] == []
    assert nearest("score", terms)[0] == ["scope"]  # and not `core`: few slip at the first letter
    assert nearest("translat", terms)[0] == []


def test_only_words_are_misspelt() -> None:
    """Numbers, identifiers, short words and scripts without letters are what they are."""
    assert may_be_misspelt("kernal")
    for word in ("fld", "h264x", "x" * 33, "包下载超", ""):
        assert not may_be_misspelt(word)


def slow_distance(one: str, other: str) -> int:
    """The definition, letter by letter."""
    if not one or not other:
        return len(one) + len(other)
    far = min(
        slow_distance(one[1:], other) + 1,
        slow_distance(one, other[1:]) + 1,
        slow_distance(one[1:], other[1:]) + (one[0] != other[0]),
    )
    if len(one) > 1 and len(other) > 1 and one[:2] == other[1] + other[0]:
        far = min(far, slow_distance(one[2:], other[2:]) + 1)
    return far


@given(st.text("ab", max_size=5), st.text("ab", max_size=5), st.integers(0, 3))
def test_the_distance_is_that_of_the_definition(one: str, other: str, most: int) -> None:
    """And it stops where it need not be known."""
    assert distance(one, other, most) == min(slow_distance(one, other), most + 1)


@given(st.text(string.ascii_lowercase, min_size=4, max_size=20), st.lists(WORDS))
def test_what_is_found_is_near_and_in_the_index(word: str, index: list[str]) -> None:
    """Whatever the index holds."""
    found, far = nearest(word, lambda start, count: [term for term in index if term.startswith(start)][:count])
    assert all(term in index and distance(word, term, 2) == far for term in found)
    assert len(found) <= 2
