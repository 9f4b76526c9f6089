"""`mesh trust-repo`, and what every way in says of a clone that names somebody else's repository. Clones are made by git itself."""

import json
from pathlib import Path

import pytest

from clan_learnings.agents.skill_text import CALLS
from clan_learnings.repository.consent import file_of
from clan_learnings.repository.detection import UNCONFIRMED
from tests.clan_learnings.repository.test_consent import EVIL, SECRET, git, hostile_clone
from tests.cli.test_commands import Shell, alpha

__all__ = ["alpha"]

FILE = ".clan-mesh.toml"


@pytest.fixture
def clone(alpha: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A stranger's clone, in which we are, and a record of what it is after."""
    UNCONFIRMED.clear()
    monkeypatch.setenv("MESH_CONFIG", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    alpha("discover", "the vault opens at noon", "--repo", SECRET)
    made = hostile_clone(tmp_path)
    monkeypatch.chdir(made)
    return made


def told(clone: Path) -> str:
    return (
        f"mesh: {clone / FILE} asks for the memory of {SECRET}, which no git remote of this checkout names: that is ignored, "
        f"and this is {EVIL}\n  next: if you know that it belongs there: mesh trust-repo {clone}\n"
    )


@pytest.mark.parametrize(
    "words",
    [["search", "vault"], ["context"], ["hot"], ["discover", "the door is green"], ["learnings", "list"]],
    ids=" ".join,
)
def test_every_command_that_uses_the_repository_says_once_that_it_is_ignored(
    alpha: Shell, clone: Path, words: list[str]
) -> None:
    """And nothing of the other repository is told."""
    said = alpha(*words)
    assert alpha.err.count(told(clone)) == 1
    assert "vault opens" not in said
    assert UNCONFIRMED == {}


def test_what_is_written_there_goes_under_the_clones_own_name(alpha: Shell, clone: Path) -> None:
    """A stranger's clone poisons its own memory at most."""
    identity = alpha.json("discover", "the door is green")["id"]
    assert alpha.json("show", identity)["record"]["repo"] == EVIL


def test_a_repository_that_was_named_by_hand_is_the_persons_word(alpha: Shell, clone: Path) -> None:
    """--repo says whose memory is asked."""
    assert "vault opens" in alpha("search", "vault", "--repo", SECRET)


def test_trusting_is_said_once_and_can_be_taken_back(alpha: Shell, clone: Path) -> None:
    """Twice is once; and the file cannot name another repository with it."""
    (clone / "sub").mkdir()
    assert alpha("trust-repo", str(clone / "sub")) == f"{clone} is {SECRET} from now on"
    assert f"mesh trust-repo {clone} --forget" in alpha.err
    assert alpha("trust-repo") == f"{clone} is {SECRET}: it was trusted already"
    assert "vault opens" in alpha("search", "vault")
    assert alpha.err == ""
    assert alpha("trust-repo", "--list") == f"{SECRET}  {clone}"
    (clone / FILE).write_text('repo = "github.com/acme/payroll"\n')
    alpha("search", "vault")
    assert "asks for the memory of github.com/acme/payroll" in alpha.err
    assert alpha("trust-repo", "--list") == f"{SECRET}  {clone}  (its file does not name it now)"
    (clone / FILE).write_text(f'repo = "{SECRET}"\n')
    assert alpha.json("trust-repo", "--forget") == {
        "folder": str(clone),
        "repo": None,
        "trusted": False,
        "changed": True,
        "says": f"{clone} may no longer name its repository itself",
    }
    assert alpha("trust-repo", "--forget") == f"{clone} was not trusted"
    assert "vault opens" not in alpha("search", "vault")
    assert alpha.json("trust-repo", "--list") == {"trusted": []}


def test_a_folder_that_is_gone_can_be_forgotten(alpha: Shell, clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was said for it must not wait there for the next clone."""
    alpha("trust-repo")
    monkeypatch.chdir(clone.parent)
    clone.rename(clone.parent / "elsewhere")
    assert alpha("trust-repo", "--list") == f"{SECRET}  {clone}  (gone)"
    alpha("trust-repo", str(clone), "--forget")
    assert alpha("trust-repo", "--list") == ""


def test_nothing_has_to_be_trusted_where_git_agrees(alpha: Shell, clone: Path) -> None:
    """The remotes are the person's word already."""
    git(clone, "remote", "add", "upstream", f"git@{SECRET.replace('/', ':', 1)}.git")
    assert alpha.json("trust-repo")["trusted"] is False
    assert "a git remote of it says so" in alpha("trust-repo")
    assert not Path(file_of({"MESH_CONFIG": str(clone.parent / "config")})).exists()


def test_what_cannot_be_trusted_is_said_with_the_next_step(alpha: Shell, clone: Path, tmp_path: Path) -> None:
    """No such folder, no checkout, no file, no line in it, a broken one, and words that do not fit together."""
    for words, said in (
        ([str(tmp_path / "nowhere")], f"there is no folder {tmp_path / 'nowhere'}"),
        ([str(clone / FILE)], f"there is no folder {clone / FILE}"),
        ([str(tmp_path)], f"{tmp_path} is in no git checkout"),
    ):
        alpha("trust-repo", *words, code=1)
        assert said in alpha.err
        assert "next: name the checkout" in alpha.err
    (clone / FILE).write_text("share = false\n")
    alpha("trust-repo", code=1)
    assert f"{clone / FILE} names no repository\n" in alpha.err
    (clone / FILE).write_text('repo = "open')
    alpha("trust-repo", code=1)
    assert f"{clone / FILE} names no repository: {FILE} is not TOML" in alpha.err
    (clone / FILE).unlink()
    alpha("trust-repo", code=1)
    assert f"there is no {clone / FILE}" in alpha.err
    assert "next: it is needed only where that file has a line like" in alpha.err
    for wrong in (["--list", str(clone)], ["--list", "--forget"], ["a", "b"], [""]):
        alpha("trust-repo", *wrong, code=2)
    assert alpha("trust-repo", "--list") == ""


def test_an_agent_cannot_say_it(alpha: Shell, clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is who would be asked by the clone. Taking it back, and a look, do no harm."""
    monkeypatch.setenv("CLAUDECODE", "1")
    alpha("trust-repo", code=1)
    assert "claude-code runs this command, and only a person can say" in alpha.err
    assert f"in a terminal of your own: mesh trust-repo {clone}" in alpha.err
    assert alpha("trust-repo", "--list") == ""
    alpha("trust-repo", "--forget")


def test_it_is_not_among_what_agents_may_call() -> None:
    """Neither with `mesh install --allow` nor as a tool; the tools are listed in the tests of the MCP server."""
    assert not any("trust" in call for call in CALLS)


def test_status_and_doctor_tell_it(alpha: Shell, clone: Path) -> None:
    """Each in its own way, and once."""
    (line,) = [line for line in alpha("status").splitlines() if line.startswith("repo ")]
    assert (SECRET in line, EVIL in line, f"mesh trust-repo {clone}" in line) == (True, True, True)
    assert alpha.err == ""
    assert alpha.json("status")["repository"]["unconfirmed"] == SECRET
    (finding,) = [item for item in alpha.json("doctor", code=3) if item["sort"] == "repository not confirmed"]
    assert f"mesh trust-repo {clone}" in finding["next_step"]
    assert alpha.err == ""
    alpha("trust-repo")
    assert alpha.json("status")["repository"] == {"repo": SECRET, "unconfirmed": None, "says": ""}
    assert "repository not confirmed" not in alpha("doctor", code=3)


@pytest.mark.parametrize("agent", ["claude-code", "codex", "gemini"])
def test_the_start_of_a_session_tells_the_person_and_not_the_model(
    alpha: Shell, clone: Path, agent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An agent could be talked into saying yes; its person reads it in the terminal. In between nothing is said."""
    monkeypatch.setenv("MESH_NO_AUTOSTART", "1")
    fields = {"session_id": "s1", "cwd": str(clone), "source": "startup", "prompt": "open the vault"}
    start = json.loads(alpha("hook", "SessionStart", "--agent", agent, json.dumps(fields)))
    assert (SECRET in start["systemMessage"], "mesh trust-repo" in start["systemMessage"]) == (True, True)
    context = start["hookSpecificOutput"]["additionalContext"]
    assert [word in context for word in (SECRET, "trust-repo", "vault opens")] == [False] * 3
    prompt = "BeforeAgent" if agent == "gemini" else "UserPromptSubmit"
    said = alpha("hook", prompt, "--agent", agent, json.dumps(fields | {"hook_event_name": prompt}))
    assert SECRET not in said
    assert alpha.err == ""
    alpha("trust-repo")
    again = json.loads(alpha("hook", "SessionStart", "--agent", agent, json.dumps(fields | {"session_id": "s2"})))
    assert "systemMessage" not in again
    assert "vault opens" in again["hookSpecificOutput"]["additionalContext"]
