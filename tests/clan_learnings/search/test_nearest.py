"""The nearest of many vectors, beside an oracle that weighs them all in double precision."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clan_learnings.search.vectors import nearest as module
from clan_learnings.search.vectors.nearest import Vectors
from tests.clan_learnings.search.vector_sets import directions, tag_of, truth, version_of

DIMENSIONS = 20  # no multiple of eight
BLUR = 0.02  # what a byte a component may cost a cosine of so few
NUMBERS = st.integers(0, 30)
WIDE = 128
ROWS = directions(4000, WIDE)
TABLE = np.concatenate(
    [np.zeros((1, DIMENSIONS), np.float32), -np.eye(DIMENSIONS, dtype=np.float32), directions(40, DIMENSIONS)]
)
COMPONENTS = st.sampled_from(list(TABLE))
SCOPES = st.sampled_from([0, 1, 2, (1 << 32) - 2])
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.lists(st.tuples(NUMBERS, COMPONENTS, SCOPES), max_size=8)),
        st.tuples(st.just("drop"), st.lists(NUMBERS, max_size=8)),
        st.tuples(st.just("open"), st.none()),
    ),
    max_size=12,
)


@pytest.fixture
def folder(tmp_path: Path) -> str:
    return os.fspath(tmp_path / "vectors")


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """A handful is already too many to weigh them all."""
    monkeypatch.setattr(module, "_SHORTLIST", 400)
    monkeypatch.setattr(module, "_EXACT", 800)


@pytest.fixture
def many(folder: str, few: None) -> Iterator[Vectors]:
    """Four thousand vectors, in several batches."""
    made = Vectors(folder, "model", WIDE)
    for start in range(0, len(ROWS), 500):
        numbers = range(start, start + 500)
        made.put([tag_of(n) for n in numbers], ROWS[start : start + 500], [version_of(n) for n in numbers])
    yield made
    made.close()


@settings(max_examples=50)
@given(steps=STEPS, query=COMPONENTS, asked=st.none() | st.sets(SCOPES))
def test_whatever_happens_the_index_answers_like_one_that_weighs_everything(
    steps: list[tuple[str, Any]], query: np.ndarray, asked: set[int] | None, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Puts, replacements, drops and reopenings in any order; every answer is compared with the oracle's, in any scopes."""
    folder = os.fspath(tmp_path_factory.mktemp("vectors"))
    vectors = Vectors(folder, "model", DIMENSIONS)
    kept: dict[bytes, list[float]] = {}
    versions: dict[bytes, bytes] = {}
    scopes: dict[bytes, int] = {}
    for at, (step, what) in enumerate(steps):
        if step == "put":
            rows = np.array([row for _, row, _ in what], np.float32).reshape(-1, DIMENSIONS)
            tags = [tag_of(n) for n, _, _ in what]
            vectors.put(tags, rows, [version_of(at)] * len(what), [scope for _, _, scope in what])
            kept |= {tag_of(n): row for n, row, _ in what}
            versions |= dict.fromkeys(tags, version_of(at))
            scopes |= {tag_of(n): scope for n, _, scope in what}
        elif step == "drop":
            vectors.drop([tag_of(n) for n in what])
            for n in what:
                kept.pop(tag_of(n), None)
                versions.pop(tag_of(n), None)
        else:
            vectors.close()
            vectors = Vectors(folder, "model", DIMENSIONS)
    assert dict(vectors.known()) == versions
    assert len(vectors) == len(versions)
    right = {tag: cosine for tag, cosine in truth(query, kept).items() if asked is None or scopes[tag] in asked}
    found = vectors.nearest(query, 5, asked)
    if np.linalg.norm(query) > 1e-6:
        assert len(found) == min(5, len(right))
        assert vectors.cosines(query, [tag_of(n) for n in range(31)]).keys() == kept.keys()
    for tag, cosine in found:
        assert cosine == pytest.approx(right[tag], abs=BLUR)
    if found:
        left = right.keys() - dict(found).keys()
        assert all(right[tag] <= found[-1][1] + BLUR for tag in left)
    assert found == sorted(found, key=lambda item: (-item[1], item[0]))
    vectors.close()


def test_nearly_all_of_the_true_best_are_found_among_many(many: Vectors) -> None:
    """By bits first, then exactly: of the best thirty at least 97 in a hundred, of the best five all."""
    kept = {tag_of(n): row for n, row in enumerate(ROWS)}
    hits = 0
    for query in directions(10, WIDE, seed=7):
        right = sorted(truth(query, kept).items(), key=lambda item: -item[1])
        found = {tag for tag, _ in many.nearest(query, 30)}
        hits += len(found & {tag for tag, _ in right[:30]})
        assert {tag for tag, _ in right[:5]} <= found
    assert hits >= 0.97 * 10 * 30


