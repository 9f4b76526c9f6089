"""Homes that were restored, copied or moved: the next write goes into a new feed, and nothing is lost."""

import os
import shutil
from io import BytesIO
from pathlib import Path

import pytest

from mesh.core.draft import Increment, NewRecord
from mesh.core.feed import encode_range
from mesh.core.identity import Identity
from mesh.store.author import Author
from mesh.store.bundles import ImportReport, export_bundle, import_bundle
from mesh.store.feed_progress import FeedProgress
from mesh.store.merge_outcome import Forked
from mesh.store.reader import Reader
from tests.worlds import Clan, open_author

CLAN = Clan()
OWN, PEER = CLAN.node(0), CLAN.node(1)
CERTIFICATES = [CLAN.member(OWN, "own").encode(), CLAN.member(PEER, "peer").encode()]


def write(author: Author, text: str) -> str:
    """One record; returns why a new epoch was opened, if one was."""
    return author.append([NewRecord("notes", {"text": text}), Increment("writes")]).new_epoch


def texts(author: Author) -> list[str]:
    return sorted(entry.record["text"] for entry in Reader(author.store.database.connection).tail(100))


def send(source: Author, target: Author) -> ImportReport:
    bundle, report = BytesIO(), ImportReport()
    export_bundle(source.store, bundle)
    bundle.seek(0)
    import_bundle(target, bundle, report)
    return report


def back_up(home: Path, backup: Path) -> None:
    shutil.copytree(home, backup)


def restore(backup: Path, home: Path) -> None:
    shutil.rmtree(home)
    shutil.copytree(backup, home)


def copy_marker(own: Identity, source: Path, target: Path) -> None:
    """Make a copied home believe that it is the original."""
    known = FeedProgress(own.public, os.fspath(source)).read()
    assert known is not None
    marker = FeedProgress(own.public, os.fspath(target))
    descriptor = marker.open()
    marker.write(descriptor, *known)
    os.close(descriptor)


def test_writes_go_on_in_one_feed(tmp_path: Path) -> None:
    """Opening and closing a home is no reason for a new epoch."""
    for number in range(3):
        with open_author(tmp_path / "home", CLAN, OWN) as author:
            author.merge_statements(CERTIFICATES)
            assert write(author, f"{number}") == ""
            assert len(author.store.feeds.all()) == 1


def test_a_home_restored_from_an_old_copy_opens_a_new_epoch(tmp_path: Path) -> None:
    """The marker is ahead of the database; what the peer still has comes back, and nothing counts twice."""
    home = tmp_path / "home"
    with open_author(tmp_path / "peer", CLAN, PEER) as peer:
        peer.merge_statements(CERTIFICATES)
        with open_author(home, CLAN, OWN) as author:
            author.merge_statements(CERTIFICATES)
            write(author, "before the backup")
        back_up(home, tmp_path / "backup")
        with open_author(home, CLAN, OWN) as author:
            write(author, "after the backup")
            send(author, peer)
        restore(tmp_path / "backup", home)
        with open_author(home, CLAN, OWN) as author:
            assert "older than it was" in write(author, "after the restore")
            assert write(author, "and on") == ""
            send(peer, author)
            send(author, peer)
            everything = ["after the backup", "after the restore", "and on", "before the backup"]
            assert texts(author) == texts(peer) == everything
            assert author.store.root() == peer.store.root()
            assert author.store.trust().forks == {}
            assert Reader(peer.store.database.connection).total("writes") == 4


@pytest.mark.parametrize("what", ["copied to another folder", "moved to another machine", "without its marker"])
def test_a_home_that_is_not_where_it_was_opens_a_new_epoch(
    tmp_path: Path, state_folder: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """There is no marker of this home on this machine, so another copy may be alive elsewhere."""
    home = tmp_path / "home"
    with open_author(home, CLAN, OWN) as author:
        author.merge_statements(CERTIFICATES)
        write(author, "here")
    if what == "copied to another folder":
        shutil.copytree(home, tmp_path / "copy")
        home = tmp_path / "copy"
    elif what == "moved to another machine":
        monkeypatch.setattr("mesh.store.feed_progress.machine", lambda: b"another machine")
    else:
        shutil.rmtree(state_folder)
    with open_author(home, CLAN, OWN) as author:
        assert "not written on this machine" in write(author, "there")
        assert write(author, "there again") == ""
        assert texts(author) == ["here", "there", "there again"]


def test_the_original_writes_on_undisturbed_beside_its_copy(tmp_path: Path) -> None:
    """Two copies on one machine do not push each other into ever new epochs."""
    with open_author(tmp_path / "home", CLAN, OWN) as author:
        author.merge_statements(CERTIFICATES)
        write(author, "one")
    shutil.copytree(tmp_path / "home", tmp_path / "copy")
    with open_author(tmp_path / "home", CLAN, OWN) as author, open_author(tmp_path / "copy", CLAN, OWN) as copy:
        assert write(copy, "two") != ""
        for number in range(3):
            assert write(author, f"three {number}") == ""
            assert write(copy, f"four {number}") == ""


def test_a_crash_between_commit_and_marker_is_no_reason_for_a_new_epoch(tmp_path: Path) -> None:
    """A marker that is behind the database does no harm."""
    home = tmp_path / "home"
    with open_author(home, CLAN, OWN) as author:
        author.merge_statements(CERTIFICATES)
        write(author, "one")
        path = Path(FeedProgress(OWN.public, os.fspath(home)).path)
        before = path.read_bytes()
        write(author, "two")
        path.write_bytes(before)
        assert write(author, "three") == ""


def test_an_unnoticed_restore_is_proved_as_a_fork_and_published_again(tmp_path: Path) -> None:
    """Database and marker both went back: the feed forks, ends, and both branches live on in a new epoch."""
    home = tmp_path / "home"
    marker = Path(FeedProgress(OWN.public, os.fspath(home)).path)
    with open_author(tmp_path / "peer", CLAN, PEER) as peer:
        peer.merge_statements(CERTIFICATES)
        with open_author(home, CLAN, OWN) as author:
            author.merge_statements(CERTIFICATES)
            write(author, "common")
        back_up(home, tmp_path / "backup")
        old_marker = marker.read_bytes()
        with open_author(home, CLAN, OWN) as author:
            write(author, "first history")
            send(author, peer)
        restore(tmp_path / "backup", home)
        marker.write_bytes(old_marker)
        with open_author(home, CLAN, OWN) as author:
            assert write(author, "second history") == "", "nothing shows it yet"
            report = send(author, peer)
            assert report.forks == 1
            assert texts(peer) == ["common"], "the feed ends before the fork, on every node"
            send(peer, author)
            send(author, peer)
            assert texts(author) == texts(peer) == ["common", "first history", "second history"]
            assert Reader(peer.store.database.connection).total("writes") == 3
            assert author.store.root() == peer.store.root()
            assert write(author, "life goes on") == ""


def test_a_fork_is_reported_by_who_sees_it(tmp_path: Path) -> None:
    """Merging the other branch answers with the fork and where it is."""
    with open_author(tmp_path / "one", CLAN, OWN) as one:
        one.merge_statements(CERTIFICATES)
        write(one, "common")
        shutil.copytree(tmp_path / "one", tmp_path / "two")
        copy_marker(OWN, tmp_path / "one", tmp_path / "two")
        with open_author(tmp_path / "two", CLAN, OWN) as two:
            write(one, "left")
            write(two, "right")
            (row,) = two.store.feeds.all()
            (item,) = two.store.feeds.ranges(row, 2)
            assert one.store.merge(encode_range(item)) == Forked(row.feed, 3)
