"""Files put in the place of others: what was there is never lost. Each test also runs where files cannot be exchanged."""

import errno
import os
from pathlib import Path

import pytest

from mesh.pages import file_replacement
from mesh.pages.file_text import Content


@pytest.fixture(params=["exchange", "link", "neither"], autouse=True)
def system(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """What the disk can do."""

    def refuse(*args: object, **kwargs: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    if request.param != "exchange":
        monkeypatch.setattr(file_replacement, "_call", lambda *_args, **_kwargs: False)
    if request.param == "neither":
        monkeypatch.setattr(os, "link", refuse)
    return str(request.param)


def names(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


def test_a_file_is_replaced_and_the_old_one_handed_out(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text("old\n")
    inode = path.stat().st_ino
    old = file_replacement.replace(str(path), b"new\n")
    assert path.read_text() == "new\n"
    stamp, content = old.read()
    assert (stamp.inode, content) == (inode, Content("old\n", ""))
    old.close()
    assert names(tmp_path) == ["a.md"]


def test_what_is_written_to_the_old_file_afterwards_is_heard(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text("old\n")
    with path.open("a") as editor:
        old = file_replacement.replace(str(path), b"new\n")
        old.unlink()
        before = old.stamp()
        editor.write("typed\n")
    assert old.stamp() != before
    assert old.read()[1] == Content("old\ntyped\n", "")
    assert old.data() == b"old\ntyped\n"
    old.close()
    assert path.read_text() == "new\n"


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o755])
def test_the_mode_stays(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "a.md"
    path.write_text("old\n")
    path.chmod(mode)
    file_replacement.replace(str(path), b"new\n").close()
    assert path.stat().st_mode & 0o777 == mode


def test_a_file_that_is_gone_is_not_made_again(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        file_replacement.replace(str(tmp_path / "a.md"), b"new\n")
    assert names(tmp_path) == []


def test_a_new_file_comes_with_its_folders_and_the_usual_mode(tmp_path: Path) -> None:
    (tmp_path / "usual").write_text("")
    file_replacement.add(str(tmp_path / "deep/er/a.md"), b"new\n")
    assert (tmp_path / "deep/er/a.md").read_bytes() == b"new\n"
    assert (tmp_path / "deep/er/a.md").stat().st_mode == (tmp_path / "usual").stat().st_mode
    assert names(tmp_path / "deep/er") == ["a.md"]


def test_who_was_faster_keeps_their_file(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("theirs\n")
    (tmp_path / "b.md").write_text("ours\n")
    with pytest.raises(FileExistsError):
        file_replacement.add(str(tmp_path / "a.md"), b"ours\n")
    with pytest.raises(FileExistsError):
        file_replacement.move(str(tmp_path / "b.md"), str(tmp_path / "a.md"))
    assert (tmp_path / "a.md").read_text() == "theirs\n"
    assert names(tmp_path) == ["a.md", "b.md"]


def test_two_files_take_each_others_names(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("a\n")
    (tmp_path / "b.md").write_text("b\n")
    file_replacement.exchange(str(tmp_path / "a.md"), str(tmp_path / "b.md"))
    assert ((tmp_path / "a.md").read_text(), (tmp_path / "b.md").read_text()) == ("b\n", "a\n")
    assert names(tmp_path) == ["a.md", "b.md"]


def test_a_file_that_was_taken_away_can_be_put_back(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("a\n")
    away = file_replacement.take_away(str(tmp_path / "a.md"))
    assert not (tmp_path / "a.md").exists()
    assert away.read()[1] == Content("a\n", "")
    away.put_back(str(tmp_path / "a.md"))
    assert names(tmp_path) == ["a.md"]
    assert (tmp_path / "a.md").read_text() == "a\n"


def test_a_full_disk_leaves_everything_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    (tmp_path / "a.md").write_text("old\n")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        file_replacement.replace(str(tmp_path / "a.md"), b"new\n")
    with pytest.raises(OSError, match="No space"):
        file_replacement.add(str(tmp_path / "b.md"), b"new\n")
    assert (tmp_path / "a.md").read_text() == "old\n"
    assert names(tmp_path) == ["a.md"]


def test_what_a_killed_process_left_can_be_told(tmp_path: Path, system: str) -> None:
    (tmp_path / "a.md").write_text("old\n")
    draft = file_replacement._write_draft(str(tmp_path / "a.md"), b"new\n", None)
    assert file_replacement.stray(draft, ["b.md", "a.md"]) == file_replacement.LeftoverFile(draft, "a.md", True)
    old = file_replacement.replace(str(tmp_path / "a.md"), b"new\n")
    if system == "neither":
        assert old.path is None
        old.close()
        return
    assert old.path is not None
    assert file_replacement.stray(old.path, ["b.md", "a.md"]) == file_replacement.LeftoverFile(old.path, "a.md", False)
    assert file_replacement.is_new(old.path, b"new\n")
    assert not file_replacement.is_new(old.path, b"old\n")
    assert file_replacement.stray(old.path, ["b.md"]).of is None
    old.close()


def test_a_disk_that_knows_no_case_renames_a_file_to_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **kwargs: object) -> bool:
        raise FileExistsError(errno.EEXIST, "File exists")

    (tmp_path / "Foo.md").write_text("text\n")
    monkeypatch.setattr(file_replacement, "_call", refuse)
    monkeypatch.setattr(os.path, "samefile", lambda *_names: True)
    file_replacement.move(str(tmp_path / "Foo.md"), str(tmp_path / "foo.md"))
    assert names(tmp_path) == ["foo.md"]
