"""What lines for a shell do."""

import pytest

from clan_learnings.sessions.command_lines import commands_in, last_of, likeness, plain


@pytest.mark.parametrize(
    ("line", "keys"),
    [
        ("mise run fmt && mise run lint", ["mise run fmt", "mise run lint"]),
        ("cd /src && pnpm fix 2>&1 | tail -30", ["pnpm fix"]),
        ("git -C /src/a gc --auto", ["git gc"]),
        ("DEBUG=1 time ./tool help > /dev/null", ["./tool help"]),
        ("cat > /tmp/a.go <<'EOF'\npackage main; rm -rf /\nEOF\ngo run /tmp/a.go", ["cat", "go run"]),
        ("bash -lc 'npm run build && npm test'", ["npm run build", "npm test"]),
        ("python -m pytest -q tests/a.py", ["python -m pytest"]),
        ("x=$(find . -name '*.go' | head) && grep -n a \"$x\"", ["grep"]),
        ("echo 'a && b; c'", ["echo"]),
        ("", []),
        ("'", []),
    ],
)
def test_programs_are_found_outside_of_quotes(line: str, keys: list[str]) -> None:
    """Without filters, folders, variables and texts that are only given to a program."""
    assert [command.key for command in commands_in(line)] == keys


def test_the_last_program_answers_for_a_line() -> None:
    """Its exit code is the line's."""
    last = last_of("make && ./tool run | tail -1")
    assert last is not None
    assert last.key == "./tool run"


def test_lines_are_compared_without_where_they_run_and_what_reads_them() -> None:
    """Only what is run counts."""
    assert plain("cd /a && npm test 2>&1 | tail -5") == plain("npm test")
    assert likeness("grep -rn a --include='*.py' .", "grep -rn a . --include=*.py") == 1.0
    assert likeness("npm test", "cargo build") == 0.0
