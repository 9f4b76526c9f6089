"""`mesh homes`: which home the records of a repository go to, for people in several teams. Edits of the list keep what a person wrote in it."""

import fcntl
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from shlex import quote
from typing import Any

import click

from mesh.app import home_choice
from mesh.app.home_choice import HomeRule
from mesh.cli.grammar import Given, WrongUsage, argument, command
from mesh.cli.home_option import repo_here
from mesh.cli.main import EXIT_OK, EXIT_WAITING
from mesh.cli.output import plain, print_json, put, tell
from mesh.core.errors import HomePermissions, UsageError

_FIRST = """# Which home the records of a repository go to: GLOB = DIR, the first that fits.
# * is anything within a part of host/owner/name, ** any parts. What fits none goes to ~/.clan-mesh.
"""


@command("mesh homes add 'github.com/acme/*' ~/.clan-mesh-acme")
@argument(
    "action",
    "[add|remove]",
    "without it: list, and say what holds here",
    type=click.Choice(["add", "remove"]),
    required=False,
)
@argument("glob", "[GLOB]", "host/owner/name, with * within a part and ** across", required=False)
@argument("folder", "[DIR]", "with add: the home", required=False)
def main(given: Given) -> int:
    """List the lines, add one, or remove one."""
    if (given.action is None) != (given.glob is None) or (given.action == "add") != (given.folder is not None):
        raise WrongUsage("it is mesh homes, mesh homes add GLOB DIR, or mesh homes remove GLOB")
    if given.action is None:
        return _list(given.home_option or None, as_json=given.json)
    glob = given.glob.strip().lower()
    path = home_choice.config_path(os.environ)
    done = add(path, glob, given.folder, os.environ) if given.action == "add" else remove(path, glob, os.environ)
    if given.json:
        print_json({"config": path, "glob": glob} | done)
    else:
        put(done["says"])
    if given.action == "add" and not os.path.exists(os.path.join(done["home"], "home.json")):
        tell(f"there is no node in {done['home']} yet", f"  next: mesh setup [TOKEN] --home {quote(done['home'])}")
    if given.action == "add":
        _warn_of_hooks()
    return EXIT_OK


def _warn_of_hooks() -> None:
    """Hooks that name a home themselves pass the list over."""
    from clan_learnings.agents.agent_files import InstallTarget
    from clan_learnings.agents.installer import check

    for state in check(InstallTarget("mesh", os.environ)):
        if state.home:
            tell(
                f"the hooks in {state.agent} name {state.home}, in every repository",
                f"  next: list the repositories of that home too, then: mesh install {state.agent}",
            )


def add(path: str, glob: str, folder: str, environ: Mapping[str, str]) -> dict[str, Any]:
    """Have a glob's repositories use a home."""
    wrong = home_choice.glob_problem(glob)
    if wrong:
        raise UsageError(f"{glob!r}: {wrong}", "mesh homes add 'github.com/acme/*' DIR")
    home = os.path.abspath(home_choice.expanded(folder, environ))
    written = _written(home, environ)
    with _editing(path) as text:
        rules = home_choice.parse(text[0], environ)
        known = next((rule for rule in rules if rule.glob == glob), None)
        lines = _lines(text[0])
        if known is not None and known.home == home:
            return {"did": "same", "home": home, "says": f"{glob} uses {home} already"}
        if known is not None:
            lines[known.line - 1] = _rewritten(lines[known.line - 1], written)
            did, says = "changed", f"{glob} uses {home} from now on, no more {known.home or 'what was not understood'}"
        else:
            wider = home_choice.covering(rules, glob)
            place = _above(lines, wider.line - 1) if wider else len(lines)
            if place and not lines[place - 1].endswith("\n"):
                lines[place - 1] += "\n"
            lines.insert(place, f"{glob} = {written}\n")
            did, says = "added", f"{glob} uses {home} from now on"
            says += f"; it stands before {wider.glob}, which would have decided first" if wider else ""
        text[0] = "".join(lines)
    return {"did": did, "home": home, "says": says}


def remove(path: str, glob: str, environ: Mapping[str, str]) -> dict[str, Any]:
    """Take a glob out of the list."""
    with _editing(path) as text:
        known = [rule for rule in home_choice.parse(text[0], environ) if rule.glob == glob]
        if not known:
            raise UsageError(f"there is no line for {glob} in {path}", "see which there are: mesh homes")
        gone = {rule.line - 1 for rule in known}
        text[0] = "".join(line for at, line in enumerate(_lines(text[0])) if at not in gone)
    return {
        "did": "removed",
        "home": known[0].home,
        "says": f"{glob} no longer uses {known[0].home}; nothing in that home was touched",
    }


