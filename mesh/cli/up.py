"""`mesh up`: the node in the foreground."""

import asyncio
import logging
import os
import sys

from mesh.cli.arguments import parser
from mesh.cli.init import advice, welcome
from mesh.cli.output import print_json, tell
from mesh.core.errors import NoHome
from mesh.core.ids import text_id
from mesh.sidecar.node import run_node
from mesh.store.home import Home, create_home, open_home


def main(argv: list[str]) -> int:
    """Run until told to stop."""
    arguments = parser("up", "mesh up --init")
    arguments.add_argument("--init", action="store_true", help="make a home first if there is none")
    given = arguments.parse_args(argv)
    home = _home(given.home, make=given.init)
    home.store().close()  # whatever is wrong with the home is said first
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    asyncio.run(run_node(home, lambda: _announce(home, as_json=given.json)))
    return 0


def _announce(home: Home, *, as_json: bool) -> None:
    if as_json:
        print_json({"node": text_id(home.node), "home": home.path, "pid": os.getpid()})
    else:
        option = "" if home.path == os.path.expanduser("~/.clan-mesh") else f" --home {home.path}"
        mesh = os.path.abspath(sys.argv[0])
        print(f'in a second terminal: {mesh} op add discoveries "what you found out"{option}')
        print(f"                then: {mesh} tail{option}")
    sys.stdout.flush()


def _home(path: str, *, make: bool) -> Home:
    try:
        return open_home(path)
    except NoHome:
        if not make:
            raise NoHome(f"there is no clan-mesh node in {path}", "make one and run it: mesh up --init") from None
        home = create_home(path, os.uname().nodename.split(".")[0] or "node")
        tell(welcome(home))
        tell(advice(home))
        return home
