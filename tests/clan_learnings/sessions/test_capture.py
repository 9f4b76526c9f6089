"""Capturing: files become sessions, each once, and a file that grew is continued."""

import os
from pathlib import Path

import pytest

from clan_learnings.sessions.capture import Capture, CaptureReport
from clan_learnings.sessions.catalogue_table import Catalogue
from clan_learnings.sessions.worker_processes import CaptureStopped
from tests.clan_learnings.sessions.stand_ins import ANALYSTS, Value, found, write


@pytest.fixture
def catalogue(tmp_path: Path) -> Catalogue:
    return Catalogue(str(tmp_path / "home"))


def capture(catalogue: Catalogue, *paths: Path, dry_run: bool = False) -> CaptureReport:
    return Capture(catalogue, ANALYSTS, dry_run=dry_run).run(found(*paths))


def texts(catalogue: Catalogue) -> list[list[str]]:
    return [[item["text"] for item in each.items] for each in catalogue.digests()]


def test_a_second_run_does_nothing(catalogue: Catalogue, tmp_path: Path) -> None:
    """What has not changed since is only looked at from outside, and keeps its number."""
    path = write(tmp_path / "a.jsonl", "one", "two")
    assert capture(catalogue, path).ingested == 1
    before = list(catalogue.digests())
    again = capture(catalogue, path)
    assert (again.discovered, again.ingested, again.unchanged) == (1, 0, 1)
    assert list(catalogue.digests()) == before
    assert texts(catalogue) == [["one", "two"]]


def test_a_file_that_grew_is_continued(catalogue: Catalogue, tmp_path: Path) -> None:
    """The body has all lines at their places, in two segments, and the digest is of the whole."""
    path = write(tmp_path / "a.jsonl", "one", "two")
    capture(catalogue, path)
    write(path, "three", mode="a")
    report = capture(catalogue, path)
    assert (report.ingested, report.continued) == (1, 1)
    assert catalogue.body(str(path)) == path.read_bytes()
    assert catalogue.counts().bodies == 2
    assert texts(catalogue) == [["one", "two", "three"]]


def test_a_line_that_was_half_written_is_whole_the_next_time(catalogue: Catalogue, tmp_path: Path) -> None:
    """The cursor stands before a line without its end, so that it is read again."""
    path = write(tmp_path / "a.jsonl", "one")
    whole = write(tmp_path / "whole.jsonl", "one", "two").read_bytes()
    path.write_bytes(whole[:-6])
    capture(catalogue, path)
    assert texts(catalogue) == [["one"]]
    path.write_bytes(whole)
    capture(catalogue, path)
    assert texts(catalogue) == [["one", "two"]]
    assert catalogue.body(str(path)) == whole


def test_a_file_that_was_replaced_is_taken_as_new(catalogue: Catalogue, tmp_path: Path) -> None:
    """Longer than before, and another session: the old digest stays, the body is that of the new one."""
    path = write(tmp_path / "a.jsonl", "one", name="s1")
    capture(catalogue, path)
    write(path, "three", "four", "five", name="s2")
    assert capture(catalogue, path).continued == 0
    assert catalogue.body(str(path)) == path.read_bytes()
    assert {each.key: each.digest["task"] for each in catalogue.digests()} == {"small:s1": "one", "small:s2": "three"}


def test_a_file_that_was_cut_is_taken_as_new(catalogue: Catalogue, tmp_path: Path) -> None:
    """Whoever shortened it wanted it shorter."""
    path = write(tmp_path / "a.jsonl", "one", "two")
    capture(catalogue, path)
    write(path, "one")
    capture(catalogue, path)
    assert catalogue.body(str(path)) == path.read_bytes()
    assert texts(catalogue) == [["one"]]


def test_a_session_in_two_files_is_counted_once(catalogue: Catalogue, tmp_path: Path) -> None:
    """The fuller file stands for it, in whatever order they come."""
    short = write(tmp_path / "a.jsonl", "one")
    long = write(tmp_path / "b.jsonl", "one", "two")
    report = capture(catalogue, long, short)
    assert (report.ingested, report.copies) == (1, 1)
    assert texts(catalogue) == [["one", "two"]]
    assert capture(catalogue, long, short).unchanged == 2


def test_a_fuller_copy_stands_for_a_session_whose_file_was_cut(catalogue: Catalogue, tmp_path: Path) -> None:
    """At once; its body is there after the next run."""
    first = write(tmp_path / "a.jsonl", "one", "two", "three")
    copy = write(tmp_path / "b.jsonl", "one", "two", "three")
    assert capture(catalogue, first, copy).copies == 1
    write(first, "one")
    assert capture(catalogue, first, copy).copies == 1
    assert texts(catalogue) == [["one", "two", "three"]]
    assert [each.path for each in catalogue.digests()] == [str(copy)]
    capture(catalogue, first, copy)
    assert catalogue.body(str(copy)) == copy.read_bytes()
    assert texts(catalogue) == [["one", "two", "three"]]
    assert capture(catalogue, first, copy).unchanged == 2


def test_a_copy_that_was_overtaken_stands_again_when_the_other_is_cut(catalogue: Catalogue, tmp_path: Path) -> None:
    """And the fullest of several does."""
    files = [write(tmp_path / f"{number}.jsonl", *["one", "two", "three"][:number]) for number in (1, 2, 3)]
    for path in files:
        capture(catalogue, path)
    write(files[2], "one")
    for _ in range(2):
        capture(catalogue, *files)
    assert texts(catalogue) == [["one", "two"]]
    assert [each.path for each in catalogue.digests()] == [str(files[1])]


