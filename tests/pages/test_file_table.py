"""What is remembered of the files of pages: enough to tell an edit, and no secret."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from mesh.core.draft import NewRecord, Removal
from mesh.pages.file_table import FileRow, FileTable, Folders, Renaming, pay_scrub, wiped
from mesh.store.author import Author
from tests.worlds import Clan, open_author

CLAN = Clan()
OWN = CLAN.node(0)
ROW = FileRow("a.md", bytes(32), "the page\n", None, "crlf")


@pytest.fixture
def author(tmp_path: Path) -> Iterator[Author]:
    with open_author(tmp_path / "home", CLAN, OWN) as author:
        author.merge_statements([CLAN.member(OWN).encode()])
        yield author


def test_a_row_comes_back_as_it_was(author: Author) -> None:
    files = FileTable(author.store.database, "/notes")
    files.put(ROW)
    files.put(ROW._replace(path="b/c.md"))
    assert files.all() == [ROW, ROW._replace(path="b/c.md")]
    assert files.get("a.md") == ROW
    assert FileTable(author.store.database, "/other").all() == []
    files.drop("a.md")
    files.drop("a.md")
    assert files.get("a.md") is None


def test_a_row_is_given_another_path(author: Author) -> None:
    """As it is, with what is known of its file; the one that had that path gets the old one."""
    on_disk = dict.fromkeys(("a.md", "b.md"), "the page, and hunter2secret\n")
    files = FileTable(author.store.database, "/notes", on_disk.get)
    secret = ROW._replace(file_text=on_disk["a.md"])
    other = FileRow("b.md", bytes([1]) * 32, "another page\n", None, "")
    elsewhere = FileTable(author.store.database, "/elsewhere")
    for row in (secret, other):
        files.put(row)
        elsewhere.put(row._replace(file_text=None))
    files.move("a.md", "b.md")
    assert files.all() == [other._replace(path="a.md"), secret._replace(path="b.md")]
    files.move("a.md", "c.md")
    assert files.all() == [secret._replace(path="b.md"), other._replace(path="c.md")]
    files.move("d.md", "e.md")
    assert [row.path for row in files.all()] == ["b.md", "c.md"]
    assert elsewhere.all() == [ROW, other]


def test_a_renaming_is_remembered_until_it_is_over(author: Author) -> None:
    """For each folder one; rows and the end of it are written together."""
    begun = Renaming("a.md", 2**63 + 5, "b.md", 7)
    files, others = FileTable(author.store.database, "/notes"), FileTable(author.store.database, "/elsewhere")
    assert files.begun() is None
    files.begin(begun)
    others.begin(begun)
    assert FileTable(author.store.database, "/notes").begun() == begun
    files.move("a.md", "b.md")
    assert (files.begun(), others.begun()) == (None, begun)
    others.give_up()
    assert others.begun() is None


def test_of_a_text_with_a_secret_only_its_hash_is_kept(author: Author, tmp_path: Path) -> None:
    """As long as the file says the same, its text is known from there; then it is not known any more."""
    on_disk = {"a.md": "the page, and hunter2secret\n"}
    files = FileTable(author.store.database, "/notes", on_disk.get)
    row = ROW._replace(file_text=on_disk["a.md"])
    files.put(row)
    assert files.all() == [row]
    on_disk["a.md"] += "more\n"
    assert files.get("a.md") == ROW
    del on_disk["a.md"]
    assert files.get("a.md") == ROW
    written = b"".join(path.read_bytes() for path in (tmp_path / "home").iterdir() if path.is_file())
    assert b"the page" in written
    assert b"hunter2secret" not in written


def test_what_a_folder_said_is_known_when_it_is_watched_again(author: Author) -> None:
    """So that what changed meanwhile is an edit. A page that was removed since does not take its file along."""
    database = author.store.database
    (gone,) = author.append([NewRecord("pages", {"name": "gone"})]).tags
    folders, files = Folders(database), FileTable(database, "/notes")
    folders.add("/notes")
    files.put(ROW)
    files.put(ROW._replace(path="gone.md", page=gone))
    folders.remove("/notes")
    author.append([Removal((gone,), "test")])
    folders.add("/notes")
    assert files.all() == [ROW]


def test_a_folder_that_is_watched_for_other_pages_begins_anew(author: Author) -> None:
    """Its files were those of pages that do not belong there now: they would go with them."""
    database = author.store.database
    folders, files = Folders(database), FileTable(database, "/notes")
    folders.add("/notes")
    files.put(ROW)
    folders.remove("/notes")
    folders.add("/notes", "runbooks")
    assert files.all() == []


def test_after_an_erase_nothing_is_remembered_of_folders_that_are_not_watched(author: Author) -> None:
    database = author.store.database
    for folder in ("/notes", "/let-go"):
        FileTable(database, folder).put(ROW)
    database.run("INSERT INTO page_wiped VALUES(?)", (ROW.page,))
    owed = wiped(database)
    assert owed.ids == {ROW.page}
    assert pay_scrub(database, owed, ["/notes"])
    assert wiped(database).ids == set()
    assert FileTable(database, "/notes").all() == [ROW]
    assert FileTable(database, "/let-go").all() == []
    assert database.run("SELECT 1 FROM meta WHERE key='scrub'").get == 1


def test_what_is_erased_while_files_are_compared_with_pages_stays_owed(author: Author) -> None:
    """Another process may erase between the look at what is owed and its being struck out, also in the same page."""
    database = author.store.database
    one, other = author.append([NewRecord("pages", {"name": name}) for name in ("one", "other")]).tags
    author.merge_statements([CLAN.erase(OWN, one).encode()])
    owed = wiped(database)
    assert owed.ids == {one}
    author.merge_statements([CLAN.erase(OWN, other).encode()])
    FileTable(database, "/let-go").put(ROW)
    assert not pay_scrub(database, owed, [])
    assert wiped(database).ids == {one, other}
    assert FileTable(database, "/let-go").all() == [ROW]
    assert pay_scrub(database, wiped(database), [])
    assert wiped(database).ids == set()
