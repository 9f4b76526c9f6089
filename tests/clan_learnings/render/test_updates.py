"""Any number of updates on the way end in the bytes of one render from nothing; equal roots give equal files."""

import random
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clan_learnings.render.files import RenderedFiles
from mesh.core.operation import Add
from mesh.store.store import Store
from tests.clan_learnings.render.folders import History, content, render, shrink
from tests.worlds import Clan, open_store

CLAN = Clan(40)
ADMIN = CLAN.node(9)
SOAK = settings.get_current_profile_name() == "soak"
EXAMPLES = 1000 if SOAK else 40

pytestmark = pytest.mark.timeout(3600 if SOAK else 900)


@pytest.fixture(autouse=True, scope="module")
def small_bounds() -> object:
    """Archives and cut lists after a handful of records."""
    with pytest.MonkeyPatch.context() as patch:
        shrink(patch)
        yield patch


def happen(history: History, store: Store, rng: random.Random) -> None:
    """One thing that may happen to a store: mostly new operations, now and then a decree."""
    history.grow(rng.choice((1, 1, 2, 5, 30)))
    index = rng.randrange(len(history.nodes))
    kind = rng.random()
    if kind < 0.12 and history.tags:
        store.merge_statements([CLAN.erase(ADMIN, rng.choice(history.tags)).encode()])
    elif kind < 0.14 and history.edits:
        store.merge_statements([CLAN.erase(ADMIN, rng.choice(history.edits)).encode()])
    elif kind < 0.16 and history.sent[index]:
        chain = history.chains[index]
        last = rng.randint(1, history.sent[index])
        heads = [(chain.feed.epoch, last, chain.hash_at(last))]
        store.merge_statements([CLAN.revoke(history.nodes[index], heads).encode()])
    elif kind < 0.18 and history.sent[index] > 1:
        branch = history.chains[index].fork(rng.randint(0, history.sent[index] - 1))
        branch.add(Add(branch.next_hlc(), "discoveries", {"text": "another history", "repo": ""}))
        store.merge(branch.encoded(max(1, len(branch.links) - 1)))
    for other in rng.sample(range(len(history.nodes)), rng.randint(1, len(history.nodes))):
        store.merge_ranges(history.ranges(other))


@settings(max_examples=EXAMPLES)
@given(st.integers(0, 2**32))
def test_updates_end_in_the_bytes_of_a_render_from_nothing(seed: int) -> None:
    """One folder is kept by one process, one brought up to date now and then by others, one is new each time."""
    rng = random.Random(seed)
    history = History(rng, CLAN)
    with tempfile.TemporaryDirectory() as name, open_store(Path(name) / "home", CLAN) as store:
        folder = Path(name)
        kept = RenderedFiles(str(folder / "kept"))
        late = rng.random() < 0.5
        store.merge_statements([CLAN.admin(ADMIN).encode()])
        store.merge_statements([item.encode() for item in history.members()[late:]])
        for step in range(rng.randint(1, 12)):
            happen(history, store, rng)
            if late and step == 4:
                store.merge_statements([history.members()[0].encode()])
            render(store, folder / f"new-{step}")
            wanted = content(folder / f"new-{step}")
            render(store, kept)
            assert content(folder / "kept") == wanted
            if rng.random() < 0.4:
                render(store, folder / "seldom")
                assert content(folder / "seldom") == wanted


@settings(max_examples=EXAMPLES // 2)
@given(st.integers(0, 2**32))
def test_equal_roots_give_equal_files(seed: int) -> None:
    """Two nodes get the same in another order and in other pieces, and render at other moments."""
    rng = random.Random(seed)
    history = History(rng, CLAN)
    statements = [item.encode() for item in history.members()]
    with (
        tempfile.TemporaryDirectory() as name,
        open_store(Path(name) / "one", CLAN) as one,
        open_store(Path(name) / "two", CLAN) as two,
    ):
        one.merge_statements(statements)
        for _ in range(4):
            history.grow(15)
            for index in rng.sample(range(3), 3):
                one.merge_ranges(history.ranges(index))
            render(one, Path(name) / "files-one")
        for index in rng.sample(range(3), 3):
            if history.sent[index]:
                two.merge(history.chains[index].encoded(1, history.sent[index]))
        two.merge_statements(statements)
        render(two, Path(name) / "files-two")
        assert one.root() == two.root()
        assert content(Path(name) / "files-one") == content(Path(name) / "files-two")
