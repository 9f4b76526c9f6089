"""What is worth interrupting for: records about the very thing, and not those that share a word with it."""

import pytest

from clan_learnings.aptness import Subject

PUSH = "git push to main gives HTTP 405"
NPM = "run npm install"
PYTEST = "pytest -n auto hides what print writes"
UTC = "datetime.utcnow() returns a naive datetime"


@pytest.mark.parametrize(
    ("text", "saying"),
    [
        ("git push gives me HTTP 405", PUSH),
        ("Why is there an HTTP 405 when I git push?", PUSH),
        ("remote: git push to main was refused\nerror: HTTP 405\n" + "more output\n" * 50, PUSH),
        ("please run npm install and then start the server", NPM),
        ("$ npm install\nnpm error code ERESOLVE", NPM),
        ("why does pytest -n auto not show what I print?", PYTEST),
        ("TypeError: datetime.utcnow() is naive, the other datetime is not", UTC),
    ],
)
def test_a_record_about_the_very_thing_is_apt(text: str, saying: str) -> None:
    """Most of what it says is in the text, or nearly all of the text in it."""
    assert 0 < Subject(text).aptness(saying) <= 1


@pytest.mark.parametrize(
    ("text", "saying"),
    [
        ("push the button to open the main menu", PUSH),
        ("git push", PUSH),
        ("the server gives HTTP 500", PUSH),
        ("run the tests", NPM),
        ("npm", NPM),
        ("install the server", NPM),
        ("run pytest", PYTEST),
        ("fix it", PYTEST),
        ("the", "the"),
        ("", PUSH),
        (PUSH, ""),
        (
            "pytest cache timeout",
            "the queue has a timeout that kills the server before the cache is filled and the build ends",
        ),
    ],
)
def test_a_record_that_shares_a_word_is_not(text: str, saying: str) -> None:
    """Silence costs nothing."""
    assert Subject(text).aptness(saying) == 0


def test_the_best_of_several_sayings_counts() -> None:
    """A correction says what is right and what is wrong; a prompt is mostly about one of them."""
    assert Subject("run npm install").aptness("", "run pnpm install in the workspace root of the shop", NPM) == 1
    assert Subject("run npm install").aptness() == 0
