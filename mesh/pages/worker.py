"""The process in which page updates are applied: `python -m mesh.pages.worker MEGABYTES`. No files, no network, no clock.

Some updates end any process that applies or reads them, so this one holds nothing that cannot be loaded again. It answers
one request after the other, each a frame, until its input ends, as it does when the parent has gone for whatever reason:

    frame     length (4 bytes, big endian), one msgpack value; a length of 0 is a beat: "still at work"
    request   [name, argument...], see `_REQUESTS`
    answer    ["done", value], ["wrong", why] (the caller's mistake, nothing has changed) or ["closed"] (no such document is open)

Whatever else goes wrong ends the process. What it says on its standard error is for the parent's message.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
from collections.abc import Sequence
from time import monotonic
from typing import Any

from mesh.core.strict_msgpack import pack, unpack
from mesh.pages.document import Document, WrongEdit, deltas, proven, texts
from mesh.pages.text_difference import Edit

FRAME_BYTES = 256 * 1024 * 1024  # more than any request or answer has reason to be
OPEN_DOCUMENTS = 32  # those used last stay
_BEAT_SECONDS = 0.2
# Longer than a parent waits. Without a parent nobody ends a worker that is stuck: this does, whatever it is stuck in.
_ALARM_SECONDS = 900


class Closed(LookupError):
    """No document of that name is open."""


class DocumentService:
    """The open documents, and what can be asked of them."""

    def __init__(self, answers: int) -> None:
        self._answers = answers  # a file descriptor
        self._documents: dict[bytes, Document] = {}  # the one used last is the last
        self._said = monotonic()

    def say(self, data: bytes) -> None:
        """Write one frame."""
        if len(data) > FRAME_BYTES:
            raise OverflowError("the answer is too large")
        view = memoryview(len(data).to_bytes(4, "big") + data)
        while view:
            view = view[os.write(self._answers, view) :]
        self._said = monotonic()

    def beat(self) -> None:
        """Tell the parent that there is progress, not too often."""
        if monotonic() - self._said > _BEAT_SECONDS:
            self.say(b"")

    def _document(self, body: bytes) -> Document:
        document = self._documents.pop(body, None)
        if document is None:
            raise Closed
        self._documents[body] = document
        return document

    def open(self, body: bytes, client: int, updates: Sequence[bytes]) -> list[Any]:
        """Load a document; its text, and the names of those that had to go for it."""
        self._documents.pop(body, None)
        document = Document(client)
        for update in updates:
            document.apply(update)
            self.beat()
        text = document.text()
        self._documents[body] = document
        gone = list(self._documents)[:-OPEN_DOCUMENTS]
        for name in gone:
            del self._documents[name]
        return [text, gone]

    def apply(self, body: bytes, updates: Sequence[bytes]) -> str:
        """Take updates into an open document; its text."""
        document = self._document(body)
        for update in updates:
            document.apply(update)
            self.beat()
        return document.text()

    def edit(self, body: bytes, client: int, changes: Sequence[Sequence[Any]], most_bytes: int) -> list[Any]:
        """Make changes under a client's id; the updates, and the text."""
        document = self._document(body)
        if document.client != client:
            document = self._documents[body] = Document(client, [document.state()])
        updates = document.edit([Edit(*change) for change in changes], most_bytes, self.beat)
        return [updates, document.text()]

    def state(self, body: bytes) -> bytes:
        """The whole state of an open document."""
        return self._document(body).state()

    def forget(self, body: bytes) -> None:
        """Close a document."""
        self._documents.pop(body, None)

    def deltas(self, updates: Sequence[bytes]) -> list[list[Edit]]:
        """What each update did to the text."""
        return deltas(updates, self.beat)

    def texts(self, updates: Sequence[bytes], stops: Sequence[int]) -> list[str]:
        """The text after the first so many updates."""
        return texts(updates, stops, self.beat)

    def prove(self, updates: Sequence[bytes]) -> list[Any]:
        """State and text after all the updates; with a beat for each of them, so that it is known which one was the last."""
        return list(proven(updates, lambda: self.say(b"")))


_REQUESTS = {
    "open": DocumentService.open,
    "apply": DocumentService.apply,
    "edit": DocumentService.edit,
    "state": DocumentService.state,
    "forget": DocumentService.forget,
    "deltas": DocumentService.deltas,
    "texts": DocumentService.texts,
    "prove": DocumentService.prove,
}


def serve(requests: int, answers: int) -> None:
    """Answer requests until there are no more."""
    service = DocumentService(answers)
    while head := _read(requests, 4):
        name, *arguments = unpack(_read(requests, int.from_bytes(head, "big")))
        signal.alarm(_ALARM_SECONDS)
        try:
            answer = ["done", _REQUESTS[name](service, *arguments)]  # type: ignore[operator]
        except Closed:
            answer = ["closed"]
        except WrongEdit as error:
            answer = ["wrong", str(error)]
        service.say(pack(answer))
        signal.alarm(0)


def _read(file: int, size: int) -> bytes:
    """So many bytes, or none at the end of the input."""
    data = bytearray()
    while len(data) < size:
        piece = os.read(file, min(size - len(data), 1 << 20))
        if not piece:
            return b""
        data += piece
    return bytes(data)


def _limit(memory_mb: int) -> None:
    """No core files; no more memory than that, where the system can enforce it."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    size = memory_mb * 1024 * 1024
    try:
        resource.setrlimit(resource.RLIMIT_AS, (size, size))
    except (ValueError, OSError):  # macOS
        return


def main() -> None:
    """Serve on standard input and output. Leaves without any tidying up, which after a panic might hang."""
    code = 1
    try:
        _limit(int(sys.argv[1]))
        answers = os.dup(1)
        os.dup2(2, 1)  # what anybody prints must not end up among the answers
        serve(0, answers)
        code = 0
    except BrokenPipeError:
        code = 0  # the parent has gone
    except BaseException as error:  # noqa: BLE001 (a panic of pycrdt is no Exception)
        os.write(2, f"\n{type(error).__name__}: {error}\n".encode(errors="replace")[:2000])
    finally:
        os._exit(code)


if __name__ == "__main__":
    main()
