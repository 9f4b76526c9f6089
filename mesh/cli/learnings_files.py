"""`mesh learnings export` and `import`: documents as files in a folder, and what became of each."""

from __future__ import annotations

import os

from mesh.cli.main import EXIT_OK, EXIT_REFUSED, EXIT_WAITING
from mesh.cli.options import Given
from mesh.cli.output import Progress, plain, print_json, put, tell
from mesh.core.errors import UsageError
from mesh.core.quantities import number_of

TYPE_CHECKING = False  # see `mesh`
if TYPE_CHECKING:
    from typing import Any

    from mesh.app.desk import Desk

_TOLD = 50  # lines of unchanged or missing ones that are shown


def export_(given: Given, desk: Desk, scope: str | None, filters: dict[str, Any]) -> int:
    """Write them, and say which."""
    from mesh.app.learnings_exchange import export_to

    folder = given.words[0]
    answer = export_to(desk, folder, scope, prune=given.has("prune"), **filters)
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
    from mesh.app.desk import Desk
    from mesh.app.learnings_exchange import import_from

    folder = given.words[0]
    if not os.path.isdir(folder):
        raise UsageError(f"there is no folder {folder}", "write one first: mesh learnings export DIR")
    progress = Progress("files")
    try:
        answer = import_from(
            Desk(given.home, folder=os.path.abspath(folder), is_bulk=True),
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
