"""A question as an index is asked it: which words, what they count, and that no text is too much."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clan_learnings.records.matching_tokens import split_words
from clan_learnings.search.filters import SearchFilters
from clan_learnings.search.keywords.search_table import WordSearch
from clan_learnings.search.question import Question, is_grammar
from tests.clan_learnings.records.notebooks import Notebook

TEXTS = (
    "git push to main gives HTTP_405: the branch is protected",
    "never commit with --no-verify",
    "the token is read in src/auth/token.ts by getUserById",
    "terraform plan needs the database of staging",
    "姓名按拼音排序要用 utf8mb4_zh_0900_as_cs",
    "the cache is filled at night",
)


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Notebook:
    """A few records, for reading only."""
    made = Notebook(Path(tmp_path_factory.mktemp("question")))
    for text in TEXTS:
        made.discover(text)
    return made


def asked(book: Notebook, text: str) -> dict[str, float]:
    """The words that are looked for."""
    return Question(book.memory(), text).words


def test_grammar_is_left_out(book: Notebook) -> None:
    """It finds nothing and takes long."""
    assert set(asked(book, "why doesn't the push to it work, and what's protected?")) == {"push", "protected"}


def test_grammar_is_looked_for_if_there_is_nothing_else(book: Notebook) -> None:
    """Somebody may ask for the very words."""
    assert set(asked(book, "to the")) == {"to", "the"}


def test_identifiers_are_asked_for_whole_and_in_parts(book: Notebook) -> None:
    """However they are spelled; and a flag is no grammar though `no` is."""
    assert {"http405", "http", "405"} <= set(asked(book, "HTTP_405"))
    assert {"getuserbyid", "get", "user"} <= set(asked(book, "get_user_by_id"))
    assert {"noverify", "no", "verify"} <= set(asked(book, "--no-verify"))


def test_two_forms_of_a_word_are_one(book: Notebook) -> None:
    """Else a word that was typed twice would weigh twice."""
    assert asked(book, "push pushed pushing PUSH") == {"push": 1.0}


def test_a_slip_counts_less_than_a_word(book: Notebook) -> None:
    """And what was meant is asked for in a form that has its stem."""
    words = asked(book, "terrafrom databse")
    assert words == {"terraform": 0.7, "database": 0.7}
    question = Question(book.memory(), "terrafrom")
    assert question.shared(book.memory().reader.part(WordSearch).stems(TEXTS[3])) == ["terraform for terrafrom"]
    assert asked(book, "verfiy") == {"verify": 0.7}


def test_what_a_record_shares_is_told_rarest_first(book: Notebook) -> None:
    """In the words of the question."""
    memory = book.memory()
    question = Question(memory, "the branches protected from HTTP_405 in the night")
    assert question.shared(memory.reader.part(WordSearch).stems(TEXTS[0])) == [
        "405",
        "branches",
        "http",
        "http405",
        "protected",
    ]
    assert question.shared(memory.reader.part(WordSearch).stems("something else")) == []


def test_an_unknown_word_makes_every_answer_less_good(book: Notebook) -> None:
    """The ideal answer would have it."""
    memory = book.memory()
    assert Question(memory, "cache").ideal < Question(memory, "cache kubernetes").ideal
    assert Question(memory, "kubernetes").words == {}


@pytest.mark.parametrize("chunk", ["the", "The", '"the', "isn't", "it\u2019s", "can't", "what's", "(and)", "we're"])
def test_words_that_only_join_others_are_known_in_every_form(chunk: str) -> None:
    """Contracted, quoted, at the beginning of a sentence."""
    assert is_grammar(chunk)


@pytest.mark.parametrize("chunk", ["--no-verify", "user's", "no_op", "not-found", "cache", "don", ""])
def test_words_with_grammar_in_them_are_not(chunk: str) -> None:
    """They name something."""
    assert not is_grammar(chunk)


def test_a_long_text_is_read_at_both_ends(book: Notebook) -> None:
    """And no more than some of it: a log may have ten thousand words."""
    noise = " ".join(f"noise{number}" for number in range(3000))
    assert {"terraform", "cache"} <= set(asked(book, f"terraform {noise} cache"))
    assert "terraform" not in asked(book, f"{noise} terraform {noise}")


ODD = [
    "",
    " ",
    '"',
    '" OR "',
    "NEAR(",
    "a AND NOT b*",
    "\0",
    "x" * 10_000,
    "\ud800",
    "🔥🔥",
    "包下载超时",
    "-",
    "'",
    "(" * 99,
]


@pytest.mark.parametrize("text", [*ODD, "word " * 3000, "'" * 5000, "a.b/c_d-e:" * 1000])
def test_no_text_is_an_error(book: Notebook, text: str) -> None:
    """Whatever is asked, there is an answer, and bounded work."""
    question = Question(book.memory(), text)
    assert len(question.words) <= 32
    book.memory().finder.by_words(question.words, SearchFilters(), 5)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
@given(text=st.text(max_size=80))
def test_any_text_can_be_asked(book: Notebook, text: str) -> None:
    """Words that are looked for are there, and count something."""
    memory = book.memory()
    question = Question(memory, text)
    assert all(
        0 < weight <= 1 and memory.reader.part(WordSearch).documents(word) for word, weight in question.words.items()
    )
    assert question.ideal >= 0


@given(st.text(max_size=60))
def test_words_are_runs_of_letters_and_digits(text: str) -> None:
    """The short way for ASCII is the long way."""
    assert split_words(text) == "".join(char if char.isalnum() else " " for char in text.lower()).split()
