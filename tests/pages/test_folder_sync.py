"""One folder kept in step with the pages: what each side does reaches the other, and nothing that was typed is lost."""

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from mesh.core.errors import MayNotWrite, QuotaReached
from mesh.pages import file_replacement, files_to_pages
from mesh.pages.file_text import Content, LeftAlone, Stamp, read
from tests.pages.folder_fixture import Driven, Shelf

KEY = "AKIA" + "IOSFODNN7EXAMPL2"  # reads like a key of a cloud, and is none


@pytest.fixture
def driven(tmp_path: Path) -> Driven:
    return Driven(tmp_path / "pages")


def typed_meanwhile(monkeypatch: pytest.MonkeyPatch, typing: Callable[[], object]) -> None:
    """Somebody writes at the very moment at which a file is replaced."""
    real = file_replacement._call

    def call(one: str, other: str, *, is_exchange: bool) -> bool:
        if is_exchange:
            monkeypatch.setattr(file_replacement, "_call", real)
            typing()
        return real(one, other, is_exchange=is_exchange)

    monkeypatch.setattr(file_replacement, "_call", call)


# At the start


def test_new_files_become_pages_and_pages_get_files(driven: Driven) -> None:
    driven.shelf.put("there", "page\n")
    driven.write("here.md", "file\n")
    driven.write("deep/er.md", "deep\n")
    driven.run()
    assert driven.shelf.by_name() == {"here": "file\n", "there": "page\n", "deep/er": "deep\n"}
    assert driven.files() == {"deep/er.md": "deep\n", "here.md": "file\n", "there.md": "page\n"}
    assert driven.said == []


def test_what_was_saved_while_nobody_looked_becomes_an_edit(driven: Driven) -> None:
    driven.started(a="one\ntwo\nthree\n")
    driven.write("a.md", "one\ntwo\nthree\nfile\n")
    driven.shelf.edit(driven.page("a"), "page\none\ntwo\nthree\n")
    driven.restart()
    driven.run()
    assert driven.shelf.by_name() == {"a": "page\none\ntwo\nthree\nfile\n"}
    assert driven.files() == {"a.md": "page\none\ntwo\nthree\nfile\n"}


def test_a_file_that_was_deleted_while_nobody_looked_is_restored(driven: Driven) -> None:
    driven.started(a="a\n", b="b\r\nb\r\n")
    (driven.folder / "b.md").unlink()
    driven.shelf.edit(driven.page("b"), "b\nb\nmore\n")
    driven.restart()
    driven.run(1.0)
    assert driven.files() == {"a.md": "a\n", "b.md": "b\r\nb\r\nmore\r\n"}
    assert driven.shelf.log == []


def test_a_file_that_was_renamed_while_nobody_looked_is_a_rename(driven: Driven) -> None:
    driven.started(a="a\n")
    (driven.folder / "a.md").rename(driven.folder / "b.md")
    driven.restart()
    driven.run(1.0)
    assert driven.shelf.log == [("rename", "a", "b")]
    assert driven.files() == {"b.md": "a\n"}


def test_a_file_that_was_emptied_while_nobody_looked_is_restored(driven: Driven) -> None:
    """A crash of the machine does that."""
    driven.started(a="a\n")
    driven.write("a.md", "")
    driven.restart()
    driven.run(3.0)
    assert driven.files() == {"a.md": "a\n"}
    assert driven.shelf.by_name() == {"a": "a\n"}
    assert "was empty and is restored" in driven.said[0]


def test_an_edit_that_was_saved_but_not_remembered_is_not_saved_twice(driven: Driven) -> None:
    driven.started(a="a\n")
    before = dict(driven.rows.rows)
    driven.write("a.md", "a\nb\n")
    driven.run()
    driven.rows.rows = before
    driven.restart()
    driven.run()
    assert driven.shelf.by_name() == {"a": "a\nb\n"}
    assert driven.shelf.log == [("save", "a")]


def test_a_folder_whose_memory_is_lost_is_known_again_by_its_texts(driven: Driven) -> None:
    driven.started(a="a\n", b="b\n")
    driven.rows.rows = {}
    driven.restart()
    driven.run(1.0)
    assert driven.shelf.log == []
    assert sorted(driven.rows.rows) == ["a.md", "b.md"]


# Files that change


def test_a_save_becomes_an_edit_of_the_page(driven: Driven) -> None:
    driven.started(a="one\ntwo\n")
    driven.write("a.md", "one\nand a half\ntwo\n")
    driven.run()
    assert driven.shelf.by_name() == {"a": "one\nand a half\ntwo\n"}
    driven.run(3.0)
    assert driven.shelf.log == [("save", "a")]


