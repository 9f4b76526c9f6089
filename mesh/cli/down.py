"""`mesh down`: stop the node's sidecar."""

import os
import select
import signal
import time
from contextlib import suppress

from mesh.cli.arguments import parser
from mesh.cli.output import print_json, put
from mesh.core.errors import HomeBusy
from mesh.store.file_access import patience
from mesh.store.home import Home, node_process_id, open_home

_SECONDS = 10.0
_SURE_SECONDS = 0.05  # one that is just starting may not have written its own number over that of a killed one yet


def _surely_running(home: Home) -> int | None:
    """The sidecar's process, read twice alike: signals must reach nobody else."""
    process = node_process_id(home)
    while process is not None:
        time.sleep(_SURE_SECONDS)
        before, process = process, node_process_id(home)
        if process == before:
            break
    return process


def _end_of(process: int) -> int | None:
    """What can be read from once a process has ended, where the system has such a thing.

    It gives the home back a moment before it ends, and a service's manager that is asked in that moment starts no other.
    """
    try:
        return os.pidfd_open(process)
    except (AttributeError, OSError):  # not on Linux, or ended by itself
        return None


def main(argv: list[str]) -> int:
    """Ask the sidecar to stop, and wait until it has."""
    given = parser("down", "mesh down").parse_args(argv)
    home = open_home(given.home)
    process = _surely_running(home)
    if process is not None:
        end = _end_of(process)
        with suppress(ProcessLookupError):  # it has ended by itself
            os.kill(process, signal.SIGTERM)
        most = patience(_SECONDS)
        deadline = time.monotonic() + most
        while node_process_id(home) == process:
            if time.monotonic() > deadline:
                raise HomeBusy(
                    f"process {process} did not stop within {most:g} s",
                    f"see what it does in {home.file('sidecar.log')}; as a last resort: kill -9 {process}, which loses nothing",
                )
            time.sleep(0.02)
        if end is not None:
            select.select([end], [], [], max(0.0, deadline - time.monotonic()))
            os.close(end)
    if given.json:
        print_json({"stopped": process})
    else:
        put("no sidecar was running" if process is None else f"stopped process {process}")
    return 0
