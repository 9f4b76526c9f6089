"""A harvest that may write no more stops, says why and from when on it goes on, and loses no candidate."""

import logging
from pathlib import Path

import pytest

from clan_learnings.harvest.candidates import APPROVED, RECORDED
from clan_learnings.harvest.harvest import harvest_new, open_harvest
from clan_learnings.harvest.review import CandidateReview
from clan_learnings.sessions.capture_thread import CaptureThread
from mesh.app.application import Application
from mesh.cli.main import run
from mesh.core.errors import MayNotWrite, QuotaReached
from mesh.core.statement import READER, Quota, sign
from mesh.store.home import Home, open_home
from tests.clan_learnings.harvest.homes import API, Farm
from tests.clan_learnings.harvest.signals import correction
from tests.roles import admitted, fill, founder, free, throw_away

HALF = 2 * 2**20
RULES = [
    ("npm install", "pnpm install"),
    ("make all", "make quick"),
    ("git push --force", "git push --force-with-lease"),
]


@pytest.fixture
def job(tmp_path: Path) -> Home:
    """A throw-away node: its quota is small enough to be filled."""
    return throw_away(tmp_path)


def farm_in(home: Home, folder: Path) -> Farm:
    farm = Farm(folder, home=home.path)
    farm.share(API)
    for number, (wrong, right) in enumerate(RULES):
        farm.session(f"codex:{number}", correction(wrong, right))
    return farm


def raise_quota(home: Home) -> None:
    """The founder of the job's mesh lets it write more."""
    root = open_home(home.path + "-founder").root_identity()
    author = home.author()
    fact = Quota(root.public, author.store.clock(), home.node, 64 * 2**20)
    author.merge_statements([sign(home.mesh, root, fact).encode()])
    author.store.close()


def test_a_harvest_stops_at_half_the_quota_and_goes_on_where_it_stopped(job: Home, tmp_path: Path) -> None:
    """What was not written stays approved; live writes go on; every candidate becomes a record once, in the end."""
    farm = farm_in(job, tmp_path)
    fill(job, HALF)
    summary = farm.harvest()
    assert isinstance(summary.written.stopped, QuotaReached)
    assert summary.written.records == summary.documents == []
    assert summary.as_json()["stopped"]["again_ms"] == summary.written.stopped.again_ms > farm.now_ms
    assert summary.as_json()["stopped"]["candidates"] == len(RULES)
    assert [candidate.state for candidate in farm.candidates()] == [APPROVED] * len(RULES)
    Application(job.path, {}, "/").discover("written live")
    raise_quota(job)
    assert len(farm.harvest().written.records) == len(RULES)
    assert farm.harvest().written.records == []
    assert {candidate.state for candidate in farm.candidates()} == {RECORDED}
    assert sorted(record["right"] for record in farm.records()) == sorted(right for _, right in RULES)


def test_a_harvest_takes_no_more_than_its_half(job: Home, tmp_path: Path) -> None:
    """However often it runs."""
    farm = farm_in(job, tmp_path)
    fill(job, HALF + 800)
    for _ in range(3):
        farm.harvest()
        assert free(job) >= HALF
    assert 0 < len(farm.records()) < len(RULES)


def test_what_a_person_accepts_is_written_live_and_stays_accepted_if_it_cannot_be(job: Home, tmp_path: Path) -> None:
    """Up to the end of the quota; then a later harvest writes it."""
    farm = farm_in(job, tmp_path)
    fill(job, HALF)
    farm.harvest()
    first, second, _ = sorted(candidate.id for candidate in farm.candidates())
    with open_harvest(farm.home) as harvest:
        assert CandidateReview(harvest).accept(first)["recorded"]
    fill(job)
    with open_harvest(farm.home) as harvest:
        answer = CandidateReview(harvest).accept(second)
    assert (answer["recorded"], answer["state"]) == ([], APPROVED)
    assert "not written: this node has written as much as it may" in answer["trouble"][0]
    raise_quota(job)
    farm.harvest()
    assert {candidate.state for candidate in farm.candidates()} == {RECORDED}


def test_the_sidecar_says_once_that_the_harvest_waits(
    job: Home, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It names the time; the next look tries again without a word."""
    farm_in(job, tmp_path)
    fill(job, HALF)
    watching = CaptureThread(job)
    with caplog.at_level(logging.WARNING, "mesh.node"):
        for _ in range(3):
            watching._harvest()
    assert [record.message.partition(";")[0].split(": ")[1] for record in caplog.records] == [
        "this node has half of its quota of 4 MB left, which harvests and imports leave to what is written live"
    ]


def test_mesh_harvest_says_when_it_goes_on(job: Home, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """And ends as a command does after which something waits."""
    farm_in(job, tmp_path)
    fill(job, HALF)
    (tmp_path / "none").mkdir()
    assert run(["harvest", str(tmp_path / "none"), "--home", job.path]) == 3
    said = capsys.readouterr()
    assert "stopped    3 candidates not written: this node has half of its quota" in said.out
    assert "they may go on from 20" in said.out
    assert "nothing is lost" in said.err


def test_a_reader_judges_what_it_captured_and_writes_nothing(tmp_path: Path) -> None:
    """It says why, and the candidates are its own to look at."""
    farm = farm_in(admitted(tmp_path, founder(tmp_path), READER), tmp_path)
    for summary in (farm.harvest(), harvest_new(farm.home)):
        assert isinstance(summary.written.stopped, MayNotWrite)
        assert summary.written.records == []
    assert [candidate.state for candidate in farm.candidates()] == [APPROVED] * len(RULES)
    with open_harvest(farm.home) as harvest:
        answer = CandidateReview(harvest).accept(next(harvest.shelf.every()).id)
    assert "invited as a reader" in answer["trouble"][0]
