"""WARM belongs to all: no author has more than a third of it while others have something to say."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clan_learnings.context.session_context import in_turns
from clan_learnings.records.memory import Memory
from clan_learnings.records.tiers import WARM_DISCOVERIES, WARM_MOST, WARM_MS
from mesh.core.operation import Add, Set
from mesh.core.statement import ADMIN, EPHEMERAL
from tests.clan_learnings.records.meshes import OTHER, REPO, Mesh, Node


@pytest.fixture
def mesh(tmp_path: Path) -> Mesh:
    return Mesh(tmp_path)


def authors(mesh: Mesh, repo: str | None = REPO) -> dict[int, int]:
    """How many WARM records of a scope each node has, by its number."""
    with mesh.memory() as memory:
        require_one_answer(memory)
        found = [note.node for note in memory.warm(repo)]
    return {number: found.count(node.id) for number, node in enumerate(mesh.nodes) if node.id in found}


def require_one_answer(memory: Memory) -> None:
    """The tier of each record is what the list says, however it was told."""
    notes = [memory.read(entry) for entry in memory.reader.newest(("discoveries", "corrections", "learnings"), 10_000)]
    for repo in (None, REPO, OTHER, ""):
        fresh = Memory(memory.reader)
        tiers = {note.tag for note in notes if fresh.tier_in(note, repo) == "WARM"}
        assert tiers == {note.tag for note in memory.warm(repo)}, repo


def days_pass(mesh: Mesh, days: float = 3) -> None:
    mesh.now += int(days * 86_400_000) << 16


def flood(node: Node, count: int, repo: str = REPO) -> None:
    for number in range(count):
        node.discover(f"flood {number}", repo)


@pytest.fixture
def early(mesh: Mesh) -> Mesh:
    """A mesh that began some weeks ago."""
    mesh.now -= 30 * 86_400_000 << 16
    return mesh


def test_who_is_alone_fills_it(mesh: Mesh) -> None:
    """Also where others have written, but nothing of this scope."""
    one, other = mesh.node(ADMIN), mesh.node()
    flood(one, WARM_MOST + 30)
    assert authors(mesh) == {0: WARM_MOST}
    other.discover("elsewhere", OTHER)
    assert authors(mesh) == {0: WARM_MOST}


def test_a_flood_leaves_the_others_their_places(mesh: Mesh) -> None:
    """However long it is: what they have of the last two days stays, the newest of it."""
    one, other, third = mesh.trio()
    for number in range(60):
        (one if number % 3 else other).discover(f"thing {number}")
    flood(third, 300)
    assert authors(mesh) == {0: 16, 1: 16, 2: 18}  # the two that a third of fifty leaves over go to the newest


def test_what_places_the_others_do_not_need_are_the_newest_ones(mesh: Mesh) -> None:
    """A share is no fence."""
    one, _, third = mesh.trio()
    flood(one, 4)
    flood(third, 100)
    assert authors(mesh) == {0: 4, 2: WARM_MOST - 4}


def test_a_flood_of_today_leaves_the_last_discoveries_of_others(early: Mesh) -> None:
    """They are older than two days, and would be the last for a long time."""
    one, other, third = early.trio()
    flood(one, 5)
    flood(other, 30)
    days_pass(early)
    flood(third, 100)
    found = authors(early)
    assert found[0] == 5
    assert found[1] == WARM_DISCOVERIES // 3
    assert sum(found.values()) == WARM_MOST


def test_of_the_last_discoveries_no_author_has_more_than_a_third(early: Mesh) -> None:
    """While others have any, as far back as is looked."""
    one, other, third = early.trio()
    for number in range(10):
        one.discover(f"one {number}")
        other.discover(f"other {number}")
    flood(third, 50)
    days_pass(early)
    third.write(Add(early.tick(), "learnings", {"title": "mesh time"}))
    found = authors(early)
    assert found == {0: 6, 1: 6, 2: 6 + 2}  # the last two places are for the newest


def test_wherever_the_room_of_a_context_ends_no_author_has_more_than_a_third(mesh: Mesh) -> None:
    """While others have lines left; whose records they are, and how many, stays as it was."""
    admin, member, hostile = mesh.trio()
    for node in (admin, member):
        flood(node, 8)
    flood(hostile, 30)
    with mesh.memory() as memory:
        warm = memory.warm(REPO)
        turns = in_turns(memory, warm)
        assert {note.node for note in warm[:10]} == {hostile.id}
        assert sorted(note.tag for note in turns) == sorted(note.tag for note in warm)
        for end in range(1, 25):
            assert sum(note.node == hostile.id for note in turns[:end]) <= -(-end // 3)
    own = [note.tag for note in turns if note.node == hostile.id]
    assert own == [note.tag for note in warm if note.node == hostile.id]


def test_all_throw_away_nodes_are_one_author(mesh: Mesh) -> None:
    """A pipeline makes as many as it likes."""
    one, *_ = mesh.trio()
    flood(one, 20)
    jobs = [mesh.node(EPHEMERAL) for _ in range(8)]
    for job in jobs:
        flood(job, 10)
    assert authors(mesh)[0] == WARM_MOST // 3


@given(data=st.data())
@settings(max_examples=25)
def test_every_way_of_telling_says_the_same_whatever_came_when(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """The list, and the tier of each record; with records that were edited to be elsewhere."""
    mesh = Mesh(tmp_path_factory.mktemp("mesh"))
    mesh.now -= 10 * 86_400_000 << 16
    mesh.trio()
    mesh.node(EPHEMERAL)
    tags = []
    for _ in range(data.draw(st.integers(1, 6))):
        node, repo = data.draw(st.sampled_from(mesh.nodes)), data.draw(st.sampled_from([REPO, OTHER, ""]))
        tags += [
            node.discover(f"thing {number}", repo) if number % 4 else node.correct(f"p{number}", "s", repo=repo)
            for number in range(data.draw(st.sampled_from([1, 3, 8, 25, 60])))
        ]
        mesh.now += data.draw(st.sampled_from([0, WARM_MS // 2, WARM_MS])) << 16
        if data.draw(st.booleans()):
            node.write(Set(mesh.tick(), data.draw(st.sampled_from(tags)), "repo", OTHER))
    with mesh.memory() as one, mesh.memory(order=data.draw(st.integers(1, 99))) as other:
        require_one_answer(one)
        for scope in (None, REPO, OTHER, ""):
            assert [note.tag for note in one.warm(scope)] == [note.tag for note in other.warm(scope)]
