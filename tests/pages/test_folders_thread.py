"""The thread that keeps folders in step: real time, real events of the file system."""

import logging
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from mesh.core.errors import HomeBusy
from mesh.pages import folders_thread
from mesh.pages.folder_sync import FolderSync
from mesh.pages.folders_thread import FoldersThread, say
from tests.end_to_end.commands import wait_until
from tests.pages.folder_fixture import Rows, Shelf


class Locked(Shelf):
    """Others write while the thread reads: one at a time."""

    def __init__(self) -> None:
        super().__init__()
        self.lock = threading.RLock()

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        if name in {"pages", "read", "version", "new", "save", "rename", "remove", "put", "edit", "take", "by_name"}:

            def locked(*args: Any) -> Any:
                with self.lock:
                    return found(*args)

            return locked
        return found


class Table:
    """A application whose folders can be changed."""

    def __init__(self, *folders: Path, shelf: Shelf | None = None) -> None:
        self.shelf = shelf or Locked()
        self.opened = 0
        self.failures = 0
        self.is_untended = False
        self.tended: list[int] = []
        self.made: dict[Path, FolderSync] = {}
        self.folders = list(folders)

    def version(self) -> int:
        return self.shelf.version()

    def mirrors(self) -> Sequence[FolderSync]:
        return [self._mirror(folder) for folder in self.folders]

    def _mirror(self, folder: Path) -> FolderSync:
        if folder not in self.made:
            shelf = cast("Any", self.shelf)
            self.made[folder] = FolderSync(str(folder), shelf, shelf, Rows(), say)
        return self.made[folder]

    def tend(self) -> None:
        self.tended.append(self.shelf.version())
        if self.is_untended:
            raise HomeBusy("the home is busy", "wait")

    @contextmanager
    def open(self) -> Iterator["Table"]:
        self.opened += 1
        if self.failures:
            self.failures -= 1
            raise HomeBusy("the home is busy", "wait")
        self.made = {}
        yield self


def texts(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in sorted(folder.rglob("*.md"))}


def test_saves_and_edits_reach_the_other_side(tmp_path: Path) -> None:
    table = Table(tmp_path / "pages")
    with FoldersThread(table.open):
        wait_until((tmp_path / "pages").is_dir)
        (tmp_path / "pages/a.md").write_text("file\n")
        wait_until(lambda: table.shelf.by_name() == {"a": "file\n"})
        page = table.shelf.put("deep/b", "page\n")
        wait_until(lambda: texts(tmp_path / "pages") == {"a.md": "file\n", "deep/b.md": "page\n"})
        with (tmp_path / "pages/deep/b.md").open("a") as file:
            file.write("file\n")
        wait_until(lambda: table.shelf.by_name()["deep/b"] == "page\nfile\n")
        table.shelf.take(page)
        wait_until(lambda: texts(tmp_path / "pages") == {"a.md": "file\n"})
        (tmp_path / "pages/a.md").unlink()
        wait_until(lambda: table.shelf.by_name() == {})


def test_files_in_new_folders_are_seen(tmp_path: Path) -> None:
    table = Table(tmp_path)
    with FoldersThread(table.open) as thread:
        wait_until(lambda: table.opened == 1 and thread.is_working)
        for number in range(5):
            (tmp_path / f"new{number}/er").mkdir(parents=True)
            (tmp_path / f"new{number}/er/a.md").write_text(f"{number}\n")
        wait_until(lambda: table.shelf.by_name() == {f"new{number}/er/a": f"{number}\n" for number in range(5)})


def test_what_is_saved_in_one_folder_appears_in_the_other(tmp_path: Path) -> None:
    table = Table(tmp_path / "one", tmp_path / "two")
    with FoldersThread(table.open):
        wait_until((tmp_path / "two").is_dir)
        (tmp_path / "one/a.md").write_text("one\n")
        wait_until(lambda: texts(tmp_path / "two") == {"a.md": "one\n"})
        (tmp_path / "two/a.md").write_text("one\ntwo\n")
        wait_until(lambda: texts(tmp_path / "one") == {"a.md": "one\ntwo\n"})


def test_a_folder_that_is_added_is_kept_and_one_that_is_taken_out_is_not(tmp_path: Path) -> None:
    table = Table()
    with FoldersThread(table.open):
        wait_until(lambda: table.opened == 1)
        table.folders.append(tmp_path / "one")
        table.shelf.put("a", "a\n")
        wait_until(lambda: texts(tmp_path / "one") == {"a.md": "a\n"})
        table.folders.append(tmp_path / "two")
        table.shelf.put("b", "b\n")
        wait_until(lambda: texts(tmp_path / "two") == {"a.md": "a\n", "b.md": "b\n"})
        table.folders.remove(tmp_path / "one")
        table.shelf.put("c", "c\n")
        wait_until(lambda: "c.md" in texts(tmp_path / "two"))
        assert "c.md" not in texts(tmp_path / "one")


