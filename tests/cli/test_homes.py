"""`mesh homes`: edits of the list keep what a person wrote; and how a folder finds its home."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from mesh.app.home_choice import config_path, home_for
from mesh.cli.home_option import UNNAMED, baked_home, home_path, repo_here
from mesh.cli.homes import add, remove
from mesh.cli.main import run
from mesh.core.errors import HomePermissions, UsageError

LIST = """# teams

# the client
github.com/acme/*   = ~/.clan-mesh-acme  # until June
# everything else at work
git.example/** = /srv/work
"""


@pytest.fixture
def environ(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Surroundings of our own, also for the command."""
    monkeypatch.setenv("MESH_CONFIG", str(tmp_path / "config"))
    (tmp_path / "user").mkdir()
    return {"HOME": str(tmp_path / "user"), "MESH_CONFIG": str(tmp_path / "config")}


def written(environ: dict[str, str], text: str = LIST) -> Path:
    path = Path(config_path(environ))
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(text.encode())
    path.chmod(0o644)
    return path


def repository(folder: Path, address: str = "") -> Path:
    """A folder that git would take for a repository."""
    for name in ("objects", "refs"):
        (folder / ".git" / name).mkdir(parents=True)
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (folder / ".git" / "config").write_text(f'[remote "origin"]\n\turl = {address}\n' if address else "")
    return folder


# Edits


def test_a_new_list_explains_itself_and_is_only_ours(environ: dict[str, str]) -> None:
    """The first line that is added makes the file."""
    path = config_path(environ)
    add(path, "github.com/acme/*", environ["HOME"] + "/.clan-mesh-acme", environ)
    lines = Path(path).read_text().splitlines()
    assert [line[0] for line in lines] == ["#", "#", "g"]
    assert lines[2] == "github.com/acme/* = ~/.clan-mesh-acme"
    assert os.stat(path).st_mode & 0o777 == 0o600


def test_adding_and_removing_leaves_every_other_byte(environ: dict[str, str]) -> None:
    """Comments, spacing, order and mode."""
    path = written(environ)
    assert add(str(path), "github.com/new/app", "/srv/new", environ)["did"] == "added"
    assert path.read_text() == LIST + "github.com/new/app = /srv/new\n"
    assert add(str(path), "github.com/new/app", "/srv/new", environ)["did"] == "same"
    remove(str(path), "github.com/new/app", environ)
    assert path.read_text() == LIST
    assert path.stat().st_mode & 0o777 == 0o644


def test_another_home_for_a_glob_changes_its_line_only(environ: dict[str, str]) -> None:
    """The comment beside it stays."""
    path = written(environ, LIST.replace("\n", "\r\n"))
    add(str(path), "github.com/acme/*", "/srv/other place", environ)
    changed = LIST.replace("~/.clan-mesh-acme", "/srv/other place").replace("\n", "\r\n")
    assert path.read_bytes() == changed.encode()
    assert home_for("github.com/acme/app", environ) == "/srv/other place"


def test_a_narrower_glob_goes_before_the_wider_one_that_would_hide_it(environ: dict[str, str]) -> None:
    """And above the words that belong to the wider one."""
    path = written(environ)
    says = add(str(path), "git.example/secret/*", "/srv/secret", environ)["says"]
    assert "stands before git.example/**" in says
    assert path.read_text() == LIST.replace("# everything", "git.example/secret/* = /srv/secret\n# everything")
    assert home_for("git.example/secret/app", environ) == "/srv/secret"
    assert home_for("git.example/open/app", environ) == "/srv/work"


def test_a_last_line_without_an_end_is_ended_first(environ: dict[str, str]) -> None:
    """Two rules never share a line. A form feed ends none."""
    path = written(environ, "# a\x0cb\na/** = /srv/a")
    add(str(path), "b/**", "/srv/b", environ)
    assert path.read_bytes() == b"# a\x0cb\na/** = /srv/a\nb/** = /srv/b\n"
    remove(str(path), "a/**", environ)
    assert path.read_bytes() == b"# a\x0cb\nb/** = /srv/b\n"


def test_a_linked_list_stays_a_link(environ: dict[str, str], tmp_path: Path) -> None:
    """The file behind it is what changes."""
    path = written(environ)
    path.rename(tmp_path / "dotfiles")
    path.symlink_to(tmp_path / "dotfiles")
    add(str(path), "b/**", "/srv/b", environ)
    assert path.is_symlink()
    assert (tmp_path / "dotfiles").read_text() == LIST + "b/** = /srv/b\n"


@pytest.mark.parametrize("folder", ["/srv/a #1", "/srv/a\nb", "/srv/a "])
def test_a_home_that_the_list_cannot_say_is_refused(environ: dict[str, str], folder: str) -> None:
    """Nothing is written that would be read as something else."""
    path = written(environ)
    with pytest.raises(UsageError):
        add(str(path), "b/**", folder, environ)
    assert path.read_text() == LIST


def test_a_list_that_others_may_write_is_not_edited(environ: dict[str, str]) -> None:
    """A person has to look at it first."""
    path = written(environ)
    path.chmod(0o666)
    with pytest.raises(HomePermissions):
        add(str(path), "b/**", "/srv/b", environ)
    assert path.read_text() == LIST


# The command


def listed(capsys: pytest.CaptureFixture[str], code: int = 0) -> Any:
    assert run(["homes", "--json"]) == code
    return json.loads(capsys.readouterr().out)


def test_the_list_says_what_holds_here_and_why(
    environ: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the line, by the variable, or by default."""
    monkeypatch.chdir(repository(tmp_path / "app", "git@github.com:Acme/App.git"))
    assert listed(capsys)["here"]["why"] == "the default: there is no list"
    written(environ)
    here = listed(capsys)["here"]
    assert here["repo"] == "github.com/acme/app"
    assert here["home"] == str(tmp_path / "user" / ".clan-mesh-acme")
    assert here["line"] == 4
    monkeypatch.setenv("MESH_HOME", "/srv/mine")
    assert listed(capsys)["here"]["home"] == "/srv/mine"
    monkeypatch.delenv("MESH_HOME")
    monkeypatch.chdir(tmp_path)
    assert "no line is for no repository" in listed(capsys)["here"]["why"]


def test_what_is_wrong_with_the_list_is_listed_too(
    environ: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also if it is refused: this is the command that says why."""
    monkeypatch.chdir(tmp_path)
    path = written(environ, "nonsense\n" + LIST)
    assert len(listed(capsys, code=3)["problems"]) == 1
    path.chmod(0o666)
    found = listed(capsys, code=3)
    assert found["homes"] == []
    assert found["here"]["home"] is None


@pytest.mark.parametrize("words", [["add"], ["add", "a/**"], ["remove"], ["remove", "a/**", "/x"], ["what", "a", "b"]])
def test_half_a_request_is_wrong_usage(environ: dict[str, str], words: list[str]) -> None:
    """Nothing is written."""
    assert run(["homes", *words]) == 2
    assert not os.path.exists(config_path(environ))


# The folder


def test_a_repository_cannot_choose_a_team_by_its_own_file(environ: dict[str, str], tmp_path: Path) -> None:
    """What comes with a stranger's clone says how records name it, never whose they are."""
    written(environ)
    clone = repository(tmp_path / "clone", "https://git.stranger.example/x/y")
    (clone / ".clan-mesh.toml").write_text('repo = "github.com/acme/app"\n')
    assert repo_here(environ, str(clone)) == "git.stranger.example/x/y"
    assert home_path(environ, str(clone)) == str(tmp_path / "user" / ".clan-mesh")


def test_a_repository_without_a_remote_is_local_before_it_has_an_id(environ: dict[str, str], tmp_path: Path) -> None:
    """So that its first record goes where all others will."""
    written(environ, "local/* = /srv/local\n")
    fresh = repository(tmp_path / "fresh")
    assert repo_here(environ, str(fresh)) == UNNAMED
    assert home_path(environ, str(fresh)) == "/srv/local"
    assert home_path(environ, str(tmp_path)) == str(tmp_path / "user" / ".clan-mesh")


def test_a_name_given_by_hand_decides_instead_of_the_folder(environ: dict[str, str], tmp_path: Path) -> None:
    """`--repo` of one team in a folder of another."""
    written(environ)
    folder = repository(tmp_path / "work", "ssh://git@git.example/a/b")
    assert home_path(environ, str(folder)) == "/srv/work"
    assert home_path(environ, str(folder), "github.com/acme/app") == str(tmp_path / "user" / ".clan-mesh-acme")
    assert home_path(environ | {"MESH_HOME": "/srv/mine"}, str(folder)) == "/srv/mine"


def test_hooks_name_a_home_only_while_there_is_no_list(environ: dict[str, str], tmp_path: Path) -> None:
    """They run in every repository, so with several teams the list must decide."""
    default = str(tmp_path / "user" / ".clan-mesh")
    assert baked_home(default, environ) == ""
    assert baked_home("/srv/acme", environ) == "/srv/acme"
    written(environ)
    assert baked_home("/srv/acme", environ) == ""
