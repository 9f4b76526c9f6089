"""What goes wrong beside a folder that is kept in step: full disks, second kills, things in the way. No page is lost by it."""

import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mesh.pages import file_replacement
from tests.pages.folder_fixture import Driven, Killed, Rows, Shelf, are_in_step, kill_in

TWO = {"a": "text of a\n", "b": "text of b\n"}


@pytest.fixture
def driven(tmp_path: Path) -> Driven:
    """A folder that does not exist yet."""
    return Driven(tmp_path / "notes")


def looked_at(driven: Driven, seconds: float) -> None:
    """As whoever drives it: all files are looked at every five seconds."""
    for _ in range(int(seconds / 5)):
        driven.run(5.0)


def full(*_: Any) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def failing_once(function: Callable[..., Any]) -> Callable[..., Any]:
    left = [1]

    def once(*given: Any) -> Any:
        left[0] -= 1
        return full() if left[0] >= 0 else function(*given)

    return once


def trade(driven: Driven) -> None:
    driven.started(**TWO)
    a, b = driven.page("a"), driven.page("b")
    driven.shelf.call(a, "b")
    driven.shelf.call(b, "a")


def in_three_steps(driven: Driven, monkeypatch: pytest.MonkeyPatch, step: int, error: BaseException) -> None:
    """A disk that cannot exchange files, and something that happens at one of the steps."""
    monkeypatch.setattr(file_replacement, "_call", lambda *_, **__: False)
    left, rename = [step], os.rename

    def renamed(*given: Any) -> None:
        left[0] -= 1
        if left[0] == 0:
            raise error
        rename(*given)

    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", renamed)
        if isinstance(error, Killed):
            with pytest.raises(Killed):
                driven.step()
            driven.restart()
        else:
            driven.step()


# A page is not removed by what happens to its file


