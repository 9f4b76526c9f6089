"""Copies of one node that went on from old backups, unnoticed: nothing honest is lost, doubled or made newer."""

import os
import random
import shutil
import tempfile
from contextlib import ExitStack
from io import BytesIO
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from mesh.core.draft import Assignment, Increment, NewRecord, Removal
from mesh.core.ids import text_id
from mesh.store.author import Author
from mesh.store.bundles import ImportReport, export_bundle, import_bundle
from mesh.store.feed_progress import FeedProgress
from mesh.store.reader import Reader
from mesh.store.verification import verify_store
from tests.worlds import NOW_MS, Clan, open_author, views

CLAN = Clan()
EXAMPLES = 1000 if settings.get_current_profile_name() == "soak" else 30
OWN, PEER = CLAN.node(0), CLAN.node(1)
CERTIFICATES = [CLAN.member(OWN, "own").encode(), CLAN.member(PEER, "peer").encode()]


class Honest:
    """What was acknowledged, by whichever copy."""

    def __init__(self) -> None:
        self.added: dict[bytes, str] = {}
        self.removed: set[bytes] = set()
        self.counted: dict[str, int] = {}


class World:
    """One node that is copied and restored, and a peer that hears now one copy, now another."""

    def __init__(self, folder: Path, stack: ExitStack, rng: random.Random) -> None:
        self.folder, self.stack, self.rng = folder, stack, rng
        self.honest = Honest()
        self.now = NOW_MS
        self.made = 0
        self.copies = [self._open("copy0", OWN)]
        self.peer = self._open("peer", PEER)
        for author in (*self.copies, self.peer):
            author.merge_statements(CERTIFICATES)

    def _open(self, name: str, own: object) -> Author:
        assert own in (OWN, PEER)
        return self.stack.enter_context(open_author(self.folder / name, CLAN, OWN if own is OWN else PEER, self.now))

    def write(self, author: Author) -> None:
        """One acknowledged batch."""
        rng, honest = self.rng, self.honest
        choice = rng.random()
        if choice < 0.5:
            text = f"note {rng.random()}"
            (tag,) = author.append([NewRecord("notes", {"text": text})]).tags
            honest.added[tag] = text
        elif choice < 0.8:
            key, amount = rng.choice("ab"), rng.randint(1, 9)
            author.append([Increment(key, amount), Increment(key, amount)])
            honest.counted[key] = honest.counted.get(key, 0) + 2 * amount
        elif choice < 0.9:
            live = sorted(views(author.store)["elements"])  # type: ignore[call-overload]
            if live:
                tag = rng.choice(live)
                author.append([Removal((tag,), "gone")])
                honest.removed.add(tag)
        else:
            author.append([Assignment("key", "field", rng.randint(0, 99))])

    def restore(self) -> None:
        """Another copy goes on from a copy's present state, with its marker: it cannot notice."""
        self.made += 1
        name = f"copy{self.made}"
        source = Path(self.rng.choice(self.copies).store.database.path).parent
        self.copies_checkpoint()
        shutil.copytree(source, self.folder / name)
        marker = FeedProgress(OWN.public, os.fspath(source)).read()
        copied = FeedProgress(OWN.public, os.fspath(self.folder / name))
        if marker is not None:
            descriptor = copied.open()
            copied.write(descriptor, *marker)
            os.close(descriptor)
        self.copies.append(self._open(name, OWN))

    def die(self) -> None:
        """A copy tells the peer all it has, and is never seen again: the others must collect its branch."""
        copy = self.rng.choice(self.copies)
        send(copy, self.peer)
        self.copies.remove(copy)

    def copies_checkpoint(self) -> None:
        for author in self.copies:
            author.store.database.run("PRAGMA wal_checkpoint(TRUNCATE)")

    def everyone(self) -> list[Author]:
        return [*self.copies, self.peer]


def send(source: Author, target: Author) -> None:
    """One bundle, whole."""
    bundle = BytesIO()
    export_bundle(source.store, bundle)
    bundle.seek(0)
    report = ImportReport()
    import_bundle(target, bundle, report)
    assert report.refused == 0, report.reasons


def exchange_until_still(authors: list[Author]) -> None:
    """Everyone hears everyone until nothing moves; bounded."""
    for _ in range(12):
        before = [author.store.root() for author in authors]
        for source in authors:
            for target in authors:
                if source is not target:
                    send(source, target)
        after = [author.store.root() for author in authors]
        if before == after and len(set(after)) == 1:
            return
    raise AssertionError("the copies never came to one root")


@given(st.integers(0, 2**32))
@settings(max_examples=EXAMPLES)
def test_nothing_honest_is_lost_or_doubled_by_unnoticed_restores(number: int) -> None:
    """However often one backup is restored, every acknowledged write counts exactly once, everywhere."""
    rng = random.Random(number)
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        world = World(Path(folder), stack, rng)
        for _ in range(rng.randint(4, 16)):
            choice = rng.random()
            if choice < 0.2 and len(world.copies) < 4:
                world.restore()
            elif choice < 0.3 and len(world.copies) > 1:
                world.die()
            elif choice < 0.4:
                source, target = rng.sample(world.everyone(), 2)
                send(source, target)
            else:
                world.write(rng.choice(world.everyone()))
        exchange_until_still(world.everyone())
        live = {tag: text for tag, text in world.honest.added.items() if tag not in world.honest.removed}
        for author in world.everyone():
            reader = Reader(author.store.database.connection)
            assert {entry.tag: entry.record["text"] for entry in reader.tail(1000)} == live, text_id(
                author.store.root()
            )
            assert {key: reader.total(key) for key in world.honest.counted} == world.honest.counted
            assert verify_store(author.store).problems == []
        assert len({repr(sorted(views(author.store)["registers"].items())) for author in world.everyone()}) == 1  # type: ignore[attr-defined]
