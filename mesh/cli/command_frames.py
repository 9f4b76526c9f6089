"""Frames between a client and the node that runs its command: a letter, a length, and fields that end with a NUL. Built-in modules only."""

from os import fsdecode, fsencode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

REQUEST, ANSWER = b"R", b"A"  # of the client
OUT, ERR, QUESTION, END, REFUSED = b"o", b"e", b"q", b"x", b"n"  # of the node
HEAD_BYTES = 5


def pack(kind: bytes, *fields: str) -> bytes:
    """A frame of texts."""
    return pack_bytes(kind, _joined(fields))


def pack_bytes(kind: bytes, body: bytes) -> bytes:
    """A frame as it goes over the socket."""
    return kind + len(body).to_bytes(4, "big") + body


def take(data: bytes) -> tuple[tuple[bytes, bytes] | None, bytes]:
    """The first frame, if it is whole, and the rest."""
    if len(data) < HEAD_BYTES:
        return None, data
    end = HEAD_BYTES + int.from_bytes(data[1:HEAD_BYTES], "big")
    if len(data) < end:
        return None, data
    return (data[:1], data[HEAD_BYTES:end]), data[end:]


def unpack(body: bytes) -> list[str]:
    """The fields of a frame."""
    return [fsdecode(field) for field in body.split(b"\0")[:-1]]


def _joined(fields: "Iterable[str]") -> bytes:
    return b"".join(fsencode(field.replace("\0", "")) + b"\0" for field in fields)
