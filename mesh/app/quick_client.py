"""What a running sidecar does for a command, a write or a question: it has loaded everything that the command would have to load first.

Imports next to nothing: one raw request over the socket. Whatever goes wrong on the way, the command does it by itself. The
sidecar may do it all the same, later: a write has a request id, and whoever comes second finds it done.
"""

from __future__ import annotations

import os
from _socket import AF_UNIX, SOCK_STREAM, socket

from clan_learnings.agents.light_json import line, loads
from mesh.app.caller import Caller
from mesh.core.ids import parse_id
from mesh.store.file_access import patience
from mesh.store.wake_signal import socket_file

TYPE_CHECKING = False  # see `mesh`
if TYPE_CHECKING:
    from typing import Any

_BRIEF_SECONDS = 3.0
_TEXT_CHARS = 16_000  # the API takes no longer text
_HERE_ONLY = "category"  # a repository may have categories of its own, which only who stands in it can know


def has_socket(home: str) -> bool:
    """Whether there is a socket of a sidecar. Nobody may listen there any more."""
    return os.path.exists(_socket_of(home))


def request_answer(home: str, kind: str, asked: dict[str, Any]) -> dict[str, Any] | None:
    """What the sidecar answers to a question; None if there is no answer, or it would not have the question.

    Then the command looks for itself, and says itself what is wrong: it knows more of where it stands.
    """
    path = _socket_of(home)
    try:
        if os.stat(path).st_uid not in (os.getuid(), 0) or any(_is_long(value) for value in asked.values()):
            return None
        fields = {
            name: value for name, value in asked.items() if value not in (None, [], False) and (value or name == "repo")
        }
        status, answer = _brief_exchange(path, f"GET /{kind}", fields)
    except (OSError, ValueError, IndexError, RecursionError):
        return None
    return answer if status == 200 and isinstance(answer, dict) else None


def request_search(
    home: str,
    place: Caller,
    query: str,
    *,
    repo: str | None = None,
    everywhere: bool = False,
    bound: str | None = None,
    **asked: Any,
) -> dict[str, Any] | None:
    """What a running sidecar finds: its indexes are at hand, and may know meanings. None: search the database.

    `bound`: as of the desk. A sidecar of an earlier version refuses what it does not know.
    """
    if not query.strip() or not has_socket(home):
        return None
    if bound is not None:
        scope: dict[str, Any] = {"repo": bound, "bound": bound}
    else:
        scope = {"everywhere": True} if everywhere else {"repo": place.scope(repo)}
    answer = request_answer(home, "search", {"query": query} | asked | scope)
    return (
        answer if answer is not None and {"by", "pages"} <= set(answer) else None
    )  # a sidecar of an earlier version says less


def request_write(home: str, kind: str, words: dict[str, Any], about: dict[str, Any]) -> dict[str, Any] | None:
    """The sidecar's answer; None if there is none, or it would not have the request.

    Then the command writes by itself, and says what is wrong in a person's words: the API speaks of fields, to programs.
    `words`: the request id among them, under which all of it is repeated.
    """
    path = _socket_of(home)
    is_long = any(_is_long(value) for value in (*words.values(), *about.values()))
    if not os.path.exists(path) or about.get(_HERE_ONLY) or is_long:
        return None
    try:
        if os.stat(path).st_uid not in (os.getuid(), 0):
            return None
        with open(os.path.join(home, "home.json"), encoding="utf-8") as file:
            node = parse_id(loads(file.read())["node"])
        place = Caller(home, os.environ, "", agent="", session="")
        if place.is_unshared:
            return None  # then it is private, which only the command itself can write
        facts = place.about(node, words | about)
        status, answer = _brief_exchange(path, f"POST /{kind}", words | facts.fields() | {"is_global": not facts.repo})
    except (OSError, ValueError, KeyError, TypeError, IndexError):
        return None
    return answer if status == 200 and isinstance(answer, dict) else None


def is_older_node(error: str) -> bool:
    """Whether a sidecar of an earlier version says so, which knows of no request ids or bindings. It has done nothing then."""
    return error.startswith(("there is no field 'request_", "there is no field 'bound'"))


def _socket_of(home: str) -> str:
    return os.environ.get("MESH_SOCKET") or socket_file(home, "sidecar.sock")


def _is_long(value: object) -> bool:
    return isinstance(value, str) and len(value) > _TEXT_CHARS


def _brief_exchange(path: str, where: str, body: dict[str, Any]) -> tuple[int, Any]:
    data = line(body).encode()
    head = f"{where} HTTP/1.0\r\nHost: mesh\r\nContent-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
    connection = socket(AF_UNIX, SOCK_STREAM)
    try:
        connection.settimeout(patience(_BRIEF_SECONDS))
        connection.connect(path)
        connection.sendall(head.encode() + data)
        parts = []
        while part := connection.recv(65536):
            parts.append(part)
    finally:
        connection.close()
    top, _, content = b"".join(parts).partition(b"\r\n\r\n")
    return int(top.split(b" ", 2)[1]), loads(content.decode())