def test_a_page_from_elsewhere_is_not_removed_because_a_row_could_not_be_written(
    driven: Driven, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its file was not made either: nobody has deleted it."""
    driven.started(a="text of a\n")
    driven.shelf.put("new", "from another node\n")
    monkeypatch.setattr(Rows, "put", failing_once(Rows.put))
    looked_at(driven, 20)
    are_in_step(driven, {"a": "text of a\n", "new": "from another node\n"})


@pytest.mark.parametrize("way", ["file", "link", "folder"])
def test_a_page_is_not_removed_where_its_file_cannot_be_restored(driven: Driven, tmp_path: Path, way: str) -> None:
    """Something else took its place while nobody looked; that is said."""
    driven.started(other="text\n")
    driven.write("deploy/a.md", "text of a\n")
    driven.run(3.0)
    if way == "file":
        shutil.rmtree(driven.folder / "deploy")
        driven.write("deploy", "x")
    elif way == "link":
        os.rename(driven.folder / "deploy", tmp_path / "elsewhere")
        (driven.folder / "deploy").symlink_to(tmp_path / "elsewhere")
    else:
        (driven.folder / "deploy/a.md").unlink()
        (driven.folder / "deploy/a.md").mkdir()
    driven.restart()
    looked_at(driven, 30)
    assert driven.shelf.by_name() == {"other": "text\n", "deploy/a": "text of a\n"}
    assert any("deploy/a.md is not in step" in said for said in driven.said)


def test_an_empty_file_is_restored_also_under_another_name(driven: Driven) -> None:
    """Emptied by a crash, and its page renamed meanwhile: it follows before it was read."""
    driven.started(a="precious\n")
    driven.write("a.md", "")
    driven.shelf.call(driven.page("a"), "d")
    driven.restart()
    driven.run(5.0)
    are_in_step(driven, {"d": "precious\n"})


@pytest.mark.parametrize("step", [2, 3])
def test_a_trade_in_three_steps_that_fails_is_taken_back(
    driven: Driven, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    """Then tried again."""
    trade(driven)
    in_three_steps(driven, monkeypatch, step, OSError(errno.EIO, "Input/output error"))
    driven.run(10.0)
    are_in_step(driven, {"a": TWO["b"], "b": TWO["a"]})


# A text stays with its page


@pytest.mark.parametrize("is_closed", [False, True])
def test_names_that_pass_on_while_nothing_can_be_written(
    driven: Driven, monkeypatch: pytest.MonkeyPatch, *, is_closed: bool
) -> None:
    """One makes room for the other; then comes a restart."""
    driven.started(**TWO)
    a, b = driven.page("a"), driven.page("b")
    driven.shelf.call(b, "a0")
    driven.shelf.call(a, "b")
    with monkeypatch.context() as patch:
        for method in ("move", "put", "drop"):
            patch.setattr(Rows, method, full)
        driven.run(10.0)
    if is_closed:
        driven.mirror.close()
    driven.restart()
    looked_at(driven, 20)
    are_in_step(driven, {"b": TWO["a"], "a0": TWO["b"]})


@pytest.mark.parametrize(("name", "is_after"), [("move", False), ("begin", True)])
@pytest.mark.parametrize("order", ["ab", "ba"])
def test_both_files_of_a_trade_were_saved_as_new_ones(driven: Driven, name: str, order: str, *, is_after: bool) -> None:
    """A disk gives the numbers of old files out again, so they may say anything: what the files say tells."""
    trade(driven)
    kill_in(driven, name, is_after=is_after)
    for letter in order:
        path = driven.folder / f"{letter}.md"
        driven.write("new", path.read_text() + "typed\n")
        os.replace(driven.folder / "new", path)
    driven.run(5.0)
    are_in_step(driven, {"a": TWO["b"] + "typed\n", "b": TWO["a"] + "typed\n"})


def test_what_was_typed_into_a_replaced_file_goes_along_when_names_are_traded(
    driven: Driven, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It waits under the name it had: files change names when it was heard."""
    driven.started(**TWO)
    a, b = driven.page("a"), driven.page("b")
    replace = file_replacement.replace

    def late(path: str, data: bytes) -> file_replacement.DisplacedFile:
        driven.write("a.md", TWO["a"] + "typed\n")
        return replace(path, data)

    with monkeypatch.context() as patch:
        patch.setattr(file_replacement, "replace", late)
        driven.shelf.edit(a, "zero\n" + TWO["a"])
        driven.step()
    driven.shelf.call(a, "b")
    driven.shelf.call(b, "a")
    driven.step()
    driven.mirror.close()
    driven.restart()
    driven.run(5.0)
    are_in_step(driven, {"a": TWO["b"], "b": "zero\n" + TWO["a"] + "typed\n"})


def test_killed_again_while_the_first_kill_is_cleared_up(driven: Driven, monkeypatch: pytest.MonkeyPatch) -> None:
    """What somebody else wrote is not taken back by the old file."""
    driven.started(a="one\n")
    driven.shelf.edit(driven.page("a"), "one\nby somebody else\n")
    replace = file_replacement.replace

    def dying(*given: Any) -> None:
        replace(*given)
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(file_replacement, "replace", dying)
        with pytest.raises(Killed):
            driven.step()
    driven.restart()
    kill_in(driven, "put", is_after=True)
    looked_at(driven, 20)
    are_in_step(driven, {"a": "one\nby somebody else\n"})
    assert driven.shelf.log == []


def test_a_row_that_could_not_be_written_is_written_later(driven: Driven, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the next start takes the file for an edit, and brings back what others took out."""
    driven.started(a="one\n")
    page = driven.page("a")
    with monkeypatch.context() as patch:
        patch.setattr(Rows, "put", full)
        driven.write("a.md", "one\nwrong\n")
        driven.run(1.0)
    looked_at(driven, 60)
    driven.shelf.edit(page, "one\n")
    driven.restart()
    looked_at(driven, 10)
    are_in_step(driven, {"a": "one\n"})


def test_a_stranger_in_the_place_of_a_page_is_never_taken_for_it(
    driven: Driven, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is remembered of a file that could not be made."""
    driven.started()
    driven.write("x.md", "what a person typed\n")
    driven.step()
    driven.shelf.put("x", "page from elsewhere\n")
    monkeypatch.setattr(Rows, "drop", full)
    driven.run(0.01)
    driven.restart()
    monkeypatch.undo()
    driven.run(5.0)
    assert sorted(driven.shelf.by_name().values()) == ["page from elsewhere\n", "what a person typed\n"]


# Files go on following


@pytest.mark.parametrize("typed", ["", "typed\n"])
@pytest.mark.parametrize("again", ["", "x"])
def test_killed_while_a_file_follows_its_page(driven: Driven, typed: str, again: str) -> None:
    """Whatever was typed, and whatever the page is called by then: it is that page's file, and gives it no name."""
    driven.started(a="text of a\n")
    page = driven.page("a")
    driven.shelf.call(page, "b")
    kill_in(driven, "move")
    if typed:
        driven.write("b.md", "text of a\n" + typed)
    if again:
        driven.shelf.call(page, again)
    driven.run(5.0)
    are_in_step(driven, {again or "b": "text of a\n" + typed})


def test_killed_while_a_file_gets_a_name_that_nobody_could_give_it(driven: Driven) -> None:
    """Of two pages with one name, the younger is shown with letters of its id."""
    driven.started(b="text of b\n", c="text of c\n")
    page = driven.page("c")
    driven.shelf.call(page, "b")
    kill_in(driven, "move")
    looked_at(driven, 10)
    driven.shelf.edit(page, "text of c\nmore\n")
    looked_at(driven, 10)
    are_in_step(driven, driven.shelf.by_name())


def test_an_edit_that_happens_to_end_where_the_file_began_counts(driven: Driven) -> None:
    """Two changes, and the text is what it was: the file is no stranger for that."""
    driven.started(a="one\ntwo\n")
    page = driven.page("a")
    driven.shelf.edit(page, "one\n")
    driven.write("a.md", "one\ntwo\ntwo\n")
    driven.run(5.0)
    driven.shelf.edit(page, driven.shelf.texts[page] + "later\n")
    looked_at(driven, 60)
    are_in_step(driven, driven.shelf.by_name())


def test_a_removed_page_takes_its_file_along_at_the_second_try(driven: Driven, monkeypatch: pytest.MonkeyPatch) -> None:
    """Though nothing else happens."""
    driven.started(**TWO)
    with monkeypatch.context() as patch:
        patch.setattr(file_replacement, "take_away", full)
        driven.shelf.take(driven.page("a"))
        driven.run(1.0)
    looked_at(driven, 20)
    are_in_step(driven, {"b": TWO["b"]})


def test_a_file_is_restored_under_the_name_its_page_has_by_then(driven: Driven) -> None:
    """It was renamed while the file was gone."""
    driven.started(**TWO)
    driven.shelf.call(driven.page("a"), "z")
    (driven.folder / "a.md").unlink()
    driven.restart()
    looked_at(driven, 20)
    are_in_step(driven, {"z": TWO["a"], "b": TWO["b"]})


def test_a_row_that_could_not_be_dropped_is_dropped_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the page has a second file after the next start, which never follows."""
    shelf = Shelf()
    page = shelf.put("x/b", "text\n")
    driven = Driven(tmp_path / "docs", shelf, "x")
    driven.run(3.0)
    shelf.call(page, "away")
    with monkeypatch.context() as patch:
        patch.setattr(Rows, "drop", full)
        driven.run(2.0)
    looked_at(driven, 20)
    shelf.call(page, "x/c")
    looked_at(driven, 20)
    driven.restart()
    shelf.edit(page, "text\nmore\n")
    looked_at(driven, 20)
    assert driven.files() == {"c.md": "text\nmore\n"}


def test_the_folder_of_a_file_is_gone_when_a_trade_is_finished(driven: Driven, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is made again."""
    driven.started(b="text of b\n")
    driven.write("a/x.md", "text of x\n")
    driven.run(3.0)
    x, b = driven.page("a/x"), driven.page("b")
    driven.shelf.call(b, "a/x")
    driven.shelf.call(x, "b")
    in_three_steps(driven, monkeypatch, 3, Killed())
    if (driven.folder / "a").exists() and not any((driven.folder / "a").iterdir()):
        (driven.folder / "a").rmdir()
    looked_at(driven, 20)
    are_in_step(driven, {"a/x": "text of b\n", "b": "text of x\n"})


def test_what_is_in_the_way_of_a_folder_is_said_and_not_tried_for_ever(
    driven: Driven, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A plain file has the name of a folder that a page needs."""
    driven.started(a="text of a\n")
    driven.write("deploy", "x")
    driven.shelf.put("deploy/a", "text\n")
    monkeypatch.setattr(Rows, "put", full)
    looked_at(driven, 60)
    assert len([said for said in driven.said if "deploy/a.md is not in step" in said]) == 1
