"""Commands in what people read, with `--home` in them where it was given: typed as they stand they would mean another home.

Loaded only where there is such a command to print.
"""

from __future__ import annotations

from mesh.cli.main import COMMANDS

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
