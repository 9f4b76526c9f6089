"""One question in several scopes: what leaves out a busy pattern is found among what was found already."""

import random
from pathlib import Path
from typing import Any

import pytest

from clan_learnings.search.keywords import word_view
from clan_learnings.search.keywords.bm25 import Corpus
from clan_learnings.search.keywords.word_index import WordIndex
from clan_learnings.search.keywords.word_query import WordQuery, WordSnapshot
from clan_learnings.search.keywords.word_view import IndexScope, Ranking, WordDocument, WordView, open_index

WORDS = ("retry", "kernel", "socket", "use", "for")


def paper(number: int, chance: random.Random) -> WordDocument:
    """A record of a pattern, or of none, in words that many others have too."""
    pattern = chance.choice(["", "busy", "busy", "busy", "other"])
    facets = [f"pattern:{pattern}"] if pattern else []
    words = chance.choices(WORDS, k=chance.randint(1, 9))
    return WordDocument(number.to_bytes(8, "big") * 4, words, facets, chance.randint(1, 50), pattern)


def filled(folder: Path, seed: int) -> WordSnapshot:
    """An index of 400 records, of which some are not any more as it has them, and a few that it does not have."""
    chance = random.Random(seed)
    index = WordIndex(str(folder / "index"))
    index.clear()
    papers = [paper(number, chance) for number in range(1, 400)]
    index.put(papers)
    index.commit()
    view = WordView(open_index(index.folder))
    new = [paper(number, chance) for number in (*range(5, 400, 40), *range(400, 410))]
    hidden = frozenset(item.tag for item in (*new, *papers[7::50]))
    return WordSnapshot(view, hidden, new, Corpus(view.records, view.words, view.documents))


@pytest.mark.parametrize("looked_at", [1, 60, 300, 1000])
@pytest.mark.parametrize("patterns", [("busy",), ("busy", "other"), ("unknown",)])
def test_passing_a_pattern_finds_what_a_question_without_it_finds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, looked_at: int, patterns: tuple[str, ...]
) -> None:
    """Whether enough was found by then, or too little."""
    monkeypatch.setattr(word_view, "_LOOKED_AT", looked_at)
    scope = IndexScope(without=[f"pattern:{pattern}" for pattern in patterns])
    for seed in range(5):
        fresh = filled(tmp_path / str(seed), seed)
        stems = {"kernel": 1.0, "retry": 1.0, "use": 0.5}
        for count in (3, 30, 500):
            whole = WordQuery(fresh, stems, IndexScope())
            whole.best(30)
            assert whole.passing(patterns, scope).best(count) == WordQuery(fresh, stems, scope).best(count)


def test_a_pattern_is_passed_without_another_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless hardly anything else was found."""
    searches: list[int] = []
    search = Ranking._search

    def counted(ranking: Ranking, most: int, **order: str) -> list[tuple[Any, Any]]:
        searches.append(most)
        return search(ranking, most, **order)

    monkeypatch.setattr(Ranking, "_search", counted)
    fresh = filled(tmp_path, 1)
    whole = WordQuery(fresh, {"kernel": 1.0}, IndexScope())
    whole.best(30)
    assert len(searches) == 1
    assert whole.passing(["busy"], IndexScope(without=["pattern:busy"])).best(20)
    assert len(searches) == 1
    monkeypatch.setattr(word_view, "_LOOKED_AT", 45)
    few = WordQuery(fresh, {"kernel": 1.0}, IndexScope())
    few.best(20)
    assert few.passing(["busy"], IndexScope(without=["pattern:busy"])).best(20)
    assert len(searches) == 3
