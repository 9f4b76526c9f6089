"""`mesh doctor`: what is not as it should be, and what to do about it."""

import os

from mesh.cli.arguments import parser
from mesh.cli.main import EXIT_WAITING
from mesh.cli.output import plain, print_json
from mesh.core.errors import MeshError
from mesh.sidecar.client import ask
from mesh.sidecar.doctor import examine
from mesh.sidecar.status import node_status
from mesh.store.home import open_home


def main(argv: list[str]) -> int:
    """Examine the home, and what its sidecar knows of the others."""
    given = parser("doctor", "mesh doctor").parse_args(argv)
    home = open_home(given.home)
    try:
        peers = ask(home.path, "GET", "/peers")
    except MeshError:
        peers = None  # said as a finding
    key = home.file("recovery.key")
    found = list(examine(node_status(home, home.store()), peers, recovery_key=key if os.path.exists(key) else None))
    if given.json:
        print_json([item._asdict() for item in found])
    else:
        for item in found:
            print(f"{item.sort}: {plain(item.sentence)}\n  next: {plain(item.next_step)}")
        if not found:
            print("nothing to mend")
    return EXIT_WAITING if found else 0
