"""Asking a running sidecar, from a command: one raw request over its Unix socket. No aiohttp here: commands start fast."""

from __future__ import annotations

import json
import os
import socket
from typing import Any

from mesh.app.quick_client import is_older_node
from mesh.core.errors import HomeBusy, HomePermissions, MeshError, UsageError
from mesh.store.file_access import patience
from mesh.store.wake_signal import socket_file

TYPE_CHECKING = False  # see `mesh`
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from mesh.core.errors import HomeError


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


def hand_over(
    home: str, kind: str, arguments: Mapping[str, Any], error: HomeError, bound: str | None = None
) -> dict[str, Any]:
    """Another way for a write. `arguments`: complete, because whoever writes it will be somewhere else.

    `bound`: the only repository of which the sidecar may tell something in its answer; None: any.

    The request id among them: if the sidecar does not answer in time, it may write what is then queued, too.
    """
    try:
        told = dict(arguments) if bound is None else {**arguments, "bound": bound}
        answer: dict[str, Any] = ask(home, "POST", f"/{kind}", told)
    except MeshError as problem:
        if isinstance(problem, UsageError) and not is_older_node(str(problem)):
            raise  # the sidecar has read it, and says what is wrong with it
        return _queue(home, kind, arguments, error)
    return answer


def _queue(home: str, kind: str, arguments: Mapping[str, Any], error: HomeError) -> dict[str, Any]:
    from clan_learnings.records.spool import queue

    try:
        path = queue(kind, {name: value for name, value in arguments.items() if value not in (None, "", [], ())}, home)
    except OSError as trouble:
        from clan_learnings.agents.surroundings import in_sandbox

        step = "repeat the command outside the sandbox" if in_sandbox(os.environ) else error.next_step
        raise HomePermissions(
            f"{error}; and it cannot be queued either: {trouble}",
            f"{step or 'mend that'}; or let it write to the temporary folder",
        ) from error
    return {"state": "queued", "id": None, "queued_in": path, "because": str(error)}
