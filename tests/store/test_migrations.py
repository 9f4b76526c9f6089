"""A database of an older version is brought up to date whole or not at all, and one of a newer version is left alone."""

import os
from pathlib import Path

import apsw
import pytest

from clan_learnings.records import facets_table
from clan_learnings.search.keywords.search_table import WordSearch
from mesh.core.draft import Assignment, NewRecord, Removal, Request
from mesh.core.errors import HomeError, NewerHome
from mesh.core.operation import Add, Set
from mesh.core.statement import MEMBER, READER
from mesh.store import schema
from mesh.store.database import Database, open_reader
from mesh.store.database_repair import repair
from mesh.store.home import create_home
from mesh.store.join_table import Invite, InviteBook
from mesh.store.reader import Reader
from mesh.store.store import Store
from mesh.store.verification import verify_store
from tests.store.probes import frequent, written_repos
from tests.worlds import Chain, Clan, open_author, open_store, views

CLAN = Clan()
OWN = CLAN.node(0)
TEXTS = [f"note {number}" for number in range(200)]
ONE_MORE = """
CREATE TABLE moods(op INTEGER PRIMARY KEY, mood TEXT NOT NULL);
INSERT INTO moods SELECT op, 'calm' FROM ops;
"""

WITHOUT_VOICES = "DROP INDEX elements_by_voice; ALTER TABLE elements DROP COLUMN voice;"
WITHOUT_SHARES = f"""
{WITHOUT_VOICES}
ALTER TABLE members DROP COLUMN revoked;
ALTER TABLE feeds DROP COLUMN first_hlc;
ALTER TABLE feeds DROP COLUMN weight;
ALTER TABLE feeds DROP COLUMN held_weight;
ALTER TABLE statements DROP COLUMN is_erase;
DROP INDEX held_by_signer;
ALTER TABLE held_statements DROP COLUMN is_aside;
DROP TABLE erase_tags;
DROP TABLE said;
ALTER TABLE invites DROP COLUMN role;
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A database as today's version makes it, with our own records and another node's."""
    folder = tmp_path / "node"
    with open_author(folder, CLAN, OWN) as author:
        other = Chain(CLAN, CLAN.node(1))
        other.add(Add(other.next_hlc(), "notes", {"text": "from elsewhere"}))
        author.merge_statements([CLAN.member(node).encode() for node in (OWN, CLAN.node(1))])
        author.merge_ranges([other.encoded()])
        author.append([NewRecord("notes", {"text": text}) for text in TEXTS])
    return folder


def add_migration(monkeypatch: pytest.MonkeyPatch, migration: str) -> None:
    monkeypatch.setattr(schema, "MIGRATIONS", [*schema.MIGRATIONS, migration])
    monkeypatch.setattr(schema, "VERSION", schema.VERSION + 1)


def older(folder: Path, version: int, path: Path) -> Path:
    """The same content as a home of an earlier version has it: its tables made by its migrations, and filled."""
    path.mkdir()
    connection = apsw.Connection(os.fspath(path / "mesh.db"))
    connection.execute(f"PRAGMA page_size={schema.PAGE_BYTES}")
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("ATTACH ? AS today", (os.fspath(folder / "mesh.db"),))
    with connection:
        make_tables(connection, version)
        connection.execute(f"PRAGMA user_version={version}")
        tables = connection.execute("SELECT name FROM main.sqlite_schema WHERE type='table' AND name NOT LIKE 'words%'")
        for (table,) in tables.fetchall():
            columns = [row[1] for row in connection.execute(f"PRAGMA main.table_info({table})")]
            connection.execute(f"INSERT INTO main.{table} SELECT {', '.join(columns)} FROM today.{table}")
        connection.execute("INSERT OR IGNORE INTO main.unindexed SELECT op FROM elements")
    connection.close()
    return path


def make_tables(connection: apsw.Connection, version: int) -> None:
    """The tables as that version had them, those of the subjects too."""
    for number in range(1, version + 1):
        for step in schema.steps(number):
            assert isinstance(step, str)
            connection.execute(step)


def version_in_file(folder: Path) -> int:
    """As another version of clan-mesh reads it, without opening the database."""
    return int.from_bytes((folder / "mesh.db").read_bytes()[60:64], "big")


