"""`mesh detect`: what several sessions found, ranked. Writes no record."""

from __future__ import annotations

from typing import Any

from clan_learnings.harvest.candidates import MERGED
from clan_learnings.harvest.clusters import ranked
from clan_learnings.sessions.catalogue_table import Catalogue
from mesh.cli.main import EXIT_OK
from mesh.cli.options import CommandSyntax, Given, Option, run
from mesh.cli.output import Progress, plain, print_json, put, tell
from mesh.cli.record_options import repo_name
from mesh.core.display import number_of

_MOST = 100_000
SYNTAX = CommandSyntax(
    "detect",
    "",
    (
        Option("--min-frequency", "N", "only what came up so often (default: 2)"),
        Option("-n --limit", "COUNT", "at most so many (default: 20; with --json all)"),
    ),
    "mesh detect --min-frequency 3",
)


def main(argv: list[str]) -> int:
    """Take in what was captured, and list what it amounts to."""
    return run(argv, SYNTAX, _detect)


def _detect(given: Given) -> int:
    from clan_learnings.harvest.harvest import open_harvest, told

    least = given.number("min_frequency", 2, 1, _MOST) or 1
    most = given.number("limit", _MOST if given.as_json else 20, 1, _MOST)
    progress = Progress("sessions read")
    with open_harvest(given.home) as harvest:
        with Catalogue(harvest.home) as catalogue:
            taken = harvest.intake.run(catalogue, progress)
        progress.done()
        found = [each for each in harvest.shelf.every() if each.state != MERGED and each.frequency >= least]
        listed = [told(each) for each in ranked(found)[:most]]
    if given.as_json:
        print_json({"sessions": taken.sessions, "found": len(found), "candidates": listed})
        return EXIT_OK
    for each in listed:
        put(*lines_of(each))
    if len(found) > len(listed):
        tell(f"and {len(found) - len(listed)} more: mesh detect --limit {len(found)}")
    if not found:
        tell(f"nothing came up {number_of(least, 'time')} yet", "  next: take in more sessions: mesh harvest")
    return EXIT_OK


def lines_of(told: dict[str, Any]) -> list[str]:
    """A candidate in two lines; of one that was erased, one."""
    if not told["text"]:
        return [f"{told['id']}  {told['state']:<11}  {told['kind']:<10}  {plain(told['why'])}: nothing of it is kept"]
    repos = ", ".join(repo_name(repo) if repo else "no repository" for repo in told["repos"][:3])
    more = f" and {len(told['repos']) - 3} more" if len(told["repos"]) > 3 else ""
    cost = f"; ${told['dollars']:.2f}" if told["dollars"] is not None else ""
    across = " (cross-flavour)" if told["cross_flavour"] else ""
    often = f"{number_of(told['frequency'], 'time')} in {number_of(told['sessions'], 'session')}"
    sure = f"confidence {told['confidence']:g}"
    return [
        f"{told['id']}  {told['state']:<11}  {told['kind']:<10}  {plain(told['text'])}",
        f"          {often} of {', '.join(map(plain, told['flavours']))}{across}; {repos}{more}{cost}; {sure}",
    ]
