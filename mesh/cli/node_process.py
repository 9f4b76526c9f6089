"""The process of a node: `mesh up` and `mesh down`."""

import asyncio
import json
import logging
import os
import select
import signal
import sys
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from mesh.cli.command_server import CommandServer
from mesh.cli.grammar import Given, command, option
from mesh.cli.init import advice, found, welcome
from mesh.cli.install import typed_program
from mesh.cli.output import print_json, put, say, tell
from mesh.cli.terminal import terminal
from mesh.core.errors import HomeBusy, MeshError, NoHome
from mesh.core.ids import text_id
from mesh.node.log_lines import SIDECAR_LOG, start_logs
from mesh.node.node_settings import settings
from mesh.store.file_access import patience
from mesh.store.home import Home, create_home, node_process_id, open_home

if TYPE_CHECKING:
    from mesh.node.node import RunningNode


_START_SECONDS = 30


@command("mesh up --listen 0.0.0.0:7946 --detach")
@option("--init", help="make a home first if there is none")
@option(
    "--listen",
    metavar="HOST:PORT",
    multiple=True,
    help="where other nodes reach this one; without it the node only dials out (repeat for several; joining uses the next port)",
)
@option(
    "--advertise",
    metavar="HOST:PORT",
    multiple=True,
    help="how others reach it, if not at the address it listens on, as behind a forwarded port (repeat for several)",
)
@option("--detach", help=f"run in the background, with its log in the home's {SIDECAR_LOG}")
def run_up(given: Given) -> int:
    """Run until told to stop."""
    in_background = os.environ.pop("MESH_DETACHED", None) is not None
    if in_background:
        terminal().worked_on = ""  # what we say is said again by whoever started us, who knows which home was named

    chosen = settings(given.listen, given.advertise)  # what is wrong with the options is said before a home is made
    home = _home(given.home, make=given.init)
    home.store().close()  # whatever is wrong with the home is said first
    if given.detach:
        return _detach(home, given.listen, given.advertise, as_json=given.json)
    from mesh.node.node import run_node

    start_logs(home.file(SIDECAR_LOG) if in_background else None)
    asyncio.run(run_node(home, chosen, lambda node: _announce(node, as_json=given.json), _commands))
    if threading.active_count() > 1:  # a name being looked up, or a lock being waited for: Python would wait for it
        sys.stdout.flush()
        logging.shutdown()
        os._exit(0)
    return 0


def _commands(node: "RunningNode") -> "CommandServer":

    return CommandServer(node.home.path, node.recall, node.records)


def _announce(node: "RunningNode", *, as_json: bool) -> None:
    home = node.home
    if as_json:
        print_json(
            {"node": text_id(home.node), "home": home.path, "pid": os.getpid(), "addresses": list(node.addresses)}
        )
    else:
        option = "" if home.path == os.path.expanduser("~/.clan-mesh") else f" --home {home.path}"
        mesh = typed_program()
        put(f'in a second terminal: {mesh} discover "what you found out"{option}')
        put(f'     after a mistake: {mesh} correct --wrong "what went wrong" --right "the right way"{option}')
        put(f"                then: {mesh} tail{option}")
    sys.stdout.flush()


def _detach(home: Home, listen: list[str], advertise: list[str], *, as_json: bool) -> int:
    """Start the same command anew, in a session of its own, and wait until it is ready or has said why not."""
    import subprocess

    words = [sys.executable, "-m", "mesh", "up", "--json", "--home", home.path]
    for name, values in (("--listen", listen), ("--advertise", advertise)):
        words += [word for value in values for word in (name, value)]
    process = subprocess.Popen(  # noqa: S603 (our own command, our own arguments)
        words,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        env=os.environ | {"MESH_DETACHED": "1"},
        cwd="/",
    )
    assert process.stdout is not None
    assert process.stderr is not None
    ready, _, _ = select.select([process.stdout], [], [], patience(_START_SECONDS))
    line = process.stdout.readline() if ready else b""
    if not line:
        process.terminate()
        said = process.stderr.read().decode(errors="replace").strip()
        first, _, step = said.removeprefix("mesh: ").partition("\n  next: ")
        raise MeshError(first or "the sidecar did not start", step or f"see {home.file(SIDECAR_LOG)}")
    started = json.loads(line)
    if as_json:
        print_json(started)
    else:
        put(f"the node runs as process {started['pid']}, with its log in {home.file(SIDECAR_LOG)}")
        say("next: mesh peers, or mesh down to stop it")
    return 0


def _home(path: str, *, make: bool) -> Home:
    try:
        home = open_home(path)
    except NoHome:
        if not make:
            raise NoHome(f"there is no clan-mesh node in {path}", "make one and run it: mesh up --init") from None
        home = create_home(path, os.uname().nodename.split(".")[0] or "node")
        found(home)
        tell(*welcome(home))
        tell(*advice(home))
    return home


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


@command("mesh down")
def run_down(given: Given) -> int:
    """Ask the sidecar to stop, and wait until it has."""
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
