"""Openings of records: noted at once, counted in batches, and never a reason for anything to fail."""

import os
import threading
from pathlib import Path

import pytest

from clan_learnings.records.access_counts import FILE, HOUR_MS, count_openings, key, month_of, note_opening
from clan_learnings.records.access_counts_thread import AccessCounting
from mesh.app.application import Application
from mesh.core.draft import NewRecord
from mesh.core.ids import parse_id, text_id
from mesh.core.statement import READER
from mesh.store.author import Author
from mesh.store.erase_requests import erase
from mesh.store.home import Home, create_home, hold_node_lock
from mesh.store.reader import open_reading
from mesh.store.store import wall_clock
from tests.interrupting import interrupted_author
from tests.roles import admitted, fill, founder, throw_away

NOW_MS = 1_800_000_000_000


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A node of its own."""
    return create_home(str(tmp_path / "home"), "laptop")


@pytest.fixture
def record(home: Home) -> str:
    """The whole id of a shared record."""
    return _discover(home, "the staging cluster sleeps at night")


def _discover(home: Home, text: str, **about: bool) -> str:
    application = Application(home.path, {}, "/")
    short = application.discover(text, **about)["id"]
    with_all: str = application.show(short)["whole_id"]
    os.unlink(home.file(FILE))
    return with_all


def _total(home: Home, record: str, at_ms: int = NOW_MS) -> int:
    reader = open_reading(home.path)
    try:
        return reader.total(key(record, month_of(at_ms)))
    finally:
        reader.connection.close()


def _operations(home: Home) -> int:
    reader = open_reading(home.path)
    try:
        return reader.fingerprint()[0]
    finally:
        reader.connection.close()


def test_openings_of_an_hour_are_one_operation_a_record_and_month(home: Home, record: str) -> None:
    """However often it was opened, and not before the hour is over."""
    other = _discover(home, "the cache is cold after a deploy")
    before = _operations(home)
    for _ in range(20):
        note_opening(home.path, record, NOW_MS)
    note_opening(home.path, other, NOW_MS)
    assert count_openings(home, NOW_MS + HOUR_MS - 1) == 0
    assert count_openings(home, NOW_MS + HOUR_MS) == 2
    assert (_total(home, record), _total(home, other)) == (20, 1)
    assert _operations(home) == before + 2
    assert count_openings(home, NOW_MS + 9 * HOUR_MS) == 0


def test_each_opening_counts_in_its_own_month(home: Home, record: str) -> None:
    """A batch may lie on both sides of midnight."""
    later = NOW_MS + 31 * 24 * HOUR_MS
    with hold_node_lock(home):
        note_opening(home.path, record, NOW_MS)
        note_opening(home.path, record, later)
    assert count_openings(home, later) == 2
    assert (_total(home, record), _total(home, record, later)) == (1, 1)


def test_without_a_sidecar_whoever_opens_counts_what_is_old(home: Home, record: str) -> None:
    """A machine that only runs commands tells the others too, an hour later."""
    note_opening(home.path, record, NOW_MS)
    assert _total(home, record) == 0
    note_opening(home.path, record, NOW_MS + HOUR_MS)
    assert _total(home, record) == 2


def test_with_a_sidecar_nobody_else_counts(home: Home, record: str) -> None:
    """It does so when it is time."""
    with hold_node_lock(home):
        note_opening(home.path, record, NOW_MS)
        note_opening(home.path, record, NOW_MS + HOUR_MS)
    assert _total(home, record) == 0


def test_the_sidecar_counts_what_is_left_when_it_stops(home: Home, record: str) -> None:
    """A laptop is closed more often than once an hour."""
    with AccessCounting(home):
        note_opening(home.path, record, wall_clock())
    assert _total(home, record, wall_clock()) == 1


def test_private_erased_and_unknown_records_are_counted_nowhere(home: Home) -> None:
    """The shared notebook does not know them, and damaged lines are passed over."""
    private = _discover(home, "my own token file is elsewhere", private=True)
    before = _operations(home)
    for line in (private, text_id(bytes(32)), "", "x" * 300, "ä\n\n12 34"):
        note_opening(home.path, line, NOW_MS)
    assert count_openings(home, NOW_MS, anyway=True) == 0
    assert _operations(home) == before


def test_show_and_why_are_openings_and_a_search_is_none(home: Home, record: str) -> None:
    """Nor is a list, nor a context."""
    application = Application(home.path, {}, "/")
    application.search("staging cluster", everywhere=True)
    application.recent(everywhere=True)
    application.context(repo="")
    assert not os.path.exists(home.file(FILE))
    application.show(record)
    application.why(record)
    assert Path(home.file(FILE)).read_text().split()[1::2] == [record, record]


def test_many_at_once_lose_nothing(home: Home, record: str) -> None:
    """Threads and processes append to one file while it is counted."""

    def open_it() -> None:
        for _ in range(20):
            note_opening(home.path, record, NOW_MS)

    threads = [threading.Thread(target=open_it) for _ in range(4)]
    for thread in threads:
        thread.start()
    counted = 0
    while any(thread.is_alive() for thread in threads):
        counted += count_openings(home, NOW_MS, anyway=True)
    count_openings(home, NOW_MS, anyway=True)
    assert _total(home, record) == 80


def test_an_hour_has_room_for_some_hundred_openings(home: Home, record: str) -> None:
    """What a loop opens beyond that changes nothing: a quarter is the most that openings are worth."""
    for _ in range(700):
        note_opening(home.path, record, NOW_MS)
    assert os.path.getsize(home.file(FILE)) <= 32 * 1024
    assert count_openings(home, NOW_MS, anyway=True) == 1
    assert 400 < _total(home, record) < 700


def test_a_home_that_cannot_be_written_is_read_all_the_same(home: Home, record: str) -> None:
    """The file is a folder: as good as a disk without a byte left."""
    os.mkdir(home.file(FILE))
    assert Application(home.path, {}, "/").show(record)["whole_id"] == record


def test_a_node_that_is_not_admitted_keeps_its_openings(tmp_path: Path, home: Home) -> None:
    """Nothing fails, and nothing counts before it belongs."""
    waiting = create_home(str(tmp_path / "waiting"), "new", home.mesh)
    note_opening(waiting.path, text_id(bytes(32)), NOW_MS)
    assert count_openings(waiting, NOW_MS, anyway=True) == 0


def test_what_cannot_be_counted_now_is_kept(home: Home, record: str) -> None:
    """The key is away: whoever reads does not notice, and the sidecar says so in its log."""
    os.rename(home.file("node.key"), home.file("away"))
    note_opening(home.path, record, NOW_MS)
    note_opening(home.path, record, NOW_MS + HOUR_MS)
    with AccessCounting(home):
        pass
    assert Path(home.file(FILE)).read_text().count(record) == 2
    os.rename(home.file("away"), home.file("node.key"))
    assert count_openings(home, NOW_MS + HOUR_MS) == 1
    assert _total(home, record) == 2


def test_a_clock_that_was_set_back_stops_nothing(home: Home, record: str) -> None:
    """A note from the future is counted with the next look."""
    note_opening(home.path, record, NOW_MS)
    assert count_openings(home, NOW_MS - HOUR_MS) == 1


def test_a_record_that_is_erased_while_openings_are_counted_is_one_that_is_gone(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever a question to the database has found, another process may erase before the next one."""
    monkeypatch.setattr("mesh.store.store.scrub", lambda _: False)  # takes long, and is owed anyway
    asked: list[str] = []
    due, opened, author_of = "", "", Home.author

    def erased() -> None:
        author = author_of(home)
        erase(home, author, {parse_id(opened): home.node}, "test")
        author.store.close()

    def author(self: Home) -> Author:
        nonlocal asked
        made = author_of(self)
        asked = interrupted_author(made, due, erased)
        return made

    def counted(text: str) -> int:
        nonlocal opened
        opened = _discover(home, text)
        note_opening(home.path, opened, NOW_MS)
        with monkeypatch.context() as now:
            now.setattr(Home, "author", author)
            return count_openings(home, NOW_MS, anyway=True)

    assert counted("the first is not erased") == 1
    questions = asked
    assert len(questions) > 1
    for due in questions:
        assert counted(f"erased before {due}") == int(due != questions[0])


def test_what_a_reader_opens_is_counted_nowhere_and_nobody_complains(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Its notes go, so that the file does not fill up and no hour begins with a warning."""
    reader = admitted(tmp_path, founder(tmp_path), READER)
    author = reader.author(private=True)
    record = text_id(author.append([NewRecord("notes", {"text": "mine"})]).tags[0])
    author.store.close()
    with AccessCounting(reader):
        note_opening(reader.path, record, NOW_MS)
    assert Path(reader.file(FILE)).read_bytes() == b""
    note_opening(reader.path, record, NOW_MS)
    note_opening(reader.path, record, NOW_MS + HOUR_MS)
    assert _operations(reader) == 0
    assert caplog.records == []


def test_openings_beyond_the_quota_are_kept_and_said_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """They are counted when there is room again."""
    job = throw_away(tmp_path)
    record = _discover(job, "the staging cluster sleeps at night")
    fill(job)
    note_opening(job.path, record, NOW_MS)
    openings = AccessCounting(job)
    assert [openings._count(anyway=True) for _ in range(3)] == [False] * 3
    assert record in Path(job.file(FILE)).read_text()
    assert len(caplog.records) == 1
