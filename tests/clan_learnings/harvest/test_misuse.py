"""Programs that were called in a way they do not take are quirks; what a place lacks, and what a shell did not understand, are fixes."""

import pytest

from clan_learnings.harvest.items import FIX, TOOL_QUIRK
from clan_learnings.harvest.rules import items_of_session
from tests.clan_learnings.harvest.made_sessions import Made


@pytest.mark.parametrize(
    ("line", "error", "other"),
    [
        ("tool build one two", "error: unexpected argument 'two' found", "tool build one"),
        ("tool list --all", "unknown flag: --all", "tool list --everything"),
        ("tool list", "Error: accepts 1 arg(s), received 0", "tool list group"),
        ("tool add name --to", "error: option '--to' requires an argument", "tool add name --to here"),
        ("rg 'open(' lib", "rg: regex parse error:\n    open(\n        ^\nerror: unclosed group", "rg 'open\\(' lib"),
        ("tool run --it img", "the input device is not a TTY", "tool run img"),
        ("tool head lib", "tool: lib: Is a directory", "tool head lib/a.txt"),
    ],
)
def test_options_arguments_and_patterns_are_quirks_of_a_program(line: str, error: str, other: str) -> None:
    """The line that worked is the fix."""
    made = Made()
    failed = made.runs(line, error, 2)
    made.runs(other, "done")
    assert [(item.kind, item.line, item.fix_line) for item in items_of_session(made.session())] == [
        (TOOL_QUIRK, failed, failed + 1)
    ]


def test_a_complaint_behind_a_pipe_is_seen() -> None:
    """The whole output is what the program says about its pattern."""
    made = Made()
    failed = made.runs('grep -n "open\\(" lib/a.txt | head -5', "grep: parentheses not balanced", 0)
    made.runs('grep -n "open(" lib/a.txt | head -5', "3: open(x)")
    assert [(item.kind, item.line) for item in items_of_session(made.session())] == [(TOOL_QUIRK, failed)]


def test_what_somebody_else_complained_about_is_none() -> None:
    """A log that is read may hold any complaint."""
    made = Made()
    made.runs("cat build.log", "tool: unknown option --all")
    made.runs("cat build.log other.log", "all well")
    assert items_of_session(made.session()) == []


@pytest.mark.parametrize(
    ("line", "error", "other"),
    [
        ("grep -rn open --include=*.go .", "zsh: no matches found: --include=*.go", "grep -rn open --include='*.go' ."),
        ("lint src", "bash: lint: command not found", "npx lint src"),
        ("make build", "error: variable TOKEN is not set", "TOKEN=1 make build"),
    ],
)
def test_quoting_missing_programs_and_variables_are_fixes(line: str, error: str, other: str) -> None:
    """They are about this place, not about how a program is called."""
    made = Made()
    made.runs(line, error, 1)
    made.runs(other, "done")
    assert [item.kind for item in items_of_session(made.session())] == [FIX]
