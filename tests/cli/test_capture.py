"""`mesh capture` and `mesh sample` as a person runs them."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bench.capture_sessions import make
from clan_learnings.sessions.catalogue_table import Catalogue
from mesh.cli.main import run
from mesh.store.home import create_home


@pytest.fixture
def home(tmp_path: Path) -> str:
    return create_home(str(tmp_path / "home"), "n").path


@pytest.fixture
def sessions(tmp_path: Path) -> Path:
    folder = tmp_path / "sessions"
    make(str(folder), 8, 0.02)
    return folder


def told(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    assert run([*words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_capture_takes_in_and_a_second_run_does_nothing(
    home: str, sessions: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """All flavours; the second time everything is unchanged."""
    first = told(capsys, "capture", str(sessions), "--home", home)
    assert (first["discovered"], first["ingested"], first["failed"]) == (8, 8, {})
    assert first["flavours"] == {"claude-code": 2, "codex": 2, "hermes": 2, "pi": 2}
    second = told(capsys, "capture", str(sessions), "--home", home)
    assert (second["ingested"], second["unchanged"]) == (0, 8)


def test_a_dry_run_says_what_would_be_and_keeps_nothing(
    home: str, sessions: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The next real run still finds all of it new."""
    assert told(capsys, "capture", str(sessions), "--dry-run", "--home", home)["ingested"] == 8
    assert told(capsys, "capture", str(sessions), "--home", home)["ingested"] == 8