def _list(only: str | None, *, as_json: bool) -> int:
    path = home_choice.config_path(os.environ)
    wrong = home_choice.problems(path, os.environ)
    rules: list[HomeRule] = []
    with suppress(HomePermissions):  # among the problems
        rules = home_choice.parse(home_choice.read(path), os.environ) if home_choice.is_there(path) else []
    shown = [rule for rule in rules if rule.glob and (only is None or rule.home == os.path.abspath(only))]
    here = _here(path)
    if as_json:
        table = [
            {"line": rule.line, "glob": rule.glob, "home": rule.home, "exists": _exists(rule.home)} for rule in shown
        ]
        print_json({"config": path, "homes": table, "problems": wrong, "here": here})
    else:
        width = max((len(rule.glob) for rule in shown), default=0)
        for rule in shown:
            put(f"{rule.glob:<{width}}  {plain(rule.home)}" + ("" if _exists(rule.home) else "  (no node there yet)"))
        if not rules:
            put(f"no list of homes in {path}" if not home_choice.is_there(path) else f"no home is listed in {path}")
        put(f"here: {plain(here['home'] or 'none')}, {plain(here['why'])}")
    for sentence in wrong:
        tell(f"{plain(sentence)}", f"  next: mend it in {path}")
    return EXIT_WAITING if wrong else EXIT_OK


def _here(path: str) -> dict[str, Any]:
    """The home of the folder we are in, and why."""
    repo = repo_here(os.environ)
    named = repo or "no repository"
    given = os.environ.get("MESH_HOME")
    if given:
        return {"repo": repo, "home": given, "line": None, "why": "as MESH_HOME says, whatever the list says"}
    try:
        rule = home_choice.rule_for(repo, os.environ)
    except (HomePermissions, UsageError) as error:
        return {"repo": repo, "home": None, "line": None, "why": str(error)}
    if rule is None:
        why = f"the default: {f'no line is for {named}' if home_choice.is_there(path) else 'there is no list'}"
        return {"repo": repo, "home": home_choice.default_home(os.environ), "line": None, "why": why}
    return {
        "repo": repo,
        "home": rule.home,
        "line": rule.line,
        "why": f"as line {rule.line} ({rule.glob}) says for {named}",
    }


def _written(home: str, environ: Mapping[str, str]) -> str:
    """A home as it stands in the list, checked by reading it back."""
    user = environ.get("HOME", "").rstrip("/")
    text = f"~{home[len(user) :]}" if user and home.startswith(user + "/") else home
    (rule,) = home_choice.parse(f"x = {text}", environ) if text.isprintable() else [HomeRule(0, "", "", "")]
    if rule.home != home:
        raise UsageError(
            f"{home!r} cannot stand in the list", "choose a path without ' #' and without control characters"
        )
    return text


def _rewritten(line: str, written: str) -> str:
    """A line with another home; glob, spacing, comment and line end stay."""
    bare = home_choice.uncommented(line)
    start = line.index(bare)
    before, equals, home = bare.partition("=")
    gap = home[: len(home) - len(home.lstrip())]
    return f"{line[:start]}{before}{equals}{gap}{written}{line[start + len(bare) :]}"


def _lines(text: str) -> list[str]:
    """The lines with their ends, cut where `homes.parse` cuts and nowhere else."""
    parts = text.split("\n")
    return [part + "\n" for part in parts[:-1]] + [part for part in parts[-1:] if part]


def _above(lines: list[str], place: int) -> int:
    """Above a line and the comment that belongs to it, but below the first words of the file."""
    while place > 0 and lines[place - 1].lstrip().startswith("#") and lines[place - 1] not in _lines(_FIRST):
        place -= 1
    return place


def _exists(home: str) -> bool:
    return os.path.exists(os.path.join(home, "home.json"))


@contextmanager
def _editing(path: str) -> Iterator[list[str]]:
    """The list's text, to be changed in place; written whole if it was changed, one editor at a time. A link stays a link."""
    target = os.path.realpath(path)
    folder = os.path.dirname(target)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    lock = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        old = home_choice.read(target) if home_choice.is_there(target) else None
        text = [_FIRST if old is None else old]
        yield text
        if text[0] != old:
            mode = 0o600 if old is None else os.stat(target).st_mode & 0o777
            draft = f"{target}.new-{os.getpid()}"
            with open(
                os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode),
                "w",
                encoding="utf-8",
                errors="surrogateescape",
                newline="",
            ) as file:
                file.write(text[0])
                file.flush()
                os.fsync(file.fileno())
            os.rename(draft, target)
    finally:
        os.close(lock)