def test_two_sessions_of_one_file_are_two(catalogue: Catalogue, tmp_path: Path) -> None:
    """Each has its digest; the body is one."""
    path = write(tmp_path / "a.jsonl", "one", name="s1")
    write(path, "two", name="s2", mode="a")
    report = capture(catalogue, path)
    assert (report.ingested, report.sessions) == (1, 2)
    assert texts(catalogue) == [["one"], ["two"]]


def test_what_no_flavour_knows_is_skipped_and_said(catalogue: Catalogue, tmp_path: Path) -> None:
    """With the reason, without a body, and not looked into again."""
    path = tmp_path / "a.txt"
    path.write_text("nothing of the sort\n")
    empty = tmp_path / "empty.jsonl"
    empty.touch()
    report = capture(catalogue, path, empty)
    assert report.skipped == {"no flavour knows it": 1, "nothing in it": 1}
    assert catalogue.counts().bodies == 0
    assert capture(catalogue, path, empty).unchanged == 2


def test_a_rule_that_fails_loses_no_body(catalogue: Catalogue, tmp_path: Path) -> None:
    """The file is reported as failed, its body is kept without a digest, and the others are taken."""
    bad = write(tmp_path / "bad.jsonl", "fail", name="bad")
    good = write(tmp_path / "good.jsonl", "fine", name="good")
    report = capture(catalogue, bad, good)
    assert report.failed == {"not analysed: RuntimeError": 1}
    assert report.failures == [(str(bad), "not analysed: RuntimeError")]
    assert catalogue.body(str(bad)) == bad.read_bytes()
    assert catalogue.counts().unanalysed == 1
    assert texts(catalogue) == [["fine"]]


def test_a_dry_run_keeps_nothing(catalogue: Catalogue, tmp_path: Path) -> None:
    """It says what would be taken in."""
    path = write(tmp_path / "a.jsonl", "one")
    report = capture(catalogue, path, dry_run=True)
    assert (report.ingested, report.sessions) == (1, 1)
    assert list(catalogue.digests()) == []
    assert catalogue.counts().bodies == 0


def test_a_run_that_is_stopped_keeps_what_it_has_done(catalogue: Catalogue, tmp_path: Path) -> None:
    """And the next one does the rest."""
    paths = [write(tmp_path / f"{number}.jsonl", "text", name=f"s{number}") for number in range(4)]
    calls = 0

    def breathe() -> None:
        nonlocal calls
        calls += 1
        if calls > 8:
            raise CaptureStopped

    report = Capture(catalogue, ANALYSTS, breathe).run(found(*paths))
    assert report.is_cut
    assert 0 < report.ingested < 4
    assert report.ingested + capture(catalogue, *paths).ingested == 4


def test_a_transcript_that_is_too_large_is_skipped_with_the_reason(
    catalogue: Catalogue, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing of it is held in memory."""
    monkeypatch.setattr("clan_learnings.sessions.transcript_file.FILE_BYTES", 1024 * 1024)
    path = tmp_path / "a.jsonl"
    with path.open("wb") as file:
        file.truncate(2 * 1024 * 1024)
    assert capture(catalogue, path).skipped == {"larger than 1 MB": 1}


def test_a_packed_transcript_is_read(catalogue: Catalogue, tmp_path: Path) -> None:
    """As if it were not packed; the plain one beside it is its copy."""
    import zstandard

    plain = write(tmp_path / "a.jsonl", "one", "two")
    packed = tmp_path / "a.jsonl.zst"
    packed.write_bytes(zstandard.compress(plain.read_bytes()))
    report = capture(catalogue, packed, plain)
    assert (report.ingested, report.copies) == (1, 1)
    assert catalogue.body(str(packed)) == plain.read_bytes()


def test_a_pipe_or_a_link_is_never_opened(catalogue: Catalogue, tmp_path: Path) -> None:
    """One that appears between looking and reading is refused."""
    path = write(tmp_path / "a.jsonl", "one")
    files = found(path)
    path.unlink()
    os.mkfifo(path)
    assert Capture(catalogue, ANALYSTS).run(files).skipped == {"not a regular file": 1}
    path.unlink()
    path.symlink_to("/etc/passwd")
    report = Capture(None, ANALYSTS).run(files)
    assert list(report.failed) == ["cannot be read: Too many levels of symbolic links"]


def test_newer_rules_judge_kept_bodies_again(
    catalogue: Catalogue, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also what an older rule failed at, and what is no longer where it was found; bodies stay as they are."""
    gone = write(tmp_path / "gone.jsonl", "one", name="gone")
    bad = write(tmp_path / "bad.jsonl", "fail", name="bad")
    capture(catalogue, gone, bad)
    kept = gone.read_bytes()
    gone.unlink()
    for module in ("capture", "analysis"):
        monkeypatch.setattr(f"clan_learnings.sessions.{module}.RULES", 99)
    newer = ANALYSTS._replace(digest=lambda session: Value({"session": session.name, "task": "judged anew"}))
    again = Capture(catalogue, newer)
    assert again.renew() == 2
    assert {each.key: each.digest["task"] for each in catalogue.digests()} == {
        "small:gone": "judged anew",
        "small:bad": "judged anew",
    }
    assert catalogue.body(str(gone)) == kept
    assert catalogue.counts().unanalysed == 0
    assert again.renew() == 0