def test_nearest_and_cosines_say_the_same(many: Vectors) -> None:
    """One and the same number, whichever way it was asked for."""
    query = directions(1, WIDE, seed=3)[0]
    found = dict(many.nearest(query, 50))
    assert many.cosines(query, found) == found
    assert many.cosines(query, [tag_of(-1)]) == {}


def test_answers_do_not_depend_on_the_order_of_writing(tmp_path: Path, few: None) -> None:
    """Written backwards, and with rows that were free, the same vectors are found."""
    rows = directions(700, WIDE)
    one, other = (Vectors(os.fspath(tmp_path / name), "model", WIDE) for name in ("one", "other"))
    other.put([tag_of(n) for n in range(900, 950)], directions(50, WIDE, seed=9), [version_of(0)] * 50)
    other.drop([tag_of(n) for n in range(900, 950)])
    one.put([tag_of(n) for n in range(700)], rows, [version_of(0)] * 700)
    other.put([tag_of(n) for n in reversed(range(700))], rows[::-1], [version_of(0)] * 700)
    for query in directions(5, WIDE, seed=4):
        assert one.nearest(query, 40) == other.nearest(query, 40)


@pytest.mark.parametrize("count", [100, 1000, 4000, 10_000])
def test_as_many_as_are_asked_for_are_found(many: Vectors, count: int) -> None:
    """In the end all of them, in the order of their cosines."""
    query = directions(1, WIDE, seed=5)[0]
    found = many.nearest(query, count)
    assert len({tag for tag, _ in found}) == len(found) == min(count, len(ROWS))
    assert found == sorted(found, key=lambda item: (-item[1], item[0]))
    assert dict(found) == many.cosines(query, [tag for tag, _ in found])


def test_what_is_torn_or_free_takes_nobody_elses_place(many: Vectors) -> None:
    """The next best ones are found in the place of rows that are being written at this moment."""
    query = directions(1, WIDE, seed=6)[0]
    before = many.nearest(query, 40)
    torn, file = [tag for tag, _ in before[:10]], many._file
    for number in many._find(torn).tolist():
        os.pwrite(file._descriptor, b"torn", file._place(number) + file.row_bytes - 8)
    assert many.nearest(query, 30) == before[10:]
    many.drop([tag for tag, _ in before[10:15]])
    assert many.nearest(query, 25) == before[15:]


def test_thousands_of_equal_vectors_do_no_harm(folder: str, few: None) -> None:
    """All are equally near; the best come by tag, as many as were asked for."""
    with_equals = Vectors(folder, "model", WIDE)
    tags = [tag_of(n) for n in range(3000)]
    with_equals.put(tags, np.repeat(directions(1, WIDE), 3000, axis=0), [version_of(0)] * 3000)
    found = with_equals.nearest(directions(1, WIDE)[0], 20)
    assert [cosine for _, cosine in found] == [pytest.approx(1, abs=1e-3)] * 20
    assert [tag for tag, _ in found] == sorted(tag for tag, _ in found)


def test_vectors_in_one_corner_of_the_space_are_told_apart(folder: str, few: None) -> None:
    """Some models give all texts a large common part: bits are taken around the centre, anew as the number doubles."""
    rows = ROWS + np.float32(3.0) * directions(1, WIDE, seed=2)[0]
    cornered = Vectors(folder, "model", WIDE)
    for start in range(0, 4000, 1000):
        cornered.put(
            [tag_of(n) for n in range(start, start + 1000)], rows[start : start + 1000], [version_of(0)] * 1000
        )
    kept = {tag_of(n): row for n, row in enumerate(rows)}
    for query in rows[:3]:
        right = sorted(truth(query, kept).items(), key=lambda item: -item[1])[:10]
        assert len({tag for tag, _ in cornered.nearest(query, 12)} & {tag for tag, _ in right}) >= 9


def test_tags_that_begin_alike_are_told_apart(folder: str) -> None:
    """The first bytes find a row; the whole tag decides. Also after reopening, and when one of them goes."""
    rows = directions(3, 16)
    tags = [b"same----" + bytes([n]) * 24 for n in range(3)]
    alike = Vectors(folder, "model", 16)
    alike.put(tags, rows, [version_of(n) for n in range(3)])
    alike.close()
    alike = Vectors(folder, "model", 16)
    assert alike.versions([*tags, b"same----" + bytes([9]) * 24]) == [*(version_of(n) for n in range(3)), None]
    alike.drop(tags[:1])
    assert alike.versions(tags) == [None, version_of(1), version_of(2)]
    assert alike.cosines(rows[2], tags)[tags[2]] == pytest.approx(1, abs=1e-3)


