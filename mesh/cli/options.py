"""Options of everyday commands, read without argparse, which takes longer to load than such a command to run.

A command states its options in a table, from which its help is made too. Everything else uses `arguments`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from shlex import quote

from clan_learnings.repository.remote_name import named_repo
from mesh.cli.home_option import home_path, own_home
from mesh.cli.main import COMMANDS, EXIT_OK, EXIT_USAGE, complain
from mesh.cli.output import put
from mesh.cli.subcommands import nearest_option, no_option
from mesh.cli.terminal import terminal
from mesh.core.errors import UsageError

_COLUMN = 24
EMPTY_HOME = "--home needs a folder"  # a script with an empty variable would work on another home


class WrongUsage(Exception):
    """A command line that cannot be."""


class _Unknown(WrongUsage):
    """An option that is not there. `text`: the whole word, if it is like none and may be a text."""

    def __init__(self, word: str, known: Iterable[str]) -> None:

        name = word.partition("=")[0]
        super().__init__(no_option(name, known))
        self.text = "" if nearest_option(name, known) else word


class _Help(Exception):
    """A command line that asks what could be on it."""


class Option:
    """One option: its names, what its value is called (empty for a switch), and what it does."""

    __slots__ = ("names", "sentence", "value")

    def __init__(self, names: str, value: str, sentence: str) -> None:
        self.names = names.split()
        self.value = value
        self.sentence = sentence

    @property
    def key(self) -> str:
        """The name it is kept under: of the long form."""
        return self.names[-1].lstrip("-").replace("-", "_")


HOME = Option(
    "--home", "DIR", "the node's home folder (default: MESH_HOME, else as `mesh homes` says, else ~/.clan-mesh)"
)
JSON = Option("--json", "", "machine-readable output")
ALL = Option("--all", "", "of every repository")
REPO = Option("--repo", "REPO", "as if in this repository, like github.com/acme/api (default: the one we are in)")


class Given:
    """What a command line said."""

    __slots__ = ("_values", "words")

    def __init__(self, values: dict[str, str], words: list[str]) -> None:
        self._values = values
        self.words = words

    def text(self, key: str) -> str:
        """An option's value; empty if it was not given."""
        return self._values.get(key, "")

    def maybe(self, key: str) -> str | None:
        """An option's value, if it was given."""
        return self._values.get(key)

    def has(self, key: str) -> bool:
        """Whether an option was given."""
        return key in self._values

    def number(self, key: str, default: int | None = None, least: int = 1, most: int = 1_000_000) -> int | None:
        """An option that is a whole number."""
        text = self._values.get(key)
        if text is None:
            return default
        if not (text.isascii() and text.isdigit() and len(text) < 9 and least <= int(text) <= most):
            raise WrongUsage(f"{_written(key)} takes a number from {least} to {most}, not {text!r}")
        return int(text)

    def fraction(self, key: str) -> float | None:
        """An option that is a number from 0 to 1."""
        text = self._values.get(key)
        if text is None:
            return None
        try:
            value = float(text)
        except ValueError:
            value = -1.0
        if not 0 <= value <= 1:
            raise WrongUsage(f"{_written(key)} takes a number from 0 to 1, not {text!r}")
        return value

    def words_of(self, key: str) -> list[str]:
        """An option that is a list with commas."""
        return [word.strip() for word in self.text(key).split(",") if word.strip()]

    @property
    def as_json(self) -> bool:
        """Whether a machine reads the answer."""
        return self.has("json")

    @property
    def home(self) -> str:
        """The home to work on: the one given, else the one of the repository that was named or that we are in."""
        return self.home_of(self.text("repo"))

    def home_of(self, repo: str) -> str:
        """The same, if a repository was named by this name, or none was."""
        given = self.text("home")
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


