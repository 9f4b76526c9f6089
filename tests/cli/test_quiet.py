"""`mesh quiet` and `mesh settings quiet`: hooks say nothing, note what they note, and everybody can see why."""

import io
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from clan_learnings.agents.quiet import FILE, FOR_EVER, be_quiet, quiet_until, speak
from mesh.cli.main import run

Say = Callable[..., str]


@pytest.fixture
def say(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Say:
    """Runs commands on a home with something that a session is told."""
    monkeypatch.setenv("MESH_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("MESH_NO_AUTOSTART", "1")

    def said(*words: str, code: int = 0) -> str:
        assert run([*words]) == code
        return capsys.readouterr().out

    said("init")
    said("discover", "the staging database is reset every night", "--global")
    return said


@pytest.fixture
def told(say: Say, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str]:
    """What a session is told at its start."""

    def start(session: str) -> str:
        transcript = tmp_path / f"{session}.jsonl"
        transcript.write_text("{}\n")
        for name in ("SessionStart", "Stop"):
            event = {"session_id": session, "hook_event_name": name, "source": "startup", "cwd": str(tmp_path)}
            raw = json.dumps(event | {"transcript_path": str(transcript)}).encode()
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(raw)))
            monkeypatch.setattr("mesh.cli.hook.read_event", lambda raw=raw: raw)
            said = say("hook", name)
            if name == "SessionStart":
                answer = said
        return answer

    return start


def test_quiet_hooks_say_nothing_and_note_all_the_same(say: Say, told: Callable[[str], str], tmp_path: Path) -> None:
    """Which session there is, and where its transcript is; afterwards they speak again."""
    assert "staging database" in told("first")
    assert "say nothing" in say("quiet")
    assert told("second") == "{}\n"
    assert "second" in (tmp_path / "home/spool/pointers.jsonl").read_text()
    assert say("quiet", "--off") == "hooks speak again\n"
    assert "staging database" in told("third")
    assert say("quiet", "--off") == "hooks were not quiet\n"


def test_an_admin_silences_every_node(say: Say, told: Callable[[str], str]) -> None:
    """Until it is taken back."""
    assert "say nothing" in say("settings", "quiet", "on")
    assert json.loads(say("settings", "--json"))["quiet"] is True
    assert told("first") == "{}\n"
    assert "quiet     the hooks of every node" in say("status")
    assert "quiet fleet" in {found["sort"] for found in json.loads(say("doctor", "--json", code=3))}
    say("settings", "quiet", "off")
    assert "staging database" in told("second")


def test_it_ends_by_itself_and_is_seen_while_it_lasts(say: Say, tmp_path: Path) -> None:
    """In `mesh status` and `mesh doctor`."""
    home = str(tmp_path / "home")
    assert json.loads(say("quiet", "--for", "2h", "--json"))["quiet"] is True
    now = int(time.time() * 1000)
    until = quiet_until(home, now)
    assert until is not None
    assert now + 7_100_000 < until <= now + 7_200_000
    assert quiet_until(home, until) is None
    assert "to end that: mesh" in say("status")
    assert json.loads(say("status", "--json"))["quiet"] == {"until_ms": until, "fleet": False}
    assert "quiet" in {found["sort"] for found in json.loads(say("doctor", "--json", code=3))}


@pytest.mark.parametrize("words", [["--for", "soon"], ["--for", "0h"], ["--for", "-2h"]])
def test_a_time_that_is_none_changes_nothing(say: Say, words: list[str], tmp_path: Path) -> None:
    """And says how to write one."""
    say("quiet", *words, code=1)
    assert not (tmp_path / "home" / FILE).exists()
    say("quiet", "--off", "--for", "2h", code=2)


def test_a_file_that_says_no_time_means_until_it_is_taken_back(tmp_path: Path) -> None:
    """Somebody wanted quiet; a file that cannot be read is no reason to speak."""
    home = str(tmp_path)
    assert quiet_until(home, 5) is None
    be_quiet(home)
    assert quiet_until(home, 5) == FOR_EVER
    for text in ("nonsense", "", "9" * 50):
        (tmp_path / FILE).write_text(text)
        assert quiet_until(home, 5) == FOR_EVER
    speak(home)
    speak(home)
    assert quiet_until(home, 5) is None
    assert os.listdir(home) == []
