"""What `mesh doctor` says of pages. What it says of their updates and names is tested where those are made."""

import os
import shutil
from pathlib import Path

import pytest

from mesh.app.checks.page_checks import EDITING, examine_drafts

DAY = 24 * 3600


def test_what_was_typed_and_got_into_no_page_is_named_after_a_day(tmp_path: Path) -> None:
    for name, age in (("old", 2 * DAY), ("open", DAY // 2)):
        folder = tmp_path / f"{EDITING}{name}"
        folder.mkdir()
        (folder / f"{name} page.md").write_text("typed\n")
        (folder / ".swp").write_text("of an editor")
        os.utime(folder / f"{name} page.md", (1_000_000 - age, 1_000_000 - age))
    (tmp_path / f"{EDITING}is-a-file").write_text("no folder")
    (found,) = examine_drafts(os.fspath(tmp_path), 1_000_000)
    assert found.sort == "edit that was not saved"
    assert os.path.join(f"{EDITING}old", "old page.md") in found.sentence
    assert "mesh page show 'old page'" in found.next_step
    assert f"{EDITING}old" in found.next_step.rpartition("rm -r ")[2]


def test_a_page_whose_editor_is_closed_meanwhile_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its folder goes between one look at it and the next: before it is listed, or before its file is looked at."""
    for name in ("a-listed", "b-looked-at", "c-stays"):
        (tmp_path / f"{EDITING}{name}").mkdir()
        (tmp_path / f"{EDITING}{name}" / f"{name}.md").write_text("typed\n")
        os.utime(tmp_path / f"{EDITING}{name}" / f"{name}.md", (0, 0))
    listed = os.listdir

    def closed(folder: str) -> list[str]:
        if folder.endswith("a-listed"):
            shutil.rmtree(folder)
        names = listed(folder)
        if folder.endswith("b-looked-at"):
            shutil.rmtree(folder)
        return names

    monkeypatch.setattr(os, "listdir", closed)
    (found,) = examine_drafts(os.fspath(tmp_path), 10 * DAY)
    assert "c-stays.md was edited" in found.sentence
