"""The sidecar's thread: what it captures it harvests, and it writes for shared repositories alone."""

import os
from pathlib import Path

from clan_learnings.harvest.harvest import open_harvest
from clan_learnings.records import spool
from clan_learnings.repository.consent import change_shared
from clan_learnings.sessions.capture_thread import CaptureThread
from mesh.app.snapshot import memory_of
from mesh.store.home import create_home
from tests.end_to_end.claude_sessions import clone_of, corrected

REPO = "github.com/acme/web"
OLD_S = 1_700_000_000
NOW_MS = 1_800_000_000_000


def ended(home: str, path: Path) -> None:
    """A hook says that a session is over."""
    os.utime(path, (OLD_S, OLD_S))
    assert spool.point(home, {"path": str(path), "offset": 0, "session": "s", "event": "Stop", "at": 1})


def look(watching: CaptureThread, home: str) -> None:
    """What the thread does now, and a while later, when no hook can write to the old list any more."""
    watching.look(NOW_MS)
    taken = Path(home) / "spool" / "pointers.taken"
    if taken.exists():
        os.utime(taken, (OLD_S, OLD_S))
    watching.look(NOW_MS)


def texts(home: str) -> list[str]:
    """What is shared."""
    with memory_of(home) as memory:
        return [entry.record["right"] for entry in memory.reader.tail(10, "corrections")]


def test_a_session_that_a_hook_points_at_is_harvested(tmp_path: Path) -> None:
    """Kept as a candidate at first; a record as soon as its repository is shared and the next session ends."""
    home = create_home(str(tmp_path / "home"), "n")
    clone = clone_of(REPO, tmp_path / "clone")
    watching = CaptureThread(home)
    ended(home.path, corrected("one", clone).save(tmp_path))
    look(watching, home.path)
    assert texts(home.path) == []
    with open_harvest(home.path) as harvest:
        (found,) = harvest.shelf.every()
        assert found.waits_for == "share"
        ended(home.path, corrected("two", clone).save(tmp_path))
        look(watching, home.path)  # somebody else is harvesting: it does not wait, and loses nothing
    change_shared(home.path, REPO, on=True)
    ended(home.path, corrected("three", clone).save(tmp_path))
    look(watching, home.path)
    assert texts(home.path) == ["use pnpm install here, we never use npm"] * 3
