"""The list that maps repositories to homes: what its globs mean, how it is read, and when it is refused."""

import os
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.app.home_choice import config_path, default_home, fits, glob_problem, home_for, problems, rule_for
from mesh.core.errors import HomePermissions, UsageError


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """Surroundings with an empty folder for the list."""
    (tmp_path / "config").mkdir()
    return {"HOME": str(tmp_path / "user"), "MESH_CONFIG": str(tmp_path / "config")}


def written(environ: dict[str, str], text: str, mode: int = 0o600) -> Path:
    """The list with a text in it."""
    path = Path(config_path(environ))
    path.write_text(text, encoding="utf-8")
    path.chmod(mode)
    return path


# Globs


@pytest.mark.parametrize(
    ("glob", "repo", "is_meant"),
    [
        ("github.com/acme/app", "github.com/acme/app", True),
        ("github.com/acme/app", "github.com/acme/app2", False),
        ("github.com/acme/*", "github.com/acme/app", True),
        ("github.com/acme/*", "github.com/acme/group/app", False),
        ("github.com/acme/*", "github.com/acme", False),
        ("github.com/acme/*", "github.com/acme-labs/app", False),
        ("github.com/acme*/*", "github.com/acme-labs/app", True),
        ("github.com/acme/*-service", "github.com/acme/user-service", True),
        ("github.com/acme/*-*-service", "github.com/acme/user-service", False),
        ("GitHub.com/ACME/*", "github.com/acme/app", True),
        ("github.com/acme/*", "github.com/Acme/App", True),
        ("gitlab.example/acme/**", "gitlab.example/acme/group/sub/app", True),
        ("gitlab.example/acme/**", "gitlab.example/acmex/app", False),
        ("gitlab.example/**/app", "gitlab.example/app", True),
        ("gitlab.example/**/app", "gitlab.example/a/b/app", True),
        ("gitlab.example/**/app", "gitlab.example/a/b/application", False),
        ("**/app", "github.com/acme/app", True),
        ("*/acme/*", "github.com/acme/app", True),
        ("*", "github.com/acme/app", False),
        ("*", "", False),
        ("**", "github.com/acme/app", True),
        ("**", "", True),
        ("local/*", "local/abcdef", True),
        ("github.com/*/*", "gitxhub.com/a/b", False),
        ("git.ub.com/*/*", "github.com/a/b", False),
    ],
)
def test_what_a_glob_means(glob: str, repo: str, *, is_meant: bool) -> None:
    """One star stays within a part of the name, two go across parts, and letters are just letters."""
    assert glob_problem(glob.lower()) == ""
    assert fits(glob, repo) is is_meant


PARTS = st.text("ab.-", min_size=1, max_size=4)
WITHIN = st.text("ab*", min_size=1, max_size=4).filter(lambda part: "**" not in part)
GLOBS = st.lists(st.one_of(st.just("**"), WITHIN), min_size=1, max_size=4)


@given(GLOBS, st.lists(PARTS, max_size=5))
def test_globs_mean_what_the_same_regular_expression_means(glob: list[str], repo: list[str]) -> None:
    """The little matcher against Python's own."""
    parts = ["(?:[^/]+/)*" if part == "**" else re.escape(part).replace(r"\*", "[^/]*") + "/" for part in glob]
    expected = re.fullmatch("".join(parts), "".join(part + "/" for part in repo)) is not None
    assert fits("/".join(glob), "/".join(repo)) is expected


def test_a_glob_full_of_stars_is_matched_at_once() -> None:
    """What makes naive matchers run for years."""
    assert not fits("/".join(["*a" * 50] * 3), "/".join(["a" * 200 + "b"] * 3))
    assert not fits("/".join(["**", "a"] * 40), "/".join(["a"] * 200 + ["b"]))


@pytest.mark.parametrize(
    "glob", ["", "github.com//app", "/github.com/acme", "github.com/acme/", "git@github.com:acme/*", "https://x/y"]
)
def test_what_is_no_glob_of_ours_is_said(glob: str) -> None:
    """Addresses and other tools' globs are not taken for something they do not mean."""
    assert glob_problem(glob)
    assert glob_problem("github.com/acme/[ab]")
    assert "whole parts" in glob_problem("github.com/a**")


# The list


def test_without_a_list_everything_goes_to_the_default_home(environ: dict[str, str]) -> None:
    """As for nearly everybody."""
    assert home_for("github.com/acme/app", environ) == os.path.join(environ["HOME"], ".clan-mesh")
    assert problems(config_path(environ), environ) == []


