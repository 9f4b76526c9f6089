"""What is worth interrupting for: records about the very thing, and not those that share a word with it."""

from pathlib import Path

import pytest

from bench import recall_hooks, recall_judged
from bench.recall_home import write_home
from clan_learnings.agents.relevance import FAILURE, RelevanceQuery

SILENCE, PRECISION, RECALL = 0.95, 0.8, 0.55  # of the judged set; the last two only tell when a change breaks something

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
        ("install the dependencies with npm install", "npm install is wrong here: use pnpm install in every package"),
        ("load the config with yaml.load", "Don't use yaml.load on what users send: it makes any object"),
        ("TypeError: datetime.utcnow() is naive, the other datetime is not", UTC),
    ],
)
def test_a_record_about_the_very_thing_is_apt(text: str, saying: str) -> None:
    """Most of what it says is in the text, or nearly all of the text in it."""
    assert 0 < RelevanceQuery(text).aptness(saying) <= 1


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
        (
            "add a test to the project where the config is read",
            "Don't use yaml.load on what users send: it makes any object",
        ),
        (
            f"{PUSH}\n" + "\n".join(f"word{number} of a log that was pasted {number}" for number in range(90)),
            "the main server of HTTP",
        ),
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
    assert RelevanceQuery(text).aptness(saying) == 0


def test_the_best_of_several_sayings_counts() -> None:
    """A correction says what is right and what is wrong; a prompt is mostly about one of them."""
    longer = "run pnpm install in the workspace root of the shop"
    subject = RelevanceQuery("run npm install")
    assert subject.aptness("", longer, NPM) == subject.aptness(NPM) > subject.aptness(longer)
    assert subject.aptness() == 0


def test_words_that_every_record_has_count_less() -> None:
    """The name of the product is in every prompt and in every record. How rare a word is, is asked only where it matters."""
    asked: list[str] = []

    def rarity(word: str) -> float:
        asked.append(word)
        return 0.5

    saying = "the gateway and the ledger restart together"
    assert RelevanceQuery("restart the gateway and the ledger").aptness(saying) > 0
    assert RelevanceQuery("restart the gateway and the ledger", rarity=rarity).aptness(saying, "the moon is full") == 0
    assert set(asked) <= {"gateway", "ledger", "restart", "together"}


def test_an_error_has_to_share_more_than_a_prompt() -> None:
    """It is long, and names many things by chance."""
    saying, text = "watch mode of vitest never ends", "vitest run\nwatch: cannot find module cart"
    assert RelevanceQuery(text).aptness(saying) > 0 == RelevanceQuery(text, FAILURE).aptness(saying)


@pytest.mark.parametrize(
    ("text", "saying"),
    [
        ("reduce the watermark in voyage_stream.py", "the watermark in jobs/voyage_stream.py is 30 h"),
        ("set ACME_DB_URL in my shell, the server ignores it", "ACME_DB_URL in the shell is overridden by Vault"),
        ("取引先のCSVを読むとUnicodeDecodeError", "取引先のCSVはCP932で読むこと。UnicodeDecodeErrorになる。"),
    ],
)
def test_identifiers_files_and_texts_without_blanks_are_known_again(text: str, saying: str) -> None:
    """Whole, by the last part of a path, by pairs of characters."""
    assert RelevanceQuery(text).aptness(saying) > 0


def test_numbers_and_everyday_words_are_no_reason_to_interrupt() -> None:
    """However many are shared by chance."""
    assert RelevanceQuery("give me five names for this project").aptness("five names of a project are too many") == 0
    assert RelevanceQuery("turn this into yaml: [1, 2, 3]").aptness("retry 1, 2 or 3 times, then turn it off") == 0
    assert RelevanceQuery("curl https://example.invalid/x").aptness("entries named ../../etc/cron.d/x escape") == 0


def test_silence_and_what_is_told_on_the_judged_set(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of what must be told nothing at least 0.95 is; and the hooks do tell something, mostly what is right."""
    home = str(tmp_path / "home")
    ids = write_home(home, recall_judged.items(), recall_judged.supersessions())
    asked = {"prompts": recall_judged.prompts(), "failures": recall_judged.failures()}
    for name, questions in asked.items():
        answers = recall_hooks.told(home, ids, questions, failures=name == "failures")
        bar = recall_hooks.judge(questions, answers, recall_judged.groups())
        with capsys.disabled():
            print(f"\nhooks, {name}: {bar}", end="")
        assert (bar.silence or 0) >= SILENCE
        assert (bar.precision or 0) >= PRECISION
        assert (bar.recall or 0) >= RECALL
