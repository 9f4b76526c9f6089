"""The client of a running node: one raw HTTP request over its Unix socket, and the ways on where nobody answers.

Whatever the node does not answer, the command does by
itself. The node may do it all the same, later: a write has a request id, and the second of the two finds it done.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from socket import AF_UNIX, SOCK_STREAM, socket
from typing import Any

from clan_learnings.agents.surroundings import in_sandbox
from clan_learnings.records.spool import queue
from mesh.app.caller import Caller
from mesh.core.errors import HomeBusy, HomeError, HomePermissions, MeshError, UsageError
from mesh.core.ids import parse_id
from mesh.store.file_access import patience
from mesh.store.wake_signal import socket_file

_SECONDS = 15.0
_BRIEF_SECONDS = 3.0  # for what the command can do by itself
_TEXT_CHARS = 16_000  # the API takes no longer text
REQUEST = ("request_id", "request_seconds")  # what a write is known by
_HERE_ONLY = "category"  # a repository may have categories of its own, which the node does not know


def has_node(home: str) -> bool:
    """Whether there is the socket of a node. It may be left by one that was killed."""
    return os.path.exists(_socket_path(home))


# Requests that only a node can answer


def ask(home: str, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
    """The node's answer. An error of the node is raised as if it had happened here."""
    status, answer = _required(home, f"{method} {path}", json.dumps(body).encode() if body else b"")
    try:
        value = json.loads(answer.decode())
    except ValueError:
        value = {}
    if status == 200:
        return value
    raise UsageError(
        value.get("error", f"the sidecar does not know {path}"), value.get("next", "restart it: mesh down; mesh up")
    )


def ask_text(home: str, path: str) -> str:
    """An answer that is plain text."""
    return _required(home, f"GET {path}", b"")[1].decode()


# Requests that the command can also answer by itself


def request_answer(home: str, kind: str, question: dict[str, Any]) -> dict[str, Any] | None:
    """The node's answer to a question; None if it has none.

    Then the command looks for itself, and says itself what is wrong: it knows its surroundings.
    """
    path = _socket_path(home)
    try:
        if not _is_ours(path) or any(_is_long(value) for value in question.values()):
            return None
        fields = {
            name: value
            for name, value in question.items()
            if value not in (None, [], False) and (value or name == "repo")
        }
        return _accepted(path, f"GET /{kind}", fields)
    except (OSError, ValueError, IndexError, RecursionError):
        return None


def request_search(
    caller: Caller,
    query: str,
    *,
    repo: str | None = None,
    everywhere: bool = False,
    bound: str | None = None,
    **filters: Any,
) -> dict[str, Any] | None:
    """What a running node finds: its indexes are loaded, and may have vectors. None: search the database here.

    `bound`: the only repository that may be told about. An older node refuses the field.
    """
    if not query.strip() or not has_node(caller.home):
        return None
    if bound is not None:
        scope: dict[str, Any] = {"repo": bound, "bound": bound}
    else:
        scope = {"everywhere": True} if everywhere else {"repo": caller.scope(repo)}
    answer = request_answer(caller.home, "search", {"query": query} | filters | scope)
    # An older node answers less.
    return answer if answer is not None and {"by", "pages"} <= set(answer) else None


def request_write(caller: Caller, kind: str, words: dict[str, Any], about: dict[str, Any]) -> dict[str, Any] | None:
    """The node's answer to a write; None if it made none.

    Then the command writes by itself, and explains errors to a person: the API speaks of fields, to programs.
    `words`: with the request id, under which both ways are the same write.
    """
    path = _socket_path(caller.home)
    is_long = any(_is_long(value) for value in (*words.values(), *about.values()))
    if not os.path.exists(path) or about.get(_HERE_ONLY) or is_long:
        return None
    try:
        if not _is_ours(path):
            return None
        with open(os.path.join(caller.home, "home.json"), encoding="utf-8") as file:
            node = parse_id(json.loads(file.read())["node"])
        if caller.is_unshared:
            return None  # then it is private, which only the command itself can write
        facts = caller.about(node, words | about)
        return _accepted(path, f"POST /{kind}", words | facts.fields() | {"is_global": not facts.repo})
    except (OSError, ValueError, KeyError, TypeError, IndexError):
        return None


