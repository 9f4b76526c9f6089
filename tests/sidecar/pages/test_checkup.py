"""What `mesh doctor` says of pages. What it says of their updates and names is tested where those are made."""

import os
from pathlib import Path

from mesh.sidecar.pages.checkup import EDITING, examine_drafts

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
