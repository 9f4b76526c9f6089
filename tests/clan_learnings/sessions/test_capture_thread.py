"""The sidecar's thread: pointers of hooks are followed once, the switch is respected, hooks may append at any moment."""

import json
import os
import threading
from pathlib import Path

import pytest

from clan_learnings.records import spool
from clan_learnings.sessions.capture_settings import CaptureSettings, read_settings, write_settings
from clan_learnings.sessions.capture_thread import CaptureThread, Pointers
from clan_learnings.sessions.catalogue_table import Catalogue
from mesh.store.home import Home, create_home
from tests.clan_learnings.sessions.stand_ins import ANALYSTS, write

OLD_S = 1_700_000_000
NOW_MS = 1_800_000_000_000


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return create_home(str(tmp_path / "home"), "n")


def point(home: Home, path: Path, *, event: str = "Stop", at: int = 1) -> None:
    assert spool.point(home.path, {"path": str(path), "offset": 0, "session": "s", "event": event, "at": at})


def rested(path: Path) -> Path:
    os.utime(path, (OLD_S, OLD_S))
    return path


def watcher(home: Home) -> CaptureThread:
    return CaptureThread(home, lambda: ANALYSTS)


def sessions(home: Home) -> set[str]:
    with Catalogue(home.path) as catalogue:
        return set(catalogue.keys())


def test_what_hooks_point_at_is_captured_once(home: Home, tmp_path: Path) -> None:
    """Named three times, read once; the list is gone afterwards."""
    path = rested(write(tmp_path / "a.jsonl", "one"))
    for _ in range(3):
        point(home, path)
    watching = watcher(home)
    watching.look(NOW_MS)
    assert sessions(home) == {"small:s1"}
    taken = Path(home.path) / "spool" / "pointers.taken"
    os.utime(taken, (OLD_S, OLD_S))
    watching.look(NOW_MS)
    assert not taken.exists()


def test_a_session_that_is_being_written_waits_until_it_rests(home: Home, tmp_path: Path) -> None:
    """Unless its hook said that it is over."""
    busy = write(tmp_path / "busy.jsonl", "one", name="busy")
    over = write(tmp_path / "over.jsonl", "one", name="over")
    now_ms = int(busy.stat().st_mtime * 1000) + 1000
    point(home, busy, at=now_ms)
    point(home, over, event="SessionEnd", at=now_ms)
    watching = watcher(home)
    watching.look(now_ms)
    assert sessions(home) == {"small:over"}
    watching.look(now_ms + 120_000)
    assert sessions(home) == {"small:over", "small:busy"}


def test_switched_off_nothing_is_captured_then_or_later(home: Home, tmp_path: Path) -> None:
    """Pointers of that time are dropped unread."""
    write_settings(home.path, CaptureSettings(is_on=False))
    point(home, rested(write(tmp_path / "a.jsonl", "one")))
    watching = watcher(home)
    watching.look(NOW_MS)
    write_settings(home.path, CaptureSettings())
    watching.look(NOW_MS)
    assert sessions(home) == set()


def test_a_damaged_switch_means_off(home: Home) -> None:
    """Nobody's no becomes a yes."""
    write_settings(home.path, CaptureSettings(is_on=False))
    (Path(home.path) / "capture" / "settings.json").write_text("{")
    assert not read_settings(home.path).is_on


def test_pointers_to_what_is_none_of_ours_are_not_followed(home: Home, tmp_path: Path) -> None:
    """Links, folders, missing files, relative paths and lines that are no pointers."""
    real = rested(write(tmp_path / "a.jsonl", "one"))
    (tmp_path / "link").symlink_to(real)
    for path in (tmp_path / "link", tmp_path, tmp_path / "gone"):
        point(home, path)
    with (Path(home.path) / "spool" / "pointers.jsonl").open("a") as file:
        file.write(
            '{"path": "relative", "at": 1}\n["x"]\n{"path": 5, "at": 1}\n{"path": "/x\\u0000", "at": 1}\nhalf a li'
        )
    watcher(home).look(NOW_MS)
    assert not (Path(home.path) / "capture" / "catalogue.db").exists() or sessions(home) == set()


def test_a_huge_transcript_is_left_to_the_command(home: Home, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """And said once, with the command."""
    path = write(tmp_path / "a.jsonl", "one")
    with path.open("ab") as file:
        file.truncate(20 * 1024 * 1024)
    point(home, rested(path))
    watcher(home).look(NOW_MS)
    assert f"mesh capture {path}" in caplog.text


def test_hooks_that_append_while_pointers_are_taken_lose_none(home: Home, tmp_path: Path) -> None:
    """Four writers, one reader: every path that was written comes out."""
    pointers = Pointers(home.path)
    seen: set[str] = set()
    threads = [
        threading.Thread(
            target=lambda number=number: [
                spool.point(home.path, {"path": f"{tmp_path}/{number}-{each}", "at": 1}) for each in range(100)
            ]
        )
        for number in range(4)
    ]
    for thread in threads:
        thread.start()

    def take() -> None:
        for pointer in pointers.waiting():
            seen.add(pointer.path)
            pointers.done(pointer.path)
        pointers.settle()

    while any(thread.is_alive() for thread in threads):
        take()
    for _ in range(6):  # as if some seconds had passed each time, in which nobody wrote
        taken = Path(home.path) / "spool" / "pointers.taken"
        if taken.exists():
            os.utime(taken, (OLD_S, OLD_S))
        take()
    assert not taken.exists()
    assert seen == {str(tmp_path / f"{number}-{each}") for number in range(4) for each in range(100)}


def test_pointers_that_a_killed_process_had_taken_are_found_by_the_next(home: Home, tmp_path: Path) -> None:
    """What was renamed and not finished is read again."""
    path = rested(write(tmp_path / "a.jsonl", "one"))
    point(home, path)
    assert [each.path for each in Pointers(home.path).waiting()] == [str(path)]
    watcher(home).look(NOW_MS)
    assert sessions(home) == {"small:s1"}


def test_the_thread_starts_and_stops(home: Home, tmp_path: Path) -> None:
    """Stopping does not wait for its next look."""
    point(home, rested(write(tmp_path / "a.jsonl", "one")))
    with CaptureThread(home, lambda: ANALYSTS, look_seconds=0.01) as watching:
        while not (Path(home.path) / "capture" / "catalogue.db").exists() or not sessions(home):
            watching._thread.join(0.01)
    assert not watching._thread.is_alive()
    assert sessions(home) == {"small:s1"}


def test_settings_come_back_as_they_were_written(home: Home) -> None:
    """Every one of them."""
    settings = CaptureSettings(
        is_on=False, since_ms=5, budget=CaptureSettings().budget._replace(soft_bytes=1, hard_bytes=2, age_days=3)
    )
    write_settings(home.path, settings)
    assert read_settings(home.path) == settings
    assert json.loads((Path(home.path) / "capture" / "settings.json").read_text())["soft_bytes"] == 1
