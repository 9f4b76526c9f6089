"""Files that get other names while somebody kills us, the disk is full, or a person saves: every text stays with its page."""

import contextlib
import errno
import os
from pathlib import Path
from typing import Any

import pytest

from mesh.pages import file_replacement
from tests.pages.folder_fixture import Driven, Killed, Rows, Shelf, are_in_step, kill_in


@pytest.fixture
def driven(tmp_path: Path) -> Driven:
    """A folder that does not exist yet."""
    return Driven(tmp_path / "notes")


def traded(driven: Driven) -> None:
    """Two pages have taken each other's names, and a third has to make room; their files do not know yet."""
    driven.started(a="text of a\nand more\n", b="text of b\n", c="text of c\n")
    a, b, c = (driven.page(name) for name in "abc")
    for page, name in ((a, "b"), (b, "a"), (c, "d")):
        driven.shelf.call(page, name)


AS_TRADED = {"a": "text of b\n", "b": "text of a\nand more\n", "d": "text of c\n"}


DEATHS = [
    (Rows, "begin", False),
    (Rows, "begin", True),
    (file_replacement, "exchange", True),
    (Rows, "move", False),
    (Rows, "move", True),
]


@pytest.mark.parametrize("typed", ["", "a", "b"])
@pytest.mark.parametrize("is_renamed", [False, True])
@pytest.mark.parametrize(("module", "name", "is_after"), DEATHS)
def test_killed_while_two_files_trade_names(
    driven: Driven, module: Any, name: str, *, is_after: bool, is_renamed: bool, typed: str
) -> None:
    """Neither text is taken for an edit of the other page, whatever was typed since, and whatever the pages are called by then."""
    traded(driven)
    kill_in(driven, name, is_after=is_after, module=module)
    texts = dict(AS_TRADED)
    if typed:
        path = f"{typed}.md"
        said = driven.files()[path] + "typed\n"
        driven.write(path, said)
        texts = {name: said if said.startswith(text) else text for name, text in texts.items()}
    if is_renamed:
        page = driven.page("a")
        driven.shelf.call(page, "x")
        texts["x"] = texts.pop("a")
    driven.run(5.0)
    are_in_step(driven, texts)
    assert [what for what, _ in driven.shelf.log] == ["save"] * bool(typed)


@pytest.mark.parametrize("saved", ["a", "b"])
@pytest.mark.parametrize("is_done", [False, True])
def test_a_trade_is_told_by_either_of_the_files(driven: Driven, saved: str, *, is_done: bool) -> None:
    """The other was saved meanwhile, by an editor that puts a new file in its place."""
    traded(driven)
    kill_in(driven, "move" if is_done else "begin", is_after=not is_done)
    said = driven.files()[f"{saved}.md"] + "typed\n"
    driven.write("new", said)
    os.replace(driven.folder / "new", driven.folder / f"{saved}.md")
    driven.run(5.0)
    are_in_step(driven, {name: said if said.startswith(text) else text for name, text in AS_TRADED.items()})


@pytest.mark.parametrize("steps", [0, 1, 2, 3])
def test_killed_where_a_trade_takes_three_steps(driven: Driven, monkeypatch: pytest.MonkeyPatch, steps: int) -> None:
    """Not every disk can exchange two files in one."""
    traded(driven)
    left, rename = [steps], os.rename

    def renamed(*given: Any) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise Killed
        rename(*given)

    monkeypatch.setattr(file_replacement, "_call", lambda *_, **__: False)
    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", renamed)
        if steps < 3:
            with pytest.raises(Killed):
                driven.run(3.0)
            driven.restart()
    if steps == 3:
        kill_in(driven, "move")
    driven.run(5.0)
    are_in_step(driven, AS_TRADED)
    assert driven.shelf.log == []


def test_what_was_killed_is_not_waited_for_after_it_ended(driven: Driven) -> None:
    """Whoever later swaps two files by hand has edited both pages."""
    traded(driven)
    kill_in(driven, "exchange", module=file_replacement)
    driven.run(3.0)
    are_in_step(driven, AS_TRADED)
    file_replacement.exchange(str(driven.folder / "a.md"), str(driven.folder / "b.md"))
    driven.restart()
    driven.run(3.0)
    are_in_step(driven, AS_TRADED | {"a": AS_TRADED["b"], "b": AS_TRADED["a"]})


@pytest.mark.parametrize("gone", ["a.md", "b.md"])
def test_a_file_goes_just_before_it_is_traded(driven: Driven, monkeypatch: pytest.MonkeyPatch, gone: str) -> None:
    """Nothing comes of that trade, and nothing is left of it."""
    traded(driven)
    exchange = file_replacement.exchange

    def late(*given: str) -> None:
        (driven.folder / gone).unlink(missing_ok=True)
        exchange(*given)

    with monkeypatch.context() as patch:
        patch.setattr(file_replacement, "exchange", late)
        driven.step()
    assert driven.rows.renaming is None
    driven.run(5.0)
    left = dict(AS_TRADED)
    del left["b" if gone == "a.md" else "a"]
    are_in_step(driven, left)


