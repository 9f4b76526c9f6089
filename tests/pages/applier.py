"""A process that applies page updates with pycrdt, so that a test survives what pycrdt does not. Speaks frames on its pipes.

First come the honest updates (a count, then each); then any number of attempts: how many of the honest ones go before, and
the updates. The answer to each is the document's state vector, after the document was read, edited and loaded again, and one byte
that says whether it then had the same text.
"""

import struct
import sys
from collections.abc import Iterable, Iterator
from typing import Any

from pycrdt import Doc, Text

FRAME = struct.Struct(">I")
MODULE = "tests.pages.applier"


def receive() -> bytes | None:
    head = sys.stdin.buffer.read(FRAME.size)
    return sys.stdin.buffer.read(FRAME.unpack(head)[0]) if len(head) == FRAME.size else None


def send(data: bytes) -> None:
    sys.stdout.buffer.write(FRAME.pack(len(data)) + data)
    sys.stdout.buffer.flush()


def parts(data: bytes) -> Iterator[bytes]:
    """The frames within a frame."""
    place = 0
    while place < len(data):
        size = FRAME.unpack_from(data, place)[0]
        place += FRAME.size + size
        yield data[place - size : place]


def attempt(state: bytes, updates: Iterable[bytes]) -> bytes:
    doc: Doc[Any] = Doc(client_id=1)
    body = doc.get("text", type=Text)
    doc.apply_update(state)
    for update in updates:
        doc.apply_update(update)
        text = str(body)
    vector = bytes(doc.get_state())
    # Whatever the update left behind has to bear further edits everywhere, and being stored and loaded.
    for place in (0, len(text) // 2, len(text)):
        body.insert(len(text[:place].encode()), "[é]")
        text = text[:place] + "[é]" + text[place:]
        assert str(body) == text, "an edit does what it says"
    half = len(text) // 2
    del body[len(text[:half].encode()) : len(text.encode())]
    assert str(body) == text[:half], "a deletion does what it says"
    again: Doc[Any] = Doc(client_id=2)
    copy = again.get("text", type=Text)
    again.apply_update(doc.get_update())
    # Not the same text for certain: whoever lies about the neighbours of a text leaves its place to the order of loading.
    return vector + bytes([str(copy) == text[:half]])


def main() -> None:
    doc: Doc[Any] = Doc(client_id=1)
    states = [doc.get_update()]
    count = receive()
    assert count is not None
    for _ in range(FRAME.unpack(count)[0]):
        update = receive()
        assert update is not None
        doc.apply_update(update)
        states.append(doc.get_update())
    send(b"ready")
    while (frame := receive()) is not None:
        before = FRAME.unpack_from(frame)[0]
        send(attempt(states[before], parts(frame[FRAME.size :])))


if __name__ == "__main__":
    main()
