"""Argument parsers that all look alike: one sentence, one example, `--home`, `--json`."""

import argparse
import sys
from typing import NoReturn

from mesh.cli.main import COMMANDS, EXIT_USAGE, complain
from mesh.cli.place import home_path
from mesh.core.errors import UsageError


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """Help of a fixed width: to ask the terminal, argparse would import three compressors, also without --help."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=100)


class Parser(argparse.ArgumentParser):
    """A parser whose errors name the next step."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong and where help is."""
        complain(UsageError(message, f"{self.prog} --help"), self.prog)
        sys.exit(EXIT_USAGE)


def _home(given: str) -> str:
    """The home that was given; only if none was, where we are is looked at."""
    return given or home_path()


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
