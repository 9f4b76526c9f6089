"""Machines whose clocks jump: whatever was acknowledged counts exactly once everywhere, once the clocks are right, and for years after."""

import random
import tempfile
from collections import Counter
from contextlib import ExitStack, suppress
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from mesh.core.draft import Assignment, Draft, Increment, NewRecord
from mesh.core.errors import ClockInDoubt
from mesh.store.author import Author
from mesh.store.reader import Reader
from mesh.store.verification import verify_store
from tests.properties.test_restored_backups import exchange_until_still, send
from tests.worlds import NOW_MS, Clan, open_author, views

CLAN = Clan()
NODES = [CLAN.node(index) for index in range(3)]
CERTIFICATES = [CLAN.member(node, "node").encode() for node in NODES]
EXAMPLES = 1000 if settings.get_current_profile_name() == "soak" else 30
MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000
JUMPS = [0, 0, 0, 10 * MINUTE, 2 * HOUR, 365 * DAY, -2 * HOUR, -365 * DAY]


class World:
    """Three nodes, one true time, and by how much each clock is off."""

    def __init__(self, folder: Path, stack: ExitStack, rng: random.Random) -> None:
        self.rng = rng
        self.now = NOW_MS
        self.off = [0] * len(NODES)
        self.authors: list[Author] = []
        self.texts: Counter[str] = Counter()
        self.counted = 0
        for index, node in enumerate(NODES):
            author = stack.enter_context(open_author(folder / str(index), CLAN, node))
            author.store.clock = lambda index=index: self.now + self.off[index]  # type: ignore[misc]
            author.merge_statements(CERTIFICATES)
            self.authors.append(author)

    def write(self, author: Author) -> None:
        """One batch, acknowledged or refused as a whole."""
        text = f"note {self.rng.random()}"
        drafts: list[Draft] = [
            NewRecord("notes", {"text": text}),
            Increment("writes"),
            Assignment("key", "field", text),
        ]
        with suppress(ClockInDoubt):
            author.append(drafts)
            self.texts[text] += 1
            self.counted += 1

    def step(self) -> None:
        """Something happens."""
        rng = self.rng
        self.now += rng.choice([1000, MINUTE, HOUR, DAY])
        index, choice = rng.randrange(len(NODES)), rng.random()
        if choice < 0.25:
            self.off[index] = rng.choice(JUMPS)
        elif choice < 0.4:
            send(*rng.sample(self.authors, 2))
        elif choice < 0.55 and self.off[index] == 0:
            with suppress(ClockInDoubt):  # a second time on one day
                self.authors[index].restamp()
        else:
            self.write(self.authors[index])

    def check(self) -> None:
        """One state, and in it every acknowledged write once."""
        for author in self.authors:
            author.store.settle()
            author.republish()
        exchange_until_still(self.authors)
        for author in self.authors:
            reader = Reader(author.store.database.connection)
            assert Counter(entry.record["text"] for entry in reader.tail(1000, log="notes")) == self.texts
            assert reader.total("writes") == self.counted
            assert verify_store(author.store).problems == []
        first, *others = [views(author.store) for author in self.authors]
        assert all(other == first for other in others)


@given(st.integers(0, 2**32))
@settings(max_examples=EXAMPLES)
def test_every_acknowledged_write_counts_once_whatever_the_clocks_did(number: int) -> None:
    """Also two years later, when nothing that was ever written is ahead any more."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        world = World(Path(folder), stack, random.Random(number))
        for _ in range(world.rng.randint(6, 24)):
            world.step()
        world.off = [0] * len(NODES)
        world.now += 2 * DAY
        for author in world.authors:
            author.restamp()
        world.check()
        for author in world.authors:
            author.append([Increment("others")])
        world.now += 800 * DAY
        world.check()
