"""Subcommands, like `mesh page show`: which one was asked for; and suggestions for a misspelled word."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from mesh.cli.main import EXIT_OK, EXIT_USAGE, complain
from mesh.cli.output import put
from mesh.core.errors import UsageError


def chosen(
    command: str, about: str, members: Mapping[str, tuple[str, str]], shown: str, argv: list[str]
) -> tuple[str, list[str]] | int:
    """The member and its words; an exit code if there is none, or if help was asked for, which is given here.

    `members`: of each the sentence and an example. `shown`: the one whose example the overview has.
    """
    if argv[:1] == ["--home"]:  # also before the member, as before the command
        argv = argv[2:] + argv[:2] if len(argv) > 2 else []
    if not argv or argv[0] in ("-h", "--help"):
        width = max(map(len, members))
        lines = [f"  {name:<{width}}  {sentence}" for name, (sentence, _) in members.items()]
        head = [f"usage: mesh {command} MEMBER [options]", "", about, ""]

        put(*head, *lines, "", "example:", f"  {members[shown][1]}")
        return EXIT_OK
    if argv[0] in members:
        return argv[0], argv[1:]

    near = nearest(argv[0], members)
    step = f"mesh {command} {near} --help" if near else f"mesh {command} --help"
    complain(UsageError(f"the first word is one of {', '.join(members)}, not {argv[0]!r}", step), f"mesh {command}")
    return EXIT_USAGE


def nearest(word: str, known: Iterable[str]) -> str:
    """The known word that is most like it; empty if none is."""
    from difflib import get_close_matches

    found = get_close_matches(word, list(known), 1)
    return found[0] if found else ""


def nearest_option(name: str, known: Iterable[str]) -> str:
    """The same among options; that all begin with hyphens makes none of them more like it."""
    bare = {option.lstrip("-"): option for option in known}
    return bare.get(nearest(name.lstrip("-"), bare), "")


def no_option(name: str, known: Iterable[str]) -> str:
    """What is said of an option that is not there."""
    near = nearest_option(name, known)
    return f"there is no option {name}" + (f"; did you mean {near}?" if near else "")
