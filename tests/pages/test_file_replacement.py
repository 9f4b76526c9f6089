"""A file of ours in the place of one that people type into: whoever saves at that moment loses nothing."""

import os
from pathlib import Path

import pytest

from mesh.pages import file_replacement
from mesh.pages.file_replacement import overwrite


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "file"
    made.write_text("before")
    return made


def names(path: Path) -> list[str]:
    """What lies in the folder."""
    return sorted(os.listdir(path.parent))


def test_a_file_is_replaced_or_made(path: Path) -> None:
    """If it says what it said, or is not there, or holds nothing."""
    assert overwrite(str(path), b"ours", b"before")
    assert path.read_text() == "ours"
    path.unlink()
    assert overwrite(str(path), b"ours", b"")
    path.write_text("")
    assert overwrite(str(path), b"ours again", b"")
    assert path.read_text() == "ours again"
    assert names(path) == ["file"]


def test_what_was_saved_meanwhile_is_given_back(path: Path) -> None:
    """By one who has replaced the file."""
    path.write_text("typed")
    assert not overwrite(str(path), b"ours", b"before")
    assert path.read_text() == "typed"
    assert names(path) == ["file"]


def test_who_has_opened_the_file_before_is_waited_for(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file was emptied, then replaced, then written to."""
    replace = file_replacement.replace
    opened = path.open("wb", buffering=0)

    def late(name: str, data: bytes) -> file_replacement.DisplacedFile:
        monkeypatch.setattr(file_replacement, "replace", replace)
        displaced = replace(name, data)
        read = displaced.data

        def first() -> bytes:
            found = read()
            opened.write(b"" if opened.tell() else b"typed")
            return found

        monkeypatch.setattr(displaced, "data", first)
        return displaced

    monkeypatch.setattr(file_replacement, "replace", late)
    with opened:
        assert not overwrite(str(path), b"ours", b"before")
    assert path.read_text() == "typed"
    assert names(path) == ["file"]


def test_the_last_save_of_two_is_there(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One comes while the first is given back; the first is kept beside it."""
    replace = file_replacement.replace
    saves = ["second", "first"]

    def crowded(name: str, data: bytes) -> file_replacement.DisplacedFile:
        if saves:
            path.write_text(saves.pop())
        return replace(name, data)

    monkeypatch.setattr(file_replacement, "replace", crowded)
    assert not overwrite(str(path), b"ours", b"before")
    assert path.read_text() == "second"
    assert names(path) == ["file", "file.rej"]
    assert (path.parent / "file.rej").read_text() == "first"
