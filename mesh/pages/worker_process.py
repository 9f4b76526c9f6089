"""A worker process as its parent sees it: start, request, end. Knows nothing of what is requested; see `worker`.

Every wait has an end. Only the bytes that have come are held, whatever length they promise.
"""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from time import monotonic
from typing import Any

from mesh.core.errors import Malformed, MeshError
from mesh.core.strict_msgpack import pack, unpack

FRAME_BYTES = 256 * 1024 * 1024  # as in `worker`, which is not imported here: it loads pycrdt
_MOST_SECONDS = 600.0  # for one answer, even if the worker says all the time that it is at work
_END_SECONDS = 1.0  # for a worker that is asked to go
_SAID_BYTES = 4096  # kept of what it says on its standard error
_SHOWN_CHARS = 200
_PIECE_BYTES = 1 << 20
_HEAD_BYTES = 4


class WorkerDied(MeshError):
    """The worker ended: by a signal, out of memory, by an error of pycrdt; or what it answered made no sense."""


class NotOpen(WorkerDied):
    """The document is not in the worker: never opened, or pushed out by others, or gone with an earlier worker."""


class WorkerSlow(MeshError):
    """The worker took too long and was ended. That says nothing about what it was given: try again later."""


class WorkerProcess:
    """One worker. After WorkerDied or WorkerSlow it has ended; only `end` remains to be called."""

    def __init__(self, command: Sequence[str], seconds: float) -> None:
        self._seconds = seconds
        try:
            self._process = subprocess.Popen(  # noqa: S603 (our own command)
                command,
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd="/",
                env=_environment(),
                start_new_session=True,  # Ctrl-C in a terminal is for the parent alone
            )
        except OSError as error:
            raise WorkerSlow(
                f"the page worker cannot be started: {error.strerror}",
                "nothing is lost; see whether Python can be run: mesh doctor",
            ) from error
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self._requests, self._answers, self._errors = (
            file.fileno() for file in (self._process.stdin, self._process.stdout, self._process.stderr)
        )
        self._said = b""
        self._is_busy = False
        self.beats = 0  # heard since the last request
        self._selector = selectors.DefaultSelector()
        for file in (self._requests, self._answers, self._errors):
            os.set_blocking(file, False)
        self._selector.register(self._answers, selectors.EVENT_READ)
        self._selector.register(self._errors, selectors.EVENT_READ)

    def is_alive(self) -> bool:
        """Whether it has not ended yet."""
        return self._process.poll() is None

    def end(self) -> None:
        """End it, by force if it is at work. May be called again."""
        if self._is_busy:
            self._process.kill()
        self._selector.close()
        for file in (self._process.stdin, self._process.stdout, self._process.stderr):
            assert file is not None
            file.close()
        try:
            self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def call(self, request: list[Any]) -> Any:
        """Ask one thing and wait for the answer. Raises ValueError if the worker says that the request makes no sense."""
        data = pack(request)
        if len(data) > FRAME_BYTES:
            raise ValueError("this is more than a worker can be given at once")
        self._is_busy, self.beats = True, 0
        answer = self._exchange(len(data).to_bytes(4, "big") + data)
        try:
            parts = unpack(answer)
        except Malformed as error:
            raise self._died("gave an answer that cannot be read") from error
        self._is_busy = False
        match parts:
            case ["done", value]:
                return value
            case ["closed"]:
                raise NotOpen("this page is not open in the worker")
            case ["wrong", str(why)]:
                raise ValueError(why)
        raise self._died("gave an answer that makes no sense")

    def _exchange(self, request: bytes) -> bytes:
        """Write a frame; read until there is one that is not a beat."""
        left, got = memoryview(request), bytearray()
        started = heard = monotonic()
        self._selector.register(self._requests, selectors.EVENT_WRITE)
        while True:
            wait = min(heard + self._seconds, started + _MOST_SECONDS) - monotonic()
            if wait <= 0:
                self._process.kill()
                raise WorkerSlow("the page worker took too long and was ended", "nothing is lost; it is tried again")
            for key, _ in self._selector.select(wait):
                if key.fd == self._requests:
                    left = self._write(left)
                elif key.fd == self._errors:
                    self._listen()
                else:
                    self._read(got)
            while len(got) >= _HEAD_BYTES:
                size = int.from_bytes(got[:_HEAD_BYTES], "big")
                if size > FRAME_BYTES:
                    raise self._died("gave an answer that cannot be so long")
                if size:
                    break
                del got[:_HEAD_BYTES]
                self.beats += 1
                heard = monotonic()
            else:
                continue
            if len(got) >= _HEAD_BYTES + size:
                if left or len(got) > _HEAD_BYTES + size:
                    raise self._died("answered more than it was asked")
                return bytes(memoryview(got)[_HEAD_BYTES:])

    def _write(self, left: memoryview) -> memoryview:
        try:
            left = left[os.write(self._requests, left[:_PIECE_BYTES]) :]
        except BrokenPipeError:  # it has gone: the end of its answers says so, too
            left = left[:0]
        if not left:
            self._selector.unregister(self._requests)
        return left

    def _read(self, got: bytearray) -> None:
        piece = os.read(self._answers, _PIECE_BYTES)
        if not piece:
            raise self._died()
        got += piece

    def _listen(self) -> None:
        """Keep the end of what it says on its standard error."""
        piece = os.read(self._errors, _PIECE_BYTES)
        if not piece:
            self._selector.unregister(self._errors)
        self._said = (self._said + piece)[-_SAID_BYTES:]

    def _died(self, how: str = "") -> WorkerDied:
        """What to raise, once it is certain that it has ended; how, if it did not end by itself."""
        if not how:
            try:
                self._process.wait(_END_SECONDS)
            except subprocess.TimeoutExpired:
                how = "closed its end"
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        with suppress(BlockingIOError, KeyError):  # until there is no more, or its end has been seen
            while self._selector.get_key(self._errors):
                self._listen()
        code = self._process.returncode
        how = how or (f"was ended by {_signal(-code)}" if code < 0 else f"ended with code {code}")
        said = ": ".join(filter(None, [f"the page worker {how}", _last_line(self._said)]))
        return WorkerDied(said, "repeat the command; if it goes on: mesh doctor")


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _last_line(said: bytes) -> str:
    """The last thing a worker said, fit to be shown. A note of Rust's about its own settings is none."""
    lines = [line.strip() for line in said.decode(errors="replace").splitlines()]
    said_last = next((line for line in reversed(lines) if line and not line.startswith("note: ")), "")
    return "".join(char if char.isprintable() else "?" for char in said_last[:_SHOWN_CHARS])


def _environment() -> dict[str, str]:
    """Nothing but the way to the packages: whatever we could import, the worker can."""
    folders = [folder for folder in sys.path if os.path.isabs(folder)]
    return {"PATH": os.defpath, "PYTHONPATH": os.pathsep.join(folders), "PYTHONNOUSERSITE": "1"}
