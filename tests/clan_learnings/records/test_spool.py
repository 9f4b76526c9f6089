"""The spool: pointers that are not lost, and writes of sandboxed shells, which are taken in as a stranger's."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clan_learnings.records import spool
from clan_learnings.records.spool import WRITE_BYTES

HOME = "/home/ada/.clan-mesh"
CORRECTION = {
    "wrong": "npm install",
    "right": "pnpm install",
    "tags": ("node", "build"),
    "repo": "github.com/ada/shop",
    "confidence": 0.9,
    "minutes_lost": 20,
    "private": True,
    "is_global": False,
    "topic": "",
    "evidence": None,
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of queued writes, of this test alone."""
    made = tmp_path / "queue"
    monkeypatch.setenv("MESH_SPOOL", str(made))
    return made


def taken(home: str = HOME, limit: int = 100) -> list[tuple[str, dict[str, Any]]]:
    """Everything that can be taken in, and is gone then."""
    found = []
    for write in spool.take(home, limit):
        found.append((write.kind, write.arguments))
        write.done()
    return found


def waiting(folder: Path) -> list[str]:
    return sorted(name for name in os.listdir(folder) if name.endswith(".write"))


# Pointers


def test_a_pointer_is_one_line(tmp_path: Path) -> None:
    """For its owner's eyes only, and any path in it comes back as it was."""
    home = str(tmp_path)
    pointers: list[dict[str, str | int]] = [{"path": "/a\nb\u2028c\udc80", "offset": 7}, {"path": "/x", "offset": 8}]
    assert all(spool.point(home, pointer) for pointer in pointers)
    file = tmp_path / "spool" / "pointers.jsonl"
    assert [json.loads(line) for line in file.read_text().splitlines()] == pointers
    assert file.stat().st_mode & 0o777 == 0o600


