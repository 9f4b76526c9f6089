"""`mesh learnings`: documents of a problem and its solution: adding, changing, listing, and exchanging them with a folder of Markdown."""

from __future__ import annotations

import os
import time
from calendar import timegm
from itertools import islice
from typing import Any

from clan_learnings.documents.learning import learning_from_record
from clan_learnings.documents.learning_markdown import rendered
from clan_learnings.records.record import SEVERITIES, one_of
from mesh.app.application import Application
from mesh.app.learnings import listed, row, stats
from mesh.app.learnings_exchange import export_to, import_from
from mesh.cli.grammar import ALL, REPO, Fraction, Given, Whole, WrongUsage, argument, command, option, options
from mesh.cli.main import EXIT_OK, EXIT_REFUSED, EXIT_WAITING
from mesh.cli.output import Progress, plain, print_json, put, put_ours, tell, tell_inexact
from mesh.cli.record_options import application_of, repo_name
from mesh.core.display import harmless_value, number_of
from mesh.core.errors import UsageError
from mesh.core.time_expression import span

_TOLD = 50  # lines of unchanged or missing ones that are shown


def export_(given: Given, application: Application, scope: str | None, filters: dict[str, Any]) -> int:
    """Write them, and say which."""
    folder = given.folder
    answer = export_to(application, folder, scope, prune=given.has("prune"), **filters)
    if given.json:
        print_json(answer)
    else:
        for name in answer["written"]:
            put(f"written  {plain(name)}")
        for name in answer["removed"]:
            put(f"removed  {plain(name)}")
    for one in answer["kept"]:
        tell(f"mesh: left alone: {plain(one['file'])}: {plain(one['why'])}")
    if answer["stale"]:
        names = ", ".join(plain(name) for name in answer["stale"][:_TOLD])
        tell(f"mesh: of learnings that are no more: {names}", f"  next: mesh learnings export {plain(folder)} --prune")
    tell(
        f"{number_of(answer['learnings'], 'learning')}: {len(answer['written'])} written, {answer['unchanged']} as they were, "
        f"{len(answer['kept'])} left alone"
    )
    if not answer["learnings"] and scope is not None:
        tell("  next: mesh learnings export DIR --all takes those of every repository")
    return EXIT_REFUSED if answer["kept"] else EXIT_OK


@command(
    "mesh learnings import docs/solutions --dry-run",
    more="A changed file changes its record, a new one becomes a record, a deleted one changes nothing unless that is asked for.",
    may_be_empty=True,
)
@argument("folder", "DIR")
@option("--dry-run", help="say what would be done, and do nothing")
@option("--no-link", help="do not write ids into the files of new documents")
@option("--retract-missing", help="retract documents whose exported files were deleted")
def import_(given: Given) -> int:
    """Take them in, and say what became of each."""
    folder = given.folder
    if not os.path.isdir(folder):
        raise UsageError(f"there is no folder {folder}", "write one first: mesh learnings export DIR")
    progress = Progress("files")
    try:
        answer = import_from(
            Application(given.home, os.environ, os.path.abspath(folder), is_bulk=True),
            folder,
            dry_run=given.has("dry_run"),
            link=not given.has("no_link"),
            retract_missing=given.has("retract_missing"),
            progress=progress,
        )
    finally:
        progress.done()
    if given.json:
        print_json(answer)
    else:
        _print(answer)
    if answer.get("kept_here"):
        verb = "would stay" if answer["dry_run"] else "stays"
        tell(f"mesh: what is new {verb} on this machine, as with --private: {plain(answer['kept_here'])}")
    if answer["missing"]:
        tell(
            f"mesh: {number_of(len(answer['missing']), 'learning')} written here before, whose files are gone; nothing was done about that",
            f"  next: mesh learnings export {plain(folder)} brings them back; import --retract-missing takes the records back",
        )
    counts = ", ".join(f"{answer[state]} {state}" for state in ("new", "changed", "unchanged", "skipped"))
    tell(f"{'would be: ' if answer['dry_run'] else ''}{counts}")
    if stopped := answer["stopped"]:
        left = f"{number_of(stopped['files'], 'file')} not looked at" if stopped["files"] else "some not retracted"
        tell(f"mesh: stopped, {left}: {stopped['why']}", f"  next: {stopped['next']}")
        return EXIT_WAITING
    return EXIT_OK


def _print(answer: dict[str, Any]) -> None:
    for one in answer["files"]:
        if one["state"] in ("new", "changed"):
            fields = f": {', '.join(one['fields'])}" if one["fields"] else ""
            put(f"{one['state']:<9}  {one['id'][:8]:<8}  {plain(one['file'])}{fields}")
        elif one["state"] == "skipped":
            tell(f"mesh: left alone: {plain(one['file'])}: {plain(one['why'])}")
        for field, theirs in one["also_changed"].items():
            tell(
                f"mesh: {plain(one['file'])}: somebody else has changed its {field} too; what the file says counts now. Theirs was:",
                f"  {plain(theirs, 2000)}",
            )
        for remark in one["remarks"]:
            tell(f"mesh: {plain(one['file'])}: {plain(remark)}")
    for record in answer["retracted"]:
        put(f"retracted  {record[:8]}")


