"""What a command line may look like: click, with our words for what is wrong, our help, and nothing loaded that is not run.

A command states its options with `option` and `argument`, and is made by `command`. It is given one value, `Given`. Whatever
click finds wrong is raised as its own UsageError and worded by `worded`: click prints nothing itself, as a command may run in
the node for somebody else's terminal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from shlex import quote
from signal import SIG_BLOCK, SIG_SETMASK, SIGINT, pthread_sigmask
from typing import Any

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from clan_learnings.repository.remote_name import named_repo
from mesh.cli.command_list import COMMANDS, GROUPS, SECTIONS, Entry
from mesh.cli.home_option import home_path, own_home
from mesh.cli.output import put
from mesh.cli.terminal import terminal
from mesh.core.errors import UsageError

EMPTY_HOME = "--home needs a folder"  # a script with an empty variable would work on another home
_UNWRAPPED = 100_000  # columns: in a pipe a line is a line
_WIDEST = 100
_LEFT = 24  # columns of an option's names in the help
_ARGV = "mesh.argv"  # what a command was given, in the context's own dictionary


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
            raise WrongUsage(f"{_named(param)} takes a number from {self._least} to {self._most}, not {text!r}")
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
            raise WrongUsage(f"{_named(param)} takes a number from 0 to 1, not {value!r}")
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
            name = _named(self)
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
            raise WrongUsage(f"{_named(self)} is empty")
        return super().type_cast_value(ctx, value)


def _is_given(ctx: click.Context, param: click.Parameter) -> bool:
    """Whether somebody typed it, who wants it run."""
    return ctx.get_parameter_source(str(param.name)) == ParameterSource.COMMANDLINE and not ctx.resilient_parsing


def _is_empty(value: Any) -> bool:
    """Whether a word, or one of several, says nothing."""
    if isinstance(value, str):
        return not value.strip()
    return isinstance(value, list | tuple) and any(isinstance(word, str) and not word.strip() for word in value)


def _named(param: click.Parameter | None) -> str:
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


def _common() -> list[click.Parameter]:
    home = _Home(
        ["--home"],
        metavar="DIR",
        help="the node's home folder (default: MESH_HOME, else as `mesh homes` says, else ~/.clan-mesh)",
    )
    return [home, _Option(["--json"], is_flag=True, help="machine-readable output"), _help_option()]


def _help_option() -> click.Option:
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
            params=[*params, *_common()],
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
        ctx.meta[_ARGV] = list(args)
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
            f"{_named(param)} {param.metavar}" if isinstance(param, click.Option) else str(param.metavar)
            for param in sorted(self.params, key=lambda param: isinstance(param, click.Option))
            if isinstance(param, click.Argument) or param.required
        )

    def get_help(self, ctx: click.Context) -> str:
        """What `--help` prints."""
        formatter = _formatter()
        path = _path(ctx)
        formatter.write(f"usage: mesh {path} {self.words()}".rstrip() + " [options]\n\n")
        _write_text(formatter, _sentence(path))
        for text in self.more.split("\n") if self.more else ():
            _write_text(formatter, text, gap=False)
        if self.more:
            formatter.write("\n")
        arguments = [param for param in self.params if isinstance(param, _Argument) and param.sentence]
        if arguments:
            formatter.write("arguments:\n")
            _write_rows(formatter, [(_named(param), param.sentence) for param in arguments])
        for heading, rows in self.tables.items():
            formatter.write(f"{heading}:\n")
            _write_rows(formatter, list(rows.items()))
        formatter.write("options:\n")
        _write_rows(formatter, [row for param in self.params if isinstance(param, click.Option) for row in _row(param)])
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


class LazyGroup(click.Group):
    """Commands of which only those are loaded that are run."""

    def __init__(self, name: str, entries: Mapping[str, Entry], params: Sequence[click.Parameter] = ()) -> None:
        super().__init__(
            name, params=[*params, _common()[0], _help_option()], add_help_option=False, invoke_without_command=True
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
            path = _path(ctx)
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
        path = _path(ctx)
        if not path:
            return overview()
        formatter = _formatter()
        formatter.write(f"usage: mesh {path} MEMBER [options]\n\n")
        _write_text(formatter, GROUPS[path].about)
        _write_rows(formatter, [(name, entry.sentence) for name, entry in self.entries.items()])
        formatter.write(f"example:\n  {GROUPS[path].example}\n")
        return formatter.getvalue().rstrip("\n")


def overview(*, everything: bool = False) -> str:
    """What `mesh --help` shows, and `mesh help --all`."""
    formatter = _formatter()
    formatter.write("usage: mesh COMMAND [options]\n\n")
    _write_text(formatter, "The memory a fleet of coding agents shares.")
    left_out: list[str] = []
    width = max(map(len, COMMANDS))
    for heading, entries in SECTIONS.items():
        formatter.write(f"{heading}:\n")
        rows = [(name.ljust(width), one.sentence) for name, one in entries.items() if everything or not one.is_rare]
        left_out += [name for name, one in entries.items() if one.is_rare and not everything]
        _write_rows(formatter, rows)
    if left_out:
        _write_text(formatter, f"more (mesh help --all): {', '.join(left_out)}")
    _write_text(
        formatter,
        "Every command takes --home DIR (or MESH_HOME) and --json; `mesh help COMMAND` has an example.",
        gap=False,
    )
    _write_text(formatter, "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 something waits, 4 something was refused.")
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


def _path(context: click.Context) -> str:
    """`page new`."""
    names: list[str] = []
    at: click.Context | None = context
    while at is not None:
        names.insert(0, str(at.info_name))
        at = at.parent
    return " ".join(names[1:] if names[0] == "mesh" else names)


def _sentence(path: str) -> str:
    first, _, member = path.partition(" ")
    return GROUPS[first].members[member].sentence if member else COMMANDS[first].sentence


# What is wrong


def worded(problem: click.UsageError) -> tuple[UsageError, str]:
    """What is wrong with a command line, with the next step; and which command says so."""
    context = problem.ctx
    path = _path(context) if context is not None else ""
    who = f"mesh {path}".rstrip()
    step = getattr(problem, "step", "") or f"{who} --help"
    sentence = problem.message
    if isinstance(problem, click.NoSuchOption) and context is not None:
        sentence, text = _no_such_option(problem.option_name, context)
        if text:
            step += f"; if it is meant as text: {who} -- {quote(text)}"
    elif isinstance(problem, click.BadOptionUsage) and context is not None:
        sentence = _bad_option(problem.option_name, context)
    elif isinstance(problem, click.MissingParameter) and isinstance(context, click.Context):
        usage = f"{who} {context.command.words() if isinstance(context.command, Command) else ''}".rstrip()
        missing = _named(problem.param) if isinstance(problem.param, click.Option) else "something"
        sentence = f"{missing} is missing: {usage}"
    elif isinstance(problem, click.BadParameter) and problem.param is not None:
        sentence = f"{_named(problem.param)}: {problem.message.rstrip('.')}"
    if sentence == EMPTY_HOME and not path:
        step = "mesh --home DIR status"
    return UsageError(sentence, step), who


def _no_such_option(name: str, context: click.Context) -> tuple[str, str]:
    """What is said of an option that is not there; and the word, if it is like none and may be a text."""
    known = [name for param in context.command.params if isinstance(param, click.Option) for name in param.opts]
    near = nearest_option(name, known)
    sentence = f"there is no option {name}" + (f"; did you mean {near}?" if near else "")
    if isinstance(context.command, click.Group):
        return f"{sentence}; options of a command stand behind it", ""
    takes_words = any(isinstance(param, click.Argument) for param in context.command.params)
    typed = context.meta.get(_ARGV, [])
    word = next((word for word in typed if word.partition("=")[0] == name), name)
    return sentence, "" if near or not takes_words else word


def _bad_option(name: str, context: click.Context) -> str:
    """An option without its value, or a switch with one."""
    for param in context.command.params:
        if isinstance(param, click.Option) and name in param.opts:
            if param.is_flag:
                return f"{name} takes no value"
            return EMPTY_HOME if name == "--home" else f"{name} needs a value: {name} {param.metavar}"
    return f"{name} cannot be used like this"


def nearest(word: str, known: Iterable[str]) -> str:
    """The known word that is most like it; empty if none is."""
    from difflib import get_close_matches

    found = get_close_matches(word, list(known), 1)
    return found[0] if found else ""


def nearest_option(name: str, known: Iterable[str]) -> str:
    """The same among options; that all begin with hyphens makes none of them more like it."""
    bare = {option.lstrip("-"): option for option in known}
    return bare.get(nearest(name.lstrip("-"), bare), "")


# Help


def _formatter() -> click.HelpFormatter:
    width = terminal().width
    return click.HelpFormatter(width=min(width, _WIDEST) if width else _UNWRAPPED)


def _write_text(formatter: click.HelpFormatter, text: str, *, gap: bool = True) -> None:
    formatter.write_text(text)
    if gap:
        formatter.write("\n")


def _write_rows(formatter: click.HelpFormatter, rows: Sequence[tuple[str, str]]) -> None:
    if rows:
        with formatter.indentation():
            formatter.write_dl(rows, col_max=_LEFT)
        formatter.write("\n")


def _row(param: click.Option) -> list[tuple[str, str]]:
    names = ", ".join(param.opts)
    return [(f"{names} {param.metavar}" if param.metavar else names, param.help or "")]
