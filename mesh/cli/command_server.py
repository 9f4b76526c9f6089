"""Runs command lines for clients in the node's process: what `mesh.cli.client` sends. Only commands that read and write records.

Each connection is one command, in a thread of its own. Nothing the client says makes this process open a path, start a program,
or touch keys: what a command has to know about the caller, the client is asked; what is not for the node, is refused before
anything is done, and the client does it by itself.
"""

from __future__ import annotations

import logging
import os
import select
import socket
import threading
from collections.abc import Mapping
from contextlib import closing, suppress
from types import TracebackType
from typing import TYPE_CHECKING, Self

import mesh.cli.command_groups  # noqa: F401 (loaded before the first client waits for it)
from mesh import __version__
from mesh.app.record_store import RecordStore
from mesh.cli.caller_answers import NO_TEXT, OK, STDIN
from mesh.cli.client import EVERYDAY, HOOK, MCP, command_of
from mesh.cli.command_frames import (
    ANSWER,
    END,
    ERR,
    HEAD_BYTES,
    OUT,
    QUESTION,
    REFUSED,
    REQUEST,
    pack,
    pack_bytes,
    unpack,
)
from mesh.cli.hook import answer_client
from mesh.cli.main import EXIT_FAILED, run
from mesh.cli.mcp_answers import answer_client as answer_agent
from mesh.cli.remote_caller import AskedHookSide, AskedSide
from mesh.cli.terminal import CommandStopped, RunByCaller, Terminal, use
from mesh.core.errors import MeshError
from mesh.node.socket_files import free, owner_only
from mesh.store.interruption import give_up_when
from mesh.store.wake_signal import socket_file

if TYPE_CHECKING:
    from clan_learnings.search.indexes import SearchIndexes

SOCKET = "commands.sock"
AT_ONCE = 16  # commands that run; those of further clients wait until one has ended
CLIENTS = 256  # that are there; further ones wait in the socket's queue
_REQUEST_BYTES = 12 * 1024 * 1024  # what a system lets a command line have, and an agent's event
_ANSWER_BYTES = 32 * 1024 * 1024
_UNSENT_BYTES = 128 * 1024 * 1024  # of all answers that clients are slow to read; beyond that, who is slow gets no more
_CHUNK = 32 * 1024  # of output, before it is sent
_SECONDS = 10.0  # for a client to say what it wants, or what it is asked
_READING_SECONDS = 600.0  # for a client to read its answer: a person may look at the first page of it
log = logging.getLogger("mesh.node")


class ClientGone(CommandStopped):
    """Nobody waits for the answer any more."""


class _Stream:
    """What a command writes, gathered and sent in pieces."""

    def __init__(self, terminal: ClientTerminal, kind: bytes, *, is_terminal: bool) -> None:
        self._terminal = terminal
        self._kind = kind
        self._is_terminal = is_terminal
        self._parts: list[bytes] = []
        self._size = 0
        self._left = _ANSWER_BYTES

    def write(self, text: str) -> None:
        """Some text."""
        data = text.encode("utf-8", "backslashreplace")
        self._parts.append(data)
        self._size += len(data)
        self._left -= len(data)
        if self._left < 0:
            self._left = _ANSWER_BYTES  # for the words about it
            raise MeshError(f"the answer is longer than {_ANSWER_BYTES // 2**20} MB", "ask for less: -n, or a filter")
        if self._size >= _CHUNK:
            self.flush()

    def flush(self) -> None:
        """All that was written."""
        data = b"".join(self._parts)
        self._parts, self._size = [], 0
        if data:
            self._terminal.put(pack_bytes(self._kind, data))

    def isatty(self) -> bool:
        """Whether a person looks at it."""
        return self._is_terminal


