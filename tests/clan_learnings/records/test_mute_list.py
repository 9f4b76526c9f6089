"""What this node hides: a file of lines, which is there only while something is hidden."""

import os
from pathlib import Path

import pytest

from clan_learnings.records.mute_list import FILE, change_muted, read_muted


def test_what_was_muted_is_remembered_until_it_is_undone(tmp_path: Path) -> None:
    """Each change says whether it changed anything."""
    home = str(tmp_path)
    assert read_muted(home) == frozenset()
    assert change_muted(home, add="a")
    assert not change_muted(home, add="a")
    assert change_muted(home, add="b")
    assert read_muted(home) == {"a", "b"}
    assert change_muted(home, remove="a")
    assert not change_muted(home, remove="a")
    assert change_muted(home, remove="b")
    assert read_muted(home) == frozenset()


def test_the_file_is_its_owners_and_goes_with_the_last_line(tmp_path: Path) -> None:
    """Where nothing is hidden nothing has to be looked at, and no draft is left."""
    change_muted(str(tmp_path), add="a")
    assert (tmp_path / FILE).stat().st_mode & 0o777 == 0o600
    assert os.listdir(tmp_path) == [FILE]
    change_muted(str(tmp_path), remove="a")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("name", ["a\nb\r\nc", "a\\nb", "\\\\n\n\\", "\\", "a\\"])
def test_a_name_with_line_ends_is_one_entry(tmp_path: Path, name: str) -> None:
    """A member may have called its pattern anything: hiding that hides nothing else."""
    change_muted(str(tmp_path), add=name)
    change_muted(str(tmp_path), add="other")
    assert read_muted(str(tmp_path)) == {name, "other"}
    assert change_muted(str(tmp_path), remove=name)
    assert read_muted(str(tmp_path)) == {"other"}
