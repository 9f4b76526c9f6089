"""`mesh edit`: change fields of a record. Earlier versions stay in its history."""

from __future__ import annotations

from mesh.cli.home_option import home_path
from mesh.cli.main import EXIT_OK, EXIT_WAITING
from mesh.cli.options import CommandSyntax, Given, Option, WrongUsage, run
from mesh.cli.output import print_json, tell_proposed, tell_taken_out
from mesh.cli.show import print_record

TYPE_CHECKING = False  # see `mesh`
if TYPE_CHECKING:
    from typing import Any

_TEXTS = ("text", "wrong", "right", "rule", "topic", "category", "severity", "evidence", "pattern")
SYNTAX = CommandSyntax(
    "edit",
    "ID",
    (
        Option("--text", "TEXT", "of a discovery"),
        Option("--wrong", "TEXT", "of a correction or a pattern"),
        Option("--right", "TEXT", "of a correction"),
        Option("--rule", "TEXT", "of a pattern's record; mesh pattern edit changes it for all records"),
        Option("--topic", "WORD", "what it is about"),
        Option("--tags", "A,B", "all of its tags, with commas"),
        Option("--category", "NAME", "one of the mesh's categories"),
        Option("--severity", "LEVEL", "low, medium, high or critical"),
        Option("--confidence", "C", "how sure it is, from 0 to 1"),
        Option("--evidence", "TEXT", "where it can be seen"),
        Option("--minutes-lost", "N", "what it has cost"),
        Option("--repo", "REPO", "the repository it holds in; . is where we are"),
        Option("--global", "", "it holds in every repository"),
        Option("--pattern", "NAME", "the pattern a correction is counted under"),
    ),
    "mesh edit 7k3qmzpa --severity high --topic docker",
    words=(1, 1),
)


def main(argv: list[str]) -> int:
    """Change it, and show it as it is now."""
    return run(argv, SYNTAX, _edit)


def _edit(given: Given) -> int:
    from mesh.app.application import Application

    # `--repo` says what the record is to say, not which of several teams' homes it is in.
    application = Application(given.text("home") or home_path())
    changes: dict[str, Any] = {name: given.text(name) for name in _TEXTS if given.has(name)}
    if given.has("tags"):
        changes["tags"] = given.words_of("tags")
    if given.has("confidence"):
        changes["confidence"] = given.fraction("confidence")
    if given.has("minutes_lost"):
        changes["minutes_lost"] = given.number("minutes_lost", None, 0, 100_000)
    if given.has("global"):
        if given.has("repo"):
            raise WrongUsage("--repo and --global exclude each other")
        changes["repo"] = ""
    elif given.has("repo"):
        changes["repo"] = application.caller.scope(given.text("repo"))
    answer = application.edit(given.words[0], changes)
    print_json(answer) if given.as_json else print_record(answer)
    tell_taken_out(answer["redacted"])
    return EXIT_WAITING if tell_proposed(answer) else EXIT_OK