class CommandSyntax:
    """What a command takes: its options, how many words beside them, and what its help says."""

    __slots__ = ("example", "is_filter", "least", "more", "most", "name", "options", "sentence", "takes_text", "usage")

    def __init__(
        self,
        name: str,
        usage: str,
        options: Sequence[Option],
        example: str,
        *,
        words: tuple[int, int] = (0, 0),
        more: str = "",
        sentence: str = "",
        takes_text: bool = False,
        is_filter: bool = False,
    ) -> None:
        """`words`: how many there must be, and how many there may be. `usage`: what stands after the name.

        `takes_text`: the command says itself what is wrong with an empty word. `is_filter`: its options narrow down what is shown.
        """
        self.name = name
        self.usage = usage
        self.options = options
        self.example = example
        self.least, self.most = words
        self.more = more
        self.sentence = sentence or COMMANDS[name][1]
        self.takes_text = takes_text
        self.is_filter = is_filter

    def help(self) -> str:
        """What `--help` prints."""
        lines = [f"usage: mesh {self.name} {self.usage}".rstrip() + " [options]", "", self.sentence, ""]
        if self.more:
            lines += [self.more, ""]
        lines.append("options:")
        for option in (*self.options, HOME, JSON):
            left = f"  {', '.join(option.names)}{f' {option.value}' if option.value else ''}"
            fits = len(left) <= _COLUMN
            lines.append(f"{left:<{_COLUMN}}  {option.sentence}" if fits else left)
            if not fits:
                lines.append(f"{'':<{_COLUMN}}  {option.sentence}")
        return "\n".join([*lines, "", "example:", *(f"  {line}" for line in self.example.split("\n"))])


def run(argv: Sequence[str], shape: CommandSyntax, command: Callable[[Given], int]) -> int:
    """A command: its help, or what it does, or what is wrong with the command line."""
    try:
        given = parse(argv, shape.options)
        _count_words(given.words, shape)
        _refuse_empty(given, shape)
        return command(given)
    except _Help:
        put(*shape.help().split("\n"))
        return EXIT_OK
    except WrongUsage as problem:
        step = f"mesh {shape.name} --help"
        if isinstance(problem, _Unknown) and problem.text and shape.most:
            step += f"; if it is meant as text: mesh {shape.name} -- {quote(problem.text)}"
        complain(UsageError(f"{problem}", step), f"mesh {shape.name}")
        return EXIT_USAGE


def _written(key: str) -> str:
    """An option as it is typed."""
    return f"-{key}" if len(key) == 1 else f"--{key.replace('_', '-')}"


def _count_words(words: Sequence[str], shape: CommandSyntax) -> None:
    if len(words) < shape.least:
        raise WrongUsage(f"something is missing: mesh {shape.name} {shape.usage}")
    if len(words) > shape.most:
        hint = ": what has spaces in it belongs in quotes" if shape.most else ""
        raise WrongUsage(f"{words[shape.most]!r} is too much{hint}")


def _refuse_empty(given: Given, shape: CommandSyntax) -> None:
    """A script with an empty variable would never know: an empty name may be the beginning of any, an empty filter lets all through."""
    if not shape.takes_text and not all(map(str.strip, given.words)):
        raise WrongUsage(f"something is empty: mesh {shape.name} {shape.usage}")
    for option in shape.options if shape.is_filter else ():
        if option.value and given.has(option.key) and not given.text(option.key).strip(" ,"):
            name = option.names[-1]
            raise UsageError(f"{name} is empty", f"leave it out, or give it a value: {name} {option.value}")


def parse(argv: Sequence[str], options: Sequence[Option]) -> Given:
    """A command line by a table of options. `--` ends them; `--name=value` is understood too. What has a blank is a text."""
    known = {name: option for option in (*options, HOME, JSON) for name in option.names}
    values: dict[str, str] = {}
    words: list[str] = []
    rest = iter(argv)
    for word in rest:
        if word == "--":
            words += rest
            break
        name, equals, value = word.partition("=")
        if not word.startswith("-") or word == "-" or any(map(str.isspace, name)):
            words.append(word)
            continue
        if word in ("-h", "--help"):
            raise _Help
        option = known.get(name)
        if option is None:
            raise _Unknown(word, (*known, "--help"))
        if not option.value:
            if equals:
                raise WrongUsage(f"{name} takes no value")
            values[option.key] = ""
            continue
        if not equals:
            following = next(rest, None)
            if following is None:
                raise WrongUsage(f"{name} needs a value: {name} {option.value}")
            value = following
        if option is HOME and not value:
            raise WrongUsage(EMPTY_HOME)
        values[option.key] = value
    return Given(values, words)
