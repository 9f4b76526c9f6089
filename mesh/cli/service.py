"""`mesh service`: have the system keep the node running. Texts are in `mesh.node.service_files`, system commands in `mesh.node.service_manager`."""

import os
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import click

from mesh.app.client import ask
from mesh.cli import node_process
from mesh.cli.grammar import Given, WrongUsage, argument, command, option
from mesh.cli.main import EXIT_OK, EXIT_WAITING
from mesh.cli.output import json_answer, plain, print_json, say, tell
from mesh.core.errors import MeshError, NoHome, UsageError
from mesh.node.node_settings import settings
from mesh.node.service_files import NO_AUTOSTART, Service, addresses_in, is_ours, text_of
from mesh.node.service_manager import INSTEAD, ServiceManager
from mesh.store.file_access import patience
from mesh.store.home import Home, node_process_id, open_home

_START_SECONDS = 30.0


@command("mesh service install --listen 0.0.0.0:7946")
@argument("action", "install|uninstall|status", "what to do", type=click.Choice(["install", "uninstall", "status"]))
@option(
    "--listen",
    metavar="HOST:PORT",
    multiple=True,
    help="where other nodes reach this one, as for mesh up; without it as it was installed before, else nowhere (repeat for several)",
)
@option(
    "--advertise",
    metavar="HOST:PORT",
    multiple=True,
    help="how others reach it, if not at the address it listens on (repeat for several)",
)
@option("--no-autostart", help="with uninstall: hooks are not to start the sidecar either")
def main(given: Given) -> int:
    """Install, uninstall, or say how it stands."""
    if given.action != "install" and (given.listen or given.advertise):
        raise WrongUsage("--listen and --advertise are for install")
    if given.action != "uninstall" and given.no_autostart:
        raise WrongUsage("--no-autostart is for uninstall")
    if given.action == "install":
        done = install(open_home(given.home), given.listen, given.advertise)
    elif given.action == "uninstall":
        done = uninstall(given.home, no_autostart=given.no_autostart)
    else:
        done = facts(given.home)
        if given.json:
            print_json(done)
        else:
            say(*_described(done))
        return EXIT_OK if done["installed"] and done["sidecar"] else EXIT_WAITING
    if given.json:
        print_json(done)
    else:
        say(*done["says"].split("\n"))
    for hint in done["hints"]:
        tell(hint)
    return EXIT_OK


def install(
    home: Home, listen: Sequence[str], advertise: Sequence[str], environ: Mapping[str, str] = os.environ
) -> dict[str, Any]:
    """Describe the service, put it in force, and wait until the sidecar answers."""
    from mesh.cli.install import program

    service = Service(home.path, environ)
    supervisor = ServiceManager(service)
    path = supervisor.path()
    before = _ours(path)
    lack = supervisor.missing()
    if lack:
        raise MeshError(lack, INSTEAD)
    if before and not listen and not advertise:
        listen, advertise = addresses_in(service, before)
    settings(listen, advertise)
    text = text_of(service, program(), listen, advertise, environ)
    process = node_process_id(home)
    is_kept = process is not None and process == supervisor.process()
    if text != before:
        _write(path, text)
    try:
        supervisor.enable()
    except MeshError:
        if not before:
            os.unlink(path)
        raise
    if process is not None and not is_kept:  # started by hand, or by a hook: the service takes over
        json_answer(node_process.run_down, ["--home", home.path])
    supervisor.start(path, anew=text != before or not is_kept)
    _wait_for(home, supervisor)
    with suppress(FileNotFoundError):  # whoever has it kept wants it to run
        os.unlink(home.file(NO_AUTOSTART))
    did = "changed" if before else "installed"
    if text == before and is_kept:
        did = "same"
    now = node_process_id(home)
    where = f", listening on {', '.join(listen)}" if listen else ", listening nowhere: it only dials out"
    first = f"{service.name} is as it was" if did == "same" else f"{did} {path}"
    return {
        "did": did,
        "kind": service.kind,
        "name": service.name,
        "path": path,
        "listen": list(listen),
        "advertise": list(advertise),
        "replaced": None if is_kept else process,
        "sidecar": now,
        "says": f"{first}\nthe sidecar runs as process {now}{where}",
        "hints": supervisor.hints(),
    }


