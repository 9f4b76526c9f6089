"""The parent's side of the worker process: page texts are computed there. Nothing here trusts its answers.

A worker can die of an update, and then its documents are gone; it can hang, and then it is ended. Neither decides anything
about an update: that is what `settle` is for. One caller at a time: the owner sees to that.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import TracebackType
from typing import Any, NamedTuple, Self

from mesh.pages.text_difference import Edit
from mesh.pages.worker_process import NotOpen, WorkerDied, WorkerProcess, WorkerSlow

__all__ = ["NotOpen", "Settled", "WorkerClient", "WorkerDied", "WorkerSlow"]

_FIRST_PROBE, _GROWTH = (
    64,
    4,
)  # how many updates `settle` tries at once, and how much bolder it gets each time it goes well


class Settled(NamedTuple):
    """A page without the updates that end every worker."""

    state: bytes
    text: str
    killers: tuple[int, ...]  # their places among the updates


class WorkerClient:
    """Documents in a worker process, which is started by the first call. Use as a context manager: leaving it ends the worker.

    `memory_mb` bounds the worker's memory, `seconds` how long it may be silent. A `command` is started instead of ours, with
    the megabytes as its last argument.
    """

    def __init__(self, *, memory_mb: int = 512, seconds: float = 10.0, command: Sequence[str] | None = None) -> None:
        self._command = [*(command or _command()), str(memory_mb)]
        self._seconds = seconds
        self._process: WorkerProcess | None = None
        self._open: set[bytes] = set()
        self._client = (
            1  # who edits, as far as known: a document opened for another has to be loaded again for the first edit
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the worker. The next call starts another."""
        process, self._process = self._process, None
        self._open.clear()
        if process is not None:
            process.end()

    def open(self, body: bytes, state: bytes | None, updates: Sequence[bytes], *, client: int | None = None) -> str:
        """Load a document into the worker under a name, in the place of any of that name, and return its text.

        `client` is who will edit it, if that is another than the last one: it saves loading it again then.
        """
        self._client = client or self._client
        self._open.discard(body)
        answer = self._ask("open", body, self._client, [*([state] if state else []), *updates])
        match answer:
            case [str(text), list(gone)]:
                self._open.add(body)
                self._open.difference_update(name for name in gone if isinstance(name, bytes))
                return text
        raise self._garbage()

    def apply(self, body: bytes, updates: Sequence[bytes]) -> str:
        """Take updates into an open document and return its text."""
        self._need(body)
        return self._text(self._ask("apply", body, list(updates)))

    def edit(self, body: bytes, client: int, changes: Sequence[Edit], most_bytes: int) -> tuple[list[bytes], str]:
        """Make changes to an open document; the updates to publish in this order, each at most so large, and the text.

        The document holds the changes at once: a caller that does not publish them has to `forget` it.
        """
        self._need(body)
        self._client = client
        match self._ask("edit", body, client, [list(change) for change in changes], most_bytes):
            case [list(updates), str(text)] if all(
                isinstance(update, bytes) and len(update) <= most_bytes for update in updates
            ):
                return updates, text
        raise self._garbage()

    def state(self, body: bytes) -> bytes:
        """Return everything an open document holds, as one update."""
        self._need(body)
        answer = self._ask("state", body)
        if not isinstance(answer, bytes):
            raise self._garbage()
        return answer

    def deltas(self, updates: Sequence[bytes]) -> list[list[Edit]]:
        """From an empty text on: what each update in turn did, as edits of the text before it."""
        match self._ask_twice("deltas", list(updates)):
            case list(found) if len(found) == len(updates) and all(map(_is_edits, found)):
                return [[Edit(*edit) for edit in edits] for edits in found]
        raise self._garbage()

    def texts(self, updates: Sequence[bytes], stops: Sequence[int]) -> list[str]:
        """From an empty text on: the text after the first so many updates, for each of the stops."""
        if not all(0 <= stop <= len(updates) for stop in stops):
            raise ValueError("there are not that many updates")
        match self._ask_twice("texts", list(updates), list(stops)):
            case list(found) if len(found) == len(stops):
                return [self._text(text) for text in found]
        raise self._garbage()

    def forget(self, body: bytes) -> None:
        """Close a document, if it is open."""
        if self.is_open(body):
            self._open.discard(body)
            self._ask("forget", body)

    def is_open(self, body: bytes) -> bool:
        """Whether a document is in the worker, which is False too when the worker has died."""
        return self._is_alive() and body in self._open

    def settle(self, state: bytes | None, updates: Sequence[bytes]) -> Settled:
        """After a worker has died of some of these: find out of which, in workers of its own.

        Many are tried at once. The one a worker died of is known if it died while it took it in, and looked for by halves if
        it died afterwards, when text and state are read and the state is loaded again. One of which two fresh workers die,
        alone and on top of the good ones, is a killer. A time-out is no verdict but raises WorkerSlow; and where
        workers die of the state alone, WorkerDied is raised.
        """
        everything = len(updates)
        with _Trials(self._command, self._seconds) as trials:
            state, text = trials.twice([state] if state else [])
            killers = []
            at, size, suspect = 0, _FIRST_PROBE, everything
            while at < everything:
                end = at + 1 if at == suspect else min(at + size, suspect)
                some = [state, *updates[at:end]]
                try:
                    state, text = trials.once(some) if end - at > 1 else trials.twice(some)
                except WorkerDied:
                    if end - at > 1:
                        if 0 < trials.applied < len(some):
                            suspect = at - 1 + trials.applied
                        else:
                            size = (end - at) // 2
                        continue
                    trials.once([state])  # where not even that works, nothing is said about the update
                    killers.append(at)
                at, size = end, min(size * _GROWTH, everything)
                if at > suspect:
                    suspect = everything
            return Settled(state, text, tuple(killers))

    def _is_alive(self) -> bool:
        if self._process is not None and not self._process.is_alive():
            self.close()
        return self._process is not None

    def _need(self, body: bytes) -> None:
        if not self.is_open(body):
            raise NotOpen("this page is not open in the worker")

    def _ask_twice(self, *request: Any) -> Any:
        """For what needs no open document: a worker that somebody killed is no reason to fail."""
        try:
            return self._ask(*request)
        except WorkerDied:
            return self._ask(*request)

    def _ask(self, *request: Any) -> Any:
        if not self._is_alive():
            self._process = WorkerProcess(self._command, self._seconds)
        assert self._process is not None
        try:
            return self._process.call(list(request))
        except NotOpen:
            self._open.discard(request[1])
            raise
        except ValueError:
            raise
        except BaseException:  # Ctrl-C too: the answer that is under way would be taken for the next one
            self.close()
            raise

    def _text(self, answer: Any) -> str:
        if not isinstance(answer, str):
            raise self._garbage()
        return answer

    def _garbage(self) -> WorkerDied:
        self.close()
        return WorkerDied(
            "the page worker gave an answer that makes no sense", "repeat the command; if it goes on: mesh doctor"
        )


