"""`mesh simulate`: what it prints, and how it ends."""

import json

import pytest

from mesh.cli.main import EXIT_FAILED, run
from peers.simulate.invariants import Checker
from peers.simulate.scenario import Scenario, chaos

SMALL = ["simulate", "--nodes", "8", "--seed", "5", "--warm", "3"]


def test_json_has_every_figure(capsys: pytest.CaptureFixture[str]) -> None:
    """One object; the write reached everyone."""
    assert run([*SMALL, "--idle", "10", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["alive"] == report["nodes"] == 8
    assert 0 < report["spread_median"]["half"] <= report["spread_median"]["all"] < 1
    assert 0 < report["idle_sent"] < 1000
    assert report["sent"]["push"] > 0
    assert report["command"] == "mesh simulate --nodes 8 --seed 5 --warm 3 --idle 10"


def test_the_table_is_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    """A line a figure."""
    assert run(SMALL) == 0
    names = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert names[:3] == ["nodes", "writes", "reach"]
    assert names[-1] == "root"


def test_a_check_that_fails_is_one_sentence_and_exit_code_1(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the command that shows it again."""
    monkeypatch.setattr(Checker, "eventually_forgeries_are_nowhere", lambda self: self._fail("rules", "exceptions"))
    assert run(SMALL) == EXIT_FAILED
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "rules; but exceptions. See it again: mesh simulate --nodes 8 --seed 5 --warm 3\n" in printed.err


@pytest.mark.parametrize(
    "wrong",
    [
        ["--loss", "1.5"],
        ["--nodes", "1"],
        ["--writes", "-1"],
        ["--latency", "fast"],
        ["--restarts", "2"],  # without a duration
        ["--hostile", "7", "--duration", "5"],
        ["--hostile", "1", "--duration", "5", "--habits", "kindness"],
    ],
)
def test_what_makes_no_sense_is_refused(wrong: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """With the next step."""
    assert run([*SMALL, *wrong]) == EXIT_FAILED
    assert "next: " in capsys.readouterr().err


def test_hostile_members_with_one_habit_only(capsys: pytest.CaptureFixture[str]) -> None:
    """By its name."""
    assert run([*SMALL, "--hostile", "1", "--habits", "many_feeds", "--duration", "3", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["faults"] == {"hostile node": 1}
    assert report["sent"]["hostile"] > 0


def test_a_scenario_says_how_to_repeat_it() -> None:
    """Only what is not as usual."""
    scenario = Scenario(seed=9, latency_ms=(1.0, 2.5), partition_seconds=2.0, partition_share=0.25, skew_seconds=60.0)
    assert scenario.command() == ("mesh simulate --nodes 100 --seed 9 --latency 1-2.5 --partition 2:0.25 --skew 60")
    hostile = Scenario(hostile=1, duration=5.0, habits=("many_feeds", "late_starts"))
    assert hostile.command() == (
        "mesh simulate --nodes 100 --seed 1 --habits many_feeds,late_starts --duration 5 --hostile 1"
    )
    assert chaos(24, 3).command() == "mesh simulate --nodes 24 --seed 3 --chaos"
