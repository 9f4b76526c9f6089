"""`mesh harvest`: finished sessions become knowledge: capture, detect, gate and curate in one go."""

import os
import time
from collections.abc import Callable
from typing import Any

from clan_learnings.harvest.harvest import open_harvest, trial
from clan_learnings.harvest.model_extraction import ModelExtraction
from clan_learnings.sessions.analysis import real_analysts
from clan_learnings.sessions.capture import Capture, CaptureReport
from clan_learnings.sessions.capture_settings import keep_within, read_settings
from clan_learnings.sessions.catalogue_table import Catalogue
from clan_learnings.sessions.session_folders import discover, refuse_missing, refuse_unknown
from mesh.cli.grammar import Given, argument, command, option
from mesh.cli.main import EXIT_FAILED, EXIT_OK, EXIT_WAITING
from mesh.cli.output import Progress, plain, print_json, put, say, tell
from mesh.cli.record_options import repo_name
from mesh.core.display import number_of
from mesh.core.errors import UsageError
from mesh.core.time_expression import span

_SHOWN = 10
_MOST_SECONDS = 3600  # for one session


@command("mesh harvest --since 30d")
@argument("paths", "[PATH]...", "transcripts or folders (default: where agents keep sessions)", nargs=-1)
@option("--agent", metavar="A", default="", help="only sessions of this agent, like codex")
@option("--since", metavar="TIME", default="", help="only files written since then: 2026-11-16, 30d")
@option("--dry-run", help="say what is found in each file, keep nothing")
@option(
    "--extractor",
    metavar="COMMAND",
    may_be_empty=True,
    help="also ask this program about each session, like 'claude -p'",
)
@option("--extractor-seconds", metavar="N", type=int, help="how long it may take for one session (default: 180)")
def main(given: Given) -> int:
    """Harvest, or say what would be found."""
    _refuse_seconds(given)
    refuse_unknown(given.agent)
    refuse_missing(given.paths)
    since_ms = span(given.since, int(time.time() * 1000))[0] if given.since else 0
    return _try(given, since_ms) if given.dry_run else _harvest(given, since_ms)


def _refuse_seconds(given: Given) -> None:
    if given.extractor_seconds is None:
        return
    example = "mesh harvest --extractor 'claude -p' --extractor-seconds 600"
    if given.extractor is None:
        raise UsageError("--extractor-seconds is for --extractor, and none is given", f"name the program: {example}")
    if not 1 <= given.extractor_seconds <= _MOST_SECONDS:
        raise UsageError(f"--extractor-seconds takes a number from 1 to {_MOST_SECONDS:,}", f"like this: {example}")


def _asked(given: Given, paths: list[str], said: Callable[[int], None] = lambda _: None) -> ModelExtraction | None:
    """The model that is asked too, if one is."""
    return None if given.extractor is None else ModelExtraction(given.extractor, paths, said, given.extractor_seconds)


def _try(given: Given, since_ms: int) -> int:

    progress = Progress("files read")
    asked = _asked(given, [])
    found = trial(given.paths, given.agent, since_ms, os.environ, asked, progress)
    progress.done()
    if given.json:
        print_json(found.items)
    else:
        for item in found.items:
            fixed = f"-{item['fix_line']}" if item["fix_line"] else ""
            put(f"{plain(item['file'])}:{item['evidence_line']}{fixed}  {item['kind']} {item['confidence']:g}")
            put(f"    {plain(item['text'])}")
    for name, why in found.skipped:
        tell(f"skipped: {plain(name)}: {plain(why)}")
    for problem in asked.problems() if asked is not None else ():
        tell(plain(problem))
    sessions = number_of(found.sessions, "session")
    tell(f"{number_of(len(found.items), 'item')} in {sessions} of {number_of(found.files, 'file')}; nothing was kept")
    return EXIT_OK


