"""The system's service manager, called by its own commands: `systemctl --user`, or `launchctl`. Knows no texts.

The part for launchd was written from its documentation and never ran on a Mac.
"""

import os
import subprocess
from getpass import getuser

from mesh.core.errors import MeshError
from mesh.node.service_files import SYSTEMD, Service

_SECONDS = 60.0
_LINGER = "/var/lib/systemd/linger"
INSTEAD = "the hook at the start of an agent's session starts the sidecar instead; now: mesh up --detach"


class ServiceManager:
    """What the system can do for one service."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self._is_systemd = service.kind == SYSTEMD
        self._domain = f"gui/{os.getuid()}"
        self._job = f"{self._domain}/{service.name}"

    def missing(self) -> str:
        """What the system lacks to keep a service for this user; nothing if it can."""
        if self._is_systemd:
            code, said = _run("systemctl", "--user", "show-environment")
            return "" if code == 0 else f"no systemd user manager can be reached ({said})"
        code, said = _run("launchctl", "print", self._domain)
        return "" if code == 0 else f"launchd cannot be reached ({said})"

    def path(self) -> str:
        """Where the service's file belongs: the manager may look into another folder than our shell's variables tell."""
        service = self.service
        if not self._is_systemd or os.path.lexists(service.path):
            return service.path
        _, looked = _run("systemctl", "--user", "show", "--property=UnitPath", "--value")
        folders = set(looked.split())
        return next((path for path in service.paths if os.path.dirname(path) in folders), service.path)

    def process(self) -> int | None:
        """The process that the system keeps for the service."""
        if self._is_systemd:
            _, said = _run("systemctl", "--user", "show", "--property=MainPID", "--value", self.service.name)
        else:
            _, told = _run("launchctl", "print", self._job)
            said = next((line.split("=")[1] for line in told.splitlines() if line.strip().startswith("pid =")), "")
        return int(said) if said.strip().isdigit() and int(said) else None

    def enable(self) -> None:
        """From the next login on the service is started."""
        if self._is_systemd:
            _must("systemctl", "--user", "daemon-reload")
            _must("systemctl", "--user", "enable", self.service.name)
        else:
            _must("launchctl", "enable", self._job)

    def start(self, path: str, *, anew: bool) -> None:
        """Start it now; `anew`: also if it runs."""
        if self._is_systemd:
            _must("systemctl", "--user", "restart" if anew else "start", self.service.name)
            return
        if anew:
            _run("launchctl", "bootout", self._job)  # fails if it was not loaded
        code, _ = _run("launchctl", "bootstrap", self._domain, path)
        if code:  # loaded already, maybe ended by `mesh down`
            _must("launchctl", "kickstart", self._job)

    def disable(self) -> None:
        """Stop it, for good."""
        if self._is_systemd:
            _must("systemctl", "--user", "disable", "--now", self.service.name)
        else:
            _run("launchctl", "bootout", self._job)  # fails if it was not loaded

    def forget(self) -> None:
        """The service's file is gone."""
        if self._is_systemd:
            _must("systemctl", "--user", "daemon-reload")

    def complaints(self) -> str:
        """Where the system keeps what the service said."""
        if self._is_systemd:
            return f"journalctl --user -u {self.service.name}"
        return os.path.join(self.service.home, "service.err")

    def hints(self) -> list[str]:
        """What a person should know of how long a service runs here."""
        if not self._is_systemd or os.path.exists(os.path.join(_LINGER, getuser())):
            return []
        return ["it runs while you are logged in; to have it always: loginctl enable-linger"]


def _must(*words: str) -> None:
    code, said = _run(*words)
    if code:
        raise MeshError(f"{' '.join(words)} failed: {said}", INSTEAD)


def _run(*words: str) -> tuple[int, str]:
    """Exit code, and what was answered, or in one line what went wrong."""
    try:
        done = subprocess.run(  # noqa: S603 (fixed words, and names of our making)
            words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_SECONDS, check=False
        )
    except FileNotFoundError:
        return 127, f"there is no {words[0]}"
    except (OSError, subprocess.TimeoutExpired) as error:
        return 126, str(error)
    if done.returncode == 0:
        return 0, done.stdout.strip()
    said = (done.stderr or done.stdout).strip().splitlines()
    return done.returncode, said[0] if said else f"{words[0]} ended with {done.returncode}"
