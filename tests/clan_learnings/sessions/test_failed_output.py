"""Failures told by what was printed, and tasks inside the words around them."""

import pytest

from clan_learnings.sessions.failed_output import exit_code_in, failed_by
from clan_learnings.sessions.prompt_text import assigned

RAISED = 'Traceback (most recent call last):\n  File "x"\nValueError: no'


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("bad\n\nCommand exited with code 4", 4),
        ("[The command completed with exit code 0.]", 0),
        ("Exit code: 127\nOutput: x", 127),
        ("exit: 0\nfine", 0),
        ("<returncode>2</returncode>\n<output>\n</output>", 2),
        ("(Command exited with code 1)", 1),
        ("it may exit with code 4 or not", None),
        ("", None),
    ],
)
def test_an_exit_code_is_read_from_the_first_and_the_last_lines(text: str, code: int | None) -> None:
    """In the forms that agents write."""
    assert exit_code_in(text) == code


@pytest.mark.parametrize(
    ("text", "command", "failed"),
    [
        ("bash: make: command not found", "make", True),
        ("sh: 1: make: not found", "make", True),
        ("cat: x: No such file or directory", "cat x", True),
        (RAISED, "python x.py", True),
        (RAISED, "cat log.txt", None),
        ("EXECUTION TIMED OUT", "sleep 9", True),
        ("2 errors were found in 3 files", "lint", None),
        ("all good", "make", None),
        ("", "make", None),
        ("fine\nCommand exited with code 0", "make", False),
    ],
)
def test_only_the_words_of_shells_and_python_tell_of_a_failure(text: str, command: str, *, failed: bool | None) -> None:
    """What merely speaks of errors does not."""
    assert failed_by(text, command) is failed


@pytest.mark.parametrize(
    ("text", "task"),
    [
        ("Look.\n<pr_description>\nIt breaks.\n</pr_description>\nAlways test.", "It breaks."),
        ("Here:\nISSUE:\nIt breaks.\n\nINSTRUCTIONS:\nNever stop.", "It breaks."),
        ("Please fix.\n\n# Problem Statement\nIt breaks.\n\nIMPORTANT: never ask.", "It breaks."),
        ("It is a riddle.\n\nINSTRUCTIONS:\nNever stop.", "It is a riddle."),
        ("It breaks.", "It breaks."),
        ("<pr_description> was never closed", "<pr_description> was never closed"),
    ],
)
def test_a_task_is_found_inside_the_words_around_it(text: str, task: str) -> None:
    """Nobody typed the rest."""
    assert assigned(text) == task
