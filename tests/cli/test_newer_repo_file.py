"""`.clan-mesh.toml` with something unknown in it: whoever runs a command is told, once; programs that read us are not."""

import json
from pathlib import Path

import pytest

from tests.cli.test_commands import Shell, alpha

__all__ = ["alpha"]

NEXT = "  next: mend it there, or leave it to a newer clan-mesh\n"


@pytest.fixture
def file(alpha: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """In a repository, in which we are."""
    alpha("discover", "a note", "--global")
    root = tmp_path / "api"
    for name in ("objects", "refs"):
        (root / ".git" / name).mkdir(parents=True)
    (root / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (root / ".git" / "config").write_text('[remote "origin"]\n\turl = https://github.com/acme/api\n')
    monkeypatch.chdir(root)
    made = root / ".clan-mesh.toml"
    made.write_text('repo = "github.com/acme/api"\nshaer = false\n[search]\nlimit = 5\n')
    return made


def remark(file: Path) -> str:
    return (
        f"mesh: {file}: [search] is not supported yet and shaer (did you mean share?) is not known:"
        f" what stands there changes nothing\n{NEXT}"
    )


@pytest.mark.parametrize(
    "words",
    [["search", "note"], ["context"], ["hot"], ["tiers"], ["discover", "another"], ["learnings", "list"]],
    ids=" ".join,
)
def test_every_command_that_reads_it_says_once_what_is_unknown(alpha: Shell, file: Path, words: list[str]) -> None:
    """On stderr, behind all else; it does what it would have done."""
    answer = alpha.json(*words)
    assert alpha.err.count(remark(file)) == 1
    assert alpha.err.endswith(NEXT)
    assert answer
    file.write_text('repo = "github.com/acme/api"\n')
    alpha(*words)
    assert str(file) not in alpha.err


def test_what_is_known_in_it_holds_all_the_same(alpha: Shell, file: Path) -> None:
    """An older node must be able to use a newer file."""
    identity = alpha.json("discover", "of this repository")["id"]
    assert alpha.json("show", identity)["record"]["repo"] == "github.com/acme/api"


def test_a_hook_says_nothing_of_it(alpha: Shell, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it prints is for a program, and some agents show its stderr to their user."""
    event = json.dumps(
        {"hook_event_name": "SessionStart", "source": "startup", "session_id": "s1", "cwd": str(file.parent)}
    )
    monkeypatch.setenv("MESH_NO_AUTOSTART", "1")
    assert "a note" in json.loads(alpha("hook", "SessionStart", event))["hookSpecificOutput"]["additionalContext"]
    assert alpha.err == ""


def test_doctor_has_it_among_its_findings(alpha: Shell, file: Path) -> None:
    """And not a second time."""
    found = [item for item in alpha.json("doctor", code=3) if item["sort"] == "file of the repository"]
    (sentence,) = (item["sentence"] for item in found)
    assert sentence.startswith(".clan-mesh.toml: [search] is not supported yet and shaer (did you mean share?) is not")
    assert found[0]["next_step"] == f"mend {file}, or leave it to a newer clan-mesh"
    assert alpha.err == ""
