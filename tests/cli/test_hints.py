"""Next steps as they are printed: whoever types them as they stand acts on the home that the command acted on."""

import json
import os
from contextlib import suppress
from pathlib import Path

import pytest

from mesh.cli.home_option import ELSEWHERE, with_home
from mesh.cli.main import run

HOME = "/tmp/tour/laptop"


@pytest.fixture
def home(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    path = str(tmp_path / "home")
    assert run(["init", "--home", path]) == 0
    capsys.readouterr()
    return path


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("next: mesh peers, or mesh down to stop it", "next: mesh * peers, or mesh * down to stop it"),
        ("restart it: mesh down; mesh up", "restart it: mesh * down; mesh * up"),
        ("look (mesh doctor), then mesh up.", "look (mesh * doctor), then mesh * up."),
        ("mesh page show x", "mesh * page show x"),
        ("mesh search: there is no option --x\n  next: mesh search --help", "mesh search: there is no option --x\n  next: mesh * search --help"),
        ("mesh join TOKEN, or where the root key is: mesh admit x", "mesh * join TOKEN, or where the root key is: mesh admit x"),
        ("next, on the other machine: mesh join TOKEN, then mesh up", "next, on the other machine: mesh join TOKEN, then mesh up"),
        ("on another node: mesh export FILE; here: mesh import FILE", "on another node: mesh export FILE; here: mesh * import FILE"),
        ("see that `mesh up` runs there", "see that `mesh up` runs there"),
        ("mesh init --home DIR", "mesh init --home DIR"),
        ("mesh homes add GLOB DIR", "mesh homes add GLOB DIR"),
        ("the mesh of mesh-like nodes, /opt/mesh up, mesh upwards", "the mesh of mesh-like nodes, /opt/mesh up, mesh upwards"),
    ],
)  # fmt: skip
def test_every_command_to_type_here_names_the_home(text: str, hint: str) -> None:
    """Not one for another node, one that is only named, or one that names a home already."""
    assert with_home(text, HOME) == hint.replace("*", f"--home {HOME}")


@pytest.mark.parametrize(
    ("home", "typed"), [("a b", "'a b'"), ("it's", "'it'\"'\"'s'"), ("$HOME/x", "'$HOME/x'"), ("~x", "'~x'")]
)
def test_a_home_is_written_as_a_shell_reads_it(home: str, typed: str) -> None:
    """Whoever copies the line into a terminal gets that folder."""
    assert with_home("mesh up", home) == f"mesh --home {typed} up"


@pytest.mark.parametrize("place", ELSEWHERE)
def test_a_place_that_is_not_here_holds_up_to_a_semicolon(place: str) -> None:
    """Also at the beginning of a sentence."""
    assert with_home(f"{place.capitalize()}: mesh up; mesh down", HOME) == (
        f"{place.capitalize()}: mesh up; mesh --home {HOME} down"
    )


@pytest.mark.parametrize(
    ("words", "stream", "hint"),
    [
        (["show", "zzzz"], "err", "next: list some: mesh * tail"),
        (["tail", "--nope"], "err", "next: mesh * tail --help"),
        (["status", "--nope"], "err", "next: mesh * status --help"),
        (["page", "nwe"], "err", "next: mesh * page new --help"),
        (["statsu"], "err", "next: mesh * status --help"),
        (["doctor"], "out", "next: mesh * up --detach"),
        (["status"], "out", "start it with: mesh * up"),
        (["page", "list"], "err", "next: mesh * page new NAME"),
        (["correct", "--wrong", "a b", "--right", "c d"], "out", "belongs elsewhere? mesh * correct --move"),
        (["peers"], "out", "let one join: mesh * invite"),
        (["down", "--bogus"], "err", "next: mesh * down --help"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
@pytest.mark.parametrize("where", ["before", "behind", "joined", "joined before"])
def test_hints_carry_the_home_wherever_it_was_given(
    home: str, words: list[str], stream: str, hint: str, where: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """On stdout and on stderr, of commands with either sort of options, and of the dispatcher."""
    option = {
        "before": ["--home", home, *words],
        "behind": [*words, "--home", home],
        "joined": [*words, f"--home={home}"],
        "joined before": [f"--home={home}", *words],
    }
    with suppress(SystemExit):
        run(option[where])
    assert hint.replace("*", f"--home {home}") in getattr(capsys.readouterr(), stream)


def test_json_has_the_same_next_steps(home: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Agents take them from there."""
    run(["doctor", "--json", "--home", home])
    steps = {found["sort"]: found["next_step"] for found in json.loads(capsys.readouterr().out)}
    assert steps["no sidecar"] == f"mesh --home {home} up --detach"


def test_hints_name_no_home_where_none_was_given(
    home: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`MESH_HOME` holds for what is typed next, too."""
    monkeypatch.setenv("MESH_HOME", home)
    run(["show", "zzzz"])
    run(["discover", "a text", "--topic", "--home", "--global"])
    run(["show", "--", "--home", home])
    assert "--home" not in capsys.readouterr().err


def test_hints_name_the_home_of_a_repository_elsewhere(
    tmp_path: Path, home: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The list of homes chose it for `--repo`; in this folder it would choose another."""
    listed = tmp_path / "config" / "homes"
    listed.parent.mkdir()
    listed.write_text(f"github.com/acme/* = {home}\n")
    os.chmod(listed, 0o600)
    monkeypatch.setenv("MESH_CONFIG", str(listed.parent))
    assert run(["search", "no such words", "--repo", "github.com/acme/api"]) == 0
    assert f"by meaning too: mesh --home {home} index" in capsys.readouterr().err


@pytest.mark.parametrize(
    "text",
    [
        "  next, on another node: mesh proposals grant 7k3qmzpa",
        "it takes 2 nodes that say the same; on another node: mesh proposals grant 7k3qmzpa",
        "ask an admin to run: mesh settings hot-at 4 (admins: alpha); or, where the root key is, make this node one: mesh admin add x",
        "to keep it: ask an admin to run mesh pattern approve NAME",
        "3 sessions, 1 machine of 2 needed; an admin can approve it: mesh pattern approve NAME",
        "on an admin's node: mesh revoke x; then let it join anew",
    ],
)  # fmt: skip
def test_advice_for_another_machine_names_no_home_of_this_one(text: str) -> None:
    """A folder of this machine means nothing there."""
    assert with_home(text, HOME) == text


def test_a_member_that_is_no_admin_is_told_a_command_without_its_home(
    tmp_path: Path, home: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command is for the admin's machine."""
    run(["status", "--json", "--home", home])
    mesh = json.loads(capsys.readouterr().out)["mesh"]
    other = str(tmp_path / "other")
    run(["init", "--mesh", mesh, "--home", other])
    run(["status", "--json", "--home", other])
    node = json.loads(capsys.readouterr().out.splitlines()[-1])["node"]
    bundle = str(tmp_path / "bundle")
    run(["admit", node, "--home", home])
    run(["export", bundle, "--home", home])
    run(["import", bundle, "--home", other])
    capsys.readouterr()
    assert run(["settings", "hot-at", "4", "--home", other]) == 1
    told = capsys.readouterr().err
    assert "ask an admin to run: mesh settings hot-at 4" in told
    assert other not in told
