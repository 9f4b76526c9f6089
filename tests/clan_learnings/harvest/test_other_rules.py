"""Quirks, pitfalls, statements, open questions."""

import pytest

from clan_learnings.harvest.items import FACT, PITFALL, QUESTION, TOOL_QUIRK
from clan_learnings.harvest.rules import items_of_session
from tests.clan_learnings.harvest.made_sessions import Made


def kinds(made: Made) -> list[tuple[str, int]]:
    return [(item.kind, item.line) for item in items_of_session(made.session())]


@pytest.mark.parametrize(
    "error",
    [
        "Path must be absolute: .",
        "<tool_use_error>File has not been read yet. Read it first before writing to it.</tool_use_error>",
        "InputValidationError: The required parameter `prompt` is missing",
        "File content (31125 tokens) exceeds maximum allowed tokens (25000). Use offset and limit parameters",
        "Found 2 matches of the string to replace, but replace_all is false.",
        "Unknown parameter: recursive",
    ],
)
def test_a_tool_that_says_its_rule_is_a_quirk(error: str) -> None:
    """The error tells how the tool wants to be used."""
    made = Made()
    line = made.uses("list_directory", error, failed=True, path=".")
    made.uses("list_directory", "a.py", path="/src")
    (item,) = items_of_session(made.session())
    assert (item.kind, item.line, item.fix_line) == (TOOL_QUIRK, line, line + 1)
    assert item.text.startswith("The tool list_directory refuses with “")


@pytest.mark.parametrize(
    "error",
    [
        "File does not exist.",
        "Path does not exist: /src/a.py",
        "String to replace not found in file.",
        "socket hang up",
        "The operation was aborted.",
    ],
)
def test_errors_of_tools_that_state_no_rule_are_none(error: str) -> None:
    """A guessed path, a stale text, the network."""
    made = Made()
    made.uses("Read", error, failed=True, file_path="/src/a.py")
    made.uses("Read", "text", file_path="/src/b.py")
    assert kinds(made) == []


def test_a_write_that_was_not_granted_and_is_claimed_is_a_pitfall() -> None:
    """The answer says that a file was created, and it was not."""
    made = Made()
    made.says("write a readme")
    line = made.uses(
        "Write", "Permission to write was not granted yet.", failed=True, file_path="/src/README.md", content="x"
    )
    made.replies("I've created README.md with all you need.")
    (item,) = items_of_session(made.session())
    assert (item.kind, item.line) == (PITFALL, line)
    assert "nothing was written" in item.text


def test_a_claim_after_the_write_was_done_again_is_none() -> None:
    """It is true."""
    made = Made()
    made.uses("Write", "Permission to write was not granted yet.", failed=True, file_path="/src/README.md", content="x")
    made.uses("Write", "created", file_path="/src/README.md", content="x")
    made.replies("I've created README.md.")
    assert kinds(made) == []


def test_a_way_that_fails_three_times_and_is_given_up_is_a_pitfall() -> None:
    """Other reasons each time, the same program."""
    made = Made()
    made.runs("cmake -B . -S a", "CMake Error: could not find LLVM", 1)
    made.runs("cmake -B . -S a -DLLVM=/x", "CMake Error: could not find ZLIB", 1)
    line = made.runs("cmake -B . -S a -DZLIB=/y", "CMake Error: could not find zstd", 1)
    made.replies("I will describe the change instead.")
    assert kinds(made) == [(PITFALL, line)]


def test_what_a_place_forbids_is_a_pitfall() -> None:
    """A sandbox without ports."""
    made = Made("codex")
    line = made.runs("go test ./...", "panic: listen tcp [::1]:0: bind: operation not permitted", 1)
    assert kinds(made) == [(PITFALL, line)]


def test_an_error_that_comes_back_is_a_pitfall() -> None:
    """It went away by itself, and came again."""
    made = Made()
    error = "error: Signing file /tmp/x{}\nfatal: failed to write commit object"
    first = made.runs("git commit -m a", error.format(1), 128)
    made.runs("git commit -m a", "[main 1] a")
    made.runs("git commit -m b", error.format(2), 128)
    made.runs("git commit -m b", "[main 2] b")
    assert kinds(made) == [(PITFALL, first)]


@pytest.mark.parametrize(
    "words",
    [
        "Please remember that the staging database is shared.",
        "From now on use pnpm for everything here.",
        "Always run the linter before you commit.",
        "Never edit the generated files by hand.",
        "fix the docs, don't ever touch the vendored files",
    ],
)
def test_what_a_person_states_for_ever_is_a_fact(words: str) -> None:
    """Said in so many words, so it is stated."""
    made = Made()
    line = made.says(words)
    (item,) = items_of_session(made.session())
    assert (item.kind, item.line, item.is_stated, item.source) == (FACT, line, True, "human")


@pytest.mark.parametrize(
    "words",
    ["never mind", "it always seems slow to me", "have you never seen that?", "we never get that far", "remember me?"],
)
def test_what_only_sounds_so_is_none(words: str) -> None:
    """Small talk and descriptions."""
    made = Made()
    made.says(words)
    assert kinds(made) == []


def test_a_question_that_nobody_answered_is_left_open() -> None:
    """Offers of help are no questions."""
    made = Made()
    made.says("which database?")
    line = made.replies("Both would do.\n\nDoes the import have to survive a restart of the server?")
    assert kinds(made) == [(QUESTION, line)]
    made.replies("Done. Want me to commit this change for you now?")
    assert kinds(made) == []


def test_tests_that_pass_without_being_run_are_a_pitfall() -> None:
    """A type check is no test; the line is that of the claim."""
    made = Made()
    made.says("mend the tests")
    made.edits("/src/queue_test.ts")
    made.runs("npm run check", "")
    line = made.replies("Perfect! All tests are now passing.")
    assert [(item.kind, item.line) for item in items_of_session(made.session())] == [(PITFALL, line)]


@pytest.mark.parametrize(
    ("command", "output", "said"),
    [
        ("npm test", "", "All tests are now passing."),
        ("make", "12 passed in 3s", "All tests pass."),
        ("npm run check", "", "I will not stop until all tests pass."),
        ("npx tsx src/test/queue.ts", "", "All tests pass."),
    ],
)
def test_tests_that_may_have_run_are_believed(command: str, output: str, said: str) -> None:
    """By the words of a line, by what it printed; and a wish is no claim."""
    made = Made()
    made.says("mend the tests")
    made.edits("/src/queue_test.ts")
    made.runs(command, output)
    made.replies(said)
    assert items_of_session(made.session()) == []


def test_a_rule_that_stands_below_the_first_line_of_an_error_is_a_quirk() -> None:
    """The first line says that it failed, the next one why."""
    made = Made()
    line = made.uses(
        "Task", "InputError: Task failed due to:\nThe required parameter `name` is missing", failed=True, a=1
    )
    made.uses("Task", "done", a=1, name="x")
    (item,) = items_of_session(made.session())
    assert (item.kind, item.line) == (TOOL_QUIRK, line)
    assert "The required parameter `name` is missing" in item.text
