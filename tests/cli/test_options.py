"""Command lines: what is understood, and what is said of the rest."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest

from mesh.cli.grammar import CommaList, Fraction, Given, Whole, WrongUsage, argument, command, option
from mesh.cli.wrong_usage import worded

Body = Callable[[Given], int]


@command("mesh tail x", more="More of it.", may_be_empty=True)
@argument("words", "TEXT", nargs=-1, may_be_empty=True)
@option("-n", metavar="COUNT", type=Whole(), help="how many")
@option("--topic", metavar="WORD", help="what about")
@option("--tags", metavar="A,B", type=CommaList(), default="", help="more")
@option("--min-confidence", metavar="C", type=Fraction(), help="how sure")
@option("--global", help="everywhere")
@option("--repo", metavar="REPO", help="which")
def looked_at(given: Given) -> int:
    """Keep what was given."""
    KEPT.append(given)
    return 9


@command("mesh tail x")
@argument("text", "TEXT")
@argument("other", "[OTHER]", required=False)
@option("-n", metavar="COUNT", type=Whole(), help="how many")
@option("--topic", metavar="WORD", help="what about")
@option("--min-confidence", metavar="C", type=Fraction(), help="how sure")
@option("--all", help="everything")
def strict(_given: Given) -> int:
    """Nothing."""
    return 0


@command("mesh hot", is_filter=True, may_be_empty=True)
@option("--topic", metavar="WORD", help="what about")
def without_words(_given: Given) -> int:
    """Nothing."""
    return 0


KEPT: list[Given] = []
for made in (looked_at, strict):
    made.name = "tail"
without_words.name = "hot"


def given(*argv: str) -> Any:
    assert looked_at.run(argv) == 9
    return KEPT.pop()


def refused(which: Any, *argv: str) -> str:
    """What is said of a command line, and the next step."""
    with pytest.raises(click.UsageError) as found:
        which.run(argv)
    error, who = worded(found.value)
    return f"{who}: {error}; {error.next_step}"


def test_options_stand_anywhere_with_a_space_or_an_equals_sign() -> None:
    """Before, between and behind the words."""
    found = given("--topic", "git", "one", "--tags=a, b,,c", "--global", "two", "-n", "5", "--home", "h")
    assert found.words == ("one", "two")
    assert (found.topic, found.tags, found.n, found.has("global")) == ("git", ["a", "b", "c"], 5, True)
    assert (found.home, found.json) == ("h", False)


def test_a_value_may_begin_with_a_hyphen() -> None:
    """Mistakes are often about flags."""
    assert given("--topic", "--force").topic == "--force"
    assert given("--topic=--force=x").topic == "--force=x"
    assert given("--topic", "--help").topic == "--help"


def test_two_hyphens_end_the_options_and_one_is_a_word() -> None:
    """As everywhere."""
    assert given("-", "--", "--topic", "-h").words == ("-", "--topic", "-h")


def test_what_was_not_given_is_none_or_the_default() -> None:
    """An empty value was given."""
    found = given("--topic", "")
    assert (found.topic, found.tags, found.n, found.min_confidence) == ("", [], None, None)
    assert (found.has("topic"), found.has("tags"), found.has("n")) == (True, False, False)


@pytest.mark.parametrize("text", ["0", "-1", "1.5", "x", "", "99999999999", "٣", "1_0"])
def test_numbers_are_whole_and_within_bounds(text: str) -> None:
    """The message has the option as it is typed."""
    with pytest.raises(WrongUsage, match=r"^-n takes a number from 1 to 1000000"):
        given("-n", text)


@pytest.mark.parametrize("text", ["1.1", "-0.1", "x", "nan", "inf", ""])
def test_fractions_are_between_nothing_and_one(text: str) -> None:
    """Both included."""
    with pytest.raises(WrongUsage, match=r"^--min-confidence takes a number from 0 to 1"):
        given("--min-confidence", text)
    assert [given("--min-confidence", end).min_confidence for end in ("0", "1")] == [0, 1]


@pytest.mark.parametrize("argv", [["--help"], ["-h"], ["x", "--topic", "git", "--help"]])
def test_help_says_how_and_shows_an_example(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Wherever it stands, and nothing is run."""
    with pytest.raises(click.exceptions.Exit):
        looked_at.run(argv)
    assert KEPT == []
    out = capsys.readouterr().out
    assert out.startswith("usage: mesh tail TEXT [options]\n")
    assert "More of it." in out
    assert "  --min-confidence C  how sure\n" in out
    assert "  --json" in out
    assert out.endswith("example:\n  mesh tail x\n")


@pytest.mark.parametrize(
    ("argv", "sentence"),
    [
        ([], "something is missing: mesh tail TEXT [OTHER]"),
        (["a", "b", "c"], "'c' is too much: what has spaces in it belongs in quotes"),
        (["a", "--tpoic", "x"], "there is no option --tpoic; did you mean --topic?"),
        (["--tpoic", "x"], "there is no option --tpoic; did you mean --topic?"),
        (["a", "--min_confidence=1"], "there is no option --min_confidence; did you mean --min-confidence?"),
        (["a", "--hepl"], "there is no option --hepl; did you mean --help?"),
        (["a", "--topic"], "--topic needs a value: --topic WORD"),
        (["a", "--all=yes"], "--all takes no value"),
        (["a", "--home"], "--home needs a folder"),
        (["a", "--home", ""], "--home needs a folder"),
        (["a", "--home="], "--home needs a folder"),
        (["a", "--topic", " "], "--topic is empty"),
        ([""], "TEXT is empty"),
    ],
)
def test_a_wrong_command_line_names_the_help(argv: list[str], sentence: str) -> None:
    """Whatever is wrong with it."""
    assert refused(strict, *argv) == f"mesh tail: {sentence}; mesh tail --help"


def test_what_is_like_no_option_may_be_meant_as_text() -> None:
    """Flags are what mistakes are about. A command that takes no text offers nothing."""
    assert refused(strict, "--no-verify=x y") == (
        "mesh tail: there is no option --no-verify;"
        " mesh tail --help; if it is meant as text: mesh tail -- '--no-verify=x y'"
    )
    assert refused(without_words, "--no-verify") == "mesh hot: there is no option --no-verify; mesh hot --help"


def test_what_has_a_blank_or_is_a_number_is_a_text() -> None:
    """No option is one: an item of a Markdown list, or a sentence about a flag, needs no double hyphen."""
    found = given("--no-verify skips the hooks", "- one", "--topic=a b", "-5", "--global", "last")
    assert found.words == ("--no-verify skips the hooks", "- one", "-5", "last")
    assert (found.topic, found.has("global")) == ("a b", True)
    assert refused(strict, "- one", "--topic").startswith("mesh tail: --topic needs a value")


def test_the_home_is_that_of_the_repository_that_was_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where one machine serves several teams; a dot is where we are."""
    (tmp_path / "homes").write_text("github.com/acme/* = /teams/acme\n")
    (tmp_path / "homes").chmod(0o600)
    monkeypatch.setenv("MESH_CONFIG", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert given("--repo", "git@github.com:acme/api.git").home == "/teams/acme"
    assert given("--repo", ".").home == given().home != "/teams/acme"
    assert given("--home", "given", "--repo", "github.com/acme/api").home == "given"
