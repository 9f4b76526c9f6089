"""The `mesh` script. Everyday commands are run by the node, if one is running: this sends the command line and prints what comes back.

Nothing but built-in modules is imported before the node has answered: this is what makes a command start at once. Whatever the
node does not run, `mesh.cli.main` runs in this process: no node, another version, or a command that concerns files, programs,
keys or members. What a command needs to know of where we are, the node asks for, and `caller_answers` finds it here.
"""

import os
import sys
from _socket import AF_UNIX, SOCK_STREAM, socket
from time import monotonic

from mesh import __version__
from mesh.cli.command_frames import ANSWER, END, ERR, OUT, QUESTION, REFUSED, REQUEST, pack, take, unpack

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

EVERYDAY = frozenset(
    (
        "context",
        "correct",
        "discover",
        "edit",
        "hook",
        "hot",
        "mute",
        "pattern",
        "peers",
        "retract",
        "search",
        "show",
        "status",
        "tail",
        "tiers",
        "why",
    )
)
HOOK = "hook"
MCP = "mcp"  # messages of an agent, each of which the node answers
EXTRACTING = "MESH_EXTRACTING"  # set for a model that is asked about sessions: its own session is none of the user's
HOOK_SECONDS = 3.0  # then the agent's session goes on without us
EVENT_BYTES = 8 * 1024 * 1024
COMPLETING = "_MESH_COMPLETE"  # set by a shell that asks what can be typed
NO_ANSWER = b"{}\n"  # what a hook says that has nothing to say
SECONDS = 15.0  # without a word from the node; then the command runs here
PASSED_ON = ("COLUMNS", "MESH_DEBUG", "NO_COLOR", "TERM")
_PATH_BYTES = 100  # as in `mesh.store.wake_signal`


class NotRun(Exception):
    """The node has not run the command, or nobody knows whether it has."""


def main() -> None:
    """The entry point of the `mesh` script."""
    request_id = os.urandom(16).hex()
    argv = sys.argv[1:]
    if command_of(argv) == MCP:
        from mesh.cli.mcp_client import serve_simply

        serve_simply(argv)
    is_hook = command_of(argv) == HOOK
    event = None
    home = _home(argv)
    if home:
        try:
            connection = connected(home, HOOK_SECONDS if is_hook else SECONDS)
            event = read_event() if is_hook else None
            end = monotonic() + HOOK_SECONDS if is_hook else 0.0
            code = _run(connection, argv, home, request_id, event or b"", end)
            if is_hook:
                _after_hook(home, argv)
            leave(code)
        except (NotRun, OSError):
            pass
        except KeyboardInterrupt:
            leave(130)
    from mesh.cli.main import main as run_here

    run_here(request_id, event)


def _home(argv: list[str]) -> str:
    """The home whose node may run the command; empty if none may."""
    if (
        command_of(argv) not in EVERYDAY
        or COMPLETING in os.environ
        or EXTRACTING in os.environ
        or sys.getfilesystemencoding() != "utf-8"
    ):
        return ""
    for stream in (sys.stdout, sys.stderr):
        if stream is None or (stream.encoding or "").lower() != "utf-8":
            return ""
    given = given_home(argv)
    if given or os.environ.get("MESH_HOME"):
        return given or os.environ["MESH_HOME"]
    if "MESH_CONFIG" in os.environ or "XDG_CONFIG_HOME" in os.environ:
        return _listed_home(argv)
    user = os.environ.get("HOME", "")
    if not user or os.path.lexists(f"{user}/.config/clan-mesh/homes"):
        return _listed_home(argv)
    return f"{user}/.clan-mesh"


def command_of(argv: list[str]) -> str:
    """The first word behind `--home`; empty if there is none."""
    skipped = 2 if argv[:1] == ["--home"] else 1 if argv and argv[0].startswith("--home=") else 0
    return argv[skipped] if len(argv) > skipped else ""


def given_home(argv: list[str]) -> str:
    """What `--home` says, looked for before the options are read: what is wrong with them is told with a hint too."""
    for place, word in enumerate(argv):
        if word == "--":
            break
        if word.startswith("--home="):
            return word[len("--home=") :]
        if word == "--home":
            following = argv[place + 1] if place + 1 < len(argv) else ""
            return "" if following[:1] == "-" else following
    return ""


def _listed_home(argv: list[str]) -> str:
    """Where there may be a list of homes: rare enough to import what reads it. What is wrong with it, is said by the command."""
    from mesh.cli.home_option import home_path
    from mesh.core.errors import MeshError

    if any(word.startswith("--repo") for word in argv):
        return ""
    try:
        return home_path(os.environ)
    except MeshError:
        return ""


