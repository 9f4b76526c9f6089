"""The catalogue of captured sessions: what is kept, what replaces what, what is never lost."""

import os
import stat
from pathlib import Path

import pytest

from clan_learnings.sessions.catalogue_files import Bodies
from clan_learnings.sessions.catalogue_rows import (
    COPY,
    FAILED,
    FORGOTTEN,
    MOVED_ON,
    TAKEN,
    CapturedFile,
    CapturedSession,
    FileLook,
    KnownFile,
)
from clan_learnings.sessions.catalogue_table import Catalogue
from mesh.core.errors import NewerHome


def told(key: str = "codex:1", *, weight: int = 5, task: str = "a task", name: str = "") -> CapturedSession:
    return CapturedSession(
        key, name or key, weight, {"key": key}, {"session": key, "task": task}, [{"kind": "fix", "text": task}]
    )


def taking(
    path: str,
    text: str = '{"a":1}\n',
    sessions: list[CapturedSession] | None = None,
    *,
    known: KnownFile | None = None,
    first_line: int = 1,
    state: str = TAKEN,
    is_continued: bool = True,
) -> CapturedFile:
    data = text.encode()
    found = [told()] if sessions is None else sessions
    return CapturedFile(
        path,
        FileLook(1, 2, len(data), 3_000_000),
        len(data),
        text.count("\n"),
        b"hash",
        state,
        "",
        "codex",
        1,
        data,
        first_line,
        is_analysed=state == TAKEN,
        is_continued=is_continued,
        sessions=found if state == TAKEN else [],
        known=known,
    )


@pytest.fixture
def catalogue(tmp_path: Path) -> Catalogue:
    return Catalogue(str(tmp_path))


def bodies_on_disk(home: Path) -> list[Path]:
    return sorted((home / "capture" / "bodies").rglob("*.*"))


def test_what_was_taken_comes_back_word_for_word(catalogue: Catalogue) -> None:
    """A body, a digest and its items are read as they were kept."""
    assert catalogue.take([taking("/t/a.jsonl", '{"a":1}\n{"b":2}\n')]) == [TAKEN]
    assert catalogue.body("/t/a.jsonl") == b'{"a":1}\n{"b":2}\n'
    (found,) = catalogue.digests()
    assert (found.session, found.digest, found.items, found.path) == (
        "codex:1",
        {"session": "codex:1", "task": "a task"},
        [{"kind": "fix", "text": "a task"}],
        "/t/a.jsonl",
    )


def test_a_file_that_grew_has_one_more_segment_and_a_new_number(catalogue: Catalogue) -> None:
    """Lines are joined at their place, the old digest is replaced, and a reader that goes on sees the new one only."""
    catalogue.take([taking("/t/a.jsonl", "one\ntwo\nhal")])
    (first,) = catalogue.digests()
    grown = taking(
        "/t/a.jsonl", "half\nfour\n", [told(task="grown")], known=catalogue.known("/t/a.jsonl"), first_line=3
    )
    assert catalogue.take([grown]) == [TAKEN]
    assert catalogue.body("/t/a.jsonl") == b"one\ntwo\nhalf\nfour\n"
    (second,) = catalogue.digests(first.number)
    assert second.number > first.number
    assert second.digest["task"] == "grown"
    assert [found.number for found in catalogue.digests()] == [second.number]


def test_what_has_not_changed_keeps_its_number(catalogue: Catalogue) -> None:
    """A file with two sessions of which one grew gives a new number to that one alone."""
    catalogue.take([taking("/t/a.jsonl", sessions=[told("codex:1"), told("codex:2")])])
    numbers = {found.key: found.number for found in catalogue.digests()}
    known = catalogue.known("/t/a.jsonl")
    catalogue.take([taking("/t/a.jsonl", sessions=[told("codex:1"), told("codex:2", task="more")], known=known)])
    again = {found.key: found.number for found in catalogue.digests()}
    assert again["codex:1"] == numbers["codex:1"]
    assert again["codex:2"] > max(numbers.values())


def test_numbers_are_never_used_twice(catalogue: Catalogue) -> None:
    """Even after the last session was forgotten."""
    catalogue.take([taking("/t/a.jsonl")])
    (first,) = catalogue.digests()
    catalogue.forget("codex:1")
    catalogue.take([taking("/t/b.jsonl", sessions=[told("codex:2")])])
    (second,) = catalogue.digests()
    assert second.number > first.number