def test_sampling_says_the_same_before_and_after_capturing(
    home: str, sessions: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Counts from files, remembered counts and the catalogue's counts are equal; the outcome is the digest's once there is one."""
    cold = told(capsys, "sample", str(sessions), "--home", home)
    again = told(capsys, "sample", str(sessions), "--home", home)
    assert (cold["counted"], cold["remembered"]) == (8, 0)
    assert (again["counted"], again["remembered"]) == (0, 8)
    assert again["sample"] == cold["sample"]
    told(capsys, "capture", str(sessions), "--home", home)
    after = told(capsys, "sample", str(sessions), "--home", home)

    def counts(answer: Any) -> set[tuple[Any, ...]]:
        names = ("path", "key", "session", "flavour", "messages", "calls", "repo", "ended_ms")
        return {tuple(each[name] for name in names) for each in answer["sample"]}

    assert counts(after) == counts(cold)
    assert after["remembered"] == 8


def test_what_is_asked_for_is_what_is_printed(home: str, sessions: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As paths, best first, and no more than asked."""
    best = told(capsys, "sample", str(sessions), "--count", "3", "--home", home)["sample"]
    assert run(["sample", str(sessions), "--count", "3", "--format", "paths", "--home", home]) == 0
    assert capsys.readouterr().out.split() == [each["path"] for each in best]
    assert [each["score"] for each in best] == sorted((each["score"] for each in best), reverse=True)
    assert len(told(capsys, "sample", str(sessions), "--top-percent", "50", "--home", home)["sample"]) == 4


def test_sampling_needs_no_home(sessions: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It only remembers nothing then."""
    answer = told(capsys, "sample", str(sessions), "--home", str(tmp_path / "nowhere"))
    assert (answer["sessions"], answer["remembered"]) == (8, 0)
    assert not (tmp_path / "nowhere").exists()


def test_a_forgotten_session_stays_away(home: str, sessions: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Not captured again, and not sampled."""
    told(capsys, "capture", str(sessions), "--home", home)
    best = told(capsys, "sample", str(sessions), "--count", "1", "--home", home)["sample"][0]
    assert told(capsys, "capture", "--forget", best["session"], "--home", home)["forgotten"] == [best["key"]]
    Path(best["path"]).touch()
    assert told(capsys, "capture", str(sessions), "--home", home)["forgotten"] == 1
    assert best["key"] not in {each["key"] for each in told(capsys, "sample", str(sessions), "--home", home)["sample"]}


def test_a_forgotten_session_stays_away_after_the_folder_was_deleted(
    home: str, sessions: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The list is in the home, for its owner, and names nothing."""
    told(capsys, "capture", str(sessions), "--home", home)
    with Catalogue(home) as catalogue:
        one, other = list(catalogue.digests())[:2]
    told(capsys, "capture", "--forget", one.session, "--home", home)
    told(capsys, "capture", "--forget", other.path, "--home", home)
    shutil.rmtree(Path(home) / "capture")
    assert told(capsys, "capture", str(sessions), "--home", home)["forgotten"] == 2
    with Catalogue(home) as catalogue:
        assert not {one.key, other.key} & catalogue.keys()
        assert catalogue.counts().forgotten == 3  # a path, and two sessions
    kept = Path(home) / "forgotten"
    assert kept.stat().st_mode & 0o777 == 0o600
    assert one.session.partition(":")[2].encode() not in kept.read_bytes()


def test_a_session_is_forgotten_by_its_bare_id_or_the_beginning_of_it(
    home: str, sessions: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What may be several is listed, what is unknown says what to do, and what may still come can be forbidden."""
    told(capsys, "capture", str(sessions), "--home", home)
    with Catalogue(home) as catalogue:
        names = sorted(catalogue.keys())
    own = [name.partition(":")[2] for name in names]
    length = next(size for size in range(6, 100) if sum(each.startswith(own[1][:size]) for each in own) == 1)
    assert told(capsys, "capture", "--forget", own[0], "--home", home)["forgotten"] == [names[0]]
    assert told(capsys, "capture", "--forget", own[1][:length], "--home", home)["forgotten"] == [names[1]]
    assert run(["capture", "--forget", names[2].partition(":")[0] + ":", "--home", home]) == 2
    assert names[2] in capsys.readouterr().err
    for unknown in ("nobody-knows-it", "/not/there.jsonl", "nobody:1"):
        assert run(["capture", "--forget", unknown, "--home", home]) == 1
        assert "next: " in capsys.readouterr().err
    assert told(capsys, "capture", "--forget", "codex:to-come", "--home", home)["forgotten"] == []
    with Catalogue(home) as catalogue:
        assert sorted(catalogue.keys()) == names[2:]


def test_the_switch_and_the_budget_are_kept(home: str, capsys: pytest.CaptureFixture[str]) -> None:
    """As they were set, until they are set otherwise."""
    assert told(capsys, "capture", "--off", "--budget", "10M", "--max-age", "30", "--home", home)["on"] is False
    status = told(capsys, "capture", "--status", "--home", home)
    assert (status["on"], status["soft_bytes"], status["hard_bytes"], status["age_days"]) == (
        False,
        10 * 1024**2,
        20 * 1024**2,
        30,
    )
    assert told(capsys, "capture", "--on", "--home", home)["on"] is True


@pytest.mark.parametrize(
    "words",
    [
        ["capture", "--on", "--off"],
        ["capture", "--budget", "lots"],
        ["capture", "--budget", "4G,2G"],
        ["capture", "--agent", "nobody"],
        ["capture", "/no/such/path"],
        ["capture", os.devnull],
        ["capture", "--max-age", "0"],
        ["sample", "--count", "0"],
        ["sample", "--since", "whenever"],
    ],
)
def test_what_cannot_be_names_the_next_step(home: str, words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """One sentence, and what to do."""
    assert run([*words, "--home", home]) == 1
    assert "\n  next: " in capsys.readouterr().err


def test_what_is_not_understood_inside_a_file_is_said(
    home: str, sessions: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The rest of the file counts; what was left out has its reason."""
    path = next(sessions.rglob("*.jsonl"))
    path.write_text('{"torn": \n' + path.read_text(encoding="utf-8") + "42\n", encoding="utf-8")
    found = told(capsys, "capture", str(path), "--home", home)
    assert found["ingested"] == 1
    assert found["inside"] == {"a line, or the rest of one, is no JSON": 1, "a value that is no object": 1}


def test_files_that_are_skipped_are_named(home: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With the reason, so that a person can look."""
    (tmp_path / "notes.txt").write_text("bread, milk", encoding="utf-8")
    found = told(capsys, "capture", str(tmp_path / "notes.txt"), "--home", home)
    assert [skip["path"] for skip in found["skips"]] == [str(tmp_path / "notes.txt")]


def test_a_damaged_catalogue_is_made_anew_as_the_error_says(
    home: str, sessions: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`mesh repair` is for records: it could not help here."""
    told(capsys, "capture", str(sessions), "--home", home)
    folder = Path(home) / "capture"
    with (folder / "catalogue.db").open("r+b") as file:
        file.write(b"no database" * 1000)
    assert run(["capture", str(sessions), "--home", home]) == 1
    complaint = capsys.readouterr().err
    assert "mesh repair" not in complaint
    assert f"mv {folder} {folder}.damaged" in complaint
    folder.rename(f"{folder}.damaged")
    assert told(capsys, "capture", str(sessions), "--home", home)["ingested"] == 8


def test_many_sessions_are_shared_out_among_processes(home: str, tmp_path: Path) -> None:
    """As a process of its own: all of them are taken in once, and sampled with the counts that one process finds."""
    folder = tmp_path / "many"
    make(str(folder), 820, 0.003)

    def mesh(*words: str) -> Any:
        done = subprocess.run(
            [sys.executable, "-m", "mesh", *words, "--home", home, "--json"], capture_output=True, check=True, text=True
        )
        assert done.stderr == ""
        return json.loads(done.stdout)

    sampled = mesh("sample", str(folder), "--count", "1000")["sample"]
    taken = mesh("capture", str(folder))
    assert (taken["ingested"], taken["sessions"], taken["failed"]) == (820, 820, {})
    again = mesh("sample", str(folder), "--count", "1000")["sample"]
    names = ("path", "key", "messages", "calls", "repo")
    assert {tuple(each[name] for name in names) for each in again} == {
        tuple(each[name] for name in names) for each in sampled
    }
    with Catalogue(home) as catalogue:
        assert {found.path for found in catalogue.digests()} == {str(path) for path in folder.iterdir()}
        path = next(folder.iterdir())
        assert catalogue.body(str(path)) == path.read_bytes().replace(b"/home/dev", b"~")


def test_sampling_goes_on_where_nothing_can_be_remembered(
    home: str, sessions: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A home that cannot be written to is said, and no more than that."""
    monkeypatch.setattr("mesh.store.local_database.os.open", _refuse)
    assert run(["sample", str(sessions), "--home", home, "--json"]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["sessions"] == 8
    assert printed.err.startswith("counts are not remembered")


def _refuse(path: str, flags: int, mode: int = 0o777) -> int:
    if str(path).endswith("catalogue.db"):
        raise PermissionError(13, "Permission denied")
    return REAL_OPEN(path, flags, mode)


REAL_OPEN = os.open
