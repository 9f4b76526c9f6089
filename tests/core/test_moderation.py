"""Which word counts, by who said it: the rule alone, case by case."""

import pytest

from mesh.core.moderation import RegisterWord, is_agreed, standing

AUTHOR, ADMIN, ONE, TWO, JOB, OTHER_JOB = (bytes([number]) * 32 for number in range(6))
SURE, PASSING = {AUTHOR, ADMIN}, {JOB, OTHER_JOB}


def said(*words: tuple[int, bytes, str]) -> str | None:
    found = standing((RegisterWord((at,), node, value, value) for at, node, value in words), SURE, PASSING)
    return None if found is None else str(found.value)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], None),
        ([(1, ONE, "x")], None),
        ([(1, ONE, "x"), (2, TWO, "y")], None),
        ([(1, ONE, "x"), (2, TWO, "x")], "x"),
        ([(1, AUTHOR, "a"), (2, ONE, "x")], "a"),
        ([(1, ADMIN, "b"), (2, AUTHOR, "a")], "a"),
        ([(1, AUTHOR, "a"), (2, ONE, "x"), (3, TWO, "x")], "x"),
        ([(1, ONE, "x"), (2, TWO, "x"), (3, AUTHOR, "a")], "a"),
        ([(2, TWO, "x"), (3, AUTHOR, "a"), (4, ONE, "x")], "a"),  # agreed before the author spoke; one repeats itself
        ([(1, AUTHOR, "a"), (2, JOB, "x"), (3, OTHER_JOB, "x")], "a"),
        ([(1, AUTHOR, "a"), (2, JOB, "x"), (3, ONE, "x")], "a"),
    ],
)
def test_the_latest_word_of_who_may_or_of_two_counts(words: list[tuple[int, bytes, str]], expected: str | None) -> None:
    """In whichever order they are looked at."""
    assert said(*words) == said(*reversed(words)) == expected


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        ([], False),
        ([ONE], False),
        ([ONE, ONE], False),
        ([ONE, TWO], True),
        ([ONE, JOB, OTHER_JOB], False),
        ([AUTHOR], True),
        ([ADMIN, JOB], True),
    ],
)
def test_a_removal_takes_one_that_may_or_two(nodes: list[bytes], *, expected: bool) -> None:
    """A node that says it twice is one."""
    assert is_agreed(nodes, SURE, PASSING) is expected