def test_a_copy_is_counted_once_and_the_fuller_one_stands(catalogue: Catalogue, tmp_path: Path) -> None:
    """The shorter copy has no body and no digest of its own, whichever came first."""
    assert catalogue.take([taking("/t/short.jsonl", "short\n", [told(weight=3)])]) == [TAKEN]
    assert catalogue.take([taking("/t/long.jsonl", "long\n", [told(weight=9, task="long")])]) == [TAKEN]
    assert catalogue.take([taking("/t/third.jsonl", "third\n", [told(weight=9)])]) == [COPY]
    (found,) = catalogue.digests()
    assert (found.path, found.digest["task"]) == ("/t/long.jsonl", "long")
    assert catalogue.body("/t/short.jsonl") is None
    assert catalogue.body("/t/third.jsonl") is None
    assert catalogue.counts().files == {TAKEN: 1, COPY: 2}
    assert len([path for path in bodies_on_disk(tmp_path) if path.is_file()]) == 1


def test_two_that_read_the_same_file_take_it_once(catalogue: Catalogue) -> None:
    """Whoever comes second went by what is no longer so, and changes nothing."""
    assert catalogue.take([taking("/t/a.jsonl", "mine\n")]) == [TAKEN]
    assert catalogue.take([taking("/t/a.jsonl", "yours\n")]) == [MOVED_ON]
    assert catalogue.body("/t/a.jsonl") == b"mine\n"


def test_a_body_without_a_digest_is_not_dropped_but_as_a_loss(catalogue: Catalogue) -> None:
    """Dropping leaves it alone; losing it is written down."""
    catalogue.take([taking("/t/a.jsonl", "raw\n", state=FAILED), taking("/t/b.jsonl", "done\n")])
    files = [kept.file for kept in catalogue.kept()]
    assert catalogue.drop(files) == 1
    assert catalogue.body("/t/a.jsonl") == b"raw\n"
    assert catalogue.body("/t/b.jsonl") is None
    assert [found.path for found in catalogue.digests()] == ["/t/b.jsonl"]
    assert catalogue.counts().lost == 0
    assert catalogue.drop(files, lost=True) == 1
    assert catalogue.body("/t/a.jsonl") is None
    assert catalogue.counts().lost == 1


def test_a_body_without_a_digest_outlives_its_file_being_replaced(catalogue: Catalogue) -> None:
    """What the file was before is set aside; what it is now has its place."""
    catalogue.take([taking("/t/a.jsonl", "before\n", state=FAILED)])
    known = catalogue.known("/t/a.jsonl")
    catalogue.take([taking("/t/a.jsonl", "after\n", known=known, is_continued=False)])
    assert catalogue.body("/t/a.jsonl") == b"after\n"
    assert sorted(kept.is_analysed for kept in catalogue.kept()) == [False, True]


def test_forgetting_leaves_no_byte_and_keeps_the_session_out(catalogue: Catalogue, tmp_path: Path) -> None:
    """Body, digest and items are gone from every file of the folder, and a copy that comes later is not taken."""
    secret = "a-word-no-rule-knows"
    catalogue.take([taking("/t/a.jsonl", f"{secret}\n", [told(task=secret)])])
    assert catalogue.forget("codex:1") == (["codex:1"], True)
    for path in (tmp_path / "capture").rglob("*"):
        assert not path.is_file() or secret.encode() not in path.read_bytes()
    assert catalogue.take([taking("/t/copy.jsonl", f"{secret}\n", [told(task=secret)])]) == [FORGOTTEN]
    assert list(catalogue.digests()) == []
    assert catalogue.body("/t/copy.jsonl") is None


def test_a_file_is_forgotten_by_its_path(catalogue: Catalogue, tmp_path: Path) -> None:
    """All its sessions go, and the file is passed over from then on."""
    path = str(tmp_path / "a.jsonl")
    catalogue.take([taking(path, sessions=[told("codex:1"), told("codex:2")])])
    assert catalogue.forget(path) == (["codex:1", "codex:2"], True)
    known = catalogue.known(path)
    assert catalogue.take([taking(path, sessions=[told("codex:3")], known=known)]) == [FORGOTTEN]
    assert catalogue.keys() == frozenset()


def test_what_a_killed_process_left_is_swept(catalogue: Catalogue, tmp_path: Path) -> None:
    """Drafts and bodies that no row names go; those with a row stay."""
    catalogue.take([taking("/t/a.jsonl", "mine\n")])
    folder = tmp_path / "capture" / "bodies" / "00000"
    (folder / "77-orphan.zst").write_bytes(b"x")
    (folder / "78-orphan.zst.draft").write_bytes(b"x")
    assert catalogue.sweep() == 2
    assert catalogue.body("/t/a.jsonl") == b"mine\n"
    assert len([path for path in bodies_on_disk(tmp_path) if path.is_file()]) == 1