def test_beyond_the_limit_pointers_are_dropped_and_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest stay, the file does not grow, and the number is there for `mesh doctor`."""
    home = str(tmp_path)
    monkeypatch.setattr(spool, "POINTERS_BYTES", 100)
    kept = [spool.point(home, {"path": "/transcript.jsonl", "offset": number}) for number in range(5)]
    assert kept == [True, True, False, False, False]
    state = spool.SpoolState(home)
    assert (state.bytes <= 100, state.dropped) == (True, 3)
    lines = (tmp_path / "spool" / "pointers.jsonl").read_text().splitlines()
    assert [json.loads(line)["offset"] for line in lines] == [0, 1]


def test_the_limit_is_fifty_megabytes() -> None:
    """As the design has it."""
    assert spool.POINTERS_BYTES == 50 * 1024 * 1024


def test_a_link_in_the_place_of_the_spool_is_not_followed(tmp_path: Path) -> None:
    """Nothing is appended to a file that somebody pointed us to."""
    victim = tmp_path / "victim"
    victim.write_text("")
    (tmp_path / "spool").mkdir()
    (tmp_path / "spool" / "pointers.jsonl").symlink_to(victim)
    with pytest.raises(OSError, match="symbolic"):
        spool.point(str(tmp_path), {"path": "/x"})
    assert victim.read_text() == ""


# Queued writes


def test_a_write_comes_back_as_it_was_given(folder: Path) -> None:
    """With what was not said left out; and once taken in it is gone."""
    path = spool.queue("correct", CORRECTION, HOME)
    assert os.path.dirname(path) == str(folder)
    assert os.stat(path).st_mode & 0o777 == 0o600
    assert folder.stat().st_mode & 0o777 == 0o700
    assert spool.is_waiting(HOME)
    left_out = ("is_global", "evidence")
    assert taken() == [("correct", {name: value for name, value in CORRECTION.items() if name not in left_out})]
    assert not spool.is_waiting(HOME)
    assert taken() == []


def test_writes_are_taken_in_the_order_they_came(folder: Path) -> None:
    """And no more at once than asked for."""
    for number in range(5):
        spool.queue("discover", {"text": f"note {number}"}, HOME)
    assert [arguments["text"] for _, arguments in taken(limit=2)] == ["note 0", "note 1"]
    assert [arguments["text"] for _, arguments in taken()] == ["note 2", "note 3", "note 4"]


def test_secrets_are_not_queued(folder: Path) -> None:
    """The temporary folder is a disk, too."""
    path = spool.queue("discover", {"text": "use ghp_" + "a1B2" * 9}, HOME)
    assert "ghp_" not in Path(path).read_text()


def test_private_passages_are_not_queued(folder: Path) -> None:
    """Nor anywhere else written."""
    path = spool.queue("discover", {"text": "retry it <private>HIDDEN</private>"}, HOME)
    assert "HIDDEN" not in Path(path).read_text()


def test_another_teams_writes_are_left_alone(folder: Path) -> None:
    """Several homes on one machine: nothing crosses."""
    spool.queue("discover", {"text": "of the other team"}, "/home/ada/.other-mesh")
    assert taken() == []
    assert [kind for kind, _ in taken("/home/ada/.other-mesh")] == ["discover"]


def test_a_write_that_is_in_hand_is_not_taken_twice(folder: Path) -> None:
    """Two hooks at once; what the first lets go of, the next may have."""
    spool.queue("discover", {"text": "once"}, HOME)
    first = next(spool.take(HOME, 10))
    assert taken() == []
    first.later()
    assert len(taken()) == 1


def test_what_cannot_be_taken_in_is_put_aside(folder: Path) -> None:
    """Nobody tries it again, a person can look at it, and it is counted."""
    spool.queue("discover", {"text": "of a category that is none", "category": "x"}, HOME)
    next(spool.take(HOME, 10)).reject()
    assert taken() == []
    assert spool.SpoolState(HOME).rejected == 1
    assert len(os.listdir(folder / "rejected")) == 2  # and the count


def good() -> dict[str, Any]:
    return {"kind": "discover", "arguments": {"text": "use pnpm"}}


def said(**arguments: Any) -> bytes:
    return json.dumps({"kind": "discover", "arguments": {"text": "use pnpm"} | arguments}).encode()


BAD_CONTENT: dict[str, bytes] = {
    "nothing": b"",
    "no JSON": b"text: use pnpm",
    "half of it": said()[:-5],
    "no UTF-8": b'{"kind": "discover", "arguments": {"text": "\xff\xfe"}}',
    "a list": b"[]",
    "a text": b'"discover"',
    "no kind": json.dumps({"arguments": {"text": "x"}}).encode(),
    "no arguments": json.dumps({"kind": "discover"}).encode(),
    "more than these": json.dumps(good() | {"home": "/etc"}).encode(),
    "another kind": json.dumps(good() | {"kind": "retract"}).encode(),
    "a kind of another type": json.dumps(good() | {"kind": ["discover"]}).encode(),
    "arguments of another type": json.dumps(good() | {"arguments": [["text", "x"]]}).encode(),
    "an unknown option": said(home="/home/eve"),
    "an option of the other kind": said(wrong="x"),
    "a number": said(minutes_lost=5),
    "a list of tags": said(tags=["a"]),
    "a nested value": said(topic={"a": "b"}),
    "null": said(topic=None),
    "no number where one belongs": said(confidence="very"),
    "no flag where one belongs": said(private="no"),
    "a NUL": said(text="a\0b"),
    "half a surrogate pair": b'{"kind": "discover", "arguments": {"text": "a\\ud800"}}',
    "an empty text": said(text=""),
    "no text at all": json.dumps({"kind": "discover", "arguments": {"topic": "x"}}).encode(),
    "too much": said(text="x" * WRITE_BYTES),
    "too deep": b'{"kind":' * 50_000,
}


@pytest.mark.parametrize("content", BAD_CONTENT.values(), ids=BAD_CONTENT.keys())
def test_a_write_that_no_command_of_ours_made_is_rejected(folder: Path, content: bytes) -> None:
    """It is moved aside and counted, and the good one after it is taken in."""
    path = Path(spool.queue("discover", {"text": "bad"}, HOME))
    path.write_bytes(content)
    spool.queue("discover", {"text": "good"}, HOME)
    assert taken() == [("discover", {"text": "good"})]
    assert waiting(folder) == []
    assert spool.SpoolState(HOME).rejected == 1
    assert (folder / "rejected" / path.name).read_bytes() == content


def make_link(path: Path) -> None:
    target = path.with_name("elsewhere")
    os.rename(path, target)
    path.symlink_to(target)


def make_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def make_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def make_second_name(path: Path) -> None:
    os.link(path, path.with_name("second name"))


def make_writable(path: Path) -> None:
    path.chmod(0o666)


@pytest.mark.parametrize("spoil", [make_link, make_pipe, make_folder, make_second_name, make_writable])
def test_a_file_that_is_not_ours_alone_is_rejected(folder: Path, spoil: Callable[[Path], None]) -> None:
    """Links, pipes and files that others can write are not read, and nobody waits for them."""
    spoil(Path(spool.queue("discover", {"text": "bad"}, HOME)))
    assert taken() == []
    assert waiting(folder) == []
    assert spool.SpoolState(HOME).rejected == 1


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_file_of_somebody_else_is_rejected(folder: Path) -> None:
    """Even in our own folder."""
    os.chown(spool.queue("discover", {"text": "bad"}, HOME), 12345, -1)
    assert taken() == []
    assert spool.SpoolState(HOME).rejected == 1


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_folder_of_somebody_else_is_not_used(folder: Path) -> None:
    """Who made it first in the shared temporary folder may be anyone: neither read nor written."""
    spool.queue("discover", {"text": "x"}, HOME)
    os.chown(folder, 12345, -1)
    assert taken() == []
    with pytest.raises(PermissionError, match="not ours alone"):
        spool.queue("discover", {"text": "x"}, HOME)


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o720])
def test_a_folder_that_others_can_write_is_not_used(folder: Path, mode: int) -> None:
    """Anyone could have put the files there."""
    spool.queue("discover", {"text": "x"}, HOME)
    folder.chmod(mode)
    assert taken() == []
    assert not spool.is_waiting(HOME)
    with pytest.raises(PermissionError, match="not ours alone"):
        spool.queue("discover", {"text": "x"}, HOME)


def test_a_link_in_the_place_of_the_folder_is_not_used(folder: Path, tmp_path: Path) -> None:
    """It leads where somebody else wants."""
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    folder.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(PermissionError, match="not ours alone"):
        spool.queue("discover", {"text": "x"}, HOME)
    assert taken() == []


def test_the_queue_is_bounded(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In number and in size; who cannot queue is told so."""
    monkeypatch.setattr(spool, "WRITES", 3)
    for number in range(3):
        spool.queue("discover", {"text": f"note {number}"}, HOME)
    with pytest.raises(OSError, match="3 writes wait"):
        spool.queue("discover", {"text": "one too many"}, HOME)
    with pytest.raises(OSError, match="cannot be queued"):
        spool.queue("discover", {"text": "word " * WRITE_BYTES}, HOME)


