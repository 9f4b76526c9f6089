"""`mesh sample`: which sessions to harvest first, if there are too many to harvest at once."""

import gc
import os
import time
from typing import TYPE_CHECKING

import click

from clan_learnings.sessions.catalogue_table import Catalogue
from clan_learnings.sessions.session_folders import discover, refuse_missing, refuse_unknown
from mesh.cli.grammar import Given, argument, command, option
from mesh.cli.main import EXIT_OK
from mesh.cli.output import Progress, plain, print_json, put, tell, when
from mesh.core.display import number_of
from mesh.core.errors import DiskFull, HomeBusy, HomePermissions, NoHome, UsageError
from mesh.core.time_expression import span
from mesh.store.home import open_home

if TYPE_CHECKING:
    from clan_learnings.sessions.sampling import Scored


@command("mesh sample --count 20 --repo github.com/acme/api")
@argument("paths", "[PATH]...", "files or folders (default: where agents keep sessions)", nargs=-1)
@option("--count", metavar="N", type=int, default=100, help="at most so many (default: 100)")
@option("--repo", metavar="R", default="", help="only of this repository: host/owner/name, or its end")
@option("--since", metavar="TIME", default="", help="only sessions that ended since then: 2026-11-16, 30d")
@option("--min-score", metavar="S", type=int, default=0, help="only with such a score, from 4 to 16")
@option("--top-percent", metavar="P", type=float, default=0, help="so many of a hundred, instead of --count")
@option("--agent", metavar="A", default="", help="only sessions of this agent, like codex")
@option(
    "--format",
    metavar="table|json|paths",
    type=click.Choice(("table", "json", "paths")),
    default="table",
    help="what is printed (default: table)",
)
def main(given: Given) -> int:
    """Score all of them, and print the best."""
    if given.count < 1 or not 0 <= given.top_percent <= 100:
        raise UsageError("--count is at least 1, --top-percent from 0 to 100", "mesh sample --help")
    is_collecting = gc.isenabled()
    gc.disable()  # twenty thousand small values, and no rings among them
    try:
        return _sample(given)
    finally:
        if is_collecting:
            gc.enable()


def _sample(given: Given) -> int:
    from clan_learnings.sessions.sampling import best, scan, score_all

    began = time.monotonic()
    refuse_unknown(given.agent)
    refuse_missing(given.paths)
    now_ms = int(time.time() * 1000)
    since_ms = span(given.since, now_ms)[0] if given.since else 0
    files = list(discover(given.paths, given.agent, 0, os.environ))
    catalogue = _memory(given.home_of(""))
    progress = Progress("sessions")
    try:
        found = scan(files, catalogue, progress)
    finally:
        progress.done()
        if catalogue is not None:
            catalogue.close()
    scored = score_all(found.candidates, now_ms)
    chosen = best(
        scored,
        count=given.count,
        min_score=given.min_score,
        top_percent=given.top_percent,
        repo=given.repo,
        since_ms=since_ms,
    )
    if given.json or given.format == "json":
        print_json(
            {
                "files": len(files),
                "sessions": len(scored),
                "remembered": found.remembered,
                "counted": found.counted,
                "skipped": found.skipped,
                "seconds": round(time.monotonic() - began, 3),
                "sample": [each.as_json() for each in chosen],
            }
        )
        return EXIT_OK
    if given.format == "paths":
        for path in dict.fromkeys(each.candidate.path for each in chosen):
            put(path)
    elif chosen:
        _print(chosen)
    for why, number in found.skipped.items():
        tell(f"skipped {number:,}: {plain(why)}")
    tell(
        f"{len(chosen):,} of {number_of(len(scored), 'session')} in {number_of(len(files), 'file')}; {found.counted:,} counted, "
        f"{found.remembered:,} remembered, in {time.monotonic() - began:.1f} s"
    )
    return EXIT_OK


def _print(chosen: "list[Scored]") -> None:
    put(f"{'SCORE':>5} {'MESSAGES':>8} {'CALLS':>6}  {'OUTCOME':<8} {'ENDED':<10}  {'REPO':<32} SESSION")
    for each in chosen:
        one = each.candidate
        told = f"{each.score:>5} {one.messages:>8} {one.calls:>6}  {one.outcome:<8} {when(one.ended_ms)[:10]:<10}"
        put(f"{told}  {plain(one.repo or '-', 32):<32} {plain(one.key)}")


def _memory(home: str) -> "Catalogue | None":
    """Where counts are remembered. Sampling works without: nothing else is kept in a home for it."""
    try:
        return Catalogue(open_home(home).path)
    except NoHome:
        return None
    except (HomePermissions, HomeBusy, DiskFull, OSError) as error:
        tell(f"counts are not remembered: {error}")
        return None
