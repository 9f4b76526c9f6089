"""Asking a running sidecar, from a command: one raw request over its Unix socket. No aiohttp here: commands start fast."""

import json
import os
import socket
from typing import Any

from mesh.core.errors import HomeBusy, MeshError, UsageError
from mesh.store.file_access import patience
from mesh.store.wake_signal import socket_file

_SECONDS = 15.0


def ask(home: str, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
    """The sidecar's answer; an error of its own is raised as it would be here."""
    status, answer = _exchange(home, method, path, json.dumps(body).encode() if body else b"")
    try:
        value = json.loads(answer)
    except ValueError:
        value = {}
    if status == 200:
        return value
    raise UsageError(
        value.get("error", f"the sidecar does not know {path}"), value.get("next", "restart it: mesh down; mesh up")
    )


def ask_text(home: str, path: str) -> str:
    """An answer that is plain text."""
    return _exchange(home, "GET", path, b"")[1].decode()


def _exchange(home: str, method: str, path: str, body: bytes) -> tuple[int, bytes]:
    file = os.environ.get("MESH_SOCKET") or socket_file(home, "sidecar.sock")
    head = f"{method} {path} HTTP/1.0\r\nHost: mesh\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    try:
        if os.stat(file).st_uid not in (os.getuid(), 0):
            raise MeshError(
                f"the socket {file} belongs to somebody else", "set XDG_RUNTIME_DIR to a folder of your own"
            )
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(patience(_SECONDS))
            connection.connect(file)
            connection.sendall(head.encode() + body)
            parts = []
            while part := connection.recv(65536):
                parts.append(part)
    except (FileNotFoundError, ConnectionRefusedError):
        raise MeshError(f"no sidecar is running for {home}", "start it: mesh up --detach") from None
    except TimeoutError:
        raise HomeBusy(f"the sidecar of {home} does not answer", "see its log, or restart it: mesh down") from None
    except OSError as error:
        raise MeshError(f"the sidecar of {home} cannot be asked: {error}", "restart it: mesh down; mesh up") from error
    top, _, content = b"".join(parts).partition(b"\r\n\r\n")
    try:
        return int(top.split(b" ", 2)[1]), content
    except (IndexError, ValueError):
        raise MeshError(f"the sidecar of {home} gave no answer", "see its log, or restart it: mesh down") from None
