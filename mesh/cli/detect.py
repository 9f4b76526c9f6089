"""`mesh detect`: what several sessions found, ranked. Writes no record."""

from __future__ import annotations

from typing import Any

from clan_learnings.harvest.candidates import MERGED
from clan_learnings.harvest.clusters import ranked
from clan_learnings.sessions.catalogue_table import Catalogue
from mesh.cli.grammar import Given, Whole, command, option
from mesh.cli.main import EXIT_OK
from mesh.cli.output import Progress, plain, print_json, put, tell
from mesh.cli.record_options import repo_name
from mesh.core.display import number_of

_MOST = 100_000


@command("mesh detect --min-frequency 3", may_be_empty=True)
@option("--min-frequency", metavar="N", type=Whole(1, _MOST), default=2, help="only what came up so often (default: 2)")
@option("-n", "--limit", metavar="COUNT", type=Whole(1, _MOST), help="at most so many (default: 20; with --json all)")
def main(given: Given) -> int:
    """Take in what was captured, and list what it amounts to."""
    from clan_learnings.harvest.harvest import open_harvest, told

    least = given.min_frequency
    most = given.limit or (_MOST if given.json else 20)
    progress = Progress("sessions read")
    with open_harvest(given.home) as harvest:
        with Catalogue(harvest.home) as catalogue:
            taken = harvest.intake.run(catalogue, progress)
        progress.done()
        found = [each for each in harvest.shelf.every() if each.state != MERGED and each.frequency >= least]
        listed = [told(each) for each in ranked(found)[:most]]
    if given.json:
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
    often = often if told["sessions"] else "imported, out"
    sure = f"confidence {told['confidence']:g}"
    return [
        f"{told['id']}  {told['state']:<11}  {told['kind']:<10}  {plain(told['text'])}",
        f"          {often} of {', '.join(map(plain, told['flavours']))}{across}; {repos}{more}{cost}; {sure}",
    ]