def said(folder: Path) -> list[str]:
    with open_store(folder, CLAN, OWN) as store:
        return [entry.record["text"] for entry in Reader(store.database.connection).tail(1000)]


def test_a_database_of_the_first_version_opens(tmp_path: Path) -> None:
    """Whatever is added later, what the first migration made is understood."""
    connection = apsw.Connection(os.fspath(tmp_path / "mesh.db"))
    connection.execute(f"PRAGMA page_size={schema.PAGE_BYTES}")
    connection.execute("PRAGMA journal_mode=WAL")
    with connection:
        make_tables(connection, 1)
        connection.execute("PRAGMA user_version=1")
    connection.close()
    with open_author(tmp_path, CLAN, OWN) as author:
        author.merge_statements([CLAN.member(OWN).encode()])
        author.append([NewRecord("notes", {"text": "still readable"})])
        assert verify_store(author.store).clean
    assert said(tmp_path) == ["still readable"]


def index_of(store: Store) -> dict[str, object]:
    """What the index over written fields says, by names."""
    reader = Reader(store.database.connection)
    return {
        "repos": written_repos(reader),
        "scoped": {
            repo: [entry.tag for entry in reader.newest("notes", 1000, [repo])] for repo in written_repos(reader)
        },
        "tallies": [(one.slug, one.sessions, one.nodes, one.repos, one.at) for one in reader.tallies(1, "notes")],
        "patterns": {slug: [entry.tag for entry in reader.of_pattern(slug)] for slug in frequent(reader, 1)},
        "found": [entry.tag for entry, _ in reader.part(WordSearch).weighed({"note": 1.0}, 1000)],
    }


@pytest.mark.parametrize("version", [1, 2])
def test_records_of_an_older_version_are_indexed_by_what_they_were_written_with(
    folder: Path, tmp_path: Path, version: int
) -> None:
    """Every live record that is there gets its columns, as if it came today; removed ones do not."""
    with open_author(folder, CLAN, OWN) as author:
        for number in range(30):
            record = {"text": f"note {number}", "repo": ("", "a/b")[number % 2], "pattern": f"p{number % 3}"}
            author.append([NewRecord("notes", record | ({"session": f"s:{number % 5}"} if number % 4 else {}))])
        author.append([Removal((Reader(author.store.database.connection).tail(1)[0].tag,), "wrong")])
        root, expected = author.store.root(), index_of(author.store)
    old = older(folder, version, tmp_path / "old")
    assert version_in_file(old) == version
    with open_store(old, CLAN, OWN) as store:
        assert index_of(store) == expected
        assert store.root() == root
        assert verify_store(store).problems == []
    assert version_in_file(old) == schema.VERSION


def test_a_home_of_the_version_before_gets_a_table_for_receipts(folder: Path) -> None:
    """Requests are written once from then on."""
    with open_store(folder, CLAN, OWN) as store:
        store.database.run("DROP TABLE requests")
        store.database.run(WITHOUT_SHARES)
        store.database.run("PRAGMA user_version=5")
    request = Request("request-1", b"")
    with open_author(folder, CLAN, OWN) as author:
        receipts = [author.append([NewRecord("notes", {"text": "once"})], request) for _ in range(2)]
        assert [receipt.repeated for receipt in receipts] == [False, True]
        assert verify_store(author.store).problems == []
    assert version_in_file(folder) == schema.VERSION


def test_each_nodes_word_is_found_among_what_an_older_version_kept(folder: Path) -> None:
    """Only what counts, and of each node and register the latest."""
    with open_author(folder, CLAN, OWN) as author:
        other, stranger = Chain(CLAN, CLAN.node(1), epoch=9), Chain(CLAN, CLAN.node(2))
        for chain in (other, stranger):
            chain.add(Set(chain.next_hlc(), "key", "field", "theirs"))
        author.merge_ranges([other.encoded(), stranger.encoded()])
        author.append([Assignment("key", "field", "first"), Assignment("key", "field", "second")])
        expected = views(author.store)["said"]
        author.store.database.run("DROP TABLE said; ALTER TABLE invites DROP COLUMN role;" + WITHOUT_VOICES)
        author.store.database.run("PRAGMA user_version=7")
    with open_store(folder, CLAN, OWN) as store:
        assert views(store)["said"] == expected
        assert {one.value for one in Reader(store.database.connection).said_of("key", "field")} == {"theirs", "second"}
        assert verify_store(store).problems == []


