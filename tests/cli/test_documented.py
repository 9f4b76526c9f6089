"""Documentation as a test: every command has a help text with an example, and a section in `docs/COMMANDS.md`."""

import re
from pathlib import Path

import pytest

from mesh.cli.command_list import COMMANDS, SECTIONS
from mesh.cli.command_list import NAMES as EVERY
from mesh.cli.main import run

DOCUMENT = Path(__file__).parents[2] / "docs" / "COMMANDS.md"


def help_of(command: str, capsys: pytest.CaptureFixture[str]) -> str:
    """What `mesh COMMAND --help` prints, which must end well."""
    try:
        code: object = run([*command.split(), "--help"])
    except SystemExit as end:
        code = end.code
    printed = capsys.readouterr()
    assert code == 0
    assert printed.err == ""
    return printed.out


def sections() -> dict[str, str]:
    """The text under each heading that names a command."""
    found: dict[str, str] = {}
    name = ""
    shown = False  # within what a command printed, a heading is none of ours
    for line in DOCUMENT.read_text(encoding="utf-8").splitlines():
        shown ^= line.startswith("```")
        heading = re.fullmatch(r"#+ `mesh ([a-z -]+)`", line)
        if heading:
            name = heading[1]
            assert name not in found, f"mesh {name} has two sections"
            found[name] = ""
        elif line.startswith("## ") and not shown:
            name = ""
        elif name:
            found[name] += line + "\n"
    return found


@pytest.mark.parametrize("command", EVERY)
def test_every_command_has_help_with_an_example(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The help says how to call the command, what it does, and shows one call that runs."""
    text = help_of(command, capsys)
    assert f"usage: mesh {command}" in text
    _, _, example = text.partition("example:\n")
    assert example.strip().startswith(f"mesh {command}")


@pytest.mark.parametrize("command", EVERY)
def test_every_command_has_a_section(command: str) -> None:
    """The section has an example with its output, the fields of `--json`, and the exit codes."""
    section = sections().get(command, "")
    assert f"$ mesh {command}" in section
    assert "Exit codes:" in section
    assert "`--json`" in section


@pytest.mark.parametrize("command", EVERY)
def test_every_option_of_the_help_is_in_the_section(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """No option is added to a command without a word about it in the document."""
    options = set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", help_of(command, capsys).partition("example:")[0]))
    section = sections().get(command, "")
    missing = {
        option for option in options - {"-h", "--help"} if not re.search(rf"(?<![\w-]){option}(?![\w-])", section)
    }
    assert missing == set()


def test_the_overview_names_every_command_and_folds_the_rare(capsys: pytest.CaptureFixture[str]) -> None:
    """Each once: with its sentence, or behind what shows it too."""
    assert run(["--help"]) == 0
    short = capsys.readouterr().out
    assert run(["help", "--all"]) == 0
    whole = capsys.readouterr().out
    folded = re.search(r"^more \(mesh help --all\): (.*)$", short, re.MULTILINE)
    assert folded is not None
    assert folded[1].split(", ") == [name for name, entry in COMMANDS.items() if entry.is_rare]
    assert "more (mesh" not in whole
    for heading in SECTIONS:
        assert f"\n{heading}:\n" in short
    for name, entry in COMMANDS.items():
        line = re.compile(rf"^  {name} +{re.escape(entry.sentence)}$", re.MULTILINE)
        assert len(line.findall(whole)) == 1
        assert len(line.findall(short)) == (not entry.is_rare)


def test_no_section_describes_a_command_that_is_gone() -> None:
    """A heading without its command means that the document is older than the program."""
    assert set(sections()) == set(EVERY)


@pytest.mark.parametrize(
    "variable",
    [
        "EDITOR",
        "MESH_CONFIG",
        "MESH_DEBUG",
        "MESH_EMBEDDINGS_KEY",
        "MESH_EXTRACTING",
        "MESH_HOME",
        "MESH_NO_AUTOSTART",
        "MESH_PATIENCE",
        "MESH_SESSION",
        "MESH_SOCKET",
        "MESH_SPOOL",
        "MESH_STATE",
        "VISUAL",
        "XDG_CACHE_HOME",
        "XDG_CONFIG_HOME",
        "XDG_STATE_HOME",
    ],
)
def test_every_variable_is_documented(variable: str) -> None:
    """What the environment can change is written down."""
    assert f"`{variable}`" in DOCUMENT.read_text(encoding="utf-8")


def test_exit_codes_are_those_of_the_overview(capsys: pytest.CaptureFixture[str]) -> None:
    """The overview and the document list the same codes."""
    assert run(["--help"]) == 0
    codes = re.findall(r"\d", capsys.readouterr().out.partition("Exit codes:")[2])
    rows = re.findall(r"^\| (\d+) \|", DOCUMENT.read_text(encoding="utf-8"), re.MULTILINE)
    assert [row for row in rows if row != "130"] == codes
