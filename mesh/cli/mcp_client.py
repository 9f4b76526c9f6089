"""`mesh mcp` as agents run it: passes each message on stdin to the node, and its answer to stdout. Built-in modules only.

A message is a command of its own (`command_frames`): this process and the node keep nothing for each other, so a node may come, go
and be replaced while a session lasts. A message that the node does not answer is answered in this process, by the same code
(`mesh.cli.mcp_answers`), which is loaded only then.
"""

import os
import sys
from _socket import socket
from select import POLLIN, POLLOUT, poll
from time import monotonic

from mesh import __version__
from mesh.cli.client import MCP, NotRun, connected, leave, write
from mesh.cli.command_frames import ANSWER, END, OUT, QUESTION, REQUEST, pack, take, unpack

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

LINE_BYTES = 8 * 1024 * 1024  # of a message; nothing that an agent may record is a hundredth of it
AT_ONCE = 32  # messages that are being answered; further ones wait in the pipe
_PIECE_BYTES = 4096  # of output: a pipe that has room takes as much without making us wait
_UNREAD_BYTES = 1024 * 1024  # of answers that the agent has not read; then no more messages are read
_SECONDS = 15.0  # without a word from the node, for what reads or writes records; then it is done here
_BRIEF_SECONDS = 3.0  # the same, for all else
_SILENT_SECONDS = 60.0  # a node that has not answered in time is not asked for so long
_LONG = (b'"tools/call"', b'"resources/read"')
_CANCELLED = b"notifications/cancelled"
_TOO_LONG = (
    b'{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"a message has at most %d bytes"}}\n' % LINE_BYTES
)
_TAKING_VALUES = ("--home", "--agent", "--session", "--repo", "--tools")
USUAL, ALL = "usual", "all"  # how much of its tools it announces


class Options:
    """What `mesh mcp` was started with. It holds for the whole session: messages cannot change it."""

    def __init__(
        self,
        home: str = "",
        agent: str = "",
        session: str = "",
        repo: str | None = None,
        *,
        tools: str = USUAL,
        read_only: bool = False,
    ) -> None:
        """`home`: empty if it is to be found. `repo`: the name of the only repository, if it is bound to one.

        `tools`: ALL to announce them with all they take and answer.
        """
        self.home = home
        self.agent = agent
        self.session = session
        self.repo = repo
        self.tools = tools
        self.read_only = read_only

    def words(self, home: str) -> list[str]:
        """The command line that says the same to a node. `home`: if no message can be about another."""
        named = {"--home": home, "--agent": self.agent, "--session": self.session, "--repo": self.repo}
        named["--tools"] = self.tools if self.tools != USUAL else ""
        words = [MCP, *(f"{name}={value}" for name, value in named.items() if value)]
        return [*words, "--read-only"] if self.read_only else words


def simple_options(argv: list[str]) -> Options | None:
    """What a command line says, if it is as agents' settings have it. None: it needs a closer look, and perhaps an explanation."""
    values: dict[str, str] = {}
    read_only = False
    words = iter(argv)
    for word in words:
        name, equals, value = word.partition("=")
        if name in _TAKING_VALUES:
            value = value if equals else next(words, "")
            if not value or value[0] == "-":
                return None
            values[name] = value
        elif word == "--read-only":
            read_only = True
        elif word not in (MCP, "--json"):
            return None
    repo, tools = values.get("--repo"), values.get("--tools", USUAL)
    if tools not in (USUAL, ALL):
        return None
    if repo is not None:
        from clan_learnings.repository.remote_name import named_repo
        from mesh.core.errors import UsageError

        try:
            repo = named_repo(repo)
        except UsageError:
            return None
    return Options(
        values.get("--home", ""),
        values.get("--agent", ""),
        values.get("--session", ""),
        repo,
        tools=tools,
        read_only=read_only,
    )


def serve_simply(argv: list[str]) -> None:
    """Serve and end, if the command line and the streams are as agents have them. Else return."""
    if sys.getfilesystemencoding() != "utf-8" or sys.stdin is None or sys.stdin.isatty() or sys.stdout is None:
        return
    options = simple_options(argv)
    if options is not None:
        serve(options)


def serve(options: Options) -> "NoReturn":
    """Answer until nobody is there any more."""
    from _signal import SIG_DFL, SIGINT, signal  # type: ignore[import-not-found]

    signal(SIGINT, SIG_DFL)  # writes are transactions, so dying at once does no harm
    _Session(options).run()
    leave(0)


