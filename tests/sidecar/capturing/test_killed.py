"""kill -9 in the middle of capturing: nothing is lost, nothing is double, and the next run does the rest."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mesh.sidecar.capturing.capture import Capture
from mesh.store.catalogue import Catalogue
from tests.sidecar.capturing.stand_ins import ANALYSTS, found, write

FILES = 60
_PROGRAM = """
import sys
from pathlib import Path
import mesh.sidecar.capturing.capture as capture
from mesh.store.catalogue import Catalogue
from tests.sidecar.capturing.stand_ins import ANALYSTS, found
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
