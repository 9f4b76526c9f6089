"""The script of docs/CI.md in a made pipeline: a job that fails, is mended, and tells it; the next job is told; and no job fails for want of a mesh."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.end_to_end.commands import MESH, PATIENCE_SECONDS, asked, done, wait_until
from tests.end_to_end.fleet import Sidecar, sidecars

DOCUMENT = Path(__file__).parents[2] / "docs" / "CI.md"
CHECK = "test -e client.py || { echo 'error: No module named client'; exit 1; }"
MEND = "touch client.py; echo 'run make client before make test: the client is generated' > fix.txt"


def job(folder: Path, number: int, token: str, mend: str = MEND) -> "subprocess.CompletedProcess[str]":
    """One job, in a checkout of its own."""
    checkout = folder / f"job-{number}"
    checkout.mkdir()
    subprocess.run(["git", "init", "-q"], cwd=checkout, check=True)
    subprocess.run(["git", "remote", "add", "origin", "https://github.com/acme/shop.git"], cwd=checkout, check=True)
    (script,) = re.findall(r"```sh\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)
    (checkout / "mesh-job.sh").write_text(script)
    kept = {name: value for name, value in os.environ.items() if name in ("MESH_PATIENCE", "PYTHONPATH", "LANG")}
    environ = kept | {
        "HOME": str(folder / "user"),
        "TMPDIR": str(folder),
        "PATH": f"{os.path.dirname(MESH)}:/usr/bin:/bin",
        "JOB_ID": str(number),
        "MESH_TOKEN": token,
        "MESH_EMBEDDER": "none",
    }
    return subprocess.run(
        ["sh", "mesh-job.sh", CHECK, mend],
        cwd=checkout,
        env=environ,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )


@pytest.fixture
def first(tmp_path: Path) -> Sidecar:
    return Sidecar(tmp_path / "first").init()


def test_a_job_that_is_mended_tells_the_next_one(first: Sidecar, tmp_path: Path) -> None:
    """As a correction of a build, in a session that is the job; and the job's node is gone afterwards."""
    with sidecars(first):
        token = first.up().invite("--ephemeral", "--uses", "5")
        finished = job(tmp_path, 7, token)
        assert finished.returncode == 0, finished.stderr
        assert "generated" not in (tmp_path / "job-7" / "mesh-context.txt").read_text()
        (line,) = done(Path(first.home), "tail", "--json").splitlines()
        fields = asked(Path(first.home), "show", json.loads(line)["id"])["record"]
        assert (fields["session"], fields["source"], fields["repo"]) == ("ci:7", "build", "github.com/acme/shop")
        assert "No module named client" in fields["wrong"]
        wait_until(lambda: [peer["state"] for peer in first.peers()["peers"]] == ["left"])
        assert job(tmp_path, 8, token).returncode == 0
        assert "make client before make test" in (tmp_path / "job-8" / "mesh-context.txt").read_text()


@pytest.mark.parametrize("mend", ["exit 1", "true"])
def test_a_job_that_nobody_mends_fails_and_tells_nothing(first: Sidecar, tmp_path: Path, mend: str) -> None:
    """The result of the check is the result of the job."""
    with sidecars(first):
        assert job(tmp_path, 7, first.up().invite("--ephemeral"), mend).returncode == 1
        assert done(Path(first.home), "tail", "--json") == ""


def test_a_job_without_a_mesh_goes_on_alone(tmp_path: Path) -> None:
    """A token that is none: the check decides."""
    assert job(tmp_path, 7, "no-token").returncode == 0
    assert job(tmp_path, 8, "no-token", "exit 1").returncode == 1