def test_a_body_is_kept_while_another_process_removes_the_last_one_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who drops bodies does so after its transaction: another one may be about to put one into the same folder."""
    one, other = Bodies(str(tmp_path)), Bodies(str(tmp_path))
    gone, _ = other.keep(1, b"gone")
    makedirs = os.makedirs

    def interrupted(path: str, mode: int, *, exist_ok: bool) -> None:
        makedirs(path, mode, exist_ok=exist_ok)
        other.remove([gone])

    monkeypatch.setattr("clan_learnings.sessions.catalogue_files.os.makedirs", interrupted)
    place, _ = one.keep(2, b"stays")
    assert one.read(place) == b"stays"
    with pytest.raises(FileNotFoundError):
        one.read(gone)


def test_folders_without_bodies_are_swept(catalogue: Catalogue, tmp_path: Path) -> None:
    catalogue.take([taking("/t/a.jsonl")])
    catalogue.drop([kept.file for kept in catalogue.kept()])
    assert catalogue.sweep() == 0
    assert list((tmp_path / "capture" / "bodies").iterdir()) == []


def test_everything_is_for_its_owner_only(catalogue: Catalogue, tmp_path: Path) -> None:
    """No file and no folder of it can be read by others."""
    catalogue.take([taking("/t/a.jsonl")])
    for path in [tmp_path / "capture", *(tmp_path / "capture").rglob("*")]:
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path


def test_a_catalogue_of_a_newer_version_is_not_touched(tmp_path: Path) -> None:
    """It says so, and names the next step."""
    with Catalogue(str(tmp_path)) as catalogue:
        catalogue._run("PRAGMA user_version=99")
    with pytest.raises(NewerHome, match="newer clan-mesh"):
        Catalogue(str(tmp_path))


def test_more_digests_than_a_page_come_in_order(catalogue: Catalogue) -> None:
    """Every one, once, by growing numbers."""
    catalogue.take([taking(f"/t/{n}.jsonl", sessions=[told(f"codex:{n}")]) for n in range(450)])
    found = list(catalogue.digests())
    assert [each.key for each in found] == [f"codex:{n}" for n in range(450)]
    assert [each.number for each in found] == sorted({each.number for each in found})


def test_paths_of_any_bytes_are_kept(catalogue: Catalogue) -> None:
    """A name that is no UTF-8 is found again."""
    path = os.fsdecode(b"/t/\xff\xfe.jsonl")
    catalogue.take([taking(path, "body\n")])
    assert catalogue.body(path) == b"body\n"
    assert next(catalogue.digests()).path == path


def test_a_process_that_dies_between_a_row_and_its_file_breaks_nothing(
    catalogue: Catalogue, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dropped: the row is gone first, the digest stays, the file is swept. Replaced: the new body counts, the old one is swept."""
    catalogue.take([taking("/t/a.jsonl", "one\n"), taking("/t/b.jsonl", "two\n", [told("codex:2")])])
    with monkeypatch.context() as patch:
        patch.setattr("clan_learnings.sessions.catalogue_files.os.unlink", _die)
        with pytest.raises(KeyboardInterrupt):
            catalogue.drop([kept.file for kept in catalogue.kept()][:1])
        known = catalogue.known("/t/b.jsonl")
        with pytest.raises(KeyboardInterrupt):
            catalogue.take([taking("/t/b.jsonl", "two\nand three\n", [told("codex:2")], known=known)])
    assert catalogue.body("/t/a.jsonl") is None
    assert catalogue.body("/t/b.jsonl") == b"two\nand three\n"
    assert {found.path for found in catalogue.digests()} == {"/t/a.jsonl", "/t/b.jsonl"}
    assert catalogue.sweep() == 2
    assert catalogue.body("/t/b.jsonl") == b"two\nand three\n"


def test_a_process_that_dies_before_the_row_leaves_the_file_unread(
    catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The body that was written is swept, and the next run takes the file as if nothing had been."""
    with monkeypatch.context() as patch:
        patch.setattr("clan_learnings.sessions.catalogue_files.os.fsync", _die)
        with pytest.raises(KeyboardInterrupt):
            catalogue.take([taking("/t/a.jsonl", "one\n")])
    assert catalogue.known("/t/a.jsonl") is None
    assert catalogue.sweep() == 1
    assert catalogue.take([taking("/t/a.jsonl", "one\n")]) == [TAKEN]
    assert catalogue.body("/t/a.jsonl") == b"one\n"


def _die(*_: object) -> None:
    raise KeyboardInterrupt