def test_both_sides_change_at_once_and_both_changes_stay(driven: Driven) -> None:
    driven.started(a="one\ntwo\nthree\n")
    driven.write("a.md", "one\ntwo\nthree\nfile\n")
    driven.step()
    driven.shelf.edit(driven.page("a"), "page\none\ntwo\nthree\n")
    driven.run()
    assert driven.files() == {"a.md": "page\none\ntwo\nthree\nfile\n"}
    assert driven.shelf.by_name() == {"a": "page\none\ntwo\nthree\nfile\n"}


def test_our_own_writes_are_no_edits(driven: Driven) -> None:
    driven.started(a="a\n")
    for number in range(5):
        driven.shelf.edit(driven.page("a"), f"a\n{number}\n")
        driven.run(0.3)
        assert driven.files() == {"a.md": f"a\n{number}\n"}
    driven.run(5.0)
    assert driven.shelf.log == []
    assert driven.step() is None


def test_a_file_that_is_away_when_it_is_to_be_read_is_taken_as_soon_as_it_is_back(
    driven: Driven, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Editors that save by renaming leave it out for a moment: also between the look at the folder and the reading."""
    driven.started(a="a\n")
    driven.write("a.md", "a\nb\n")
    away = driven.folder / ".a.md.away"

    def gone(path: str) -> tuple[Stamp, Content | LeftAlone]:
        monkeypatch.undo()
        (driven.folder / "a.md").rename(away)
        return read(path)

    monkeypatch.setattr(files_to_pages, "read", gone)
    driven.run(0.1)
    assert away.exists()
    assert driven.shelf.log == []
    away.rename(driven.folder / "a.md")
    driven.run(0.2)
    assert driven.shelf.log == [("save", "a")]
    assert driven.shelf.by_name() == {"a": "a\nb\n"}
    assert driven.said == []


def test_an_editor_that_saves_by_renaming_removes_nothing(driven: Driven) -> None:
    """As vim does it: the old file becomes the backup, then a new one is written."""
    driven.started(a="a\n")
    (driven.folder / "a.md").rename(driven.folder / "a.md~")
    driven.run(0.3)
    driven.write("a.md", "a\nb\n")
    (driven.folder / "a.md~").unlink()
    driven.run(2.0)
    assert driven.shelf.log == [("save", "a")]
    assert driven.shelf.by_name() == {"a": "a\nb\n"}


def test_an_editor_that_replaces_the_file_saves(driven: Driven) -> None:
    driven.started(a="a\n")
    driven.write(".a.md.tmp", "a\nb\n")
    (driven.folder / ".a.md.tmp").rename(driven.folder / "a.md")
    driven.run()
    assert driven.shelf.log == [("save", "a")]
    assert driven.files() == {"a.md": "a\nb\n"}


def test_files_of_editors_are_no_pages(driven: Driven) -> None:
    for name in (".a.md.swp", "a.md~", "#a.md#", "4913", "a.md.tmp", ".hidden.md", ".git/a.md", "a.txt"):
        driven.write(name, "x\n")
    driven.run()
    assert driven.shelf.by_name() == {}


def test_a_half_written_file_is_waited_for(driven: Driven) -> None:
    driven.started(a="one\ntwo\nthree\n")
    for text in ("o", "one\ntw", "one\ntwo\nthree\nfo"):
        driven.write("a.md", text)
        driven.step(0.03)
    assert driven.shelf.log == []
    driven.write("a.md", "one\ntwo\nthree\nfour\n")
    driven.run()
    assert driven.shelf.log == [("save", "a")]
    assert driven.shelf.by_name() == {"a": "one\ntwo\nthree\nfour\n"}


def test_an_empty_file_is_believed_only_after_a_while(driven: Driven) -> None:
    driven.started(a="a\n", b="b\n")
    driven.write("a.md", "")
    driven.write("b.md", "")
    driven.run(0.8)
    assert driven.shelf.log == []
    driven.write("a.md", "a\nmore\n")
    driven.run(0.8)
    assert driven.shelf.by_name() == {"a": "a\nmore\n", "b": ""}


def test_line_ends_mark_and_missing_final_newline_stay_the_files_own(driven: Driven) -> None:
    driven.started()
    driven.write("dos.md", b"\xef\xbb\xbfone\r\ntwo\r\n")
    driven.write("bare.md", "one\ntwo")
    driven.run(1.0)
    assert driven.shelf.by_name() == {"dos": "one\ntwo\n", "bare": "one\ntwo\n"}
    for name in ("dos", "bare"):
        driven.shelf.edit(driven.page(name), "zero\none\ntwo\n")
    driven.run(1.0)
    assert driven.files() == {"bare.md": "zero\none\ntwo", "dos.md": "\ufeffzero\r\none\r\ntwo\r\n"}
    driven.write("bare.md", "zero\none\ntwo\n")
    driven.run(1.0)
    assert driven.shelf.log[2:] == []


def test_what_is_no_text_is_left_alone_and_said_once(driven: Driven) -> None:
    driven.started(a="a\n")
    driven.write("a.md", b"caf\xe9\n")
    driven.run(1.0)
    driven.shelf.edit(driven.page("a"), "a\nb\n")
    driven.run(10.0)
    assert (driven.folder / "a.md").read_bytes() == b"caf\xe9\n"
    assert driven.said == [f"{driven.folder}/a.md is left alone: it is not UTF-8 (byte 3)"]
    driven.write("a.md", "a\n")
    driven.run(1.0)
    assert driven.files() == {"a.md": "a\nb\n"}


def test_links_are_left_alone(driven: Driven) -> None:
    driven.started()
    (driven.folder / "a.md").symlink_to("/etc/hostname")
    driven.run(1.0)
    assert driven.shelf.by_name() == {}
    assert driven.said == [f"{driven.folder}/a.md is left alone: it is a link"]


def test_a_name_that_no_page_can_have_is_said_once(driven: Driven) -> None:
    driven.started()
    driven.write("a:b.md", "text\n")
    driven.run(5.0)
    driven.write("a:b.md", "more text\n")
    driven.run(5.0)
    assert driven.shelf.by_name() == {}
    assert len(driven.said) == 1
    assert "it holds the character ':'" in driven.said[0]


# Files that go, and come under another name


def test_a_deleted_file_removes_its_page_after_a_grace(driven: Driven) -> None:
    driven.started(a="a\n", b="b\n")
    (driven.folder / "a.md").unlink()
    driven.run(0.4)
    assert driven.shelf.log == []
    driven.run(0.4)
    assert driven.shelf.log == [("remove", "a")]
    assert driven.files() == {"b.md": "b\n"}


def test_a_file_that_reappears_within_the_grace_is_only_changed(driven: Driven) -> None:
    driven.started(a="a\n")
    (driven.folder / "a.md").unlink()
    driven.run(0.3)
    driven.shelf.edit(driven.page("a"), "page\na\n")
    driven.run(0.1)
    driven.write("a.md", "a\nfile\n")
    driven.run(1.0)
    assert driven.shelf.log == [("save", "a")]
    assert driven.files() == {"a.md": "page\na\nfile\n"}


def test_a_renamed_file_renames_its_page(driven: Driven) -> None:
    driven.started(a="a\nlong\ntext\n", b="b\n")
    (driven.folder / "deep").mkdir()
    (driven.folder / "a.md").rename(driven.folder / "deep/c.md")
    with (driven.folder / "deep/c.md").open("a") as file:
        file.write("and more\n")
    driven.run(2.0)
    assert driven.shelf.log == [("rename", "a", "deep/c"), ("save", "deep/c")]
    assert driven.shelf.by_name() == {"b": "b\n", "deep/c": "a\nlong\ntext\nand more\n"}


def test_a_file_that_was_copied_and_deleted_is_a_rename(driven: Driven) -> None:
    driven.started(a="a\n")
    shutil.copy(driven.folder / "a.md", driven.folder / "b.md")
    (driven.folder / "a.md").unlink()
    driven.run(2.0)
    assert driven.shelf.log == [("rename", "a", "b")]


def test_another_file_in_the_place_of_a_deleted_one_is_no_rename(driven: Driven) -> None:
    """It may even have the same inode: file systems use the number again."""
    driven.started(a="one\ntwo\n")
    (driven.folder / "a.md").unlink()
    driven.write("b.md", "something\nelse\n")
    driven.run(2.0)
    assert driven.shelf.log == [("new", "b"), ("remove", "a")]
    assert driven.files() == {"b.md": "something\nelse\n"}


def test_a_file_that_is_given_an_impossible_name_removes_nothing(driven: Driven) -> None:
    driven.started(a="a\n")
    (driven.folder / "a.md").rename(driven.folder / "a:b.md")
    driven.run(2.0)
    assert driven.shelf.log == []
    assert driven.files() == {"a.md": "a\n", "a:b.md": "a\n"}


def test_a_renamed_folder_renames_its_pages(driven: Driven) -> None:
    driven.started()
    for name in "abc":
        driven.write(f"old/{name}.md", f"text of {name}\n")
    driven.run(1.0)
    (driven.folder / "old").rename(driven.folder / "new")
    driven.run(2.0)
    assert driven.shelf.by_name() == {f"new/{name}": f"text of {name}\n" for name in "abc"}
    assert {kind for kind, *_ in driven.shelf.log[3:]} == {"rename"}


def test_many_files_gone_at_once_are_restored(driven: Driven) -> None:
    texts = {f"page{number:02}": f"text {number}\n" for number in range(20)}
    driven.started(**texts)
    for number in range(15):
        (driven.folder / f"page{number:02}.md").unlink()
        driven.step(0.1)
    driven.run(2.0)
    assert driven.shelf.log == []
    assert driven.files() == {f"{name}.md": text for name, text in texts.items()}
    assert driven.said == [
        f"{driven.folder}: 15 of 20 files were gone at once; no page was removed, the files are restored"
    ]


def test_a_few_files_of_many_are_removed(driven: Driven) -> None:
    driven.started(**{f"page{number:02}": f"text {number}\n" for number in range(30)})
    for number in range(12):
        (driven.folder / f"page{number:02}.md").unlink()
    driven.run(2.0)
    assert driven.shelf.log == [("remove", f"page{number:02}") for number in range(12)]


@pytest.mark.parametrize("is_replaced", [False, True])
def test_a_folder_that_is_gone_is_made_again(driven: Driven, is_replaced: bool) -> None:  # noqa: FBT001
    """Or is another one now: a disk that is not mounted any more leaves an empty folder behind."""
    driven.started(a="a\n", b="b\n")
    driven.folder.rename(driven.folder.parent / "elsewhere")
    if is_replaced:
        driven.folder.mkdir()
    driven.run(2.0)
    assert driven.files() == {"a.md": "a\n", "b.md": "b\n"}
    assert driven.shelf.log == []
    assert "was gone or replaced" in driven.said[0]


def test_files_in_a_folder_that_cannot_be_read_are_not_gone(driven: Driven, monkeypatch: pytest.MonkeyPatch) -> None:
    driven.started()
    driven.write("closed/a.md", "a\n")
    driven.run(1.0)
    scandir = os.scandir

    def scan(path: str) -> "os._ScandirIterator[str]":
        if path.endswith("closed/"):
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", scan)
    driven.run(2.0)
    assert driven.shelf.by_name() == {"closed/a": "a\n"}
    assert driven.shelf.log == [("new", "closed/a")]


# Pages that change


def test_what_is_typed_while_a_file_is_replaced_is_saved(driven: Driven, monkeypatch: pytest.MonkeyPatch) -> None:
    driven.started(a="one\ntwo\nthree\n")
    path = driven.folder / "a.md"
    typed_meanwhile(monkeypatch, lambda: path.write_text("one\ntwo\nthree\ntyped\n"))
    driven.shelf.edit(driven.page("a"), "page\none\ntwo\nthree\n")
    driven.run(3.0)
    assert driven.files() == {"a.md": "page\none\ntwo\nthree\ntyped\n"}
    assert driven.shelf.by_name() == {"a": "page\none\ntwo\nthree\ntyped\n"}


def test_who_has_the_file_open_while_it_is_replaced_loses_nothing(driven: Driven) -> None:
    driven.started(a="one\ntwo\n")
    with (driven.folder / "a.md").open("a") as editor:
        driven.shelf.edit(driven.page("a"), "page\none\ntwo\n")
        driven.run(0.5)
        editor.write("typed late\n")
    driven.run(3.0)
    assert driven.files() == {"a.md": "page\none\ntwo\ntyped late\n"}


def test_a_file_that_is_emptied_to_be_written_while_it_is_replaced_is_waited_for(
    driven: Driven, monkeypatch: pytest.MonkeyPatch
) -> None:
    driven.started(a="one\ntwo\n")
    with (driven.folder / "a.md").open("r+") as editor:
        typed_meanwhile(monkeypatch, lambda: editor.truncate(0))
        driven.shelf.edit(driven.page("a"), "page\none\ntwo\n")
        driven.run(0.3)
        assert driven.shelf.log == []
        editor.write("one\ntwo\ntyped\n")
    driven.run(3.0)
    assert driven.files() == {"a.md": "page\none\ntwo\ntyped\n"}


def test_an_editor_that_has_read_the_old_file_does_not_undo_what_came_meanwhile(driven: Driven) -> None:
    driven.started(a="one\ntwo\nthree\n")
    driven.shelf.edit(driven.page("a"), "page\none\ntwo\nthree\n")
    driven.run(0.3)
    assert driven.files() == {"a.md": "page\none\ntwo\nthree\n"}
    driven.write("a.md", "one\ntwo\nthree\ntyped\n")
    driven.run(3.0)
    assert driven.files() == {"a.md": "page\none\ntwo\nthree\ntyped\n"}


def test_what_was_written_elsewhere_can_be_undone_in_the_file(driven: Driven) -> None:
    driven.started(a="one\n")
    driven.shelf.edit(driven.page("a"), "page\none\n")
    driven.run(3.0)
    driven.write("a.md", "one\n")
    driven.run(3.0)
    assert driven.shelf.by_name() == {"a": "one\n"}


def test_a_file_keeps_its_mode(driven: Driven) -> None:
    driven.started(a="one\n")
    (driven.folder / "a.md").chmod(0o640)
    driven.run()
    driven.shelf.edit(driven.page("a"), "page\none\n")
    driven.run()
    assert driven.files() == {"a.md": "page\none\n"}
    assert (driven.folder / "a.md").stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("is_typed", [False, True])
def test_killed_while_a_file_was_replaced(driven: Driven, monkeypatch: pytest.MonkeyPatch, is_typed: bool) -> None:  # noqa: FBT001
    """Between the exchange and the remembering: the next start finds out, and nothing is lost or there twice."""
    driven.started(a="one\ntwo\nthree\n")
    path = driven.folder / "a.md"
    if is_typed:
        typed_meanwhile(monkeypatch, lambda: path.write_text("one\ntwo\nthree\ntyped\n"))
    file_replacement.replace(str(path), b"page\none\ntwo\nthree\n")
    driven.shelf.edit(driven.page("a"), "page moved on\none\ntwo\nthree\n")
    driven.restart()
    driven.run(3.0)
    assert driven.files() == {"a.md": "page moved on\none\ntwo\nthree\n" + "typed\n" * is_typed}
    assert driven.shelf.by_name() == {"a": "page moved on\none\ntwo\nthree\n" + "typed\n" * is_typed}


def test_killed_before_a_file_was_replaced(driven: Driven) -> None:
    driven.started(a="one\n")
    file_replacement._write_draft(str(driven.folder / "a.md"), b"page\none\n", None)
    driven.restart()
    driven.run(3.0)
    assert driven.files() == {"a.md": "one\n"}
    assert driven.shelf.log == []


def test_killed_while_a_file_was_taken_away(driven: Driven) -> None:
    driven.started(a="one\n")
    file_replacement.take_away(str(driven.folder / "a.md"))
    driven.restart()
    driven.run(3.0)
    assert driven.files() == {"a.md": "one\n"}
    assert driven.shelf.log == []


def test_a_page_renamed_elsewhere_moves_its_file_with_all_that_is_in_it(driven: Driven) -> None:
    driven.started(a="a\n")
    driven.write("a.md", "a\ntyped\n")
    driven.shelf.call(driven.page("a"), "deep/b")
    driven.run(2.0)
    assert driven.files() == {"deep/b.md": "a\ntyped\n"}
    assert driven.shelf.by_name() == {"deep/b": "a\ntyped\n"}
    driven.shelf.call(driven.page("deep/b"), "c")
    driven.run(2.0)
    assert driven.files() == {"c.md": "a\ntyped\n"}
    assert not (driven.folder / "deep").exists()


def test_two_pages_that_take_each_others_names(driven: Driven) -> None:
    driven.started(a="text of a\n", b="text of b\n")
    a, b = driven.page("a"), driven.page("b")
    driven.shelf.call(a, "b")
    driven.shelf.call(b, "a")
    driven.run(2.0)
    assert driven.files() == {"a.md": "text of b\n", "b.md": "text of a\n"}
    assert driven.shelf.log == []


def test_a_page_removed_elsewhere_takes_its_file_along(driven: Driven) -> None:
    driven.started(a="a\n", b="b\n")
    driven.shelf.take(driven.page("a"))
    driven.run(2.0)
    assert driven.files() == {"b.md": "b\n"}
    assert driven.said == []


def test_what_was_typed_into_the_file_of_a_removed_page_is_kept_aside(driven: Driven) -> None:
    driven.started(a="a\n")
    driven.write("a.md.rej", "an older one\n")
    driven.shelf.take(driven.page("a"))
    driven.write("a.md", "a\ntyped\n")
    driven.run(2.0)
    assert driven.files() == {"a.md.1.rej": "a\ntyped\n", "a.md.rej": "an older one\n"}
    assert driven.said == [
        f"a page was removed elsewhere; what only its file held is kept in {driven.folder}/a.md.1.rej"
    ]


# Names


def test_of_two_names_that_differ_in_case_only_the_second_is_shown_under_another(driven: Driven) -> None:
    driven.started(Foo="first\n")
    driven.write("foo.md", "second\n")
    driven.run(2.0)
    (other,) = [info.shown for info in driven.shelf.pages() if info.name == "foo"]
    assert other.startswith("foo~")
    assert driven.files() == {"Foo.md": "first\n", f"{other}.md": "second\n"}
    driven.write(f"{other}.md", "second\nmore\n")
    driven.run(2.0)
    assert driven.shelf.by_name() == {"Foo": "first\n", other: "second\nmore\n"}


def test_a_rename_that_changes_the_case_only(driven: Driven) -> None:
    driven.started(Foo="text\n")
    (driven.folder / "Foo.md").rename(driven.folder / "foo.md")
    driven.run(2.0)
    assert driven.shelf.log == [("rename", "Foo", "foo")]
    assert driven.files() == {"foo.md": "text\n"}
    driven.shelf.call(driven.page("foo"), "FOO")
    driven.run(2.0)
    assert driven.files() == {"FOO.md": "text\n"}


def test_a_page_from_elsewhere_does_not_overwrite_a_new_file_of_its_name(driven: Driven) -> None:
    driven.started()
    driven.write("a.md", "here\n")
    driven.shelf.put("a", "elsewhere\n")
    driven.run(2.0)
    (other,) = [info.shown for info in driven.shelf.pages() if info.shown != "a"]
    assert driven.files() == {"a.md": "elsewhere\n", f"{other}.md": "here\n"}


def test_accents_spelled_otherwise_are_the_same_name(driven: Driven) -> None:
    driven.started()
    driven.write("gro\u0308\u00dfe.md", "text\n")
    driven.run(2.0)
    assert driven.shelf.by_name() == {"gr\u00f6\u00dfe": "text\n"}
    assert list(driven.files()) == ["gro\u0308\u00dfe.md"]


def test_a_folder_can_hold_the_pages_below_a_prefix(tmp_path: Path) -> None:
    shelf = Shelf()
    shelf.put("other", "other\n")
    shelf.put("team/plan", "plan\n")
    driven = Driven(tmp_path / "team", shelf, "team")
    driven.write("new.md", "new\n")
    driven.run(2.0)
    assert driven.files() == {"new.md": "new\n", "plan.md": "plan\n"}
    assert shelf.by_name() == {"other": "other\n", "team/new": "new\n", "team/plan": "plan\n"}
    shelf.call(driven.page("team/plan"), "plan")
    shelf.call(driven.page("other"), "team/other")
    driven.run(2.0)
    assert driven.files() == {"new.md": "new\n", "other.md": "other\n"}


def test_two_folders_with_the_same_pages(tmp_path: Path) -> None:
    shelf = Shelf()
    one, two = Driven(tmp_path / "one", shelf).started(a="a\n"), Driven(tmp_path / "two", shelf)
    two.run(1.0)
    two.write("a.md", "a\ntwo\n")
    one.write("a.md", "one\na\n")
    for driven in (one, two, one, two):
        driven.run(1.0)
    assert one.files() == two.files() == {"a.md": "one\na\ntwo\n"}


# Secrets


def test_a_secret_stays_in_the_file_and_only_there(driven: Driven) -> None:
    driven.started(a="one\ntwo\nthree\n")
    driven.write("a.md", f"one\nkey {KEY}\ntwo\nthree\n")
    driven.run(1.0)
    assert driven.files() == {"a.md": f"one\nkey {KEY}\ntwo\nthree\n"}
    assert KEY not in driven.shelf.by_name()["a"]
    assert "[redacted" in driven.shelf.by_name()["a"]
    assert len(driven.said) == 1
    assert "left out of the page; the file itself is left alone" in driven.said[0]
    assert KEY not in driven.said[0]

    driven.shelf.edit(driven.page("a"), driven.shelf.by_name()["a"] + "from elsewhere\n")
    driven.run(3.0)
    assert driven.files() == {"a.md": f"one\nkey {KEY}\ntwo\nthree\nfrom elsewhere\n"}

    driven.write("a.md", f"zero\none\nkey {KEY}\ntwo\nthree\nfrom elsewhere\n")
    driven.restart()
    driven.run(3.0)
    assert driven.files() == {"a.md": f"zero\none\nkey {KEY}\ntwo\nthree\nfrom elsewhere\n"}
    assert driven.shelf.by_name()["a"].startswith("zero\none\nkey [redacted")
    assert driven.shelf.by_name()["a"].endswith("two\nthree\nfrom elsewhere\n")

    driven.write("a.md", "zero\none\nkey in the vault\ntwo\nthree\nfrom elsewhere\n")
    driven.run(3.0)
    assert driven.shelf.by_name() == {"a": "zero\none\nkey in the vault\ntwo\nthree\nfrom elsewhere\n"}


def test_a_secret_is_saved_while_the_page_changes_elsewhere(driven: Driven) -> None:
    driven.started(a="one\ntwo\nthree\n")
    driven.write("a.md", f"one\ntwo\nthree\nkey {KEY}\n")
    driven.shelf.edit(driven.page("a"), "page\none\ntwo\nthree\n")
    driven.run(3.0)
    assert driven.files() == {"a.md": f"page\none\ntwo\nthree\nkey {KEY}\n"}
    assert driven.shelf.by_name()["a"].startswith("page\none\ntwo\nthree\nkey [redacted")


def test_a_new_file_with_a_secret(driven: Driven) -> None:
    driven.started()
    driven.write("a.md", f"key {KEY}\n")
    driven.run(3.0)
    driven.restart()
    driven.run(3.0)
    assert driven.files() == {"a.md": f"key {KEY}\n"}
    assert driven.shelf.log == [("new", "a")]
    driven.shelf.take(driven.page("a"))
    driven.run(3.0)
    assert driven.files() == {"a.md.rej": f"key {KEY}\n"}


# Troubles


def test_what_is_wrong_with_one_file_does_not_stop_the_others(driven: Driven, monkeypatch: pytest.MonkeyPatch) -> None:
    driven.started(a="a\n", b="b\n", c="c\n")
    real = file_replacement.replace

    def full(path: str, data: bytes) -> file_replacement.DisplacedFile:
        if path.endswith("a.md"):
            raise OSError(28, "No space left on device")
        return real(path, data)

    monkeypatch.setattr(file_replacement, "replace", full)
    for name in "ac":
        driven.shelf.edit(driven.page(name), f"{name}\nmore\n")
    driven.shelf.broken = {"b"}
    driven.write("b.md", "b\ntyped\n")
    driven.run(8.0)
    assert driven.files() == {"a.md": "a\n", "b.md": "b\ntyped\n", "c.md": "c\nmore\n"}
    assert sorted(driven.said) == [
        f"{driven.folder}/a.md is not in step: No space left on device",
        f"{driven.folder}/b.md is not in step: b cannot be written; next: mend it",
    ]
    monkeypatch.setattr(file_replacement, "replace", real)
    driven.shelf.broken = set()
    driven.run(8.0)
    assert driven.files() == {"a.md": "a\nmore\n", "b.md": "b\ntyped\n", "c.md": "c\nmore\n"}
    assert driven.shelf.by_name()["b"] == "b\ntyped\n"


def test_a_node_whose_writing_does_not_count_yet_loses_no_file(driven: Driven, monkeypatch: pytest.MonkeyPatch) -> None:
    driven.started(a="a\n")
    pages, read = driven.shelf.pages, driven.shelf.texts.copy()
    known = pages()
    monkeypatch.setattr(driven.shelf, "pages", lambda: known)
    real = driven.shelf.save
    monkeypatch.setattr(driven.shelf, "save", lambda *args: real(*args)._replace(text=read[driven.page("a")]))
    driven.write("b.md", "b\n")
    driven.write("a.md", "a\ntyped\n")
    driven.run(3.0)
    assert driven.files() == {"a.md": "a\ntyped\n", "b.md": "b\n"}
    assert len(driven.said) == 2
    monkeypatch.setattr(driven.shelf, "pages", pages)
    driven.shelf.edit(driven.page("a"), "a\ntyped\n")
    driven.run(3.0)
    assert sorted(driven.rows.rows) == ["a.md", "b.md"]
    assert driven.shelf.by_name() == {"a": "a\ntyped\n", "b": "b\n"}


@pytest.mark.parametrize("seed", range(12))
def test_every_word_that_anybody_wrote_stays(tmp_path: Path, seed: int) -> None:
    """Two folders and somebody elsewhere write at random; editors save in every way, also what they read a second ago."""
    dice = random.Random(seed)
    shelf = Shelf()
    folders = [Driven(tmp_path / name, shelf) for name in ("one", "two")]
    folders[0].started(**{name: f"first of {name}\n\nlast of {name}\n" for name in "abc"})
    folders[1].run(2.0)
    words = []
    for number in range(25):
        word, name = f"word{number}", dice.choice("abc")
        words.append(word)
        who = dice.choice([None, *folders])
        at = dice.choice(["top", "end"])
        old = shelf.by_name()[name] if who is None else (who.folder / f"{name}.md").read_text()
        new = f"{word}\n{old}" if at == "top" else f"{old}{word}\n"
        if who is not None and dice.random() < 0.5:
            who.run(dice.choice([0.05, 0.3, 1.0]))
        if who is None:
            shelf.edit(next(info.id for info in shelf.pages() if info.name == name), new)
        elif dice.random() < 0.5:
            who.write(f"{name}.md", new)
        else:
            who.write(f".{name}.tmp", new)
            (who.folder / f".{name}.tmp").rename(who.folder / f"{name}.md")
        for driven in dice.sample(folders, dice.randint(0, 2)):
            driven.run(dice.choice([0.05, 0.3]))
            if dice.random() < 0.1:
                driven.restart()
    for driven in [*folders, *folders]:
        driven.run(3.0)
    assert folders[0].files() == folders[1].files() == {f"{name}.md": text for name, text in shelf.by_name().items()}
    everything = " ".join(shelf.by_name().values()).split()
    assert sorted(word for word in everything if word.startswith("word")) == sorted(words)
    assert [said for driven in folders for said in driven.said] == []


def test_a_folder_goes_with_what_was_typed_into_its_last_file_at_the_last_moment(
    driven: Driven, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is replaced while somebody types, and its page gets another name before that was heard."""
    driven.write("deep/a.md", "one\ntwo\n")
    driven.run(3.0)
    page = driven.page("deep/a")
    typed_meanwhile(monkeypatch, lambda: driven.write("deep/a.md", "one\ntwo\ntyped\n"))
    driven.shelf.edit(page, "zero\none\ntwo\n")
    driven.step()
    driven.shelf.call(page, "b")
    driven.run(5.0)
    assert driven.shelf.by_name() == {"b": "zero\none\ntwo\ntyped\n"}
    assert [path.name for path in driven.folder.iterdir()] == ["b.md"]
    assert driven.said == []


# A node that may not write


def test_what_a_reader_types_stays_in_its_file_and_is_tried_once(driven: Driven) -> None:
    """It is said, with the next step, and the page's text does not go over it. What the page says comes once it is taken out."""
    driven.started(a="a\n", b="b\n")
    driven.shelf.refusal = MayNotWrite("this node was invited as a reader", "keep it here")
    driven.write("a.md", "a\nmine\n")
    driven.write("new.md", "mine too\n")
    driven.run(10.0)
    assert driven.shelf.tries == 2
    driven.shelf.edit(driven.page("a"), "a\ntheirs\n")
    driven.run(10.0)
    assert driven.files() == {"a.md": "a\nmine\n", "b.md": "b\n", "new.md": "mine too\n"}
    assert [text.split(": ")[0] for text in driven.said if "next: keep it here" in text] == [
        f"{driven.folder / name} is left alone" for name in ("a.md", "new.md")
    ]
    assert driven.shelf.by_name() == {"a": "a\ntheirs\n", "b": "b\n"}
    driven.write("a.md", "a\n")
    driven.run(10.0)
    assert driven.files()["a.md"] == "a\ntheirs\n"


def test_a_file_that_a_reader_deletes_or_renames_comes_back(driven: Driven) -> None:
    """The page is still there for everyone else."""
    driven.started(a="a\n", b="b\n")
    driven.shelf.refusal = MayNotWrite("this node was invited as a reader", "keep it here")
    (driven.folder / "a.md").unlink()
    (driven.folder / "b.md").rename(driven.folder / "c.md")
    driven.run(10.0)
    assert driven.files() == {"a.md": "a\n", "b.md": "b\n", "c.md": "b\n"}
    assert driven.shelf.log == []
    assert driven.shelf.tries <= 4


def test_an_edit_beyond_the_quota_is_tried_again_now_and_then(driven: Driven) -> None:
    """Not every three seconds, and it is taken once there is room."""
    driven.started(a="a\n")
    driven.shelf.refusal = QuotaReached("this node has written as much as it may by now", "wait")
    driven.write("a.md", "a\nmine\n")
    driven.run(50.0)
    assert driven.shelf.tries == 1
    driven.shelf.refusal = None
    driven.run(20.0)
    assert driven.shelf.by_name() == {"a": "a\nmine\n"}
