"""Command lines that cannot be, of every command: a sentence that says what is wrong, the next step, and exit code 2."""

import json
from pathlib import Path

import pytest

from mesh import __version__
from mesh.cli.command_list import GROUPS, NAMES
from mesh.cli.main import run

EVERY = [name for name in NAMES if name not in GROUPS]


def code_of(*words: str) -> object:
    """The exit code of a command line."""
    try:
        return run([*words])
    except SystemExit as end:
        return end.code


@pytest.mark.parametrize("command", EVERY)
def test_help_before_a_command_is_help_behind_it(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Of members of commands too."""
    assert code_of("help", *command.split()) == 0
    before = capsys.readouterr().out
    assert code_of(*command.split(), "--help") == 0
    assert capsys.readouterr().out == before
    assert before.startswith(f"usage: mesh {command}")


def test_help_alone_is_the_overview_and_version_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    """With or without hyphens; a home before them does no harm."""
    for words, first in (("help", "usage: mesh COMMAND"), ("version", f"clan-mesh {__version__}")):
        assert code_of(f"--{words}") == 0
        with_hyphens = capsys.readouterr().out
        assert code_of(words) == code_of("--home", "x", words) == code_of(words, "--home", "x") == 0
        assert capsys.readouterr().out == 3 * with_hyphens
        assert with_hyphens.startswith(first)


@pytest.mark.parametrize(
    ("words", "sentence", "step"),
    [
        (["serach", "x"], "there is no command 'serach'", "mesh search --help"),
        (["help", "serach"], "there is no command 'serach'", "mesh search --help"),
        (["help", "xyzzy"], "there is no command 'xyzzy'", "mesh --help"),
        (["help", "page", "nwe"], "not 'nwe'", "mesh page new --help"),
        (["page", "lits"], "not 'lits'", "mesh page list --help"),
        (["op", "ad", "x"], "not 'ad'", "mesh op add --help"),
        (["--json", "status"], "there is no option --json; options of a command stand behind it", "mesh --help"),
        (["--versoin"], "there is no option --versoin; did you mean --version?", "mesh --help"),
        (["--home"], "--home needs a folder", "mesh --home DIR status"),
        (["--home", "", "status"], "--home needs a folder", "mesh --home DIR status"),
        ([""], "there is no command ''", "mesh --help"),
    ],
    ids=" ".join,
)
def test_what_is_no_command_is_answered_with_the_nearest(
    words: list[str], sentence: str, step: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Or with where they all are listed."""
    assert code_of(*words) == 2
    said = capsys.readouterr().err
    assert sentence in said
    assert said.endswith(f"\n  next: {step}\n")


@pytest.mark.parametrize("command", [command for command in EVERY if command != "hook"])
def test_a_misspelt_option_is_named_and_the_right_one_suggested(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before anything that may be missing too, and nothing is done."""
    assert code_of(*command.split(), "--jsno") == 2
    assert capsys.readouterr().err == (
        f"mesh {command}: there is no option --jsno; did you mean --json?\n  next: mesh {command} --help\n"
    )


@pytest.mark.parametrize("command", [command for command in EVERY if command not in ("hook", "homes", "mcp")])
def test_an_empty_home_is_not_the_default_one(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """`--home "$DIR"` in a script whose variable is empty must not act on the user's own home."""
    for words in ([*command.split(), "--home", ""], [*command.split(), "--home="], ["--home", "", *command.split()]):
        assert code_of(*words) == 2
        assert "--home needs a folder" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["up --init", "up --init --detach", "setup --no-agents --no-service"])
def test_a_wrong_address_is_told_before_a_home_is_made(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It names the port and what ports there are."""
    home = tmp_path / "home"
    assert code_of(*command.split(), "--listen", "127.0.0.1:99999", "--home", str(home)) == 1
    assert capsys.readouterr().err == (
        "mesh: '127.0.0.1:99999': 99999 is not a port\n  next: a port is a number from 1 to 65534; 0 is any free one\n"
    )
    assert not home.exists()


@pytest.mark.parametrize("command", [command for command in EVERY if command not in ("hook", "op set")])
def test_empty_words_are_refused_by_every_command(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An empty name is the beginning of any, and no folder is the one we are in: nothing is done."""
    monkeypatch.setenv("MESH_HOME", str(tmp_path / "home"))
    assert code_of("init") == 0
    assert code_of("correct", "--wrong", "npm install", "--right", "pnpm install", "--pattern", "pnpm") == 0
    capsys.readouterr()
    for count in (1, 2, 3):
        assert code_of(*command.split(), *[""] * count) in (1, 2)
        said = capsys.readouterr().err
        assert "\n  next: " in said
        assert "should not happen" not in said


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["mute", ""], "mesh mute: ID|NODE|PATTERN is empty"),
        (["settings", ""], "mesh settings: NAME is empty"),
        (["render", ""], "mesh render: DIR is empty"),
        (["import", "x", ""], "mesh import: FILE is empty"),
        (["erase", "abcd", "--reason", ""], "mesh erase: --reason is empty"),
        (["erase", "abcd", "--reason="], "mesh erase: --reason is empty"),
        (["capture", "--forget", ""], "mesh capture: --forget is empty"),
        (["capture", "--since", ""], "mesh capture: --since is empty"),
        (["invite", "--uses", ""], "mesh invite: --uses is empty"),
        (["recover", "--key", ""], "mesh recover: --key is empty"),
        (["tail", "--topic", ""], "mesh: --topic is empty"),
        (["learnings", "list", "--category", " "], "mesh: --category is empty"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_an_empty_value_is_not_taken_for_none_at_all(
    words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whoever gave it meant something: `--since "$DAYS"` of a script that has no DAYS must not take everything."""
    assert code_of(*words) in (1, 2)
    said = capsys.readouterr().err
    assert said.startswith(sentence)
    assert "\n  next: " in said


def test_what_may_be_empty_stays_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A value by hand, a reason that nobody has to give, a topic that is taken out again; but a record has a severity."""
    monkeypatch.setenv("MESH_HOME", str(tmp_path / "home"))
    assert code_of("init") == code_of("op", "set", "--key", "k", "field", "") == code_of("op", "add", "notes", "") == 0
    capsys.readouterr()
    assert code_of("discover", "a thing", "--topic", "git", "--json") == 0
    name = json.loads(capsys.readouterr().out)["id"]
    assert code_of("edit", name, "--topic", "") == 0
    assert code_of("edit", name, "--severity", "") == 1
    assert "a record always has a severity" in capsys.readouterr().err
    assert code_of("op", "remove", name, "--reason", "") == 0
