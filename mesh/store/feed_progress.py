"""How far this home's own feed has come on this machine, kept outside the home, so that a restored backup is noticed.

A home restored from a backup, or copied elsewhere, does not bring this file with it. Who finds it
missing, from another machine or ahead of the database must not go on in the same feed.
"""

import os
import sys
from contextlib import suppress

from mesh.core.errors import HomePermissions, Malformed
from mesh.core.ids import named_digest
from mesh.core.strict_msgpack import pack, unpack

_BYTES = 512  # one sector, written in one call at one place: it is the old marker or the new one


class FeedProgress:
    """Epoch and last sequence number of one home's own feed."""

    def __init__(self, node: bytes, home: str) -> None:
        name = named_digest(b"clan-mesh marker", node + os.fsencode(os.path.realpath(home))).hex()[:24]
        self.path = os.path.join(state_folder(), name)
        self._node = node

    def read(self) -> tuple[int, int] | None:
        """Epoch and seq, or None if there is no marker of this node on this machine."""
        try:
            with open(self.path, "rb") as file:
                data = file.read(_BYTES)
            value = unpack(data[2 : 2 + int.from_bytes(data[:2], "big")])
        except (OSError, Malformed):
            return None
        if type(value) is not list or len(value) != 4 or value[:2] != [self._node, machine()]:
            return None
        epoch, seq = value[2:]
        return (epoch, seq) if type(epoch) is int and type(seq) is int else None

    def open(self) -> int:
        """A descriptor to write through, taken before the commit: a marker that cannot be kept is no surprise after it."""
        try:
            os.makedirs(os.path.dirname(self.path), mode=0o700, exist_ok=True)
            return os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise HomePermissions(
                f"the marker {self.path} cannot be written: {error.strerror}",
                "make that folder writable, or set MESH_STATE to one that is and that is not backed up with the home",
            ) from error

    def write(self, descriptor: int, epoch: int, seq: int) -> None:
        """After each commit. Neither synced nor insisted on: a marker that is behind does no harm."""
        data = pack([self._node, machine(), epoch, seq])
        with suppress(OSError):
            os.pwrite(descriptor, (len(data).to_bytes(2, "big") + data).ljust(_BYTES, b"\0"), 0)


def state_folder() -> str:
    """Where markers are kept: the user's state folder, or `MESH_STATE`."""
    given = os.environ.get("MESH_STATE")
    if given:
        return given
    base = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    return os.path.join(base, "clan-mesh")


def machine() -> bytes:
    """What tells this machine from others: its machine id where the system has one, else its name."""
    for path in ("/etc/machine-id", "/var/lib/dbus/machine-id"):
        try:
            with open(path, "rb") as file:
                text = file.read(64).strip()
        except OSError:
            continue
        if text:
            return text
    return f"{sys.platform}:{os.uname().nodename}".encode()