def uninstall(path: str, *, no_autostart: bool, environ: Mapping[str, str] = os.environ) -> dict[str, Any]:
    """Stop the service and remove its file. Works without the home too."""
    home = open_home(path) if no_autostart else None  # a wrong one is said before anything is done
    service = Service(path, environ)
    supervisor = ServiceManager(service)
    file = service.path
    ours = _ours(file)
    hints = []
    if ours:
        lack = supervisor.missing()
        if lack:
            hints.append(f"{lack}; if its sidecar still runs: mesh down")
            with suppress(OSError):  # what `systemctl enable` has made
                os.unlink(os.path.join(os.path.dirname(file), "default.target.wants", service.name))
        else:
            supervisor.disable()
        os.unlink(file)
        if not lack:
            supervisor.forget()
    if home is not None:
        with open(home.file(NO_AUTOSTART), "w", encoding="utf-8") as made:
            made.write("Hooks do not start the sidecar of this home. `mesh service install` removes this file.\n")
    autostart = not os.path.exists(os.path.join(service.home, NO_AUTOSTART))
    says = f"removed {file}" if ours else "no service was installed"
    if autostart:
        says += "\nhooks still start the sidecar with an agent's session; against that: mesh service uninstall --no-autostart"
    else:
        says += "\nhooks do not start the sidecar either"
    return {
        "did": "removed" if ours else "same",
        "kind": service.kind,
        "name": service.name,
        "path": file,
        "autostart": autostart,
        "says": says,
        "hints": hints,
    }


def facts(path: str, environ: Mapping[str, str] = os.environ) -> dict[str, Any]:
    """How it stands with the service of a home."""
    service = Service(path, environ)
    supervisor = ServiceManager(service)
    ours = is_ours(service.path)
    lack = supervisor.missing()
    try:
        process = node_process_id(open_home(path))
    except NoHome:
        process = None
    listen, advertise = addresses_in(service, _ours(service.path)) if ours else ([], [])
    return {
        "home": service.home,
        "kind": service.kind,
        "name": service.name,
        "path": service.path,
        "installed": bool(ours),
        "foreign": ours is False,
        "missing": lack or None,
        "listen": listen,
        "advertise": advertise,
        "sidecar": process,
        "kept": process is not None and not lack and process == supervisor.process(),
        "autostart": not os.path.exists(os.path.join(service.home, NO_AUTOSTART)),
    }


def _described(found: dict[str, Any]) -> list[str]:
    if found["foreign"]:
        first = f"{found['path']} is not of our making"
    elif found["installed"]:
        listening = f", listening on {', '.join(found['listen'])}" if found["listen"] else ""
        first = f"{found['name']} is installed for {found['home']}{listening}"
    else:
        first = f"no service is installed for {found['home']}"
    process = found["sidecar"]
    by = ", kept by the service" if found["kept"] else ", not kept by a service"
    lines = [first, "no sidecar is running" if process is None else f"the sidecar runs as process {process}{by}"]
    if found["missing"]:
        lines.append(plain(found["missing"]))
    hooks = "hooks start it with an agent's session if it does not run"
    lines.append(hooks if found["autostart"] else f"hooks do not start it: there is a file {NO_AUTOSTART} in the home")
    if not found["missing"] and not found["kept"]:
        lines.append("next: mesh service install")
    elif process is None:
        lines.append("next: mesh up --detach")
    return lines


def _ours(path: str) -> str:
    """The text of a service's file, empty if there is none. Somebody else's is left alone."""
    ours = is_ours(path)
    if ours is None:
        return ""
    if not ours:
        raise UsageError(f"{path} is not of our making and was left alone", f"look at it, and move it away: {path}")
    with open(path, encoding="utf-8") as file:
        return file.read()


def _wait_for(home: Home, supervisor: ServiceManager) -> None:
    """Until the sidecar answers: one that cannot listen holds the home for a moment too."""
    deadline = time.monotonic() + patience(_START_SECONDS)
    while True:
        try:
            ask(home.path, "GET", "/peers")
        except MeshError:
            if time.monotonic() > deadline:
                name = supervisor.service.name
                raise MeshError(
                    f"{name} is installed, but its sidecar does not start",
                    f"see why: {supervisor.complaints()}, and {home.file('sidecar.log')}",
                ) from None
            time.sleep(0.05)
        else:
            return


def _write(path: str, text: str) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    draft = f"{path}.new-{os.getpid()}"
    try:
        with open(draft, "w", encoding="utf-8") as file:
            file.write(text)
        os.rename(draft, path)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(draft)