def test_settings_of_who_is_no_admin_end_with_an_upgrade(folder: Path) -> None:
    """Also those of an admin that was revoked, which the list of members did not say before."""
    chiefs = CLAN.node(5), CLAN.node(6)
    with open_author(folder, CLAN, OWN) as author:
        author.merge_statements([CLAN.admin(node).encode() for node in chiefs])
        chains = [Chain(CLAN, node) for node in chiefs]
        for value, chain in enumerate(chains):
            chain.add(Set(chain.next_hlc(), "settings", "hot_at", value))
        author.merge_ranges([chain.encoded() for chain in chains])
        heads = [(chains[1].feed.epoch, 1, chains[1].head)]
        author.merge_statements([CLAN.revoke(chiefs[1], heads).encode()])
        author.append([Assignment("settings", "hot_at", 9)])
        run = author.store.database.run
        newest = run("SELECT at, tag, op FROM said WHERE node=?", (OWN.public,)).fetchone()
        run("UPDATE registers SET at=?, tag=?, op=? WHERE target='settings'", newest)
        run(WITHOUT_SHARES)
        run("PRAGMA user_version=6")
    with open_store(folder, CLAN, OWN) as store:
        assert Reader(store.database.connection).fields("settings") == {"hot_at": 0}
        assert verify_store(store).problems == []


def test_the_first_command_after_an_upgrade_may_be_one_that_reads(folder: Path, tmp_path: Path) -> None:
    """A hook opens no store: what it needs is brought up to date for it, once."""
    old = older(folder, 2, tmp_path / "old")
    for _ in range(2):
        reader = Reader(open_reader(os.fspath(old / "mesh.db")))
        assert len(reader.newest("notes", 1000)) == len(TEXTS) + 1
        assert written_repos(reader) == []
        reader.connection.close()
    assert version_in_file(old) == schema.VERSION


