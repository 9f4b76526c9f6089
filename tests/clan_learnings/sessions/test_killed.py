"""kill -9 in the middle of capturing: nothing is lost, nothing is double, and the next run does the rest."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from clan_learnings.sessions.capture import Capture
from clan_learnings.sessions.catalogue_table import Catalogue
from tests.clan_learnings.sessions.stand_ins import ANALYSTS, found, write

FILES = 60
_PROGRAM = """
import sys
from pathlib import Path
import clan_learnings.sessions.capture as capture
from clan_learnings.sessions.catalogue_table import Catalogue
from tests.clan_learnings.sessions.stand_ins import ANALYSTS, found
capture._BATCH_FILES = 3
home, folder = sys.argv[1:]
with Catalogue(home) as catalogue:
    catalogue.sweep()
    print("begun", flush=True)
    capture.Capture(catalogue, ANALYSTS).run(found(*sorted(Path(folder).iterdir())))
print("done", flush=True)
"""


def check(home: Path, folder: Path) -> int:
    """What must hold at any moment: every body on disk that a row names is whole, and no row lacks body or digest."""
    with Catalogue(str(home)) as catalogue:
        digests = {each.path: each for each in catalogue.digests()}
        assert len({each.key for each in digests.values()}) == len(digests)
        for path in sorted(folder.iterdir()):
            known = catalogue.known(str(path))
            if known is None:
                continue
            body = catalogue.body(str(path))
            assert body is not None, "a file that counts as read has its body"
            assert body == path.read_bytes()[: len(body)]
            assert [item["text"] for item in digests[str(path)].items] == [
                f"{path.stem} {number}" for number in range(body.count(b"\n"))
            ]
        return len(digests)


@pytest.mark.parametrize("seed", range(6))
def test_a_killed_run_is_finished_by_the_next(tmp_path: Path, seed: int) -> None:
    """Killed at a random moment, again and again, with files growing meanwhile."""
    chance = random.Random(seed)
    home, folder = tmp_path / "home", tmp_path / "sessions"
    folder.mkdir()
    for number in range(FILES):
        write(folder / f"{number:02d}.jsonl", *(f"{number:02d} {line}" for line in range(3)), name=f"s{number}")
    environ = os.environ | {"PYTHONPATH": str(Path(__file__).parents[3])}
    for attempt in range(4):
        process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, str(home), str(folder)], stdout=subprocess.PIPE, env=environ
        )
        assert process.stdout is not None
        assert process.stdout.readline() == b"begun\n"
        deadline = time.monotonic() + chance.uniform(0, 0.12)
        while time.monotonic() < deadline and process.poll() is None:
            pass
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        check(home, folder)
        grown = folder / f"{attempt:02d}.jsonl"
        have = grown.read_bytes().count(b"\n")
        write(grown, f"{attempt:02d} {have}", name=f"s{attempt}", mode="a")
    with Catalogue(str(home)) as catalogue:
        catalogue.sweep()
        report = Capture(catalogue, ANALYSTS).run(found(*sorted(folder.iterdir())))
        assert not report.failed
        on_disk = [path for path in (home / "capture" / "bodies").rglob("*") if path.is_file()]
        assert len(on_disk) == catalogue.counts().bodies
        assert [catalogue.body(str(path)) for path in sorted(folder.iterdir())] == [
            path.read_bytes() for path in sorted(folder.iterdir())
        ]
    assert check(home, folder) == FILES


_CREW = """
import os
from clan_learnings.sessions.worker_processes import by_crew

door = os.dup(0)  # processes of a pool have another stdin

def work(number):
    os.write(1, b"+")
    return os.read(door, 1)

for made in by_crew(work, range(1000), 2, 1):
    pass
"""


@pytest.mark.parametrize("moment", ["at work", "between"])
def test_the_crew_of_a_killed_command_ends_and_prints_nothing(moment: str) -> None:
    """Whoever leads is gone: the answers find nobody, no further work is begun, and no traceback is on the screen."""
    environ = os.environ | {"PYTHONPATH": str(Path(__file__).parents[3])}
    process = subprocess.Popen(
        [sys.executable, "-c", _CREW],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environ,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.read(2) == b"++"
    if moment == "between":
        os.write(process.stdin.fileno(), b"." * 40)
        assert process.stdout.read(40) == b"+" * 40
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdin.close()  # what the two are at ends now
    assert process.stdout.read() == b""  # and so do they: else this would wait for ever
    assert process.stderr.read() == b""
    process.stdout.close()
    process.stderr.close()
