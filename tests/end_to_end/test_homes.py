"""Several teams on one machine: the repository decides the home, for commands and hooks alike, and nothing crosses."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.end_to_end.commands import anywhere, complaint
from tests.end_to_end.person import Person, person

SECRET_A, SECRET_B = "the acme build needs zinc first", "the zeta build needs lead first"


class Teams(Person):
    """A person in two teams, each with a home and a repository; and a home for all else."""

    a: Path
    b: Path
    repo_a: Path
    repo_b: Path


@pytest.fixture
def teams(tmp_path: Path) -> Iterator[Teams]:
    """Both homes are there, and the list says which repositories are whose."""
    with person(tmp_path) as made:
        made.__class__ = Teams
        assert isinstance(made, Teams)
        made.a, made.b = made.user / ".clan-mesh-acme", made.user / "zeta's mesh"
        made.repo_a = made.clone("acme app", "git@github.com:Acme/App.git")
        made.repo_b = made.clone("zeta", "https://token@git.zeta.example:8443/group/sub/tool.git")
        for home in (made.home, made.a, made.b):
            made.done("init", "--home", str(home), "--name", "laptop")
        made.done("homes", "add", "github.com/acme/*", str(made.a))
        made.done("homes", "add", "git.zeta.example/**", str(made.b))
        yield made


def told(teams: Teams, at: Path) -> list[str]:
    """The texts that `mesh tail` shows in a folder."""
    lines = teams.done("tail", "--json", at=at).splitlines()
    return [json.loads(line)["record"]["text"] for line in lines]


def test_records_go_to_the_home_of_their_repository_and_to_no_other(teams: Teams) -> None:
    """By no more than the folder one is in; not a byte of them is in another home."""
    below = teams.repo_b / "src" / "deep"
    below.mkdir(parents=True)
    teams.done("op", "add", "discoveries", SECRET_A, at=teams.repo_a)
    teams.done("op", "add", "discoveries", SECRET_B, at=below)
    teams.done("op", "add", "discoveries", "elsewhere", at=teams.folder)
    assert told(teams, teams.repo_a) == [SECRET_A]
    assert told(teams, teams.repo_b) == [SECRET_B]
    assert told(teams, teams.folder) == ["elsewhere"]
    for home in (teams.home, teams.a, teams.b):
        assert bool(anywhere(home, SECRET_A)) == (home == teams.a)
        assert bool(anywhere(home, SECRET_B)) == (home == teams.b)


def test_what_is_given_by_hand_comes_before_the_list(teams: Teams) -> None:
    """First `--home`, then `MESH_HOME`, then the list."""
    assert teams.asked("status", at=teams.repo_a)["home"] == str(teams.a)
    found = json.loads(teams.done("status", "--json", at=teams.repo_a, MESH_HOME=str(teams.b)))
    assert found["home"] == str(teams.b)
    found = json.loads(
        teams.done("status", "--json", "--home", str(teams.home), at=teams.repo_a, MESH_HOME=str(teams.b))
    )
    assert found["home"] == str(teams.home)


@pytest.mark.parametrize("words", [("op", "add", "discoveries", SECRET_A), ("tail",), ("status",)])
def test_a_home_that_is_missing_is_an_error_and_no_reason_to_take_another(teams: Teams, words: tuple[str, ...]) -> None:
    """The error names the home that the list names, and what to do makes that one."""
    gone = teams.user / "not there yet"
    teams.done("homes", "add", "github.com/acme/*", str(gone))
    sentence, step = complaint(teams.mesh(*words, at=teams.repo_a))
    assert str(gone) in sentence
    assert "mesh init" in step
    assert anywhere(teams.home, SECRET_A) == []
    assert teams.asked("init", at=teams.repo_a)["home"] == str(gone)


def test_a_list_that_others_may_write_stops_everything_but_what_names_its_home(teams: Teams) -> None:
    """Nothing is guessed; `--home` needs no list."""
    (teams.user / ".config" / "clan-mesh" / "homes").chmod(0o666)
    for words in (("op", "add", "discoveries", SECRET_A), ("tail",)):
        sentence, step = complaint(teams.mesh(*words, at=teams.repo_a))
        assert "can be written by others" in sentence
        assert "chmod go-w" in step
    teams.done("op", "add", "discoveries", SECRET_A, "--home", str(teams.a), at=teams.repo_b)
    assert "--home" in teams.done("status", "--help", at=teams.repo_a)
    assert teams.mesh("homes", at=teams.repo_a).returncode == 3


def test_the_list_says_where_one_is(teams: Teams) -> None:
    """With the line that decides."""
    here = teams.asked("homes", at=teams.repo_b)["here"]
    assert (here["repo"], here["home"]) == ("git.zeta.example/group/sub/tool", str(teams.b))
    teams.done("homes", "remove", "git.zeta.example/**")
    assert teams.asked("homes", at=teams.repo_b)["here"]["home"] == str(teams.home)


def test_discoveries_and_corrections_stay_in_their_team(teams: Teams) -> None:
    """The everyday commands, which find the repository themselves."""
    teams.done("discover", SECRET_A, at=teams.repo_a)
    teams.done("correct", "--wrong", "lead first", "--right", SECRET_B, at=teams.repo_b)
    for home in (teams.home, teams.a, teams.b):
        assert bool(anywhere(home, SECRET_A)) == (home == teams.a)
        assert bool(anywhere(home, SECRET_B)) == (home == teams.b)
    assert SECRET_A in teams.done("search", "zinc", at=teams.repo_a)
    assert SECRET_A not in teams.mesh("search", "zinc", at=teams.repo_b).stdout


def test_a_repository_named_by_hand_brings_its_own_home(teams: Teams) -> None:
    """`--repo` of one team in a folder of the other."""
    teams.done("discover", SECRET_A, "--repo", "github.com/acme/other", at=teams.repo_b)
    assert anywhere(teams.a, SECRET_A)
    assert anywhere(teams.b, SECRET_A) == []


def test_a_session_is_told_what_its_own_team_knows(teams: Teams) -> None:
    """The hook goes by the session's folder, wherever the agent started it."""
    (teams.a / "no-autostart").touch()
    (teams.b / "no-autostart").touch()
    teams.done("discover", SECRET_A, at=teams.repo_a)
    teams.done("discover", SECRET_B, at=teams.repo_b)
    for repo, own, other in ((teams.repo_a, SECRET_A, SECRET_B), (teams.repo_b, SECRET_B, SECRET_A)):
        event = {"hook_event_name": "SessionStart", "source": "startup", "session_id": repo.name, "cwd": str(repo)}
        said = teams.done("hook", "SessionStart", at=teams.folder, stdin=json.dumps(event))
        assert own in said
        assert other not in said
    for home in (teams.home, teams.a, teams.b):
        assert bool(anywhere(home, SECRET_A)) == (home == teams.a)
        assert bool(anywhere(home, SECRET_B)) == (home == teams.b)
