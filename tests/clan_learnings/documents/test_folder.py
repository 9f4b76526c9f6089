"""Documents as a folder: only what is ours is written, nothing outside is touched, and files that anybody wrote are only read."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from clan_learnings.documents.folder import (
    CHANGED,
    FILE_BYTES,
    NEW,
    SKIPPED,
    UNCHANGED,
    Exported,
    category_folder,
    export,
    files,
    forget,
    missing,
    told_by,
)
from clan_learnings.documents.learning import Learning, learning_of
from clan_learnings.records.record import CATEGORIES, Note
from mesh.core.ids import text_id
from mesh.store.reader import Entry
from tests.clan_learnings.documents.learned import GOOD

ONE, TWO, THREE = (bytes([number]) * 32 for number in (1, 2, 3))
NAME = "build-errors/uploads-fail-with-403-after-an-hour.md"


def exported(
    folder: Path, *documents: tuple[bytes, Learning], live: Callable[[str], bool] | None = None, prune: bool = False
) -> Exported:
    tags = {text_id(tag) for tag, _ in documents}
    return export(str(folder), documents, live or tags.__contains__, prune=prune)


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_documents_lie_under_their_category_and_the_second_time_nothing_is_written(tmp_path: Path) -> None:
    """The same state gives the same bytes."""
    done = exported(tmp_path, (ONE, GOOD), (TWO, replace(GOOD, title="Other", category="api-patterns")))
    assert done.written == [NAME, "api-patterns/other.md"]
    before = bytes_of(tmp_path)
    again = exported(tmp_path, (ONE, GOOD), (TWO, replace(GOOD, title="Other", category="api-patterns")))
    assert (again.written, len(again.unchanged), again.kept) == ([], 2, [])
    assert bytes_of(tmp_path) == before
    elsewhere = tmp_path / "elsewhere"
    exported(elsewhere, (ONE, GOOD), (TWO, replace(GOOD, title="Other", category="api-patterns")))
    assert bytes_of(elsewhere) == before


def test_two_of_one_title_have_two_names_and_the_older_keeps_the_plain_one(tmp_path: Path) -> None:
    """Whoever comes first, by time."""
    done = exported(tmp_path, (ONE, GOOD), (TWO, GOOD), (THREE, GOOD))
    assert done.written == [NAME, *(NAME.replace(".md", f"-{text_id(tag)[:8]}.md") for tag in (TWO, THREE))]


@pytest.mark.parametrize("category", ["..", "../../etc", "/etc", "", "a/b", "Ä", "x" * 100, ".git", "a\0b"])
def test_no_category_and_no_title_leads_out_of_the_folder(tmp_path: Path, category: str) -> None:
    """A record may say what it wants."""
    folder = tmp_path / "docs"
    hostile = replace(GOOD, category=category, title="../../../../etc/cron.d/x")
    assert exported(folder, (ONE, hostile)).written == ["other/etc-cron-d-x.md"]
    assert category_folder(category) == "other"
    assert sorted(os.listdir(tmp_path)) == ["docs"]


def test_a_file_without_our_mark_is_never_overwritten(tmp_path: Path) -> None:
    """Whatever lies there: a file of a person, a link, a folder."""
    path = tmp_path / NAME
    path.parent.mkdir()
    path.write_text("mine", encoding="utf-8")
    done = exported(tmp_path, (ONE, GOOD))
    assert [name for name, _ in done.kept] == [NAME]
    assert path.read_text(encoding="utf-8") == "mine"
    path.unlink()
    target = tmp_path / "target"
    target.write_text("theirs", encoding="utf-8")
    path.symlink_to(target)
    assert [name for name, _ in exported(tmp_path, (ONE, GOOD)).kept] == [NAME]
    assert (path.is_symlink(), target.read_text(encoding="utf-8")) == (True, "theirs")
    path.unlink()
    path.mkdir()
    assert [name for name, _ in exported(tmp_path, (ONE, GOOD)).kept] == [NAME]


def test_a_category_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    """Somebody may have put one there."""
    outside = tmp_path / "outside"
    outside.mkdir()
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "build-errors").symlink_to(outside)
    assert [name for name, _ in exported(folder, (ONE, GOOD)).kept] == [NAME]
    assert list(outside.iterdir()) == []


def test_an_edited_file_is_left_alone_until_the_record_says_the_same(tmp_path: Path) -> None:
    """What was typed is not lost by an export that comes before the import."""
    exported(tmp_path, (ONE, GOOD))
    path = tmp_path / NAME
    path.write_text(path.read_text(encoding="utf-8").replace("valid for an hour", "valid for long"), encoding="utf-8")
    done = exported(tmp_path, (ONE, replace(GOOD, tags=("new",))))
    assert [name for name, _ in done.kept] == [NAME]
    assert "mesh learnings import" in done.kept[0][1]
    after = replace(GOOD, root_cause=GOOD.root_cause.replace("for an hour", "for long"), tags=("new",))
    assert exported(tmp_path, (ONE, after)).written == [NAME]


def test_a_document_that_gets_another_name_takes_its_file_along(tmp_path: Path) -> None:
    """Also when two swap their names."""
    one, two = replace(GOOD, title="one"), replace(GOOD, title="two")
    exported(tmp_path, (ONE, one), (TWO, two))
    done = exported(tmp_path, (ONE, two), (TWO, one))
    assert (sorted(done.written), done.removed, done.kept) == (["build-errors/one.md", "build-errors/two.md"], [], [])
    done = exported(tmp_path, (ONE, replace(two, category="api-patterns")), (TWO, one))
    assert (done.written, done.removed) == (["api-patterns/two.md"], ["build-errors/two.md"])


def test_files_of_documents_that_are_no_more_are_told_and_removed_only_if_asked(tmp_path: Path) -> None:
    """And never if somebody has edited them."""
    other = replace(GOOD, title="Other")
    exported(tmp_path, (ONE, GOOD), (TWO, other))
    done = exported(tmp_path, (TWO, other))
    assert (done.stale, done.removed) == ([NAME], [])
    done = exported(tmp_path, (TWO, other), prune=True)
    assert (done.stale, done.removed) == ([], [NAME])
    path = tmp_path / "build-errors/other.md"
    path.write_text(path.read_text(encoding="utf-8").replace("# Other", "# Mine"), encoding="utf-8")
    assert exported(tmp_path, prune=True).stale == ["build-errors/other.md"]


def test_a_live_document_outside_of_what_is_exported_keeps_its_file(tmp_path: Path) -> None:
    """A filter is no retraction."""
    exported(tmp_path, (ONE, GOOD))
    done = exported(tmp_path, live=lambda _: True, prune=True)
    assert (done.stale, done.removed) == ([], [])
    done = exported(tmp_path, (TWO, GOOD), live=lambda _: True)
    assert [name for name, _ in done.kept] == [NAME]


def test_what_cannot_be_a_document_is_told_apart(tmp_path: Path) -> None:
    """Too large, not text, not readable, a link, something else; hidden folders are not looked into."""
    (tmp_path / "large.md").write_bytes(b"x" * (FILE_BYTES + 1))
    (tmp_path / "binary.md").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "README.md").write_text("# hello", encoding="utf-8")
    (tmp_path / "link.md").symlink_to("/etc/passwd")
    os.mkfifo(tmp_path / "pipe.md")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "x.md").write_text("## Problem\nx\n## Solution\ny", encoding="utf-8")
    found = {file.name: file for file in files(str(tmp_path))}
    assert set(found) == {"large.md", "binary.md", "README.md", "link.md", "pipe.md"}
    assert all(file.parsed is None and file.why for file in found.values())


def test_a_file_that_is_gone_is_known_by_the_listing(tmp_path: Path) -> None:
    """Only what was written here can be missed, and only once."""
    exported(tmp_path, (ONE, GOOD), (TWO, replace(GOOD, title="Other")))
    assert missing(str(tmp_path), list(files(str(tmp_path)))) == []
    (tmp_path / NAME).unlink()
    assert missing(str(tmp_path), list(files(str(tmp_path)))) == [text_id(ONE)]
    forget(str(tmp_path), [text_id(ONE)])
    assert missing(str(tmp_path), list(files(str(tmp_path)))) == []


# What files tell


def note_of(learning: Learning, log: str = "learnings") -> Note:
    facts = ("category", "severity", "repo", "session", "source", "confidence", "evidence")
    record = learning.document() | {name: getattr(learning, name) for name in facts} | {"tags": list(learning.tags)}
    return Note(Entry(ONE, log, 1_763_337_600_000 << 16, bytes(32), record), {})


def told(folder: Path, note: Note | None, *, known: bool = False) -> list[tuple[str, set[str], tuple[str, ...]]]:
    answers = [told_by(file, lambda _: note, lambda _: known, CATEGORIES) for file in files(str(folder))]
    return [(one.state, set(one.changes or ()), tuple(one.also)) for one in answers]


def test_an_untouched_file_changes_nothing_also_if_the_record_has_changed_since(tmp_path: Path) -> None:
    """An old export does not undo what others wrote meanwhile."""
    note = note_of(GOOD)
    exported(tmp_path, (ONE, learning_of(note)))
    assert told(tmp_path, note) == [(UNCHANGED, set(), ())]
    assert told(tmp_path, note_of(replace(GOOD, solution="Something else entirely."))) == [(UNCHANGED, set(), ())]


def test_only_what_a_person_changed_is_changed_and_a_clash_is_told(tmp_path: Path) -> None:
    """Field by field: what others changed in other fields stays."""
    exported(tmp_path, (ONE, learning_of(note_of(GOOD))))
    path = tmp_path / NAME
    path.write_text(path.read_text(encoding="utf-8").replace("valid for an hour", "valid for long"), encoding="utf-8")
    assert told(tmp_path, note_of(replace(GOOD, solution="Else."))) == [(CHANGED, {"root_cause"}, ())]
    assert told(tmp_path, note_of(replace(GOOD, root_cause="Else."))) == [(CHANGED, {"root_cause"}, ("root_cause",))]


def test_a_file_of_a_record_that_is_gone_or_of_another_sort_is_left_alone(tmp_path: Path) -> None:
    """It does not come back by itself. One that was never here is new: it comes from another mesh."""
    exported(tmp_path, (ONE, GOOD))
    assert told(tmp_path, None, known=True)[0][0] == SKIPPED
    assert told(tmp_path, note_of(GOOD, "discoveries"))[0][0] == SKIPPED
    assert told(tmp_path, None)[0][0] == NEW


def test_a_new_file_is_of_the_category_of_its_folder(tmp_path: Path) -> None:
    """Unless it says another, or there is no such category."""
    text = "# T\n## Problem\np\n## Solution\ns\n"
    for place, front in (("api-patterns", ""), ("notes", ""), ("build-errors", "---\ncategory: test-failures\n---\n")):
        (tmp_path / place).mkdir()
        (tmp_path / place / "x.md").write_text(front + text, encoding="utf-8")
    answers = [told_by(file, lambda _: None, lambda _: False, CATEGORIES) for file in files(str(tmp_path))]
    assert [(one.state, one.learning.category) for one in answers if one.learning] == [
        (NEW, "api-patterns"),
        (NEW, "test-failures"),
        (NEW, ""),
    ]
