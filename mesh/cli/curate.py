"""`mesh curate`: a person decides about what was harvested, one screen an item, or by options for scripts."""

from __future__ import annotations

import sys

from mesh.cli.main import EXIT_OK, EXIT_WAITING, complain
from mesh.cli.options import Given, Option, Shape, Wrong, run
from mesh.cli.output import plain, print_json, put, say, tell, tell_taken_out
from mesh.core.display import number_of

TYPE_CHECKING = False  # see `mesh`
if TYPE_CHECKING:
    from typing import Any

    from clan_learnings.harvest.review import CandidateReview

SHAPE = Shape(
    "curate",
    "[INTO]",
    (
        Option("--list", "", "list what waits for a person"),
        Option("--all", "", "with --list: everything that is kept, whatever its state"),
        Option("--accept", "ID", "let a candidate in, whatever the bar says"),
        Option("--repo", "REPO", "with --accept: the repository it is about, where its sessions do not tell"),
        Option("--reject", "ID", "never again, also when the same comes again"),
        Option("--reason", "TEXT", "with --reject: why"),
        Option("--edit", "ID", "say it in other words: with --text, --wrong or --right"),
        Option("--text", "TEXT", "the new sentence"),
        Option("--wrong", "TEXT", "of a correction or fix: what is wrong"),
        Option("--right", "TEXT", "and what is right"),
        Option("--merge", "ID", "what speaks for ID speaks for INTO from now on"),
        Option("--auto", "", "write what passes the bar by itself"),
    ),
    "mesh curate --reject mi3ljo4o --reason 'only true for that branch'",
    words=(0, 1),
    more="Without an option: one screen an item, and a key for each decision: accept, edit, reject, merge, skip, quit.",
)
_ACTIONS = ("list", "accept", "reject", "edit", "merge", "auto")


def main(argv: list[str]) -> int:
    """Show what waits, or decide."""
    return run(argv, SHAPE, _curate)


def _curate(given: Given) -> int:
    chosen = [name for name in _ACTIONS if given.has(name)]
    if len(chosen) > 1:
        raise Wrong(f"--{chosen[0]} and --{chosen[1]} exclude each other")
    action = chosen[0] if chosen else ""
    if (action == "merge") != bool(given.words):
        raise Wrong("two candidates are merged like this: mesh curate --merge ID INTO")
    if given.has("reason") and action != "reject":
        raise Wrong("--reason goes with --reject")
    if action != "edit" and any(given.has(name) for name in ("text", "wrong", "right")):
        raise Wrong("--text, --wrong and --right go with --edit")
    if given.has("repo") and action != "accept":
        raise Wrong("--repo goes with --accept")
    if given.has("all") and action != "list":
        raise Wrong("--all goes with --list")
    if not action and (not sys.stdin.isatty() or given.as_json):
        raise Wrong("without a terminal: --list, --accept ID, --reject ID, --edit ID, --merge ID INTO or --auto")
    from clan_learnings.harvest.harvest import open_harvest
    from clan_learnings.harvest.review import CandidateReview

    with open_harvest(given.home) as harvest:
        curator = CandidateReview(harvest)
        if not action:
            from mesh.cli.curate_screens import review

            return review(curator)
        if action == "list":
            return _list(given, curator, everything=given.has("all"))
        if action == "auto":
            return _auto(given, curator)
        return _decide(given, curator, action)


def _list(given: Given, curator: CandidateReview, *, everything: bool) -> int:
    from clan_learnings.harvest.harvest import told
    from mesh.cli.detect import lines_of

    found = [told(each) for each in (curator.all() if everything else curator.queue())]
    if given.as_json:
        print_json({"candidates": found})
        return EXIT_OK
    for each in found:
        put(*lines_of(each))
        if each["text"]:  # else it was erased, which its line says
            put(f"          {_why(each)}")
    if not found:
        tell(*(["nothing is kept yet", "  next: mesh harvest"] if everything else ["nothing waits for a person"]))
    return EXIT_OK


def _why(told: dict[str, Any]) -> str:
    """Why it waits; of what is recorded, as what."""
    records = list(dict.fromkeys(each["record"] for each in told["evidence"] if each["record"]))
    said = f"recorded as {', '.join(records[:3])}" + (f" and {len(records) - 3} more" if len(records) > 3 else "")
    if not records:
        return plain(told["why"])
    return said if not told["waits_for"] else f"{said}; the rest waits: {plain(told['why'])}"


def _auto(given: Given, curator: CandidateReview) -> int:

    written = curator.auto()
    if given.as_json:
        stopped = None if written.stopped is None else written.stopped.facts()
        told = {"recorded": written.records, "known": written.known, "hot": list(written.hot), "stopped": stopped}
        print_json(told)
        return EXIT_OK if stopped is None else EXIT_WAITING
    for record in written.records:
        put(f"{record['id']}  {record['kind']}  {plain(record['text'])}")
    for problem in written.problems:
        tell(plain(problem))
    tell(f"{number_of(len(written.records), 'record')} written, {written.known} known already")
    if written.stopped is not None:
        complain(written.stopped)
        return EXIT_WAITING
    return EXIT_OK


def _decide(given: Given, curator: CandidateReview, action: str) -> int:
    name = given.text(action)
    match action:
        case "accept":
            answer = curator.accept(name, given.text("repo"))
        case "reject":
            answer = curator.reject(name, given.text("reason"))
        case "edit":
            answer = curator.edit(name, given.text("text"), given.text("wrong"), given.text("right"))
        case _:
            answer = curator.merge(name, given.words[0])
    if given.as_json:
        print_json(answer)
    else:
        say(*decided(answer, action))
    tell_taken_out(answer.get("redacted", ""))
    return EXIT_OK


def decided(answer: dict[str, Any], action: str) -> list[str]:
    """What a decision has made of a candidate, and the next step if there is one."""
    if action == "accept":
        records = answer["recorded"]
        if records:
            return [f"{answer['id']}  accepted, recorded as {', '.join(record['id'] for record in records)}"]
        if answer["known"]:
            return [f"{answer['id']}  accepted; a record says it already"]
        if answer["trouble"]:
            return [f"{answer['id']}  accepted, but {plain(answer['trouble'][0])}"]
        if answer["state"] == "rejected":  # somebody took it back meanwhile
            return [
                f"{answer['id']}  not accepted: {answer['why']}",
                "  next: say it anew: mesh discover, mesh correct",
            ]
        if answer["waits_for"] == "unshared":
            why = "its repository forbids sharing in .clan-mesh.toml (share = false, or not understood)"
            return [
                f"{answer['id']}  accepted; but it stays here: {why}, which `mesh share` does not undo",
                "  next: change that line there, then mesh share REPO",
            ]
        repo = plain(next((each["repo"] for each in answer["evidence"] if each["held"] == "share"), "")) or "'*'"
        return [f"{answer['id']}  accepted; it leaves this node once its repository is shared: mesh share {repo}"]
    if action == "merge":
        return [f"{answer['id']}  has it all now: {number_of(answer['sessions'], 'session')}, {answer['state']}"]
    return [f"{answer['id']}  {answer['state']}: {plain(answer['text'] if action == 'edit' else answer['why'])}"]
