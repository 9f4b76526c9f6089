"""The link in ~/.local/bin that makes `mesh` of a checkout's environment a command; `make install` puts it there, `make clean` removes it.

Only a link to that very program is ours: any other file of that name is left alone. Nothing but the standard library, so that any Python runs it.
"""

import os
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence

_FOLDER = os.path.join(".local", "bin")  # where pipx and uv put commands too, and most systems have it on the PATH


def put(program: str, environ: Mapping[str, str]) -> list[str]:
    """Make `mesh` work in a terminal, as far as that goes without touching what is not ours; returns what to tell."""
    link = _link(environ)
    trouble = _trouble(link, program) if os.path.lexists(link) else _made(link, program)
    found = shutil.which("mesh", path=environ.get("PATH", os.defpath))
    if not trouble and found is None:
        return [
            f"{link} leads to {program}, but its folder is not on the PATH.",
            f'  next: export PATH="$HOME/{_FOLDER}:$PATH"',
            "  That is for one terminal; for all, put the line into your shell's profile.",
        ]
    if not trouble and found is not None and os.path.realpath(found) == os.path.realpath(program):
        return [f"mesh is a command now: {link} leads to {program}"]
    return [
        trouble or f"{link} leads to {program}, but another mesh comes first on the PATH: {found}",
        f"  next: alias mesh={shlex.quote(shlex.quote(program))}",  # read as a value, then as a command
    ]


def remove(programs: Sequence[str], environ: Mapping[str, str]) -> list[str]:
    """Take the link away if it leads to one of these programs."""
    link = _link(environ)
    if not os.path.islink(link) or os.readlink(link) not in programs:
        return []
    try:
        os.unlink(link)
    except OSError as error:
        return [f"{link} cannot be removed: {error.strerror}", f"  next: rm {shlex.quote(link)}"]
    return [f"removed {link}"]


def _link(environ: Mapping[str, str]) -> str:
    return os.path.join(environ.get("HOME") or os.path.expanduser("~"), _FOLDER, "mesh")


def _made(link: str, program: str) -> str:
    """Make it; returns why that was not possible."""
    try:
        os.makedirs(os.path.dirname(link), exist_ok=True)
        os.symlink(program, link)
    except OSError as error:
        return f"{link} cannot be made: {error.strerror}"
    return ""


def _trouble(link: str, program: str) -> str:
    """Why the file that is there is not our link; empty if it is."""
    if not os.path.islink(link):
        return f"{link} is not ours and was left alone."
    target = os.readlink(link)
    if target == program:
        return ""
    gone = "" if os.path.exists(link) else ", which is gone"
    return f"{link} leads to {target}{gone}; it was left alone."


def main(argv: Sequence[str]) -> int:
    """`put PROGRAM` or `remove PROGRAM...`. Never fails: a command that is not on the PATH can still be run."""
    action, *paths = argv
    programs = [os.path.abspath(path) for path in paths]
    lines = put(programs[0], os.environ) if action == "put" else remove(programs, os.environ)
    print(*lines, sep="\n", end="\n" if lines else "")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
