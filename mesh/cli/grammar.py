"""What a command line may look like: click, with our words for what is wrong, our help, and nothing loaded that is not run.

A command states its options with `option` and `argument`, and is made by `command`. It is given one value, `Given`. Whatever
click finds wrong is raised as its own UsageError and worded by `worded`: click prints nothing itself, as a command may run in
the node for somebody else's terminal.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import click
from click.core import ParameterSource

from clan_learnings.repository.remote_name import named_repo
from mesh.cli.command_list import COMMANDS, GROUPS
from mesh.cli.home_option import home_path, own_home
from mesh.cli.output import put
from mesh.cli.terminal import terminal
from mesh.core.errors import UsageError

EMPTY_HOME = "--home needs a folder"  # a script with an empty variable would work on another home
_UNWRAPPED = 100_000  # columns: in a pipe a line is a line
_WIDEST = 100
_LEFT = 24  # columns of an option's names in the help
ARGV = "mesh.argv"  # what a command was given, in the context's own dictionary


class WrongUsage(click.UsageError):
    """A command line that cannot be. `step`: what to type instead, if that is not to read the help."""

    def __init__(self, sentence: str, step: str = "", context: click.Context | None = None) -> None:
        super().__init__(sentence, context)
        self.step = step


class Given:
    """What a command line said: a value for each option and argument, by its name."""

    home_option: str  # what `--home` says; empty if it was not given

    def __init__(self, context: click.Context) -> None:
        self.__dict__.update(context.params)
        self.__dict__.pop("home", None)
        self.home_option = _home_option(context)
        self._names = {
            name for name in context.params if context.get_parameter_source(name) == ParameterSource.COMMANDLINE
        }

    def __getattr__(self, name: str) -> Any:
        """An option that the command does not have: a mistake of ours."""
        raise AttributeError(name)

    def has(self, name: str) -> bool:
        """Whether an option or argument was given."""
        return name in self._names

    def word(self, name: str) -> str:
        """The value of an option; empty if it was not given."""
        return getattr(self, name, None) or ""

    @property
    def home(self) -> str:
        """The home to work on: the one given, else the one of the repository that was named or that we are in."""
        return self.home_of(self.word("repo"))

    def home_of(self, repo: str) -> str:
        """The same, if a repository was named by this name, or none was."""
        given = self.home_option
        if terminal().home:
            return own_home(given)
        if given:
            return given
        if not repo or repo == ".":
            return home_path()
        home = home_path(repo=named_repo(repo))
        if home != home_path():
            terminal().worked_on = home
        return home


def _home_option(context: click.Context | None) -> str:
    """`--home`, behind the command or before it."""
    while context is not None:
        if context.params.get("home"):
            return str(context.params["home"])
        context = context.parent
    return ""


class Whole(click.ParamType[int]):
    """A whole number within bounds."""

    name = "number"

    def __init__(self, least: int = 1, most: int = 1_000_000) -> None:
        self._least, self._most = least, most

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:  # noqa: ARG002
        """The number."""
        text = str(value)
        if not (text.isascii() and text.isdigit() and len(text) < 9 and self._least <= int(text) <= self._most):
            raise WrongUsage(f"{named(param)} takes a number from {self._least} to {self._most}, not {text!r}")
        return int(text)


class Fraction(click.ParamType[float]):
    """A number from 0 to 1."""

    name = "fraction"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:  # noqa: ARG002
        """The number."""
        try:
            number = float(value)
        except ValueError:
            number = -1.0
        if not 0 <= number <= 1:
            raise WrongUsage(f"{named(param)} takes a number from 0 to 1, not {value!r}")
        return number


class CommaList(click.ParamType[list[str]]):
    """Several words, with commas."""

    name = "list"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> list[str]:  # noqa: ARG002
        """The words."""
        return [word.strip() for word in value.split(",") if word.strip()] if isinstance(value, str) else list(value)


class _Option(click.Option):
    """An option whose value is not empty, unless it may be: a script with an empty variable would never know."""

    def __init__(self, *words: Any, may_be_empty: bool = False, **kept: Any) -> None:
        super().__init__(*words, **kept)
        self.may_be_empty = may_be_empty

    def type_cast_value(self, ctx: click.Context, value: Any) -> Any:
        """The value, of its type."""
        command = ctx.command
        if _is_given(ctx, self) and isinstance(command, Command):
            name = named(self)
            if command.is_filter and isinstance(value, str) and not value.strip(" ,"):  # it would let all through
                raise UsageError(f"{name} is empty", f"leave it out, or give it a value: {name} {self.metavar}")
            if _is_empty(value) and not self.may_be_empty and not command.may_be_empty:
                raise WrongUsage(f"{name} is empty")
        return super().type_cast_value(ctx, value)


class _Home(_Option):
    """`--home`: never empty."""

    def type_cast_value(self, ctx: click.Context, value: Any) -> Any:
        """The folder."""
        if value == "" and not ctx.resilient_parsing:
            raise WrongUsage(EMPTY_HOME)
        return value if isinstance(value, str) else None


class _Argument(click.Argument):
    """A word beside the options, which is not empty unless it may be."""

    def __init__(self, *words: Any, may_be_empty: bool = False, sentence: str = "", **kept: Any) -> None:
        super().__init__(*words, **kept)
        self.may_be_empty = may_be_empty
        self.sentence = sentence

    def type_cast_value(self, ctx: click.Context, value: Any) -> Any:
        """The value, of its type."""
        if not self.may_be_empty and _is_given(ctx, self) and _is_empty(value):
            raise WrongUsage(f"{named(self)} is empty")
        return super().type_cast_value(ctx, value)


def _is_given(ctx: click.Context, param: click.Parameter) -> bool:
    """Whether somebody typed it, who wants it run."""
    return ctx.get_parameter_source(str(param.name)) == ParameterSource.COMMANDLINE and not ctx.resilient_parsing


def _is_empty(value: Any) -> bool:
    """Whether a word, or one of several, says nothing."""
    if isinstance(value, str):
        return not value.strip()
    return isinstance(value, list | tuple) and any(isinstance(word, str) and not word.strip() for word in value)


def named(param: click.Parameter | None) -> str:
    """An option or argument as it is typed."""
    assert param is not None
    return param.opts[-1] if isinstance(param, click.Option) else (param.metavar or str(param.name)).strip("[].")


Body = Callable[[Given], int]
Decorator = Callable[[Any], Any]


def option(*names: str, may_be_empty: bool = False, **kept: Any) -> Decorator:
    """An option. `metavar`: what its value is called; without one it is a switch."""
    if "metavar" not in kept and "type" not in kept:
        kept["is_flag"] = True
    return click.option(*names, cls=_Option, may_be_empty=may_be_empty, **kept)


def argument(name: str, metavar: str, sentence: str = "", *, may_be_empty: bool = False, **kept: Any) -> Decorator:
    """A word beside the options. `sentence`: what the help says of it."""
    return click.argument(name, metavar=metavar, cls=_Argument, may_be_empty=may_be_empty, sentence=sentence, **kept)


def options(*decorators: Decorator) -> Decorator:
    """Several options, in this order."""

    def add(function: Any) -> Any:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return add


ALL = option("--all", help="of every repository")
REPO = option(
    "--repo", metavar="REPO", help="as if in this repository, like github.com/acme/api (default: the one we are in)"
)


def common_options() -> list[click.Parameter]:
    """`--home`, `--json` and `--help`."""
    home = _Home(
        ["--home"],
        metavar="DIR",
        help="the node's home folder (default: MESH_HOME, else as `mesh homes` says, else ~/.clan-mesh)",
    )
    return [home, _Option(["--json"], is_flag=True, help="machine-readable output"), help_option()]


def help_option() -> click.Option:
    """`--help`."""
    return click.Option(
        ["-h", "--help"], is_flag=True, is_eager=True, expose_value=False, callback=_print_help, help="show this help"
    )


def _print_help(context: click.Context, _param: click.Parameter, is_asked: bool) -> None:  # noqa: FBT001 (click's)
    if is_asked and not context.resilient_parsing:
        put(*context.command.get_help(context).split("\n"))
        context.exit(0)


class Command(click.Command):
    """A command, made by `command`."""

    may_be_empty: bool
    example: str
    more: str
    usage: str
    is_filter: bool
    tables: Mapping[str, Mapping[str, str]]

    def __init__(self, body: Body, params: list[click.Parameter], **kept: Any) -> None:
        super().__init__(
            None,
            params=[*params, *common_options()],
            add_help_option=False,
            context_settings={"allow_extra_args": True},  # which we name ourselves
        )
        self._body = body
        self.__dict__.update(kept)

    def run(self, words: Sequence[str]) -> int:
        """Run it from within another command. What is wrong with the words is raised."""
        with self.make_context(self.name, list(words)) as context:
            return self.invoke(context)

    def invoke(self, ctx: click.Context) -> int:
        """Do what the command line says."""
        with click.core.augment_usage_errors(ctx):
            return self._body(Given(ctx))

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the words; what has a blank or is a number is no option."""
        ctx.meta[ARGV] = list(args)
        with click.core.augment_usage_errors(ctx):
            super().parse_args(ctx, self._texts_last(args))
        if ctx.args and not ctx.resilient_parsing:
            takes_words = any(isinstance(param, click.Argument) for param in self.params)
            hint = ": what has spaces in it belongs in quotes" if takes_words else ""
            raise WrongUsage(f"{ctx.args[0]!r} is too much{hint}", context=ctx)
        return ctx.args

    def _texts_last(self, args: list[str]) -> list[str]:
        """The words behind `--`, if one of them begins with a hyphen and is a text all the same."""
        end = args.index("--") if "--" in args else len(args)
        if not any(map(_is_text, args[:end])):
            return args
        with_value = {
            name
            for param in self.params
            if isinstance(param, click.Option) and not param.is_flag
            for name in param.opts
        }
        asked: list[str] = []
        texts: list[str] = []
        rest = iter(args)
        for word in rest:
            if word == "--":
                texts += rest
            elif not word.startswith("-") or word == "-" or _is_text(word):
                texts.append(word)
            else:
                asked.append(word)
                if word in with_value:
                    value = next(rest, None)
                    if value is None:
                        raise click.BadOptionUsage(word, "")
                    asked.append(value)
        return [*asked, "--", *texts]

    def words(self) -> str:
        """What stands behind the name."""
        if self.usage:
            return self.usage
        return " ".join(
            f"{named(param)} {param.metavar}" if isinstance(param, click.Option) else str(param.metavar)
            for param in sorted(self.params, key=lambda param: isinstance(param, click.Option))
            if isinstance(param, click.Argument) or param.required
        )

    def get_help(self, ctx: click.Context) -> str:
        """What `--help` prints."""
        formatter = help_formatter()
        path = path_of(ctx)
        formatter.write(f"usage: mesh {path} {self.words()}".rstrip() + " [options]\n\n")
        write_text(formatter, _sentence(path))
        for text in self.more.split("\n") if self.more else ():
            write_text(formatter, text, gap=False)
        if self.more:
            formatter.write("\n")
        arguments = [param for param in self.params if isinstance(param, _Argument) and param.sentence]
        if arguments:
            formatter.write("arguments:\n")
            write_rows(formatter, [(named(param), param.sentence) for param in arguments])
        for heading, rows in self.tables.items():
            formatter.write(f"{heading}:\n")
            write_rows(formatter, list(rows.items()))
        formatter.write("options:\n")
        write_rows(formatter, [row for param in self.params if isinstance(param, click.Option) for row in _row(param)])
        formatter.write("example:\n" + "".join(f"  {line}\n" for line in self.example.split("\n")))
        return formatter.getvalue().rstrip("\n")


