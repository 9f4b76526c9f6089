"""`mesh version`."""

from __future__ import annotations

from mesh import __version__
from mesh.cli.grammar import Given, command
from mesh.cli.main import EXIT_OK
from mesh.cli.output import print_json, put


@command("mesh version")
def main(given: Given) -> int:
    """Print it."""
    if given.json:
        print_json({"version": __version__})
    else:
        put(f"clan-mesh {__version__}")
    return EXIT_OK