class _Trials:
    """Workers to be lost: each serves until it dies."""

    def __init__(self, command: Sequence[str], seconds: float) -> None:
        self._command, self._seconds = command, seconds
        self._process: WorkerProcess | None = None
        self.applied = 0  # updates that the last trial got through

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.end()

    def once(self, updates: Sequence[bytes]) -> tuple[bytes, str]:
        """State and text after all of these."""
        if self._process is None:
            self._process = WorkerProcess(self._command, self._seconds)
        try:
            answer = self._process.call(["prove", list(updates)])
        except WorkerDied:
            self.applied = self._process.beats
            self._end()
            raise
        match answer:
            case [bytes(state), str(text)]:
                return state, text
        self._end()
        raise WorkerDied(
            "the page worker gave an answer that makes no sense", "repeat the command; if it goes on: mesh doctor"
        )

    def twice(self, updates: Sequence[bytes]) -> tuple[bytes, str]:
        """The same, in a fresh worker, and in another if that one dies."""
        self._end()
        try:
            return self.once(updates)
        except WorkerDied:
            return self.once(updates)


def _is_edits(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(edit, list) and [type(part) for part in edit] == [int, int, str] for edit in value
    )


def _command() -> list[str]:
    return [sys.executable, "-P", "-X", "utf8", "-m", "mesh.pages.worker"]