def test_a_vector_that_is_no_direction_is_known_and_near_to_nothing(folder: str) -> None:
    """A broken server may answer zeros or worse. They are kept, so that they are not asked for again and again."""
    odd = Vectors(folder, "model", 4)
    rows = np.array(
        [[0, 0, 0, 0], [np.nan, 1, 0, 0], [np.inf, 0, 0, 0], [1e-30, 0, 0, 0], [3e38, 3e38, 0, 0]], np.float32
    )
    odd.put([tag_of(n) for n in range(5)], rows, [version_of(n) for n in range(5)])
    found = dict(odd.nearest([1, 0, 0, 0], 9))
    assert [found[tag_of(n)] for n in range(5)] == [0, 0, 0, 0, pytest.approx(0.7071, abs=1e-3)]
    assert odd.versions([tag_of(1)]) == [version_of(1)]


@pytest.mark.parametrize("query", [[0.0] * 4, [np.nan] * 4, [np.inf, 0, 0, 0]])
def test_a_question_that_is_no_direction_finds_nothing(folder: str, query: list[float]) -> None:
    """No error, no warning, no answer."""
    one = Vectors(folder, "model", 4)
    one.put([tag_of(0)], [[1, 0, 0, 0]], [version_of(0)])
    assert one.nearest(query, 5) == []
    assert one.cosines(query, [tag_of(0)]) == {}


def test_the_last_of_several_vectors_of_one_tag_counts(folder: str) -> None:
    """Within one call, and in one after the other; there is one row."""
    one = Vectors(folder, "model", 4)
    one.put([tag_of(0)] * 2, [[1, 0, 0, 0], [0, 1, 0, 0]], [version_of(0), version_of(1)])
    assert one.nearest([0, 1, 0, 0], 5) == [(tag_of(0), 1.0)]
    one.put([tag_of(0)], [[0, 0, 1, 0]], [version_of(2)])
    assert one.nearest([0, 0, 1, 0], 5) == [(tag_of(0), 1.0)]
    assert dict(one.known()) == {tag_of(0): version_of(2)}
    assert len(one) == 1


def test_wrong_sizes_are_refused_before_anything_is_written(folder: str) -> None:
    """A tag, a version, a scope or a row of another size, or not one of each."""
    one = Vectors(folder, "model", 4)
    row = [[1, 0, 0, 0]]
    for tags, rows, versions, scopes in (
        ([b"short"], row, [version_of(0)], [0]),
        ([tag_of(0)], row, [b"short"], [0]),
        ([tag_of(0)], row, [], [0]),
        ([tag_of(0)], row, [version_of(0)], []),
        ([tag_of(0)], row, [version_of(0)], [-1]),
        ([tag_of(0)], row, [version_of(0)], [(1 << 32) - 1]),
        ([tag_of(0)], [[1, 0, 0]], [version_of(0)], [0]),
    ):
        with pytest.raises(ValueError):
            one.put(tags, rows, versions, scopes)
    assert len(one) == 0
    with pytest.raises(ValueError):
        one.nearest([1, 0], 5)
    with pytest.raises(ValueError, match="scope"):
        one.nearest([1, 0, 0, 0], 5, [1 << 32])


def test_closed_vectors_write_nowhere(folder: str) -> None:
    """The number of the file may be another's by then."""
    one = Vectors(folder, "model", 4)
    one.put([tag_of(0)], [[1, 0, 0, 0]], [version_of(0)])
    one.close()
    one.close()
    with pytest.raises(ValueError, match="closed"):
        one.put([tag_of(1)], [[1, 0, 0, 0]], [version_of(0)])
    with pytest.raises(ValueError, match="closed"):
        one.drop([tag_of(0)])
    with pytest.raises(ValueError, match="closed"):
        one.flush()
    assert one.nearest([1, 0, 0, 0], 5) == [(tag_of(0), 1.0)]


def test_resting_changes_no_answer(many: Vectors) -> None:
    """Pages that were let go of are read again."""
    query = directions(1, WIDE, seed=6)[0]
    before = many.nearest(query, 20)
    many.rest()
    assert many.nearest(query, 20) == before