def _is_text(word: str) -> bool:
    """Whether a word that begins with a hyphen is none of our options: they have no blank in them, and are no numbers."""
    if not word.startswith("-") or word in ("-", "--"):
        return False
    name = word.partition("=")[0]
    return any(map(str.isspace, name)) or word[1:].replace(".", "", 1).isdigit()


def command(
    example: str,
    *,
    more: str = "",
    usage: str = "",
    is_filter: bool = False,
    may_be_empty: bool = False,
    tables: Mapping[str, Mapping[str, str]] | None = None,
) -> Callable[[Body], Command]:
    """Make a command of a function. Its name and its sentence are in `command_list`.

    `usage`: what stands behind the name, if that is not just the arguments. `is_filter`: its options narrow down what is shown.
    `may_be_empty`: its options take empty values. `tables`: what else the help lists, by heading.
    """

    def made(function: Body) -> Command:
        params = list(reversed(getattr(function, "__click_params__", [])))
        return Command(
            function,
            params,
            example=example,
            more=more,
            usage=usage,
            is_filter=is_filter,
            may_be_empty=may_be_empty,
            tables=tables or {},
        )

    return made


def path_of(context: click.Context) -> str:
    """What a command is called, with its group: `page new`."""
    names: list[str] = []
    at: click.Context | None = context
    while at is not None:
        names.insert(0, str(at.info_name))
        at = at.parent
    return " ".join(names[1:] if names[0] == "mesh" else names)


def _sentence(path: str) -> str:
    first, _, member = path.partition(" ")
    return GROUPS[first].members[member].sentence if member else COMMANDS[first].sentence


def help_formatter() -> click.HelpFormatter:
    """What lays out a help text: as wide as the terminal; without one, a line is a line."""
    width = terminal().width
    return click.HelpFormatter(width=min(width, _WIDEST) if width else _UNWRAPPED)


def write_text(formatter: click.HelpFormatter, text: str, *, gap: bool = True) -> None:
    """A paragraph."""
    formatter.write_text(text)
    if gap:
        formatter.write("\n")


def write_rows(formatter: click.HelpFormatter, rows: Sequence[tuple[str, str]]) -> None:
    """Names, and a sentence for each."""
    if rows:
        with formatter.indentation():
            formatter.write_dl(rows, col_max=_LEFT)
        formatter.write("\n")


def _row(param: click.Option) -> list[tuple[str, str]]:
    names = ", ".join(param.opts)
    return [(f"{names} {param.metavar}" if param.metavar else names, param.help or "")]
