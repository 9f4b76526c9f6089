"""The home a repository's records go to: the user's own list of globs. Knows nothing of git, and opens no home.

Every command and hook comes through here, so nothing is imported, and without a list nothing is read. What the list says of a
repository holds even if that home is missing or cannot be used: records of one team never go to another's home instead.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from stat import S_IMODE, S_ISREG

from mesh.core.errors import HomePermissions, UsageError

NAME = "homes"
_BYTES = 256 * 1024
_OTHERS_WRITE = 0o022
_NOT_IN_GLOBS = frozenset("?[]{}!\\:@\"'")  # of other kinds of globs, of addresses, of quoting


class HomeRule:
    """One line of the list. If the home cannot be understood, `problem` says why, and who needs it gets an error."""

    __slots__ = ("glob", "home", "line", "problem")

    def __init__(self, line: int, glob: str, home: str, problem: str) -> None:
        self.line = line
        self.glob = glob  # empty: a line that says nothing we understand
        self.home = home
        self.problem = problem


def default_home(environ: Mapping[str, str]) -> str:
    """The home of whoever has one team."""
    return os.path.join(_user(environ), ".clan-mesh")


def config_path(environ: Mapping[str, str]) -> str:
    """Where the list is, or would be."""
    folder = environ.get("MESH_CONFIG", "")
    if not folder:
        base = environ.get("XDG_CONFIG_HOME", "")
        if not os.path.isabs(base):  # as the XDG specification wants it
            base = os.path.join(_user(environ), ".config")
        folder = os.path.join(base, "clan-mesh")
    return os.path.join(folder, NAME)


def is_there(path: str) -> bool:
    """Whether there is a list. A link that leads nowhere counts: what it said is not known, so it must not be passed over."""
    return os.path.lexists(path)


def home_for(repo: str, environ: Mapping[str, str]) -> str:
    """The home of a repository's records, whether it exists or not: the list's, else the default one."""
    rule = rule_for(repo, environ)
    return default_home(environ) if rule is None else rule.home


def rule_for(repo: str, environ: Mapping[str, str]) -> HomeRule | None:
    """The line of the list that decides for a repository: the first that fits.

    A line that is not understood may have been meant for this one: then nothing is guessed.
    """
    path = config_path(environ)
    if not is_there(path):
        return None
    for rule in parse(read(path), environ):
        if not rule.glob:
            raise UsageError(f"{path}, line {rule.line}: {rule.problem}", "mend that line, or take it out: GLOB = DIR")
        if fits(rule.glob, repo):
            if rule.problem:
                raise UsageError(f"{path}, line {rule.line}: {rule.problem}", f"mend that line: {rule.glob} = DIR")
            return rule
    return None


def problems(path: str, environ: Mapping[str, str]) -> list[str]:
    """What is wrong with a list, a sentence each. Nothing if there is none."""
    if not is_there(path):
        return []
    try:
        rules = parse(read(path), environ)
    except HomePermissions as error:
        return [str(error)]
    found = [f"{path}, line {rule.line}: {rule.problem}" for rule in rules if rule.problem]
    for place, rule in enumerate(rules):
        wider = covering(rules[:place], rule.glob)
        if rule.glob and wider is not None:
            found.append(
                f"{path}, line {rule.line}: never used, since line {wider.line} ({wider.glob}) comes before it"
            )
    return found


def covering(rules: Sequence[HomeRule], glob: str) -> HomeRule | None:
    """The first rule that decides for all that a glob means: a glob fits another one as if it were a name."""
    return next((rule for rule in rules if rule.glob and fits(rule.glob, glob)), None)


def read(path: str) -> str:
    """The list's text. One that others may write is refused: it would let them choose where our records go."""
    try:
        with open(path, "rb", opener=_unblocked) as file:
            found = os.fstat(file.fileno())
            if not S_ISREG(found.st_mode):
                raise HomePermissions(f"{path} is not a file", f"look at it: ls -la {path}")
            if found.st_uid not in (os.geteuid(), 0):
                raise HomePermissions(f"{path} belongs to another user", f"look at it: ls -la {path}")
            if S_IMODE(found.st_mode) & _OTHERS_WRITE:
                raise HomePermissions(
                    f"{path} can be written by others, who could choose where your records go",
                    f"chmod go-w {path}, then read what it says",
                )
            data = file.read(_BYTES + 1)
    except OSError as error:
        raise HomePermissions(f"{path} cannot be read: {error.strerror}", f"look at it: ls -la {path}") from error
    if len(data) > _BYTES:
        raise HomePermissions(f"{path} is larger than {_BYTES} bytes", f"look at it: ls -la {path}")
    return data.decode("utf-8", "surrogateescape")


