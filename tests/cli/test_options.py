"""Command lines of everyday commands, read without argparse: what is understood, and what is said of the rest."""

from pathlib import Path

import pytest

from mesh.cli.options import CommandSyntax, Given, Option, WrongUsage, parse, run

OPTIONS = (
    Option("-n", "COUNT", "how many"),
    Option("--topic", "WORD", "what about"),
    Option("--tags", "A,B", "more"),
    Option("--min-confidence", "C", "how sure"),
    Option("--global", "", "everywhere"),
)
SHAPE = CommandSyntax("tail", "TEXT", OPTIONS, "mesh tail x", words=(1, 2), more="More of it.")


def given(*argv: str) -> Given:
    return parse(argv, OPTIONS)


def test_options_stand_anywhere_with_a_space_or_an_equals_sign() -> None:
    """Before, between and behind the words."""
    found = given("--topic", "git", "one", "--tags=a, b,,c", "--global", "two", "-n", "5", "--home", "h")
    assert found.words == ["one", "two"]
    assert (found.text("topic"), found.words_of("tags"), found.number("n"), found.has("global")) == (
        "git",
        ["a", "b", "c"],
        5,
        True,
    )
    assert (found.home, found.as_json) == ("h", False)


def test_a_value_may_begin_with_a_hyphen() -> None:
    """Mistakes are often about flags."""
    assert given("--topic", "--force").text("topic") == "--force"
    assert given("--topic=--force=x").text("topic") == "--force=x"


def test_two_hyphens_end_the_options_and_one_is_a_word() -> None:
    """As everywhere."""
    assert given("-", "--", "--topic", "-h").words == ["-", "--topic", "-h"]


def test_what_was_not_given_is_none_or_the_default() -> None:
    """An empty value was given."""
    found = given("--topic", "")
    assert (found.maybe("topic"), found.maybe("tags"), found.text("tags")) == ("", None, "")
    assert (found.number("n"), found.number("n", 20), found.fraction("min_confidence")) == (None, 20, None)


@pytest.mark.parametrize("argv", [["--nope"], ["-x"], ["--topic"], ["--global=yes"], ["--home"]])
def test_what_cannot_be_is_refused(argv: list[str]) -> None:
    """An option that is not there, one without its value, a switch with one."""
    with pytest.raises(WrongUsage):
        given(*argv)


@pytest.mark.parametrize("text", ["0", "-1", "1.5", "x", "", "99999999999", "٣", "1_0"])
def test_numbers_are_whole_and_within_bounds(text: str) -> None:
    """The message has the option as it is typed."""
    with pytest.raises(WrongUsage, match=r"^-n takes a number from 1 to 1000000"):
        given("-n", text).number("n")


@pytest.mark.parametrize("text", ["1.1", "-0.1", "x", "nan", "inf", ""])
def test_fractions_are_between_nothing_and_one(text: str) -> None:
    """Both included."""
    with pytest.raises(WrongUsage, match=r"^--min-confidence takes a number from 0 to 1"):
        given("--min-confidence", text).fraction("min_confidence")
    assert [given("--min-confidence", end).fraction("min_confidence") for end in ("0", "1")] == [0, 1]


@pytest.mark.parametrize("argv", [["--help"], ["-h"], ["x", "--topic", "git", "--help"]])
def test_help_says_how_and_shows_an_example(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Wherever it stands, and nothing is run."""
    assert run(argv, SHAPE, lambda _: 9) == 0
    out = capsys.readouterr().out
    assert out.startswith("usage: mesh tail TEXT [options]\n")
    assert "More of it." in out
    assert "  --min-confidence C      how sure\n" in out
    assert "  --json" in out
    assert out.endswith("example:\n  mesh tail x\n")


def test_help_is_no_help_where_a_value_stands(capsys: pytest.CaptureFixture[str]) -> None:
    """`--topic --help` is about help."""
    assert run(["x", "--topic", "--help"], SHAPE, lambda found: len(found.text("topic"))) == 6
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("argv", "sentence"),
    [
        ([], "something is missing: mesh tail TEXT"),
        (["a", "b", "c"], "'c' is too much: what has spaces in it belongs in quotes"),
        (["a", "--tpoic", "x"], "there is no option --tpoic; did you mean --topic?"),
        (["a", "-n5"], "there is no option -n5; did you mean -n?"),
        (["a", "--min_confidence=1"], "there is no option --min_confidence; did you mean --min-confidence?"),
        (["a", "--hepl"], "there is no option --hepl; did you mean --help?"),
        (["a", "--home", ""], "--home needs a folder"),
        (["a", "--home="], "--home needs a folder"),
    ],
)
def test_a_wrong_command_line_names_the_help(
    argv: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """On stderr, with the exit code of wrong usage."""
    assert run(argv, SHAPE, lambda _: 0) == 2
    assert capsys.readouterr().err == f"mesh tail: {sentence}\n  next: mesh tail --help\n"


def test_what_is_like_no_option_may_be_meant_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    """Flags are what mistakes are about. A command that takes no text offers nothing."""
    assert run(["--no-verify=x y"], SHAPE, lambda _: 0) == 2
    assert capsys.readouterr().err == (
        "mesh tail: there is no option --no-verify\n"
        "  next: mesh tail --help; if it is meant as text: mesh tail -- '--no-verify=x y'\n"
    )
    assert run(["--no-verify"], CommandSyntax("hot", "", OPTIONS, "mesh hot"), lambda _: 0) == 2
    assert capsys.readouterr().err.endswith("  next: mesh hot --help\n")


def test_what_has_a_blank_is_a_text() -> None:
    """No option has one: an item of a Markdown list, or a sentence about a flag, needs no double hyphen."""
    assert given("--no-verify skips the hooks", "- one", "--topic=a b").words == [
        "--no-verify skips the hooks",
        "- one",
    ]


def test_the_home_is_that_of_the_repository_that_was_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where one machine serves several teams; a dot is where we are."""
    (tmp_path / "homes").write_text("github.com/acme/* = /teams/acme\n")
    (tmp_path / "homes").chmod(0o600)
    monkeypatch.setenv("MESH_CONFIG", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    repo = (Option("--repo", "REPO", "which"),)
    assert parse(["--repo", "git@github.com:acme/api.git"], repo).home == "/teams/acme"
    assert parse(["--repo", "."], repo).home == parse([], repo).home != "/teams/acme"
    assert parse(["--home", "given", "--repo", "github.com/acme/api"], repo).home == "given"
