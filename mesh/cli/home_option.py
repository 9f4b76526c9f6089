"""`--home`: the home that a command or a hook works on, and commands in messages that name it. Opens nothing, and loads nothing without need."""

from __future__ import annotations

import os
from collections.abc import Mapping

from clan_learnings.repository.detection import find_by_git
from mesh.app import home_choice
from mesh.cli.command_list import COMMANDS
from mesh.cli.terminal import terminal

UNNAMED = "local/-"  # a repository without a remote, before its first record has given it an id


def home_path(environ: Mapping[str, str] = os.environ, folder: str = "", repo: str | None = None) -> str:
    """`MESH_HOME`, else what the user's list says of the repository, else `~/.clan-mesh`. `--home` comes before all of it.

    `folder`: where to look for the repository, instead of the current folder. `repo`: its name, if it was given by hand.
    """
    given = environ.get("MESH_HOME")
    if given:
        return given
    if not home_choice.is_there(
        home_choice.config_path(environ)
    ):  # one team, as nearly everybody: nothing more is looked at
        return home_choice.default_home(environ)
    return home_choice.home_for(repo_here(environ, folder) if repo is None else repo, environ)


def own_home(given: str) -> str:
    """The home of the node that runs this command for a client. One that the client did not mean runs nothing."""
    here = terminal()
    if given not in ("", here.worked_on):
        here.require_own_process()
    return here.home


def baked_home(home: str, environ: Mapping[str, str] = os.environ) -> str:
    """The home that the command line of a hook has to name: none if it is the default one, or if there is a list to decide.

    A hook in the user's settings runs in every repository: naming one team's home there would send it all other teams' records.
    """
    home = os.path.abspath(home)
    if home == home_choice.default_home(environ) or home_choice.is_there(home_choice.config_path(environ)):
        return ""
    return home


def repo_here(environ: Mapping[str, str], folder: str = "") -> str:
    """The repository's name by which the list is read: as git's own files tell it.

    What the repository itself says in `.clan-mesh.toml` is passed over: a stranger's clone must not choose one of our teams.
    """
    found = find_by_git(folder or _current(), environ)
    return UNNAMED if found.needs_claim else found.identity


def _current() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError:  # deleted under our feet
        return "/"


# Commands that follow one of these are for another node, whose home nobody here knows, up to the next semicolon.
ELSEWHERE = (
    "on another node", "on another machine", "on the other node", "on the other machine", "on an admin's node",
    "where the root key is", "admin to run", "that node to run", "an admin can approve it",
)  # fmt: skip
_NO_HOME = ("demo", "homes", "simulate", "trust-repo")  # they act on none, or on the list of them
_BEFORE = " ("  # a command that is only named stands in backticks
_BEHIND = ",;.)"
_BARE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+=:,./-_")


def with_home(text: str, home: str) -> str:
    """The text with the home in every command of it that is to be typed here. A line that names a home stays as it is."""
    return "\n".join(
        line if "--home" in line else _line(line, f"mesh --home {quoted(home)} ") for line in text.split("\n")
    )


def _line(line: str, command: str) -> str:

    done, *parts = line.split("mesh ")
    for part in parts:
        word = part.split(" ", 1)[0].rstrip(_BEHIND)
        is_command = word in COMMANDS and word not in _NO_HOME and (not done or done[-1] in _BEFORE)
        done += (command if is_command and not _is_elsewhere(done) else "mesh ") + part
    return done


def _is_elsewhere(before: str) -> bool:
    clause = before.rpartition("; ")[2].lower()
    return any(place in clause for place in ELSEWHERE)


def quoted(path: str) -> str:
    """As a shell reads it; `shlex` would load `re`."""
    return path if path and _BARE.issuperset(path) else "'" + path.replace("'", "'\"'\"'") + "'"