def parse(text: str, environ: Mapping[str, str]) -> list[HomeRule]:
    """Every line that is neither empty nor a comment, as a rule; those that are wrong too."""
    rules = []
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), 1):
        written = uncommented(line)
        if written:
            glob, equals, home = written.partition("=")
            glob = glob.strip().lower()
            wrong = "this is not GLOB = DIR" if not equals else glob_problem(glob)
            if wrong:
                rules.append(HomeRule(number, "", "", wrong))
            else:
                home = expanded(home.strip(), environ)
                wrong = "" if os.path.isabs(home) else "the home is not a whole path, without quotes"
                rules.append(HomeRule(number, glob, os.path.normpath(home) if home else "", wrong))
    return rules


def uncommented(line: str) -> str:
    """A line without its comment, which begins at a # after a space or at the start."""
    place = -1
    while (place := line.find("#", place + 1)) >= 0:
        if place == 0 or line[place - 1].isspace():
            return line[:place].strip()
    return line.strip()


def expanded(home: str, environ: Mapping[str, str]) -> str:
    """A home as it was written, with the user's folder in the place of a ~."""
    if home == "~" or home.startswith("~/"):
        return _user(environ) + home[1:]
    return os.path.expanduser(home)


def glob_problem(glob: str) -> str:
    """What is wrong with a glob, or nothing."""
    parts = glob.split("/")
    if not glob or not glob.isprintable() or " " in glob or "" in parts or not _NOT_IN_GLOBS.isdisjoint(glob):
        return "a glob is host/owner/name, with * for anything within a part and ** for any parts"
    if any("**" in part and part != "**" for part in parts):
        return "** stands for whole parts: write it between slashes"
    return ""


def fits(glob: str, repo: str) -> bool:
    """Whether a glob means a repository. Only `**` means what is in no repository."""
    repo = repo.lower()
    return _fits(glob.lower().split("/"), repo.split("/") if repo else [], "**", within_parts=True)


def _fits(glob: Sequence[str], text: Sequence[str], star: str, *, within_parts: bool) -> bool:
    """Match with stars, over parts and again over the letters of a part. Goes back to the last star only, so it is never slow."""
    at = place = 0
    last_star, resume = -1, 0
    while place < len(text):
        if at < len(glob) and glob[at] == star:
            last_star, resume = at, place
            at += 1
        elif at < len(glob) and _same(glob[at], text[place], within_parts=within_parts):
            at, place = at + 1, place + 1
        elif last_star >= 0:
            resume += 1
            at, place = last_star + 1, resume
        else:
            return False
    return all(rest == star for rest in glob[at:])


def _same(glob: str, text: str, *, within_parts: bool) -> bool:
    return _fits(glob, text, "*", within_parts=False) if within_parts else glob == text


def _unblocked(path: str, flags: int) -> int:
    """Open without waiting: nobody writes to a pipe that stands in the list's place."""
    return os.open(path, flags | os.O_NONBLOCK)


def _user(environ: Mapping[str, str]) -> str:
    return environ.get("HOME") or os.path.expanduser("~")