def test_the_first_line_that_fits_decides(environ: dict[str, str]) -> None:
    """Comments, empty lines, spaces and the case of letters do not matter."""
    written(
        environ,
        "\ufeff# my teams\n\n  GitHub.com/Acme/secret=/srv/secret # the quiet one\r\n"
        "github.com/acme/* = ~/.clan-mesh-acme\n\tgithub.com/** =\t/srv/all of it#1\n",
    )
    assert home_for("github.com/acme/secret", environ) == "/srv/secret"
    assert home_for("github.com/acme/app", environ) == environ["HOME"] + "/.clan-mesh-acme"
    assert home_for("github.com/other/app", environ) == "/srv/all of it#1"
    assert home_for("gitlab.com/other/app", environ) == default_home(environ)
    assert home_for("", environ) == default_home(environ)
    assert problems(config_path(environ), environ) == []


def test_a_home_that_does_not_exist_is_named_all_the_same(environ: dict[str, str], tmp_path: Path) -> None:
    """Never the default one in its place: nothing crosses."""
    written(environ, f"github.com/acme/* = {tmp_path}/nowhere\n")
    assert home_for("github.com/acme/app", environ) == f"{tmp_path}/nowhere"


def test_lines_that_are_not_understood_are_said_with_their_numbers(environ: dict[str, str]) -> None:
    """Each may have been meant for any repository, so those that no line before it decides are refused."""
    path = written(
        environ,
        "github.com/acme\n"
        "git@github.com:acme/* = /srv/a\n"
        'github.com/b/* = "/srv/b"\n'
        "github.com/c/* = /srv/c\n"
        "github.com/c/* = /srv/again\n"
        "github.com/** = /srv/all\n"
        "github.com/d/app = /srv/d\n",
    )
    said = problems(str(path), environ)
    assert [sentence.partition(", line ")[2][0] for sentence in said] == ["1", "2", "3", "5", "7"]
    assert "line 6 (github.com/**)" in said[-1]
    with pytest.raises(UsageError, match="line 1"):
        home_for("github.com/c/app", environ)
    written(environ, "github.com/c/* = /srv/c\ngithub.com/team3/*: /srv/d\n")
    assert home_for("github.com/c/app", environ) == "/srv/c"
    with pytest.raises(UsageError, match="line 2"):
        home_for("github.com/team3/app", environ)


def test_a_line_whose_home_is_not_understood_still_keeps_its_repositories(environ: dict[str, str]) -> None:
    """It is an error for them, not a reason to write to another team's home."""
    written(environ, "github.com/acme/* = somewhere\n** = /srv/all\n")
    with pytest.raises(UsageError, match="line 1"):
        home_for("github.com/acme/app", environ)
    assert home_for("github.com/other/app", environ) == "/srv/all"


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_list_that_others_may_write_is_refused(environ: dict[str, str], mode: int) -> None:
    """They could send our records to a home of theirs."""
    path = written(environ, "** = /srv/theirs\n", mode)
    with pytest.raises(HomePermissions, match="others") as caught:
        rule_for("github.com/acme/app", environ)
    assert caught.value.next_step.startswith(f"chmod go-w {path}")
    assert len(problems(str(path), environ)) == 1


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_list_of_another_user_is_refused(environ: dict[str, str]) -> None:
    """Whoever it belongs to may write it."""
    os.chown(written(environ, "** = /srv/theirs\n"), 12345, -1)
    with pytest.raises(HomePermissions, match="another user"):
        rule_for("", environ)


@pytest.mark.parametrize("kind", ["link to nowhere", "folder", "pipe", "huge"])
def test_a_list_that_cannot_be_read_is_an_error(environ: dict[str, str], kind: str) -> None:
    """What it said is not known, so nothing may be written anywhere on its account; and nobody waits for it."""
    path = config_path(environ)
    match kind:
        case "folder":
            os.mkdir(path)
        case "pipe":
            os.mkfifo(path, 0o600)
        case "huge":
            written(environ, "# \n" * 200_000)
        case _:
            os.symlink("nowhere", path)
    with pytest.raises(HomePermissions):
        home_for("github.com/acme/app", environ)
    assert len(problems(path, environ)) == 1


def test_a_list_may_be_a_link(environ: dict[str, str], tmp_path: Path) -> None:
    """Into the folder where people keep their settings, for example."""
    (tmp_path / "dotfiles").write_text("** = /srv/all\n")
    (tmp_path / "dotfiles").chmod(0o644)
    os.symlink(tmp_path / "dotfiles", config_path(environ))
    assert home_for("", environ) == "/srv/all"


def test_where_the_list_is() -> None:
    """`MESH_CONFIG`, else in the user's folder of settings; a relative one does not count, as XDG has it."""
    assert config_path({"HOME": "/u"}) == "/u/.config/clan-mesh/homes"
    assert config_path({"HOME": "/u", "XDG_CONFIG_HOME": "/x"}) == "/x/clan-mesh/homes"
    assert config_path({"HOME": "/u", "XDG_CONFIG_HOME": "x"}) == "/u/.config/clan-mesh/homes"
    assert config_path({"HOME": "/u", "XDG_CONFIG_HOME": "/x", "MESH_CONFIG": "/m"}) == "/m/homes"