def test_names_are_traded_though_one_of_the_files_cannot_be_a_page(driven: Driven) -> None:
    """Nobody waits for it to be readable."""
    traded(driven)
    driven.write("b.md", b"\0\1\2")
    driven.restart()
    driven.run(3.0)
    assert driven.files() == {"a.md": "\0\1\2", "b.md": "text of a\nand more\n", "d.md": "text of c\n"}
    assert driven.shelf.by_name() == AS_TRADED


@pytest.mark.parametrize("written", range(10))
def test_killed_while_names_are_remembered(driven: Driven, monkeypatch: pytest.MonkeyPatch, written: int) -> None:
    """After any number of writes of rows: a kill, or a disk that is full for a moment."""
    traded(driven)
    left = [written]

    def failing(method: str) -> None:
        whole = getattr(Rows, method)

        def write(*given: Any) -> None:
            left[0] -= 1
            if left[0] < 0:
                raise OSError(errno.ENOSPC, "No space left on device")
            whole(*given)

        monkeypatch.setattr(Rows, method, write)

    for method in ("put", "drop", "move", "begin", "give_up"):
        failing(method)
    driven.run(0.5)
    left[0] = 1_000_000
    driven.restart()
    driven.run(10.0)
    are_in_step(driven, AS_TRADED)
    assert driven.shelf.log == []


@pytest.mark.parametrize("edited", ["", "a", "b", "d"])
@pytest.mark.parametrize("method", ["move", "begin"])
@pytest.mark.parametrize("writes", range(1, 6))
def test_names_that_cannot_be_remembered_for_a_while(
    driven: Driven, monkeypatch: pytest.MonkeyPatch, writes: int, method: str, edited: str
) -> None:
    """The mirror goes on, and knows where its files are; so does who comes after it."""
    traded(driven)
    left = [writes]
    whole = getattr(Rows, method)

    def failing(*given: Any) -> None:
        left[0] -= 1
        if left[0] >= 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        whole(*given)

    monkeypatch.setattr(Rows, method, failing)
    driven.run(30.0)
    texts = dict(AS_TRADED)
    if edited:
        texts[edited] += "edited elsewhere\n"
        driven.shelf.edit(driven.page(edited), texts[edited])
        driven.run(30.0)
    for _ in range(2):
        are_in_step(driven, texts)
        assert driven.shelf.log == []
        driven.restart()
        for _ in range(writes):
            with contextlib.suppress(OSError):  # as whoever drives it: tried again later
                driven.run(10.0)


@pytest.mark.parametrize("is_removed", [False, True])
def test_a_file_with_a_name_of_its_own_that_could_not_be_remembered(
    driven: Driven, monkeypatch: pytest.MonkeyPatch, *, is_removed: bool
) -> None:
    """It is not taken for a second one, nor for one that was changed while its page went."""
    driven.started(a="text of a\n", b="text of b\n")
    page, whole, left = driven.page("a"), Rows.move, [1]

    def failing(*given: Any) -> None:
        left[0] -= 1
        if left[0] >= 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        whole(*given)

    monkeypatch.setattr(Rows, "move", failing)
    driven.shelf.call(page, "c")
    driven.run(1.0)
    texts = {"b": "text of b\n"}
    if is_removed:
        driven.shelf.take(page)
    else:
        texts["c"] = "text of a\nedited\n"
        driven.shelf.edit(page, texts["c"])
    driven.run(20.0)
    for _ in range(2):
        are_in_step(driven, texts)
        driven.restart()
        driven.run(10.0)


def test_a_file_that_says_what_its_page_says_follows_it_from_then_on(tmp_path: Path) -> None:
    """It lay there before anything was known of it: a clone, or a folder from a backup."""
    shelf = Shelf()
    page = shelf.put("a", "text of a\n")
    driven = Driven(tmp_path / "notes", shelf)
    driven.write("a.md", "text of a\n")
    driven.run(5.0)
    shelf.call(page, "b")
    shelf.edit(page, "text of a\nmore\n")
    driven.run(5.0)
    are_in_step(driven, {"b": "text of a\nmore\n"})


@pytest.mark.parametrize("to", ["", "z.md"])
def test_a_name_is_free_that_a_file_left_before_it_was_read(driven: Driven, to: str) -> None:
    """Deleted or renamed by a person between the first look of a start and the reading."""
    driven.started(a="text of a\n", b="text of b\n")
    driven.restart()
    driven.step()
    if to:
        os.rename(driven.folder / "a.md", driven.folder / to)
    else:
        (driven.folder / "a.md").unlink()
    driven.run(5.0)
    driven.shelf.call(driven.page("b"), "a")
    driven.run(5.0)
    are_in_step(driven, {"a": "text of b\n"} | ({"z": "text of a\n"} if to else {}))