_MOST = 1000
_FILTERS = options(
    option("--category", metavar="NAME", help="only of this category"),
    option("--tag", metavar="TAG", help="only with this tag"),
    option("--severity", metavar="LEVEL", help="only of this severity"),
    option("--min-quality", metavar="Q", type=Fraction(), help="only of this quality or better, from 0 to 1"),
    option("--since", metavar="TIME", help="only from then on: 2026-11-16, or how long ago: 30d"),
)


@command("mesh learnings list --category build-errors --min-quality 0.7", is_filter=True, may_be_empty=True)
@REPO
@ALL
@_FILTERS
@option("-n", metavar="COUNT", type=Whole(1, _MOST), default=20, help=f"at most so many, up to {_MOST} (default: 20)")
def list_(given: Given) -> int:
    """Print them, a line each."""
    application = application_of(given)
    scope = _scope(given, application)
    count = given.n
    filters = filters_of(given)

    def ask(memory: Any) -> dict[str, Any]:
        found = islice(listed(memory, scope, **filters), count)
        return {"repo": scope, "learnings": [row(memory, note, learning) for note, learning in found]}

    answer = application.ask(ask)
    if given.json:
        print_json(answer)
        return EXIT_OK
    for one in answer["learnings"]:
        put(
            f"{one['id']}  {one['at'][:10]}  {plain(one['category'], 40)}  {quality_of(one)}  {_opened(one)}  {plain(one['title'])}"
        )
    if not answer["learnings"]:
        where = "" if scope is None else f" in {repo_name(scope)}; --all looks in every repository"
        tell(f"there are no such learnings{where}")
    return EXIT_OK


@command("mesh learnings show 7k3qmzpa", may_be_empty=True)
@argument("record", "ID")
def show(given: Given) -> int:
    """Print it."""
    answer = application_of(given).show(given.record)
    if answer["log"] != "learnings":
        raise WrongUsage(f"{given.record} is a {answer['kind']}, no learning: mesh show {given.record}")
    if given.json:
        print_json(answer)
        return EXIT_OK
    at_ms = timegm(time.strptime(answer["at"], "%Y-%m-%dT%H:%M:%SZ")) * 1000
    record = harmless_value(answer["record"])
    put_ours(rendered(learning_from_record(record, at_ms), answer["whole_id"]))  # our mark, around harmless fields
    if record != answer["record"]:
        tell_inexact(f"mesh learnings show {answer['id']} --json")
    return EXIT_OK


@command("mesh learnings stats --all", is_filter=True, may_be_empty=True)
@REPO
@ALL
def stats_(given: Given) -> int:
    """Count them."""
    application = application_of(given)
    scope = _scope(given, application)
    answer = application.ask(lambda memory: stats(memory, scope))
    if given.json:
        print_json(answer)
        return EXIT_OK
    where = "in every repository" if scope is None else f"in {repo_name(scope)}"
    put(
        f"{number_of(answer['learnings'], 'learning')} {where}, {_opened(answer)}, quality {quality_of(answer)} on average"
    )
    for one in answer["by_category"]:
        put(
            f"  {plain(one['category'], 40):<28}{one['learnings']:>5}  quality {quality_of(one)}  {_opened(one)}, newest {one['newest']}"
        )
    for title, counts in (("by quality", answer["by_quality"]), ("by age", answer["by_age"])):
        put(f"{title}: {', '.join(f'{name}: {count}' for name, count in counts.items())}")
    for one in answer["most_opened"]:
        put(f"  {one['id']}  {_opened(one)}  {plain(one['title'])}")
    return EXIT_OK


def filters_of(given: Given) -> dict[str, Any]:
    """What a list or an export is limited to."""
    since = span(given.word("since"), int(time.time() * 1000))[0] if given.has("since") else None
    return {
        "category": given.word("category"),
        "tag": given.word("tag"),
        "severity": one_of(given.word("severity"), SEVERITIES, "severity"),
        "min_quality": given.min_quality or 0.0,
        "since_ms": since,
    }


def quality_of(one: dict[str, Any]) -> str:
    """A figure, or a hyphen."""
    return "-" if one["quality"] is None else f"{one['quality']:.2f}"


def _opened(one: dict[str, Any]) -> str:
    return f"opened {number_of(one['opened'], 'time')}"


def _scope(given: Given, application: Any) -> str | None:
    scope: str | None = None if given.has("all") else application.caller.scope(given.repo)
    return scope


@command(
    "mesh learnings export docs/solutions",
    more="DIR/<category>/<slug>.md. Files that are not ours, or that were edited and not imported yet, are left alone.",
    may_be_empty=True,
)
@argument("folder", "DIR")
@REPO
@ALL
@_FILTERS
@option("--prune", help="remove untouched files of documents that are no more")
def export(given: Given) -> int:
    """Write them, and say which."""
    application = application_of(given)
    return export_(given, application, _scope(given, application), filters_of(given))
