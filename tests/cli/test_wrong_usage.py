"""Command lines that cannot be, of every command: a sentence that says what is wrong, the next step, and exit code 2."""

import pytest

from mesh.cli import learnings, op, page, pattern
from mesh.cli.main import COMMANDS, run

FAMILIES = {"op": op.MEMBERS, "pattern": pattern.MEMBERS, "page": page.MEMBERS, "learnings": learnings.MEMBERS}
EVERY = [
    *(name for name in COMMANDS if name not in FAMILIES),
    *(f"{family} {member}" for family, members in FAMILIES.items() for member in members),
]


def code_of(*words: str) -> object:
    """The exit code of a command line."""
    try:
        return run([*words])
    except SystemExit as end:
        return end.code


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