class ClientTerminal(Terminal):
    """The terminal of a client."""

    def __init__(self, connection: socket.socket, fields: list[str], server: CommandServer) -> None:
        """`fields`: of the request, behind the version. ValueError if they are not as they should be."""
        request_id, _home, terminals, width, event, count, *rest = fields
        super().__init__(request_id)
        self.home = server.home
        self.recall = server.recall
        self.store = server.store
        self.side = AskedSide(self.ask)
        self._width = int(width)
        self.event = event.encode("utf-8", "surrogateescape")  # of a hook
        self.argv = rest[int(count) :]
        self._environ = dict(word.partition("=")[::2] for word in rest[: int(count)])
        self._connection = connection
        self._server = server
        self._unsent = bytearray()
        self._out = _Stream(self, OUT, is_terminal="o" in terminals)
        self._err = _Stream(self, ERR, is_terminal="e" in terminals)

    @property
    def environ(self) -> Mapping[str, str]:
        """What of the caller's environment changes what is printed."""
        return self._environ

    @property
    def out(self) -> _Stream:
        """For data."""
        return self._out

    @property
    def err(self) -> _Stream:
        """For words to a person."""
        return self._err

    def _columns(self) -> int:
        return self._width

    def read(self) -> str:
        """All of the client's stdin."""
        return self.ask(STDIN)[0]

    def require_own_process(self) -> None:
        """It is not the caller's: nothing has been done or said yet."""
        raise RunByCaller

    def hook_side(self) -> AskedHookSide:
        """Where a hook was called."""
        return AskedHookSide(self.ask)

    def put(self, frame: bytes) -> None:
        """One frame, without waiting for a client who is slow to read: what it does not take now, it is sent later."""
        self._unsent += frame
        self._server.count_unsent(len(frame))
        try:
            self._forget(os.write(self._connection.fileno(), self._unsent))  # it never blocks: the socket has a timeout
        except BlockingIOError:
            return
        except OSError as error:
            raise ClientGone from error

    def drain(self) -> None:
        """Send what is left, however slowly the client reads."""
        self._connection.settimeout(_READING_SECONDS)
        try:
            while self._unsent:
                self._forget(self._connection.send(self._unsent[:_CHUNK]))
        except OSError as error:
            raise ClientGone from error

    def close(self) -> None:
        """Whatever was not sent, is not."""
        self._forget(len(self._unsent))

    def _forget(self, size: int) -> None:
        del self._unsent[:size]
        self._server.count_unsent(-size)

    def is_gone(self) -> bool:
        """Whether nobody waits any more: while a command runs, the client says nothing unless it is asked."""
        poll = select.poll()
        poll.register(self._connection, select.POLLIN)
        try:
            return bool(poll.poll(0)) and self._connection.recv(1, socket.MSG_PEEK) == b""
        except OSError:
            return True

    def ask(self, *question: str) -> list[str]:
        """What the client answers to a question."""
        self.put(pack(QUESTION, *question))
        self.drain()
        self._connection.settimeout(_SECONDS)
        kind, body = receive(self._connection)
        if kind != ANSWER:
            raise ClientGone
        state, *fields = unpack(body) or [""]
        if state == OK:
            return fields
        if state == NO_TEXT:
            raise UnicodeDecodeError("utf-8", b"", 0, 0, "stdin")
        raise MeshError(*fields[:2])


class CommandServer:
    """Listens while the block lasts."""

    def __init__(self, home: str, recall: SearchIndexes | None, store: RecordStore | None) -> None:
        """`recall`, `store`: the node's, for what it reads and writes; None: commands open the home themselves."""
        self.home = home
        self.recall = recall
        self.store = store
        self._path = socket_file(home, SOCKET)
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._seats = threading.BoundedSemaphore(CLIENTS)
        self._turns = threading.BoundedSemaphore(AT_ONCE)
        self._open: set[socket.socket] = set()
        self._unsent = 0
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._accept, name="mesh-commands", daemon=True)

    def __enter__(self) -> Self:
        with owner_only():
            self._listener.bind(free(self._path))
        self._listener.listen(CLIENTS)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        with self._lock:
            for connection in self._open:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
        self._thread.join(_SECONDS)
        with suppress(FileNotFoundError):
            os.unlink(self._path)

    def _accept(self) -> None:
        while True:
            self._seats.acquire()
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with self._lock:
                self._open.add(connection)
            threading.Thread(target=self._serve, args=(connection,), name="mesh-command", daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        try:
            connection.settimeout(_SECONDS)
            self._answer(connection)
        except (CommandStopped, OSError, ValueError, IndexError):
            pass  # who asked is gone, or is no client of ours
        except Exception:
            log.exception("a command of a client failed")
        finally:
            with self._lock:
                self._open.discard(connection)
            connection.close()
            self._seats.release()

    def _answer(self, connection: socket.socket) -> None:
        kind, body = receive(connection)
        version, *fields = unpack(body)
        if kind != REQUEST or version != __version__:
            connection.sendall(pack(REFUSED))
            return
        terminal = ClientTerminal(connection, fields, self)
        use(terminal)
        with closing(terminal):
            try:
                with self._turns, give_up_when(terminal.is_gone):
                    code = self._run(terminal)
                terminal.out.flush()
                terminal.err.flush()
                terminal.put(pack_bytes(END, str(code).encode()))
            except RunByCaller:
                terminal.put(pack(REFUSED))
            terminal.drain()

    @property
    def unsent(self) -> int:
        """Bytes of answers that wait for their clients to read them."""
        return self._unsent

    def count_unsent(self, size: int) -> None:
        """Bytes of answers that wait to be read, or do no longer. Raises ClientGone if that is too many."""
        with self._lock:
            self._unsent += size
            if size > 0 and self._unsent > _UNSENT_BYTES:
                raise ClientGone

    def _run(self, terminal: ClientTerminal) -> int:
        words = terminal.argv
        if command_of(words) == MCP:
            answer_agent(words, terminal)
            return 0
        if command_of(words) not in EVERYDAY:
            raise RunByCaller
        if command_of(words) == HOOK:
            answer_client(words[words.index(HOOK) + 1 :], terminal)
            return 0
        try:
            return run(words)
        except SystemExit as end:
            return end.code if isinstance(end.code, int) else EXIT_FAILED


def receive(connection: socket.socket) -> tuple[bytes, bytes]:
    """One frame of a client. Raises ClientGone if none comes."""
    head = _exactly(connection, HEAD_BYTES)
    size = int.from_bytes(head[1:], "big")
    if size > _REQUEST_BYTES:
        raise ClientGone
    return head[:1], _exactly(connection, size)


def _exactly(connection: socket.socket, size: int) -> bytes:
    parts, left = [], size
    while left:
        try:
            part = connection.recv(min(left, 65536))
        except OSError as error:
            raise ClientGone from error
        if not part:
            raise ClientGone
        parts.append(part)
        left -= len(part)
    return b"".join(parts)
