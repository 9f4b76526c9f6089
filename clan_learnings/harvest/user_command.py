"""A command of the user, run once: text in, text out, within a time and a size. Knows nothing of what the text is about.

No shell. The program is the leader of its own process group, in an empty folder of its own, and the whole group is ended when it
has answered, when time is up, when it says too much, and when we are interrupted ourselves. What leaves the group on purpose
cannot be ended; it is not waited for either.
"""

import contextlib
import os
import selectors
import shlex
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping
from typing import IO, NamedTuple

ANSWER_BYTES = 256 * 1024
COMPLAINT_BYTES = 16 * 1024  # what is kept of stderr; the rest is read and dropped
_TERM_SECONDS = 2.0  # to end by itself after being asked to
_REST_SECONDS = 0.5  # for what is still in the pipes after the program has ended
_LOOK_SECONDS = 0.1
_CHUNK = 64 * 1024


class CommandAnswer(NamedTuple):
    """What came back. `problem`: why it is not to be used; empty if it is."""

    text: str
    problem: str
    complaint: str = ""  # the end of what it said on stderr


def ask(command: str, question: str, *, seconds: float, environ: Mapping[str, str]) -> CommandAnswer:
    """Run a command line with a question on its stdin. Nothing is raised for what the program does."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        return CommandAnswer("", f"the command line cannot be read ({str(error).lower()})")
    if not words:
        return CommandAnswer("", "the command line is empty")
    if os.path.dirname(words[0]):  # named from where the user is, and run elsewhere
        words[0] = os.path.abspath(words[0])
    with tempfile.TemporaryDirectory(prefix="clan-mesh-", ignore_cleanup_errors=True) as folder:
        try:
            process = subprocess.Popen(  # noqa: S603 (the user's own command, without a shell)
                words,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
                cwd=folder,
                env=dict(environ),
            )
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            return CommandAnswer("", f"{words[0]!r} cannot be started: {why}")
        talk = _Talk(process, question.encode("utf-8", "replace"))
        try:
            problem = talk.until(time.monotonic() + seconds)
        finally:
            talk.end()
    complaint = bytes(talk.complaint).decode("utf-8", "replace").strip()
    if not problem and (process.returncode or 0) != 0:
        problem = _ending(process.returncode)
    if problem == _TOO_SLOW:
        problem = f"no answer within {seconds:g} s"
    return CommandAnswer(bytes(talk.answer).decode("utf-8", "replace"), problem, complaint)


_TOO_SLOW = "too slow"
_TOO_MUCH = f"it said more than {ANSWER_BYTES // 1024} KB"


class _Talk:
    """The pipes of one running program."""

    def __init__(self, process: subprocess.Popen[bytes], question: bytes) -> None:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        self.answer = bytearray()
        self.complaint = bytearray()
        self._process = process
        self._left = memoryview(question)
        self._in, self._out, self._err = process.stdin, process.stdout, process.stderr
        self._pipes = selectors.DefaultSelector()
        for pipe in (self._in, self._out, self._err):
            os.set_blocking(pipe.fileno(), False)
        self._pipes.register(self._in, selectors.EVENT_WRITE)
        self._pipes.register(self._out, selectors.EVENT_READ)
        self._pipes.register(self._err, selectors.EVENT_READ)

    def until(self, deadline: float) -> str:
        """Talk until it has said all, or a limit is reached. Why the answer is of no use; empty if it is."""
        ended = None
        while self._pipes.get_map():
            now = time.monotonic()
            if now >= deadline:
                return _TOO_SLOW
            if ended is None and self._process.poll() is not None:
                ended = now
            if ended is not None and now >= ended + _REST_SECONDS:
                return ""  # something it has started holds the pipes open
            for key, _ in self._pipes.select(min(_LOOK_SECONDS, deadline - now)):
                if key.fileobj is self._in:
                    self._write()
                elif key.fileobj is self._out:
                    self._read(self._out, self.answer)
                    if len(self.answer) > ANSWER_BYTES:
                        return _TOO_MUCH
                else:
                    self._read(self._err, self.complaint)
                    del self.complaint[:-COMPLAINT_BYTES]
        return "" if self._wait(deadline - time.monotonic()) else _TOO_SLOW

    def end(self) -> None:
        """End the whole group, politely at first, and leave nothing open."""
        if self._process.poll() is None:
            self._signal(signal.SIGTERM)
            self._wait(_TERM_SECONDS)
        self._signal(signal.SIGKILL)
        self._process.wait()
        self._pipes.close()
        for pipe in (self._in, self._out, self._err):
            with contextlib.suppress(OSError):
                pipe.close()

    def _write(self) -> None:
        try:
            self._left = self._left[os.write(self._in.fileno(), self._left[:_CHUNK]) :]
        except BlockingIOError:
            return
        except OSError:  # it does not read on; what it says may be an answer all the same
            self._left = self._left[:0]
        if not self._left:
            self._pipes.unregister(self._in)
            with contextlib.suppress(OSError):
                self._in.close()

    def _read(self, pipe: IO[bytes], into: bytearray) -> None:
        try:
            chunk = os.read(pipe.fileno(), _CHUNK)
        except BlockingIOError:
            return
        if chunk:
            into += chunk
        else:
            self._pipes.unregister(pipe)

    def _wait(self, seconds: float) -> bool:
        try:
            self._process.wait(max(0.0, seconds))
        except subprocess.TimeoutExpired:
            return False
        return True

    def _signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):  # macOS says so of a group of zombies
            os.killpg(self._process.pid, number)


def _ending(code: int) -> str:
    if code > 0:
        return f"it ended with exit code {code}"
    try:
        return f"it was ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"it was ended by signal {-code}"
