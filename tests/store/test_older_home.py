"""A home that the build before protocol 2 left behind: opened, judged by the rules of today, and the same as what its bundle brings.

The home is `tests/fixtures/older_home.tar.xz`; beside it lies the script that made it with that build.
"""

import tarfile
from pathlib import Path

import apsw
import pytest

from mesh.core.identity import Identity
from mesh.core.ids import digest
from mesh.core.limits import FEEDS
from mesh.core.statement import Erase, Fork
from mesh.store import schema
from mesh.store.author import Author
from mesh.store.bundles import ImportReport, import_bundle
from mesh.store.database import Database
from mesh.store.feed_progress import FeedProgress
from mesh.store.home import open_home
from mesh.store.reader import Reader
from mesh.store.store import Store
from mesh.store.verification import verify_store
from tests.worlds import NOW_MS, views

ARCHIVE = Path(__file__).parents[1] / "fixtures" / "older_home.tar.xz"
FRIEND, FORKER, LEFT, CROWD = (Identity(digest(name)).public for name in (b"friend", b"forker", b"left", b"crowd"))
FEEDS_OF_ONE = 80
TEXTS = {
    *(f"own {number}" for number in range(5)),
    *(f"of a friend {number}" for number in (0, 2, 3)),
    "both stories",
    "before it left 0",
    *(f"feed {number}" for number in range(FEEDS)),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The archive as it was packed."""
    (tmp_path / "home").mkdir(0o700)
    with tarfile.open(ARCHIVE) as archive:
        for member in archive:  # by hand: Python 3.11.2 knows no filters, and later ones want one
            content = archive.extractfile(member)
            if content is not None:
                path = tmp_path / member.name
                path.write_bytes(content.read())
                path.chmod(0o600)
    return tmp_path


def texts(store: Store) -> set[str]:
    return {str(entry.record["text"]) for entry in Reader(store.database.connection).tail(1000)}


def operations(store: Store, node: bytes) -> tuple[int, int]:
    """How many count of a node, and how many are held."""
    rows = store.feeds.of_node(node)
    return sum(row.accepted.seq for row in rows), sum(row.held.seq for row in rows)


def assert_judged_by_the_rules_of_today(store: Store) -> None:
    """Only what is within its author's share counts, and the erase that names nothing lies aside."""
    assert verify_store(store).problems == []
    assert texts(store) == TEXTS
    assert operations(store, FRIEND) == (4, 4)
    assert operations(store, FORKER) == (1, 2)
    assert operations(store, LEFT) == (1, 3)
    assert operations(store, CROWD) == (FEEDS, FEEDS)
    assert len(store.statements.erases()) == 1
    assert [type(item.fact) for item in store.statements.held()] == [Erase]
    assert [fork.node for fork in store.trust().forks] == [FORKER]
    assert sum(isinstance(item.fact, Fork) for item in store.all_statements()) == 1
    assert set(store.trust().revoked) == {LEFT}


def test_it_is_of_the_build_before(folder: Path) -> None:
    """Else this would prove nothing: no table of shares, and more feeds than may count."""
    connection = apsw.Connection(str(folder / "home" / "mesh.db"))
    assert connection.execute("PRAGMA user_version").get < schema.VERSION
    assert connection.execute("SELECT count(*) FROM feeds WHERE node=?", (CROWD,)).get == FEEDS_OF_ONE
    assert connection.execute("SELECT count(*) FROM sqlite_master WHERE name='erase_tags'").get == 0
    connection.close()


def test_it_opens_and_is_judged_by_the_rules_of_today(folder: Path) -> None:
    """By the first who may write; once; and it can be written to."""
    home = open_home(str(folder / "home"))
    for _ in range(2):
        store = home.author().store
        assert_judged_by_the_rules_of_today(store)
        assert store.database.run("SELECT count(*) FROM meta WHERE key='upgrade'").get == 0
        store.close()


def test_its_bundle_brings_another_node_to_the_same_state(folder: Path, tmp_path: Path) -> None:
    """What the older build exported is read, judged alike, and gives the root of the upgraded home."""
    home = open_home(str(folder / "home"))
    first = home.author().store
    path = tmp_path / "other" / "mesh.db"
    path.parent.mkdir()
    database = Database(str(path), create=True)
    newcomer = Identity(digest(b"newcomer"))
    store = Store(database, home.mesh, own=newcomer.public, clock=lambda: NOW_MS + 10**12)
    report = ImportReport()
    with (folder / "older.bundle").open("rb") as source:
        import_bundle(Author(store, newcomer, FeedProgress(newcomer.public, str(path.parent))), source, report)
    store.settle()
    assert_judged_by_the_rules_of_today(store)
    assert views(store) == views(first)
    assert store.root() == first.root()
    first.close()
    store.close()
