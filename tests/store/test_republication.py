"""A clock that was wrong: nothing is written while nobody knows which is right, and what was written ahead is written again."""

import shutil
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path

import pytest

from mesh.core.draft import Assignment, Draft, Increment, NewRecord, Removal
from mesh.core.errors import ClockInDoubt
from mesh.core.ids import text_id
from mesh.store.author import Author
from mesh.store.bundles import ImportReport, export_bundle, import_bundle
from mesh.store.reader import Reader
from mesh.store.store import BEHIND, RIGHT
from mesh.store.verification import verify_store
from tests.store.test_epochs import copy_marker
from tests.worlds import NOW_MS, Clan, open_author, open_store, views

CLAN = Clan()
OWN, PEER = CLAN.node(0), CLAN.node(1)
CERTIFICATES = [CLAN.member(OWN, "own").encode(), CLAN.member(PEER, "peer").encode()]
HOUR, DAY, YEAR = 3_600_000, 86_400_000, 365 * 86_400_000


def write(home: Path, *drafts: Draft, now_ms: int = NOW_MS) -> Sequence[bytes]:
    """One batch of the node whose clock is to be wrong; returns the tags."""
    with open_author(home, CLAN, OWN, now_ms) as author:
        author.merge_statements(CERTIFICATES)
        return author.append(drafts).tags


def note(text: str) -> NewRecord:
    return NewRecord("notes", {"text": text})


def texts(author: Author) -> list[str]:
    return sorted(entry.record["text"] for entry in Reader(author.store.database.connection).tail(100, log="notes"))


def send(source: Path, target: Author, own: bytes | None = None, now_ms: int = NOW_MS) -> None:
    """Everything that one home holds, to another."""
    del own
    bundle = BytesIO()
    with open_store(source, CLAN, OWN, now_ms) as store:
        export_bundle(store, bundle)
    bundle.seek(0)
    import_bundle(target, bundle, ImportReport())


def mend(home: Path, now_ms: int = NOW_MS) -> int:
    """What somebody does who knows that the clock is right; returns how many operations were written again."""
    with open_author(home, CLAN, OWN, now_ms) as author:
        done = author.restamp()
        return 0 if done is None else done.operations


def test_a_write_behind_one_that_is_a_year_ahead_is_refused_and_both_times_are_named(tmp_path: Path) -> None:
    """Before this, each later write said that it was recorded, and waited on every other node for a year."""
    write(tmp_path, note("before"))
    write(tmp_path, note("ahead"), now_ms=NOW_MS + YEAR)
    with pytest.raises(ClockInDoubt, match=r"stamped 2027-.* the clock says 2026-"):
        write(tmp_path, note("after"), now_ms=NOW_MS + HOUR)
    with open_author(tmp_path, CLAN, OWN) as author:
        assert texts(author) == ["ahead", "before"]


def test_five_minutes_are_no_reason_to_refuse(tmp_path: Path) -> None:
    """Others let in what is up to five minutes ahead of their clock."""
    write(tmp_path, note("one"), now_ms=NOW_MS + 299_000)
    write(tmp_path, note("two"))
    with open_author(tmp_path, CLAN, OWN) as author:
        assert texts(author) == ["one", "two"]


def test_a_clock_that_jumps_forward_is_a_machine_that_woke(tmp_path: Path) -> None:
    """Weeks may pass between two writes."""
    write(tmp_path, note("one"))
    write(tmp_path, note("weeks later"), now_ms=NOW_MS + 60 * DAY)
    with open_author(tmp_path, CLAN, OWN, NOW_MS + 60 * DAY) as author:
        assert texts(author) == ["one", "weeks later"]


def test_what_was_written_ahead_counts_again_on_every_node(tmp_path: Path) -> None:
    """The old feed ends before it, for all; the new feed has it with the time it is."""
    write(tmp_path / "own", note("before"))
    write(tmp_path / "own", note("ahead"), note("ahead too"), now_ms=NOW_MS + YEAR)
    with open_author(tmp_path / "peer", CLAN, PEER) as peer:
        peer.merge_statements(CERTIFICATES)
        send(tmp_path / "own", peer)
        assert texts(peer) == ["before"]
        assert mend(tmp_path / "own") == 2
        send(tmp_path / "own", peer)
        assert texts(peer) == ["ahead", "ahead too", "before"]
        with open_author(tmp_path / "own", CLAN, OWN) as own:
            assert own.store.root() == peer.store.root()
            assert views(own.store) == views(peer.store)
            assert texts(own) == texts(peer)
            assert verify_store(own.store).problems == []
    write(tmp_path / "own", note("after"), now_ms=NOW_MS + HOUR)


