"""Not the same thing twice, and nothing lost by that."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clan_learnings.records.record import Note
from clan_learnings.search.diversity import ResultText, diverse, grouped
from mesh.store.entries import Entry

LEXICON: dict[str, int] = {}


def saying(text: str, number: int = 0, pattern: str = "", **record: Any) -> ResultText:
    """A discovery, or a correction if it says what is right."""
    log = "corrections" if "right" in record else "discoveries"
    entry = Entry(number.to_bytes(4, "big"), log, number, b"", record or {"text": text})
    return ResultText(Note(entry, {}), LEXICON, pattern)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("the tests need Redis", "the tests need Redis"),
        ("The tests need Redis.", "tests need redis"),
        ("run the linter before a commit", "before a commit, run the linter"),
        ("deploys run in the CI", "a deploy runs in the CI"),
        ("delete the folder dist", "remove the directory dist"),
    ],
)
def test_the_same_in_other_words_is_shown_once(one: str, other: str) -> None:
    """Order, inflection, grammar and plain synonyms say nothing new."""
    assert saying(one).is_same_as(saying(other))
    assert saying(other).is_same_as(saying(one))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("the tests need Redis 6", "the tests need Redis 7"),
        ("the tests need Redis", "the tests need Postgres"),
        ("deploy the web app with make", "deploy the api app with make"),
        ("the timeout is 30 s", "the timeout is 30 minutes"),
        ("commit with --no-verify", "commit with --verify"),
        ("run the linter", "never run the linter"),
        ("run the linter before the tests", "run the linter after the tests"),
        ("set REDIS_URL for the tests", "set REDIS_HOST for the tests"),
        ("builds run on mac-mini-1", "builds run on mac-mini-2"),
        ("the tests need Redis", "the tests need Redis on Windows"),
    ],
)
def test_what_differs_in_a_number_a_name_or_a_not_is_shown(one: str, other: str) -> None:
    """It may be what was looked for."""
    assert not saying(one).is_same_as(saying(other))
    assert not saying(other).is_same_as(saying(one))


def test_corrections_of_one_mistake_are_shown_once() -> None:
    """Each session words it in its own way; what they are counted under tells that they mean the same."""
    one: dict[str, Any] = {"wrong": "npm install", "right": "pnpm install in this repo"}
    other: dict[str, Any] = {"wrong": "ran npm again", "right": "use pnpm for the lockfile"}
    assert saying("", pattern="use-pnpm", **one).is_same_as(saying("", pattern="use-pnpm", **other))
    assert not saying("", pattern="use-pnpm", **one).is_same_as(saying("", pattern="other", **other))
    assert not saying("", **one).is_same_as(saying("", **other))


def test_even_those_are_told_apart_by_numbers_and_identifiers() -> None:
    """A pattern that was given by hand may hold anything."""
    one: dict[str, Any] = {"wrong": "node 18", "right": "use node 20"}
    other = one | {"right": "use node 22"}
    assert not saying("", pattern="node", **one).is_same_as(saying("", pattern="node", **other))


WORDS = st.sampled_from(
    ["redis", "the", "7", "8", "--fix", "src/a.ts", "run", "tests", "not", "API_KEY", "never", "zorb"]
)
PHRASES = st.lists(WORDS, max_size=6).map(" ".join)
NAMES = ("redis", "7", "8", "--fix", "src/a.ts", "API_KEY", "zorb")


@given(st.lists(PHRASES, max_size=12), st.integers(1, 12))
def test_no_number_and_no_name_is_ever_hidden(texts: list[str], most: int) -> None:
    """What stands for others has every name and number that they have."""
    kept, others = grouped([saying(text, number) for number, text in enumerate(texts)], most)
    assert len(kept) == len(others) <= most
    for one, same in zip(kept, others, strict=True):
        for note in same:
            assert [name for name in NAMES if name in note.text.split()] == [
                name for name in NAMES if name in one.text.split()
            ]
    shown = [one.note.tag for one in kept] + [note.tag for same in others for note in same]
    assert len(shown) == len(set(shown))
    if most >= len(texts):
        assert len(shown) == len(texts)


@given(st.lists(st.tuples(st.floats(0, 1), PHRASES), max_size=10), st.integers(0, 12))
def test_choosing_loses_and_doubles_nothing_and_begins_with_the_best(rows: list[tuple[float, str]], count: int) -> None:
    """And it is the same each time."""
    rows.sort(key=lambda row: -row[0])
    scores, sayings = [row[0] for row in rows], [saying(row[1]) for row in rows]
    chosen = diverse(scores, sayings, count)
    assert len(chosen) == len(set(chosen)) == min(count, len(rows))
    assert chosen[:1] == [0][: len(chosen)]
    assert chosen == diverse(scores, sayings, count)


def test_of_equally_good_ones_the_different_comes_first() -> None:
    """But what is clearly better is not passed over for that."""
    sayings = [saying("redis for the tests"), saying("redis for the old tests"), saying("a cache in front")]
    assert diverse([0.9, 0.9, 0.88], sayings, 3) == [0, 2, 1]
    assert diverse([0.9, 0.9, 0.6], sayings, 3) == [0, 1, 2]
