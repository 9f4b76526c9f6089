"""All commands, as click sees them: groups of which only those members are loaded that are run, and the overview."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from signal import SIG_BLOCK, SIG_SETMASK, SIGINT, pthread_sigmask

import click
from click.shell_completion import CompletionItem

from mesh.cli.command_list import COMMANDS, GROUPS, SECTIONS, Entry
from mesh.cli.grammar import (
    Command,
    WrongUsage,
    common_options,
    help_formatter,
    help_option,
    path_of,
    write_rows,
    write_text,
)
from mesh.cli.output import put
from mesh.cli.wrong_usage import nearest


class LazyGroup(click.Group):
    """Commands of which only those are loaded that are run."""

    def __init__(self, name: str, entries: Mapping[str, Entry], params: Sequence[click.Parameter] = ()) -> None:
        super().__init__(
            name,
            params=[*params, common_options()[0], help_option()],
            add_help_option=False,
            invoke_without_command=True,
        )
        self.entries = entries
        self.callback = self._overview

    def _overview(self, **_given: object) -> int:
        context = click.get_current_context()
        if context.invoked_subcommand is None:
            put(*self.get_help(context).split("\n"))
        return 0

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 (click's)
        """Their names."""
        return list(self.entries)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 (click's)
        """One of them."""
        entry = self.entries.get(cmd_name)
        if entry is None:
            return None
        if not entry.place:
            return LazyGroup(cmd_name, GROUPS[cmd_name].members)
        found = _loaded(entry.place)
        found.name = cmd_name
        return found

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the words before the command."""
        with click.core.augment_usage_errors(ctx):
            return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The one that a command line begins with."""
        name = args[0]
        found = self.get_command(ctx, name)
        if found is None and not ctx.resilient_parsing:
            near = nearest(name, self.entries)
            path = path_of(ctx)
            step = " ".join(filter(None, ("mesh", path, near, "--help")))
            if path:
                raise WrongUsage(f"the first word is one of {', '.join(self.entries)}, not {name!r}", step, ctx)
            raise WrongUsage(f"there is no command {name!r}", step, ctx)
        return name if found is not None else None, found, args[1:]

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Names that begin like this, without loading any of them."""
        found = [
            CompletionItem(name, help=entry.sentence)
            for name, entry in self.entries.items()
            if name.startswith(incomplete)
        ]
        return found + click.Command.shell_complete(self, ctx, incomplete)

    def get_help(self, ctx: click.Context) -> str:
        """The overview."""
        path = path_of(ctx)
        if not path:
            return overview()
        formatter = help_formatter()
        formatter.write(f"usage: mesh {path} MEMBER [options]\n\n")
        write_text(formatter, GROUPS[path].about)
        write_rows(formatter, [(name, entry.sentence) for name, entry in self.entries.items()])
        formatter.write(f"example:\n  {GROUPS[path].example}\n")
        return formatter.getvalue().rstrip("\n")


def overview(*, everything: bool = False) -> str:
    """What `mesh --help` shows, and `mesh help --all`."""
    formatter = help_formatter()
    formatter.write("usage: mesh COMMAND [options]\n\n")
    write_text(formatter, "The memory a fleet of coding agents shares.")
    left_out: list[str] = []
    width = max(map(len, COMMANDS))
    for heading, entries in SECTIONS.items():
        formatter.write(f"{heading}:\n")
        rows = [(name.ljust(width), one.sentence) for name, one in entries.items() if everything or not one.is_rare]
        left_out += [name for name, one in entries.items() if one.is_rare and not everything]
        write_rows(formatter, rows)
    if left_out:
        write_text(formatter, f"more (mesh help --all): {', '.join(left_out)}")
    write_text(
        formatter,
        "Every command takes --home DIR (or MESH_HOME) and --json; `mesh help COMMAND` has an example.",
        gap=False,
    )
    write_text(formatter, "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 something waits, 4 something was refused.")
    return formatter.getvalue().rstrip("\n")


def root() -> LazyGroup:
    """All commands."""
    version = click.Option(
        ["-V", "--version"], is_flag=True, is_eager=True, expose_value=False, callback=_print_version
    )
    return LazyGroup("mesh", COMMANDS, [version])


def _print_version(context: click.Context, _param: click.Parameter, is_asked: bool) -> None:  # noqa: FBT001 (click's)
    if is_asked and not context.resilient_parsing:
        context.exit(_loaded(COMMANDS["version"].place).run([]))


def _loaded(place: str) -> Command:
    """A command.

    Not interrupted while it is loaded: a library that is half initialised may crash instead of ending.
    """
    module, _, name = place.partition(":")
    before = pthread_sigmask(SIG_BLOCK, (SIGINT,))
    try:
        found: Command = getattr(__import__(f"mesh.cli.{module}", fromlist=["main"]), name or "main")
    finally:
        pthread_sigmask(SIG_SETMASK, before)
    return found
