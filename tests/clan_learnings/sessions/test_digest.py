"""Digests: what a session amounts to."""

from pathlib import Path

import pytest

from clan_learnings.sessions.digest import digest_of, repo_of
from clan_learnings.sessions.failures import SessionCourse
from clan_learnings.sessions.session_outcome import outcome_of
from clan_learnings.sessions.transcript_events import Kind, Usage
from tests.clan_learnings.harvest.made_sessions import Made


def outcome(made: Made) -> str:
    return outcome_of(SessionCourse.of(made.session())).result


def test_a_digest_has_task_files_failures_corrections_and_cost() -> None:
    """All of a small session."""
    made = Made()
    made.says("make the tests pass in /home/ada/work")
    failed = made.runs("pip install thing", "bash: pip: command not found", 127)
    made.runs("pip3 install thing", "Successfully installed")
    made.edits("/home/ada/work/a.py")
    said = made.is_refused("Edit", "no, leave b.py alone", file_path="/home/ada/work/b.py")
    made.runs("pytest -q", "3 passed")
    session = made.session(
        folder="/home/ada/work",
        remote="git@github.com:Ada/Work.git",
        usage=Usage(10, 5, 100, 0.25),
        messages=4,
        calls=5,
    )
    digest = digest_of(session)
    assert digest.task == "make the tests pass in ~/work"
    assert digest.folder == "~/work"
    assert digest.repo == "github.com/ada/work"
    assert (digest.outcome, digest.why) == ("success", "pytest -q passed last")
    assert digest.files == ["~/work/a.py"]
    (failure,) = digest.failures
    assert (failure.line, failure.command, failure.error) == (failed, "pip install thing", "pip: command not found")
    assert (failure.fix, failure.fix_line) == ("pip3 install thing", failed + 1)
    assert digest.corrections == [(said, "no, leave b.py alone")]
    assert digest.errors == {"pip command not found": 1}
    assert (digest.tokens, digest.dollars, digest.messages, digest.calls) == (15, 0.25, 4, 5)


def test_a_folder_that_is_not_on_this_machine_gives_no_repo(tmp_path: Path) -> None:
    """Nobody can tell; a folder that is here can."""
    assert repo_of("", "/nowhere/at/all") == ""
    assert repo_of("", "") == ""
    git = tmp_path / ".git"
    (git / "objects").mkdir(parents=True)
    (git / "refs").mkdir()
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    (git / "config").write_text('[remote "origin"]\n\turl = https://example.com/ada/here.git\n')
    assert repo_of("", str(tmp_path)) == "example.com/ada/here"


def test_a_check_that_passes_last_is_success_and_one_that_fails_is_failure() -> None:
    """After the last edit."""
    made = Made()
    made.says("fix it")
    made.edits("/src/a.py")
    made.runs("make test", "FAILED", 2)
    assert outcome(made) == "failure"
    made.edits("/src/a.py")
    assert outcome(made) == "unknown"
    made.runs("make test", "ok")
    assert outcome(made) == "success"


def test_code_that_was_never_run_is_unknown_and_words_need_no_run() -> None:
    """A license is done when it is written."""
    made = Made()
    made.says("write it")
    made.edits("/src/a.py")
    made.replies("Done.")
    assert outcome(made) == "unknown"
    made = Made()
    made.says("write it")
    made.edits("/src/LICENSE")
    made.replies("Done.")
    assert outcome(made) == "success"


def test_thanks_at_the_end_are_success() -> None:
    """The person knows."""
    made = Made()
    made.says("write it")
    made.edits("/src/a.py")
    made.replies("Done.")
    made.says("ok, that works, great")
    assert outcome(made) == "success"


def test_a_claim_without_its_deed_is_failure() -> None:
    """The file is not there."""
    made = Made()
    made.says("write it")
    made.edits("/src/notes.md", output="not granted", failed=True)
    made.replies("I've created notes.md.")
    assert outcome(made) == "failure"


@pytest.mark.parametrize("kind", [Kind.INJECTED, Kind.SUMMARY, Kind.FAULT])
def test_a_session_in_which_nothing_was_done_is_unknown(kind: Kind) -> None:
    """Only frames, no picture."""
    made = Made()
    made.says("something", kind)
    assert outcome(made) == "unknown"
