"""The datagram that tells the running node "somebody has written". Nobody waits for an answer, or for a node."""

import os
from socket import AF_UNIX, SOCK_DGRAM, socket

from mesh.core.ids import digest

ANYTHING, OWN_FEED = b"!", b"o"  # what has changed: of most writes it is known to be nothing but our own feed
_PATH_BYTES = 100  # systems differ, none takes fewer than 103


def socket_file(home: str, name: str) -> str:
    """Where a home's socket is: in the home, or in the runtime folder where that path would be too long for the system."""
    path = os.path.join(home, name)
    if len(os.fsencode(path)) <= _PATH_BYTES:
        return path
    folder = os.environ.get("XDG_RUNTIME_DIR") or f"/tmp/clan-mesh-{os.getuid()}"  # noqa: S108 (made for its owner only)
    return os.path.join(folder, f"{digest(os.fsencode(os.path.realpath(home))).hex()[:16]}-{name}")


def ring(home: str, news: bytes = ANYTHING) -> None:
    """Tell a sidecar, if one runs. It looks by itself twice a second, so nothing is lost if this is."""
    bell = socket(AF_UNIX, SOCK_DGRAM)
    try:
        bell.setblocking(False)
        bell.sendto(news, socket_file(home, "bell.sock"))
    except OSError:
        pass
    finally:
        bell.close()
