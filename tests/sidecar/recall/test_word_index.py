"""The index of words by itself: which candidates it gives where many weigh the same."""

from pathlib import Path

from mesh.sidecar.recall.word_index import Paper, Scope, WordIndex


def tag(number: int) -> bytes:
    """A number is the key of its tag."""
    return number.to_bytes(8, "big") * 4


def filled(folder: Path, common: int, every: int) -> WordIndex:
    """So many records of one common word, of which every so-manieth has a rare one too; the later the newer."""
    index = WordIndex(str(folder / "index"))
    index.clear()
    index.put(
        Paper(tag(at), ["lesson", "rare"] if at % every == 0 else ["lesson", f"w{at}"], [], at)
        for at in range(1, common)
    )
    index.commit()
    return index


def test_of_many_equals_the_newest_are_given_though_others_are_newer(tmp_path: Path) -> None:
    """Not the newest of all that have any of the words: those weigh less."""
    view = filled(tmp_path, 3000, 40).view
    assert view is not None
    found = view.best({"lesson": 1.0, "rare": 1.0}, Scope(), 10, frozenset())
    assert set(range(2960, 2560, -40)) <= found.keys()


def test_more_equals_than_are_looked_through_still_give_the_newest(tmp_path: Path) -> None:
    """Of thousands that weigh the same, those that came last are there."""
    view = filled(tmp_path, 5000, 10_000).view
    assert view is not None
    found = view.best({"lesson": 1.0}, Scope(), 10, frozenset())
    assert set(range(4990, 5000)) <= found.keys()


def crowded(folder: Path, crowd: int, others: int) -> WordIndex:
    """Many records of one crowd, which fit best, and some of none."""
    index = WordIndex(str(folder / "index"))
    index.clear()
    index.put(Paper(tag(at), ["lesson", "rare"], [], at, crowd=7) for at in range(1, crowd + 1))
    index.put(Paper(tag(at), ["lesson", f"w{at}"], [], at) for at in range(crowd + 1, crowd + others + 1))
    index.commit()
    return index


def test_of_a_crowd_no_more_are_given_than_asked_for(tmp_path: Path) -> None:
    """The newest of its equals, however many there are; and others in their place, though they fit less."""
    view = crowded(tmp_path, 1000, 60).view
    assert view is not None
    found = view.best({"lesson": 1.0, "rare": 1.0}, Scope(), 30, frozenset(), crowd=5)
    assert {key for key in found if key <= 1000} == set(range(996, 1001))
    assert len(found) >= 30


def test_a_crowd_of_more_equals_than_are_looked_through_leaves_room_for_others(tmp_path: Path) -> None:
    """Its newest are among what is given, and so are those of no crowd."""
    view = crowded(tmp_path, 4200, 30).view
    assert view is not None
    found = view.best({"lesson": 1.0, "rare": 1.0}, Scope(), 30, frozenset(), crowd=5)
    assert set(range(4196, 4231)) <= found.keys()


def test_without_a_bound_a_crowd_may_be_all_that_is_given(tmp_path: Path) -> None:
    """As for whoever wants each record by itself."""
    view = crowded(tmp_path, 1000, 60).view
    assert view is not None
    found = view.best({"lesson": 1.0, "rare": 1.0}, Scope(), 30, frozenset())
    assert set(range(971, 1001)) <= found.keys()
    assert all(key <= 1000 for key in found)


def test_crowds_behind_crowds_are_passed_too(tmp_path: Path) -> None:
    """Each has its few; what belongs to none is found behind them."""
    index = WordIndex(str(tmp_path / "index"))
    index.clear()
    index.put(Paper(tag(at), ["lesson", "rare"], [], at, crowd=1 + at % 3) for at in range(1, 900))
    index.put(Paper(tag(at), ["lesson", "other", "words"], [], at) for at in range(1000, 1010))
    index.commit()
    assert index.view is not None
    found = index.view.best({"lesson": 1.0, "rare": 1.0}, Scope(), 20, frozenset(), crowd=2)
    assert len([key for key in found if key < 1000]) == 6
    assert set(range(1000, 1010)) <= found.keys()
