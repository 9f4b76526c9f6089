"""Vectors that are asked for by scope: beside an oracle, while they move from one scope to another, and as repositories of records."""

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from clan_learnings.search import index_thread
from clan_learnings.search.filters import SearchFilters
from clan_learnings.search.meaning import repo_number, version_of
from clan_learnings.search.node_finder import NodeFinder
from clan_learnings.search.vectors import nearest as module
from clan_learnings.search.vectors.nearest import Vectors
from tests.clan_learnings.records.notebooks import OTHER, REPO, Notebook
from tests.clan_learnings.search.kept_homes import recalling, snapshot, write
from tests.clan_learnings.search.servers import serving
from tests.clan_learnings.search.vector_sets import directions, tag_of, truth
from tests.clan_learnings.search.vector_sets import version_of as version
from tests.end_to_end.commands import wait_until

WIDE = 128
COUNT = 3000
ROWS = directions(COUNT, WIDE)
QUERIES = directions(5, WIDE, seed=5)
TAGS = [tag_of(n) for n in range(COUNT)]
BIG, SMALL, TINY = 7, 1 << 31, (1 << 32) - 2  # about 2,000, 1,000 and 3 of them
SCOPES = [TINY if n % 1000 == 5 else SMALL if n % 3 == 0 else BIG for n in range(COUNT)]


@pytest.fixture(autouse=True)
def _few(monkeypatch: pytest.MonkeyPatch) -> None:
    """A handful is already too many to weigh them all."""
    monkeypatch.setattr(module, "_SHORTLIST", 400)
    monkeypatch.setattr(module, "_EXACT", 800)


@pytest.fixture
def many(tmp_path: Path) -> Iterator[Vectors]:
    """Three thousand vectors of three scopes, in rows of which some were another's; read back from the disk."""
    folder = os.fspath(tmp_path / "many")
    made = Vectors(folder, "model", WIDE)
    made.put([tag_of(-n) for n in range(1, 100)], ROWS[:99], [version(0)] * 99, [TINY] * 99)
    made.drop([tag_of(-n) for n in range(1, 100)])
    for start in range(0, COUNT, 500):
        part = slice(start, start + 500)
        made.put(TAGS[part], ROWS[part], [version(0)] * 500, SCOPES[part])
    made.close()
    made = Vectors(folder, "model", WIDE)
    yield made
    made.close()


@pytest.mark.parametrize("asked", [{BIG}, {SMALL}, {TINY}, {SMALL, TINY}, {BIG, SMALL, TINY}])
def test_the_nearest_of_some_scopes_are_found_however_few_there_are(many: Vectors, asked: set[int]) -> None:
    """Two thousand, one thousand, three of them: by bits or one by one, nothing of another scope gets in the way."""
    inside = [n for n in range(COUNT) if SCOPES[n] in asked]
    for query in QUERIES:
        right = truth(query, {TAGS[n]: ROWS[n] for n in inside})
        ranked = sorted(right, key=lambda tag: -right[tag])
        found = many.nearest(query, 20, asked)
        assert len(found) == min(20, len(inside))
        assert {tag for tag, _ in found} <= right.keys()
        assert set(ranked[:5]) <= {tag for tag, _ in found}
        assert all(cosine == pytest.approx(right[tag], abs=0.01) for tag, cosine in found)


def test_no_scope_and_one_that_nothing_has_find_nothing(many: Vectors) -> None:
    """Nor does the scope that vectors have without being given one."""
    assert many.nearest(QUERIES[0], 5, []) == many.nearest(QUERIES[0], 5, [0, 6]) == []
    many.put([tag_of(-1)], QUERIES[:1], [version(0)])
    assert [tag for tag, _ in many.nearest(QUERIES[0], 5, [0, 6])] == [tag_of(-1)]


def test_a_vector_is_found_in_the_scope_it_was_put_into_last(many: Vectors) -> None:
    """Not in the one before; not at all once it is dropped, and nor is what takes its place."""
    tag = TAGS[3]
    assert many.nearest(ROWS[3], 1, [SMALL])[0][0] == tag
    many.put([tag], ROWS[3:4], [version(1)], [TINY])
    assert many.nearest(ROWS[3], 1, [TINY])[0][0] == tag
    assert many.nearest(ROWS[3], 1, [SMALL])[0][0] != tag
    many.drop([tag])
    assert len(many.nearest(ROWS[3], 9, [TINY])) == SCOPES.count(TINY)
    many.put([tag_of(-1)], ROWS[3:4], [version(0)], [SMALL])
    assert len(many.nearest(ROWS[3], 9, [TINY])) == SCOPES.count(TINY)