def test_nothing_counts_twice_when_the_year_has_passed(tmp_path: Path) -> None:
    """Neither at home nor elsewhere, though what was ahead is not ahead any more."""
    write(tmp_path / "own", note("ahead"), Increment("writes", 3), now_ms=NOW_MS + YEAR)
    mend(tmp_path / "own")
    later = NOW_MS + 2 * YEAR
    write(tmp_path / "own", note("after"), now_ms=later)
    with open_author(tmp_path / "peer", CLAN, PEER, later) as peer:
        peer.merge_statements(CERTIFICATES)
        send(tmp_path / "own", peer, now_ms=later)
        for author in (peer,):
            author.store.settle()
            assert texts(author) == ["after", "ahead"]
            assert Reader(author.store.database.connection).total("writes") == 3
    with open_author(tmp_path / "own", CLAN, OWN, later) as own:
        own.republish()
        assert texts(own) == ["after", "ahead"]
        assert Reader(own.store.database.connection).total("writes") == 3


def test_edits_removals_and_references_follow_their_records(tmp_path: Path) -> None:
    """A record that is written again has another id, and so have the things said of it."""
    old, gone = write(tmp_path, note("ahead"), note("taken back"), now_ms=NOW_MS + YEAR)
    write(
        tmp_path,
        Assignment(old, "severity", "high"),
        Removal((gone,), "no longer true"),
        NewRecord("links", {"beside": text_id(old), "more": [text_id(gone)]}),
        now_ms=NOW_MS + YEAR,
    )
    mend(tmp_path)
    with open_author(tmp_path, CLAN, OWN) as author:
        reader = Reader(author.store.database.connection)
        (entry,) = reader.tail(10, log="notes")
        assert entry.record["text"] == "ahead"
        assert entry.tag != old
        assert reader.fields(entry.tag) == {"severity": "high"}
        (link,) = reader.tail(10, log="links")
        assert link.record["beside"] == text_id(entry.tag)


def test_an_erase_of_either_reaches_both(tmp_path: Path) -> None:
    """Who heard of one id only erases under that; the author sees to the other."""
    for number in (0, 1):
        home = tmp_path / f"own{number}"
        (old,) = write(home, note("a secret"), now_ms=NOW_MS + YEAR)
        mend(home)
        with open_author(home, CLAN, OWN) as author:
            (entry,) = Reader(author.store.database.connection).tail(10, log="notes")
            author.merge_statements([CLAN.erase(CLAN.root, (old, entry.tag)[number]).encode()])
            assert texts(author) == []
            bodies = [body for (body,) in author.store.database.run("SELECT body FROM ops WHERE body IS NOT NULL")]
            assert bodies
            assert not any(b"a secret" in body for body in bodies)


def test_what_was_erased_before_is_not_written_again(tmp_path: Path) -> None:
    """Its body is gone, and so it stays."""
    old, _ = write(tmp_path, note("a secret"), note("kept"), now_ms=NOW_MS + YEAR)
    with open_author(tmp_path, CLAN, OWN) as author:
        author.merge_statements([CLAN.erase(OWN, old).encode()])
    mend(tmp_path)
    with open_author(tmp_path, CLAN, OWN) as author:
        assert texts(author) == ["kept"]


def test_one_such_feed_a_day(tmp_path: Path) -> None:
    """Each costs every node a statement for ever."""
    write(tmp_path, note("one"), now_ms=NOW_MS + YEAR)
    mend(tmp_path)
    write(tmp_path, note("two"), now_ms=NOW_MS + YEAR)
    with pytest.raises(ClockInDoubt, match="once today already"):
        mend(tmp_path, NOW_MS + HOUR)
    assert mend(tmp_path, NOW_MS + DAY + HOUR) == 1
    with open_author(tmp_path, CLAN, OWN, NOW_MS + DAY + HOUR) as author:
        assert texts(author) == ["one", "two"]
        assert len(author.store.trust().forks) == 2


def test_a_clock_that_was_never_set_mends_nothing(tmp_path: Path) -> None:
    """A machine that boots in 1970 each time would otherwise write everything again at each start."""
    write(tmp_path, note("one"))
    for now_ms in (1_000, 10 * YEAR):
        with pytest.raises(ClockInDoubt, match="never set"):
            write(tmp_path, note("two"), now_ms=now_ms)
        with pytest.raises(ClockInDoubt, match="never set"):
            mend(tmp_path, now_ms)
    write(tmp_path, note("two"))


def test_a_clock_that_was_set_back_is_not_believed_over_a_peer(tmp_path: Path) -> None:
    """A peer whose clock is where the stamps are shows that ours is behind: then we go on from the stamps."""
    write(tmp_path, note("one"))
    with open_author(tmp_path, CLAN, OWN, NOW_MS - YEAR) as author:
        with pytest.raises(ClockInDoubt):
            author.append([note("two")])
        author.store.remember_peers_on_clock(BEHIND)
        author.append([note("two")])
    with open_author(tmp_path / "peer", CLAN, PEER) as peer:
        peer.merge_statements(CERTIFICATES)
        send(tmp_path, peer)
        assert texts(peer) == ["one", "two"]


