"""The file of vectors under everything that can happen to a file: killed writers, flipped bytes, foreign hands."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

from clan_learnings.search.vectors.nearest import Vectors
from clan_learnings.search.vectors.vector_wiping import remove_vectors
from mesh.core.errors import HomeDamaged
from tests.clan_learnings.search.vector_sets import directions, tag_of, version_of

DIMENSIONS = 8
ROWS = directions(40, DIMENSIONS)
PATIENCE_SECONDS = 300
REPOSITORY = Path(__file__).parents[3]

# Runs in a process of its own: tears the n-th write in the middle, or dies at the n-th fsync.
DIES = """
import os, signal, sys
from clan_learnings.search.vectors.nearest import Vectors
from tests.clan_learnings.search.vector_sets import directions, tag_of, version_of
folder, what, function, left = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
real_write, real_sync = os.pwrite, os.fsync
def die_of(name):
    global left
    left -= name == function
    return name == function and not left
def pwrite(descriptor, data, at):
    if die_of("pwrite"):
        real_write(descriptor, data[: len(data) // 2 + 58], at)  # in the middle of a row
        os.kill(os.getpid(), signal.SIGKILL)
    return real_write(descriptor, data, at)
def fsync(descriptor):
    if die_of("fsync"):
        os.kill(os.getpid(), signal.SIGKILL)
    real_sync(descriptor)
vectors = Vectors(folder, "model", 8)
os.pwrite, os.fsync = pwrite, fsync
rows = directions(40, 8)
if what == "put":  # new ones, then some that are there already
    vectors.put([tag_of(n) for n in range(10, 20)], rows[10:20], [version_of(n) for n in range(10, 20)])
    vectors.put([tag_of(n) for n in range(5, 15)], rows[25:35], [version_of(n) for n in range(25, 35)])
else:
    vectors.drop([tag_of(n) for n in (1, 2, 3, 7)])
vectors.flush()
"""


@pytest.fixture
def folder(tmp_path: Path) -> str:
    return os.fspath(tmp_path / "vectors")


def path_in(folder: str) -> Path:
    return Path(folder) / "vectors.bin"


def put(folder: str, numbers: Iterable[int], name: str = "model") -> None:
    numbers = list(numbers)
    vectors = Vectors(folder, name, DIMENSIONS)
    vectors.put([tag_of(n) for n in numbers], ROWS[numbers], [version_of(n) for n in numbers])
    vectors.close()


def check(folder: str) -> set[bytes]:
    """Open it: every vector that is there is the one its version names. Returns the tags. And it can be written to."""
    vectors = Vectors(folder, "model", DIMENSIONS)
    known = dict(vectors.known())
    named = {version_of(n): n for n in range(40)}
    for tag, version in known.items():
        row = ROWS[named[version]]
        assert vectors.cosines(row, [tag]) == {tag: pytest.approx(1, abs=1e-3)}
    assert {tag for tag, _ in vectors.nearest(ROWS[0], 10_000_000)} == known.keys()
    vectors.put([tag_of(100)], ROWS[:1], [version_of(0)])
    assert vectors.nearest(ROWS[0], 1)[0][1] == pytest.approx(1, abs=1e-3)
    vectors.close()
    again = Vectors(folder, "model", DIMENSIONS)
    assert again.known().keys() == known.keys() | {tag_of(100)}
    again.drop([tag_of(100)])
    again.close()
    return set(known)


@pytest.mark.parametrize(
    ("what", "function", "time_called"),
    [("put", "pwrite", 1), ("put", "pwrite", 2), ("put", "fsync", 1), ("drop", "pwrite", 1), ("drop", "fsync", 1)],
)
def test_a_killed_writer_leaves_whole_vectors_only(folder: str, what: str, function: str, time_called: int) -> None:
    """Killed in the middle of a write: what was there before and was not being written is there, and nothing is half."""
    put(folder, range(10))
    finished = subprocess.run(
        [sys.executable, "-c", DIES, folder, what, function, str(time_called)],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    assert finished.returncode == -signal.SIGKILL, finished.stderr
    left = check(folder)
    if what == "put":
        assert {tag_of(n) for n in range(5)} <= left <= {tag_of(n) for n in range(20)}
    else:
        assert {tag_of(n) for n in (0, 4, 5, 6, 8, 9)} <= left <= {tag_of(n) for n in range(10)}
    if (what, function) == ("drop", "fsync"):  # written by then, if not yet on the disk itself
        assert not left & {tag_of(n) for n in (1, 2, 3, 7)}


def test_what_was_put_survives_a_kill_at_any_moment(folder: str) -> None:
    """A process that writes as fast as it can is killed; everything it had told of is there."""
    program = """
import sys
from clan_learnings.search.vectors.nearest import Vectors
from tests.clan_learnings.search.vector_sets import directions, tag_of, version_of
vectors, rows = Vectors(sys.argv[1], "model", 8), directions(40, 8)
for turn in range(10**9):
    numbers = [turn * 7 + n for n in range(7)]
    vectors.put([tag_of(n) for n in numbers], rows[[n % 40 for n in numbers]], [version_of(n % 40) for n in numbers])
    print(numbers[-1], flush=True)
"""
    words = [sys.executable, "-c", program, folder]
    with subprocess.Popen(words, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for _ in range(200):
            process.stdout.readline()
        process.kill()
        told = [int(line) for line in process.stdout if line.endswith("\n")]
    last = told[-1] if told else 200 * 7 - 1
    assert {tag_of(n) for n in range(last + 1)} <= check(folder)


def test_a_flipped_byte_costs_one_vector_at_most(folder: str) -> None:
    """Every byte of a file: in the header it is a foreign file, in a row that row is dropped. No vector or scope is ever wrong."""
    put(folder, range(2))
    path = path_in(folder)
    good = path.read_bytes()
    everything = {tag_of(n) for n in range(2)}
    for at in range(len(good)):
        path.write_bytes(good[:at] + bytes([good[at] ^ (1 << at % 8)]) + good[at + 1 :])
        vectors = Vectors(folder, "model", DIMENSIONS)
        known = dict(vectors.known())
        assert len(known) == (0 if at < 64 else 1), at
        assert known.items() <= {tag_of(n): version_of(n) for n in range(2)}.items()
        assert {tag for tag, _ in vectors.nearest(ROWS[0], 5, [0])} == known.keys()
        vectors.close()
    path.write_bytes(good)
    assert check(folder) == everything


def test_a_file_that_was_cut_off_anywhere_keeps_its_whole_rows(folder: str) -> None:
    """Whatever its length is."""
    put(folder, range(4))
    path = path_in(folder)
    good = path.read_bytes()
    row = (len(good) - 64) // 4
    for length in range(0, len(good), 5):
        path.write_bytes(good[:length])
        vectors = Vectors(folder, "model", DIMENSIONS)
        assert len(vectors) == max(0, length - 64) // row
        assert len(vectors) == len(dict(vectors.known()))
        vectors.close()
    path.write_bytes(good + b"half a row")
    assert len(check(folder)) == 4


@pytest.mark.parametrize("junk", [b"x", b"cranvec1", os.urandom(5000), b"\0" * 5000, b"SQLite format 3\0" * 99])
def test_what_is_no_file_of_ours_is_started_anew(folder: str, junk: bytes, caplog: pytest.LogCaptureFixture) -> None:
    """It is said in the log, and nothing of it stays."""
    os.makedirs(folder)
    path_in(folder).write_bytes(junk)
    assert check(folder) == set()
    assert "made anew" in caplog.text
    assert os.listdir(folder) == ["vectors.bin"]


def test_vectors_of_another_embedder_are_wiped(folder: str, caplog: pytest.LogCaptureFixture) -> None:
    """They would be compared with questions of this one, and put aside they could not be erased. Nobody is warned of it."""
    caplog.set_level("INFO")
    put(folder, range(10), name="another model")
    inode = path_in(folder).stat().st_ino
    assert check(folder) == set()
    assert "made anew" in caplog.text
    assert not [record for record in caplog.records if record.levelname == "WARNING"]
    assert path_in(folder).stat().st_ino == inode  # overwritten, not merely unlinked


def test_vectors_that_nobody_wants_any_more_are_overwritten_and_removed(folder: str, tmp_path: Path) -> None:
    """Who still has the file by another name finds nothing in it. Where there is none, nothing happens; a link is left alone."""
    remove_vectors(folder)
    put(folder, range(10))
    os.link(path_in(folder), tmp_path / "same")
    with open(tmp_path / "same", "rb", buffering=0) as file:
        remove_vectors(folder)
        assert not any(file.read())
    assert os.listdir(folder) == []
    path_in(folder).symlink_to(tmp_path / "same")
    remove_vectors(folder)
    assert path_in(folder).is_symlink()


def test_a_dropped_vector_leaves_no_byte_on_the_disk(folder: str) -> None:
    """Neither tag, nor version, nor scope, nor direction, while the file is still open; and its neighbours are as they were."""
    vectors = Vectors(folder, "model", DIMENSIONS)
    numbers = range(6)
    scopes = [0x51525354 + n for n in numbers]
    vectors.put([tag_of(n) for n in numbers], ROWS[:6], [version_of(n) for n in numbers], scopes)
    before = path_in(folder).read_bytes()
    vectors.drop([tag_of(2), tag_of(5), tag_of(77)])
    after = path_in(folder).read_bytes()
    row = (len(before) - 64) // 6
    places = [slice(64 + n * row, 64 + (n + 1) * row) for n in numbers]
    for n in numbers:
        assert after[places[n]] == (bytes(row) if n in (2, 5) else before[places[n]])
    for part in (tag_of(2)[:8], version_of(2)[:8], scopes[2].to_bytes(4, "little"), before[places[2]][60:68]):
        assert part in before
        assert part not in after
    assert {tag for tag, _ in vectors.nearest(ROWS[2], 10)} == {tag_of(n) for n in (0, 1, 3, 4)}
    vectors.close()


def test_a_row_that_is_there_twice_is_dropped_both_times(folder: str) -> None:
    """Nobody can say which is the newer: its record is embedded again."""
    put(folder, range(4))
    path = path_in(folder)
    good = path.read_bytes()
    row = (len(good) - 64) // 4
    path.write_bytes(good + good[64 : 64 + row])
    assert check(folder) == {tag_of(n) for n in (1, 2, 3)}


def test_a_link_is_replaced_and_what_it_leads_to_stays(folder: str, tmp_path: Path) -> None:
    """What it names is none of ours."""
    other = tmp_path / "diary"
    other.write_text("dear diary")
    os.makedirs(folder)
    path_in(folder).symlink_to(other)
    assert check(folder) == set()
    assert other.read_text() == "dear diary"


def test_a_folder_in_its_place_is_said_with_what_to_do(folder: str) -> None:
    """Nothing is removed that may hold somebody's files."""
    path_in(folder).mkdir(parents=True)
    with pytest.raises(HomeDamaged) as raised:
        Vectors(folder, "model", DIMENSIONS)
    assert "remove" in raised.value.next_step


def test_a_file_of_holes_is_not_filled(folder: str) -> None:
    """A terabyte that takes no room is cut off, not overwritten."""
    put(folder, range(4))
    os.truncate(path_in(folder), 1 << 40)
    assert check(folder) == set()
    assert path_in(folder).stat().st_size < 1 << 20


def test_a_full_disk_loses_nothing_that_was_there(folder: str) -> None:
    """The write fails with the system's error; what was there is found, and once there is room the same call succeeds."""
    put(folder, range(10))
    program = """
import resource, sys
from clan_learnings.search.vectors.nearest import Vectors
from tests.clan_learnings.search.vector_sets import directions, tag_of, version_of
vectors, rows = Vectors(sys.argv[1], "model", 8), directions(40, 8)
given = [tag_of(n) for n in range(10, 40)], rows[10:], [version_of(n) for n in range(10, 40)]
hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
resource.setrlimit(resource.RLIMIT_FSIZE, (1200, hard))
try:
    vectors.put(*given)
except OSError:
    assert len(vectors) == 10
    assert {tag for tag, _ in vectors.nearest(rows[0], 99)} == {tag_of(n) for n in range(10)}
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    vectors.put(*given)
    print(len(vectors.nearest(rows[0], 99)))
"""
    done = subprocess.run(
        [sys.executable, "-c", program, folder],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("40\n", "")
    assert len(check(folder)) == 40


def test_an_index_made_again_gives_the_same_answers(folder: str) -> None:
    """Delete the folder's file, put the same vectors: nothing is different."""
    put(folder, range(40))
    first = Vectors(folder, "model", DIMENSIONS)
    before = [first.nearest(row, 10) for row in ROWS]
    first.close()
    path_in(folder).unlink()
    put(folder, reversed(range(40)))
    again = Vectors(folder, "model", DIMENSIONS)
    assert [again.nearest(row, 10) for row in ROWS] == before
    assert np.isfinite([cosine for found in before for _, cosine in found]).all()
    again.close()
