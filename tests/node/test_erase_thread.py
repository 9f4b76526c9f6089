"""Finishing erases beside a running sidecar: every database of the home, again and again, with our own readers out of the way."""

import threading
from pathlib import Path

import apsw
import pytest

from clan_learnings.records.record import DISCOVERIES
from clan_learnings.render.files import RENDERED_FOLDER
from mesh.core.draft import NewRecord
from mesh.node.erase_thread import EraseThread
from mesh.store.erasure import unfinished
from mesh.store.home import Home, create_home
from mesh.worker.render_thread import RenderThread
from tests.end_to_end.commands import PATIENCE_SECONDS, wait_until
from tests.store.test_erase_debts import erased, reading, remains
from tests.worker.appending import appending


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return create_home(str(tmp_path / "home"), "own")


def test_an_erase_of_each_sort_of_record_is_finished_once_the_stranger_is_gone(home: Home) -> None:
    """The thread goes on trying; nobody has to write, or to start it again."""
    home.store(private=True).close()
    with EraseThread(home.path, lambda: None, look_seconds=0.05):
        with reading(home, "mesh.db"), reading(home, "private.db"):
            erased(home, private=False)
            erased(home, private=True)
            assert unfinished(home.path) == ["mesh.db", "private.db"]
        wait_until(lambda: unfinished(home.path) == [])
    assert remains(home) == []


def test_a_thread_of_ours_that_reads_for_long_is_asked_to_let_go(home: Home) -> None:
    """Only then: whoever is not in the way is not disturbed."""
    hurry, is_reading = threading.Event(), threading.Event()

    def read() -> None:
        connection = apsw.Connection(home.file("mesh.db"), flags=apsw.SQLITE_OPEN_READONLY)
        connection.execute("BEGIN")
        connection.execute("SELECT count(*) FROM ops").fetchall()
        is_reading.set()
        hurry.wait(PATIENCE_SECONDS)
        connection.close()

    thread = threading.Thread(target=read)
    thread.start()
    is_reading.wait(PATIENCE_SECONDS)
    erased(home, private=False)
    assert unfinished(home.path) == ["mesh.db"]
    with EraseThread(home.path, hurry.set, look_seconds=0.05):
        wait_until(lambda: unfinished(home.path) == [])
    thread.join()
    assert remains(home) == []


class Impatient(threading.Event):
    """In a hurry for the first few times that somebody asks."""

    def __init__(self, times: int) -> None:
        super().__init__()
        self.times = times

    def is_set(self) -> bool:
        """As an event has it."""
        self.times -= 1
        return self.times >= 0


def test_rendering_that_is_interrupted_is_begun_again(home: Home, caplog: pytest.LogCaptureFixture) -> None:
    """The files are whole in the end, and nobody is told of a failure, because there was none."""
    author = home.author()
    author.append([NewRecord(DISCOVERIES, {"text": f"thing {number}", "repo": ""}) for number in range(600)])
    author.store.close()
    hurry = Impatient(3)
    file = Path(home.file(RENDERED_FOLDER)) / "discoveries.jsonl"
    with RenderThread(home, hurry, appending(home)):
        wait_until(lambda: file.exists() and file.read_bytes().count(b'"thing ') == 600)
    assert hurry.times < 0
    assert caplog.records == []