# Writes that cannot reach the store


def hand_over(
    home: str, kind: str, arguments: Mapping[str, Any], error: HomeError, bound: str | None = None
) -> dict[str, Any]:
    """Hand a write to the node, else leave it in a queue that the next hook takes in.

    An agent's shell may be in a sandbox that reaches neither the home nor a socket. What is only queued is never reported
    as recorded. `arguments`: complete, with the request id: a node that answers too late may write what is then queued too.
    `bound`: the only repository that the node may mention in its answer; None: any.
    """
    try:
        told = dict(arguments) if bound is None else {**arguments, "bound": bound}
        answer: dict[str, Any] = ask(home, "POST", f"/{kind}", told)
    except MeshError as problem:
        if isinstance(problem, UsageError) and not is_older_node(str(problem)):
            raise  # the node has read it, and says what is wrong with it
        return _queue(home, kind, arguments, error)
    return answer


def is_older_node(error: str) -> bool:
    """Whether an error is that of an older node, which knows no request ids or bindings. It has done nothing then."""
    return error.startswith(("there is no field 'request_", "there is no field 'bound'"))


def _queue(home: str, kind: str, arguments: Mapping[str, Any], error: HomeError) -> dict[str, Any]:

    try:
        path = queue(kind, {name: value for name, value in arguments.items() if value not in (None, "", [], ())}, home)
    except OSError as trouble:
        step = "repeat the command outside the sandbox" if in_sandbox(os.environ) else error.next_step
        raise HomePermissions(
            f"{error}; and it cannot be queued either: {trouble}",
            f"{step or 'mend that'}; or let it write to the temporary folder",
        ) from error
    return {"state": "queued", "id": None, "queued_in": path, "because": str(error)}


# The socket


def _socket_path(home: str) -> str:
    return os.environ.get("MESH_SOCKET") or socket_file(home, "sidecar.sock")


def _is_ours(path: str) -> bool:
    return os.stat(path).st_uid in (os.getuid(), 0)


def _is_long(value: object) -> bool:
    return isinstance(value, str) and len(value) > _TEXT_CHARS


def _required(home: str, route: str, body: bytes) -> tuple[int, bytes]:
    """Status and body of an answer. Without one, an error says what to do about it."""
    path = _socket_path(home)
    try:
        if not _is_ours(path):
            raise MeshError(
                f"the socket {path} belongs to somebody else", "set XDG_RUNTIME_DIR to a folder of your own"
            )
        return _exchange(path, route, body, _SECONDS)
    except (FileNotFoundError, ConnectionRefusedError):
        raise MeshError(f"no sidecar is running for {home}", "start it: mesh up --detach") from None
    except TimeoutError:
        raise HomeBusy(f"the sidecar of {home} does not answer", "see its log, or restart it: mesh down") from None
    except OSError as error:
        raise MeshError(f"the sidecar of {home} cannot be asked: {error}", "restart it: mesh down; mesh up") from error
    except (IndexError, ValueError):
        raise MeshError(f"the sidecar of {home} gave no answer", "see its log, or restart it: mesh down") from None


def _accepted(path: str, route: str, fields: dict[str, Any]) -> dict[str, Any] | None:
    """The answer, if the request was accepted."""
    status, content = _exchange(path, route, json.dumps(fields).encode(), _BRIEF_SECONDS)
    answer = json.loads(content.decode())
    return answer if status == 200 and isinstance(answer, dict) else None


def _exchange(path: str, route: str, body: bytes, seconds: float) -> tuple[int, bytes]:
    head = f"{route} HTTP/1.0\r\nHost: mesh\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    connection = socket(AF_UNIX, SOCK_STREAM)
    try:
        connection.settimeout(patience(seconds))
        connection.connect(path)
        connection.sendall(head.encode() + body)
        parts = []
        while part := connection.recv(65536):
            parts.append(part)
    finally:
        connection.close()
    top, _, content = b"".join(parts).partition(b"\r\n\r\n")
    return int(top.split(b" ", 2)[1]), content