def test_a_filling_that_fails_leaves_the_old_version(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also the part of a migration that is no SQL is in its transaction."""
    old = older(folder, 2, tmp_path / "old")

    def fail(*_: object) -> None:
        raise apsw.FullError("no room")

    with monkeypatch.context() as broken:
        broken.setattr(facets_table.Facets, "recount", fail)
        with pytest.raises(HomeError, match="no room"):
            Database(os.fspath(old / "mesh.db"))
    assert version_in_file(old) == 2
    with open_store(old, CLAN, OWN) as store:
        assert verify_store(store).problems == []


def test_a_new_database_says_its_version_in_its_header(folder: Path) -> None:
    """That is where an older version looks before it touches anything."""
    assert version_in_file(folder) == schema.VERSION


def test_migrating_keeps_the_content(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Records, roots and views are what they were, and the new table is filled."""
    with open_store(folder, CLAN, OWN) as store:
        root, before = store.root(), views(store)
    add_migration(monkeypatch, ONE_MORE)
    with open_store(folder, CLAN, OWN) as store:
        assert (store.root(), views(store)) == (root, before)
        assert store.database.run("SELECT count(*) FROM moods").get == len(TEXTS) + 1
        assert verify_store(store).clean
    assert version_in_file(folder) == schema.VERSION
    assert sorted(said(folder)) == sorted([*TEXTS, "from elsewhere"])


def test_migrating_happens_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Opening again finds nothing to do."""
    add_migration(monkeypatch, ONE_MORE)
    for _ in range(2):
        with open_store(folder, CLAN, OWN) as store:
            assert store.database.run("SELECT count(*) FROM moods").get == len(TEXTS) + 1


def test_several_migrations_run_in_their_order(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each builds on the one before it."""
    add_migration(monkeypatch, ONE_MORE)
    add_migration(monkeypatch, "ALTER TABLE moods RENAME TO tempers; UPDATE tempers SET mood='sunny';")
    with open_store(folder, CLAN, OWN) as store:
        assert store.database.run("SELECT DISTINCT mood FROM tempers").get == "sunny"


def test_a_migration_that_fails_half_way_leaves_the_old_version(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No table of the new version is there, the content is untouched, and the old version goes on writing."""
    with open_store(folder, CLAN, OWN) as store:
        root, before = store.root(), views(store)
    old = schema.VERSION
    with monkeypatch.context() as newer:
        add_migration(newer, ONE_MORE + "INSERT INTO no_such_table VALUES(1);")
        with pytest.raises(HomeError, match="no_such_table"):
            Database(os.fspath(folder / "mesh.db"))
    assert version_in_file(folder) == old
    with open_author(folder, CLAN, OWN) as author:
        store = author.store
        assert (store.root(), views(store)) == (root, before)
        assert store.database.run("SELECT count(*) FROM sqlite_schema WHERE name='moods'").get == 0
        assert author.append([NewRecord("notes", {"text": "written after"})]).new_epoch == ""
        assert verify_store(store).clean


def test_a_later_migration_that_fails_takes_the_earlier_with_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From version to version in one transaction: there is no half-way version to be stuck in."""
    old = schema.VERSION
    with monkeypatch.context() as newer:
        add_migration(newer, ONE_MORE)
        add_migration(newer, "DROP TABLE no_such_table;")
        with pytest.raises(HomeError, match="no_such_table"):
            Database(os.fspath(folder / "mesh.db"))
    assert version_in_file(folder) == old
    assert sorted(said(folder)) == sorted([*TEXTS, "from elsewhere"])


def test_a_migrated_database_is_refused_by_the_older_version(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Going back is refused with a sentence, by writers and readers, before any byte is touched."""
    with monkeypatch.context() as newer:
        add_migration(newer, ONE_MORE)
        with open_store(folder, CLAN, OWN):
            pass
    path = os.fspath(folder / "mesh.db")
    before = {name: (folder / name).read_bytes() for name in os.listdir(folder)}
    for opener in (Database, open_reader):
        with pytest.raises(NewerHome, match="newer clan-mesh"):
            opener(path)
    assert {name: (folder / name).read_bytes() for name in os.listdir(folder)} == before


def test_a_newer_version_that_only_the_wal_knows_is_refused_too(folder: Path) -> None:
    """A newer version that was killed between its migration and its checkpoint has said so in the WAL alone."""
    path = os.fspath(folder / "mesh.db")
    connection = apsw.Connection(path)
    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    connection.execute(f"PRAGMA user_version={schema.VERSION + 1}")
    connection.close()
    assert version_in_file(folder) == schema.VERSION
    with pytest.raises(NewerHome, match="newer clan-mesh"):
        Database(path).close()


def test_an_invitation_of_an_earlier_version_is_for_a_writer(folder: Path) -> None:
    """That is what whoever made it had in mind."""
    with open_store(folder, CLAN) as store:
        store.database.run("ALTER TABLE invites DROP COLUMN role;" + WITHOUT_VOICES)
        store.database.run("INSERT INTO invites VALUES(?,?,1000,2000,1)", (b"i" * 16, b"s" * 32))
        store.database.run(f"PRAGMA user_version={schema.MIGRATIONS.index(schema._INVITED_ROLES)}")
    with open_store(folder, CLAN) as store:
        found = InviteBook(store.database).find(b"i" * 16)
    assert found == Invite(b"i" * 16, b"s" * 32, 1000, 2000, 1, MEMBER)


@pytest.mark.parametrize("is_earlier", [False, True])
def test_a_repair_saves_records_and_invitations_of_any_version(tmp_path: Path, is_earlier: object) -> None:
    """Also of a file that was never brought up to date. An invitation keeps its role; one that cannot be read is for nobody."""
    home = create_home(os.fspath(tmp_path / "home"), "n")
    author = home.author()
    author.append([NewRecord("notes", {"text": text}) for text in TEXTS])
    book = InviteBook(author.store.database)
    for number, role in enumerate((MEMBER, READER, "nonsense")):
        book.add(Invite(bytes([number]) * 16, b"s" * 32, 1000, 2000, 1, role))
    if is_earlier:
        author.store.database.run(WITHOUT_SHARES)
        author.store.database.run(f"PRAGMA user_version={schema.VERSION - 2}")
    author.store.close()
    assert repair(home).lost_ranges == 0
    store = home.store()
    assert Reader(store.database.connection).logs() == {"notes": len(TEXTS)}
    roles = [found.role for found in InviteBook(store.database).outstanding(1500)]
    assert roles == ([MEMBER] * 3 if is_earlier else [MEMBER, READER])
    store.close()
