"""The line that tells most of an error, and its signature."""

import pytest

from clan_learnings.sessions.error_signature import signature_of, telling_line


@pytest.mark.parametrize(
    ("output", "line"),
    [
        ("Exit code 1\n(eval):1: parse error near `time'", "parse error near `time'"),
        (
            "Traceback (most recent call last):\n  File \"a.py\", line 9\n    import x\nModuleNotFoundError: No module named 'x'",
            "ModuleNotFoundError: No module named 'x'",
        ),
        (
            "[lint] $ run\n[lint] ERROR task failed\n\nsrc/main.go:19:13: G304: Potential file inclusion (gosec)\n3 issues:\n* gosec: 3",
            "G304: Potential file inclusion (gosec)",
        ),
        (
            "(node:1) Warning: Module type is missing\n  x lint(sort-keys): Object keys should be sorted\nCommand failed with exit code 1.",
            "x lint(sort-keys): Object keys should be sorted",
        ),
        ("\x1b[31merror\x1b[0m: no such option", "error: no such option"),
        ("<tool_use_error>File has not been read yet.</tool_use_error>", "File has not been read yet."),
        ("", ""),
    ],
)
def test_the_line_that_tells_most_is_found(output: str, line: str) -> None:
    """Not the one that only says that something failed, and without its place in a file."""
    assert telling_line(output) == line


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            "fatal: unable to read e53647ba1f1e5203bedff558b482f178db045555",
            "fatal: unable to read 082c2c4495629bd585a0a11807b4e0ede9a99753",
        ),
        ("No module named 'torch'", "No module named 'numpy'"),
        ("src/a.py:3:1: E501 Line too long (121 > 120)", "lib/other.py:77:12: E501 Line too long (130 > 120)"),
        ("error: Signing file /tmp/.buffer_a1 failed", "error: Signing file /var/x/.buffer_b2 failed"),
        ('Unknown JSON field: "threads"', 'Unknown JSON field: "stars"'),
    ],
)
def test_equal_errors_have_equal_signatures(one: str, other: str) -> None:
    """Whatever names, numbers and paths they have."""
    assert signature_of(one) == signature_of(other) != ""


def test_other_errors_have_other_signatures() -> None:
    """What is said differs."""
    assert signature_of("error: unknown option `x'") != signature_of("error: missing argument `x'")


def test_a_huge_output_is_read_in_part() -> None:
    """The end of it still tells."""
    assert telling_line("fine\n" * 2_000_000 + "fatal: no space left") == "fatal: no space left"
