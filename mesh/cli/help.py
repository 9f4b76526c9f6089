"""`mesh help`: the overview, or the help of a command: what `--help` behind it prints."""

from __future__ import annotations

import click

from mesh.cli.command_groups import LazyGroup, overview, root
from mesh.cli.grammar import Given, argument, command, option
from mesh.cli.main import EXIT_OK
from mesh.cli.output import print_json, put


@command("mesh help page new")
@argument("words", "[COMMAND [MEMBER]]", nargs=-1, may_be_empty=True)
@option("--all", help="also the commands that are rarely needed")
def main(given: Given) -> int:
    """Print it."""
    text = _help_of(list(given.words)) if given.words else overview(everything=given.all)
    if given.json:
        print_json({"help": text})
    else:
        put(*text.split("\n"))
    return EXIT_OK


def _help_of(words: list[str]) -> str:
    group: LazyGroup = root()
    context = click.Context(group, info_name="mesh")
    while words:
        name, found, words = group.resolve_command(context, words)
        assert found is not None  # else it was refused
        context = click.Context(found, context, info_name=name)
        if not isinstance(found, LazyGroup):
            break
        group = found
    return context.command.get_help(context)
