"""Learning documents between real sidecars: written on one node, found, opened, edited and exported on the other."""

from pathlib import Path

from tests.end_to_end.commands import asked, done, wait_until
from tests.end_to_end.fleet import mesh_of, wait_until_in_step

PROBLEM = (
    "The upload fails with 403 Forbidden once the build has taken longer than an hour; trying again does not help."
)
SOLUTION = (
    "Fetch a new token right before the upload: `deploy login --fresh`. A token of the registry is valid for an hour."
)


def test_two_nodes_exchange_a_learning_and_its_files(tmp_path: Path) -> None:
    """Both have the same document, found by its words, and write the same bytes; an edit of a file on one reaches the other."""
    with mesh_of(2, tmp_path) as (one, two):
        words = ("--title", "Uploads fail", "--problem", PROBLEM, "--solution", SOLUTION, "--category", "build-errors")
        name = asked(one.home, "learnings", "add", *words, "--global")["id"]
        wait_until_in_step((one, two))
        assert SOLUTION in done(two.home, "learnings", "show", name)
        wait_until(
            lambda: [hit["id"] for hit in asked(two.home, "search", "403 Forbidden upload")["results"]] == [name]
        )
        folders = [tmp_path / "one-docs", tmp_path / "two-docs"]
        for node, folder in zip((one, two), folders, strict=True):
            done(node.home, "learnings", "export", str(folder))
        paths = [folder / "build-errors" / "uploads-fail.md" for folder in folders]
        assert paths[0].read_bytes() == paths[1].read_bytes()
        text = paths[1].read_text(encoding="utf-8").replace("valid for an hour", "valid for 60 minutes")
        paths[1].write_text(text, encoding="utf-8")
        assert asked(two.home, "learnings", "import", str(folders[1]))["changed"] == 1
        wait_until_in_step((one, two))
        done(one.home, "learnings", "export", str(folders[0]))
        assert "valid for 60 minutes" in paths[0].read_text(encoding="utf-8")
