"""`mesh completion`: what makes a shell complete our commands and options; and the answers to that shell."""

from __future__ import annotations

from collections.abc import Mapping

import click
from click.shell_completion import ShellComplete, get_completion_class

from mesh.cli.client import COMPLETING
from mesh.cli.command_groups import root
from mesh.cli.grammar import Given, argument, command
from mesh.cli.main import EXIT_FAILED, EXIT_OK
from mesh.cli.output import print_json, put_ours, tell

_SHELLS = ("bash", "zsh", "fish")
_WHERE = {
    "bash": "next: mesh completion bash >> ~/.bashrc",
    "zsh": "next: mesh completion zsh >> ~/.zshrc",
    "fish": "next: mesh completion fish > ~/.config/fish/completions/mesh.fish",
}


@command(
    "mesh completion bash >> ~/.bashrc",
    more="The script is for the shell's own start-up file; it asks mesh itself for what can be typed.",
)
@argument("shell", "|".join(_SHELLS), type=click.Choice(_SHELLS))
def main(given: Given) -> int:
    """Print the script."""
    shell = _shell(given.shell)
    script = shell.source_template % shell.source_vars()
    if given.json:
        print_json({"shell": given.shell, "script": script})
    else:
        put_ours(f"{script.strip()}\n")  # our own text
        tell(_WHERE[given.shell])
    return EXIT_OK


def complete(environ: Mapping[str, str]) -> int:
    """Answer a shell that asks what can be typed."""
    name, _, instruction = environ.get(COMPLETING, "").partition("_")
    if name not in _SHELLS or instruction != "complete":
        return EXIT_FAILED
    put_ours(f"{_shell(name).complete()}\n")  # names of our own
    return EXIT_OK


def _shell(name: str) -> ShellComplete:
    found = get_completion_class(name)
    assert found is not None
    return found(root(), {}, "mesh", COMPLETING)