def home_of(options: Options) -> tuple[str, bool]:
    """The home that messages are about, and whether it is that of all of them: the user's list may give a repository another."""
    given = options.home or os.environ.get("MESH_HOME", "")
    if given:
        return given, True
    user = os.environ.get("HOME", "")
    is_usual = not ("MESH_CONFIG" in os.environ or "XDG_CONFIG_HOME" in os.environ)
    if user and is_usual and not os.path.lexists(f"{user}/.config/clan-mesh/homes"):
        return f"{user}/.clan-mesh", True
    from mesh.cli.home_option import home_path
    from mesh.core.errors import MeshError

    try:
        return home_path(repo=options.repo), options.repo is not None
    except MeshError:
        return "", False  # what is wrong with the list is said by the answer of a tool


class Message:
    """One message that is being answered."""

    def __init__(self, line: bytes) -> None:
        self.line = line
        self.request_id = os.urandom(16).hex()
        self.is_cancelled = False
        self.connection: socket | None = None  # with the node, if that answers it
        self.received = b""
        self.answer: list[bytes] = []
        self.needs_store = any(words in line for words in _LONG)
        self.seconds = _SECONDS if self.needs_store else _BRIEF_SECONDS
        self.deadline = 0.0
        self.home = ""  # which it is about; empty if the user's list of homes cannot be understood
        self.is_home_fixed = False  # whether it is about that one, whatever repository it names

    def is_called(self, number: object) -> bool:
        """Whether its sender knows it by this id."""
        from json import loads

        try:
            return bool(loads(self.line)["id"] == number)
        except (ValueError, KeyError, TypeError, RecursionError):
            return False


