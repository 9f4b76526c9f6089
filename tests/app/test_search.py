"""A search as every door asks it: what cannot be is refused, and the answer says what it was found by."""

from pathlib import Path
from typing import Any

import pytest

from clan_learnings.records.memory import Memory
from clan_learnings.search.finder import KeywordFinder
from mesh.app.search import search_answer
from mesh.core.errors import UsageError
from mesh.node.openapi import document
from mesh.store.reader import Reader
from tests.clan_learnings.records.notebooks import REPO, Notebook
from tests.clan_learnings.search.test_record_search import Meanings


@pytest.fixture
def book(tmp_path: Path) -> Notebook:
    """An empty notebook."""
    return Notebook(tmp_path)


def asked(
    book: Notebook, query: str, given: dict[bytes, float] | None = None, *, limit: int = 10, **filters: Any
) -> dict[str, Any]:
    """An answer. `given`: the cosines of records that have one; None without vectors."""
    reader = Reader(book.author.store.database.connection)
    memory = Memory(reader, finder=KeywordFinder(reader) if given is None else Meanings(reader, given))
    return search_answer(memory, query, REPO, lambda: (), limit=limit, min_relevance=0.0, **filters)


def test_an_answer_says_what_it_was_found_by(book: Notebook) -> None:
    """A question that could not be embedded was answered by its words, though there are vectors."""
    tag = book.discover("the queue is full")
    assert asked(book, "queue")["by"] == "keywords"
    assert asked(book, "queue", {tag: 0.7})["by"] == "keywords and vectors"
    assert asked(book, "queue", {})["by"] == "keywords"
    assert asked(book, "zeppelin", {})["by"] == "keywords and vectors"


@pytest.mark.parametrize("query", ["--", "\N{ROCKET}", "?!", "\u200b"])
def test_a_question_without_a_letter_or_digit_finds_nothing_by_meaning_either(book: Notebook, query: str) -> None:
    """Every record has some cosine with it. It is no error: somebody may paste anything."""
    tag = book.discover("the queue is full", tags=["Redis"])
    for given in (None, {tag: 0.9}):
        answer = asked(book, query, given, tags=["redis"])
        assert (answer["results"], answer["pages"], answer["tags_alike"]) == ([], [], [])
        assert "no letter and no digit" in answer["says"]
    assert asked(book, "7", {tag: 0.9})["says"] == ""


@pytest.mark.parametrize("filters", [{"limit": 0}, {"limit": 101}, {"tags": [" ", ""]}, {"tier": "lukewarm"}])
def test_what_cannot_be_is_refused(book: Notebook, filters: dict[str, Any]) -> None:
    """Not put right in silence."""
    with pytest.raises(UsageError) as refused:
        asked(book, "queue", **filters)
    assert refused.value.next_step


def test_tags_in_other_letters_are_named_if_nothing_fits(book: Notebook) -> None:
    """Only those of records that would fit."""
    book.discover("the queue is full", tags=["Redis", "x"])
    book.discover("the door is shut", tags=["REDIS"])
    assert asked(book, "queue", tags=["redis "])["tags_alike"] == ["Redis"]
    assert asked(book, "queue", tags=["Redis "])["tags_alike"] == []
    assert asked(book, "queue", tags=["y"])["tags_alike"] == []


def test_bounds_are_described() -> None:
    """As they are checked."""
    parameters = document("1")["paths"]["/search"]["get"]["parameters"]
    schemas = {parameter["name"]: parameter["schema"] for parameter in parameters}
    assert (schemas["limit"]["minimum"], schemas["limit"]["maximum"]) == (1, 100)
    assert (schemas["author"]["minLength"], schemas["tags"]["minItems"]) == (1, 1)
    assert "minLength" not in schemas["repo"]
