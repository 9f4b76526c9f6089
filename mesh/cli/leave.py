"""`mesh leave`: say goodbye to the mesh."""

import asyncio
import logging
import time

from mesh.app.client import ask
from mesh.cli.arguments import parser
from mesh.cli.output import print_json, put, tell
from mesh.core.errors import HomeBusy, UsageError
from mesh.store.file_access import patience
from mesh.store.home import Home, node_process_id, open_home

_STOP_SECONDS = 10.0


def main(argv: list[str]) -> int:
    """Tell the others, stop the sidecar, and remember it."""
    given = parser("leave", "mesh leave").parse_args(argv)
    home = open_home(given.home)
    if home.has_root_key:
        raise UsageError(
            "the root key of the mesh is in this home: without it nobody can name admins",
            "replace it first, on another machine: mesh recover; then move root.key out of this home",
        )
    told = _running(home) if node_process_id(home) else _alone(home)
    store = home.store()
    with store.database.writing(durable=True):
        store.database.run("INSERT OR REPLACE INTO meta VALUES('left', 1)")
    store.close()
    if given.json:
        print_json({"left": True, "told": told})
    else:
        put("left the mesh; what this node has can still be read here, and what it wrote stays with the others")
        if not told:
            tell(
                "mesh: nobody could be told; the others will see it as dead",
                "  next: on an admin's node: mesh revoke NODE",
            )
    return 0


def _running(home: Home) -> bool:
    told = bool(ask(home.path, "POST", "/leave")["told"])
    deadline = time.monotonic() + patience(_STOP_SECONDS)
    while node_process_id(home):
        if time.monotonic() > deadline:
            raise HomeBusy("the sidecar does not stop", "mesh down, then mesh leave again")
        time.sleep(0.02)
    return told


def _alone(home: Home) -> bool:
    """No sidecar runs: be one for a moment, to tell someone."""
    from mesh.node.log_lines import start_logs
    from mesh.node.node import RunningNode, run_node
    from mesh.node.node_settings import NodeSettings

    start_logs(None, logging.ERROR)
    nodes: list[RunningNode] = []
    asyncio.run(run_node(home, NodeSettings(leave=True), nodes.append))
    return nodes[0].told
