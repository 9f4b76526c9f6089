"""Argument parsers that all look alike: one sentence, one example, `--home`, `--json`."""

import argparse
import sys
from typing import Any, NoReturn

from mesh.cli.home_option import home_path, own_home
from mesh.cli.main import COMMANDS, EXIT_USAGE, complain
from mesh.cli.options import EMPTY_HOME
from mesh.cli.subcommands import no_option
from mesh.cli.terminal import terminal
from mesh.core.errors import UsageError


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """Help of a fixed width: to ask the terminal, argparse would import three compressors, also without --help."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=100)


class Parser(argparse.ArgumentParser):
    """A parser whose errors name the next step."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """What is wrong with an option is said first, and in our words: what is missing may stand behind it."""
        self._check_options(list(args or ()))
        given, extra = super().parse_known_args(args, namespace)
        for action in self._actions:
            value = getattr(given, action.dest, None)
            values = value if isinstance(value, list) else [value]
            if not action.option_strings and action.type is not any_text and "" in values:
                self.error(f"{action.metavar or action.dest} is empty")
        return given, extra

    def _check_options(self, argv: list[str]) -> None:
        known = self._option_string_actions
        words = iter(argv[: argv.index("--")] if "--" in argv else argv)
        for word in words:
            name, equals, value = word.partition("=")
            if name in known:
                if known[name].nargs != 0 and not equals:
                    value = next(words, "-")
                if not value and known[name].nargs != 0 and known[name].type is not any_text:
                    self.error(EMPTY_HOME if name == "--home" else f"{name} is empty")
            elif _is_option(word) and word[:2] not in known:  # -n5 is -n 5
                self.error(no_option(name, known))

    def _print_message(self, message: str, file: Any = None) -> None:
        """Help, to where the command was typed."""
        (terminal().out if file in (None, sys.stdout) else terminal().err).write(message)

    def error(self, message: str) -> NoReturn:
        """Say what is wrong and where help is."""
        message = message.replace("unrecognized arguments: ", "this is too much: ")
        complain(UsageError(message, f"{self.prog} --help"), self.prog)
        sys.exit(EXIT_USAGE)


def any_text(given: str) -> str:
    """The type of an argument that may be empty. All others are refused then: a script with an empty variable would never know."""
    return given


def _is_option(word: str) -> bool:
    """Whether argparse takes it for one: not a hyphen, a number, or what has a blank."""
    return word.startswith("-") and word != "-" and " " not in word and not word[1:].replace(".", "", 1).isdigit()


def _home(given: str) -> str:
    """The home that was given; only if none was, where we are is looked at."""
    return own_home(given) if terminal().home else given or home_path()


def add_role(made: Parser) -> None:
    """The options that say in which role a node is let in."""
    made.add_argument(
        "--role",
        choices=("writer", "reader"),
        default="writer",
        metavar="writer|reader",
        help="what the node may do: a reader is sent everything, and nothing it writes counts (default: writer)",
    )
    made.add_argument(
        "--ephemeral",
        action="store_true",
        help="for throw-away nodes, as of a CI job: each leaves when its sidecar stops, and may write little",
    )


def parser(command: str, example: str, sentence: str = "") -> Parser:
    """The parser of a command, or of `family member`."""
    made = Parser(
        prog=f"mesh {command}",
        description=sentence or COMMANDS[command][1],
        epilog=f"example:\n  {example}",
        formatter_class=_Formatter,
        allow_abbrev=False,
    )
    made.add_argument(
        "--home",
        default="",
        type=_home,
        metavar="DIR",
        help="the node's home folder (default: MESH_HOME, else as `mesh homes` says, else ~/.clan-mesh)",
    )
    made.add_argument("--json", action="store_true", help="machine-readable output")
    return made
