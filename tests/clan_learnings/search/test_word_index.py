"""The index of words by itself: which candidates it gives where many weigh the same."""

from pathlib import Path

from clan_learnings.search.keywords.word_index import WordIndex
from clan_learnings.search.keywords.word_view import IndexScope, WordDocument, WordView, open_index


def tag(number: int) -> bytes:
    """A number is the key of its tag."""
    return number.to_bytes(8, "big") * 4


def filled(folder: Path, common: int, every: int) -> WordIndex:
    """So many records of one common word, of which every so-manieth has a rare one too; the later the newer."""
    index = WordIndex(str(folder / "index"))
    index.clear()
    index.put(
        WordDocument(tag(at), ["lesson", "rare"] if at % every == 0 else ["lesson", f"w{at}"], [], at)
        for at in range(1, common)
    )
    index.commit()
    return index


def test_of_many_equals_the_newest_are_given_though_others_are_newer(tmp_path: Path) -> None:
    """Not the newest of all that have any of the words: those weigh less."""
    view = WordView(open_index(filled(tmp_path, 3000, 40).folder))
    ranking = view.ranked({"lesson": 1.0, "rare": 1.0}, IndexScope())
    ranking.give(10, frozenset())
    assert set(range(2960, 2560, -40)) <= ranking.places.keys()


def test_more_equals_than_are_looked_through_still_give_the_newest(tmp_path: Path) -> None:
    """Of thousands that weigh the same, those that came last are there."""
    view = WordView(open_index(filled(tmp_path, 5000, 10_000).folder))
    ranking = view.ranked({"lesson": 1.0}, IndexScope())
    ranking.give(10, frozenset())
    assert set(range(4990, 5000)) <= ranking.places.keys()
