"""How a text is cut: words as concepts, identifiers, numbers and flags as they stand, negations with what they turn."""

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clan_learnings.records.matching_tokens import NAME, STRICT, MatchingToken, identifier_parts, tokens
from clan_learnings.records.matching_words import SOFT, STOP, UNDOING, concept, stem
from clan_learnings.records.stance import AGAINST, FIRST, FOR, LATER, read_stances

TREE = Path(__file__).parents[3]


def texts(text: str) -> list[str]:
    return [token.text for token in tokens(text)]


def strict(text: str) -> list[str]:
    return [token.text for token in tokens(text) if token.kind == STRICT]


@pytest.mark.parametrize(
    "forms",
    [
        "use used using uses",
        "cache caches cached caching",
        "migrate migrates migrated migration migrations",
        "commit commits committed committing",
        "install installs installed installing installation",
        "retry retries retried retrying",
        "deploy deployed deployment deployments",
        "format formatted formatting formatter",
        "need needs needed needing",
        "pass passes passed passing",
        "run ran running runs execute executed invoke",
        "config configuration configured configure",
        "database databases db",
        "repeat repeats repeated repeating",
        "automatic automatically auto",
        "lazy lazily",
    ],
)
def test_forms_of_one_word_are_one_concept(forms: str) -> None:
    """Plural, tense, adverb, noun of the verb, abbreviation and listed synonyms fall together."""
    assert len({concept(word) for word in forms.split()}) == 1


@pytest.mark.parametrize(
    "pair",
    ["npm pnpm", "http https", "form format", "create delete", "main master", "sync async", "test text", "add remove"],
)
def test_other_words_stay_other_concepts(pair: str) -> None:
    """What looks alike is not taken for the same."""
    one, other = pair.split()
    assert concept(one) != concept(other)


def test_short_words_and_other_scripts_are_left_as_they_are() -> None:
    """The stemmer knows English only."""
    assert [stem(word) for word in ("css", "ping", "größen", "日本語")] == ["css", "ping", "größen", "日本語"]


def test_a_soft_word_has_no_soft_opposite() -> None:
    """Otherwise "add" and "remove" could stand for each other."""
    assert SOFT.isdisjoint(UNDOING)
    assert SOFT.isdisjoint(STOP - {"first"})


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("listen on port 8080", ["8080"]),
        ("python3.11", ["3.11"]),
        ("Python 3.11", ["3.11"]),
        ("fix TS2345", ["2345"]),
        ("fix E501", ["e501"]),
        ("HTTP 404.", ["404"]),
        ("v2", ["2"]),
        ("three retries", ["3"]),
        ("wait 30s", ["30"]),
        ("1_000 rows", ["1000"]),
        ("utf-8", ["8"]),
        ("sha256", ["256"]),
        ("--force", ["--force"]),
        ("--force-with-lease", ["--force-with-lease"]),
        ("--timeout=30", ["--timeout", "30"]),
        ("git branch -D", ["-D"]),
        ("git branch -d", ["-d"]),
        ("http://localhost:8080/x", ["8080"]),
        ("no numbers here", []),
    ],
)
def test_numbers_versions_codes_and_flags_are_strict(text: str, found: list[str]) -> None:
    """They forbid a match wherever they differ."""
    assert strict(text) == found


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("30s", "30 seconds"),
        ("512MB", "512 megabytes"),
        ("Python3.11", "python 3.11"),
        ("Node.js", "node"),
        ("pre-commit", "precommit"),
        ("force-push", "force push"),
        ("utf-8", "UTF8"),
        ("pull requests", "PRs"),
        ("env vars", "environment variables"),
        ("hard-coded", "hardcoded"),
        ("by hand", "manually"),
        ("don’t", "do not"),  # noqa: RUF001 - the apostrophe of a word processor
        ("cannot", "can't"),
        ("ＮＰＭ", "npm"),  # noqa: RUF001 - full-width letters
        ("`datetime.now()`", "datetime.now"),
        ("five", "5"),
    ],
)
def test_spellings_of_one_thing_give_the_same_tokens(one: str, other: str) -> None:
    """Spelling, case and width do not matter."""
    assert [token.text for token in tokens(one) if token.kind] == [token.text for token in tokens(other) if token.kind]


def test_identifiers_stand_whole_and_in_parts() -> None:
    """camelCase, snake_case, dots and slashes."""
    for written in ("getUserById", "get_user_by_id", "get.user/by-id"):
        assert identifier_parts(written) == ("get", "user", "by", "id")
    (path,) = tokens("src/api/client.ts")
    assert (path.kind, path.text, path.parts) == (NAME, "src/api/client.ts", ("src", "api", "client", "typescript"))