def _harvest(given: Given, since_ms: int) -> int:

    with open_harvest(given.home) as harvest:
        files = list(discover(given.paths, given.agent, since_ms, os.environ))
        report = _captured(harvest.home, files)
        reading, asking, writing = Progress("sessions judged"), Progress("answers"), Progress("candidates written")
        asked = _asked(given, [found.path for found in files] if given.paths else [], asking)
        summary = harvest.run(reading, writing, asked)
        for progress in (reading, asking, writing):
            progress.done()
    told = summary.as_json()
    if given.json:
        print_json({"captured": report.as_json()} | told)
    else:
        _print(report, told)
    if report.failed or report.lost:
        return EXIT_FAILED
    return EXIT_WAITING if told["stopped"] else EXIT_OK


def _captured(home: str, files: list[Any]) -> CaptureReport:

    bar = Progress("transcripts", len(files))
    with Catalogue(home) as catalogue:
        catalogue.sweep()
        try:
            report = Capture(catalogue, real_analysts(), has_crew=True).run(files, bar)
        finally:
            bar.done()
        report.dropped, report.lost = keep_within(catalogue, read_settings(home).budget)
    return report


def _print(report: CaptureReport, told: dict[str, Any]) -> None:
    put(f"captured   {report.ingested:,} of {number_of(report.discovered, 'file')}; {report.unchanged:,} known before")
    put(f"read       {number_of(told['sessions'], 'session')}, {number_of(told['items'], 'item')}")
    again = f", {told['rejected_again']} of them to what was rejected" if told["rejected_again"] else ""
    put(
        f"learned    {number_of(told['founded'], 'candidate')}; {number_of(told['merged'], 'signal')} merged into those there were{again}"
    )
    for each in told["learned"][:_SHOWN]:
        put(f"           {each['id']}  {each['state']:<11}  {plain(each['text'], 200)}")
    known = f"; {told['known']} were known already" if told["known"] else ""
    put(f"recorded   {number_of(len(told['recorded']), 'record')}{known}")
    for record in told["recorded"][:_SHOWN]:
        put(f"           {record['id']}  {record['kind']:<10}  {plain(record['text'], 200)}")
    for document in told["documents"][:_SHOWN]:
        put(f"document   {document['id']}  {plain(document['title'], 200)}")
    for slug in told["hot"]:
        put(f"HOT        {plain(slug, 100)}: every session is told from now on")
    if told["stopped"]:
        left = number_of(told["stopped"]["candidates"], "candidate")
        put(f"stopped    {left} not written: {plain(told['stopped']['why'], 500)}")
        tell(f"  next: {told['stopped']['next']}")
    _print_waiting(told)
    for why, count in report.skipped.most_common():
        tell(f"skipped: {count:,}: {plain(why)}")
    for path, why in report.failures:
        tell(f"failed: {plain(path)}: {plain(why)}")
    for text in (*told["problems"], *told["warnings"]):
        tell(plain(text))


def _print_waiting(told: dict[str, Any]) -> None:
    waiting = told["waiting"]
    by_hand = waiting["person"] + waiting["hot"] + waiting["mend"] + waiting["place"]
    held = f" ({waiting['hot']} would make a pattern HOT through harvested sessions alone)" if waiting["hot"] else ""
    put(f"waiting    {number_of(by_hand, 'candidate')} for a person{held}")
    if by_hand:
        tell("  next: mesh curate")
    if waiting["share"]:
        put(
            f"           {number_of(waiting['share'], 'candidate')} for mesh share: nothing of their repository leaves this node yet"
        )
        for repo, count in list(told["share"].items())[:_SHOWN]:
            place = repo_name(repo) if repo else "no repository: mesh share '*'"
            say(f"           {count:>5}  {place}")
        tell("  next: mesh share REPO, then mesh harvest")
    if waiting["unshared"]:
        put(
            f"           {number_of(waiting['unshared'], 'candidate')} kept here: the repository forbids sharing in .clan-mesh.toml (share = false, or not understood)"
        )