def _socket_path(home: str) -> str:
    path = os.environ.get("MESH_SOCKET")
    if path:
        return os.path.join(os.path.dirname(path), "commands.sock")
    path = os.path.join(home, "commands.sock")
    if len(os.fsencode(path)) <= _PATH_BYTES:
        return path
    from mesh.store.wake_signal import socket_file

    return socket_file(home, "commands.sock")


def connected(home: str, seconds: float) -> socket:
    """With the node of a home."""
    path = _socket_path(home)
    if os.stat(path).st_uid not in (os.getuid(), 0):
        raise NotRun
    connection = socket(AF_UNIX, SOCK_STREAM)
    connection.settimeout(seconds)
    connection.connect(path)
    return connection


def _run(connection: socket, argv: list[str], home: str, request_id: str, event: bytes, end: float) -> int:
    """Have the node run it; returns the exit code. `end`: when a hook stops waiting; 0: of no hook."""
    try:
        environ = [f"{name}={os.environ[name]}" for name in PASSED_ON if name in os.environ]
        terminals = "".join(
            letter
            for letter, stream in zip("ioe", (sys.stdin, sys.stdout, sys.stderr), strict=True)
            if _is_terminal(stream)
        )
        width, told = str(_width(terminals)), os.fsdecode(event)
        head = [__version__, request_id, home, terminals, width, told, str(len(environ)), *environ]
        connection.sendall(pack(REQUEST, *head, *argv))
        return _follow(connection, home, end)
    finally:
        connection.close()


def _follow(connection: socket, home: str, end: float) -> int:
    """Print what comes, answer what is asked, until the node says how it ended."""
    data, printed = b"", False
    while True:
        frame, data = take(data)
        if frame is None:
            if end:
                connection.settimeout(max(end - monotonic(), 0.001))
            try:
                part = connection.recv(65536)
            except TimeoutError:
                if end:
                    if not printed:
                        write(1, NO_ANSWER)
                    return 0
                part = b""
            except OSError:
                part = b""
            if not part:
                if printed:
                    write(2, b"mesh: the node stopped in the middle of its answer\n  next: repeat the command\n")
                    return 1
                raise NotRun
            data += part
            continue
        kind, body = frame
        if kind in (OUT, ERR):
            printed = True
            write(1 if kind == OUT else 2, body)
        elif kind == QUESTION:
            from mesh.cli.caller_answers import answer

            connection.sendall(pack(ANSWER, *answer(home, unpack(body))))
        elif kind == END:
            _remark()
            return int(body)
        elif kind == REFUSED:
            raise NotRun
        else:
            raise NotRun


def read_event() -> bytes:
    """What an agent sends to a hook, and at most a little more than the limit. A person at a terminal sends nothing."""
    if _is_terminal(sys.stdin):
        return b""
    kept, size = [], 0
    while chunk := os.read(0, 1024 * 1024):
        if size <= EVENT_BYTES:
            kept.append(chunk)
        size += len(chunk)  # the rest is taken all the same: a broken pipe might upset the agent
    return b"".join(kept)


def _after_hook(home: str, argv: list[str]) -> None:
    """Take in what could only be queued, in folders that only this side knows: at an event that looked around here anyway."""
    if "mesh.cli.caller_answers" in sys.modules:
        from clan_learnings.records.spool import is_waiting

        if is_waiting(home):
            from mesh.cli.hook import take_in_queued

            take_in_queued(home, argv[argv.index(HOOK) + 1 :])


def write(descriptor: int, data: bytes) -> None:
    """Write all of it, or end: with success if it is the reader that is gone."""
    while data:
        try:
            data = data[os.write(descriptor, data) :]
        except BlockingIOError:  # whoever shares the pipe has made it non-blocking, and it is full
            from select import select

            select((), (descriptor,), ())
        except BrokenPipeError:  # whoever reads has enough
            leave(0)
        except OSError as error:
            if descriptor == 1:
                write(2, f"mesh: the output cannot be written: {error.strerror}\n  next: {_ELSEWHERE}\n".encode())
            leave(1)


_ELSEWHERE = "send the output elsewhere and repeat the command; what it had done by then is kept"


def _is_terminal(stream: object) -> bool:
    return stream is not None and stream.isatty()  # type: ignore[attr-defined]


def _width(terminals: str) -> int:
    if "o" not in terminals:
        return 0
    try:
        return os.get_terminal_size(1).columns
    except OSError:
        return 0


def _remark() -> None:
    """What is odd in the files of the repository, if they were read."""
    if "clan_learnings.repository.detection" in sys.modules:
        from mesh.cli.caller_answers import has_remarks

        if has_remarks():
            from mesh.cli.main import remark

            remark()


def leave(code: int) -> "NoReturn":
    """End at once: nothing here has to be tidied up."""
    os._exit(code)