def test_quoted_code_and_calls_are_names_though_their_words_are_common() -> None:
    """`is`, exists() and tests/ are code, is, exists and tests are words."""
    assert texts("use `is`") == ["use", "`is`"]
    assert texts("use exists()")[1] != texts("it exists")[1]
    assert texts("tests/") != texts("tests")
    assert texts("use === here")[1] == "==="


def stances(wrong: str, right: str) -> tuple[set[str], set[str]]:
    """What a correction is for, and what it is against."""
    found: dict[str, int] = {}
    kept: dict[str, MatchingToken] = {}
    read_stances(wrong, -1, found, kept)
    read_stances(right, 1, found, kept)
    names = {text: bits for text, bits in found.items() if kept[text].kind in {NAME, STRICT}}
    return (
        {text for text, bits in names.items() if bits & (FOR | AGAINST) == FOR},
        {text for text, bits in names.items() if bits & (FOR | AGAINST) == AGAINST},
    )


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("used npm", "use pnpm"),
        ("npm was used", "pnpm should be used"),
        ("npm must not be used", "pnpm"),
        ("", "use pnpm, not npm"),
        ("", "use pnpm instead of npm"),
        ("", "prefer pnpm over npm"),
        ("", "prefer pnpm to npm"),
        ("", "don't use npm, use pnpm"),
        ("", "never use npm; use pnpm"),
        ("", "avoid npm. Use pnpm"),
        ("", "replace npm with pnpm"),
        ("", "switch from npm to pnpm"),
        ("", "npm is forbidden, use pnpm"),
        ("used npm instead of pnpm", ""),
        ("did not use pnpm, used npm", ""),
        ("npm was used where pnpm should be used", ""),
        ("", "stop using npm, use pnpm"),
        ("", "use pnpm (not npm)"),
    ],
)
def test_every_way_of_saying_it_is_for_the_one_and_against_the_other(wrong: str, right: str) -> None:
    """Negation, contrast, passive and the side it stands on all end in the same."""
    assert stances(wrong, right) == ({"pnpm"}, {"npm"})


def test_a_list_stays_negated() -> None:
    """A comma does not end a list."""
    assert stances("", "never use npm, yarn or bun") == (set(), {"npm", "yarn", "bun"})


def test_what_was_left_out_is_what_should_be_done() -> None:
    """Forgetting, skipping and doing without are negations of the wrong way."""
    for wrong in ("forgot ruff", "ruff was skipped", "did not run ruff", "never used ruff"):
        assert stances(wrong, "") == ({"ruff"}, set()), wrong
    assert stances("pushed without ruff", "") == ({"ruff"}, set())


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("", "run ruff before committing"),
        ("", "before committing, run ruff"),
        ("", "commit after running ruff"),
        ("", "do not commit before running ruff"),
        ("", "never commit until ruff has run"),
        ("committed before running ruff", ""),
    ],
)
def test_order_is_read_from_before_and_after_and_turned_by_negation(wrong: str, right: str) -> None:
    """Each of these says: first ruff, then the commit."""
    found: dict[str, int] = {}
    read_stances(wrong, -1, found, {})
    read_stances(right, 1, found, {})
    assert found["ruff"] & (FIRST | LATER) == FIRST
    assert found["commit"] & (FIRST | LATER) == LATER


@given(st.text(max_size=300))
def test_any_text_can_be_cut(text: str) -> None:
    """No text raises, and no token is empty or holds a blank."""
    for token in tokens(text):
        assert token.text
        assert not token.text.split()[1:]


def test_importing_costs_little() -> None:
    """Everyday commands import this: nothing slow may come with it."""
    script = (
        "import sys, collections.abc; before = set(sys.modules); import clan_learnings.records.matching;"
        "print(' '.join(sorted(set(sys.modules) - before)))"
    )
    out = subprocess.run([sys.executable, "-S", "-c", script], capture_output=True, text=True, check=True, cwd=TREE)
    assert set(out.stdout.split()) <= {
        "_blake2",
        "_functools",
        "_hashlib",
        "clan_learnings",
        "clan_learnings.records",
        "clan_learnings.records.matching",
        "clan_learnings.records.stance",
        "clan_learnings.records.matching_words",
        "clan_learnings.records.matching_tokens",
        "functools",
        "hashlib",
        "itertools",
        "types",
        "unicodedata",
    }
