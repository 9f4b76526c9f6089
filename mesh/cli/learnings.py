"""`mesh learnings`: documents of a problem and its solution: adding, changing, listing, and exchanging them with a folder of Markdown."""

from __future__ import annotations

import os
import time
from calendar import timegm
from collections.abc import Callable
from itertools import islice
from typing import Any

from clan_learnings.documents.learning import learning_from_record
from clan_learnings.documents.learning_markdown import rendered
from clan_learnings.records.record import SEVERITIES, one_of
from mesh.app.application import Application
from mesh.app.learnings import listed, row, stats
from mesh.app.learnings_exchange import export_to, import_from
from mesh.cli.learnings_edit import SECTIONS, add, edit
from mesh.cli.main import EXIT_OK, EXIT_REFUSED, EXIT_WAITING
from mesh.cli.options import ALL, REPO, CommandSyntax, Given, Option, WrongUsage, run
from mesh.cli.output import Progress, plain, print_json, put, put_ours, tell, tell_inexact
from mesh.cli.record_options import ABOUT, PRIVATE, application_of, repo_name
from mesh.cli.subcommands import chosen
from mesh.core.display import harmless_value, number_of
from mesh.core.errors import UsageError
from mesh.core.time_expression import span

_TOLD = 50  # lines of unchanged or missing ones that are shown


def export_(given: Given, application: Application, scope: str | None, filters: dict[str, Any]) -> int:
    """Write them, and say which."""
    folder = given.words[0]
    answer = export_to(application, folder, scope, prune=given.has("prune"), **filters)
    if given.as_json:
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


def import_(given: Given) -> int:
    """Take them in, and say what became of each."""
    folder = given.words[0]
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
    if given.as_json:
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
_FILTERS = (
    Option("--category", "NAME", "only of this category"),
    Option("--tag", "TAG", "only with this tag"),
    Option("--severity", "LEVEL", "only of this severity"),
    Option("--min-quality", "Q", "only of this quality or better, from 0 to 1"),
    Option("--since", "TIME", "only from then on: 2026-11-16, or how long ago: 30d"),
)
# name: sentence, example
MEMBERS = {
    "add": (
        "Record a document: from options, from a file, or from stdin.",
        'mesh learnings add --title "Uploads fail after an hour" --problem "..." --solution "..."',
    ),
    "edit": (
        "Change a document: field by field, or in an editor.",
        'mesh learnings edit 7k3qmzpa --prevention "log in right before the upload"',
    ),
    "list": ("List documents, the newest first.", "mesh learnings list --category build-errors --min-quality 0.7"),
    "show": ("Show a document, as Markdown.", "mesh learnings show 7k3qmzpa"),
    "stats": (
        "Say how many there are, how good, how old, and how often they are opened.",
        "mesh learnings stats --all",
    ),
    "export": ("Write documents as Markdown files, by category.", "mesh learnings export docs/solutions"),
    "import": (
        "Take in what people wrote or changed in such files.",
        "mesh learnings import docs/solutions --dry-run",
    ),
}
_TAKES: dict[str, tuple[str, tuple[Option, ...], tuple[int, int], str]] = {  # usage, options, words, more
    "add": (
        "[FILE|-]",
        (*SECTIONS, *ABOUT, PRIVATE),
        (0, 1),
        (
            "FILE is Markdown, as `export` writes it, or a JSON object of the fields; - reads it from stdin. Options come before it.\n"
            "It needs a problem and a solution, 200 characters in all; an example and how to prevent it make it better."
        ),
    ),
    "edit": (
        "ID",
        (
            *SECTIONS,
            Option("--topic", "WORD", "what it is about"),
            Option("--tags", "A,B", "all of its tags, with commas"),
            Option("--category", "NAME", "one of the mesh's categories"),
            Option("--severity", "LEVEL", "low, medium, high or critical"),
            Option("--confidence", "C", "how sure it is, from 0 to 1"),
            Option("--quality", "Q", "how good it is, from 0 to 1 (default: worked out anew)"),
            Option("--evidence", "TEXT", "where it can be seen"),
            Option("--minutes-lost", "N", "what it has cost"),
            Option("--repo", "REPO", "the repository it holds in; . is where we are"),
            Option("--global", "", "it holds in every repository"),
            Option("--file", "FILE", "the whole document from a file; - reads it from stdin"),
        ),
        (1, 1),
        "Without options it opens in VISUAL or EDITOR.",
    ),
    "list": (
        "",
        (REPO, ALL, *_FILTERS, Option("-n", "COUNT", f"at most so many, up to {_MOST} (default: 20)")),
        (0, 0),
        "",
    ),
    "show": ("ID", (), (1, 1), ""),
    "stats": ("", (REPO, ALL), (0, 0), ""),
    "export": (
        "DIR",
        (REPO, ALL, *_FILTERS, Option("--prune", "", "remove untouched files of documents that are no more")),
        (1, 1),
        "DIR/<category>/<slug>.md. Files that are not ours, or that were edited and not imported yet, are left alone.",
    ),
    "import": (
        "DIR",
        (
            Option("--dry-run", "", "say what would be done, and do nothing"),
            Option("--no-link", "", "do not write ids into the files of new documents"),
            Option("--retract-missing", "", "retract documents whose exported files were deleted"),
        ),
        (1, 1),
        "A changed file changes its record, a new one becomes a record, a deleted one changes nothing unless that is asked for.",
    ),
}