def test_a_folder_that_is_removed_is_made_again_and_watched_again(tmp_path: Path) -> None:
    table = Table(tmp_path / "pages")
    table.shelf.put("a", "a\n")
    with FoldersThread(table.open):
        wait_until((tmp_path / "pages/a.md").exists)
        (tmp_path / "pages").rename(tmp_path / "away")
        wait_until((tmp_path / "pages/a.md").exists)
        (tmp_path / "pages/a.md").write_text("a\nb\n")
        wait_until(lambda: table.shelf.by_name() == {"a": "a\nb\n"})


def test_a_failure_is_said_once_and_tried_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folders_thread, "_AGAIN_SECONDS", 0.01)
    table = Table(tmp_path)
    table.failures = 5
    table.shelf.put("a", "a\n")
    with caplog.at_level(logging.WARNING, "mesh.node"), FoldersThread(table.open):
        wait_until(lambda: texts(tmp_path) == {"a.md": "a\n"})
    assert table.opened == 6
    assert [record.getMessage() for record in caplog.records] == [
        "files and pages are not in step: the home is busy; next: wait"
    ]


def test_a_folder_that_cannot_be_kept_does_not_stop_the_others(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("")
    table = Table(tmp_path / "file/below", tmp_path / "good")
    with caplog.at_level(logging.WARNING, "mesh.node"), FoldersThread(table.open):
        wait_until((tmp_path / "good").is_dir)
        (tmp_path / "good/a.md").write_text("a\n")
        wait_until(lambda: table.shelf.by_name() == {"a": "a\n"})
    assert len(caplog.records) == 1
    assert f"the folder {tmp_path}/file/below is not in step with the pages" in caplog.text


def test_where_nothing_can_be_watched_folders_are_looked_through(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*args: object, **kwargs: object) -> Iterator[set[Any]]:
        raise OSError("OS file watch limit reached")

    monkeypatch.setattr(folders_thread, "watch", refuse)
    monkeypatch.setattr(folders_thread, "_BLIND_SECONDS", 0.02)
    table = Table(tmp_path)
    with caplog.at_level(logging.WARNING, "mesh.node"), FoldersThread(table.open):
        (tmp_path / "a.md").write_text("a\n")
        wait_until(lambda: table.shelf.by_name() == {"a": "a\n"})
        table.shelf.put("b", "b\n")
        wait_until(lambda: texts(tmp_path) == {"a.md": "a\n", "b.md": "b\n"})
        (tmp_path / "a.md").unlink()
        wait_until(lambda: table.shelf.by_name() == {"b": "b\n"})
    assert len(caplog.records) == 1
    assert "OS file watch limit reached" in caplog.text


@pytest.mark.parametrize("is_untended", [False, True])
def test_new_pages_are_tended(tmp_path: Path, is_untended: bool, caplog: pytest.LogCaptureFixture) -> None:  # noqa: FBT001
    table = Table(tmp_path)
    table.is_untended = is_untended
    with FoldersThread(table.open):
        for number in range(3):
            table.shelf.put(f"page{number}", "text\n")
            wait_until(lambda: table.tended[-1:] == [table.shelf.version()])
        wait_until(lambda: len(texts(tmp_path)) == 3)
    assert [record.getMessage() for record in caplog.records] == [
        "what follows from new pages is not done: the home is busy; next: wait"
    ] * is_untended


def test_leaving_ends_the_thread_and_the_next_one_goes_on(tmp_path: Path) -> None:
    table = Table(tmp_path)
    with FoldersThread(table.open) as first:
        (tmp_path / "a.md").write_text("a\n")
        wait_until(lambda: table.shelf.by_name() == {"a": "a\n"})
    assert not first.is_working
    (tmp_path / "b.md").write_text("b\n")
    with FoldersThread(table.open) as second:
        wait_until(lambda: table.shelf.by_name() == {"a": "a\n", "b": "b\n"})
    assert not second.is_working


def test_a_thread_without_folders_ends_too() -> None:
    table = Table()
    with FoldersThread(table.open) as thread:
        wait_until(lambda: table.opened == 1)
    assert not thread.is_working
