"""What a session was shown: nothing is told twice, and nothing that hooks note at the same time is lost."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from clan_learnings.records.shown_to_session import FOLDER, ShownRecords, sweep

SESSION = "claude-code:00893aaf"

WRITER = """
import sys
from clan_learnings.records.shown_to_session import ShownRecords
home, session, number = sys.argv[1:]
seen = ShownRecords(home, session)
sys.stdin.read()  # all of them have read the file before any of them writes
for each in range(20):
    seen.add(each, shown=[(f"slug-{number}-{each}", f"id-{number}-{each}")])
"""


@pytest.fixture
def home(tmp_path: Path) -> str:
    return str(tmp_path)


def test_a_new_session_has_seen_nothing(home: str) -> None:
    """And asking makes no file."""
    seen = ShownRecords(home, SESSION)
    assert not seen.is_known
    assert not seen.knows("use-pnpm")
    assert not seen.was_shown("use-pnpm", "abc")
    assert os.listdir(home) == []


def test_what_was_shown_is_remembered_by_pattern_and_by_record(home: str) -> None:
    """Another correction of the same pattern would say the same thing again."""
    ShownRecords(home, SESSION).add(1, shown=[("use-pnpm", "abc"), ("", "def")])
    seen = ShownRecords(home, SESSION)
    assert seen.is_known
    assert seen.was_shown("use-pnpm", "other")
    assert seen.was_shown("", "abc")
    assert seen.was_shown("", "def")
    assert seen.was_shown("another", "def")
    assert not seen.was_shown("", "other")
    assert not seen.was_shown("another", "other")


def test_what_was_hot_is_no_news_but_was_not_shown(home: str) -> None:
    """A pattern that had no room in the first context may still be shown when a prompt is about it."""
    ShownRecords(home, SESSION).add(1, known=[("use-pnpm", "abc")])
    seen = ShownRecords(home, SESSION)
    assert seen.knows("use-pnpm")
    assert not seen.was_shown("use-pnpm", "abc")
    seen.add(2, shown=[("use-uv", "def")])
    assert ShownRecords(home, SESSION).knows("use-uv")


def test_a_session_that_was_shown_nothing_has_looked_all_the_same(home: str) -> None:
    """In an empty mesh, too, what comes later is new."""
    ShownRecords(home, SESSION).add(1)
    assert ShownRecords(home, SESSION).is_known


@pytest.mark.parametrize(
    "other", ["claude-code:00893aag", "codex:00893aaf", "claude-code:00893aaf.", "claude-code:00893aaf/"]
)
def test_sessions_do_not_share_a_file(home: str, other: str) -> None:
    """However alike their names are once they are file names."""
    ShownRecords(home, SESSION).add(1, shown=[("use-pnpm", "abc")])
    assert not ShownRecords(home, other).is_known
    ShownRecords(home, other).add(1, shown=[("x", "y")])
    assert len(os.listdir(os.path.join(home, FOLDER))) == 2


def test_no_session_has_no_file(home: str) -> None:
    """Without a session there is nothing to remember it by."""
    ShownRecords(home, "").add(1, shown=[("use-pnpm", "abc")])
    assert os.listdir(home) == []


def test_a_fork_has_seen_what_its_origin_has(home: str) -> None:
    """And so has a fork of the fork; both count as the first session."""
    ShownRecords(home, SESSION).add(1, shown=[("use-pnpm", "abc")], known=[("use-uv", "def")])
    ShownRecords(home, "claude-code:fork").add(2, origin=ShownRecords(home, SESSION))
    ShownRecords(home, "claude-code:second").add(3, origin=ShownRecords(home, "claude-code:fork"))
    for session in ("claude-code:fork", "claude-code:second"):
        seen = ShownRecords(home, session)
        assert seen.was_shown("use-pnpm", "abc")
        assert seen.knows("use-uv")
        assert seen.copied_from == SESSION
    assert ShownRecords(home, SESSION).copied_from == ""


def test_hostile_names_stay_in_their_field(home: str) -> None:
    """A slug comes from any member of the mesh; it cannot forge another line."""
    ShownRecords(home, SESSION).add(1, shown=[("a\tb\n9\tshown\tuse-pnpm\tabc\n", "x\ny" * 1000)])
    seen = ShownRecords(home, SESSION)
    assert not seen.was_shown("use-pnpm", "abc")
    assert seen.was_shown("a\tb\n9\tshown\tuse-pnpm\tabc\n", "")


@pytest.mark.parametrize("damage", [b"\xff\xfe\x00", b"1\tshown\n", b"1\tshown\ta", b"\n\n\n", b"a\tb\tc\td\te\n"])
def test_a_damaged_file_is_read_as_far_as_it_goes(home: str, damage: bytes) -> None:
    """A full disk may have cut a line."""
    seen = ShownRecords(home, SESSION)
    seen.add(1, shown=[("use-pnpm", "abc")])
    (name,) = os.listdir(os.path.join(home, FOLDER))
    with open(os.path.join(home, FOLDER, name), "ab") as file:
        file.write(damage)
    assert ShownRecords(home, SESSION).was_shown("use-pnpm", "abc")


def test_the_file_does_not_grow_without_end(home: str) -> None:
    """Who was shown that much is told nothing more: better than telling it again."""
    seen = ShownRecords(home, SESSION)
    for number in range(30):
        seen.add(1, shown=[(f"{number}-{each}" + "x" * 190, "y" * 52) for each in range(100)])
        seen = ShownRecords(home, SESSION)
    assert seen.is_full
    (name,) = os.listdir(os.path.join(home, FOLDER))
    assert os.path.getsize(os.path.join(home, FOLDER, name)) < 400 * 1024


def test_the_same_is_noted_once(home: str) -> None:
    """Every compaction shows the whole context again; the file stays as it is."""
    for _ in range(3):
        ShownRecords(home, SESSION).add(1, shown=[("use-pnpm", "abc")])
    (name,) = os.listdir(os.path.join(home, FOLDER))
    path = os.path.join(home, FOLDER, name)
    assert Path(path).read_text().count("\n") == 1
    assert os.stat(path).st_mode & 0o777 == 0o600


def test_hooks_at_the_same_time_lose_nothing(home: str) -> None:
    """Ten processes that have all read the same file each add their own lines."""
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, home, SESSION, str(number)], stdin=subprocess.PIPE)
        for number in range(10)
    ]
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.close()
    assert [writer.wait() for writer in writers] == [0] * 10
    seen = ShownRecords(home, SESSION)
    missing = [
        (number, each) for number in range(10) for each in range(20) if not seen.was_shown("", f"id-{number}-{each}")
    ]
    assert missing == []


def test_old_sessions_are_swept_away(home: str) -> None:
    """After a month without a sign of life; notes of other kinds in the folder stay."""
    for session in ("claude-code:old", "claude-code:new"):
        ShownRecords(home, session).add(1, shown=[("use-pnpm", "abc")])
    folder = os.path.join(home, FOLDER)
    Path(folder, "4711-99").write_text("note")
    for name in os.listdir(folder):
        if "new" not in name:
            os.utime(os.path.join(folder, name), (0, time.time() - 31 * 86_400))
    sweep(home, time.time())
    assert not ShownRecords(home, "claude-code:old").is_known
    assert ShownRecords(home, "claude-code:new").is_known
    assert os.path.exists(os.path.join(folder, "4711-99"))
