"""`mesh trust-repo`: let the checkout in a folder name its repository itself. Not for agents: it protects people from them.

What was said is kept in `clan_learnings.repository.consent`; who may name what without it is decided in `clan_learnings.repository.detection`.
"""

from __future__ import annotations

import os
from typing import Any

from clan_learnings.agents.surroundings import require_person
from clan_learnings.repository.consent import file_of, forget, pairs, trust
from clan_learnings.repository.detection import NOWHERE, Repository, find
from clan_learnings.repository.repository_settings import NAME, read_repo_file
from mesh.cli.grammar import Given, WrongUsage, argument, command, option
from mesh.cli.home_option import quoted
from mesh.cli.main import EXIT_OK
from mesh.cli.output import plain, print_json, put, tell
from mesh.core.errors import UsageError


@command(
    "mesh trust-repo ~/src/shop",
    more="PATH is the checkout, or a folder in it (default: the current folder). It is needed only where .clan-mesh.toml names a\n"
    "repository that no git remote of the checkout names. It holds for that folder and that name, on this machine.",
    may_be_empty=True,
)
@argument("path", "[PATH]", required=False)
@option("--list", help="list the folders that were trusted")
@option("--forget", help="take it back for this folder")
def main(given: Given) -> int:
    """Trust a folder, take it back, or list them."""
    if given.has("list") and (given.path or given.has("forget")):
        raise WrongUsage("--list stands alone")
    if given.has("list"):
        return _list(as_json=given.json)
    path = os.path.abspath(given.path or os.getcwd())
    answer = _forget(path) if given.has("forget") else _trust(path)
    if given.json:
        print_json(answer)
    else:
        put(plain(answer["says"], 1000))
        if answer["trusted"] and answer["changed"]:
            tell(f"  next: to take it back: mesh trust-repo {quoted(answer['folder'])} --forget")
    return EXIT_OK


def _trust(path: str) -> dict[str, Any]:

    found = _checkout(path)
    repo, file = found.file.repo, os.path.join(found.root, NAME)
    folder = os.path.realpath(found.root)
    if not repo:
        why = f": {found.file.problem}" if found.file.problem else ""
        raise UsageError(
            f"{file} names no repository{why}" if os.path.lexists(file) else f"there is no {file}",
            f'it is needed only where that file has a line like: repo = "{found.identity or "github.com/acme/shop"}"',
        )
    if not found.unconfirmed:
        by_hand = (repo, folder) in _said()
        why = "it was trusted already" if by_hand else "a git remote of it says so, and nothing has to be trusted"
        return _answer(found, trusted=by_hand, changed=False, says=f"{folder} is {repo}: {why}")
    require_person(
        os.environ, "whose memory a checkout may read", f"mesh trust-repo {quoted(folder)}"
    )  # an agent that reads the clone is whom the clone would ask
    if "\n" in folder:
        raise UsageError(f"{folder!r} cannot be noted: it has a line break in it", "rename that folder")
    trust(os.environ, folder, repo)
    return _answer(found, trusted=True, changed=True, says=f"{folder} is {repo} from now on")


def _forget(path: str) -> dict[str, Any]:
    """By the path alone where the folder is gone: what was said for it must not wait there for another."""
    found = find(path, os.environ) if os.path.isdir(path) else NOWHERE
    folder = os.path.realpath(found.root or path)
    changed = forget(os.environ, folder)
    says = "may no longer name its repository itself" if changed else "was not trusted"
    return {"folder": folder, "repo": None, "trusted": False, "changed": changed, "says": f"{folder} {says}"}


def _list(*, as_json: bool) -> int:

    rows = [
        {
            "folder": folder,
            "repo": repo,
            "exists": os.path.isdir(folder),
            "names_it": read_repo_file(folder).repo == repo,
        }
        for repo, folder in _said()
    ]
    if as_json:
        print_json({"trusted": rows})
        return EXIT_OK
    for row in rows:
        note = "" if row["names_it"] else "  (gone)" if not row["exists"] else "  (its file does not name it now)"
        put(f"{plain(row['repo'])}  {plain(row['folder'], 1000)}{note}")
    if not rows:
        tell("no folder was trusted to name its repository")
    return EXIT_OK


def _checkout(path: str) -> Repository:

    if not os.path.isdir(path):
        raise UsageError(f"there is no folder {path}", "name the checkout: mesh trust-repo PATH")
    found = find(path, os.environ)
    if not found.root:
        raise UsageError(
            f"{path} is in no git checkout, so nothing there names a repository",
            "name the checkout: mesh trust-repo PATH",
        )
    return found


def _answer(found: Repository, *, trusted: bool, changed: bool, says: str) -> dict[str, Any]:
    told = {"folder": os.path.realpath(found.root), "repo": found.file.repo}
    return told | {"trusted": trusted, "changed": changed, "says": says}


def _said() -> list[tuple[str, str]]:

    return pairs(file_of(os.environ))