def main(argv: list[str]) -> int:
    """Run `mesh learnings MEMBER ...`."""
    found = chosen(
        "learnings", "Work with documents: a problem, its solution, how to prevent it.", MEMBERS, "list", argv
    )
    if isinstance(found, int):
        return found
    name, rest = found
    sentence, example = MEMBERS[name]
    usage, options, words, more = _TAKES[name]
    shape = CommandSyntax(
        f"learnings {name}",
        usage,
        options,
        example,
        words=words,
        more=more,
        sentence=sentence,
        is_filter=name in ("list", "stats"),
    )
    return run(rest, shape, _RUN[name])


def _list(given: Given) -> int:

    application = application_of(given)
    scope = _scope(given, application)
    count = given.number("n", 20, 1, _MOST) or 20
    filters = filters_of(given)

    def ask(memory: Any) -> dict[str, Any]:
        found = islice(listed(memory, scope, **filters), count)
        return {"repo": scope, "learnings": [row(memory, note, learning) for note, learning in found]}

    answer = application.ask(ask)
    if given.as_json:
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


def _show(given: Given) -> int:

    answer = application_of(given).show(given.words[0])
    if answer["log"] != "learnings":
        raise WrongUsage(f"{given.words[0]} is a {answer['kind']}, no learning: mesh show {given.words[0]}")
    if given.as_json:
        print_json(answer)
        return EXIT_OK
    at_ms = timegm(time.strptime(answer["at"], "%Y-%m-%dT%H:%M:%SZ")) * 1000
    record = harmless_value(answer["record"])
    put_ours(rendered(learning_from_record(record, at_ms), answer["whole_id"]))  # our mark, around harmless fields
    if record != answer["record"]:
        tell_inexact(f"mesh learnings show {answer['id']} --json")
    return EXIT_OK


def _stats(given: Given) -> int:

    application = application_of(given)
    scope = _scope(given, application)
    answer = application.ask(lambda memory: stats(memory, scope))
    if given.as_json:
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
    since = span(given.text("since"), int(time.time() * 1000))[0] if given.has("since") else None
    return {
        "category": given.text("category"),
        "tag": given.text("tag"),
        "severity": one_of(given.text("severity"), SEVERITIES, "severity"),
        "min_quality": given.fraction("min_quality") or 0.0,
        "since_ms": since,
    }


def quality_of(one: dict[str, Any]) -> str:
    """A figure, or a hyphen."""
    return "-" if one["quality"] is None else f"{one['quality']:.2f}"


def _opened(one: dict[str, Any]) -> str:
    return f"opened {number_of(one['opened'], 'time')}"


def _scope(given: Given, application: Any) -> str | None:
    scope: str | None = None if given.has("all") else application.caller.scope(given.maybe("repo"))
    return scope


def _export(given: Given) -> int:
    application = application_of(given)
    return export_(given, application, _scope(given, application), filters_of(given))


_RUN: dict[str, Callable[[Given], int]] = {
    "add": add,
    "edit": edit,
    "list": _list,
    "show": _show,
    "stats": _stats,
    "export": _export,
    "import": import_,
}