def test_what_was_rejected_is_bounded_too(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The count goes on, the files do not."""
    monkeypatch.setattr(spool, "_REJECTED_FILES", 3)
    for number in range(6):
        Path(spool.queue("discover", {"text": f"note {number}"}, HOME)).write_bytes(b"")
    assert taken() == []
    assert spool.SpoolState(HOME).rejected == 6
    assert len(os.listdir(folder / "rejected")) == 4  # and the count


def test_the_shared_folder_is_tried_before_a_sandboxs_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hook does not know which temporary folder a sandbox gave to a shell; where both reach the shared one, they meet."""
    shared, own = tmp_path / "shared", tmp_path / "own"
    own.mkdir()
    monkeypatch.setattr(spool, "_SHARED_TEMP", str(shared))
    environ = {"TMPDIR": str(own)}
    shared.write_text("no folder can be made here")
    assert spool.queue("discover", {"text": "a"}, HOME, environ).startswith(str(own))
    shared.unlink()
    shared.mkdir()
    assert spool.queue("discover", {"text": "b"}, HOME, environ).startswith(str(shared))
    assert [write.arguments["text"] for write in spool.take(HOME, 10, environ)] == ["b", "a"]


def test_what_a_killed_shell_left_half_written_is_cleared_away(folder: Path) -> None:
    """After an hour, when nobody can be writing it any more."""
    spool.queue("discover", {"text": "x"}, HOME)
    for name, age in (("old.draft", 4000), ("new.draft", 10)):
        (folder / name).write_text("")
        os.utime(folder / name, (0, time.time() - age))
    assert len(taken()) == 1
    assert os.listdir(folder) == ["new.draft"]


WRITER = """
import sys
from clan_learnings.records import spool
from clan_learnings.records.spool import WRITE_BYTES
sys.stdin.read()
for each in range(20):
    spool.queue("discover", {"text": f"{sys.argv[1]}-{each}"}, "/home/ada/.clan-mesh")
"""


def test_shells_at_the_same_time_lose_nothing(folder: Path) -> None:
    """Five processes queue while others do."""
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(number)], stdin=subprocess.PIPE) for number in range(5)
    ]
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.close()
    assert [writer.wait() for writer in writers] == [0] * 5
    texts = {arguments["text"] for _, arguments in taken(limit=1000)}
    assert texts == {f"{number}-{each}" for number in range(5) for each in range(20)}
