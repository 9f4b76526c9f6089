"""`mesh import --from`: what people had before becomes candidates to look at, or records."""

import os
from typing import Any

from clan_learnings.harvest.harvest import open_harvest
from clan_learnings.imports.candidates import READERS, Adoption
from clan_learnings.imports.finding import LINES, NOTES
from clan_learnings.imports.record_lines import RecordLines
from clan_learnings.repository.remote_name import named_repo
from mesh.app.application import Application
from mesh.app.record_import import import_lines
from mesh.cli.grammar import Given
from mesh.cli.main import EXIT_OK, EXIT_WAITING
from mesh.cli.output import Progress, plain, print_json, put, tell, tell_taken_out
from mesh.core.display import number_of
from mesh.core.errors import UsageError

SOURCES = (*NOTES, *LINES)
_SHOWN = 10


def import_from(given: Given) -> int:
    """Each path of one kind."""
    kind, repo = given.word("from"), named_repo(given.repo) if given.repo else ""
    if given.has("private"):
        raise UsageError("--private is for bundles", f"leave it out: mesh import --from {kind} PATH")
    for path in given.files:
        if not os.path.exists(path):
            raise UsageError(f"there is no {path}", f"name what to import: mesh import --from {kind} PATH")
    code = EXIT_OK
    for path in given.files:
        answer = {"file": path, "from": kind}
        answer |= _records(given, kind, path, repo) if kind in LINES else _candidates(given, kind, path, repo)
        if given.json:
            print_json(answer)
        else:
            _print(answer)
        code = max(code, EXIT_WAITING if answer.get("stopped") else EXIT_OK)
    return code


def _candidates(given: Given, kind: str, path: str, repo: str) -> dict[str, Any]:
    imported = READERS[kind](path)
    with open_harvest(given.home) as harvest:
        counts, fresh, redacted = Adoption(kind, os.environ, repo).into(harvest, imported)
    return {
        "read": imported.read,
        "found": counts.items,
        "candidates": counts.founded,
        "joined": counts.joined,
        "rejected_again": counts.again,
        "known": counts.items - counts.founded - counts.joined - counts.again - counts.taken_back,
        "taken_back": counts.taken_back,
        "skipped": dict(imported.skipped.most_common()),
        "new": fresh[:_SHOWN],
        "redacted": redacted,
    }


def _records(given: Given, kind: str, path: str, repo: str) -> dict[str, Any]:
    lines = RecordLines(os.path.join(path, f"{kind}.jsonl") if os.path.isdir(path) else path, repo)
    progress = Progress("lines", len(lines.lines))
    try:
        application = Application(given.home, os.environ, os.getcwd(), is_bulk=True)
        return import_lines(application, kind, lines, progress)
    finally:
        progress.done()


def _print(answer: dict[str, Any]) -> None:
    name = plain(answer["file"])
    if "recorded" in answer:
        put(
            f"{name}: {number_of(answer['recorded'], 'record')} of {number_of(answer['read'], 'line')}; {answer['known']} known already"
        )
        for what in answer["redacted"]:
            tell_taken_out(what)
    else:
        known = answer["known"] + answer["rejected_again"] + answer["taken_back"]
        put(
            f"{name}: {number_of(answer['candidates'], 'candidate')} of {number_of(answer['found'], 'point')};"
            f" {answer['joined']} joined others, {known} known already"
        )
        for each in answer["new"]:
            put(f"  {each['id']}  {plain(each['text'], 120)}")
        tell_taken_out(answer["redacted"])
    for why, count in answer["skipped"].items():
        tell(f"  skipped {count:,}: {plain(why)}")
    if answer.get("kept_here"):
        tell(f"  they stay on this machine: {plain(answer['kept_here'])}")
    if answer.get("stopped"):
        tell(f"  stopped, {answer['stopped']['lines']:,} lines are left: {plain(answer['stopped']['why'])}")
        tell(f"  next: {answer['stopped']['next']}")
    elif answer.get("recorded"):
        tell("  next: mesh tail")
    elif answer.get("candidates") or answer.get("joined"):
        tell("  next: mesh curate")