class _Session:
    """Reads, passes on and writes, in one thread. What is answered here has threads of its own."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._poll = poll()
        self._messages: dict[int, Message] = {}  # by the descriptor of their connections
        self._own: list[Message] = []  # answered in this process
        self._answered: list[Message] = []  # of these
        self._wake = (-1, -1)
        self._parts: list[bytes] = []  # of a message that has not ended
        self._size = 0
        self._output = b""  # what the agent has still to read
        self._silent_until = 0.0  # the node is not asked before
        self._is_ended = self._is_unread = self._is_listening = False

    def run(self) -> None:
        """Until the input has ended, or nobody can read the answers any more, and what was under way is done."""
        while True:
            waiting = len(self._messages) + len(self._own)
            if self._is_ended and not waiting and not self._output:
                return
            self._listen(is_wanted=not self._is_ended and waiting < AT_ONCE and len(self._output) < _UNREAD_BYTES)
            # Stdin last: a new connection must not get the number, and the event, of one that has just been closed.
            for descriptor, events in sorted(self._poll.poll(self._patience()), reverse=True):
                if descriptor == 0:
                    self._read()
                elif descriptor == 1:
                    self._write(is_possible=events == POLLOUT)
                elif descriptor == self._wake[0]:
                    self._take_answered()
                elif descriptor in self._messages:
                    self._receive(self._messages[descriptor])
            now = monotonic()
            for message in list(self._messages.values()):
                if now > message.deadline:
                    self._silent_until = now + _SILENT_SECONDS
                    self._begin_here(message)

    def _listen(self, *, is_wanted: bool) -> None:
        if not self._is_unread:
            self._poll.register(1, POLLOUT if self._output else 0)  # errors and hang-ups are always told
        if is_wanted and not self._is_listening:
            self._poll.register(0, POLLIN)
        elif self._is_listening and not is_wanted:
            self._poll.unregister(0)
        self._is_listening = is_wanted

    def _patience(self) -> int | None:
        """Milliseconds until a node has had its time."""
        if not self._messages:
            return None
        first = min(message.deadline for message in self._messages.values())
        return max(int((first - monotonic()) * 1000) + 1, 0)

    def _write(self, *, is_possible: bool) -> None:
        """Some of the output; never so much that it could block, as the node may have a question meanwhile."""
        if is_possible:
            write(1, self._output[:_PIECE_BYTES])
            self._output = self._output[_PIECE_BYTES:]
        else:  # nobody can read any more
            self._poll.unregister(1)
            self._is_unread = self._is_ended = True
            self._output = b""

    def _say(self, answer: bytes) -> None:
        if not self._is_unread:
            self._output += answer

    def _read(self) -> None:
        try:
            data = os.read(0, 65536)
        except BlockingIOError:  # whoever shares the pipe has made it non-blocking, and was quicker
            return
        except OSError:
            data = b""
        if not data:
            self._is_ended = True
            data = b"\n"  # a last message may have no end of its own
        first, *rest = data.split(b"\n")
        self._keep(first)
        for part in rest:
            line, size = b"".join(self._parts), self._size
            self._parts, self._size = [], 0
            if size > LINE_BYTES:
                self._say(_TOO_LONG)
            elif line.strip():
                self._pass_on(line)
            self._keep(part)

    def _keep(self, part: bytes) -> None:
        self._size += len(part)
        if self._size <= LINE_BYTES:
            self._parts.append(part)
        else:
            self._parts = []

    def _pass_on(self, line: bytes) -> None:
        if _CANCELLED in line and self._cancel(line):
            return
        message = Message(line)
        message.home, message.is_home_fixed = home_of(self._options)
        if not message.home or monotonic() < self._silent_until:
            self._begin_here(message)
            return
        try:
            message.connection = connection = connected(message.home, message.seconds)
            words = self._options.words(message.home if message.is_home_fixed else "")
            head = [__version__, message.request_id, message.home, "", "0", os.fsdecode(line), "0"]
            connection.sendall(pack(REQUEST, *head, *words))
        except (NotRun, OSError) as error:
            if isinstance(error, TimeoutError):
                self._silent_until = monotonic() + _SILENT_SECONDS
            self._begin_here(message)
        else:
            message.deadline = monotonic() + message.seconds
            self._messages[connection.fileno()] = message
            self._poll.register(connection, POLLIN)

    def _receive(self, message: Message) -> None:
        """Something of the node, or its end."""
        assert message.connection is not None
        try:
            data = message.connection.recv(65536)
            message.received += data
            message.deadline = monotonic() + message.seconds
            while data and self._follow(message, message.connection):
                pass
        except (NotRun, OSError):
            data = b""
        if not data:
            self._begin_here(message)

    def _follow(self, message: Message, connection: socket) -> bool:
        """Do what the next frame says. Returns whether there may be another."""
        frame, message.received = take(message.received)
        if frame is None:
            return False
        kind, body = frame
        if kind == OUT:
            message.answer.append(body)
        elif kind == QUESTION:
            from mesh.cli.caller_answers import answer

            connection.sendall(pack(ANSWER, *answer(message.home, unpack(body))))
        elif kind == END:
            self._part_with_node(message)
            self._say(b"".join(message.answer))
            return False
        else:
            raise NotRun
        return True

    def _part_with_node(self, message: Message) -> None:
        connection, message.connection = message.connection, None
        if connection is not None:
            if self._messages.pop(connection.fileno(), None) is not None:
                self._poll.unregister(connection)
            connection.close()

    def _begin_here(self, message: Message) -> None:
        """Have a message answered in this process. What the node has done for it by now, is not done again: see `write_once`."""
        from threading import Thread

        self._part_with_node(message)
        if self._wake[0] < 0:
            self._wake = os.pipe()
            self._poll.register(self._wake[0], POLLIN)
        self._own.append(message)
        Thread(target=self._do_here, args=(message,), daemon=True).start()

    def _do_here(self, message: Message) -> None:
        """In a thread: loading what answers takes a while, and so may answering."""
        from mesh.cli.mcp_answers import answer_here

        message.answer = [answer_here(self._options, message)]
        self._answered.append(message)
        os.write(self._wake[1], b"!")

    def _take_answered(self) -> None:
        os.read(self._wake[0], 1)
        message = self._answered.pop(0)
        self._own.remove(message)
        if not message.is_cancelled:
            self._say(b"".join(message.answer))

    def _cancel(self, line: bytes) -> bool:
        """Give up what an agent does not want to know any more. Returns whether the message says so."""
        from json import loads

        try:
            told = loads(line)
            if told["method"] != _CANCELLED.decode():
                return False
            number = told["params"]["requestId"]
        except (ValueError, KeyError, TypeError, RecursionError):
            return False
        for message in [*self._messages.values(), *self._own]:
            if message.is_called(number):
                message.is_cancelled = True
                self._part_with_node(message)  # which sees it and stops
        return True
