"""`mesh share`: which repositories' harvest may leave this node. Off for all others."""

from __future__ import annotations

import os
from collections import Counter
from typing import Any

from clan_learnings.harvest.candidate_table import CandidateStore, CandidateTable, has_candidates
from clan_learnings.harvest.candidates import APPROVED, FOR_SHARE, RECORDED
from clan_learnings.repository.consent import GLOB_CHARS, change_shared, is_shared, read_shared
from clan_learnings.repository.remote_name import named_repo
from mesh.app.caller import HERE, Caller, CallerSide
from mesh.cli.grammar import Given, WrongUsage, argument, command, option
from mesh.cli.main import EXIT_OK
from mesh.cli.output import plain, print_json, put, tell
from mesh.core.display import number_of
from mesh.core.errors import UsageError
from mesh.store.home import open_home


@command(
    "mesh share 'github.com/acme/*'",
    more="REPO is host/owner/name or an address, . the one we are in; GLOB has * and ?. '*' alone is everything, also what\n"
    "belongs to no repository. Harvested records of a shared repository go to the whole mesh; live ones do anyway.",
    may_be_empty=True,
)
@argument("repo_or_glob", "[REPO|GLOB]", required=False)
@option("--off", help="share it no longer; what was shared stays where it is")
@option("--list", help="list what is shared (the default, without a REPO)")
def main(given: Given) -> int:
    """Switch one on or off, or list them."""
    if given.repo_or_glob and given.has("list"):
        raise WrongUsage("--list goes alone")
    if given.has("off") and not given.repo_or_glob:
        raise WrongUsage("--off needs the repository or glob that is to be shared no longer")
    home = open_home(given.home).path
    glob = _glob(given.repo_or_glob) if given.repo_or_glob else ""
    changed = bool(glob) and change_shared(home, glob, on=not given.has("off"))
    waiting = waiting_for_share(home)
    if given.json:
        print_json({"shared": read_shared(home), "changed": changed, "waiting": waiting})
        return EXIT_OK
    if glob:
        state = ("no longer shared" if changed else "was not shared") if given.has("off") else "shared from now on"
        put(f"{plain(glob)}: {state if changed or given.has('off') else 'was shared already'}")
        if given.has("off"):
            tell("what was shared before stays where it is; to take a record back: mesh retract ID")
        elif waiting["free"]:
            tell(f"{number_of(waiting['free'], 'candidate')} may leave this node now", "  next: mesh harvest")
        return EXIT_OK
    for one in read_shared(home):
        put(plain(one))
    if not read_shared(home):
        tell("nothing that is harvested leaves this node")
    for repo, count in waiting["repos"].items():
        tell(f"{number_of(count, 'candidate')} of {plain(repo) or 'no repository'} would be shared")
    if waiting["repos"]:
        tell("  next: mesh share REPO")
    return EXIT_OK


def _glob(text: str) -> str:
    """A glob as it was given; a name or an address as records have it."""
    if len(text) > GLOB_CHARS or not text.isprintable() or not text.strip():
        raise WrongUsage("a repository or glob is a short text of one line")
    if text == HERE:
        found = Caller("", CallerSide(os.environ)).scope(None)
        if not found:
            raise WrongUsage("we are in no repository; name one: mesh share github.com/acme/api")
        return found
    if any(char in text for char in "*?["):
        return text.strip().lower()
    try:
        return named_repo(text)
    except UsageError as error:
        raise UsageError(
            f"{error}", "host/owner/name, an address, or a glob: mesh share 'github.com/acme/*'"
        ) from error


def waiting_for_share(home: str) -> dict[str, Any]:
    """Candidates by the repository they wait in, and how many of them may go."""
    repos: Counter[str] = Counter()
    free = 0
    if has_candidates(home):
        globs = read_shared(home)
        with CandidateTable(home) as kept:
            for candidate in CandidateStore(kept).every(APPROVED, RECORDED):
                held = {signal.repo for signal in candidate.waiting if signal.held == FOR_SHARE}
                repos.update(repo for repo in held if not is_shared(repo, globs))
                free += any(is_shared(repo, globs) for repo in held)
    return {"repos": dict(repos.most_common()), "free": free}
