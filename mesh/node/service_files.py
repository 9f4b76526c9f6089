"""The node as a system service: names and texts of systemd units and launchd jobs. Starts nothing itself.

Hooks ask here how a sidecar is started, so nothing slow is imported on the way to `start_words`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from itertools import pairwise
from plistlib import dumps, loads

from mesh.app.home_choice import default_home
from mesh.core.errors import UsageError
from mesh.core.ids import named_digest, text_id

SYSTEMD, LAUNCHD = "systemd", "launchd"
NO_AUTOSTART = "no-autostart"  # a file in the home: hooks are not to start its sidecar
_MARK = "Written by clan-mesh. `mesh service uninstall` removes it."
_LABEL = "io.clan-mesh.node"
# Without the marker found in the first two, the home would look restored; the last is what a person wants of every sidecar.
_CARRIED = ("MESH_STATE", "XDG_STATE_HOME", "MESH_EMBEDDER")
_HASH_CHARS = 8


class Service:
    """What keeps the sidecar of one home: its kind, its name in the system, the files it may be described in."""

    __slots__ = ("home", "kind", "name", "paths")

    def __init__(self, home: str, environ: Mapping[str, str], platform: str = sys.platform) -> None:
        self.home = os.path.realpath(home)
        is_default = self.home == os.path.realpath(default_home(environ))
        end = "" if is_default else text_id(named_digest(b"clan-mesh unit", os.fsencode(self.home)))[:_HASH_CHARS]
        user = environ.get("HOME") or os.path.expanduser("~")
        if platform == "darwin":
            self.kind, self.name = LAUNCHD, f"{_LABEL}.{end}" if end else _LABEL
            self.paths = [os.path.join(user, "Library", "LaunchAgents", f"{self.name}.plist")]
        else:
            self.kind, self.name = SYSTEMD, f"clan-mesh-{end}.service" if end else "clan-mesh.service"
            bases = [environ.get("XDG_CONFIG_HOME", ""), os.path.join(user, ".config")]
            folders = [os.path.join(base, "systemd", "user") for base in bases if os.path.isabs(base)]
            # The manager may have been started without the variable that our shell has.
            self.paths = [os.path.join(folder, self.name) for folder in dict.fromkeys(folders)]

    @property
    def path(self) -> str:
        """The file there is, else the one to make."""
        return next((path for path in self.paths if os.path.lexists(path)), self.paths[0])


def is_ours(path: str) -> bool | None:
    """Whether we wrote a service's file; None if there is none."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return _MARK in file.read(64 * 1024)
    except FileNotFoundError:
        return False if os.path.islink(path) else None  # a link to nowhere, or a unit that was masked
    except OSError:
        return False


def start_words(home: str, mesh: str, environ: Mapping[str, str]) -> list[str]:
    """The command that starts a home's sidecar and does not wait for it, or nothing if nobody should.

    For hooks. Where a service keeps the home it is the service's turn: it knows the addresses to listen on.
    """
    if os.path.exists(os.path.join(home, NO_AUTOSTART)):
        return []
    service = Service(home, environ)
    if service.kind == SYSTEMD and is_ours(service.path) and environ.get("XDG_RUNTIME_DIR"):
        return ["systemctl", "--user", "--no-block", "start", service.name]
    if service.kind == LAUNCHD and is_ours(service.path):
        return ["launchctl", "kickstart", f"gui/{os.getuid()}/{service.name}"]
    return [mesh, "up", "--detach", "--home", home]


def text_of(
    service: Service, mesh: str, listen: Sequence[str], advertise: Sequence[str], environ: Mapping[str, str]
) -> str:
    """What the service's file has to say."""
    options = [word for address in listen for word in ("--listen", address)]
    options += [word for address in advertise for word in ("--advertise", address)]
    words = [mesh, "up", "--home", service.home, *options]
    # The log goes to the home, as with --detach: all our messages name that file.
    variables = {"MESH_DETACHED": "1"} | {name: environ[name] for name in _CARRIED if environ.get(name)}
    for text in (*words, *variables.values()):
        if not text.isprintable():
            raise UsageError(f"{text!r} cannot stand in the file of a service", "move it to a path of plain characters")
    if service.kind == LAUNCHD:
        return _plist(service, words, variables)
    return _unit(service, words, variables, listen, advertise)


def addresses_in(service: Service, text: str) -> tuple[list[str], list[str]]:
    """Where the service described in a text of ours listens, and what it advertises."""
    if service.kind == LAUNCHD:
        pairs = list(pairwise(loads(text.encode())["ProgramArguments"]))
        return [value for word, value in pairs if word == "--listen"], [
            value for word, value in pairs if word == "--advertise"
        ]
    found: dict[str, list[str]] = {"Listen": [], "Advertise": []}
    for line in text.partition("[X-ClanMesh]\n")[2].splitlines():
        key, _, value = line.partition("=")
        found.get(key, []).append(value)
    return found["Listen"], found["Advertise"]


def _unit(
    service: Service,
    words: Sequence[str],
    variables: Mapping[str, str],
    listen: Sequence[str],
    advertise: Sequence[str],
) -> str:
    """A systemd unit. Only hardening that a user's manager can do without namespaces, and nothing about the network."""
    program, *rest = words
    if any(char in program for char in "\"'\\"):  # systemd takes them in arguments only
        raise UsageError(f"systemd starts no program with a quote in its path: {program}", "mesh up --detach")
    # Of the program only % is expanded, of its arguments $ too.
    command = " ".join([_quoted(program), *(_quoted(word).replace("$", "$$") for word in rest)])
    lines = [
        f"# {_MARK}",
        "[Unit]",
        f"Description=clan-mesh, the sidecar of {_percent(service.home)}",
        f"ConditionPathExists={_percent(service.home)}/home.json",
        "StartLimitIntervalSec=0",
        "",
        "[Service]",
        "Type=exec",
        f"ExecStart={command}",
        *(f"Environment={_quoted(f'{name}={value}')}" for name, value in variables.items()),
        "Restart=on-failure",
        "RestartSec=10",
        "TimeoutStopSec=20",
        "UMask=0077",
        "NoNewPrivileges=yes",
        "LockPersonality=yes",
        "RestrictRealtime=yes",
        "RestrictSUIDSGID=yes",
        "SystemCallArchitectures=native",
        "",
        "[Install]",
        "WantedBy=default.target",
        "",
        "[X-ClanMesh]",
        *(f"Listen={address}" for address in listen),
        *(f"Advertise={address}" for address in advertise),
    ]
    return "\n".join(lines) + "\n"


def _plist(service: Service, words: Sequence[str], variables: Mapping[str, str]) -> str:
    """A launchd job. It is not started again after `mesh down`, which ends it well."""
    job = {
        "Label": service.name,
        "ProgramArguments": list(words),
        "EnvironmentVariables": dict(variables),
        "RunAtLoad": True,
        "KeepAlive": {"SuccessfulExit": False},
        "ThrottleInterval": 10,
        "ProcessType": "Background",
        "Umask": 0o077,
        "StandardErrorPath": os.path.join(service.home, "service.err"),
    }
    head, _, rest = dumps(job, sort_keys=False).decode().partition("\n")
    return f"{head}\n<!-- {_MARK} -->\n{rest}"


def _quoted(word: str) -> str:
    return '"' + _percent(word.replace("\\", "\\\\").replace('"', '\\"')) + '"'


def _percent(text: str) -> str:
    return text.replace("%", "%%")