def test_scopes_may_be_many(many: Vectors) -> None:
    """However they are compared: those that nothing has make no difference."""
    others = range(1000, 1020)
    for query in QUERIES:
        assert many.nearest(query, 30, [SMALL, TINY, *others]) == many.nearest(query, 30, [SMALL, TINY])


def test_what_has_just_been_written_is_no_answer_in_the_scope_it_leaves(
    many: Vectors, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who asks at that moment knows the row by its old scope, and sees from the row that it has another."""
    seen: list[list[bytes]] = []
    pwrite = os.pwrite

    def watched(descriptor: int, data: memoryview, at: int) -> int:
        written = pwrite(descriptor, data, at)
        seen.append([tag for tag, _ in many.nearest(ROWS[5], 9, [TINY])])
        return written

    monkeypatch.setattr(os, "pwrite", watched)
    many.put([TAGS[5]], ROWS[5:6], [version(1)], [BIG])
    assert len(seen) == 1
    assert set(seen[0]) == {TAGS[1005], TAGS[2005]}


def test_who_asks_for_a_scope_never_gets_what_has_left_it(tmp_path: Path) -> None:
    """Vectors move to and fro, and are another in each scope: every cosine is one that the tag has in the scope asked for."""
    count = 900
    sides = directions(count, WIDE, seed=1), directions(count, WIDE, seed=2)
    right: list[dict[bytes, float]] = []
    for at, side in enumerate(sides):
        alone = Vectors(os.fspath(tmp_path / str(at)), "model", WIDE)
        alone.put(TAGS[:count], side, [version(0)] * count)
        right.append(alone.cosines(QUERIES[0], TAGS[:count]))
        alone.close()
    shared = Vectors(os.fspath(tmp_path / "shared"), "model", WIDE)
    done = threading.Event()
    wrong: list[object] = []
    reads = [0, 0]

    def read(scope: int) -> None:
        while not done.is_set() or not reads[scope]:
            found = shared.nearest(QUERIES[0], 50, [scope])
            wrong.extend(pair for pair in found if pair[1] != right[scope][pair[0]])
            reads[scope] += 1

    readers = [threading.Thread(target=read, args=(scope,)) for scope in range(2)]
    for reader in readers:
        reader.start()
    for turn in range(40):
        some = range(turn * 37 % 100, count, 1 + turn % 5)
        tags = [TAGS[n] for n in some]
        if turn % 8 == 7:
            shared.drop(tags)
        else:
            scope = turn % 2
            shared.put(tags, sides[scope][list(some)], [version(0)] * len(some), [scope] * len(some))
    done.set()
    for reader in readers:
        reader.join()
    assert wrong == []
    shared.close()


def test_a_repository_has_a_number_and_everywhere_has_none() -> None:
    """Each fits a scope; the version of a vector is another in each."""
    numbers = [repo_number(name) for name in ("", REPO, OTHER, *(f"repo {n}" for n in range(100)))]
    assert numbers[0] == 0
    assert len(set(numbers)) == len(numbers)
    assert all(0 < number < (1 << 32) - 1 for number in numbers[1:])
    assert len({version_of("text", repo) for repo in ("", REPO, OTHER)}) == 3


def test_a_record_that_is_moved_is_near_in_the_repository_it_is_moved_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As soon as its vector was put again; in the one it has left it is not found from the first moment."""
    monkeypatch.setattr(index_thread, "_COMMIT_SECONDS", 0.0)
    monkeypatch.setattr(index_thread, "_LOOK_SECONDS", 0.01)
    book = Notebook(tmp_path)
    one, other, everywhere = write(
        book, *({"text": f"gearwheels {at}", "repo": repo} for at, repo in enumerate((REPO, OTHER, "")))
    )
    with serving() as server, recalling(book, f"{server.address} some-model") as recall:

        def near(repo: str | None) -> set[bytes]:
            with snapshot(book) as reader:
                return {
                    entry.tag
                    for entry, _ in NodeFinder(recall, reader).by_meaning("gearwheels", SearchFilters(repo), 9)
                }

        wait_until(lambda: near(None) == {one, other, everywhere})
        assert near(REPO) == {one, everywhere}
        assert near("") == near("github.com/acme/none") == {everywhere}
        book.set(one, "repo", OTHER)
        assert near(REPO) == {everywhere}
        wait_until(lambda: near(OTHER) == {one, other, everywhere})
        book.set(one, "repo", "")
        wait_until(lambda: near(REPO) == {one, everywhere})
    book.author.store.close()