def test_stamps_of_others_that_are_ahead_do_not_mute_a_node_whose_clock_is_right(tmp_path: Path) -> None:
    """It let them in while its own clock was ahead too. They are theirs to mend."""
    ahead = NOW_MS + YEAR
    write(tmp_path / "other", note("of a wrong clock"), now_ms=ahead)
    with open_author(tmp_path / "peer", CLAN, PEER, ahead) as peer:
        peer.merge_statements(CERTIFICATES)
        send(tmp_path / "other", peer, now_ms=ahead)
    with open_author(tmp_path / "peer", CLAN, PEER) as peer:
        with pytest.raises(ClockInDoubt):
            peer.append([note("mine")])
        peer.store.remember_peers_on_clock(RIGHT)
        peer.append([note("mine")])
        assert peer.restamp() is None
    with open_author(tmp_path / "third", CLAN, CLAN.node(2)) as third:
        third.merge_statements(CERTIFICATES)
        bundle = BytesIO()
        with open_store(tmp_path / "peer", CLAN, PEER) as store:
            export_bundle(store, bundle)
        bundle.seek(0)
        import_bundle(third, bundle, ImportReport())
        assert texts(third) == ["mine"]


def test_merging_goes_on_while_nothing_is_written(tmp_path: Path) -> None:
    """What peers send has nothing to do with our clock's past; what is owed to ourselves stays owed."""
    write(tmp_path / "own", note("ahead"), now_ms=NOW_MS + YEAR)
    with open_author(tmp_path / "peer", CLAN, PEER) as peer:
        peer.merge_statements(CERTIFICATES)
        peer.append([note("of a peer")])
    bundle = BytesIO()
    with open_store(tmp_path / "peer", CLAN, PEER) as store:
        export_bundle(store, bundle)
    bundle.seek(0)
    with open_author(tmp_path / "own", CLAN, OWN) as own:
        with own.store.database.writing(durable=False):
            own.store.owe_republication()
        import_bundle(own, bundle, ImportReport())
        assert texts(own) == ["ahead", "of a peer"]


def test_a_copy_of_the_node_does_not_bring_back_what_was_replaced(tmp_path: Path) -> None:
    """A backup from before holds the old operations; when their time has come, they were replaced long ago."""
    write(tmp_path / "own", note("ahead"), now_ms=NOW_MS + YEAR)
    shutil.copytree(tmp_path / "own", tmp_path / "backup")
    mend(tmp_path / "own")
    later = NOW_MS + 2 * YEAR
    with open_author(tmp_path / "backup", CLAN, OWN, later) as copy:
        send(tmp_path / "own", copy, now_ms=later)
        copy.append([note("of the copy")])
        assert texts(copy) == ["ahead", "of the copy"]


def test_a_node_that_is_not_admitted_has_to_join_first(tmp_path: Path) -> None:
    """Its word ends no feed yet. Once it is a member, what it wrote counts with the time it is."""
    with open_author(tmp_path, CLAN, OWN, NOW_MS + YEAR) as author:
        author.append([note("ahead")])
    with pytest.raises(ClockInDoubt, match="not admitted"):
        mend(tmp_path)
    with open_author(tmp_path, CLAN, OWN) as author:
        author.merge_statements(CERTIFICATES)
    assert mend(tmp_path) == 1
    with open_author(tmp_path, CLAN, OWN) as author:
        assert texts(author) == ["ahead"]


def test_what_only_a_copy_had_is_not_forgotten_while_it_waits_for_the_other(tmp_path: Path) -> None:
    """It went on behind the place where the other ended the feed: that is owed until the other has said what it wrote again."""
    write(tmp_path / "own", note("ahead"), now_ms=NOW_MS + YEAR)
    shutil.copytree(tmp_path / "own", tmp_path / "copy")
    copy_marker(OWN, tmp_path / "own", tmp_path / "copy")
    write(tmp_path / "copy", note("of the copy"), now_ms=NOW_MS + YEAR)
    mend(tmp_path / "own")
    later = NOW_MS + 2 * YEAR
    with open_store(tmp_path / "own", CLAN, OWN) as store:
        statements = [item.encode() for item in store.all_statements()]
    with open_author(tmp_path / "copy", CLAN, OWN, later) as copy:
        copy.merge_statements(statements)
        assert texts(copy) == []
        send(tmp_path / "own", copy, now_ms=later)
        copy.republish()
        assert texts(copy) == ["ahead", "of the copy"]
